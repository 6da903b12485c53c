"""Export the scores and labels of a project as files."""

from __future__ import annotations

import re
import tempfile
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import IO, Any, NamedTuple

from core.data import Dataset, HumanScore, OutputKey, RatedOutput, Score, Segment, SegmentKey, Span
from core.errors import UserError
from core.formats import mtme_score
from core.formats.labels import judgements
from core.formats.labels.label_file import ProjectTotals, Written, left_behind, totals_of
from core.formats.labels.label_formats import FORMATS, label_format
from core.formats.streams.arrow_files import Kind, write_columnar
from core.formats.write import SCORE_COLUMNS, LabelRow, csv_lines, each_json_line
from core.formatting import format_count
from core.judges.questions import reply_rows
from core.metrics.base import name_of
from core.mqm.schemes import GOOGLE
from core.mqm.scores import rated_outputs, segment_scores
from core.ports.labels import OutputLabels, SegmentLabels
from core.ports.store import Store
from core.progress import Progress, no_progress, part, report_parts
from core.scoring.turns import judge_of
from core.services.campaigns import answers
from core.services.labels.judgements import derived
from core.services.projects.texts import joined, output_parts

MIME = {
    "csv": "text/csv", "jsonl": "application/jsonl", "parquet": "application/vnd.apache.parquet",
    "arrow": "application/vnd.apache.arrow.file",
}  # fmt: skip
ROWS = 5000
"""Rows between two reports of progress."""
HELD = 1 << 20
"""Bytes of a file that are kept in memory."""


def score_rows(store: Store, project_id: int, progress: Progress = no_progress) -> Iterator[Score]:
    """Yield the scores of a project, in the order of the dataset.

    Outputs that were not scored have no row; undefined scores have a status and a reason. `progress` is called once per part.
    """
    signatures = store.scores.signatures(project_id)
    for k, by in enumerate(signatures):
        parts = store.exports.scores(project_id, by.signature)
        for some in report_parts(parts, len, by.n, part(progress, k, len(signatures))):
            for key, v in some:
                yield Score(*key, by.metric, by.signature, v.value, v.status, v.reason)


def partly_scored(store: Store, project_id: int) -> list[str]:
    """Return a sentence that names the metrics without a result for some outputs; empty if there are none."""
    total = store.projects.get(project_id).n_outputs
    named = [
        f"{by.metric} ({by.n:,} of {total:,} outputs)" for by in store.scores.signatures(project_id) if by.n < total
    ]
    return [f"Only partly scored: {', '.join(named)}."] if named else []


def _label_rows(store: Store, project_id: int, progress: Progress) -> Iterator[LabelRow]:
    """Yield one row per error or verdict, in the order of the dataset. The labels of some segments are held at a time, and those of campaigns."""
    campaigns: dict[SegmentKey, dict[str, SegmentLabels]] = {}
    for (rater, segment), labels in answers.labels(store, project_id).items():
        campaigns.setdefault(segment, {})[rater] = labels
    own = store.labels.folded(project_id)
    read = next(own, None)
    if read is None and not campaigns:
        return
    row = store.projects.index(project_id).row
    parts, total = store.exports.keys(project_id), store.projects.get(project_id).n_outputs
    each = (key for some in report_parts(parts, len, total, progress) for key in some)
    for segment, keys in groupby(each, key=lambda key: key.segment):
        of_segment: dict[str, SegmentLabels] = {}
        while read is not None and row.get(read.segment, -1) <= row.get(segment, -1):
            if read.segment == segment:
                of_segment[read.rater] = read.labels
            read = next(own, None)
        of_segment |= campaigns.get(segment, {})
        for key in keys:
            for rater in sorted(of_segment):
                yield from _rows(key, rater, of_segment[rater].of(key.system), of_segment[rater].submits(key.system))


class Export(NamedTuple):
    """An exported file, on disk if it is large; `lost` lists what it does not contain."""

    file: IO[bytes]
    ending: str
    mime: str
    lost: tuple[str, ...]

    @property
    def data(self) -> bytes:
        """All bytes of the file."""
        self.file.seek(0)
        return self.file.read()


class _Spool(tempfile.SpooledTemporaryFile[bytes]):
    """A temporary file that is closed when nobody refers to it."""

    def __del__(self) -> None:
        self.close()


