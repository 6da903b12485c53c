"""The command of accounts."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable

import pytest

from core.ports.store import Store
from core.services.campaigns import people
from core.services.people.accounts import check_password, find
from tests.cli.program import status_of
from tests.core.services.campaigns.world import campaign_world
from tests.paths import ROOT

PASSWORD = "correct horse battery"


@pytest.fixture
def run(database: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Run the command with a password on stdin, and return the exit status."""

    def run(*arguments: str, password: str = PASSWORD) -> int:
        monkeypatch.setattr(sys, "stdin", io.StringIO(f"{password}\n"))
        return status_of("users", "--database", database, *arguments)

    return run


def test_accounts_are_added_and_listed(
    run: Callable[..., int], store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    project = store.projects.create("news")
    assert run("add", "ann", "--manager", "--password-stdin") == 0
    assert run("add", "bob@example.org", "--no-password") == 0
    assert run("role", "bob@example.org", "news", "viewer") == 0
    assert run("role", "ann", str(project.id), "none") == 0
    capsys.readouterr()
    assert run("list") == 0
    assert capsys.readouterr().out.splitlines() == ["2 accounts", "ann\tmanager", "bob@example.org\tviewer of news"]
    assert check_password(store.people, "ann", PASSWORD)


def test_the_list_names_campaigns_once(
    run: Callable[..., int], store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    world = campaign_world(store=store)
    run("add", "ann", "--manager", "--no-password")
    run("add", "eva", "--no-password")
    run("role", "ann", "cats", "viewer")
    people.add_account(store, "ann", world.campaign, find(store.people, "eva"))
    capsys.readouterr()
    assert run("list") == 0
    said = capsys.readouterr().out.splitlines()
    assert said == ["2 accounts", "ann\tmanager, viewer of cats", "eva\tannotator of the campaign pilot"]


def test_passwords_are_replaced_and_accounts_disabled_and_enabled(run: Callable[..., int], store: Store) -> None:
    run("add", "ann", "--manager", "--password-stdin")
    assert run("password", "ann", "--password-stdin", password="another long one") == 0
    assert not check_password(store.people, "ann", PASSWORD)
    assert check_password(store.people, "ann", "another long one")
    run("add", "bob", "--password-stdin")
    assert run("disable", "bob") == 0
    assert not check_password(store.people, "bob", PASSWORD)
    assert run("enable", "bob") == 0
    assert check_password(store.people, "bob", PASSWORD)
    assert [(e.who, e.act) for e in store.audit.entries(limit=2)] == [
        ("command line", "account enabled"), ("command line", "account disabled"),
    ]  # fmt: skip


def test_what_is_wrong_is_one_line_and_status_2(run: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (("add", "bob", "--password-stdin"), "the first account must be a manager"),
        (("disable", "nobody"), "there is no account"),
        (("role", "nobody", "news", "viewer"), "there is no account"),
        (("add", " ", "--manager", "--password-stdin"), "no name"),
    ):
        assert run(*arguments) == 2
        said = capsys.readouterr().err
        assert message in said
        assert said.count("\n") == 1


def test_passwords_that_differ_change_nothing(
    database: str, store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = iter([PASSWORD, "another long one"])
    monkeypatch.setattr("getpass.getpass", lambda prompt: next(typed))
    assert status_of("users", "--database", database, "add", "ann", "--manager") == 2
    assert "the two passwords differ" in capsys.readouterr().err
    assert store.people.accounts() == []


def test_the_earlier_name_runs_it_and_says_the_new_one(database: str, store: Store) -> None:
    command = [
        sys.executable,
        "-m",
        "core",
        "users",
        "--database",
        database,
        "add",
        "ann",
        "--manager",
        "--password-stdin",
    ]
    done = subprocess.run(command, cwd=ROOT, input=PASSWORD, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "added ann, a manager\n")
    assert done.stderr == "The command line is now called errorscope: write `errorscope` instead of `python -m core`.\n"
    assert [a.name for a in store.people.accounts()] == ["ann"]
