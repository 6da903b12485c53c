"""`projects`: move files into projects and out of them.

Files are read and written as streams: memory does not grow with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from cli.database import UNCHANGED, WHO, group, opened, project_of
from cli.options import Columns, one_of, percent, print_note, print_result
from core.errors import PROGRAM, ImportProblems, UserError
from core.formats.files import file_at, stem
from core.formats.given_roles import GivenRoles
from core.formats.mtme_folder import chosen_pair, stored_files
from core.formats.output import check, named, write_files
from core.memory import collect_garbage_rarely
from core.ports.store import Store
from core.progress import part
from core.services.export.files import EXPORTS
from core.services.projects import label_import
from core.services.projects.adding import Imported, ImportTarget, StoredOutputs, add, sentence
from core.services.projects.importing import ImportPlan, needs_project, preview, read_files
from core.services.projects.label_import import import_labels

projects_command = group()

IMPORT = (
    "import tables (CSV, TSV, JSONL, Parquet, Arrow) or line-aligned text files: all or nothing, with bounded memory"
)


class _Import(NamedTuple):
    """What the options of an import say."""

    files: Sequence[Path]
    pair: str | None
    name: str | None
    into: str | None
    column: Sequence[str]
    replaced: Sequence[str]


@projects_command.command("import", help=IMPORT)
def import_files(
    context: typer.Context,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="files, or the folder of a test set in mt-metrics-eval's layout, which is held in memory",
        ),
    ],
    pair: Annotated[str | None, typer.Option(help="language pair in the folder, such as en-de")] = None,
    name: Annotated[str | None, typer.Option(help="name of a new project; default: that of the first file")] = None,
    into: Annotated[
        str | None,
        typer.Option(metavar="PROJECT", help="name or number of a project to which the files are added"),
    ] = None,
    column: Columns = None,
    replaced: Annotated[
        list[str] | None,
        typer.Option("--replace", metavar="METRIC", help="external metric whose scores are replaced. Repeatable"),
    ] = None,
) -> None:
    if name is not None and into is not None:
        raise typer.BadParameter("not allowed with --name", param_hint="--into")
    collect_garbage_rarely()
    with opened(context, UNCHANGED) as store:
        chosen = _Import(files, pair, name, into, column or (), replaced or ())
        print_result(_import_folder(store, chosen) if files[0].is_dir() else _import(store, chosen))


@projects_command.command("export", help="write a project as a file; without FORMAT and FILE, list the formats")
def export_file(
    context: typer.Context,
    project: Annotated[str, typer.Argument(metavar="PROJECT", help="name or number of the project")],
    format: Annotated[
        str | None,
        typer.Argument(parser=one_of(EXPORTS), metavar="FORMAT", help=f"one of {', '.join(EXPORTS)}"),
    ] = None,
    file: Annotated[Path | None, typer.Argument(metavar="FILE")] = None,
) -> None:
    collect_garbage_rarely()
    with opened(context, UNCHANGED) as store:
        if format is None:
            print_result("\n".join(f"{name}: {kind.label}. {kind.holds}" for name, kind in EXPORTS.items()))
            return
        if file is None:
            raise UserError("name the file to write", hint="projects export PROJECT FORMAT FILE")
        check([], named("FILE", file))
        exported = project_of(store, project)
        made = EXPORTS[format].make(store, exported.id, percent("export"))
        write_files({file: made.file})
        store.audit.record(WHO, "exported", exported.id, file=format)
        print_note(*(f"note: {note}" for note in made.lost))
        print_result(f"{file}: {file.stat().st_size:,} bytes")


def _import(store: Store, options: _Import) -> str:
    if options.pair:
        raise UserError("--pair needs a folder", hint="Name the folder of a test set, or leave --pair out")
    files = [file_at(path) for path in options.files]
    share = percent("import")
    read = read_files(files, progress=part(share, 0, 3))
    planned = _mapped(read.plan, GivenRoles(options.column))
    if planned.kind == "mtme":
        hint = "Name the folder of the test set instead of its files"
        raise UserError("these files are a folder in mt-metrics-eval's layout", hint=hint)
    if planned.kind == "labels":
        campaigns = [name for name, format in planned.formats if format is None]
        hint = "Import labels on the page Projects"
        if campaigns:
            hint = f"{campaigns[0]} belongs to a campaign of another tool: {PROGRAM} campaign import --help"
        raise UserError("these files hold labels", hint=hint)
    project = project_of(store, options.into) if options.into else None
    if (what := needs_project(planned)) and project is None:
        raise UserError(f"these files have {what} but no outputs", hint="Name the project of the outputs with --into")
    known = StoredOutputs(store, project) if project else None
    seen = preview(read, planned, known, part(share, 1, 3))
    for line in planned.as_read():
        print_note(line)
    if seen.staged is None:
        raise ImportProblems(seen.problems)
    for note in (*seen.notes, *(warning.sentence() for warning in seen.warnings)):
        print_note(f"note: {note}")
    target = ImportTarget(project.name, project.id) if project else ImportTarget(options.name or stem(files[0].name))
    done = add(store, target, seen.staged, options.replaced, part(share, 2, 3))
    return _done(store, done, seen.summary)


def _import_folder(store: Store, options: _Import) -> str:
    """Import a language pair of a folder in mt-metrics-eval's layout: its texts, the scores of outputs, and error spans."""
    folder, *others = options.files
    if others:
        raise UserError("a folder is imported alone", got=str(others[0]), hint="Leave the other files out")
    stored, roles = stored_files(folder), GivenRoles(options.column)
    chosen = chosen_pair(stored, options.pair, folder).with_roles(roles)
    roles.check()
    for line in chosen.as_read():
        print_note(line)
    read = label_import.read_mtme(stored, chosen)
    for warning in read.warnings:
        print_note(f"note: {warning.sentence()}")
    project = project_of(store, options.into) if options.into else None
    name = options.name or f"{folder.resolve().name} {chosen.pair}"
    target = ImportTarget(project.name, project.id) if project else ImportTarget(name)
    done = import_labels(store, target, read, percent("import"), options.replaced)
    return _done(store, done, read.summary())


def _done(store: Store, done: Imported, summary: str) -> str:
    counts = {name: n for name, n in done.report._asdict().items() if n and name != "unchanged"}
    store.audit.record(WHO, "data imported", done.project.id, **counts)
    return f"{done.project.name}: {summary}. {sentence(done.report)}"


def _mapped(planned: ImportPlan, roles: GivenRoles) -> ImportPlan:
    """Return the plan with the roles that the user has given to columns or text files. Raises `UserError` for an unknown name."""
    tables = tuple(replace(t, mapping=roles.of_table(t.columns, t.mapping)) for t in planned.tables)
    planned = replace(planned, tables=tables, roles=roles.of_files(planned.roles))
    roles.check()
    return planned
