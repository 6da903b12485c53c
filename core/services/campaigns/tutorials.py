"""The tutorial of a campaign: what is told after each answer, and the result of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.campaigns.design import CampaignDesign
from core.campaigns.tutorial import TutorialResult, tutorial_from_json, tutorial_mark, tutorial_result
from core.ports.campaigns import CampaignUnit
from core.ports.labels import SegmentLabels


def result(design: CampaignDesign, unit: CampaignUnit, labels: SegmentLabels) -> TutorialResult:
    """Compare an answer with the right one."""
    item = tutorial_from_json(unit.details, *unit.of)
    return tutorial_result(item, labels.of(item.key.system), asks=design.protocol.asks)


def feedback(design: CampaignDesign, unit: CampaignUnit, labels: SegmentLabels) -> dict[str, Any]:
    """Return what the page tells after an answer: whether it was right, and remarks in the order of the text."""
    found = result(design, unit, labels)
    return {
        "right": found.right,
        "remarks": [f.remark.parts() for f in found.feedback],
        "explanation": found.explanation,
    }


def mark(design: CampaignDesign, answered: Sequence[tuple[CampaignUnit, SegmentLabels]]) -> float:
    """Return the mark of all answers, in [0, 1]."""
    reached: float = tutorial_mark([result(design, unit, labels) for unit, labels in answered])
    return reached
