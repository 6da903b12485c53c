"""Read human scores for `evaluate` and `calibrate`: from a table of scores, a file that `score` reads, or labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from core.data import HumanScore, OutputKey
from core.errors import ImportProblems, Problem, UserError, unknown
from core.formats.columns import guess
from core.formats.files import Upload, extension
from core.formats.labels.label_formats import FORMATS
from core.formats.labels.label_formats import guess as label_format
from core.formats.load import load, read_upload
from core.formats.parsing.numbers import expected_number, is_absent, number
from core.formats.table import TABLE_EXTENSIONS, read_table
from core.formats.write import read_export
from core.mqm.schemes import scheme
from core.mqm.scores import segment_scores
from core.services.projects.label_import import read as read_labels

KEY = ("system", "doc_id", "segment_id")
SCORE, MQM = "score", "mqm"
Human = tuple[float, int | None]
"""A score and its number of raters."""
LOOK = 1000
"""Number of rows read to detect what the columns hold."""
SHOWN = 80


def read(path: Path, name: str | None = None) -> tuple[dict[OutputKey, Human], int]:
    """Return the score and number of raters per output, and the number of rows without a score.

    `name` selects a score if the file has several. Labels become the score “mqm”, with Google's weights. Raises `UserError`
    with the scores of the file, and `ImportProblems`.
    """
    upload = read_upload(path)
    kind = label_format(upload)
    if kind is not None and not FORMATS[kind].needs_texts:
        return _of_labels(upload, name)
    if extension(upload.name) not in TABLE_EXTENSIONS or _is_table_of(upload, name or SCORE):
        return read_human(upload, name or SCORE)
    scores = load([path]).human_scores
    if not scores:
        return read_human(upload, name or SCORE)  # raises an error that names the missing columns
    return _chosen(scores, {}, upload, name), 0


def read_human(upload: Upload, score: str = SCORE) -> tuple[dict[OutputKey, Human], int]:
    """Return the score and number of raters per output in a table, and the number of rows without a score.

    Removes the apostrophe that our exports put before formulas. Raises `ImportProblems`.
    """
    found: dict[OutputKey, Human] = {}
    unscored = 0
    for line, texts in rows_of(upload, (*KEY, score), "Rename the columns"):
        if is_absent(texts[score]):
            unscored += 1
            continue
        value = scored(upload, line, score, texts[score])
        key = OutputKey(*(texts[name] for name in KEY))
        if key in found:
            raise wrong_line(upload, line, ", ".join(KEY), " / ".join(key), "each output only once")
        raters = number(texts.get("n_raters", ""))
        found[key] = (value, None if raters is None else int(raters))
    return found, unscored


def rows_of(upload: Upload, needed: Sequence[str], todo: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line number of every row of a table, and its texts by column. Raises `ImportProblems` if a needed column is missing."""
    table = read_export(upload)
    if missing := [column for column in needed if column not in table.columns]:
        expected = ", ".join(needed)
        raise ImportProblems([Problem(upload.name, 1, c, "this column is missing", expected, todo) for c in missing])
    for row in table.rows:
        yield row.line, {c: "" if cell is None else str(cell) for c, cell in zip(table.columns, row.cells, strict=True)}


def scored(upload: Upload, line: int, column: str, text: str) -> float:
    """Return the number in a cell. Raises `ImportProblems`."""
    value = number(text)
    if value is None:
        raise wrong_line(upload, line, column, repr(text[:SHOWN]), expected_number(text))
    return value


def _is_table_of(upload: Upload, score: str) -> bool:
    """Return whether the file is a table of scores: it has the columns, or all but the score and no texts."""
    table = read_table(upload, LOOK)
    columns = set(table.columns)
    return {*KEY, score} <= columns or ({*KEY} <= columns and guess(table).scores_only)


def _of_labels(upload: Upload, name: str | None) -> tuple[dict[OutputKey, Human], int]:
    found = read_labels([upload])
    if found.problems:
        raise ImportProblems(found.problems)
    of_labels: dict[OutputKey, Human] = {
        s.key: (s.score, s.n_raters) for s in segment_scores(found.rated, scheme("google"))
    }
    return _chosen(found.scored.human_scores, of_labels, upload, name), 0


def _chosen(
    scores: tuple[HumanScore, ...], of_labels: dict[OutputKey, Human], upload: Upload, name: str | None
) -> dict[OutputKey, Human]:
    by_name: dict[str, dict[OutputKey, Human]] = {MQM: dict(of_labels)} if of_labels else {}
    for system, doc_id, segment_id, called, value in scores:
        by_name.setdefault(called, {})[OutputKey(system, doc_id, segment_id)] = (value, None)
    if name is None and len(by_name) > 1:
        raise UserError(
            "the file has several human scores", where=upload.name, got=", ".join(by_name), expected="one score",
            hint=f"Choose one: --human-score {next(iter(by_name))}",
        )  # fmt: skip
    chosen = name or next(iter(by_name))
    if chosen not in by_name:
        raise unknown(f"human score in {upload.name}", chosen, by_name)
    return by_name[chosen]


def wrong_line(upload: Upload, line: int, column: str, found: str, expected: str) -> ImportProblems:
    """Return the error for a line that cannot be used."""
    return ImportProblems(
        [Problem(upload.name, line, column, found, expected, "Fix the line or create the file again")]
    )
