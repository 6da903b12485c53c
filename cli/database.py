"""`db`: back up, restore and copy the database; and what all commands on the database share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import percent, print_result, status
from core.errors import ImportProblems, UserError, unknown
from core.formatting import format_count
from core.settings import load_settings

if TYPE_CHECKING:
    from core.ports.projects import Project
    from core.ports.store import Store

WHO = "command line"
"""The name in the audit record. Whoever runs the command can write the database anyway."""
CANCELLED, UNCHANGED = "cancelled", "cancelled; nothing was changed"
DATABASE = "SQLAlchemy URL; default: ERRORSCOPE_DB, or the file in ERRORSCOPE_HOME"

Database = Annotated[str | None, typer.Option("--database", help=DATABASE)]
ProjectName = Annotated[str, typer.Argument(help="name or number of the project")]


def group() -> typer.Typer:
    """Return a group of commands on the database, whose address may be given before the name of the command."""
    made = typer.Typer(no_args_is_help=True)

    @made.callback()
    def choose(context: typer.Context, database: Database = None) -> None:
        context.obj = database

    return made


@contextmanager
def cancellable(message: str = CANCELLED) -> Iterator[None]:
    """Run the body; Ctrl-C and the end of the input raise `UserError` with this message.

    Each problem of an import is one line; then the command exits with status 2.
    """
    try:
        yield
    except (KeyboardInterrupt, EOFError):
        raise UserError(message) from None
    except ImportProblems as error:
        status.done()
        for problem in error.problems:
            print(f"error: {problem.sentence()}".replace("\n", " "), file=sys.stderr)
        raise typer.Exit(2) from error


@contextmanager
def opened(context: typer.Context, cancelled: str = CANCELLED) -> Iterator[Store]:
    """Open the database that the group's option names, else that of the settings; see `cancellable`."""
    from db.store import open_store

    with cancellable(cancelled):
        yield open_store(context.obj or load_settings().database)


def project_of(store: Store, asked: str) -> Project:
    """Return the project with this name, else with this number."""
    projects = store.projects.list()
    matching = [p for p in projects if p.name == asked] or [p for p in projects if str(p.id) == asked]
    if not matching:
        raise unknown("project", asked, [p.name for p in projects])
    return matching[0]


db_command = typer.Typer(no_args_is_help=True)


@db_command.command("backup", help="copy the database to a file, also while Errorscope runs")
def write_backup(
    file: Annotated[Path, typer.Argument(help="file to write")],
    database: Database = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="replace the file if it exists")] = False,
) -> None:
    from db.backup import backup

    with cancellable():
        made = backup(database or load_settings().database, file, overwrite=overwrite, progress=percent("backup"))
        counts = _counts(made.projects, made.events)
        print_result(f"{made.path}: {counts}, {made.size:,} bytes, checked; a copy of {made.source}")


@db_command.command("restore", help="put a backup into a database")
def restore_backup(
    file: Annotated[Path, typer.Argument(help="file that `db backup` wrote")],
    to: Annotated[str | None, typer.Option(metavar="URL", help=DATABASE)] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="replace the projects that the database has")] = False,
) -> None:
    from db.backup import restore

    with cancellable():
        url = to or load_settings().database
        where, projects, events = restore(file, url, overwrite=overwrite, progress=percent("restore"))
        print_result(f"{where}: {_counts(projects, events)}, restored from {file}")


@db_command.command("copy", help="copy all rows to an empty database, also of another kind (SQLite, PostgreSQL)")
def copy_rows(
    source: Annotated[str, typer.Argument(metavar="FROM", help="SQLAlchemy URL of the database to copy")],
    target: Annotated[str, typer.Argument(metavar="TO", help="SQLAlchemy URL of an empty database")],
) -> None:
    from db.database_copy import copy_database

    with cancellable():
        print_result(f"copied: {copy_database(source, target, percent('copy')).sentence()}")


def _counts(projects: int, events: int) -> str:
    return f"{format_count(projects, 'project')}, {format_count(events, 'recorded action')}"
