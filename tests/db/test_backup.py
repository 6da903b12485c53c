"""Backups made while others write, and what restoring them changes."""

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, delete, make_url, text
from sqlalchemy.exc import DBAPIError

from core.errors import UserError
from db.backup import backup, restore
from db.engine import connect, migrate, writing
from db.store import open_store
from db.tables import audit
from tests.cli.program import status_of
from tests.db.raw import load_frozen, rows, scalar
from tests.db.running import Server, damaged, opened, part, stored
from tests.db.running import db as db
from tests.db.running import server as server
from tests.db.test_database_copy import content
from tests.db.test_database_copy import databases as databases
from tests.db.test_database_copy import full as full
from tests.paths import ROOT
from tests.postgres import on_postgres, on_sqlite


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
    said = command("backup", str(target), home=tmp_path)
    assert said.returncode == 0, said.stderr
    assert "1 project, " in said.stdout
    server.until(lambda: len(server.saved) >= len(before) + 20)
    assert server.refused == []
    server.end()
    assert [p.name for p in target.parent.iterdir()] == ["backup.db"]
    assert target.stat().st_mode & 0o777 == 0o600
    ids = stored(target)
    assert before <= ids <= stored(db)
    for suffix in ("", "-wal", "-shm"):
        part(db, suffix).unlink(missing_ok=True)
    shutil.copy(target, db)  # it restores by replacing the file
    with opened(db) as again:
        project = again.projects.list()[0].id
        assert {event.action.id for event in again.labels.events(project)} == ids


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
        (["x.db", "--database", "postgresql+psycopg://u:secret@127.0.0.1:1/x"], "works on SQLite files only"),
        (["x.db", "--database", str(tmp_path / "notes.db")], f"write sqlite:///{tmp_path / 'notes.db'}"),
        (["nowhere/x.db", "--database", f"sqlite:///{tmp_path / 'notes.db'}"], "no such folder"),
    ):
        assert status_of("db", "backup", str(tmp_path / arguments[0]), *arguments[1:]) == 2
        said = capsys.readouterr().err
        assert message in said
        assert "secret" not in said
        assert len(said.splitlines()) == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["notes.db"]


@on_postgres
def test_the_nightly_dump_of_a_server_is_restored(full: Engine, url: str, databases: Any, tmp_path: Path) -> None:
    address, restored = make_url(url), databases("postgresql")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sleep").write_text("#!/bin/sh\nkill -TERM $PPID\n")
    (tmp_path / "bin" / "sleep").chmod(0o755)
    environment = os.environ | {
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "PGHOST": str(address.host), "PGPORT": str(address.port),
        "PGUSER": str(address.username), "PGDATABASE": str(address.database), "BACKUP_FOLDER": str(tmp_path), "BACKUP_KEEP": "2", "BACKUP_TIME": "02:30",
    }  # fmt: skip
    before = content(url)
    subprocess.run(["bash", str(ROOT / "deploy/backup.sh")], env=environment, check=False)
    [dump] = tmp_path.glob("errorscope-*.dump")
    assert dump.stat().st_mode & 0o777 == 0o600
    options = ["--exit-on-error", "--single-transaction", "--no-owner", "--dbname", str(make_url(restored).database)]
    subprocess.run(["pg_restore", *options, str(dump)], env=environment, check=True)
    assert content(restored) == before
    assert [p.name for p in open_store(restored).projects.list()] == ["news", "old", "sample"]


@on_postgres
def test_backups_of_a_server_are_made_with_its_own_tools(url: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="SQLite files only.*pg_dump.*docs/backup.md"):
        backup(url, tmp_path / "backup.db")
    with pytest.raises(UserError, match="SQLite files only.*pg_restore.*docs/backup.md"):
        restore(tmp_path / "backup.db", url)


