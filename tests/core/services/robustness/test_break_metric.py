"""Breaking a metric by hand: what counts as fooled, in which direction, and what is said where there is no score."""

import pytest

from core.data import Item, Value
from core.formats.error_cases import read_cases
from core.formats.files import Upload
from core.metrics import ranges, registry
from core.perturbations.registry import PERTURBATIONS
from core.ports.robustness import BARELY, MISSES, NOTICES, SavedScore
from core.services.robustness.break_metric import (
    TextPair,
    by_drop,
    changes,
    perturbed,
    quick,
    reactions,
    sweep,
    verdict_of,
)
from core.text.edits import Change, Refused
from tests.builders import counting_metric

GOOD = "She bought 20 cars in Berlin."
TEXTS = TextPair(None, "She bought 20 cars in Berlin.", GOOD, "She bought 70 cars in Berlin.")


def test_a_change_is_measured_in_the_direction_of_the_metric() -> None:
    # TER of a copy is 0; one of 6 tokens (13a keeps "Berlin." as one: 6 words) replaced is 100/6; lower is better
    ter, chrf = reactions(TEXTS, registry.chosen(["ter", "chrf"]))
    assert (ter.score.good, ter.score.changed, ter.score.change) == (0, pytest.approx(100 / 6), pytest.approx(-100 / 6))
    assert ter.score.misses_error is False
    assert chrf.score.good == pytest.approx(100)
    assert chrf.score.change is not None
    assert chrf.score.change < 0
    assert chrf.share == pytest.approx(chrf.score.change / 100)  # chrF goes from 0 to 100
    (same,) = reactions(TEXTS, [counting_metric("same", lambda item: Value(1.0))])
    (longer,) = reactions(TEXTS._replace(changed=GOOD + " And more."), [counting_metric("length")])
    assert (same.score.change, same.score.misses_error) == (0, True)
    assert (longer.score.change, longer.score.misses_error) == (len(" And more."), True)
    assert longer.share is None  # a length has no bounds, and no range is stored for it


def test_a_score_that_is_missing_is_no_verdict_and_says_why() -> None:
    def of(item: Item) -> Value:
        return Value(None, "undefined", "no digits wanted") if "70" in item.hypothesis else Value(1.0)

    (found,) = reactions(TEXTS, [counting_metric("picky", of)])
    assert (found.score.change, found.share, found.verdict, found.failed) == (None, None, "no digits wanted", False)
    (needs,) = reactions(TEXTS._replace(reference=None), registry.chosen(["chrf"]))
    assert needs.score.misses_error is None
    assert "needs a reference" in needs.verdict


def test_a_stored_score_knows_if_the_metric_was_fooled() -> None:
    assert SavedScore("chrf", "s", True, 70.0, 70.0).misses_error is True
    assert SavedScore("ter", "s", False, 10.0, 20.0).misses_error is False
    assert SavedScore("ter", "s", False, 20.0, 10.0).misses_error is True
    assert SavedScore("nli", "s", True, None, 0.2, "why").misses_error is None
    assert SavedScore("nli", "s", True, 0.7000001, 0.7, "").misses_error is True, "models round to seven digits"


def test_a_small_drop_in_the_range_of_a_metric_is_barely_noticed() -> None:
    shipped = ranges.stored(ranges.SHIPPED)
    stored, ter = (next(name for name in shipped if name.startswith(start)) for start in ("bertscore|", "ter|"))
    assert (shipped[stored].low, shipped[ter].high) == pytest.approx((0.414, 113.33), abs=0.01)
    for name, signature, higher, good, changed, verdict in (
        ("bertscore", stored, True, 0.962, 0.943, BARELY),  # 3 % of its range
        ("bertscore", stored, True, 0.962, 0.930, NOTICES),
        ("bertscore", stored, True, 0.962, 0.96200001, MISSES),
        ("bertscore", stored, True, 0.96200001, 0.962, MISSES),  # a rounding error
        ("ter", ter, False, 10.0, 12.0, BARELY),
        ("ter", ter, False, 10.0, 110.0, NOTICES),
        ("comet", "no range is stored", True, 0.8, 0.77, BARELY),
        ("of another program", "no range is stored", True, -3.0, -3.1, BARELY),
        ("of another program", "no range is stored", True, -3.0, -3.2, NOTICES),
        ("of another program", "no range is stored", True, 0.0, -0.001, NOTICES),
    ):
        assert verdict_of(SavedScore(name, signature, higher, good, changed)) == verdict, (name, good, changed)
    assert verdict_of(SavedScore("chrf", "s", True, None, 0.2, "why")) == "why"

    drops = {"large": 0.3, "none": 1.0, "small": 0.96, "tiny": 0.9999}
    metrics = [
        counting_metric(name, lambda item, to=to: Value(to if "70" in item.hypothesis else 1.0))  # type: ignore[misc]
        for name, to in drops.items()
    ]
    found = reactions(TEXTS, metrics)
    assert [r.verdict for r in found] == [NOTICES, MISSES, BARELY, BARELY]
    shares = {"large": -0.7, "none": 0.0, "small": -0.04, "tiny": -0.0001}
    ranged = [r._replace(share=shares[r.spec.name]) for r in found]
    assert [r.spec.name for r in by_drop(ranged)] == ["large", "small", "tiny", "none"]


def test_every_perturbation_answers_with_a_change_or_a_reason() -> None:
    tried = perturbed(GOOD)
    outcomes = {t.phenomenon: t.outcome for t in tried}
    assert len(tried) == len(PERTURBATIONS)
    assert isinstance(outcomes["number error"], Change)
    assert isinstance(outcomes["adjective mismatch"], Refused)  # there is no adjective


def test_a_sweep_scores_what_could_be_changed_and_nothing_else() -> None:
    seen: list[Item] = []
    found = sweep(None, GOOD, GOOD, [counting_metric("length", seen=seen)])
    for t in found:
        assert bool(t.reactions) == isinstance(t.outcome, Change)
        if isinstance(t.outcome, Change):
            assert t.reactions[0].score.change == len(t.outcome.text) - len(GOOD)
    assert {item.hypothesis for item in seen} == {GOOD} | {
        t.outcome.text for t in found if isinstance(t.outcome, Change)
    }
    assert not any(t.reactions for t in sweep(None, "x", "x", [counting_metric()]))


def test_changes_are_told_in_words() -> None:
    assert changes("It costs 5 euros now.", "It costs 9 euros.") == "5 → 9; − now"
    assert changes("We will go.", "We will not go.") == "+ not"
    assert changes("same", "same") == ""


@pytest.mark.parametrize(
    ("name", "expected"),
    [("chrf", (True, True)), ("bartscore", (True, False)), ("bartscore++", (False, False)), ("comet", (False, False))],
)
def test_metrics_know_whether_they_are_quick_and_ask_no_model(name: str, expected: tuple[bool, bool]) -> None:
    metric = registry.load_metric(name)
    assert (quick(metric, {}), not metric.spec.needs_model) == expected
    assert quick(metric, {"Arabic script": 1.0}) == (name == "chrf"), "the bundled models read English"


def test_a_case_holds_both_texts_against_the_same_anchor() -> None:
    case = TextPair("Quelle", None, "a", "b").case("typo")
    assert case == ("typo", "", Item("Quelle", "a", ()), Item("Quelle", "b", ()))
    assert read_cases([Upload("x.csv", b"error,ref,hyp_para,hyp_adv_based\ntypo,r,a,b\n")]).cases[0].bad == Item(
        None, "b", ("r",)
    )