def spooled(pieces: Iterable[str | bytes] = ()) -> IO[bytes]:
    """Return a temporary file with these contents, which is kept in memory while it is small."""
    file = _Spool(HELD)
    for piece in pieces:
        file.write(piece.encode() if isinstance(piece, str) else piece)
    return file


def labels_as_csv(store: Store, project_id: int, progress: Progress = no_progress) -> Export:
    """Return the current labels, submitted or not, as CSV: one row per error or verdict, in the order of the dataset.

    `progress` is called once per part of the project.
    """
    progress(0.0)
    replaced = _Replaced()
    lines = csv_lines(LabelRow._fields, replaced.counted(_label_rows(store, project_id, progress)))
    return Export(spooled(lines), "labels.csv", "text/csv", replaced.words())


def judgements_as(store: Store, project_id: int, progress: Progress = no_progress, *, ending: str) -> Export:
    """Return the numbers of all raters as csv or jsonl. `progress` is called once per `ROWS` rows."""
    progress(0.0)
    numbers = answers.judgements(store, project_id)
    each_line = {"csv": judgements.each_csv_line, "jsonl": judgements.each_jsonl_line}[ending]
    lines, rows = each_line(numbers), len({(j.key, j.rater) for j in numbers})
    parts = iter(lambda: list(islice(lines, ROWS)), [])
    pieces = ("".join(part) for part in report_parts(parts, len, rows, progress))
    return Export(spooled(pieces), f"judgements.{ending}", MIME[ending], ())


def scores_as(store: Store, project_id: int, progress: Progress = no_progress, *, ending: str) -> Export:
    """Return the rows of `score_rows` as csv, jsonl, parquet or arrow."""
    progress(0.0)
    columns: list[tuple[str, Kind]] = [(name, "number" if name == "score" else "text") for name in SCORE_COLUMNS]
    made = table_as("scores", ending, columns, score_rows(store, project_id, progress))
    return made._replace(lost=tuple(partly_scored(store, project_id)))


def table_as(name: str, ending: str, columns: Sequence[tuple[str, Kind]], rows: Iterable[Sequence[Any]]) -> Export:
    """Return rows as csv, jsonl, parquet or arrow."""
    names = [column for column, _ in columns]
    if ending == "csv":
        file = spooled(csv_lines(names, rows))
    elif ending == "jsonl":
        file = spooled(each_json_line(dict(zip(names, row, strict=True)) for row in rows))
    else:
        file = spooled()
        write_columnar(file, columns, rows, parquet=ending == "parquet")
    return Export(file, f"{name}.{ending}", MIME[ending], ())


def replies_as_jsonl(store: Store, project_id: int, progress: Progress = no_progress) -> Export:
    """Return the raw replies of judges, one JSON object per line. `progress` is called once per metric."""
    progress(0.0)
    judges = [by for by in store.scores.signatures(project_id) if judge_of(by.metric)]

    def rows() -> Iterator[dict[str, Any]]:
        for k, by in enumerate(judges):
            progress(k / len(judges))
            for key, value in store.scores.details(project_id, by.signature):
                yield from reply_rows(key, by.metric, by.signature, value)

    return Export(spooled(each_json_line(rows())), "replies.jsonl", MIME["jsonl"], ())


