"""Make tutorial items from labels of the project: what one person has submitted becomes the right answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from core.campaigns.design import TutorialItem
from core.campaigns.tutorial import tutorial_to_json
from core.data import OutputKey, RatedOutput, Span, grouped
from core.mqm.schemes import GOOGLE
from core.mqm.scores import rater_penalty

MOST_ITEMS = 10
MARGIN = 15.0
"""Suggested scores reach this far to both sides."""
POINTS = 4.0
"""Points of the score that one unit of the MQM penalty costs in a suggested score."""


def labelled_by(labels: Sequence[RatedOutput]) -> dict[str, dict[OutputKey, tuple[Span, ...]]]:
    """Return the error spans of submitted outputs by rater; raters with the most outputs first."""
    by_rater = grouped((label.rater, label) for label in labels)
    ranked = sorted(by_rater.items(), key=lambda item: (-len(item[1]), item[0]))
    return {rater: {label.key: label.errors for label in of} for rater, of in ranked}


def suggested_range(errors: Sequence[Span]) -> tuple[float, float]:
    """Return a score range to begin with: 100 less 4 points per unit of the MQM penalty (Major 5, Minor 1), ± 15."""
    middle = max(0.0, 100.0 - POINTS * rater_penalty(errors, GOOGLE))
    return max(0.0, middle - MARGIN), min(100.0, middle + MARGIN)


def item_row(
    key: OutputKey, errors: Sequence[Span], score: tuple[float, float] | None, feedback: str
) -> dict[str, Any]:
    """Return a tutorial item as plain values, as `setup_design.tutorial_of` reads it."""
    row = tutorial_to_json(TutorialItem(key, tuple(errors), score, feedback.strip()))
    return row | {"doc_id": key.doc_id, "segment_id": key.segment_id}


def row_key(row: Mapping[str, Any]) -> OutputKey:
    """Return the output of such plain values."""
    return OutputKey(row["system"], row["doc_id"], row["segment_id"])
