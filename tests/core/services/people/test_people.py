"""Accounts, sessions, links and identities."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from core.data import OutputKey
from core.errors import UserError
from core.ports.calibration import Chosen, SavedBatch
from core.ports.people import LOCAL
from core.ports.store import Store
from core.services.people import accounts, links, sessions
from core.services.people.sessions import token_hash
from core.settings import AccessSettings, load_access
from db.engine import connect
from db.store import store_over
from tests.builders import small_dataset
from tests.templates import empty_database

PASSWORD = "correct horse battery"


@pytest.fixture
def project(store: Store) -> int:
    made = store.projects.create("news").id
    store.projects.add(made, small_dataset())
    return made


def acts(store: Store) -> list[tuple[str, str]]:
    return [(entry.who, entry.act) for entry in reversed(store.audit.entries())]


def test_the_first_account_is_a_manager(store: Store) -> None:
    with pytest.raises(UserError, match="must be a manager"):
        accounts.add(store, "me", "bob", PASSWORD, manager=False)
    accounts.add(store, "me", " ann\t", PASSWORD, manager=True)
    accounts.add(store, "me", "bob", PASSWORD, manager=False)
    assert [a.name for a in store.people.accounts()] == ["ann", "bob"]
    assert acts(store) == [("me", "account added")] * 2


def test_every_change_of_an_account_is_recorded(store: Store, project: int) -> None:
    accounts.add(store, "me", "ann", PASSWORD, manager=True)
    bob = accounts.add(store, "me", "bob", None, manager=False)
    accounts.set_password(store, "ann", bob, PASSWORD)
    accounts.set_role(store, "ann", project, bob, "viewer")
    accounts.set_active(store, "ann", bob, False)
    accounts.set_active(store, "ann", bob, True)
    accounts.set_role(store, "ann", project, bob, None)
    assert [act for _, act in acts(store)][2:] == [
        "password set", "role set", "account disabled", "account enabled", "role set",
    ]  # fmt: skip
    assert PASSWORD not in str(store.audit.entries())


def test_an_unknown_account_is_named_with_the_closest(store: Store) -> None:
    with pytest.raises(UserError, match="there is no account yet"):
        accounts.find(store.people, "ann")
    accounts.add(store, "me", "anna", PASSWORD, manager=True)
    with pytest.raises(UserError, match="Did you mean anna"):
        accounts.find(store.people, "ann")


def test_a_session_knows_the_present_roles(store: Store, project: int) -> None:
    accounts.add(store, "me", "ann", PASSWORD, manager=True)
    bob = accounts.add(store, "me", "bob", PASSWORD, manager=False)
    token = sessions.start(store, bob).token
    found = sessions.resolve(store.people, token)
    assert found is not None
    assert (found.who, found.rater, found.manager, found.local, found.sees_pages) == ("bob", "bob", False, False, False)
    assert found.role(project) is None
    accounts.set_role(store, "me", project, bob, "viewer")
    found = sessions.resolve(store.people, token)
    assert found is not None
    assert (found.role(project), found.may_label(project), found.sees_pages) == ("viewer", False, True)
    sessions.end(store, token)
    assert sessions.resolve(store.people, token) is None


def test_each_login_gets_a_token_of_its_own_that_is_not_stored(tmp_path: Path) -> None:
    store = store_over(connect(empty_database(tmp_path / "errorscope.db")))
    ann = accounts.add(store, "me", "ann", PASSWORD, manager=True)
    one, two = sessions.start(store, ann), sessions.start(store, ann)
    assert one.token != two.token
    assert len(one.token) >= 43  # 256 bits
    assert one.expires - datetime.now(UTC) <= timedelta(hours=12)
    written = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert str(token_hash(one.token)).encode() in written
    assert one.token.encode() not in written


@pytest.mark.parametrize("token", ["", "x", "é", "x" * 101, "\x00", "../../etc", "a" * 64])
def test_a_made_up_token_opens_nothing(store: Store, token: str) -> None:
    ann = accounts.add(store, "me", "ann", PASSWORD, manager=True)
    made = sessions.start(store, ann).token
    assert sessions.resolve(store.people, token) is None
    assert sessions.resolve(store.people, str(token_hash(made))) is None
    with pytest.raises(UserError, match="this link is not valid"):
        links.resolve(store.people, token)


def test_a_link_opens_its_project_for_its_name(store: Store, project: int) -> None:
    made = links.create(store, "ann", project, " Rosa ")
    found = links.resolve(store.people, made.token)
    assert (found.rater, found.local, found.manager, found.sees_pages) == ("Rosa", False, False, False)
    assert (found.role(project), found.role(project + 1)) == ("annotator", None)
    assert made.path == f"t/{made.token}"
    assert acts(store) == [("ann", "link created")]
    assert made.token not in str(store.audit.entries())
    assert sessions.resolve(store.people, made.token) is None


def test_revoked_and_expired_links_say_so_and_nothing_else(store: Store, project: int) -> None:
    made = links.create(store, "ann", project, "Rosa", expires=datetime.now(UTC) + timedelta(days=1))
    later = datetime.now(UTC) + timedelta(days=2)
    with pytest.raises(UserError, match="expired") as expired:
        links.resolve(store.people, made.token, later)
    links.revoke(store, "ann", made.link)
    with pytest.raises(UserError, match="revoked") as revoked:
        links.resolve(store.people, made.token)
    assert not any(secret in str(error.value) for error in (expired, revoked) for secret in ("Rosa", "news"))
    assert acts(store)[-1] == ("ann", "link revoked")


def test_links_need_a_free_name_a_present_set_and_a_future_day(store: Store, project: int) -> None:
    accounts.add(store, "me", "ann", PASSWORD, manager=True)
    chosen = SavedBatch("first", "random", 0, "s", (Chosen(OutputKey("A", "doc", "0"), 1.0),), 6)
    store.batches.save(project, chosen)
    assert links.create(store, "ann", project, "Rosa", "first").link.batch == "first"
    past = datetime.now(UTC) - timedelta(days=1)
    for name, batch, expires in ((" ", None, None), ("ANN", None, None), ("Rosa", "none", None), ("Rosa", None, past)):
        with pytest.raises(UserError):
            links.create(store, "ann", project, name, batch, expires)


def test_the_local_manager_may_do_everything(project: int) -> None:
    assert (LOCAL.local, LOCAL.manager, LOCAL.sees_pages, LOCAL.rater) == (True, True, True, None)
    assert LOCAL.may_label(project)


def test_accounts_are_required_once_others_use_the_server(store: Store) -> None:
    assert not accounts.accounts_required(store.people, AccessSettings())
    assert accounts.accounts_required(store.people, AccessSettings(team=True))
    assert accounts.accounts_required(store.people, AccessSettings(hosts=("eval.example.org",)))
    with pytest.raises(UserError, match="errorscope users add NAME --manager"):
        accounts.require_manager(store.people)
    accounts.add(store, "me", "ann", PASSWORD, manager=True)
    accounts.require_manager(store.people)
    assert accounts.accounts_required(store.people, AccessSettings())


def test_settings_of_access_are_read_from_the_environment() -> None:
    assert load_access({}) == AccessSettings()
    given = {"ERRORSCOPE_TEAM": "1", "ERRORSCOPE_HOSTS": " Eval.Example.org., ,b"}
    assert load_access(given) == AccessSettings(True, ("eval.example.org", "b"))
    with pytest.raises(UserError, match="ERRORSCOPE_TEAM"):
        load_access({"ERRORSCOPE_TEAM": "yes"})


def test_an_account_cannot_take_the_name_of_a_links_annotator(store: Store, project: int) -> None:
    accounts.add(store, "test", "Ann", PASSWORD, manager=True)
    link = links.create(store, "test", project, "Ben").link
    for revoked in (False, True):
        if revoked:
            links.revoke(store, "test", link)
        for name in ("Ben", "bEN", " Ben "):
            with pytest.raises(UserError, match="personal link has this name"):
                accounts.add(store, "test", name, PASSWORD, manager=False)
    assert accounts.add(store, "test", "Benjamin", PASSWORD, manager=False).name == "Benjamin"
