"""What leaves a project: scores and labels as files."""

from __future__ import annotations

from collections.abc import Collection

from core.data import OutputKey, Score, SegmentKey
from core.formats import google_mqm
from core.formats.write import LabelRow, labels_csv, scores_csv, scores_jsonl
from core.mqm.log import OutputLabels, SegmentLabels, fold
from core.mqm.scores import rated_outputs
from core.ports import Store


def score_rows(store: Store, project_id: int, signatures: Collection[str] | None = None) -> list[Score]:
    """The scores of a project under the given signatures (all of them by default), in the order of the dataset.

    An output that was never scored under a signature has no row there; a score that is missing has a status and a reason.
    """
    keys = [o.key for o in store.projects.dataset(project_id).outputs]
    rows = []
    for by in store.scores.signatures(project_id):
        if signatures is None or by.signature in signatures:
            values = store.scores.table(project_id, by.signature)
            found = ((key, values[key]) for key in keys if key in values)
            rows += [Score(*key, by.metric, by.signature, v.value, v.status, v.reason) for key, v in found]
    return rows


def scores_as_csv(store: Store, project_id: int, signatures: Collection[str] | None = None) -> str:
    """The scores as CSV, safe to open in a spreadsheet."""
    return scores_csv(score_rows(store, project_id, signatures))


def scores_as_jsonl(store: Store, project_id: int, signatures: Collection[str] | None = None) -> str:
    """The scores as JSON Lines."""
    return scores_jsonl(score_rows(store, project_id, signatures))


def label_rows(store: Store, project_id: int, raters: Collection[str] | None = None) -> list[LabelRow]:
    """The current labels of the given raters (all by default): one row a mark or verdict, in the order of the dataset."""
    labels = _labels(store, project_id, raters)
    names = sorted({rater for rater, _ in labels})
    rows: list[LabelRow] = []
    for key in (o.key for o in store.projects.dataset(project_id).outputs):
        for rater in names:
            of_segment = labels.get((rater, key.segment))
            if of_segment is not None:
                rows += _rows(key, rater, of_segment.of(key.system), of_segment.submitted)
    return rows


def labels_as_csv(store: Store, project_id: int, raters: Collection[str] | None = None) -> str:
    """The current labels as CSV, safe to open in a spreadsheet; unsubmitted ones say so."""
    return labels_csv(label_rows(store, project_id, raters))


def labels_as_google_mqm(
    store: Store, project_id: int, raters: Collection[str] | None = None, *, submitted_only: bool = True
) -> str:
    """The labels in Google's MQM TSV, which can be imported again; of submitted segments only unless asked otherwise."""
    dataset = store.projects.dataset(project_id)
    texts = {o.key: o.text for o in dataset.outputs}
    rated = rated_outputs(_labels(store, project_id, raters), texts, submitted_only=submitted_only)
    order = {key: i for i, key in enumerate(texts)}
    known = (r for r in rated if r.key in order)
    return google_mqm.write(dataset, sorted(known, key=lambda r: (order[r.key], r.rater)))


def _labels(
    store: Store, project_id: int, raters: Collection[str] | None
) -> dict[tuple[str, SegmentKey], SegmentLabels]:
    events = store.labels.events(project_id)
    return fold(e for e in events if raters is None or e.rater in raters)


def _rows(key: OutputKey, rater: str, labels: OutputLabels, submitted: bool) -> list[LabelRow]:
    said = "yes" if submitted else "no"
    if labels.verdict is not None:
        return [LabelRow(*key, rater, "", None, None, "", "", "", "", labels.verdict, said)]
    spans = sorted((m.span for m in labels.marks), key=lambda s: (s.side, s.start, s.end))
    return [
        LabelRow(*key, rater, s.side, s.start, s.end, s.quote, s.severity, s.category, s.note, "", said) for s in spans
    ]
