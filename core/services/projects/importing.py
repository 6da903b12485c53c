"""Turn uploaded files into a dataset: guess a plan that the user can correct, then preview the import."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal, NamedTuple

from core.data import Dataset, ExternalScores
from core.errors import ImportProblems, Problem
from core.formats.build import Builder
from core.formats.campaigns.recognised import recognised
from core.formats.column_doubts import doubts
from core.formats.columns import guessed, is_google_mqm
from core.formats.files import beginning, extension
from core.formats.given_roles import files_as_read, files_of, table_as_read
from core.formats.labels.label_formats import guess as label_format_of
from core.formats.lines import LineRoles, guess_roles, stage_roles
from core.formats.mapping import ColumnMapping
from core.formats.mtme_folder import MtmeFiles, is_layout, pairs_of
from core.formats.mtme_folder import files_of as files_of_pair
from core.formats.notes import summary
from core.formats.parsing.cells import FileTable, TableRow, TableStream, characters_in
from core.formats.parsing.text_check import binary_kind, instead_of
from core.formats.problems import Collector, counted, how_many
from core.formats.streams.opened import AnyFile, beginning_of, source_of
from core.formats.streams.staged import KnownOutputs, StagedImport
from core.formats.table import TABLE_EXTENSIONS, sample_values, stream_table
from core.progress import Progress, no_progress, part
from core.services.projects import external_scores

HEAD = 1 << 20
"""Bytes of a large file from which its format is guessed."""
LOOK = 1000
CHARACTERS = 20_000_000
"""Rows of a table from which its columns are judged, and the characters after which no further row is read."""


@dataclass(frozen=True, slots=True)
class TablePlan:
    """A table: its columns, a sample value of each, and their mapping. `why` has the reasons of the guess, "" where the name of the
    column says it; `notes` say what is unusual in the layout of the file."""

    file: str
    columns: tuple[str, ...]
    samples: tuple[str, ...]
    mapping: ColumnMapping
    why: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def reason(self, column: str) -> str:
        """Return why a column is read as it is guessed."""
        return dict(zip(self.columns, self.why, strict=False)).get(column, "")


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """How the files will be read. A page changes the plan with `dataclasses.replace` and previews it again.

    `tables` belong to kind "table", `roles` to kind "lines", `formats` to kind "labels" (None: format not recognised), and `pairs` and
    `mtme`, the files of the chosen one, to kind "mtme", a folder in mt-metrics-eval's layout. `problems` are files that cannot be
    read; the preview repeats them.
    """

    kind: Literal["table", "lines", "labels", "mtme"]
    tables: tuple[TablePlan, ...] = ()
    roles: LineRoles = LineRoles()
    formats: tuple[tuple[str, str | None], ...] = ()
    problems: tuple[Problem, ...] = ()
    pairs: tuple[str, ...] = ()
    mtme: MtmeFiles | None = None

    def as_read(self) -> list[str]:
        """Return how the files are read, as lines: the role of every column or text file."""
        if self.kind == "lines":
            return files_as_read(self.roles)
        if self.mtme is not None:
            return self.mtme.as_read()
        return [line for t in self.tables for line in table_as_read(t.file, t.columns, t.mapping, t.reason, t.notes)]


class Preview(NamedTuple):
    """The result of an import before it is done. `staged` is None if there are problems or nothing to import.

    `warnings` and `notes` tell what is odd or missing and does not prevent the import.
    """

    staged: StagedImport | None
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    summary: str
    warnings: tuple[Problem, ...] = ()

    @property
    def dataset(self) -> Dataset | None:
        """All of the import in memory."""
        return None if self.staged is None else self.staged.dataset()

    @property
    def external(self) -> tuple[ExternalScores, ...]:
        return () if self.staged is None else self.staged.external()


def _same_names(files: Sequence[AnyFile]) -> tuple[list[AnyFile], list[Problem]]:
    """Return the files without exact copies, and a problem for each name shared by different files."""
    kept = list(dict.fromkeys(files))
    names = Counter(f.name for f in kept)
    todo = "Rename one of them, because files are identified by name"
    return kept, [
        Problem(n, 0, "", f"{count} different files of this name", "each name once", todo)
        for n, count in names.items()
        if count > 1
    ]


def plan(files: Sequence[AnyFile], *, labels: bool = False) -> ImportPlan:
    """Guess how to read the files: a folder of mt-metrics-eval by its layout, labels by content, tables by extension (CSV, TSV, JSONL),
    else text lines.

    With `labels` all files are read as labels. Without it, a table of scores by rater is read as a table of outputs. Files of campaigns
    are labels of no format. Never raises for invalid files; the plan lists the problems.
    """
    files, found = _same_names(files)
    problems = Collector()
    problems.extend(found)
    names = [f.name for f in files]
    if is_layout(names):
        return plan_pair(names, problems=problems.closed())
    formats = {
        f.name: name
        for f in files
        if (name := label_format_of(beginning_of(f, HEAD))) and (labels or name != "judgements")
    }
    named = {*formats, *(f.name for f in files if f.name not in formats and recognised(beginning_of(f, HEAD)))}
    if labels or (named and len(named) == len(files)):
        return ImportPlan("labels", formats=tuple((n, formats.get(n)) for n in names), problems=problems.closed())
    if not formats and not any(extension(name) in TABLE_EXTENSIONS for name in names):
        return ImportPlan("lines", roles=guess_roles(list(dict.fromkeys(names))), problems=problems.closed())
    tables: list[TablePlan] = []
    mqm: list[str] = []
    for upload in files:
        if upload.name in formats:
            mqm.append(upload.name)
            continue
        if extension(upload.name) not in TABLE_EXTENSIONS:
            kind = binary_kind(beginning(beginning_of(upload, HEAD), HEAD))
            separate = "Upload tables and text files separately, or rename the file to .csv, .tsv or .jsonl"
            todo = instead_of(kind) if kind else separate
            found_there = kind or "plain text beside tables"
            problems.add(upload.name, 0, "", found_there, "only tables, or only text files", todo)
            continue
        try:
            table = _beginning(stream_table(upload, LOOK))
        except ImportProblems as error:
            problems.extend(error.problems)
            continue
        if is_google_mqm(table.columns):
            mqm.append(upload.name)
        else:
            guess = guessed(table)
            why = tuple(map(guess.why, table.columns))
            tables.append(TablePlan(upload.name, table.columns, sample_values(table), guess.mapping, why, table.notes))
    if mqm and not tables:
        mixed = tuple((n, formats.get(n, "google")) for n in mqm)
        return ImportPlan("labels", formats=mixed, problems=problems.closed())
    todo = "Upload the labels separately"
    for name in mqm:
        problems.add(name, 0, "", "labels beside outputs", "only labels, or only outputs", todo)
    return ImportPlan("table", tuple(tables), problems=problems.closed())


def plan_pair(names: Sequence[str], pair: str = "", problems: Sequence[Problem] = ()) -> ImportPlan:
    """Return how the files of a language pair in mt-metrics-eval's layout are read: of the first pair, unless `pair` names one."""
    pairs = pairs_of(names)
    try:
        found = files_of_pair(list(dict.fromkeys(names)), pair or pairs[0])
    except ImportProblems as error:
        return ImportPlan("mtme", problems=(*problems, *error.problems), pairs=pairs)
    return ImportPlan("mtme", problems=tuple(problems), pairs=pairs, mtme=found)


