"""Turn uploaded files into a dataset: guess a plan that the user can correct, then preview the import."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

from core.data import SEVERITIES, Dataset
from core.errors import ImportProblems, Problem, UserError
from core.formats.build import Builder
from core.formats.campaigns.campaign_formats import recognised
from core.formats.columns import guessed, is_google_mqm
from core.formats.files import Upload, beginning, extension, file_at, path_name
from core.formats.given_roles import GivenRoles, agree, files_as_read, files_of, table_as_read
from core.formats.labels.label_file import Severities
from core.formats.labels.label_formats import FORMATS
from core.formats.labels.label_formats import guess as label_format_of
from core.formats.lines import guess_roles, stage_roles
from core.formats.mapping import ColumnMapping, LineRoles
from core.formats.mapping_warnings import mapping_warnings
from core.formats.mtme_folder import MtmeFiles, is_layout, pairs_of
from core.formats.mtme_folder import files_of as files_of_pair
from core.formats.parsing.cells import FileTable, TableRow, characters_in
from core.formats.problems import Collector, how_many
from core.formats.streams.file_rows import FileRows, KeptFile, StoredRows
from core.formats.streams.opened import binary_kind, instead_of
from core.formats.streams.staged import KnownOutputs, KnownTexts, StagedImport, dataset_summary
from core.formats.table import TABLE_EXTENSIONS, sample_values
from core.formatting import format_count
from core.progress import Progress, no_progress, part
from core.services.projects import adding

HEAD = 1 << 20
"""Bytes of a large file from which its format is guessed."""
LOOK = 1000
CHARACTERS = 20_000_000
"""Rows of a table from which its columns are judged, and the characters after which no further row is read."""
LABELLED = ("google", "marot")
"""Label formats that are tables and include the outputs."""


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


class ReadFiles(NamedTuple):
    """The names of files, those whose rows are kept (tables, or text files) by name, and the guess how to read them."""

    names: tuple[str, ...]
    files: Mapping[str, KeptFile]
    plan: ImportPlan


class Preview(NamedTuple):
    """The result of an import before it is done. `staged` is None if there are problems or nothing to import.

    `warnings` and `notes` tell what is odd or missing and does not prevent the import.
    """

    staged: StagedImport | None
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    summary: str
    warnings: tuple[Problem, ...] = ()


def _same_names(files: Sequence[Upload]) -> tuple[list[Upload], list[Problem]]:
    """Return the files without exact copies, and a problem for each name shared by different files."""
    times = Counter(f.name for f in files)
    kept = list({(f.name, f.sha256() if times[f.name] > 1 else ""): f for f in files}.values())
    names = Counter(f.name for f in kept)
    todo = "Rename one of them, because files are identified by name"
    return kept, [
        Problem(n, 0, "", f"{count} different files of this name", "each name once", todo)
        for n, count in names.items()
        if count > 1
    ]


def read_files(files: Sequence[Upload], *, labels: bool = False, progress: Progress = no_progress) -> ReadFiles:
    """Read the rows of tables and text files, and guess how to import them: a folder of mt-metrics-eval by its layout, labels by content,
    tables by extension (CSV, TSV, JSONL), else text lines.

    With `labels` all files are read as labels. Without it, a table of scores by rater is read as a table of outputs. Files of campaigns
    are labels of no format. Never raises for invalid files; the plan lists the problems, and the preview those of text files.
    """
    files, name_problems = _same_names(files)
    problems = Collector()
    problems.extend(name_problems)
    if not files:
        problems.add("", 0, "", "no files", "at least one file", "Choose the files to import")
    names = tuple(f.name for f in files)
    if is_layout(names):
        return ReadFiles(names, {}, plan_pair(names, problems=problems.closed()))
    formats = {f.name: name for f in files if (name := label_format_of(f)) and (labels or name != "judgements")}
    named = {*formats, *(f.name for f in files if f.name not in formats and recognised(f))}
    if labels or (named and len(named) == len(files)):
        planned = ImportPlan("labels", formats=tuple((n, formats.get(n)) for n in names), problems=problems.closed())
        return ReadFiles(names, {}, planned)
    rows = FileRows()
    if not formats and not any(extension(name) in TABLE_EXTENSIONS for name in names):
        lines = {f.name: rows.add_lines(f, part(progress, i, len(files))) for i, f in enumerate(files)}
        return ReadFiles(names, lines, ImportPlan("lines", roles=guess_roles(list(lines)), problems=problems.closed()))
    tables: dict[str, KeptFile] = {}
    mqm: list[str] = []
    for i, upload in enumerate(files):
        if upload.name in formats:
            mqm.append(upload.name)
            continue
        if extension(upload.name) not in TABLE_EXTENSIONS:
            kind = binary_kind(beginning(upload, HEAD))
            separate = "Upload tables and text files separately, or rename the file to .csv, .tsv or .jsonl"
            todo = instead_of(kind) if kind else separate
            problems.add(
                upload.name, 0, "", kind or "plain text beside tables", "only tables, or only text files", todo
            )
            continue
        kept = rows.add_table(upload, part(progress, i, len(files)))
        if kept.rows is not None and is_google_mqm(kept.rows.columns):
            mqm.append(upload.name)
            continue
        problems.extend(kept.problems)
        tables[upload.name] = kept
    if mqm and all(kept.rows is None for kept in tables.values()):
        mixed = tuple((n, formats.get(n, "google")) for n in mqm)
        return ReadFiles(names, {}, ImportPlan("labels", formats=mixed, problems=problems.closed()))
    todo = "Upload the labels separately"
    for name in mqm:
        problems.add(name, 0, "", "labels beside outputs", "only labels, or only outputs", todo)
    return ReadFiles(names, tables, ImportPlan("table", _table_plans(tables.values()), problems=problems.closed()))


def _table_plans(tables: Iterable[KeptFile]) -> tuple[TablePlan, ...]:
    looked_at = [first_rows(kept.rows) for kept in tables if kept.rows is not None]
    guesses = agree(looked_at, list(map(guessed, looked_at)))
    return tuple(
        TablePlan(
            table.name, table.columns, sample_values(table), guess.mapping, tuple(map(guess.why, table.columns)), table.notes
        )
        for table, guess in zip(looked_at, guesses, strict=True)
    )  # fmt: skip


def plan_pair(names: Sequence[str], pair: str = "", problems: Sequence[Problem] = ()) -> ImportPlan:
    """Return how the files of a language pair in mt-metrics-eval's layout are read: of the first pair, unless `pair` names one."""
    pairs = pairs_of(names)
    try:
        files = files_of_pair(list(dict.fromkeys(names)), pair or pairs[0])
    except ImportProblems as error:
        return ImportPlan("mtme", problems=(*problems, *error.problems), pairs=pairs)
    return ImportPlan("mtme", problems=tuple(problems), pairs=pairs, mtme=files)


