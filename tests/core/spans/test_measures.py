"""Measures of error spans, their intervals and tests, against worked examples and against computations of another kind."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import pytest

from core.data import Span
from core.spans.measures import (
    MEASURES,
    Average,
    F,
    SpanMeasure,
    average_f,
    every_word,
    intervals,
    permutation_tests,
    rates,
    span_columns,
    span_statistics,
    whole_texts,
)
from core.stats.bootstrap import resamples


def span(start: int, end: int, severity: str = "Major", side: str = "output") -> Span:
    return Span(side, start, end, "", severity, "")  # type: ignore[arg-type]


def scores(
    measure: SpanMeasure, predicted: Sequence[Sequence[Span]], gold: Sequence[Sequence[Span]], penalty: float = 0.0
) -> tuple[float, float, float, float]:
    """Return precision, recall, micro F and macro F over outputs."""
    statistics = span_statistics(measure, span_columns(predicted, {}), span_columns(gold, {}), len(gold), penalty)
    p, r, f = rates(statistics.sum(0))
    return float(p), float(r), float(f), float(statistics[:, F].mean())


GOLD = [span(0, 10), span(20, 24, "Minor")]
PREDICTED = [span(4, 12), span(20, 24)]


def test_worked_examples() -> None:
    """30 characters; gold major [0, 10), minor [20, 24); predicted major [4, 12), major [20, 24)."""
    cases: list[tuple[SpanMeasure, float, float, float, float]] = [
        ("wmt25", 0.0, 8 / 12, 8 / 14, 16 / 26),  # TP = 6 + ½·4
        ("em", 0.0, 0.5, 0.5, 0.5),
        ("mp", 0.0, 1.0, 1.0, 1.0),
        ("mpp", 0.0, (6 / 8 + 1) / 2, (6 / 10 + 1) / 2, 2 * 0.875 * 0.8 / 1.675),
        ("mpp", 0.5, (6 / 8 + 0.5) / 2, (6 / 10 + 0.5) / 2, 2 * 0.625 * 0.55 / 1.175),
    ]
    for measure, penalty, p, r, f in cases:
        assert scores(measure, [PREDICTED], [GOLD], penalty)[:3] == pytest.approx((p, r, f)), (measure, penalty)
    assert scores("mpp", [PREDICTED], [GOLD])[2] == pytest.approx(0.836, abs=5e-4)
    assert scores("mpp", [PREDICTED], [GOLD], 0.5)[2] == pytest.approx(0.585, abs=5e-4)
    # the whole text as Major: TP = 10 + ½·4 = 12 of 30 and of 14 characters
    assert scores("wmt25", [[span(0, 30)]], [GOLD])[2] == pytest.approx(24 / 44)
    # two clean outputs more, one with a false span: P = 1.75/3, R = 1.6/2; macro (.836 + 1 + 0)/3
    with_clean = scores("mpp", [PREDICTED, [], [span(0, 3)]], [GOLD, [], []])
    assert with_clean == pytest.approx((1.75 / 3, 0.8, 0.675, 0.612), abs=5e-4)
    nothing = scores("mpp", [[], [], []], [GOLD, [], []])
    assert nothing[2:] == pytest.approx((0.0, 2 / 3))


def test_matching_is_optimal_where_greedy_is_not() -> None:
    """Greedy takes [0, 10) with [3, 12), F 14/19 = .737. The best matching has 8/14 + 8/31 = .571 + .258."""
    p, r, _, _ = scores("mpp", [[span(0, 10), span(8, 30)]], [[span(0, 4), span(3, 12)]])
    assert (p, r) == pytest.approx(((4 / 10 + 4 / 22) / 2, (4 / 4 + 4 / 9) / 2))


def test_edge_cases_of_spans() -> None:
    for measure in MEASURES:
        assert scores(measure, [[]], [[]]) == (1, 1, 1, 1), measure
        assert scores(measure, [[span(0, 4, "critical")]], [[span(0, 4, "Major")]], 0.5) == (1, 1, 1, 1), measure
        neutral = [span(0, 4, "Neutral"), span(0, 4, "undecided")]
        assert scores(measure, [neutral], [[span(0, 4)]])[2] == 0, measure
    for measure in [name for name in MEASURES if name != "wmt25"]:
        assert scores(measure, [[span(5, 5)]], [[span(5, 5)]])[2] == 1, measure  # missing content, same place
        assert scores(measure, [[span(5, 5)]], [[span(0, 9)]])[2] == 0, measure
        assert scores(measure, [[span(0, 4, side="source")]], [[span(0, 4)]])[2] == 0, measure
        assert scores(measure, [[span(0, 4, side="source")]], [[span(0, 4, side="source")]])[2] == 1, measure
    # WMT25 counts neither of them, so nothing is left to count
    unseen = [span(5, 5), span(0, 4, side="source")]
    assert scores("wmt25", [unseen], [[span(0, 4)]]) == (1, 0, 0, 0)
    # overlaps add: the doubled gold span has 8 characters, of which 4 are matched
    assert scores("wmt25", [[span(0, 4)]], [[span(0, 4), span(0, 4)]])[:2] == (1, 0.5)


def test_trivial_layers() -> None:
    texts = ["No, it isn't.", "", "他来了"]
    whole, each = whole_texts(texts), every_word(texts)
    assert list(zip(whole.group.tolist(), whole.start.tolist(), whole.end.tolist(), strict=True)) == [
        (0, 0, 13),
        (4, 0, 3),
    ]
    places = list(zip(each.group.tolist(), each.start.tolist(), each.end.tolist(), strict=True))
    assert places == [(0, 0, 2), (0, 4, 6), (0, 7, 12), (4, 0, 1), (4, 1, 2), (4, 2, 3)]


Pairs = list[tuple[int, int]]


def matchings(n: int, m: int) -> Iterator[Pairs]:
    """Yield every one-to-one matching of some of n with some of m."""

    def extend(i: int, used: Pairs) -> Iterator[Pairs]:
        if i == n:
            yield used
            return
        yield from extend(i + 1, used)
        for j in range(m):
            if all(j != other for _, other in used):
                yield from extend(i + 1, [*used, (i, j)])

    return extend(0, [])


def naive_pair(measure: str, a: Span, b: Span, p: float) -> tuple[float, float, float]:
    """Return F of a pair and its credits, character by character."""
    if a.side != b.side:
        return 0.0, 0.0, 0.0
    one, two = (set(range(s.start, s.end)) for s in (a, b))
    same = (a.start, a.end) == (b.start, b.end)
    common, x, y = (1, 1, 1) if same and not one else (len(one & two), len(one), len(two))
    worth = 1.0 if a.severity == b.severity else 1 - p
    if not common or (measure == "em" and not same):
        return 0.0, 0.0, 0.0
    if measure != "mpp":
        return worth, worth, worth
    return worth * 2 * common / (x + y), worth * common / x, worth * common / y


def naive_characters(predicted: list[Span], gold: list[Span]) -> tuple[float, float, float]:
    true, n_predicted, n_gold = 0.0, 0, 0
    for i in range(40):
        over = {
            name: [
                sum(s.side == "output" and s.start <= i < s.end and s.severity == level for s in spans)
                for level in ("Major", "Minor")
            ]
            for name, spans in (("p", predicted), ("g", gold))
        }
        left_p = left_g = 0
        for p, g in zip(over["p"], over["g"], strict=True):
            true += min(p, g)
            left_p, left_g = left_p + max(0, p - g), left_g + max(0, g - p)
        true += 0.5 * min(left_p, left_g)
        n_predicted, n_gold = n_predicted + sum(over["p"]), n_gold + sum(over["g"])
    return true, n_predicted, n_gold


def random_spans(rng: random.Random) -> list[Span]:
    spans = []
    for _ in range(rng.randrange(5)):
        start = rng.randrange(20)
        side = "source" if rng.random() < 0.15 else "output"
        spans.append(span(start, start + rng.choice((0, 1, 2, 5, 9, 14)), rng.choice(("Major", "Minor")), side))
    return spans


def test_random_cases_equal_an_independent_computation() -> None:
    """500 outputs: every matching is tried; WMT25 is counted character by character. The order of spans changes nothing."""
    rng = random.Random(3)
    predicted, gold = ([random_spans(rng) for _ in range(500)] for _ in range(2))
    shuffled = [[rng.sample(spans, len(spans)) for spans in side] for side in (predicted, gold)]
    every = [list(matchings(n, m)) for n in range(5) for m in range(5)]
    cases: list[tuple[SpanMeasure, float]] = [(measure, 0.0) for measure in MEASURES]
    for measure, penalty in [*cases, ("em", 0.3), ("mp", 0.3), ("mpp", 0.3)]:
        statistics, again = (
            span_statistics(measure, span_columns(one, {}), span_columns(two, {}), 500, penalty)
            for one, two in ((predicted, gold), shuffled)
        )
        np.testing.assert_array_equal(statistics, again)
        for row, a, b in zip(statistics.tolist(), predicted, gold, strict=True):
            if measure == "wmt25":
                true, n, m = naive_characters(a, b)
                assert row[:4] == [true, true, n, m]
                continue
            assert row[2:4] == [len(a), len(b)]
            of_pairs = [[naive_pair(measure, x, y, penalty) for y in b] for x in a]
            sums = [
                [sum(of_pairs[i][j][k] for i, j in pairs) for k in range(3)] for pairs in every[5 * len(a) + len(b)]
            ]
            best = max(s[0] for s in sums)
            best_credits = [s[1:] for s in sums if s[0] > best - 1e-9]
            assert any(row[:2] == pytest.approx(c) for c in best_credits), (measure, a, b)
        p, r, f = rates(statistics)
        expected = [0.0 if not x + y else 2 * x * y / (x + y) for x, y in zip(p, r, strict=True)]
        np.testing.assert_allclose(f, expected)


Layer = list[list[Span]]


def gold_and_copies(rng: random.Random, n: int, *copied: float) -> tuple[Layer, list[Layer]]:
    """Return gold spans of n outputs, and layers that have each gold span with a probability, and false spans besides."""
    gold: Layer = [
        [Span("output", s, s + 5, "", "Major", "") for s in range(0, 40, 10) if rng.random() < 0.4] for _ in range(n)
    ]

    def copy(spans: list[Span], share: float) -> list[Span]:
        kept = [s for s in spans if rng.random() < share]
        return [*kept, Span("output", 5, 10, "", "Minor", "")] if rng.random() < 0.3 else kept

    return gold, [[copy(spans, share) for spans in gold] for share in copied]


def statistics(gold: Layer, layers: list[Layer]) -> np.ndarray:
    of = span_columns(gold, {})
    return np.stack([span_statistics("mpp", span_columns(layer, {}), of, len(gold)) for layer in layers], axis=1)


def test_intervals_are_those_of_outputs_drawn_again() -> None:
    rng = random.Random(1)
    gold, layers = gold_and_copies(rng, 30, 0.8, 0.3)
    table = statistics(gold, layers)
    averages: tuple[Average, ...] = ("micro", "macro")
    for average in averages:
        made = intervals(table, average, seed=5, draws=200)
        for layer, interval in zip(layers, made, strict=True):
            drawn = []
            for block in resamples(30, 5, 200):
                for places in block.tolist():
                    again = statistics([gold[i] for i in places], [[layer[i] for i in places]])
                    p, r, f = rates(again[:, 0].sum(0))
                    drawn.append(float(f) if average == "micro" else float(again[:, 0, 4].mean()))
            assert (interval.low, interval.high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])))
            assert interval.value == pytest.approx(float(average_f(statistics(gold, [layer])[:, 0].sum(0), average)))
    assert intervals(table[:1], "micro", seed=0, draws=9)[0].low is None


def test_permutation_p_is_near_the_exact_one() -> None:
    """All 2^9 ways to swap the spans of two layers, segment by segment."""
    rng = random.Random(4)
    gold, (one, two) = gold_and_copies(rng, 9, 0.9, 0.5)
    (test,) = permutation_tests(statistics(gold, [one, two]), [(0, 1)], "micro", seed=0, draws=4000)

    def difference(first: Layer, second: Layer) -> float:
        f = average_f(statistics(gold, [first, second]).sum(0), "micro")
        return float(f[0] - f[1])

    seen = difference(one, two)
    reached = 0
    for swaps in product((False, True), repeat=9):
        first = [b if swap else a for a, b, swap in zip(one, two, swaps, strict=True)]
        second = [a if swap else b for a, b, swap in zip(one, two, swaps, strict=True)]
        reached += abs(difference(first, second)) >= abs(seen) - 1e-12
    assert test.difference == pytest.approx(seen)
    assert test.p == pytest.approx(reached / 512, abs=0.025)


@pytest.mark.extended
def test_equal_layers_differ_significantly_in_one_of_20() -> None:
    """400 pairs of equally good layers: p ≤ .05 in at most 7.5 %. Intervals contain the F of 20,000 outputs in 90–99 %."""
    rng = random.Random(7)
    gold, layers = gold_and_copies(rng, 20_000, 0.6)
    truth = float(average_f(statistics(gold, layers)[:, 0].sum(0), "micro"))
    rejected = covered = 0
    for run in range(400):
        gold, layers = gold_and_copies(rng, 60, 0.6, 0.6)
        table = statistics(gold, layers)
        (test,) = permutation_tests(table, [(0, 1)], "micro", seed=run, draws=199)
        rejected += test.p is not None and test.p <= 0.05
        (interval, _) = intervals(table, "micro", seed=run, draws=200)
        covered += interval.low is not None and interval.high is not None and interval.low <= truth <= interval.high
    assert rejected / 400 <= 0.075
    assert 0.90 <= covered / 400 <= 0.99
