"""Trivial baselines, computed by hand."""

import numpy as np
import pytest

from core.data import Item
from core.metrics.lexical.baselines import (
    BASELINES,
    baseline_scores,
    copying,
    no_repetition,
    random_score,
    shortness,
    shortness_in_words,
)


def item(hypothesis: str, source: str | None = None) -> Item:
    return Item(source, hypothesis, ())


def test_shortness_counts_code_points_and_words() -> None:
    items = [item("😀 is bad."), item(""), item("猫が好き")]
    assert [shortness(i) for i in items] == [-9.0, 0.0, -4.0]  # the emoji is one code point
    assert [shortness_in_words(i) for i in items] == [-2.0, 0.0, -4.0]  # without spaces each character is a word


def test_repetition_is_the_share_of_4_grams_that_stood_before() -> None:
    # a b c d a b c d: 4-grams abcd bcda cdab dabc abcd, 5 of which 4 differ: 1 of 5 repeats
    assert no_repetition(item("a b c d A b c d")) == pytest.approx(-0.2)
    assert no_repetition(item("x x x")) == 0.0  # three words have no 4-gram


def test_copying_is_the_share_of_4_grams_of_the_source() -> None:
    # output 4-grams: the·cat·sat·on, cat·sat·on·it; the first stands in the source
    assert copying(item("The cat sat on it", "Yesterday the cat sat on a mat")) == 0.5
    assert [copying(item("a b c d", None)), copying(item("a b", "a b"))] == [None, 0.0]


def test_a_random_score_depends_on_seed_and_text_only() -> None:
    items = [item(f"text {i}") for i in range(200)]
    drawn = [random_score(i, 3) for i in items]
    assert [random_score(i, 3) for i in items] == drawn
    assert [random_score(i, 4) for i in items] != drawn
    assert len(set(drawn)) == 200
    assert all(0 <= v < 1 for v in drawn)
    assert sum(drawn) / 200 == pytest.approx(0.5, abs=0.08)  # standard error .289/√200 = .020


def test_scores_of_items_are_nan_where_a_baseline_is_undefined() -> None:
    scores = baseline_scores(iter([item("a b c d", "a b c d"), item("a b c d")]), 0)
    np.testing.assert_array_equal(scores["copying"], [1.0, np.nan])
    assert {name: len(numbers) for name, numbers in baseline_scores([], 0).items()} == dict.fromkeys(scores, 0)


@pytest.mark.parametrize("baseline", BASELINES, ids=lambda s: s.name)
def test_every_baseline_gives_one_value_and_signs_its_seed(baseline) -> None:
    items = [item("one two three four five", "one two three four"), item("", "a")]
    assert baseline_scores(iter(items), 0)[baseline.name].tolist() == [baseline.of(i, 0) for i in items]
    assert (baseline.signature(1) != baseline.signature(2)) == baseline.seeded
