"""`workers`: run `python -m db.worker` in a new process."""

from __future__ import annotations

import os

import typer

from core.commands.database_program import run_program


def run(context: typer.Context) -> None:
    """Run workers until this command ends, and exit with their status."""
    run_program("db.worker", [*context.args, "--parent", str(os.getpid())])
