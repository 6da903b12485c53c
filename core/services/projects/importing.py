"""Turn uploaded files into a dataset: guess a plan that the user can correct, then preview the import."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from core.data import Dataset, ExternalScores
from core.errors import ImportProblems, Problem
from core.formats.build import Builder
from core.formats.column_doubts import doubts
from core.formats.columns import guess, is_google_mqm
from core.formats.external import source_file
from core.formats.files import Upload, binary_kind, extension
from core.formats.labels.label_formats import guess as label_format_of
from core.formats.lines import LineRoles, aligned, guess_roles
from core.formats.mapping import ColumnMapping
from core.formats.notes import notes_on, summary
from core.formats.problems import Collector, counted, how_many
from core.formats.table import TABLE_EXTENSIONS, read_table, sample_values
from core.services.projects import external_scores

LOOK = 1000
"""Rows of a table that are read to guess its columns."""


@dataclass(frozen=True, slots=True)
class TablePlan:
    """A table: its columns, a sample value of each, and their mapping."""

    file: str
    columns: tuple[str, ...]
    samples: tuple[str, ...]
    mapping: ColumnMapping


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """How the files will be read. A page changes the plan with `dataclasses.replace` and previews it again.

    `tables` belong to kind "table", `roles` to kind "lines", `formats` to kind "labels" (None: format not recognised).
    `problems` are files that cannot be read; the preview repeats them.
    """

    kind: Literal["table", "lines", "labels"]
    tables: tuple[TablePlan, ...] = ()
    roles: LineRoles = LineRoles()
    formats: tuple[tuple[str, str | None], ...] = ()
    problems: tuple[Problem, ...] = ()


class Preview(NamedTuple):
    """The result of an import before it is done. `dataset` is None if there are problems or nothing to import.

    `warnings` and `notes` tell what is odd or missing and does not prevent the import.
    """

    dataset: Dataset | None
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    summary: str
    external: tuple[ExternalScores, ...] = ()
    warnings: tuple[Problem, ...] = ()


def _same_names(files: Sequence[Upload]) -> tuple[list[Upload], list[Problem]]:
    """Return the files without exact copies, and a problem for each name shared by different files."""
    kept = list(dict.fromkeys(files))
    names = Counter(f.name for f in kept)
    todo = "Rename one of them, because files are identified by name"
    return kept, [
        Problem(n, 0, "", f"{count} different files of this name", "each name once", todo)
        for n, count in names.items()
        if count > 1
    ]


def plan(files: Sequence[Upload], *, labels: bool = False) -> ImportPlan:
    """Guess how to read the files: labels by content, tables by extension (CSV, TSV, JSONL), else text lines.

    With `labels` all files are read as labels. Without it, a table of scores by rater is read as a table of outputs. Never
    raises for invalid files; the plan lists the problems.
    """
    files, found = _same_names(files)
    problems = Collector()
    problems.extend(found)
    names = [f.name for f in files]
    formats = {f.name: name for f in files if (name := label_format_of(f)) and (labels or name != "judgements")}
    if labels or (formats and len(formats) == len(files)):
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
            found_there = binary_kind(upload.data) or "plain text beside tables"
            todo = "Upload tables and text files separately, or rename the file to .csv, .tsv or .jsonl"
            problems.add(upload.name, 0, "", found_there, "only tables, or only text files", todo)
            continue
        try:
            table = read_table(upload, LOOK)
        except ImportProblems as error:
            problems.extend(error.problems)
            continue
        if is_google_mqm(table.columns):
            mqm.append(upload.name)
        else:
            tables.append(TablePlan(upload.name, table.columns, sample_values(table), guess(table)))
    if mqm and not tables:
        mixed = tuple((n, formats.get(n, "google")) for n in mqm)
        return ImportPlan("labels", formats=mixed, problems=problems.closed())
    todo = "Upload the labels separately"
    for name in mqm:
        problems.add(name, 0, "", "labels beside outputs", "only labels, or only outputs", todo)
    return ImportPlan("table", tuple(tables), problems=problems.closed())


def without_outputs(plan: ImportPlan) -> bool:
    """Return whether the tables have only scores, so that their outputs must be in the project."""
    return plan.kind == "table" and bool(plan.tables) and all(t.mapping.scores_only for t in plan.tables)


def preview(files: Sequence[Upload], plan: ImportPlan, texts: Dataset | None = None) -> Preview:
    """Read the files by the plan. Return the dataset with notes, or every problem.

    `texts` has the outputs for tables that have only scores. Never raises for invalid files. For kind "labels" only the
    problems of the plan are repeated.
    """
    files, _ = _same_names(files)
    by_name = {f.name: f for f in files}
    if not files:
        return _refused([Problem("", 0, "", "no files", "at least one file", "Choose the files to import")])
    match plan.kind:
        case "labels":
            return Preview(None, plan.problems, (), counted(len(files), "file") + " of labels")
        case "lines":
            return _preview_lines(by_name, plan)
        case "table":
            return _preview_tables(by_name, plan, texts)


def _refused(problems: Sequence[Problem]) -> Preview:
    return Preview(None, tuple(problems), (), counted(how_many(problems), "problem"))


def _preview_lines(by_name: dict[str, Upload], plan: ImportPlan) -> Preview:
    roles = plan.roles
    problems = Collector()
    problems.extend(plan.problems)
    named = [*([roles.source] if roles.source else []), *roles.references, *(file for file, _ in roles.systems)]
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
        dataset = aligned(
            by_name[roles.source] if roles.source else None,
            [by_name[name] for name in roles.references],
            {system: by_name[file] for file, system in roles.systems},
        )
    except ImportProblems as error:
        return _refused(error.problems)
    return Preview(dataset, (), notes_on(dataset), summary(dataset))


def _of_scores(dataset: Dataset) -> str:
    """Return `scores for 40 segments, 160 human scores (adequacy)`, the summary of tables without outputs."""
    names = ", ".join(dict.fromkeys(h.name for h in dataset.human_scores))
    human = f", {counted(len(dataset.human_scores), 'human score')} ({names})" if names else ""
    return f"scores for {counted(len(dataset.segments), 'segment')}{human}"


def _preview_tables(by_name: dict[str, Upload], plan: ImportPlan, texts: Dataset | None) -> Preview:
    problems = Collector()
    builder = Builder(texts if without_outputs(plan) else None)
    odd: list[Problem] = []
    for t in plan.tables:
        problems.extend(external_scores.name_problems((m.name, t.file, m.column) for m in t.mapping.metrics))
    planned = {table.file: table.mapping for table in plan.tables}
    for name in dict.fromkeys([*by_name, *planned, *(p.file for p in plan.problems if p.file)]):
        if name in planned and name not in by_name:
            problems.add(name, 0, "", "no such file", "one of the uploaded files", "Choose the files again")
            continue
        before = problems.total
        if name in by_name and extension(name) in TABLE_EXTENSIONS:
            try:
                table = read_table(by_name[name])
                if name in planned:
                    builder.add(table, planned[name], source_file(by_name[name]).sha256)
                    odd += doubts(table, planned[name])
            except ImportProblems as error:
                problems.extend(error.problems)
        if problems.total == before:
            problems.extend(p for p in plan.problems if p.file == name)
    dataset = None
    try:
        dataset = builder.dataset() if planned else None
    except ImportProblems as error:
        if builder.holds_outputs or not problems:
            problems.extend(error.problems)
    if dataset is None or problems:
        return _refused(problems.closed())
    external = builder.external()
    means = "means of several ratings" if builder.holds_means else ""
    parts = (summary(dataset) if dataset.outputs else _of_scores(dataset), means, external_scores.summary(external))
    return Preview(dataset, (), builder.notes(dataset), ", ".join(filter(None, parts)), external, tuple(odd))
