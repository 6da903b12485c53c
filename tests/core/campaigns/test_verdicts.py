"""Verdicts on raters: each kind of evidence with numbers written out, and a small simulation."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

import numpy as np
import pytest

from core.campaigns.attention_checks import AttentionCheck, PlantedError, check_to_json
from core.campaigns.rater_agreement import agreement, copying
from core.campaigns.rater_evidence import advice, check_passed, checks, repeats, same_answer, same_span, speed, verdicts
from core.campaigns.submitted import OutputPlace, QualityEvidence, Signal, UnitJudgement, answers
from core.data import SegmentKey, Span
from core.ports.campaigns import CampaignUnit
from core.ports.labels import Ask, ErrorSpan, OutputLabels, SegmentLabels
from core.stats.bootstrap import wilson
from core.stats.correlation.kernel import spearman
from tests.bench.raters import campaign, flags

START = datetime(2026, 1, 5, tzinfo=UTC)


def span(start: int, end: int, severity: str = "Major") -> Span:
    return Span("output", start, end, "x" * (end - start), severity, "Accuracy/Mistranslation")


def labels(
    *spans: Span, score: float | None = None, asks: tuple[Ask, ...] = ("spans", "score"), system: str = "A"
) -> SegmentLabels:
    marks = tuple(ErrorSpan(str(i), s) for i, s in enumerate(spans))
    return SegmentLabels({system: OutputLabels(marks, None, score)}, True, asks=asks)


def preferred(winner: str | None, order: tuple[str, ...] = ("A", "B")) -> SegmentLabels:
    return SegmentLabels({}, True, order, asks=("preference",), preference=(winner,))


def unit(
    given: SegmentLabels, name: str = "u0", rater: str = "r", kind: str = "item", systems: tuple[str, ...] = ("A",),
    seconds: float = 20.0, words: int = 40, minute: int = 0, **details: object,
) -> UnitJudgement:  # fmt: skip
    key = SegmentKey("d", name.split("-")[0])
    time = START + timedelta(minutes=minute)
    of = CampaignUnit(0, name, 0, 0, kind, key, systems, details)  # type: ignore[arg-type]
    return UnitJudgement(rater, of, replace(given, seconds=seconds), time, time, 1, time, words=words)


PLANTED = PlantedError("number", "It has nine lives", (Span("output", 7, 11, "nine", "Major", "x"),))


def check(
    given: SegmentLabels, name: str = "u0-c", clean: str = "", systems: tuple[str, ...] = ("A",)
) -> UnitJudgement:
    stored = check_to_json(AttentionCheck(PLANTED, "A", clean, "" if clean else "u0"))
    return unit(given, name, kind="check", systems=systems, **stored)


def test_a_check_is_passed_by_marking_the_planted_error() -> None:
    assert check_passed(check(labels(span(9, 15), score=90)), [])
    assert not check_passed(check(labels(span(0, 6), score=10)), [])


@pytest.mark.parametrize(
    ("clean", "broken", "passed"), [(80, 60, True), (80, 75, True), (80, 76, False), (40, 60, False)]
)
def test_without_spans_the_score_must_fall(clean: float, broken: float, passed: bool) -> None:
    before = unit(labels(score=clean, asks=("score",)))
    assert check_passed(check(labels(score=broken, asks=("score",))), [before]) is passed


def test_without_the_clean_text_the_score_must_be_below_the_median() -> None:
    others = [unit(labels(score=s, asks=("score",)), f"v{s}") for s in (50, 70, 90)]
    assert check_passed(check(labels(score=69, asks=("score",))), others)
    assert not check_passed(check(labels(score=70, asks=("score",))), others)
    assert check_passed(check(labels(score=70, asks=("score",))), []) is None


@pytest.mark.parametrize(("winner", "passed"), [("B", True), ("A", False), (None, False)])
def test_the_clean_text_must_be_preferred(winner: str | None, passed: bool) -> None:
    assert check_passed(check(preferred(winner), clean="B", systems=("A", "B")), []) is passed


def checked(passed: int, of: int) -> list[UnitJudgement]:
    return [check(labels(span(7, 11) if i < passed else span(0, 2), score=50), f"u{i}-c") for i in range(of)]


def test_missed_checks_are_compared_with_the_others() -> None:
    units = {"a": checked(0, 4), **{f"b{i}": checked(4, 4) for i in range(10)}}
    evidence = checks(units)
    assert evidence["a"].signal == "strong"
    assert (evidence["a"].value, evidence["a"].high) == (0.0, wilson(0, 4).high)
    base = (40 + 1) / (40 + 2)
    assert evidence["a"].p == pytest.approx(11 * (1 - base) ** 4)
    assert evidence["b0"].signal == "none"


def test_one_missed_check_of_three_is_no_signal() -> None:
    units = {"a": checked(1, 3), **{f"b{i}": checked(2, 3) for i in range(10)}}
    assert {e.signal for e in checks(units).values()} == {"none"}
    assert checks({"a": checked(0, 2)})["a"].value is None


def test_speed_is_in_words_per_second() -> None:
    fast = [unit(labels(score=5), f"u{i}", seconds=2) for i in range(10)]
    slow = [unit(labels(score=5), f"v{i}", seconds=20) for i in range(10)]
    assert (speed(fast).value, speed(fast).signal) == (20.0, "strong")
    assert (speed(slow).value, speed(slow).signal) == (2.0, "none")
    assert speed([*fast, *slow[:8]]).signal == "weak"  # 10 of 18; the interval starts below half
    assert speed(fast[:9]).value is None


def test_the_same_score_counts_only_if_others_differ() -> None:
    units = [unit(labels(score=80), f"u{i}") for i in range(30)]
    spread = {OutputPlace(f"u{i}", "A"): [float(i), 100.0 - i] for i in range(30)}
    equal = {OutputPlace(f"u{i}", "A"): [80.0, 80.0] for i in range(30)}
    assert same_answer(units, spread).signal == "strong"
    assert same_answer(units, equal).signal == "none"


def test_always_the_first_output_is_noticed() -> None:
    orders = [("A", "B") if i % 2 else ("B", "A") for i in range(30)]
    first = [unit(preferred(o[0], o), f"u{i}", systems=("A", "B")) for i, o in enumerate(orders)]
    system = [unit(preferred("A", o), f"u{i}", systems=("A", "B")) for i, o in enumerate(orders)]
    assert same_answer(first, {}).signal == "strong"
    assert same_answer(system, {}).signal == "none"


def test_the_same_place_is_noticed() -> None:
    units = [unit(labels(span(0, 3), score=i), f"u{i}") for i in range(12)]
    assert same_span(units).signal == "strong"
    other = [unit(labels(span(i, i + 3), score=i), f"u{i}") for i in range(12)]
    assert same_span(other).value == pytest.approx(1 / 12)


def test_repeats_differ_by_the_mean_difference() -> None:
    first = [unit(labels(score=50), f"u{i}") for i in range(3)]
    again = [unit(labels(score=s), f"u{i}-r", kind="repeat", unit=f"u{i}") for i, s in enumerate((50, 40, 70))]
    evidence = repeats([*first, *again])
    assert (evidence.value, evidence.n, evidence.signal) == (pytest.approx((0 + 10 + 20) / 3), 3, "none")


def test_answers_are_numbers_with_a_direction() -> None:
    penalties = unit(labels(span(0, 2), span(4, 5, "Minor"), asks=("spans",)))
    assert list(answers(penalties).values()) == [-(5 + 1)]
    assert list(answers(unit(preferred("B"), systems=("B", "A"))).values()) == [-1.0]
    assert answers(unit(preferred(None), systems=("A", "B"))) == {OutputPlace("u0", "A", "B"): 0.0}


def scored(rater: str, values: Sequence[float], minute: int = 0) -> list[UnitJudgement]:
    return [unit(labels(score=v, asks=("score",)), f"u{i}", rater, minute=minute) for i, v in enumerate(values)]


def test_inverted_scores_disagree_beyond_chance() -> None:
    rng = Random(3)
    truth = [rng.uniform(20, 80) for _ in range(40)]
    units = {f"r{k}": scored(f"r{k}", [t + rng.gauss(0, 10) for t in truth]) for k in range(6)}
    units["x"] = scored("x", [100 - t + rng.gauss(0, 10) for t in truth])
    statistic = agreement(units)
    assert statistic["x"].signal == "strong"
    assert "opposite to" in statistic["x"].text
    assert {statistic[f"r{k}"].signal for k in range(6)} == {"none"}


def test_only_the_later_of_two_equal_raters_copies() -> None:
    rng = Random(5)
    values = {f"r{k}": [float(rng.randint(20, 80)) for _ in range(40)] for k in range(6)}
    units = {r: scored(r, v, minute=k) for k, (r, v) in enumerate(values.items())}
    units["x"] = scored("x", [v + 1 for v in values["r3"]], minute=9)
    evidence = copying(units)
    assert (evidence["x"].signal, evidence["x"].value) == ("strong", 1.0)
    assert "most often r3" in evidence["x"].text
    assert {evidence[f"r{k}"].signal for k in range(6)} == {"none"}


@pytest.mark.parametrize(
    ("signals", "verdict"),
    [
        ("", "unknown"),
        ("n", "fine"),
        ("w", "fine"),
        ("ww", "look"),
        ("s", "look"),
        ("sw", "exclude?"),
        ("ss", "exclude?"),
    ],
)
def test_no_verdict_rests_on_one_weak_signal(signals: str, verdict: str) -> None:
    names: dict[str, Signal] = {"n": "none", "w": "weak", "s": "strong"}
    unmeasured = QualityEvidence("speed", "none", "Too few units")
    assert advice([unmeasured, *(QualityEvidence("speed", names[c], "", 1.0) for c in signals)]) == verdict


def test_the_order_of_the_units_does_not_matter() -> None:
    units = campaign("esa", 1, units=120).units
    shuffled = Random(0).sample(units, len(units))
    assert verdicts(shuffled) == verdicts(units)


def test_no_units_give_no_verdicts() -> None:
    assert verdicts([]) == []
    assert [v.verdict for v in verdicts([unit(labels(score=3))])] == ["unknown"]


def test_simulated_campaigns_flag_those_who_do_not_work() -> None:
    total = sum((flags(verdicts(c.units), c.raters) for seed in range(2) for c in [campaign("esa", seed)]), Counter())
    fine = {habit: total[habit, "fine"] for habit in ("careful", "careless", "same", "copycat", "adversarial")}
    assert fine["careful"] >= 39  # of 40
    assert fine["careless"] <= 1  # of 4
    assert fine["same"] + fine["copycat"] + fine["adversarial"] == 0  # of 16


def test_the_p_value_is_that_of_permutations() -> None:
    rng, others = np.random.default_rng(4), np.arange(14.0)
    own = rng.normal(0, 3.5, 14) - others
    rho = float(spearman(np.array(own), np.array(others)))
    assert -0.85 < rho < -0.65
    ranks = own.argsort().argsort()
    drawn = np.array([rng.permutation(ranks) for _ in range(60_000)]) @ others
    p = np.mean(drawn <= ranks @ others)
    statistic = agreement({"x": scored("x", own), "y": scored("y", others), "z": scored("z", others)})["x"]
    assert statistic.value == pytest.approx(rho)
    assert statistic.p == pytest.approx(3 * p, rel=0.4)  # Holm's correction of the least of three
