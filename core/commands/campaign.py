"""`campaign`: run `python -m db.campaigns` in a new process."""

from __future__ import annotations

import typer

from core.commands.database_program import run_program


def run(context: typer.Context) -> None:
    """Run a command of `python -m db.campaigns` and exit with its status."""
    run_program("db.campaigns", context.args)