def first_rows(table: FileTable) -> FileTable:
    """Return the first rows of a table, from which its columns are judged, and the first ones with a cell of a column that is empty there."""
    rows = _few(table.rows)
    empty = [i for i in range(len(table.columns)) if not any(row.cells[i] for row in rows)]
    if empty and isinstance(table.rows, StoredRows) and len(rows) < len(table.rows):
        rows += _few(table.rows.filled(empty, after=len(rows)))
    return replace(table, rows=rows)


def _few(rows: Iterable[TableRow]) -> list[TableRow]:
    few: list[TableRow] = []
    characters = 0
    for row in islice(rows, LOOK):
        few.append(row)
        characters += characters_in(row.cells)
        if characters >= CHARACTERS:
            break
    return few


def needs_project(plan: ImportPlan) -> Literal["", "scores", "references"]:
    """Return what files have whose outputs must be in a project, because they have none; "" if they have outputs."""
    mappings = [t.mapping for t in plan.tables]
    if plan.kind == "lines":
        return "references" if plan.roles.references and not plan.roles.systems else ""
    if plan.kind != "table" or not all(m.scores_only or m.references_only for m in mappings):
        return ""
    return "scores" if any(m.scores_only for m in mappings) else "references" if mappings else ""


def preview(
    read: ReadFiles,
    plan: ImportPlan | None = None,
    texts: Dataset | KnownOutputs | None = None,
    progress: Progress = no_progress,
) -> Preview:
    """Check the rows of the files by a plan, by default the guessed one. Return what they hold with notes, or every problem.

    `texts` has the outputs for files that have only scores or references. `progress` is called with the share of the work. Never raises for invalid
    files. For kinds "labels" and "mtme" only the problems of the plan are repeated.
    """
    plan = read.plan if plan is None else plan
    match plan.kind:
        case "labels" | "mtme":
            return Preview(None, plan.problems, (), format_count(len(read.names), "file") + " of labels")
        case "lines":
            return _preview_lines(read, plan, texts, progress)
        case "table":
            return _preview_tables(read, plan, texts, progress)


