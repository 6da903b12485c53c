"""`workers`: run `python -m db.worker`, or `python -m db.ray_workers` for `workers ray`, in a new process."""

from __future__ import annotations

import os

import typer

from core.commands.database_program import run_program


def run(context: typer.Context) -> None:
    """Run workers until this command ends, and exit with their status."""
    with_ray = context.args[:1] == ["ray"]
    module, arguments = ("db.ray_workers", context.args[1:]) if with_ray else ("db.worker", context.args)
    run_program(module, [*arguments, "--parent", str(os.getpid())])
