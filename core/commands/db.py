"""`db`: run `python -m db` in a new process, because core does not import the database."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import typer

from core.commands.progress import status

ROOT = Path(__file__).resolve().parents[2]


def run(context: typer.Context) -> None:
    """Run a command of `python -m db` and exit with its status."""
    path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH", "")) if p)
    status.done()  # the database program prints its own output
    done = subprocess.run(
        [sys.executable, "-m", "db", *context.args], env=os.environ | {"PYTHONPATH": path}, check=False
    )
    raise typer.Exit(done.returncode)
