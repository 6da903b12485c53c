"""Who may read what Errorscope stores."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from db.backup import backup
from db.sqlite_file import private_file, private_folder
from db.store import open_store
from tests.db.running import opened
from tests.paths import ROOT

pytestmark = pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.fixture(autouse=True)
def _usual_umask() -> object:
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_a_new_home_and_all_in_it_are_the_owners_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    store = open_store(f"sqlite:///{home / 'errorscope.db'}")
    store.projects.create("p")
    backup(f"sqlite:///{home / 'errorscope.db'}", tmp_path / "backup.db")
    environment = os.environ | {"ERRORSCOPE_HOME": str(home)}
    subprocess.run([sys.executable, "-m", "db.worker", "--once"], cwd=ROOT, env=environment, check=True)
    modes = {path.name: mode(path) for path in home.iterdir()}
    names = {"errorscope.db", "errorscope.db-wal", "errorscope.db-shm", "errorscope.db.made", "worker.log"}
    assert modes == dict.fromkeys(names, 0o600)
    assert mode(home) == 0o700
    assert mode(tmp_path / "backup.db") == 0o600


def test_readable_files_are_restricted_at_start(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with opened(home / "errorscope.db") as store:
        store.projects.create("p")
    home.chmod(0o755)
    for path in home.iterdir():
        path.chmod(0o644)
    (home / "worker.log").write_text("old")
    (home / "worker.log.1").write_text("older")
    environment = os.environ | {"ERRORSCOPE_HOME": str(home)}
    subprocess.run([sys.executable, "-m", "db.worker", "--once"], cwd=ROOT, env=environment, check=True)
    assert mode(home) == 0o700
    assert {path.name: mode(path) for path in home.iterdir() if not path.name.endswith(".made")} == dict.fromkeys(
        ["errorscope.db", "worker.log", "worker.log.1"], 0o600
    )


def test_a_folder_with_other_things_in_it_is_left_as_it_is(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    (shared / "thesis.tex").write_text("x")
    open_store(f"sqlite:///{shared / 'errorscope.db'}")
    assert (mode(shared), mode(shared / "thesis.tex")) == (0o755, 0o644)
    assert mode(shared / "errorscope.db") == 0o600


def test_what_is_read_only_stays_so(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    file = home / "errorscope.db"
    file.write_bytes(b"")
    file.chmod(0o444)
    home.chmod(0o555)
    private_folder(home)
    private_file(file)
    assert (mode(home), mode(file)) == (0o500, 0o400)
    home.chmod(0o755)


@pytest.mark.parametrize("special", [0o2775, 0o1777])
def test_a_folder_that_is_shared_on_purpose_is_left_as_it_is(tmp_path: Path, special: int) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(special)
    private_folder(shared)
    assert shared.stat().st_mode & 0o7777 == special


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="gives a file to another group")
def test_a_database_of_another_group_stays_readable_for_it(tmp_path: Path) -> None:
    path = tmp_path / "errorscope.db"
    with opened(path):
        pass
    os.chown(path, -1, 4242)
    path.chmod(0o660)
    open_store(f"sqlite:///{path}")
    assert mode(path) == 0o660