def _beginning(table: TableStream) -> FileTable:
    """Return the first rows of a table."""

    def rows() -> Iterator[TableRow]:
        characters = 0
        for row in islice(table.each(), LOOK):
            yield row
            characters += characters_in(row.cells)
            if characters >= CHARACTERS:
                break

    return replace(table, each=rows).held()


def without_outputs(plan: ImportPlan) -> bool:
    """Return whether the tables have only scores, so that their outputs must be in the project."""
    return plan.kind == "table" and bool(plan.tables) and all(t.mapping.scores_only for t in plan.tables)


def preview(
    files: Sequence[AnyFile],
    plan: ImportPlan,
    texts: Dataset | KnownOutputs | None = None,
    progress: Progress = no_progress,
) -> Preview:
    """Read the files by the plan. Return what they hold with notes, or every problem.

    `texts` has the outputs for tables that have only scores. `progress` is called with the share of the work. Never raises for invalid
    files. For kinds "labels" and "mtme" only the problems of the plan are repeated.
    """
    files, _ = _same_names(files)
    by_name = {f.name: f for f in files}
    if not files:
        return _refused([Problem("", 0, "", "no files", "at least one file", "Choose the files to import")])
    match plan.kind:
        case "labels" | "mtme":
            return Preview(None, plan.problems, (), counted(len(files), "file") + " of labels")
        case "lines":
            return _preview_lines(by_name, plan, progress)
        case "table":
            return _preview_tables(by_name, plan, texts, progress)


