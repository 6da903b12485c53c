"""`db`: run `python -m db` in a new process, because core does not import the database."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(arguments: Sequence[str]) -> int:
    """Run a command of `python -m db` and return its exit status."""
    path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH", "")) if p)
    return subprocess.run(
        [sys.executable, "-m", "db", *arguments], env=os.environ | {"PYTHONPATH": path}, check=False
    ).returncode
