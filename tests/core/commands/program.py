"""The command line as a user calls it: in this process, which is quick, or as a program of its own."""

from __future__ import annotations

import contextlib
import csv
import io
import logging
import subprocess
import sys
import traceback
from pathlib import Path
from unittest.mock import patch

from core import __main__ as program
from tests.paths import ROOT


def read_table(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def run_program(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m core` with these arguments in a process of its own."""
    command = [sys.executable, "-m", "core", "--quiet", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """What `run_program` returns, without the seconds that a new process needs to load its libraries."""
    out, err = io.StringIO(), io.StringIO()
    handlers = list(logging.getLogger("core").handlers)
    with (
        patch.object(sys, "argv", ["core", "--quiet", *arguments]),
        patch.dict("os.environ"),
        contextlib.chdir(ROOT),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            program.main()
            code = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        except Exception:
            traceback.print_exc()
            code = 1
        finally:
            logging.getLogger("core").handlers[:] = handlers
    return subprocess.CompletedProcess(["core", *arguments], code, out.getvalue(), err.getvalue())
