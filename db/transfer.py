"""The command that moves files into projects and out of them, `python -m db.transfer`. `python -m core projects` runs it too.

Files are read and written as streams: memory does not grow with them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from core.errors import ImportProblems, UserError
from core.formats.files import Upload, file_name, stem
from core.formats.given_roles import ROLES, GivenRoles
from core.formats.mtme_folder import chosen_pair, stored_files
from core.formats.output import check, copy, named
from core.formats.streams.opened import StoredFile
from core.memory import collect_garbage_rarely
from core.ports.store import Store
from core.progress import part
from core.services.export.files import EXPORTS
from core.services.projects import mtme
from core.services.projects.adding import Imported, ImportTarget, StoredOutputs, add_staged, sentence
from core.services.projects.importing import ImportPlan, plan, preview, without_outputs
from core.services.projects.label_import import import_labels
from core.settings import load as settings
from db.command import UNCHANGED, Percent, exit_status
from db.store import open_store
from db.users import WHO, project_of


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return the exit status, 2 for invalid input."""
    given = _parser().parse_args(arguments)
    collect_garbage_rarely()
    command: Callable[[Store, argparse.Namespace, Percent], str] = given.run
    return exit_status(
        lambda progress: command(open_store(given.database or settings().database), given, progress),
        cancelled=UNCHANGED,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m core projects", description="Import and export projects.")
    parser.add_argument("--database", help="SQLAlchemy URL; default: ERRORSCOPE_DB, or the file in ERRORSCOPE_HOME")
    commands = parser.add_subparsers(dest="command", required=True)
    text = "import tables (CSV, TSV, JSONL, Parquet, Arrow) or line-aligned text files: all or nothing, with bounded memory"
    bring = commands.add_parser("import", help=text, description=text)
    bring.set_defaults(run=_import)
    bring.add_argument(
        "files", metavar="FILE", type=Path, nargs="+",
        help="files, or the folder of a test set in mt-metrics-eval's layout, which is held in memory",
    )  # fmt: skip
    bring.add_argument("--pair", help="language pair in the folder, such as en-de")
    target = bring.add_mutually_exclusive_group()
    target.add_argument("--name", help="name of a new project; default: that of the first file")
    target.add_argument("--into", metavar="PROJECT", help="name or number of a project to which the files are added")
    bring.add_argument(
        "--column", metavar="ROLE=NAME", action="append", default=[],
        help=f"role of a column or a text file, where the guess is wrong; {', '.join(ROLES)}. May be repeated",
    )  # fmt: skip
    bring.add_argument(
        "--replace", metavar="METRIC", action="append", default=[], help="external metric whose scores are replaced"
    )
    text = "write a project as a file; without FORMAT and FILE, list the formats"
    take = commands.add_parser("export", help=text, description=text)
    take.set_defaults(run=_export)
    take.add_argument("project", metavar="PROJECT", help="name or number of the project")
    take.add_argument(
        "format", metavar="FORMAT", nargs="?", choices=[*EXPORTS, None], help=f"one of {', '.join(EXPORTS)}"
    )
    take.add_argument("file", metavar="FILE", type=Path, nargs="?")
    return parser


def _export(store: Store, given: argparse.Namespace, share: Percent) -> str:
    if given.format is None:
        return "\n".join(f"{name}: {kind.label}. {kind.holds}" for name, kind in EXPORTS.items())
    if given.file is None:
        raise UserError("name the file to write", hint="projects export PROJECT FORMAT FILE")
    check([], named("FILE", given.file))
    project = project_of(store, given.project)
    made = EXPORTS[given.format].make(store, project.id, share)
    copy(made.file, given.file)
    store.audit.record(WHO, "exported", project.id, file=given.format)
    for note in made.lost:
        share.say(f"note: {note}")
    return f"{given.file}: {given.file.stat().st_size:,} bytes"


def _import(store: Store, given: argparse.Namespace, share: Percent) -> str:
    if given.files[0].is_dir():
        return _import_folder(store, given, share)
    if given.pair:
        raise UserError("--pair needs a folder", hint="Name the folder of a test set, or leave --pair out")
    files = [StoredFile(file_name(path), path) for path in given.files]
    for path in given.files:
        path.stat()
    planned = _mapped(plan(files), GivenRoles(given.column))
    if planned.kind == "mtme":
        hint = "Name the folder of the test set instead of its files"
        raise UserError("these files are a folder in mt-metrics-eval's layout", hint=hint)
    if planned.kind == "labels":
        campaigns = [name for name, format in planned.formats if format is None]
        hint = "Import labels on the page Projects"
        if campaigns:
            hint = f"{campaigns[0]} belongs to a campaign of another tool: python -m core campaign import --help"
        raise UserError("these files hold labels", hint=hint)
    project = project_of(store, given.into) if given.into else None
    if without_outputs(planned) and project is None:
        raise UserError("these files have scores but no outputs", hint="Name the project of the outputs with --into")
    known = StoredOutputs(store, project) if project else None
    seen = preview(files, planned, known, part(share, 0, 2))
    for line in planned.as_read():
        share.say(line)
    if seen.staged is None:
        raise ImportProblems(seen.problems)
    for note in (*seen.notes, *(warning.sentence() for warning in seen.warnings)):
        share.say(f"note: {note}")
    target = ImportTarget(project.name, project.id) if project else ImportTarget(given.name or stem(files[0].name))
    done = add_staged(store, target, seen.staged, given.replace, part(share, 1, 2))
    return _done(store, done, seen.summary)


def _import_folder(store: Store, given: argparse.Namespace, share: Percent) -> str:
    """Import a language pair of a folder in mt-metrics-eval's layout: its texts, the scores of outputs, and error spans."""
    folder, *others = given.files
    if others:
        raise UserError("a folder is imported alone", got=str(others[0]), hint="Leave the other files out")
    stored, roles = stored_files(folder), GivenRoles(given.column)
    chosen = chosen_pair(stored, given.pair, folder).with_roles(roles)
    roles.check()
    for line in chosen.as_read():
        share.say(line)
    found = mtme.read([Upload(file.name, file.path.read_bytes()) for file in stored], chosen)
    for warning in found.warnings:
        share.say(f"note: {warning.sentence()}")
    project = project_of(store, given.into) if given.into else None
    name = given.name or f"{folder.resolve().name} {chosen.pair}"
    target = ImportTarget(project.name, project.id) if project else ImportTarget(name)
    done = import_labels(store, target, found, share, given.replace)
    return _done(store, done, found.summary())


def _done(store: Store, done: Imported, summary: str) -> str:
    counts = {name: n for name, n in done.report._asdict().items() if n and name != "unchanged"}
    store.audit.record(WHO, "data imported", done.project.id, **counts)
    return f"{done.project.name}: {summary}. {sentence(done.report)}"


def _mapped(planned: ImportPlan, given: GivenRoles) -> ImportPlan:
    """Return the plan with the roles that the user has given to columns or text files. Raises `UserError` for an unknown name."""
    tables = tuple(replace(t, mapping=given.of_table(t.columns, t.mapping)) for t in planned.tables)
    planned = replace(planned, tables=tables, roles=given.of_files(planned.roles))
    given.check()
    return planned


if __name__ == "__main__":
    sys.exit(main())
