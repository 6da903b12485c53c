"""Read and write human scores with one row per rater and output: direct assessment (0 to 100), Likert scales, or ranks.

Tables (CSV, TSV, JSONL) have the columns system, segment, rater (or annotator, judge, user) and one or more columns of numbers, and
optionally document, source and output; other usual names are recognised. A column `rank` (1 is best, ties are allowed) is read within
each segment and rater; every other number column, also `z`, is a score, higher is better. An empty cell is no judgement. CSV and JSONL
are written with the same numbers by rater. A CSV that begins with the columns `KEYS` and has no texts is read as one that this program
wrote: escaped names are restored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from core.data import Dataset, Judgement, OutputKey
from core.errors import ImportProblems
from core.formats.column_facts import counts_rows, facts_of, is_named_like_a_time, is_named_like_an_id, is_nameless
from core.formats.columns import named_roles, plain
from core.formats.files import Upload
from core.formats.labels.label_file import Gatherer, LabelFile, Severities
from core.formats.labels.mtme_rating import needed
from core.formats.labels.record_texts import ITEM_TYPES
from core.formats.parsing.cells import CellReader, FileTable, TableReading, unescaped
from core.formats.parsing.numbers import expected_number, is_absent, looks_like_a_number, parse_number
from core.formats.problems import Collector, refused, shown
from core.formats.table import is_json, read_table
from core.formats.write import csv_lines, each_json_line
from core.formatting import format_count

RATER = frozenset(
    "rater raterid annotator annotatorid judge judgeid evaluator user userid username worker workerid".split()
)
RANK = frozenset("rank ranking position place".split())
KEYS = ("system", "doc_id", "segment_id", "rater")
NO_SCORE = frozenset("date time timestamp start end duration seconds seed batch".split())

ITEM_TYPE, CHECKS = "itemtype", ITEM_TYPES - {"TGT", "REF"}
"""The column in which Appraise says what was rated, and the types of its attention checks."""

DIFFERS = "The rater already gave another number: correct the file, replace the project's numbers, or import into a new project"


class JudgementLine(NamedTuple):
    """A judgement with its line in the file."""

    line: int
    judgement: Judgement


class JudgementFile(NamedTuple):
    """The judgements of a file, its texts, if it has any: (line, output, source, text), and the columns of numbers that are not read.
    `checks` counts rows of attention checks."""

    lines: tuple[JudgementLine, ...]
    texts: tuple[tuple[int, OutputKey, str | None, str], ...] = ()
    unread: tuple[str, ...] = ()
    checks: int = 0


def is_rank(name: str) -> bool:
    """Return whether numbers of this name are ranks (1 is best) rather than scores."""
    return plain(name) in RANK


def rater_column(columns: Iterable[str]) -> str | None:
    return next((c for c in columns if plain(c) in RATER), None)


def parse(upload: Upload) -> JudgementFile:
    """Read the judgements of a file. Raises `ImportProblems` for missing columns, cells that are not numbers, and a system that a rater
    ranks twice in a segment."""
    table = read_table(upload)
    if table.columns[: len(KEYS)] == KEYS and "output" not in named_roles(table.columns) and not is_json(upload.name):
        as_read = TableReading(table.name, iter(table.rows), [*table.columns], [*table.notes])
        table = unescaped(as_read, always=True).held()
    problems = Collector()
    roles, rater, (numbers, others) = named_roles(table.columns), rater_column(table.columns), _numbers(table)
    for role_column, what in (
        (roles.get("system"), "a column with the system"),
        (roles.get("segment"), "a column with the segment id"),
        (rater, "a column with the rater"),
        (numbers, "a column of numbers"),
    ):
        if not role_column:
            have = f"the columns {', '.join(table.columns)}"
            todo = "Name it in the first line. A table has one row per annotator and output"
            problems.add(table.name, 1, "", have, what, todo)
    problems.check()
    reader = CellReader(table, problems)
    judged, texts = [], []
    item_type, checks = next((c for c in table.columns if plain(c) == ITEM_TYPE), None), 0
    ranked: set[tuple[OutputKey, str]] = set()
    for row in table.rows:
        if (reader.text(row, item_type) or "").strip() in CHECKS:
            checks += 1
            continue
        key = OutputKey(*(reader.text(row, roles.get(role)) or "" for role in ("system", "document", "segment")))
        who = reader.text(row, rater) or ""
        if not (key.system and key.segment_id and who.strip()):
            todo = "Fill it in, or remove the row"
            problems.add(upload.name, row.line, "", "no system, segment or rater", "all three", todo)
            continue
        if (text := reader.text(row, roles.get("output"))) is not None:
            texts.append((row.line, key, reader.text(row, roles.get("source")), text))
        for column in numbers:
            said = reader.text(row, column)
            if said is None or is_absent(said):
                continue
            value = parse_number(said)
            if value is None:
                todo = "Leave the cell empty where there is no number"
                problems.add(upload.name, row.line, column, shown(said), expected_number(said), todo)
            elif is_rank(column) and (key, who) in ranked:
                got = f"{shown(who)} ranks {shown(key.system)} again in segment {shown(key.segment_id)}"
                problems.add(upload.name, row.line, column, got, "one rank", "Keep one of the two")
            else:
                if is_rank(column):
                    ranked.add((key, who))
                judged.append(JudgementLine(row.line, Judgement(key, who, column, value)))
    problems.check()
    return JudgementFile(tuple(judged), tuple(texts), tuple(others), checks)


def holds_texts(upload: Upload) -> bool:
    """Return whether the file has a column with outputs; False also if it cannot be read."""
    try:
        return "output" in named_roles(read_table(upload, 1).columns)
    except ImportProblems:
        return False


def _numbers(table: FileTable) -> tuple[list[str], list[str]]:
    """Return the columns without a role in which at least half of the non-empty cells are numbers, and other columns with numbers: those
    of an index, a time or a seed, and those with fewer numbers."""
    taken = {*named_roles(table.columns).values(), rater_column(table.columns)}
    facts = facts_of(table)
    scores, others = [], []
    for i, column in enumerate(table.columns):
        if column in taken:
            continue
        cells = [cell for row in table.rows if isinstance(cell := row.cells[i], str) and not is_absent(cell)]
        numbers = sum(map(looks_like_a_number, cells))
        no_score = plain(column) in NO_SCORE or is_nameless(column) or counts_rows(column, facts[column])
        no_score = no_score or is_named_like_a_time(column) or is_named_like_an_id(column)
        if not no_score and cells and (2 * numbers >= len(cells) or facts[column].is_number):
            scores.append(column)
        elif numbers:
            others.append(column)
    return scores, others


def read_judgements(upload: Upload, severities: Severities, texts: Dataset | None) -> LabelFile:
    """Read the judgements by rater. Outputs come from the file or from `texts`. Raises `ImportProblems`, also if a rater gives an output
    two different numbers of one name."""
    parsed = parse(upload)
    gatherer = Gatherer(upload.name, severities, None if parsed.texts else needed(upload, texts))
    for line, key, source, text in parsed.texts:
        gatherer.add_texts(line, key, source, text)
    for line, j in parsed.lines:
        if gatherer.output(j.key) is None:
            gatherer.no_output(line, j.key, "a judgement", "judged")
        else:
            gatherer.judge(line, j)
    if parsed.checks:
        gatherer.warn(0, "item type", format_count(parsed.checks, "row of attention checks", "rows of attention checks"),
                   "outputs (TGT, REF)", "Left out")  # fmt: skip
    for column in parsed.unread:
        todo = "It is not imported. If it is a score or rank, rename it in the first line, and leave cells without a number empty"
        gatherer.warn(1, column, "numbers that are no scores by their name or cells", "scores or ranks", todo)
    if not parsed.lines:
        raise refused(upload.name, 0, "no judgements", "at least one number", "Check the columns")
    return gatherer.done()


def each_csv_line(judgements: Sequence[Judgement]) -> Iterator[str]:
    """Return the lines of a CSV with one row per output and rater and one column per name, without texts."""
    names = tuple(dict.fromkeys(j.name for j in judgements))
    rows = ((*key, rater, *map(numbers.get, names)) for (key, rater), numbers in _rows(judgements).items())
    return csv_lines((*KEYS, *names), rows)


def each_jsonl_line(judgements: Sequence[Judgement]) -> Iterator[str]:
    """Return the rows of `each_csv_line` as JSON Lines."""
    rows = _rows(judgements).items()
    return each_json_line(dict(zip(KEYS, (*key, rater), strict=True)) | numbers for (key, rater), numbers in rows)


def _rows(judgements: Iterable[Judgement]) -> dict[tuple[OutputKey, str], dict[str, float]]:
    rows: dict[tuple[OutputKey, str], dict[str, float]] = {}
    for j in judgements:
        rows.setdefault((j.key, j.rater), {})[j.name] = j.value
    return rows
