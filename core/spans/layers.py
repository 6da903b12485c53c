"""Span layers: the error spans that one source gives to outputs, and their form in JSON.

A source is an annotator, an imported file, a judge, or the refinement. An output that a layer does not have was not examined: that is
never "no error". An output with an empty list was examined, and no error was found.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from core.data import OutputKey, Span
from core.errors import UserError

Origin = Literal["annotator", "file", "judge", "refinement"]
ORIGINS: Mapping[Origin, str] = {
    "annotator": "annotator",
    "file": "imported file",
    "judge": "judge",
    "refinement": "refinement",
}
"""The words for each origin."""


class LayerSpan(NamedTuple):
    """An error span and the confidence that its source gives it, in [0, 1]; None if it gives none."""

    error: Span
    confidence: float | None = None


Spans = tuple[LayerSpan, ...]


@dataclass(frozen=True, slots=True)
class SpanLayer:
    """The error spans of one source.

    `name` identifies the layer in its project: an origin, a colon, and the annotator, the name of the file's layer, or the signature of
    the metric. `provenance` says where it comes from, in facts: file, SHA-256, time, signature, raters. `left_out` counts by reason
    what the source marked but the layer does not have, such as quotes that could not be placed. `ambiguous` has for each quote with
    several places the spans that it may mean, which are not in `spans`.
    """

    name: str
    label: str
    origin: Origin
    spans: Mapping[OutputKey, Spans]
    provenance: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    ambiguous: Mapping[OutputKey, tuple[tuple[Span, ...], ...]] = field(default_factory=dict)


def spans_to_json(spans: Iterable[LayerSpan]) -> list[dict[str, Any]]:
    """Return spans as plain values for `spans_from_json`; a note or confidence that is missing is left out."""
    rows = []
    for error, confidence in spans:
        row: dict[str, Any] = {
            "side": error.side,
            "start": error.start,
            "end": error.end,
            "quote": error.quote,
            "severity": error.severity,
            "category": error.category,
        }
        row |= {"note": error.note} if error.note else {}
        rows.append(row | ({} if confidence is None else {"confidence": confidence}))
    return rows


def spans_from_json(rows: Sequence[Mapping[str, Any]]) -> Spans:
    """Return the spans that `spans_to_json` wrote. Raises `UserError` for a confidence outside [0, 1]."""
    spans = []
    for row in rows:
        confidence = row.get("confidence")
        if confidence is not None and not (math.isfinite(confidence) and 0 <= confidence <= 1):
            raise UserError("a confidence must be a number from 0 to 1", got=str(confidence))
        error = Span(
            row["side"], int(row["start"]), int(row["end"]), row["quote"], row["severity"], row["category"], row.get("note", "")
        )  # fmt: skip
        spans.append(LayerSpan(error, None if confidence is None else float(confidence)))
    return tuple(spans)
