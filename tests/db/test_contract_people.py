"""Accounts, sessions, links and the audit record."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from core.errors import UserError
from core.ports.store import Store
from db import people
from db.engine import writing
from db.tables import accounts, links, login_sessions
from tests.db.raw import rows

LATER = datetime.now(UTC) + timedelta(days=1)
PAST = datetime.now(UTC) - timedelta(seconds=1)
HASH, OTHER = "a" * 64, "b" * 64


def test_accounts_have_names_that_are_unique_whatever_their_case(store: Store) -> None:
    assert store.people.accounts() == []
    bob = store.people.add_account("bob", None, manager=False)
    ann = store.people.add_account("Ann", "hash", manager=True)
    assert store.people.accounts() == [ann, bob]
    assert (ann.name, ann.manager, ann.active, ann.created.tzinfo is not None) == ("Ann", True, True, True)
    assert [store.people.password_hash(name) for name in ("Ann", "bob", "nobody")] == [(ann, "hash"), (bob, None), None]
    for name in ("Ann", "ann", "ANN", " ", ""):
        with pytest.raises(UserError):
            store.people.add_account(name, None, manager=False)
    assert store.people.accounts() == [ann, bob]


def test_a_session_lasts_until_it_expires_or_the_account_changes(store: Store) -> None:
    ann, bob = (store.people.add_account(name, "old", manager=name == "ann") for name in ("ann", "bob"))
    store.people.start_session(HASH, ann.id, LATER)
    assert (store.people.session(HASH), store.people.session(OTHER)) == (ann, None)
    store.people.start_session(OTHER, ann.id, PAST)
    assert store.people.session(OTHER) is None
    store.people.end_session(HASH)
    assert store.people.session(HASH) is None

    for token, account in ((HASH, ann), (OTHER, bob)):
        store.people.start_session(token, account.id, LATER)
    store.people.set_password(ann.id, "new")
    assert (store.people.session(HASH), store.people.session(OTHER)) == (None, bob)
    assert store.people.password_hash("ann") == (ann, "new")
    with pytest.raises(UserError):
        store.people.set_password(999, "new")

    store.people.set_active(bob.id, False)
    assert store.people.session(OTHER) is None
    store.people.start_session(HASH, bob.id, LATER)
    assert store.people.session(HASH) is None
    store.people.set_active(bob.id, True)
    assert store.people.session(OTHER) is None
    eve = store.people.add_account("eve", None, manager=True)
    store.people.set_active(ann.id, False)
    with pytest.raises(UserError, match="only active manager"):
        store.people.set_active(eve.id, False)
    assert [a.name for a in store.people.accounts() if a.active] == ["bob", "eve"]


def test_an_account_has_one_role_per_project(store: Store) -> None:
    project, other = store.projects.create("news").id, store.projects.create("other").id
    ann = store.people.add_account("ann", None, manager=False)
    store.people.set_role(project, ann.id, "viewer")
    store.people.set_role(project, ann.id, "adjudicator")
    store.people.set_role(other, ann.id, "annotator")
    assert store.people.roles(ann.id) == {project: "adjudicator", other: "annotator"}
    assert store.people.members(project) == [(ann, "adjudicator")]
    store.people.set_role(project, ann.id, None)
    assert store.people.members(project) == []
    for wrong in ((999, ann.id), (project, 999)):
        with pytest.raises(UserError):
            store.people.set_role(*wrong, "viewer")
    assert len(store.people.secret()) == 32
    assert store.people.secret() == store.people.secret(), "made once"


def test_links_and_public_pages_are_found_by_hash_until_revoked(store: Store, engine: Engine) -> None:
    project = store.projects.create("news").id
    link = store.people.add_link(project, "Rosa", "first", HASH, LATER, "ann")
    assert (link.project_id, link.rater, link.batch, link.expires, link.revoked, link.created_by) == (
        project, "Rosa", "first", LATER, None, "ann",
    )  # fmt: skip
    assert store.people.link(HASH) == link
    assert store.people.link(OTHER) is None
    store.people.revoke(link.id)
    revoked = store.people.link(HASH)
    assert revoked is not None
    assert revoked.revoked is not None
    store.people.revoke(link.id)
    assert store.people.link(HASH) == revoked
    assert store.people.links(project) == [revoked]
    assert store.people.links(project + 1) == []
    with pytest.raises(UserError):
        store.people.revoke(999)
    with pytest.raises(UserError):
        store.people.add_link(999, "Rosa", None, OTHER, None, "ann")

    shared = store.shared.add(project, None, "نتائج", True, "<p>😀</p>", HASH, "ann")
    assert shared[1:4] == (None, "نتائج", True)
    assert (shared.created_by, shared.revoked) == ("ann", None)
    assert [store.shared.page(token) for token in (HASH, OTHER)] == ["<p>😀</p>", None]
    with pytest.raises(UserError, match="no such public page"):
        store.shared.revoke(store.projects.create("other").id, shared.id)
    store.shared.revoke(project, shared.id)
    assert store.shared.page(HASH) is None
    assert rows(engine, "SELECT page FROM shared_results") == [(None,)], "the content is deleted"
    [listed] = store.shared.list(project)
    assert listed.revoked is not None
    assert listed._replace(revoked=None) == shared
    for wrong in (
        lambda: store.shared.revoke(project, shared.id),
        lambda: store.shared.add(project, None, " ", True, "", OTHER, "ann"),
    ):
        with pytest.raises(UserError):
            wrong()
    store.shared.add(project, None, "Again", True, "<html>", OTHER, "ann")
    store.projects.delete(project)
    assert store.shared.page(OTHER) is None


def test_audit_entries_come_newest_first_and_page_by_page(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.audit.record("ann", "project created", 1, name="news")
    store.audit.record("ann", "account added", name="bob", manager=False)
    store.audit.record("bob", "labels exported", 1)
    everything = store.audit.entries()
    assert [(e.who, e.act, e.project_id, e.details) for e in everything] == [
        ("bob", "labels exported", 1, {}),
        ("ann", "account added", None, {"name": "bob", "manager": False}),
        ("ann", "project created", 1, {"name": "news"}),
    ]
    assert all(e.time.tzinfo is not None for e in everything)
    assert [e.act for e in store.audit.entries(1)] == ["labels exported", "project created"]
    assert store.audit.entries(limit=1) == everything[:1]
    assert store.audit.entries(before=everything[0].number) == everything[1:]
    transactions, commits, n = list[Engine](), store.audit._commits, 12  # type: ignore[attr-defined]

    def counted(engine: Engine) -> AbstractContextManager[Connection]:
        transactions.append(engine)
        return writing(engine)

    monkeypatch.setattr(people, "writing", counted)
    with ThreadPoolExecutor(n) as threads:
        with commits._turn:  # another one is being written
            waiting = [threads.submit(store.audit.record, "unknown", "request refused", status=k) for k in range(n)]
            while len(commits._waiting) < n:
                time.sleep(0.001)
        for done in waiting:
            done.result(30)
    assert len(transactions) == 1
    assert sorted(e.details["status"] for e in store.audit.entries(limit=n)) == list(range(n))


def test_the_audit_record_is_append_only_and_survives_a_project(store: Store, engine: Engine) -> None:
    project, ann = store.projects.create("news").id, store.people.add_account("ann", None, manager=False)
    store.people.set_role(project, ann.id, "viewer")
    store.people.add_link(project, "Rosa", None, HASH, None, "ann")
    store.audit.record("ann", "project created", project)
    for change in ("UPDATE audit SET who = 'x'", "DELETE FROM audit"):
        with pytest.raises(DBAPIError, match="append-only"), writing(engine) as connection:
            connection.execute(text(change))
    store.projects.delete(project)
    assert (store.people.roles(ann.id), store.people.link(HASH)) == ({}, None)
    assert [(e.who, e.act) for e in store.audit.entries(project)] == [("ann", "project created")]


def test_only_hashes_of_passwords_and_tokens_are_columns() -> None:
    names = {column.name for table in (accounts, links, login_sessions) for column in table.columns}
    assert {name for name in names if "token" in name or "password" in name} == {"token_hash", "password"}
