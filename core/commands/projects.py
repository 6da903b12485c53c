"""`projects`: run `python -m db.transfer` in a new process."""

from __future__ import annotations

import typer

from core.commands.database_program import run_program


def run(context: typer.Context) -> None:
    """Run a command of `python -m db.transfer` and exit with its status."""
    run_program("db.transfer", context.args)
