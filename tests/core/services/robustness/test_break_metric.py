"""Breaking a metric by hand: what counts as fooled, in which direction, and what is said where there is no score."""

import pytest

from core.data import Item, Value
from core.formats.adversarial import read_cases
from core.formats.files import Upload
from core.metrics import registry
from core.perturbations.registry import PERTURBATIONS
from core.ports.cases import KeptScore
from core.services.robustness.break_metric import TextPair, changes, perturbed, quick, reactions, sweep
from core.text.edits import Change, Refused
from tests.builders import counting_metric

GOOD = "She bought 20 cars in Berlin."
TEXTS = TextPair(None, "She bought 20 cars in Berlin.", GOOD, "She bought 70 cars in Berlin.")


def test_a_change_is_measured_in_the_direction_of_the_metric() -> None:
    # TER of a copy is 0; one of 6 tokens (13a keeps "Berlin." as one: 6 words) replaced is 100/6; lower is better
    ter, chrf = reactions(TEXTS, registry.chosen(["ter", "chrf"]))
    assert ter.good.value == 0
    assert ter.changed.value == pytest.approx(100 / 6)
    assert ter.change == pytest.approx(-100 / 6)
    assert ter.fooled is False
    assert chrf.good.value == pytest.approx(100)
    assert chrf.change is not None
    assert chrf.change < 0
    assert chrf.share == pytest.approx(chrf.change / 100)  # chrF goes from 0 to 100


def test_a_metric_that_scores_the_change_as_high_is_fooled() -> None:
    (same,) = reactions(TEXTS, [counting_metric("same", lambda item: Value(1.0))])
    (longer,) = reactions(TEXTS._replace(changed=GOOD + " And more."), [counting_metric("length")])
    assert (same.change, same.fooled) == (0, True)
    assert (longer.change, longer.fooled) == (len(" And more."), True)
    assert longer.share is None  # a length has no bounds, and no range is stored for it


def test_a_score_that_is_missing_is_no_verdict_and_says_why() -> None:
    def of(item: Item) -> Value:
        return Value(None, "undefined", "no digits wanted") if "70" in item.hypothesis else Value(1.0)

    (found,) = reactions(TEXTS, [counting_metric("picky", of)])
    assert (found.change, found.share, found.fooled, found.reason) == (None, None, None, "no digits wanted")
    (needs,) = reactions(TEXTS._replace(reference=None), registry.chosen(["chrf"]))
    assert needs.fooled is None
    assert "needs a reference" in needs.reason


def test_a_stored_score_knows_if_the_metric_was_fooled() -> None:
    assert KeptScore("chrf", "s", True, 70.0, 70.0).fooled is True
    assert KeptScore("ter", "s", False, 10.0, 20.0).fooled is False
    assert KeptScore("ter", "s", False, 20.0, 10.0).fooled is True
    assert KeptScore("nli", "s", True, None, 0.2, "why").fooled is None


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
            assert t.reactions[0].change == len(t.outcome.text) - len(GOOD)
    assert {item.hypothesis for item in seen} == {GOOD} | {
        t.outcome.text for t in found if isinstance(t.outcome, Change)
    }


def test_a_text_in_which_nothing_can_be_changed_has_no_reactions() -> None:
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
    metric = registry.load(name)
    assert (quick(metric), not metric.spec.needs_model) == expected


def test_a_case_holds_both_texts_against_the_same_anchor() -> None:
    case = TextPair("Quelle", None, "a", "b").case("typo")
    assert case == ("typo", "", Item("Quelle", "a", ()), Item("Quelle", "b", ()))
    assert read_cases([Upload("x.csv", b"error,ref,hyp_para,hyp_adv_based\ntypo,r,a,b\n")]).cases[0].bad == Item(
        None, "b", ("r",)
    )
