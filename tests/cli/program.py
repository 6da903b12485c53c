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

from cli import __main__ as program
from cli.options import status
from tests.paths import ROOT


def read_table(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def run_program(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    command = [sys.executable, "-m", "cli", "--quiet", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def status_of(*arguments: str, quiet: bool = True) -> int:
    """Run a command in this process, with its streams, and return the exit status."""
    handlers = list(logging.getLogger("core").handlers)
    argv = ["errorscope", *(["--quiet"] if quiet else []), *arguments]
    with patch.object(sys, "argv", argv), patch.object(status, "quiet", False), patch.dict("os.environ"):
        try:
            program.main()
        except SystemExit as ended:
            return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        finally:
            logging.getLogger("core").handlers[:] = handlers
    return 0


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """What `run_program` returns, without the seconds that a new process needs to load its libraries."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = status_of(*arguments)
        except Exception:
            traceback.print_exc()
            code = 1
    return subprocess.CompletedProcess(["errorscope", *arguments], code, out.getvalue(), err.getvalue())
