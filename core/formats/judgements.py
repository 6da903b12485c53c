"""Numbers from people, one row a rater and output: direct assessment (0 to 100), Likert scales, or ranks.

A table (CSV, TSV, JSONL) with the columns system, segment, rater (or annotator, judge, user) and one or more of numbers, also
document, and source and output where it holds the texts; other usual names are recognised. A column `rank` (1 is best, ties
are allowed) is read within each segment and rater; every other column of numbers is a score, higher is better, a column `z`
among them. An empty cell is no judgement.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from core.data import Dataset, OutputKey, SegmentKey
from core.errors import ImportProblems, Problem
from core.formats.cells import Row, Table
from core.formats.columns import Role, plain, roles_of
from core.formats.files import Upload
from core.formats.label_file import Gatherer, LabelFile, Severities
from core.formats.mtme_rating import needed
from core.formats.numbers import is_absent, number
from core.formats.problems import Collector, counted, shown
from core.formats.reader import CellReader
from core.formats.table import read_table
from core.formats.write import csv_text

RATER = frozenset("rater raterid annotator annotatorid judge judgeid evaluator user userid worker workerid".split())
RANK = frozenset("rank ranking position place".split())
NO_SCORE = frozenset("date time timestamp start end duration seconds seed batch".split())


class Judgement(NamedTuple):
    """What one rater gave one output under the name of the column; `line` is where it stands."""

    line: int
    key: OutputKey
    rater: str
    name: str
    value: float


class Judgements(NamedTuple):
    """Scores and ranks as they stand in the file, and the texts where it has them: (line, output, source, text)."""

    scores: tuple[Judgement, ...]
    ranks: tuple[Judgement, ...]
    texts: tuple[tuple[int, OutputKey, str | None, str], ...] = ()

    def rankings(self) -> dict[tuple[SegmentKey, str], dict[str, float]]:
        """Rank by system, for each segment and rater: what Bradley–Terry strengths are fitted to."""
        found: dict[tuple[SegmentKey, str], dict[str, float]] = {}
        for j in self.ranks:
            found.setdefault((j.key.segment, j.rater), {})[j.key.system] = j.value
        return found


def rater_column(columns: Iterable[str]) -> str | None:
    return next((c for c in columns if plain(c) in RATER), None)


def parse(upload: Upload) -> Judgements:
    """The judgements of a file. Raises `ImportProblems`: columns that are missing, cells that are no numbers, a system that
    one rater ranks twice in a segment."""
    table = read_table(upload)
    problems = Collector()
    roles, rater, numbers = roles_of(table.columns), rater_column(table.columns), _numbers(table)
    for there, what in (
        (roles.get("system"), "a column with the system"),
        (roles.get("segment"), "a column with the segment id"),
        (rater, "a column with the rater"),
        (numbers, "a column of numbers"),
    ):
        if not there:
            have = f"the columns {', '.join(table.columns)}"
            problems.add(table.name, 1, "", have, what, "Name it in the first line")
    problems.check()
    reader = CellReader(table, problems)
    scores, ranks, texts = [], [], []
    ranked: set[tuple[OutputKey, str]] = set()
    for row in table.rows:
        key, who = _key(reader, row, roles), reader.text(row, rater) or ""
        if not (key.system and key.segment_id and who.strip()):
            todo = "Fill it in, or take the row out"
            problems.add(upload.name, row.line, "", "no system, segment or rater", "all three", todo)
            continue
        if (text := reader.text(row, roles.get("output"))) is not None:
            texts.append((row.line, key, reader.text(row, roles.get("source")), text))
        for column in numbers:
            said = reader.text(row, column)
            if said is None or is_absent(said):
                continue
            value = number(said)
            if value is None:
                todo = "Leave the cell empty where there is no number"
                problems.add(upload.name, row.line, column, shown(said), "a number", todo)
            elif plain(column) not in RANK:
                scores.append(Judgement(row.line, key, who, column, value))
            elif (key, who) in ranked:
                found = f"{shown(who)} ranks {shown(key.system)} again in segment {shown(key.segment_id)}"
                problems.add(upload.name, row.line, column, found, "one rank", "Keep one of the two")
            else:
                ranked.add((key, who))
                ranks.append(Judgement(row.line, key, who, column, value))
    problems.check()
    return Judgements(tuple(scores), tuple(ranks), tuple(texts))


def holds_texts(upload: Upload) -> bool:
    """Whether the file has a column with the outputs; False also for one that cannot be read."""
    try:
        return "output" in roles_of(read_table(upload, 1).columns)
    except ImportProblems:
        return False


def _numbers(table: Table) -> list[str]:
    """The columns without a role in which at least half of what is filled in are numbers."""
    taken = {*roles_of(table.columns).values(), rater_column(table.columns)}
    found = []
    for i, column in enumerate(table.columns):
        if column in taken or plain(column) in NO_SCORE:
            continue
        cells = [cell for row in table.rows if isinstance(cell := row.cells[i], str) and not is_absent(cell)]
        if cells and 2 * sum(number(cell) is not None for cell in cells) >= len(cells):
            found.append(column)
    return found


def _key(reader: CellReader, row: Row, roles: Mapping[Role, str]) -> OutputKey:
    return OutputKey(
        reader.text(row, roles.get("system")) or "",
        reader.text(row, roles.get("document")) or "",
        reader.text(row, roles.get("segment")) or "",
    )


def read(upload: Upload, severities: Severities, texts: Dataset | None) -> LabelFile:
    """Human scores: the mean over raters of each column; of ranks the share of the other systems ranked below, ties half, as
    "rank wins" (0 to 1, higher is better). Outputs come from the file or from `texts`. Raises `ImportProblems`."""
    parsed = parse(upload)
    return gathered(upload, parsed, severities, None if parsed.texts else needed(upload, texts))


def gathered(
    upload: Upload, parsed: Judgements, severities: Severities, texts: Dataset | None, more: Iterable[Judgement] = ()
) -> LabelFile:
    """As `read`; `more` are further scores made from the parsed ones."""
    found = Gatherer(upload.name, severities, texts)
    for line, key, source, text in parsed.texts:
        found.add_texts(line, key, source, text)
    for j in (*parsed.scores, *wins(parsed), *more):
        if found.output(j.key) is None:
            found.problem(j.line, "", f"a judgement of {shown(j.key.system)}, segment {shown(j.key.segment_id)}",
                          "None: there is no such output", "Choose the outputs that were judged")  # fmt: skip
        else:
            found.score(j.key, j.name, j.value)
    alone = sum(len(r) < 2 for r in parsed.rankings().values())
    if alone:
        found.warn(0, "rank", counted(alone, "ranking") + " of one system", "at least two", "Left out")
    raters = {j.rater for j in (*parsed.scores, *parsed.ranks)}
    found.warn(0, "rater", f"single judgements by {counted(len(raters), 'rater')}", "one number an output",
               "Kept as means; who gave which number is not kept")  # fmt: skip
    if not parsed.scores and not parsed.ranks:
        raise ImportProblems([Problem(upload.name, 0, "", "no judgements", "at least one number", "Check the columns")])
    return found.done()


def wins(parsed: Judgements) -> list[Judgement]:
    """For each rank the share of the others in its ranking that stand below it, equal ranks counting half."""
    rankings = parsed.rankings()
    made = []
    for j in parsed.ranks:
        others = [r for system, r in rankings[j.key.segment, j.rater].items() if system != j.key.system]
        if others:
            won = sum(1.0 if j.value < r else 0.5 if j.value == r else 0.0 for r in others)
            made.append(j._replace(name="rank wins", value=won / len(others)))
    return made


def write(judgements: Judgements) -> str:
    """A CSV with a row for each output and rater, and a column for each name; texts are not written."""
    every = (*judgements.scores, *judgements.ranks)
    names = tuple(dict.fromkeys(j.name for j in every))
    rows: dict[tuple[OutputKey, str], Mapping[str, float]] = {}
    for j in every:
        rows[j.key, j.rater] = {**rows.get((j.key, j.rater), {}), j.name: j.value}
    header = ("system", "doc_id", "segment_id", "rater", *names)
    return csv_text(header, ((*key, rater, *map(values.get, names)) for (key, rater), values in rows.items()))
