"""Make tutorial items from labels of the project: what one person has submitted becomes the right answer."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from core.campaigns.design import TutorialItem
from core.campaigns.tutorial import tutorial_to_json
from core.data import OutputKey, Span
from core.mqm.label_columns import LabelColumns
from core.mqm.rated_by_output import RatedByOutput
from core.mqm.schemes import GOOGLE
from core.mqm.scores import rater_penalty

MOST_ITEMS = 10
CHOICES = 300
"""Outputs of a rater to choose from."""
MARGIN = 15.0
"""Suggested scores reach this far to both sides."""
POINTS = 4.0
"""Points of the score that one unit of the MQM penalty costs in a suggested score."""


def labelled_by(
    labels: LabelColumns, rated: RatedByOutput, chosen: Collection[OutputKey] = ()
) -> dict[str, dict[OutputKey, tuple[Span, ...]]]:
    """Return the error spans of submitted outputs by rater; raters with the most outputs first.

    Of each rater there are the `chosen` outputs, and the `CHOICES` in the segments that the rater opened last. `rated` are the same labels by output.
    """
    found: dict[str, dict[OutputKey, tuple[Span, ...]]] = {}
    for rater, _ in sorted(labels.n_rated().items(), key=lambda item: (-item[1], item[0])):
        kept = (label for key in chosen for label in rated.get(key, ()) if label.rater == rater)
        last = list(labels.each(labels.rows_by([rater])[-CHOICES:]))
        found[rater] = {label.key: label.errors for label in (*kept, *last[::-1])}
    return found


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
