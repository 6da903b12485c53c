"""`jobs`: run `python -m db.job_queue` in a new process."""

from __future__ import annotations

import typer

from core.commands.database_program import run_program


def run(context: typer.Context) -> None:
    """Run a command of `python -m db.job_queue` and exit with its status."""
    run_program("db.job_queue", context.args)
