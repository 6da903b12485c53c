"""Export the texts of a project with their human scores, as a table with one row per output that can be imported again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, count
from typing import Any

from core.data import OutputKey
from core.formats.streams.columnar_write import Kind, write_columnar
from core.formats.write import SCORE_COLUMNS, csv_lines, each_json_line
from core.ports.store import Store
from core.progress import Progress, no_progress, report_parts
from core.services.export.export import Export, partly_scored, score_rows, spooled
from core.services.labels import all_labels
from core.services.labels.judgements import by_output

KEYS = ("system", "doc_id", "segment_id")
TEXT_COLUMNS = (*KEYS, "source", "references", "output")
PARQUET, ARROW = "application/vnd.apache.parquet", "application/vnd.apache.arrow.file"


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
            segment, found = of_segment[output.key.segment], values[output.key]
            found |= {name: of_name[output.key] for name, of_name in rated.items() if output.key in of_name}
            yield [*output.key, segment.source, list(segment.references), output.text, *map(found.get, scores)]


def outputs_as(store: Store, project_id: int, progress: Progress = no_progress, *, ending: str) -> Export:
    """Return the outputs with their human scores as csv, jsonl, parquet or arrow. Segments without outputs have no row.

    Human scores include those derived from raters' numbers, such as the scores of campaigns.
    """
    rated = by_output(all_labels.judgements(store, project_id))
    scores = tuple(dict.fromkeys((*store.projects.get(project_id).human_scores, *rated)))
    rows = output_rows(store, project_id, scores, rated, progress)
    n = store.exports.most_references(project_id)
    references = ["reference", *(f"reference {i}" for i in range(2, n + 1))][:n]
    names = _score_columns(scores, {*TEXT_COLUMNS, *references})
    columns = [*TEXT_COLUMNS, *names]
    lost = [
        f"The human score “{score}” is exported as the column “{name}”, because a column with texts is called “{score}”."
        for score, name in zip(scores, names, strict=True)
        if score != name
    ]
    match ending:
        case "csv":
            flat = ([*r[:4], *(r[4] + [None] * n)[:n], *r[5:]] for r in rows)
            pieces = csv_lines([*KEYS, "source", *references, "output", *names], flat)
            lost.append(
                "Texts that a spreadsheet could run as formulas begin with an apostrophe, which an import keeps."
            )
            return Export(spooled(pieces), "outputs.csv", "text/csv", tuple(lost))
        case "jsonl":
            records = (dict(zip(columns, row, strict=True)) for row in rows)
            return Export(spooled(each_json_line(records)), "outputs.jsonl", "application/jsonl", tuple(lost))
    texts: list[tuple[str, Kind]] = [(name, "texts" if name == "references" else "text") for name in TEXT_COLUMNS]
    return _columnar([*texts, *((name, "number") for name in names)], rows, "outputs", ending, tuple(lost))


def _score_columns(scores: Sequence[str], texts: set[str]) -> list[str]:
    """Return a column name for each score: its own, or one like "output score" if a column with texts has its name."""
    taken, names = texts | set(scores), list[str]()
    for score in scores:
        free = chain((f"{score} score",), (f"{score} score {i}" for i in count(2)))
        names.append(next(name for name in free if name not in taken) if score in texts else score)
        taken.add(names[-1])
    return names


def scores_as(store: Store, project_id: int, progress: Progress = no_progress, *, ending: str) -> Export:
    """Return the scores with signature, status and reason as parquet or arrow."""
    kinds: list[tuple[str, Kind]] = [(name, "number" if name == "score" else "text") for name in SCORE_COLUMNS]
    rows = score_rows(store, project_id, progress)
    return _columnar(kinds, rows, "scores", ending, tuple(partly_scored(store, project_id)))


def _columnar(columns: Any, rows: Any, name: str, ending: str, lost: tuple[str, ...]) -> Export:
    file = spooled()
    write_columnar(file, columns, rows, parquet=ending == "parquet")
    return Export(file, f"{name}.{ending}", PARQUET if ending == "parquet" else ARROW, lost)
