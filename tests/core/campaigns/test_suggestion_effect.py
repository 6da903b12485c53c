"""The report on suggestions: known effects in simulated campaigns, ESA^AI against ESA, undefined values."""

from __future__ import annotations

from random import Random

import pytest

from core.campaigns.suggestion_effect import SuggestionRow, suggestion_report
from core.reports.suggestions import (
    LABELS,
    basis_sentences,
    effect_rows,
    pooling_sentence,
    system_rows,
)
from tests.bench.suggestions import ARMS, ESA, esa_report, esa_rows, read_arm, simulate, span_counts
from tests.core.campaigns.simulated_suggestions import AUTOMATION, NONE, simulated_campaign

TESTED = ("spans", "major", "score", "seconds", "seconds_per_span", "agreement", "wrong", "withheld", "plants")


@pytest.mark.extended
def test_a_known_bias_lies_within_its_interval() -> None:
    """95 % CIs in 300 campaigns of 320 ratings: at least 93 % contain the true effect, at least 90 % a true interaction."""
    result = simulate(AUTOMATION, 300, draws=0, segments=40)
    for key in (*TESTED, "wrong_accepted"):
        assert result.covered[key] >= 0.93, key
    assert min(result.covered["position"], result.covered["systems"]) >= 0.9


@pytest.mark.extended
def test_no_bias_is_reported_where_there_is_none() -> None:
    """At level 5 %, 300 tests have 15 false positives, standard deviation 3.8; the bounds are 3 standard deviations away."""
    result = simulate(NONE, 300, draws=99, segments=25, spread=0.0)
    for key in (*TESTED, "position"):
        assert 0.012 <= result.significant[key] <= 0.088, key
        assert result.covered[key] >= 0.912, key


def test_effects_are_computed_from_the_counts() -> None:
    """Ten outputs in each arm, by two annotators.

    Of ten wrong suggestions, four are accepted: variance 10/9 · (4 · .6² + 6 · .4²)/10² = .0267 over units, that of .4 · .6/.0267 = 9 independent
    cases. Wilson's interval of .4 of 9: (.4 + .2134 ± 1.96 · √(.24/9 + 3.8415/324))/1.4268 = [.160, .700].
    """
    rows = [
        SuggestionRow(
            f"r{i % 2}", f"{arm} {i}", arm, f"b{i % 5}", "A", i, 0.5, spans=s, major=m, score=score + i % 3, seconds=t, agreement=0.5,
            shown=4 * s, accepted=2 * s, edited=s, wrong=1, wrong_marked=int(i < n), withheld=2, withheld_marked=1 + (arm == "control"),
        )
        for arm, s, m, score, t, n in (("suggested", 3, 2, 70.0, 20.0, 4), ("control", 2, 1, 75.0, 30.0, 1))
        for i in range(10)
    ]  # fmt: skip
    report = suggestion_report(rows, 2.0, draws=99)
    values = {e.key: (e.suggested, e.control, e.value) for e in report.effects}
    assert values["spans"] == pytest.approx((3, 2, 1.5))
    assert values["major"] == pytest.approx((2 / 3, 1 / 2, 1 / 6))
    assert values["score"] == pytest.approx((70.9, 75.9, -5))
    assert values["seconds"] == pytest.approx((20, 30, 2 / 3))
    assert values["seconds_per_span"] == pytest.approx((20 / 3, 15, 4 / 9))
    assert values["wrong"] == pytest.approx((0.4, 0.1, 0.3))
    assert values["withheld"] == pytest.approx((0.5, 1, -0.5))
    shares = {key: report.effect(key).value for key in ("accepted", "edited", "rejected")}
    assert shares == pytest.approx({"accepted": 0.5, "edited": 0.25, "rejected": 0})
    accepted = report.effect("wrong_accepted")
    assert accepted.value == pytest.approx(0.4)
    assert (accepted.low, accepted.high) == pytest.approx((0.160, 0.700), abs=0.0005)
    assert report.effect("plants").reason == "there are no values"
    assert report.few_raters
    assert any("these annotators only" in said for said in basis_sentences(report))
    shuffled = Random(0).sample(rows, len(rows))
    assert suggestion_report(shuffled, 2.0, draws=99) == report
    assert "needed (1 more)" in suggestion_report(rows[:-1], 2.0, draws=99).effect("score").reason
    assert suggestion_report([], 2.0).effect("score").reason == "there are no values"


def test_labels_are_poolable_only_if_every_effect_is_small() -> None:
    """A campaign of 4,800 rated outputs without bias is poolable at 5 points and not at 0.5; with a bias of −4 points not at 2."""
    rows = simulated_campaign(NONE, 3, segments=600, spread=0.0)
    report = suggestion_report(rows, 5.0, draws=19)
    assert pooling_sentence(report).startswith(
        "Poolable: the 90 % CIs of the score effect and every arm × system lie within ±5."
    )
    assert report.pooling.needed < 4800
    small = suggestion_report(rows, 0.5, draws=19)
    assert small.pooling.needed == pytest.approx(100 * report.pooling.needed, rel=0.01)
    assert "Not shown to be poolable" in pooling_sentence(small)
    biased = simulated_campaign(AUTOMATION, 3, segments=600, spread=0.0)
    assert pooling_sentence(suggestion_report(biased, 2.0, draws=19)).startswith("Not poolable: an effect exceeds ±2.")
    assert "cannot be tested" in pooling_sentence(suggestion_report(rows[:8], 2.0, draws=19))
    for row in [*effect_rows(report), *system_rows(report)]:
        assert all(isinstance(cell, str) for cell in row.values())
    assert [row["Measure"] for row in effect_rows(report)] == list(LABELS.values())


@pytest.mark.extended
@pytest.mark.skipif(not ESA.exists(), reason=f"{ESA} is missing: it holds the ESA^AI campaign")
def test_suggestions_of_esa_ai_halve_the_time_per_span() -> None:
    assert span_counts()[:2] == (3696, 2205)
    files = {arm: read_arm(arm) for arm in ARMS}
    report, text = esa_report(files)
    assert report.effect("spans").outputs == (2691, 2691)
    rows = [r for r in esa_rows(files) if r.spans is not None]
    for arm in ARMS:  # independent sums
        mine = [r for r in rows if r.arm == arm]
        per_span = sum(r.seconds or 0 for r in mine) / sum(r.spans or 0 for r in mine)
        effect = report.effect("seconds_per_span")
        assert (effect.suggested if arm == "suggested" else effect.control) == pytest.approx(per_span)
    assert report.effect("seconds_per_span").low < 31 / 71 < 0.5 < report.effect("seconds_per_span").high  # type: ignore[operator]
    assert all(e.p is None for e in report.effects), "the arms were not drawn at random"
    for said in ("3,696 prefilled and kept, 2,205 added or changed", "is not in the file", "not a random split"):
        assert said in text
