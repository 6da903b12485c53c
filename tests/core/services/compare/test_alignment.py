"""Sentences matched one by one: on matrices small enough to read, and beside the SMART metrics themselves."""

import numpy as np
import pytest

from core.data import Item, Segment
from core.errors import UserError
from core.metrics import registry
from core.metrics.smart import EMBEDDING, LIKELY
from core.progress import no_progress
from core.services.compare.alignment import GOOD, MATCHERS, MOST_CELLS, align, payload, targets

REFERENCE = "The cat sat. It rained all day! Nobody came."
OUTPUT = "It rained all day! The cat sat. The mayor flew to Mars. 🚀 Nobody came."


def matched(output: str = OUTPUT, target: str = REFERENCE, matcher: str = "chrf"):
    return align(output, target, matcher, no_progress)


def test_equal_sentences_find_each_other_wherever_they_stand() -> None:
    found = matched()
    assert found.target == ("The cat sat.", "It rained all day!", "Nobody came.")
    assert found.output == ("It rained all day!", "The cat sat.", "The mayor flew to Mars.", "🚀 Nobody came.")
    assert found.matrix.shape == (3, 4)
    assert found.of_target == (1, 0, 3)
    assert found.of_output[:2] == (1, 0)
    assert found.of_output[3] == 2
    assert found.matrix[0, 1] == found.matrix[1, 0] == pytest.approx(1)
    assert found.matrix[:, 2].max() < GOOD["chrf"]  # nobody flew to Mars in the reference


def test_the_paths_never_go_back_and_have_the_sum_of_smart_l() -> None:
    found = matched()
    assert list(found.recall_path) == sorted(found.recall_path)
    assert list(found.precision_path) == sorted(found.precision_path)
    _, precision, recall, _ = next(f for f in found.figures if f.variant == "L")
    assert recall == pytest.approx(np.mean([found.matrix[i, j] for i, j in enumerate(found.recall_path)]))
    assert precision == pytest.approx(np.mean([found.matrix[i, j] for j, i in enumerate(found.precision_path)]))


@pytest.mark.parametrize("matcher", [m for m in MATCHERS if m != EMBEDDING])
def test_the_figures_are_those_of_the_metrics(matcher: str) -> None:
    figures = {f.variant: f for f in matched(matcher=matcher).figures}
    for variant in "12LX":
        name = registry.expression(f"smart{variant}", {"matcher": matcher, "against": "reference"})
        (value,) = registry.load_metric(name).score([Item(None, OUTPUT, (REFERENCE,))], no_progress)
        assert figures[variant].f == pytest.approx(value.value)
        assert figures[variant].precision == pytest.approx(value.parts["precision"])
        assert figures[variant].recall == pytest.approx(value.parts["recall"])


@pytest.mark.parametrize(
    ("output", "target", "reason"),
    [
        ("", REFERENCE, "the output is empty"),
        (" \n", REFERENCE, "the output is empty"),
        (OUTPUT, "", "the text to compare with is empty"),
        ("Yes. " * 300, "No. " * 300, "300 × 300 sentences are too many to match interactively"),
    ],
)
def test_unmatched_texts_keep_sentences_and_have_a_reason(output: str, target: str, reason: str) -> None:
    found = matched(output, target)
    assert found.reason == reason
    assert (found.figures, found.of_output, found.recall_path, found.matrix.size) == ((), (), (), 0)
    assert len(found.output) * len(found.target) in (0, 90_000)
    assert 90_000 > MOST_CELLS


def test_the_payload_is_plain_and_its_scores_are_whole_hundredths() -> None:
    data = payload(matched())
    assert data["matrix"][0][1] == 100
    assert all(type(v) is int and 0 <= v <= 100 for row in data["matrix"] for v in row)
    assert data["figures"][0][0] == "1"
    of_chrf = registry.load_metric("chrf").signature().replace("|", "/")
    assert data["signature"] == f"smart|v:1|matcher:{of_chrf}|sentences:prose|prose:3"
    one = matched("Good morning!", "Good morning!")
    assert payload(one)["matrix"] == [[100]]
    assert [f[1:] for f in one.figures if f.variant in "1L"] == [(1, 1, 1), (1, 1, 1)]
    assert set(MATCHERS) == set(LIKELY) == set(GOOD)
    with pytest.raises(UserError):
        matched(matcher="ter")


def test_texts_to_hold_against_are_named_references_first() -> None:
    assert targets(Segment("d", "1", "s", ("a", "b"))) == {"reference 1": "a", "reference 2": "b", "source": "s"}
    assert list(targets(Segment("d", "1", None, ("a",)))) == ["reference"]
    assert targets(Segment("d", "1", None)) == {}
