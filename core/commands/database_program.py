"""Run a program of the `db` package in a new process, because core does not import the database."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from core.commands.progress import status

ROOT = Path(__file__).resolve().parents[2]


def run_program(module: str, arguments: Sequence[str]) -> None:
    """Run `python -m MODULE` with these arguments and exit with its status."""
    path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH", "")) if p)
    status.done()  # the program prints its own output
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments], env=os.environ | {"PYTHONPATH": path}, check=False
    )
    raise typer.Exit(done.returncode)
