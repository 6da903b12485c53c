"""Labels of tests as the services take them."""

from __future__ import annotations

from collections.abc import Iterable

from core.data import RatedOutput, SegmentKey, Span
from core.mqm.label_columns import LabelColumns
from core.mqm.rated_by_output import RatedByOutput
from core.ports.labels import ErrorSpan, FoldedSegment, OutputLabels, SegmentLabels
from core.ports.store import Store
from core.services.labels.kept_labels import KeptLabels


def columns(rated: Iterable[RatedOutput]) -> LabelColumns:
    """Return submitted labels, in the order of their raters and segments."""
    by_place: dict[tuple[str, SegmentKey], dict[str, list[Span]]] = {}
    for key, rater, errors in rated:
        by_place.setdefault((rater, key.segment), {}).setdefault(key.system, []).extend(errors)
    return LabelColumns.of(
        FoldedSegment(rater, segment, SegmentLabels({s: _labels(of) for s, of in outputs.items()}, submitted=True))
        for (rater, segment), outputs in by_place.items()
    )


def by_output(rated: Iterable[RatedOutput]) -> RatedByOutput:
    return RatedByOutput(columns(rated))


def submitted(store: Store, project_id: int) -> LabelColumns:
    """Return the labels that count, of all raters, with those of campaigns."""
    return KeptLabels(project_id).read(store, store.campaigns.versions(project_id))[0]


def _labels(errors: Iterable[Span]) -> OutputLabels:
    marks = tuple(ErrorSpan(str(i), span) for i, span in enumerate(errors))
    return OutputLabels(marks, None if marks else "no_error")