def labels_as(store: Store, project_id: int, progress: Progress = no_progress, *, name: str) -> Export:
    """Return the submitted labels in a format (`core.formats.labels.label_formats`), as one file or a ZIP of several.

    "mtme-score" has the MQM score of each output: Google's weights, mean over raters. `progress` is called once
    per part that is read. Raises `UserError` if the format cannot hold the name of a system or rater.
    """
    progress(0.0)
    labels = answers.all_labels(store, project_id)
    stored_project, replaced = store.projects.get(project_id), _Replaced()
    replaced.n = sum(_is_replaced(m.span) for of in labels.values() for o in of.outputs.values() for m in o.marks)
    project = ProjectTotals(
        stored_project.n_outputs, store.exports.n_references(project_id), stored_project.human_scores,
        _rater_scores(store, project_id, label_format(name).human_score, labels),
    )  # fmt: skip
    if label_format(name).has_unrated:
        dataset = _whole(store, project_id, project, progress)
    else:
        dataset = _rated(store, project_id, name, project, (r.key for r in rated_outputs(labels)), progress)
    texts = {o.key: o.text for o in dataset.outputs}
    order = {key: i for i, key in enumerate(texts)}
    rated = [r for r in rated_outputs(labels, texts) if r.key in order]
    rated.sort(key=lambda r: (order[r.key], r.rater))
    written = write_labels(dataset, rated, name, project)
    target_format = label_format(name)
    open_work = sum(o.complete and not of.submits(name) for of in labels.values() for name, o in of.outputs.items())
    lost = [f"Left out: {format_count(open_work, 'label')} not submitted yet."] if open_work else []
    lost += replaced.words()
    if len(written.texts) == 1:
        return Export(spooled(written.texts), target_format.ending, target_format.mime, (*lost, *written.lost))
    rounds = {f"labels.round{n}.{target_format.ending}": text for n, text in enumerate(written.texts, start=1)}
    return Export(zipped(rounds), f"{target_format.ending}.zip", "application/zip", (*lost, *written.lost))


def _rater_scores(
    store: Store, project_id: int, score: str, labels: Mapping[tuple[str, SegmentKey], SegmentLabels]
) -> dict[tuple[OutputKey, str], float]:
    """Return what each rater gave to an output as the human score `score` ("": none), as a number or with the labels."""
    if not score:
        return {}
    numbers = {(j.key, j.rater): j.value for j in store.labels.judgements(project_id) if j.name == score}
    return numbers | {
        (OutputKey(system, *segment), rater): of_output.score
        for (rater, segment), of_segment in labels.items()
        for system, of_output in of_segment.outputs.items()
        if "score" in of_segment.asks and of_output.score is not None
    }


def _whole(store: Store, project_id: int, project: ProjectTotals, progress: Progress) -> Dataset:
    """Return all texts of a project, without human scores."""
    parts = store.exports.texts(project_id)
    return joined(report_parts(parts, lambda part: len(part.outputs), project.outputs, progress))


def _rated(
    store: Store, project_id: int, name: str, project: ProjectTotals, rated: Iterable[OutputKey], progress: Progress
) -> Dataset:
    """Return the rated outputs among the names of all segments, with the human scores that the format `name` has."""
    index = store.projects.index(project_id)
    keys = index.ordered(rated)
    parts = output_parts(store.projects, project_id, keys)
    read = joined(report_parts(parts, lambda part: len(part.outputs), len(keys), progress))
    scores: list[HumanScore] = []
    score = label_format(name).human_score
    if score and score in project.human_scores:
        column = store.projects.human_score(project_id, score)
        values = ((o.key, column[o.key].value) for o in read.outputs if o.key in column)
        scores = [HumanScore(*key, score, value) for key, value in values if value is not None]
    of = read.segment_of()
    every = tuple(of.get(key) or Segment(*key, None) for key in index.segments)
    return Dataset(every, read.outputs, tuple(scores))


def write_labels(
    dataset: Dataset, rated: Sequence[RatedOutput], name: str, project: ProjectTotals | None = None
) -> Written:
    """Return ratings in the format `name`. Raises `UserError` for a format that is read only.

    `project` are the totals of the project if the dataset has only the rated outputs.
    """
    target_format, whole = label_format(name), project or totals_of(dataset)
    if target_format.write is not None:
        return target_format.write(dataset, rated, whole)
    if target_format.name != "mtme-score":
        can = ", ".join(f.name for f in FORMATS.values() if f.write or f.name == "mtme-score")
        raise UserError("labels are not written in this format", got=target_format.label, expected=can)
    scores = {s.key: s.score for s in segment_scores(rated, GOOGLE)}
    lost = "The error spans: only one MQM score per output is kept (Google’s weights, mean over raters, 0 is best)."
    return Written((mtme_score.write_mtme_scores(dataset, scores),), (lost, *left_behind(whole, rated, unrated=False)))