def _refused(problems: Sequence[Problem]) -> Preview:
    return Preview(None, tuple(problems), (), counted(how_many(problems), "problem"))


def _preview_lines(by_name: dict[str, AnyFile], plan: ImportPlan, progress: Progress) -> Preview:
    roles = plan.roles
    problems = Collector()
    problems.extend(plan.problems)
    named = [name for name in files_of(roles) if name not in roles.unused]
    for name in named:
        if name not in by_name:
            problems.add(name, 0, "", "no such file", "one of the uploaded files", "Choose the files again")
    for name, n in Counter(named).items():
        if n > 1:
            problems.add(name, 0, "", "the same file given twice", "each file once", "Choose one use")
    for system, n in Counter(system for _, system in roles.systems).items():
        if n > 1 or not system:
            files = ", ".join(f for f, s in roles.systems if s == system)
            found = f"{n} systems named {system}" if system else "a system without a name"
            problems.add(files, 0, "", found, "a different name for each system", "Rename the system")
    if problems:
        return _refused(problems.closed())
    try:
        staged = stage_roles(by_name, roles, progress)
    except ImportProblems as error:
        return _refused(error.problems)
    return Preview(staged, (), staged.notes(), summary(staged.counts()))


def _of_scores(staged: StagedImport) -> str:
    """Return `scores for 40 segments, 160 human scores (adequacy)`, the summary of tables without outputs."""
    of = staged.counts()
    names, n = ", ".join(of.human_scores), staged.n_human_scores()
    human = f", {counted(n, 'human score')} ({names})" if names else ""
    return f"scores for {counted(of.segments, 'segment')}{human}"


def _preview_tables(
    by_name: dict[str, AnyFile], plan: ImportPlan, texts: Dataset | KnownOutputs | None, progress: Progress
) -> Preview:
    problems = Collector()
    builder = Builder(texts if without_outputs(plan) else None)
    odd: list[Problem] = []
    for t in plan.tables:
        problems.extend(external_scores.name_problems((m.name, t.file, m.column) for m in t.mapping.external()))
    planned = {table.file: table.mapping for table in plan.tables}
    names = list(dict.fromkeys([*by_name, *planned, *(p.file for p in plan.problems if p.file)]))
    for i, name in enumerate(names):
        if name in planned and name not in by_name:
            problems.add(name, 0, "", "no such file", "one of the uploaded files", "Choose the files again")
            continue
        before = problems.total
        if name in by_name and extension(name) in TABLE_EXTENSIONS:
            try:
                report = progress_of_steps(part(progress, i, len(names)))
                table = stream_table(by_name[name], progress=report)
                if name in planned:
                    digest = source_of(by_name[name]).sha256 if planned[name].external() else ""
                    builder.add(table, planned[name], digest, report)
                    odd += doubts(_beginning(table), planned[name])
            except ImportProblems as error:
                problems.extend(error.problems)
        if problems.total == before:
            problems.extend(p for p in plan.problems if p.file == name)
    staged = None
    try:
        staged = builder.staged() if planned else None
    except ImportProblems as error:
        if builder.holds_outputs or not problems:
            problems.extend(error.problems)
    if staged is None or problems:
        return _refused(problems.closed())
    means = "means of several ratings" if staged.holds_means else ""
    texts_said = summary(staged.counts()) if staged.n_outputs else _of_scores(staged)
    parts = (texts_said, means, external_scores.staged_summary(staged))
    return Preview(staged, (), staged.notes(), ", ".join(filter(None, parts)), tuple(odd))


def progress_of_steps(progress: Progress) -> Progress:
    """Return a callback for work in steps of unknown number, such as reading a file twice. Each step moves half of what is left."""
    done, last = 0.0, 0.0

    def report(share: float) -> None:
        nonlocal done, last
        if share < last:
            done += (1 - done) / 2
        last = share
        progress(done + share * (1 - done) / 2)

    return report
