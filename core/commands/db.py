"""`db`: runs `python -m db`, because nothing in core imports the database."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(arguments: Sequence[str]) -> int:
    """Run a command of `python -m db` in a process of its own and return its exit status."""
    path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH", "")) if p)
    return subprocess.run(
        [sys.executable, "-m", "db", *arguments], env=os.environ | {"PYTHONPATH": path}, check=False
    ).returncode
