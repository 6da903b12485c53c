"""Read human scores for `evaluate` and `calibrate`: from a table of scores, a file that `score` reads, or labels."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from cli.options import SchemeName, print_note, print_notes
from core.data import Dataset, HumanScore, Judgement, OutputKey
from core.errors import ImportProblems, Problem, UserError, unknown
from core.formats.columns import guessed
from core.formats.files import Upload, extension, file_at
from core.formats.given_roles import GivenRoles, table_as_read
from core.formats.labels import judgements
from core.formats.labels.label_file import Gatherer, Severities
from core.formats.labels.label_formats import guess as label_format
from core.formats.mapping import ColumnMapping
from core.formats.mapping_warnings import unread_scores
from core.formats.parsing.numbers import expected_number, is_absent, parse_number
from core.formats.table import TABLE_EXTENSIONS, read_table
from core.formats.write import read_export
from core.mqm.schemes import GOOGLE
from core.mqm.schemes import scheme as scheme_named
from core.mqm.scores import segment_scores
from core.services.labels.judgements import by_output, named
from core.services.projects.importing import load
from core.services.projects.label_import import read_label_files, without_texts

KEY = ("system", "doc_id", "segment_id")
SCORE, MQM = "score", "mqm"
Keys = tuple[str, str | None, str]
Human = tuple[float, int | None]
"""A score and its number of raters."""


class ScoresRead(NamedTuple):
    """The score and number of raters per output, the number of rows without a score, and the name of the score."""

    scores: dict[OutputKey, Human]
    unscored: int
    name: str


LOOK = 1000
"""Number of rows read to detect what the columns hold."""
SHOWN = 80


def read_human_scores(
    path: Path | Sequence[Path],
    name: str | None = None,
    roles: GivenRoles | None = None,
    scheme: SchemeName | None = None,
    texts: Dataset | None = None,
) -> ScoresRead:
    """Return the scores, and print how a table was read.

    Several files are read together if all are labels or scores in a label format. `name` selects a score if there are several.
    Labels become the score “mqm”, with the weights of `scheme` (Google's by default), which is printed. `roles` are roles of
    columns; `texts` has the outputs for formats without texts. Raises `UserError` with the scores of the file, for a scheme that
    does nothing, and `ImportProblems`.
    """
    paths = [path] if isinstance(path, Path) else list(path)
    uploads = [file_at(each) for each in paths]
    upload, *others = uploads
    kinds = {u: label_format(u) for u in uploads}
    if others or kinds[upload] not in (None, "judgements"):
        return _of_labels(uploads, kinds, name, scheme, texts)
    if scheme is not None:
        raise _no_labels(upload.name, scheme)
    if kinds[upload] == "judgements" and (rated := _rated_several_times(upload)):
        return _of_raters(upload, rated, name)
    roles = roles or GivenRoles()
    if extension(upload.name) not in TABLE_EXTENSIONS:
        return _from_column(upload, name or SCORE)
    table = read_table(upload, LOOK)
    guess = guessed(table)
    mapping = roles.of_table(table.columns, guess.mapping)
    if name is None and (unread := unread_scores(table, mapping)):
        raise UserError(
            "a column has the name of a score, but its cells are not numbers",
            where=upload.name,
            got=", ".join(unread),
            hint="Write one number per cell, or choose another score: --human-score NAME",
        )
    keys = _keys(table.columns, mapping)
    if keys is None and mapping.scores_only:
        return _from_column(upload, name or SCORE)  # raises an error that names the missing columns
    if keys is not None and (mapping.scores_only or (name or SCORE) in table.columns):
        names = list(dict.fromkeys(c for c in (SCORE, *mapping.human_scores) if c in table.columns))
        if name is None and len(names) > 1:
            raise _several(upload.name, names)
        print_note(*table_as_read(upload.name, table.columns, mapping, guess.why, table.notes))
        return _from_column(upload, name or next(iter(names), SCORE), keys)
    loaded = load(paths, roles)
    print_note(*loaded.as_read)
    if not loaded.dataset.human_scores:
        hint = "Write each score as a number in a column of its own, or name the column: --column human=NAME"
        raise UserError("the file has no human scores", where=upload.name, expected="a column of numbers", hint=hint)
    return _chosen(loaded.dataset.human_scores, {}, upload.name, name)


def _from_column(upload: Upload, column: str, keys: Keys = KEY) -> ScoresRead:
    return ScoresRead(*read_human(upload, column, keys), column)


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
    scores: dict[OutputKey, Human] = {}
    unscored = 0
    for line, texts in rows_of(upload, (*filter(None, keys), score), "Rename the columns"):
        if is_absent(texts[score]):
            unscored += 1
            continue
        value = scored(upload, line, score, texts[score])
        key = OutputKey(*("" if name is None else texts[name] for name in keys))
        if key in scores:
            raise wrong_line(upload, line, ", ".join(filter(None, keys)), " / ".join(key), "each output only once")
        raters = parse_number(texts.get("n_raters", ""))
        scores[key] = (value, None if raters is None else int(raters))
    return scores, unscored


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
    value = parse_number(text)
    if value is None:
        raise wrong_line(upload, line, column, repr(text[:SHOWN]), expected_number(text))
    return value


def _no_labels(file: str, scheme: str) -> UserError:
    expected = "labels, from which MQM scores are computed"
    hint = "Leave --scheme out, or give the file with the labels"
    return UserError("--scheme has no effect", where=file, got=f"scores, and --scheme {scheme}", expected=expected, hint=hint)  # fmt: skip


def _of_labels(
    uploads: Sequence[Upload], kinds: Mapping[Upload, str | None], name: str | None, scheme: SchemeName | None,
    texts: Dataset | None,
) -> ScoresRead:  # fmt: skip
    files = ", ".join(upload.name for upload in uploads)
    for upload, kind in kinds.items():
        if kind is None or kind == "mtme-metric":
            got = "scores of a metric" if kind else "no labels in a format of docs/formats.md"
            hint = "Give it with --external" if kind else "Give only files of labels, or one table of scores"
            raise UserError("this is no file of human labels or scores", where=upload.name, got=got, hint=hint)
    if texts is None and (bare := without_texts(uploads, {u.name: kind or "" for u, kind in kinds.items()})):
        hint = "Give them with --outputs, with segments in the order of the test set"
        raise UserError("these labels or scores need their outputs", where=", ".join(bare), hint=hint)
    label_files = read_label_files(uploads, texts=texts)
    if label_files.problems:
        raise ImportProblems(label_files.problems)
    weights = scheme_named(scheme or GOOGLE.name)
    of_labels: dict[OutputKey, Human] = {
        s.key: (s.score, s.n_raters) for s in segment_scores(label_files.rated, weights)
    }
    scores = label_files.scored.human_scores
    chosen = _chosen(scores, of_labels, files, name)
    if not of_labels or (name or MQM) != MQM:
        if scheme is not None:
            raise _no_labels(files, scheme)
    else:
        print_note(f"MQM scores of {files}: weights of the scheme “{weights.name}” (--scheme).")
    print_notes([w.sentence() for w in label_files.warnings])
    return chosen


def _rated_several_times(upload: Upload) -> tuple[Judgement, ...]:
    """Return the numbers of all raters if a table without texts has several of a score for some output, else nothing."""
    if judgements.holds_texts(upload):
        return ()
    gatherer = Gatherer(upload.name, Severities())
    lines = judgements.parse(upload).lines
    distinct = dict.fromkeys(line.judgement for line in lines)
    if len({(j.key, j.name) for j in distinct}) == len(distinct):
        return ()
    for line, judgement in lines:
        gatherer.judge(line, judgement)
    gatherer.problems.check()
    return tuple(distinct)


def _of_raters(upload: Upload, rater_scores: Sequence[Judgement], name: str | None) -> ScoresRead:
    """Return a score that is computed from the numbers of several raters: their mean, unless `name` is another one."""
    by_name = by_output(rater_scores)
    names = list(by_name)
    if name is None and len(named(rater_scores)) > 1:
        raise _several(upload.name, names)
    chosen = name or names[0]
    if chosen not in by_name:
        raise unknown(f"human score in {upload.name}", chosen, by_name)
    others = ", ".join(other for other in names if other != chosen)
    also = f"; --human-score can also name {others}" if others else ""
    print_note(
        f"{upload.name}: {chosen} is computed from the numbers of {len({j.rater for j in rater_scores})} raters{also}."
    )
    return ScoresRead({key: (value, None) for key, value in by_name[chosen].items()}, 0, chosen)


def _chosen(
    scores: tuple[HumanScore, ...], of_labels: dict[OutputKey, Human], files: str, name: str | None
) -> ScoresRead:
    by_name: dict[str, dict[OutputKey, Human]] = {MQM: dict(of_labels)} if of_labels else {}
    for system, doc_id, segment_id, called, value in scores:
        by_name.setdefault(called, {})[OutputKey(system, doc_id, segment_id)] = (value, None)
    if name is None and len(by_name) > 1:
        raise _several(files, list(by_name))
    chosen = name or next(iter(by_name))
    if chosen not in by_name:
        raise unknown(f"human score in {files}", chosen, by_name)
    return ScoresRead(by_name[chosen], 0, chosen)


def _several(files: str, names: Sequence[str]) -> UserError:
    return UserError(
        "the file has several human scores", where=files, got=", ".join(names), expected="one score",
        hint=f"Choose one: --human-score {shlex.quote(names[0])}",
    )  # fmt: skip


def wrong_line(upload: Upload, line: int, column: str, cell: str, expected: str) -> ImportProblems:
    """Return the error for a line that cannot be used."""
    return ImportProblems([Problem(upload.name, line, column, cell, expected, "Fix the line or create the file again")])