@on_sqlite
def test_a_backup_is_restored_with_all_that_is_in_it(full: Engine, url: str, tmp_path: Path, databases: Any) -> None:
    store = open_store(url)
    store.audit.record("ann", "before the backup")
    before = content(url)
    backup(url, tmp_path / "backup.db")
    store.audit.record("ann", "after the backup")
    store.projects.delete(1)
    store.projects.create("later")
    with pytest.raises(UserError, match="this database has projects"):
        restore(tmp_path / "backup.db", url)
    assert [p.name for p in store.projects.list()] == ["later", "news", "sample"]
    _, projects, events = restore(tmp_path / "backup.db", url, overwrite=True)
    assert (projects, events) == (3, 12)
    assert content(url) == before
    assert [p.name for p in store.projects.list()] == ["news", "old", "sample"]  # also for a server that runs
    assert store.audit.entries()[0].act == "before the backup"
    assert scalar(full, "PRAGMA synchronous") == 2
    assert rows(full, "PRAGMA journal_mode") == [("wal",)]
    with pytest.raises(DBAPIError, match="append-only"), writing(full) as connection:
        connection.execute(delete(audit))
    elsewhere = databases("sqlite")
    restore(tmp_path / "backup.db", elsewhere)
    assert [p.name for p in open_store(elsewhere).projects.list()] == ["news", "old", "sample"]


@on_sqlite
def test_a_restore_waits_for_no_writer_that_does_not_end(
    full: Engine, url: str, tmp_path: Path, monkeypatch: Any
) -> None:
    backup(url, tmp_path / "backup.db")
    monkeypatch.setattr("db.backup.BUSY", 0.1)
    before = content(url)
    with writing(full), pytest.raises(UserError, match="locked by another program"):
        restore(tmp_path / "backup.db", url, overwrite=True)
    assert content(url) == before


@on_sqlite
def test_a_backup_of_an_earlier_schema_is_refused(url: str, tmp_path: Path) -> None:
    old = f"sqlite:///{tmp_path / 'old.db'}"
    load_frozen(old)
    engine = connect(old)
    with writing(engine) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0019'"))
    backup(old, tmp_path / "backup.db")
    engine.dispose()
    before = (tmp_path / "backup.db").read_bytes()
    with pytest.raises(UserError, match="an older version.*0019.*Open it once"):
        restore(tmp_path / "backup.db", url)
    assert (tmp_path / "backup.db").read_bytes() == before
    assert open_store(url).projects.list() == []


def test_a_missing_database_file_is_restored_in_its_place(tmp_path: Path) -> None:
    path = tmp_path / "home" / "errorscope.db"
    url = f"sqlite:///{path}"
    with opened(path) as store:
        store.projects.create("p")
    backup(url, tmp_path / "backup.db")
    path.unlink()
    restore(tmp_path / "backup.db", url)
    assert [p.name for p in open_store(url).projects.list()] == ["p"]
    assert path.stat().st_mode & 0o777 == 0o600


@on_sqlite
def test_a_file_that_is_no_backup_changes_nothing(url: str, tmp_path: Path) -> None:
    engine = connect(url)
    migrate(engine)
    (tmp_path / "notes.txt").write_text("The cat sat on the mat.\n" * 50)
    for name, message in (("none.db", "no such backup"), ("notes.txt", "not an SQLite database")):
        with pytest.raises(UserError, match=message):
            restore(tmp_path / name, url)
    assert scalar(engine, "SELECT count(*) FROM projects") == 0
    engine.dispose()


@on_sqlite
def test_the_commands_copy_back_up_and_restore(
    full: Engine, url: str, databases: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = databases("sqlite")

    def command(*arguments: str) -> tuple[int, str, str]:
        return status_of("db", *arguments), *capsys.readouterr()

    status, said, errors = command("copy", url, target)
    assert (status, errors) == (0, "")
    assert "3 projects, 12 recorded actions" in said
    assert "verified" in said
    status, _, errors = command("copy", url, target)
    assert (status, len(errors.splitlines())) == (2, 1)
    assert command("backup", str(tmp_path / "b.db"), "--database", url)[0] == 0
    assert command("restore", str(tmp_path / "b.db"), "--to", url)[0] == 2
    status, said, errors = command("restore", str(tmp_path / "b.db"), "--to", url, "--overwrite")
    assert (status, errors) == (0, "")
    assert "3 projects" in said
