"""The files that a project can be exported as, their rows, and files kept for a later download."""

from __future__ import annotations

import secrets
from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from io import SEEK_END
from itertools import chain, count
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple, Protocol

from core.data import OutputKey
from core.formats.labels.label_formats import FORMATS
from core.formats.streams.arrow_files import Kind
from core.formats.write import SPREADSHEET
from core.ports.store import Store
from core.progress import Progress, no_progress, report_parts
from core.services.campaigns import answers
from core.services.export import export
from core.services.export.export import MIME, Export, table_as
from core.services.labels.judgements import by_output

KEYS = ("system", "doc_id", "segment_id")
TEXT_COLUMNS = (*KEYS, "source", "references", "output")


def output_rows(
    store: Store, project_id: int, scores: Sequence[str], rated: Mapping[str, Mapping[OutputKey, float]],
    progress: Progress = no_progress,
) -> Iterator[list[Any]]:  # fmt: skip
    """Yield system, document, segment, source, references and output of each output, then its human scores of these names.

    `rated` are the scores derived from raters' numbers, by name; they replace imported ones. `progress` is called once per part.
    """
    total = store.projects.get(project_id).n_outputs
    for part in report_parts(store.exports.texts(project_id), lambda texts: len(texts.outputs), total, progress):
        of_segment = part.segment_of()
        values: dict[OutputKey, dict[str, float]] = defaultdict(dict)
        for h in part.human_scores:
            values[OutputKey(*h[:3])][h.name] = h.value
        for output in part.outputs:
            segment, own_scores = of_segment[output.key.segment], values[output.key]
            own_scores |= {name: of_name[output.key] for name, of_name in rated.items() if output.key in of_name}
            yield [*output.key, segment.source, list(segment.references), output.text, *map(own_scores.get, scores)]


def outputs_as(store: Store, project_id: int, progress: Progress = no_progress, *, ending: str) -> Export:
    """Return the outputs with their human scores as csv, jsonl, parquet or arrow. Segments without outputs have no row.

    Human scores include those derived from raters' numbers, such as the scores of campaigns.
    """
    rated = by_output(answers.judgements(store, project_id))
    scores = tuple(dict.fromkeys((*store.projects.get(project_id).human_scores, *rated)))
    rows = output_rows(store, project_id, scores, rated, progress)
    n = store.exports.most_references(project_id)
    references = ["reference", *(f"reference {i}" for i in range(2, n + 1))][:n]
    names = _score_columns(scores, {*TEXT_COLUMNS, *references})
    lost = [
        f"The human score “{score}” is exported as the column “{name}”, because a column with texts is called “{score}”."
        for score, name in zip(scores, names, strict=True)
        if score != name
    ]
    texts: list[tuple[str, Kind]] = [(name, "texts" if name == "references" else "text") for name in TEXT_COLUMNS]
    if ending == "csv":
        texts = [(name, "text") for name in (*KEYS, "source", *references, "output")]
        rows = ([*r[:4], *(r[4] + [None] * n)[:n], *r[5:]] for r in rows)
        lost.append("Texts that a spreadsheet could run as formulas begin with an apostrophe, which an import keeps.")
    made = table_as("outputs", ending, [*texts, *((name, "number") for name in names)], rows)
    return made._replace(lost=tuple(lost))


def _score_columns(scores: Sequence[str], texts: set[str]) -> list[str]:
    """Return a column name for each score: its own, or one like "output score" if a column with texts has its name."""
    taken, names = texts | set(scores), list[str]()
    for score in scores:
        free = chain((f"{score} score",), (f"{score} score {i}" for i in count(2)))
        names.append(next(name for name in free if name not in taken) if score in texts else score)
        taken.add(names[-1])
    return names


class MakeFile(Protocol):
    def __call__(self, store: Store, project_id: int, progress: Progress = no_progress) -> Export:
        """Return the file. `progress` is called once per part that is read, and may raise `Cancelled`. Raises `UserError`."""
        ...


class ExportFile(NamedTuple):
    """A kind of file: its label, its contents, and the function that makes it."""

    label: str
    holds: str
    make: MakeFile


