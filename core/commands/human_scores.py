"""Read human scores for `evaluate` and `calibrate`: from a table of scores, a file that `score` reads, or labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from core.commands.options import SchemeName
from core.commands.progress import print_note
from core.data import HumanScore, OutputKey
from core.errors import ImportProblems, Problem, UserError, unknown
from core.formats.columns import guessed
from core.formats.files import Upload, extension
from core.formats.given_roles import GivenRoles, table_as_read
from core.formats.labels.label_formats import FORMATS
from core.formats.labels.label_formats import guess as label_format
from core.formats.load import load_as, read_upload
from core.formats.mapping import ColumnMapping
from core.formats.parsing.numbers import expected_number, is_absent, number
from core.formats.table import TABLE_EXTENSIONS, read_table
from core.formats.write import read_export
from core.mqm.schemes import GOOGLE
from core.mqm.schemes import scheme as scheme_named
from core.mqm.scores import segment_scores
from core.services.projects.label_import import read as read_labels

KEY = ("system", "doc_id", "segment_id")
SCORE, MQM = "score", "mqm"
Keys = tuple[str, str | None, str]
Human = tuple[float, int | None]
"""A score and its number of raters."""
LOOK = 1000
"""Number of rows read to detect what the columns hold."""
SHOWN = 80


def read(
    path: Path, name: str | None = None, given: GivenRoles | None = None, scheme: SchemeName | None = None
) -> tuple[dict[OutputKey, Human], int]:
    """Return the score and number of raters per output, and the number of rows without a score. Prints how a table was read.

    `name` selects a score if the file has several. Labels become the score “mqm”, with the weights of `scheme` (Google's by
    default), which is printed. `given` are roles of columns. Raises `UserError` with the scores of the file, for a scheme that
    does nothing, and `ImportProblems`.
    """
    upload = read_upload(path)
    kind = label_format(upload)
    if kind is not None and not FORMATS[kind].needs_texts:
        return _of_labels(upload, name, scheme)
    if scheme is not None:
        raise _no_labels(upload, scheme)
    given = given or GivenRoles()
    if extension(upload.name) not in TABLE_EXTENSIONS:
        return read_human(upload, name or SCORE)
    table = read_table(upload, LOOK)
    found = guessed(table)
    mapping = given.of_table(table.columns, found.mapping)
    keys = _keys(table.columns, mapping)
    if keys is None and mapping.scores_only:
        return read_human(upload, name or SCORE)  # raises an error that names the missing columns
    if keys is not None and (mapping.scores_only or (name or SCORE) in table.columns):
        names = list(dict.fromkeys(c for c in (SCORE, *mapping.human_scores) if c in table.columns))
        if name is None and len(names) > 1:
            raise _several(upload, names)
        print_note(*table_as_read(upload.name, table.columns, mapping, found.why, table.notes))
        return read_human(upload, name or next(iter(names), SCORE), keys)
    loaded = load_as([path], given)
    if not loaded.dataset.human_scores:
        return read_human(upload, name or SCORE)  # raises an error that names the missing columns
    print_note(*loaded.as_read)
    return _chosen(loaded.dataset.human_scores, {}, upload, name), 0


def _keys(columns: Sequence[str], mapping: ColumnMapping) -> Keys | None:
    """Return the columns of system, document (None if there is none) and segment in a table of scores; None if they are not all known."""
    if set(KEY) <= set(columns):
        return KEY
    if not mapping.scores_only or mapping.system is None or mapping.segment is None:
        return None
    return mapping.system, mapping.document, mapping.segment


def read_human(upload: Upload, score: str = SCORE, keys: Keys = KEY) -> tuple[dict[OutputKey, Human], int]:
    """Return the score and number of raters per output in a table, and the number of rows without a score.

    `keys` are the columns of system, document and segment. Removes the apostrophe that our exports put before formulas. Raises `ImportProblems`.
    """
    found: dict[OutputKey, Human] = {}
    unscored = 0
    for line, texts in rows_of(upload, (*filter(None, keys), score), "Rename the columns"):
        if is_absent(texts[score]):
            unscored += 1
            continue
        value = scored(upload, line, score, texts[score])
        key = OutputKey(*("" if name is None else texts[name] for name in keys))
        if key in found:
            raise wrong_line(upload, line, ", ".join(filter(None, keys)), " / ".join(key), "each output only once")
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


def _no_labels(upload: Upload, scheme: str) -> UserError:
    expected = "labels, from which MQM scores are computed"
    hint = "Leave --scheme out, or give the file with the labels"
    return UserError("--scheme has no effect", where=upload.name, got=f"scores, and --scheme {scheme}", expected=expected, hint=hint)  # fmt: skip


def _of_labels(upload: Upload, name: str | None, scheme: SchemeName | None) -> tuple[dict[OutputKey, Human], int]:
    found = read_labels([upload])
    if found.problems:
        raise ImportProblems(found.problems)
    weights = scheme_named(scheme or GOOGLE.name)
    of_labels: dict[OutputKey, Human] = {s.key: (s.score, s.n_raters) for s in segment_scores(found.rated, weights)}
    scores = found.scored.human_scores
    chosen = _chosen(scores, of_labels, upload, name)
    if not of_labels or (name or MQM) != MQM:
        if scheme is not None:
            raise _no_labels(upload, scheme)
    else:
        print_note(f"MQM scores of {upload.name}: weights of the scheme “{weights.name}” (--scheme).")
    return chosen, 0


def _chosen(
    scores: tuple[HumanScore, ...], of_labels: dict[OutputKey, Human], upload: Upload, name: str | None
) -> dict[OutputKey, Human]:
    by_name: dict[str, dict[OutputKey, Human]] = {MQM: dict(of_labels)} if of_labels else {}
    for system, doc_id, segment_id, called, value in scores:
        by_name.setdefault(called, {})[OutputKey(system, doc_id, segment_id)] = (value, None)
    if name is None and len(by_name) > 1:
        raise _several(upload, list(by_name))
    chosen = name or next(iter(by_name))
    if chosen not in by_name:
        raise unknown(f"human score in {upload.name}", chosen, by_name)
    return by_name[chosen]


def _several(upload: Upload, names: Sequence[str]) -> UserError:
    return UserError(
        "the file has several human scores", where=upload.name, got=", ".join(names), expected="one score",
        hint=f"Choose one: --human-score {names[0]}",
    )  # fmt: skip


def wrong_line(upload: Upload, line: int, column: str, found: str, expected: str) -> ImportProblems:
    """Return the error for a line that cannot be used."""
    return ImportProblems(
        [Problem(upload.name, line, column, found, expected, "Fix the line or create the file again")]
    )
