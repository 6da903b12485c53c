"""A server for several people does not start without a manager."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT
from tests.templates import empty_database


@pytest.mark.parametrize(
    ("arguments", "environ"),
    [
        (["--server.address", "0.0.0.0"], {}),
        pytest.param([], {"ERRORSCOPE_TEAM": "1"}, marks=pytest.mark.extended),
        pytest.param([], {"ERRORSCOPE_HOSTS": "eval.example.org"}, marks=pytest.mark.extended),
        pytest.param([], {"ERRORSCOPE_TEAM": "yes"}, marks=pytest.mark.extended),
    ],
)
def test_a_server_for_others_needs_a_manager(tmp_path: Path, arguments: list[str], environ: dict[str, str]) -> None:
    url = empty_database(tmp_path / "errorscope.db")
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless", "true", "--server.port", "0"]
    environment = {**os.environ, "ERRORSCOPE_HOME": str(tmp_path), "ERRORSCOPE_DB": url, **environ}
    done = subprocess.run(
        [*command, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 1
    [said] = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert "errorscope users add NAME --manager" in said or "ERRORSCOPE_TEAM" in said
    assert "Traceback" not in done.stderr