LABELS = {
    "csv": ExportFile(
        "Labels: CSV", "One row per error span or verdict; unsubmitted ones are included and marked. Safe to open in a spreadsheet: texts cannot run as formulas.",
        export.labels_as_csv,
    ),
    **{f.name: ExportFile(f"Labels: {f.label}", f.holds, partial(export.labels_as, name=f.name)) for f in FORMATS.values() if f.write},
    "mtme-score": ExportFile(
        "Labels: MQM scores, .seg.score", "One number per output for mt-metrics-eval (Google’s toolkit for WMT metrics): Google MQM weights, mean over annotators.",
        partial(export.labels_as, name="mtme-score"),
    ),
}  # fmt: skip
JUDGEMENTS = {
    "judgements-csv": ExportFile(
        "Scores by annotator: CSV", "One row per output and annotator, every number as imported. Safe to open in a spreadsheet: texts cannot run as formulas.",
        partial(export.judgements_as, ending="csv"),
    ),
    "judgements-jsonl": ExportFile(
        "Scores by annotator: JSONL", "The same rows, one JSON object per line; names unchanged.",
        partial(export.judgements_as, ending="jsonl"),
    ),
}  # fmt: skip
COLUMNAR = {"parquet": "Parquet", "arrow": "Arrow"}
SCORES = {
    f"scores-{ending}": ExportFile(f"Scores: {name}", holds, partial(export.scores_as, ending=ending))
    for ending, name, holds in (
        ("csv", "CSV", "One row per output and metric, with signature, status and reason. Safe to open in a spreadsheet: texts cannot run as formulas."),
        ("jsonl", "JSONL", "The same rows, one JSON object per line; a missing score is null."),
        *((ending, name, "The same rows with types: a score is a number or missing. For large projects.") for ending, name in COLUMNAR.items()),
    )
}  # fmt: skip
SCORES["scores-mtme"] = ExportFile(
    "Scores: .seg.score (ZIP)",
    "For mt-metrics-eval (Google’s toolkit for WMT metrics): one file per metric and human score.",
    export.scores_as_mtme,
)
REPLIES = {
    "judge-replies": ExportFile(
        "Replies of judges: JSONL", "One JSON object per reply: its text, state, tokens, time, seed and model. Texts unchanged.", export.replies_as_jsonl
    )
}  # fmt: skip
OUTPUTS = {
    f"outputs-{ending}": ExportFile(f"Outputs: {name}", holds, partial(outputs_as, ending=ending))
    for ending, name, holds in (
        ("csv", "CSV", "One row per output, with its source, references and human scores, also those of campaigns. Safe to open in a spreadsheet: texts cannot run as formulas."),
        ("jsonl", "JSONL", "The same rows, one JSON object per line; texts unchanged. Can be imported again."),
        *((ending, name, "The same rows with types; texts unchanged. For large projects.") for ending, name in COLUMNAR.items()),
    )
}  # fmt: skip

EXPORTS: Mapping[str, ExportFile] = LABELS | JUDGEMENTS | SCORES | REPLIES | OUTPUTS


PIECE = 1 << 18
"""Bytes that are read at once."""
KEPT = 4
"""Prepared files of a server; the oldest are removed."""
SECONDS_KEPT = 3600.0
"""Seconds after which a prepared file is removed."""
AT_ONCE = 2
"""Files that a server makes at a time; other exports wait."""
EXPORT_THREADS = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="errorscope-export")
"""The threads that make files, for pages and for requests."""


class PreparedFile:
    """A file that several requests can read at once. It is removed when nobody refers to it. A CSV begins with `SPREADSHEET`."""

    def __init__(self, made: Export) -> None:
        self.made = made
        self._head = SPREADSHEET if made.mime == MIME["csv"] else b""
        self.size = len(self._head) + made.file.seek(0, SEEK_END)
        self.since = monotonic()
        self._lock = Lock()

    def pieces(self) -> Iterator[bytes]:
        """Yield the file from its beginning."""
        yield from filter(None, [self._head])
        at = 0
        while piece := self._read(at):
            yield piece
            at += len(piece)

    def _read(self, at: int) -> bytes:
        with self._lock:
            self.made.file.seek(at)
            return self.made.file.read(PIECE)


class PreparedFiles:
    """The newest `KEPT` files, by a random token. Files older than `SECONDS_KEPT` are removed by the next call."""

    def __init__(self) -> None:
        self._files: OrderedDict[tuple[int, str, str], PreparedFile] = OrderedDict()
        self._lock = Lock()

    def keep(self, project_id: int, name: str, made: Export) -> str:
        """Keep the file `name` of a project, and return its token."""
        token = secrets.token_urlsafe(12)
        with self._lock:
            self._remove_old()
            self._files[project_id, name, token] = PreparedFile(made)
            while len(self._files) > KEPT:
                self._files.popitem(last=False)
        return token

    def find(self, project_id: int, name: str, token: str) -> PreparedFile | None:
        """Return a file that is still kept under this project, name and token."""
        with self._lock:
            self._remove_old()
            return self._files.get((project_id, name, token))

    def _remove_old(self) -> None:
        oldest = monotonic() - SECONDS_KEPT
        for key in [key for key, file in self._files.items() if file.since < oldest]:
            del self._files[key]


PREPARED = PreparedFiles()
"""The files that pages of this server have prepared."""