def _refused(problems: Sequence[Problem]) -> Preview:
    return Preview(None, tuple(problems), (), format_count(how_many(problems), "problem"))


def _preview_lines(
    read: ReadFiles, plan: ImportPlan, texts: Dataset | KnownOutputs | None, progress: Progress
) -> Preview:
    roles = plan.roles
    problems = Collector()
    problems.extend(plan.problems)
    named = [name for name in files_of(roles) if name not in roles.unused]
    for name in named:
        if name not in read.files:
            problems.add(name, 0, "", "no such file", "one of the uploaded files", "Choose the files again")
    for name, n in Counter(named).items():
        if n > 1:
            problems.add(name, 0, "", "the same file given twice", "each file once", "Choose one use")
    for system, n in Counter(system for _, system in roles.systems).items():
        if n > 1 or not system:
            files = ", ".join(f for f, s in roles.systems if s == system)
            got = f"{n} systems named {system}" if system else "a system without a name"
            problems.add(files, 0, "", got, "a different name for each system", "Rename the system")
    if problems:
        return _refused(problems.closed())
    try:
        staged = stage_roles(read.files, roles, progress, KnownTexts(texts) if isinstance(texts, Dataset) else texts)
    except ImportProblems as error:
        return _refused(error.problems)
    return Preview(staged, (), staged.notes(), _summary(staged))


def _summary(staged: StagedImport) -> str:
    """Return the summary of the texts of an import; without outputs, `references of 40 segments` or `scores for 40 segments, 160 human scores
    (adequacy)`."""
    of = staged.counts()
    if staged.n_outputs:
        return dataset_summary(of)
    if not staged.has_scores():
        return f"references of {format_count(of.segments, 'segment')}"
    names, n = ", ".join(of.human_scores), staged.n_human_scores()
    human = f", {format_count(n, 'human score')} ({names})" if names else ""
    return f"scores for {format_count(of.segments, 'segment')}{human}"


def _preview_tables(
    read: ReadFiles, plan: ImportPlan, texts: Dataset | KnownOutputs | None, progress: Progress
) -> Preview:
    problems = Collector()
    for t in plan.tables:
        problems.extend(adding.name_problems((m.name, t.file, m.column) for m in t.mapping.external()))
    try:
        staged, odd = _checked(read, plan, texts, progress, problems)
    except ImportProblems as error:
        return _refused(error.problems)
    means = "means of several ratings" if staged.holds_means else ""
    parts = (_summary(staged), means, adding.staged_summary(staged))
    return Preview(staged, (), staged.notes(), ", ".join(filter(None, parts)), odd)


def _checked(
    read: ReadFiles, plan: ImportPlan, texts: Dataset | KnownOutputs | None, progress: Progress, problems: Collector
) -> tuple[StagedImport, tuple[Problem, ...]]:
    """Return the import of tables by a plan, and the warnings. Raises `ImportProblems` with these problems and all others."""
    builder = Builder(texts if needs_project(plan) else None)
    odd: list[Problem] = []
    planned = {table.file: table.mapping for table in plan.tables}
    names = list(dict.fromkeys([*read.names, *planned, *(p.file for p in plan.problems if p.file)]))
    for i, name in enumerate(names):
        if name in planned and name not in read.files:
            problems.add(name, 0, "", "no such file", "one of the uploaded files", "Choose the files again")
            continue
        before = problems.total
        if name in read.files:
            problems.extend(read.files[name].problems)
        if name in planned and (table := read.files[name].rows) is not None:
            try:
                builder.add(table, planned[name], part(progress, i, len(names)))
                odd += mapping_warnings(first_rows(table), planned[name])
            except ImportProblems as error:
                problems.extend(error.problems)
        if problems.total == before:
            problems.extend(p for p in plan.problems if p.file == name)
    try:
        staged = builder.staged()
    except ImportProblems as error:
        if builder.holds_outputs or not problems:
            problems.extend(error.problems)
    problems.check()
    return staged, tuple(odd)


