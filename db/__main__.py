"""The database command, `python -m db backup FILE`. `python -m core db` runs it too."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from core.formatting import format_count
from core.settings import load as settings
from db.backup import backup, restore
from db.command import Percent, exit_status
from db.database_copy import copy_database

WHICH = "SQLAlchemy URL; default: ERRORSCOPE_DB, or the file in ERRORSCOPE_HOME"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return the exit status, 2 for invalid input."""
    given = _parser().parse_args(arguments)

    def done(progress: Percent) -> str:
        if given.command == "backup":
            url = given.database or settings().database
            made = backup(url, given.file, overwrite=given.overwrite, progress=progress)
            return f"{made.path}: {_counts(made.projects, made.events)}, {made.size:,} bytes, checked; a copy of {made.source}"
        if given.command == "restore":
            url = given.to or settings().database
            where, projects, events = restore(given.file, url, overwrite=given.overwrite, progress=progress)
            return f"{where}: {_counts(projects, events)}, restored from {given.file}"
        return f"copied: {copy_database(given.source, given.target, progress).sentence()}"

    return exit_status(done)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m core db", description="Work on the database itself.")
    commands = parser.add_subparsers(dest="command", required=True)
    save = commands.add_parser("backup", help="copy the database to a file, also while Errorscope runs")
    save.add_argument("file", type=Path, help="file to write")
    save.add_argument("--database", help=WHICH)
    save.add_argument("--overwrite", action="store_true", help="replace the file if it exists")
    back = commands.add_parser("restore", help="put a backup into a database")
    back.add_argument("file", type=Path, help="file that `db backup` wrote")
    back.add_argument("--to", metavar="URL", help=WHICH)
    back.add_argument("--overwrite", action="store_true", help="replace the projects that the database has")
    move = commands.add_parser(
        "copy", help="copy all rows to an empty database, also of another kind (SQLite, PostgreSQL)"
    )
    move.add_argument("source", metavar="FROM", help="SQLAlchemy URL of the database to copy")
    move.add_argument("target", metavar="TO", help="SQLAlchemy URL of an empty database")
    return parser


def _counts(projects: int, events: int) -> str:
    return f"{format_count(projects, 'project')}, {format_count(events, 'recorded action')}"


if __name__ == "__main__":
    sys.exit(main())
