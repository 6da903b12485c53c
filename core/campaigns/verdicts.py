"""Verdicts on raters: is somebody careless, copying, or answering the opposite? Each verdict lists its evidence.

A verdict never follows from one weak signal, and excludes nobody: managers decide.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.campaigns.rater_agreement import agreement, span_agreement_with_others
from core.campaigns.rater_copying import copying
from core.campaigns.rater_evidence import checks, repeats, same_answer, same_span, speed
from core.campaigns.submitted import (
    OutputPlace,
    QualityAdvice,
    QualityEvidence,
    QualityThresholds,
    RaterVerdict,
    UnitJudgement,
    answers,
    of_kind,
)
from core.data import grouped

DEFAULT_THRESHOLDS = QualityThresholds()


def verdicts(units: Sequence[UnitJudgement], thresholds: QualityThresholds = DEFAULT_THRESHOLDS) -> list[RaterVerdict]:
    """Return one verdict per rater, by name. The order of the units does not matter; tutorial items are ignored."""
    ordered = sorted(units, key=lambda u: (u.rater, u.unit.name))
    by_rater = grouped((u.rater, u) for u in ordered)
    given = grouped((place, (u.rater, value)) for u in of_kind(ordered, "item") for place, value in answers(u).items())
    checked, copied = checks(by_rater, thresholds), copying(by_rater, thresholds)
    agreeing, spans = agreement(by_rater, thresholds), span_agreement_with_others(by_rater, thresholds)
    found = []
    for rater, own in by_rater.items():
        evidence = (
            checked[rater],
            agreeing[rater],
            spans[rater],
            copied[rater],
            same_answer(own, _others(rater, given), thresholds),
            same_span(own, thresholds),
            speed(own, thresholds),
            repeats(own, thresholds),
        )
        found.append(RaterVerdict(rater, advice(evidence), evidence))
    return found


def advice(evidence: Sequence[QualityEvidence]) -> QualityAdvice:
    """Return "exclude?" for a strong signal and another one, "look" for one strong or two weak signals, otherwise "fine".

    "unknown" if there are too few cases for every kind of evidence.
    """
    if all(e.value is None for e in evidence):
        return "unknown"
    strong = sum(e.signal == "strong" for e in evidence)
    weak = sum(e.signal == "weak" for e in evidence)
    if strong and strong + weak > 1:
        return "exclude?"
    return "look" if strong or weak > 1 else "fine"


def _others(rater: str, given: dict[OutputPlace, list[tuple[str, float]]]) -> dict[OutputPlace, list[float]]:
    return {place: [v for r, v in found if r != rater] for place, found in given.items()}