class Loaded(NamedTuple):
    """A dataset, and how its files were read, as lines for people: the role of every column or text file, then what is odd or missing."""

    dataset: Dataset
    as_read: tuple[str, ...]


def load(paths: Sequence[Path], given_roles: GivenRoles | None = None) -> Loaded:
    """Load one dataset from tables (CSV, TSV, JSONL; merged) or line-aligned text, for the command line. Columns and roles are recognised
    unless they are given.

    An MQM TSV (Google's or Marot's) is read for its texts, without labels; its references are systems.
    Raises `UserError` (unreadable file, tables and text mixed) or `ImportProblems`.
    """
    given_roles, rows = given_roles or GivenRoles(), FileRows()
    files = [file_at(path) for path in paths]
    texts = [file.name for file in files if extension(file.name) not in TABLE_EXTENSIONS]
    if texts and len(texts) < len(files):
        expected = "only tables, or only text files"
        raise UserError(
            "tables and plain text are mixed", where=texts[0], expected=expected, hint="Load them separately"
        )
    if texts:
        by_path = dict(zip(map(path_name, paths), files, strict=True))
        roles = given_roles.of_files(guess_roles(list(by_path)))
        names = [system for _, system in roles.systems]
        if len(by_path) < len(files) or len(set(names)) < len(names):
            hint = "Rename one: line-aligned files are identified by name"
            raise UserError("two files have the same name", hint=hint)
        lines = stage_roles({path: rows.add_lines(file) for path, file in by_path.items()}, roles)
        return Loaded(lines.dataset(), (*files_as_read(roles), *lines.notes()))
    if len({file.name for file in files}) < len(files):
        files = [file._replace(name=path_name(path)) for file, path in zip(files, paths, strict=True)]
    labelled = [file.name for file in files if label_format_of(file) in LABELLED]
    kept = {file.name: _texts_of_labels(file) if file.name in labelled else rows.add_table(file) for file in files}
    as_read: list[str] = []
    tables = _table_plans(kept.values())
    planned = ImportPlan("table", tuple(replace(t, mapping=given_roles.of_table(t.columns, t.mapping)) for t in tables))
    for t in planned.tables:
        if t.file not in labelled:
            as_read += table_as_read(t.file, t.columns, t.mapping, t.reason, t.notes)
    staged, odd = _checked(ReadFiles(tuple(kept), kept, planned), planned, None, no_progress, Collector())
    warnings = (problem.sentence() for problem in odd if problem.file not in labelled)
    return Loaded(staged.dataset(), (*as_read, *warnings, *staged.notes()))


class _AnySeverity(Severities):
    """Severities that accept any name, for reading texts without their labels."""

    def find(self, name: str | None) -> str | None:
        return super().find(name) or SEVERITIES[0]


def _texts_of_labels(upload: Upload) -> KeptFile:
    try:
        dataset = FORMATS[label_format_of(upload) or ""].read(upload, _AnySeverity(), None).dataset
    except ImportProblems as error:
        return KeptFile(upload.name, None, tuple(error.problems))
    segments = dataset.segment_of()
    rows: list[TableRow] = []
    for output in dataset.outputs:
        segment = segments[output.key.segment]
        rows.append(TableRow(0, (*output.key, segment.source, segment.references or None, output.text)))
    columns = ("system", "doc_id", "segment_id", "source", "references", "output")
    return KeptFile(upload.name, FileTable(upload.name, columns, rows))
