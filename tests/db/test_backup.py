"""Backups made while others write, and restored."""

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from core.errors import UserError
from db.backup import backup
from db.store import open_store
from tests.cli.program import status_of
from tests.db.running import Server, damaged, opened, part, stored
from tests.db.running import db as db
from tests.db.running import server as server
from tests.paths import ROOT


def command(*arguments: str, home: Path) -> "subprocess.CompletedProcess[str]":
    environment = os.environ | {"ERRORSCOPE_HOME": str(home)}
    environment.pop("ERRORSCOPE_DB", None)
    return subprocess.run(
        [sys.executable, "-m", "cli", "db", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_live_backup_has_all_labels_saved_before(db: Path, server: Server, tmp_path: Path) -> None:
    server.until(lambda: len(server.saved) >= 50)
    before = set(server.saved)
    target = tmp_path / "copy" / "backup.db"
    target.parent.mkdir()
    told = command("backup", str(target), home=tmp_path)
    assert told.returncode == 0, told.stderr
    assert "1 project, " in told.stdout
    server.until(lambda: len(server.saved) >= len(before) + 20)
    assert server.refused == []
    server.end()
    assert [p.name for p in target.parent.iterdir()] == ["backup.db"]
    assert target.stat().st_mode & 0o777 == 0o600
    found = stored(target)
    assert before <= found <= stored(db)
    for suffix in ("", "-wal", "-shm"):
        part(db, suffix).unlink(missing_ok=True)
    shutil.copy(target, db)  # it restores by replacing the file
    with opened(db) as again:
        project = again.projects.list()[0].id
        assert {event.action.id for event in again.labels.events(project)} == found


@pytest.fixture
def small(db: Path) -> str:
    open_store(f"sqlite:///{db}").projects.create("p")
    return f"sqlite:///{db}"


def test_an_existing_file_is_replaced_only_when_told(small: str, tmp_path: Path) -> None:
    target = tmp_path / "backup.db"
    target.write_text("precious")
    with pytest.raises(UserError, match="exists already"):
        backup(small, target)
    assert target.read_text() == "precious"
    assert backup(small, target, overwrite=True).projects == 1
    assert stored(target) == set()


@pytest.mark.parametrize("overwrite", [True, False])
def test_the_database_itself_is_never_the_target(small: str, db: Path, tmp_path: Path, overwrite: bool) -> None:
    (tmp_path / "link.db").symlink_to(db)
    for target in (db, tmp_path / "link.db"):
        with pytest.raises(UserError, match="the database itself"):
            backup(small, target, overwrite=overwrite)
    assert open_store(small).projects.list()


def test_a_damaged_database_gives_no_backup(db: Path, tmp_path: Path) -> None:
    damaged(db, first=20)
    before = sorted(p.name for p in tmp_path.iterdir())
    with pytest.raises(UserError, match="damaged"):
        backup(f"sqlite:///{db}", tmp_path / "backup.db")
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_what_is_wrong_is_one_line_and_leaves_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ERRORSCOPE_HOME", str(tmp_path))
    notes = sqlite3.connect(tmp_path / "notes.db")
    notes.execute("CREATE TABLE notes (x)")
    notes.commit()
    notes.close()
    for arguments, message in (
        (["x.db"], "there is no database"),
        (["x.db", "--database", f"sqlite:///{tmp_path / 'notes.db'}"], "belongs to another program"),
        (
            ["x.db", "--database", "postgresql+psycopg://u:secret@127.0.0.1:1/x"],
            "works on SQLite files only",
        ),
        (["x.db", "--database", str(tmp_path / "notes.db")], f"write sqlite:///{tmp_path / 'notes.db'}"),
        (["nowhere/x.db", "--database", f"sqlite:///{tmp_path / 'notes.db'}"], "no such folder"),
    ):
        assert status_of("db", "backup", str(tmp_path / arguments[0]), *arguments[1:]) == 2
        said = capsys.readouterr().err
        assert message in said
        assert "secret" not in said
        assert len(said.splitlines()) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["notes.db"]
