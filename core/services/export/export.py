"""Export the scores and labels of a project as files."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from core.data import Dataset, OutputKey, RatedOutput, Score, SegmentKey
from core.errors import UserError
from core.formats import mtme_score
from core.formats.labels.label_file import Written, left_behind
from core.formats.labels.label_formats import FORMATS, label_format
from core.formats.problems import counted
from core.formats.write import LabelRow
from core.metrics.external import name_of
from core.mqm.log import OutputLabels, SegmentLabels
from core.mqm.schemes import GOOGLE
from core.mqm.scores import rated_outputs, segment_scores
from core.ports.store import Store
from core.services.labels import all_labels
from core.services.labels.judgements import with_scores


def score_rows(store: Store, project_id: int) -> list[Score]:
    """Return the scores of a project, in the order of the dataset.

    Outputs that were not scored have no row; undefined scores have a status and a reason.
    """
    keys = [o.key for o in store.projects.dataset(project_id).outputs]
    rows = []
    for by in store.scores.signatures(project_id):
        values = store.scores.table(project_id, by.signature)
        found = ((key, values[key]) for key in keys if key in values)
        rows += [Score(*key, by.metric, by.signature, v.value, v.status, v.reason) for key, v in found]
    return rows


def partly_scored(store: Store, project_id: int) -> list[str]:
    """Return a sentence that names the metrics without a result for some outputs; empty if there are none."""
    total = len(store.projects.dataset(project_id).outputs)
    named = [
        f"{by.metric} ({by.n:,} of {total:,} outputs)" for by in store.scores.signatures(project_id) if by.n < total
    ]
    return [f"Only partly scored: {', '.join(named)}."] if named else []


def label_rows(store: Store, project_id: int) -> list[LabelRow]:
    """Return the current labels, submitted or not: one row per error or verdict, in the order of the dataset."""
    labels = all_labels.labels(store, project_id)
    names = sorted({rater for rater, _ in labels})
    rows: list[LabelRow] = []
    for key in (o.key for o in store.projects.dataset(project_id).outputs):
        for rater in names:
            if of_segment := labels.get((rater, key.segment)):
                rows += _rows(key, rater, of_segment.of(key.system), of_segment.submitted)
    return rows


class Export(NamedTuple):
    """An exported file; `lost` lists what it does not contain."""

    data: bytes
    ending: str
    mime: str
    lost: tuple[str, ...]


def labels_as(store: Store, project_id: int, name: str) -> Export:
    """Return the submitted labels in a format (`core.formats.labels.label_formats`), as one file or a ZIP of several.

    "mtme-score" has the MQM score of each output: Google's weights, mean over raters. Raises `UserError` if the format cannot
    hold the name of a system or rater.
    """
    dataset = store.projects.dataset(project_id)
    texts = {o.key: o.text for o in dataset.outputs}
    labels = all_labels.labels(store, project_id)
    order = {key: i for i, key in enumerate(texts)}
    rated = [r for r in rated_outputs(labels, texts) if r.key in order]
    rated.sort(key=lambda r: (order[r.key], r.rater))
    written = write_labels(dataset, rated, name)
    wanted = label_format(name)
    open_work = sum(o.complete for of in labels.values() if not of.submitted for o in of.outputs.values())
    lost = [f"Left out: {counted(open_work, 'label')} not submitted yet."] if open_work else []
    lost += replaced(labels)
    if len(written.texts) == 1:
        return Export(written.texts[0].encode(), wanted.ending, wanted.mime, (*lost, *written.lost))
    rounds = {f"labels.round{n}.{wanted.ending}": text for n, text in enumerate(written.texts, start=1)}
    return Export(_zipped(rounds), f"{wanted.ending}.zip", "application/zip", (*lost, *written.lost))


def write_labels(dataset: Dataset, rated: Sequence[RatedOutput], name: str) -> Written:
    """Return ratings in the format `name`. Raises `UserError` for a format that is read only."""
    wanted = label_format(name)
    if wanted.write is not None:
        return wanted.write(dataset, rated)
    if wanted.name != "mtme-score":
        can = ", ".join(f.name for f in FORMATS.values() if f.write or f.name == "mtme-score")
        raise UserError("labels are not written in this format", got=wanted.label, expected=can)
    scores = {s.key: s.score for s in segment_scores(rated, GOOGLE)}
    lost = "The error spans: only one MQM score per output is kept (Google’s weights, mean over raters, 0 is best)."
    return Written((mtme_score.write(dataset, scores),), (lost, *left_behind(dataset, rated, unrated=False)))


def scores_as_mtme(store: Store, project_id: int) -> Export:
    """Return a ZIP of `.seg.score` files for mt-metrics-eval: one per signature (listed in `signatures.tsv`) and human score.

    Human scores include those derived from raters' numbers. Raises `UserError` if the name of a system has a blank.
    """
    dataset = with_scores(store.projects.dataset(project_id), all_labels.judgements(store, project_id))
    files: dict[str, str] = {}
    listed, missing = ["file\tmetric\tsignature\n"], 0
    for by in store.scores.signatures(project_id):
        values = {key: v.value for key, v in store.scores.table(project_id, by.signature).items()}
        missing += sum(o.key in values and values[o.key] is None for o in dataset.outputs)
        if text := mtme_score.write(dataset, values):
            name = _free_name("metric-scores", name_of(by.metric), files)
            files[name] = text
            listed.append(f"{name}\t{by.metric}\t{by.signature}\n")
    for score in dict.fromkeys(h.name for h in dataset.human_scores):
        of_score = {OutputKey(*h[:3]): h.value for h in dataset.human_scores if h.name == score}
        files[_free_name("human-scores", score, files)] = mtme_score.write(dataset, of_score)
    lost = [f"{counted(missing, 'score')} undefined, with the reason: None in the file."] if missing else []
    lost += partly_scored(store, project_id)
    return Export(
        _zipped({**files, "signatures.tsv": "".join(listed)}), "seg-scores.zip", "application/zip", tuple(lost)
    )


def _free_name(folder: str, name: str, taken: Collection[str]) -> str:
    """Return an unused file name that mt-metrics-eval can parse: NAME has no dot and no dash."""
    plain = re.sub(r"[^\w+]+", "_", name).strip("_")[:60] or "score"
    wanted = (f"{folder}/{plain}{ending}.seg.score" for ending in ("", *(f"_{i}" for i in range(2, len(taken) + 3))))
    return next(n for n in wanted if n not in taken)


def _zipped(files: Mapping[str, str]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name), text.encode(), zipfile.ZIP_DEFLATED)
    return held.getvalue()


def replaced(labels: Mapping[tuple[str, SegmentKey], SegmentLabels]) -> list[str]:
    """Return a sentence on labels whose texts have U+FFFD, which replaces characters no file can hold; empty if none has."""
    spans = (m.span for of in labels.values() for o in of.outputs.values() for m in o.marks)
    n = sum("\ufffd" in span.note + span.category for span in spans)
    if not n:
        return []
    return [f"{counted(n, 'mark')} with � in its note or category: it may replace a character that no file can hold."]


def notes_on_labels(store: Store, project_id: int) -> list[str]:
    """Return notes on the labels of a project, for any file that contains all of them."""
    return replaced(all_labels.labels(store, project_id))


def _rows(key: OutputKey, rater: str, labels: OutputLabels, submitted: bool) -> list[LabelRow]:
    said = "yes" if submitted else "no"
    if labels.verdict is not None:
        return [LabelRow(*key, rater, "", None, None, "", "", "", "", labels.verdict, said)]
    spans = sorted((m.span for m in labels.marks), key=lambda s: (s.side, s.start, s.end))
    return [
        LabelRow(*key, rater, s.side, s.start, s.end, s.quote, s.severity, s.category, s.note, "", said) for s in spans
    ]
