"""The program as a whole: how it is started and named, how commands on the database end, and what it loads."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from cli.__main__ import COMMANDS
from cli.database import UNCHANGED, cancellable
from core.errors import ImportProblems, Problem, UserError
from tests.cli.program import status_of
from tests.paths import ROOT
from tests.templates import empty_database


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_the_installed_program_runs_in_any_folder(tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    (environment / "bin").mkdir(parents=True)
    (environment / "ready").touch()
    python = environment / "bin/python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    subprocess.run(["make", "--silent", f"VENV={environment}", f"{environment}/bin/errorscope"], cwd=ROOT, check=True)
    (tmp_path / "core").mkdir()
    (tmp_path / "core/__init__.py").write_text("raise RuntimeError('another program')", encoding="utf-8")
    command = [environment / "bin/errorscope", "models", "no such kind"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: there is no such kind of model (got no such kind; expected ")


def test_the_list_of_commands_loads_neither_storage_nor_models() -> None:
    heavy = "print(*{'numpy', 'sqlalchemy', 'torch'} & {*sys.modules})"
    code = f"import sys; from cli.__main__ import program; program(''); {heavy}; program('db'); {heavy}"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "\n\n"


def test_every_command_that_is_named_exists() -> None:
    named = set[tuple[str, str]]()
    for folder in ("core", "cli", "db", "api", "pages"):
        for path in (ROOT / folder).rglob("*.py"):
            named |= {
                (path.name, name) for name in re.findall(r"\{PROGRAM\} ([a-z]\w*)", path.read_text(encoding="utf-8"))
            }
    for path in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        named |= {
            (path.name, name)
            for name in re.findall(r"(?m)^(?:\w+=\S+ )*errorscope ([a-z]\w*)", path.read_text(encoding="utf-8"))
        }
        named |= {(path.name, name) for name in re.findall(r"`errorscope ([a-z]\w*)", path.read_text(encoding="utf-8"))}
    assert len(named) > 60
    assert [one for one in sorted(named) if one[1] not in COMMANDS] == []


def test_errors_of_commands_on_the_database_are_one_line_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for error, message in ((KeyboardInterrupt(), UNCHANGED), (EOFError(), UNCHANGED)):
        with pytest.raises(UserError, match=message), cancellable(UNCHANGED):
            raise error
    problems = [Problem(file, 2, "system", "nothing", "a name", "Write one") for file in ("a.csv", "b.csv")]
    with pytest.raises(typer.Exit) as ended, cancellable():
        raise ImportProblems(problems)
    assert ended.value.exit_code == 2
    assert [line.startswith("error: ") for line in capsys.readouterr().err.splitlines()] == [True, True]
    with pytest.raises(ZeroDivisionError), cancellable():
        raise ZeroDivisionError
    database = ("--database", empty_database(tmp_path / "e.db"))
    nowhere = str(tmp_path / "no such file")
    for arguments, message in (
        (
            ("projects", *database, "import", nowhere),
            f"error: {nowhere}: the file cannot be read (got No such file or directory). Check the path",
        ),
        (("jobs", *database, "cancel", "7"), "error: there is no such job (got 7)"),
        (("campaign", *database, "status", "cats", "pilot"), "error: there is no project “cats”"),
        (("workers", "--workers", "0"), "error: this number of workers is not possible"),
        (("workers", "--once", "ray"), "error: options of `workers ray` follow its name"),
    ):
        assert status_of(*arguments) == 2
        said = capsys.readouterr().err
        assert said.startswith(message)
        assert said.count("\n") == 1


def test_several_systems_follow_one_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from db.store import open_store
    from tests.builders import small_dataset

    url = empty_database(tmp_path / "e.db")
    store = open_store(url)
    store.projects.add(store.projects.create("p").id, small_dataset(3))
    for options in (
        ("--systems", "A", "B", "--people", "2", "p"),
        ("p", "--people", "2", "--systems", "A", "--systems", "B"),
    ):
        assert status_of("campaign", "--database", url, "plan", *options) == 0
        assert " of 6 outputs in " in capsys.readouterr().out
    assert status_of("campaign", "--database", url, "plan", "p", "--systems", "A") == 0
    assert " of 3 outputs in " in capsys.readouterr().out
