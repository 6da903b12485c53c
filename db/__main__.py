"""The database command, `python -m db backup FILE`. `python -m core db` runs it too."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from core.errors import UserError
from core.formatting import format_count
from core.settings import load as settings
from db.backup import backup


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return the exit status, 2 for invalid input."""
    parser = argparse.ArgumentParser(prog="python -m core db", description="Work on the database itself.")
    commands = parser.add_subparsers(dest="command", required=True)
    copy = commands.add_parser("backup", help="copy the database to a file, also while Errorscope runs")
    copy.add_argument("file", type=Path, help="file to write")
    copy.add_argument("--database", help="SQLAlchemy URL; default: ERRORSCOPE_DB, or the file in ERRORSCOPE_HOME")
    copy.add_argument("--overwrite", action="store_true", help="replace the file if it exists")
    given = parser.parse_args(arguments)
    try:
        made = backup(given.database or settings().database, given.file, overwrite=given.overwrite)
    except (UserError, OSError) as error:
        print(f"error: {error}".replace("\n", " "), file=sys.stderr)
        return 2
    counts = f"{format_count(made.projects, 'project')}, {format_count(made.events, 'recorded action')}"
    print(f"{made.path}: {counts}, {made.size:,} bytes, checked; a copy of {made.source}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