def scores_as_mtme(store: Store, project_id: int, progress: Progress = no_progress) -> Export:
    """Return a ZIP of `.seg.score` files for mt-metrics-eval: one per signature (listed in `signatures.tsv`) and human score.

    Human scores include those derived from raters' numbers. `progress` is called once per part. Raises `UserError` if the name
    of a system has a blank.
    """
    signatures, places = store.scores.signatures(project_id), store.projects.index(project_id).row
    steps = len(signatures) + 1
    files, held = list[str](), spooled()
    listed, missing = ["file\tmetric\tsignature\n"], 0
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for k, by in enumerate(signatures):
            columns = mtme_score.ScoreColumns(places)
            parts = store.exports.scores(project_id, by.signature)
            for some in report_parts(parts, len, by.n, part(progress, k, steps)):
                missing += sum(v.value is None for _, v in some)
                columns.take((key, v.value) for key, v in some)
            if text := columns.text():
                name = _free_name("metric-scores", name_of(by.metric), files)
                files.append(name)
                _add(archive, name, text)
                listed.append(f"{name}\t{by.metric}\t{by.signature}\n")
        for score, columns in _human_scores(store, project_id, places, part(progress, steps - 1, steps)).items():
            files.append(_free_name("human-scores", score, files))
            _add(archive, files[-1], columns.text())
        _add(archive, "signatures.tsv", "".join(listed))
    lost = [f"{format_count(missing, 'score')} undefined, with the reason: None in the file."] if missing else []
    lost += partly_scored(store, project_id)
    return Export(held, "seg-scores.zip", "application/zip", tuple(lost))


def _human_scores(
    store: Store, project_id: int, places: Mapping[SegmentKey, int], progress: Progress
) -> dict[str, mtme_score.ScoreColumns]:
    """Return the human scores by name, with those derived from raters' numbers. Derived ones replace imported ones of the same name."""
    made = derived(answers.judgements(store, project_id))
    project = store.projects.get(project_id)
    names = dict.fromkeys((*project.human_scores, *(h.name for h in made)))
    columns = {name: mtme_score.ScoreColumns(places) for name in names}
    parts = store.exports.texts(project_id) if project.human_scores else ()
    for some in report_parts(parts, lambda texts: len(texts.outputs), project.n_outputs, progress):
        for h in some.human_scores:
            if h.name in columns:
                columns[h.name].take([(OutputKey(*h[:3]), h.value)])
    for h in made:
        columns[h.name].take([(OutputKey(*h[:3]), h.value)])
    return columns


def _free_name(folder: str, name: str, taken: Collection[str]) -> str:
    """Return an unused file name that mt-metrics-eval can parse: NAME has no dot and no dash."""
    plain = re.sub(r"[^\w+]+", "_", name).strip("_")[:60] or "score"
    names = (f"{folder}/{plain}{ending}.seg.score" for ending in ("", *(f"_{i}" for i in range(2, len(taken) + 3))))
    return next(n for n in names if n not in taken)


def zipped(files: Mapping[str, str]) -> IO[bytes]:
    """Return a ZIP with these texts by file name, read from its beginning."""
    held = spooled()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            _add(archive, name, text)
    held.seek(0)
    return held


def _add(archive: zipfile.ZipFile, name: str, text: str) -> None:
    archive.writestr(zipfile.ZipInfo(name), text.encode(), zipfile.ZIP_DEFLATED)


class _Replaced:
    """Counts error spans with U+FFFD in a note or category, which replaces characters no file can hold."""

    n = 0

    def counted(self, rows: Iterable[LabelRow]) -> Iterator[LabelRow]:
        for row in rows:
            self.n += _is_replaced(row)
            yield row

    def words(self) -> tuple[str, ...]:
        """Return a sentence on them; empty if there are none."""
        said = "with � in its note or category: it may replace a character that no file can hold."
        return (f"{format_count(self.n, 'mark')} {said}",) if self.n else ()


def _is_replaced(span: Span | LabelRow) -> bool:
    return "\ufffd" in span.note + span.category


def _rows(key: OutputKey, rater: str, labels: OutputLabels, submitted: bool) -> list[LabelRow]:
    said = "yes" if submitted else "no"
    if labels.verdict is not None:
        return [LabelRow(*key, rater, "", None, None, "", "", "", "", labels.verdict, said)]
    spans = sorted((m.span for m in labels.marks), key=lambda s: (s.side, s.start, s.end))
    return [
        LabelRow(*key, rater, s.side, s.start, s.end, s.quote, s.severity, s.category, s.note, "", said) for s in spans
    ]
