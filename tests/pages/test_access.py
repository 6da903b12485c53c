"""Pages as people with roles see them, and the page Access."""

from __future__ import annotations

import pytest

from core.ports.people import Account, Role
from core.ports.store import Store
from core.services.people import accounts, links
from tests.builders import small_dataset
from tests.pages.opened_page import press, run
from tests.pages.said import unescaped, words
from tests.pages.team import PASSWORD, log_in

PAGES = "projects compare annotate labels_and_raters meta_evaluation calibrate robustness models help".split()


@pytest.fixture
def project(store: Store) -> int:
    """The project `news`; and `secret`, in which only the manager of the server has a role."""
    found = [store.projects.create(name).id for name in ("news", "secret")]
    for at in found:
        store.projects.add(at, small_dataset())
    return found[0]


def person(store: Store, name: str, project: int, role: Role | None) -> Account:
    if not store.people.accounts():
        accounts.add(store, "test", "ann", PASSWORD, manager=True)
    account = accounts.add(store, "test", name, PASSWORD, manager=False)
    accounts.set_role(store, "test", project, account, role)
    return account


def test_every_role_sees_and_changes_what_it_may(store: Store, project: int, monkeypatch: pytest.MonkeyPatch) -> None:
    person(store, "vera", project, "viewer")
    log_in(store, monkeypatch, "vera")
    other = next(p.id for p in store.projects.list() if p.name == "secret")
    for page in PAGES:
        at = run(page)
        assert not at.error, page
        assert list(at.sidebar.selectbox(key="switcher").options) == ["news"], page
        assert "secret" not in words(at), page
        if page == "annotate":
            assert "does not include labelling" in words(at)
            assert store.labels.events(project) == []
        assert not {button.key for button in at.button} & {"begin-outputs", "begin-labels"}, page
        if page == "projects":
            at.query_params["upload"] = "outputs"  # from when the person was a manager
            assert not at.run().get("file_uploader")
            for field in at.text_input:
                if field.label == "New name":
                    field.set_value("taken over")
            for button in at.button:
                if button.label == "Rename":
                    button.click()
            at.run()
            assert store.projects.get(project).name == "news"
    at = run("access", project)
    assert "Only managers" in words(at)
    assert not at.tabs
    at = run("compare", other)
    assert "This project does not exist" in words(at)
    assert "secret" not in words(at)

    person(store, "adam", project, "adjudicator")
    log_in(store, monkeypatch, "adam")
    at = run("annotate", project)
    assert not at.error
    assert not at.text_input  # no form for another name
    assert {event.rater for event in store.labels.events(project)} == {"adam"}

    mia = person(store, "mia", project, "manager")
    log_in(store, monkeypatch, mia.name)
    at = run("access", project)
    assert not at.error
    labels = {button.label for button in at.button}
    assert not labels & {"Add account", "Set password", "Disable account"}
    assert at.selectbox(key=f"access-role-{project}-{mia.id}")


def test_a_changed_role_or_account_takes_effect_at_the_next_run(
    store: Store, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    vera = person(store, "vera", project, "viewer")
    log_in(store, monkeypatch, vera.name)
    at = run("compare", project)
    assert not at.error
    accounts.set_role(store, "test", project, vera, None)
    assert "has no role that opens this page" in words(at.run())
    accounts.set_role(store, "test", project, vera, "annotator")
    assert "has no role that opens this page" in words(at.run())
    accounts.set_role(store, "test", project, vera, "viewer")
    assert not at.run().error
    accounts.set_active(store, "test", vera, False)
    assert "no longer logged in" in words(at.run())


def test_caches_and_sessions_are_not_shared_by_people(
    store: Store, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    vera = person(store, "vera", project, "viewer")
    other = next(p.id for p in store.projects.list() if p.name == "secret")
    ann = accounts.find(store.people, "ann")
    log_in(store, monkeypatch, ann.name)
    at = run("compare", other)
    assert "secret" in words(at)
    at.session_state["typed"] = "by ann"
    log_in(store, monkeypatch, vera.name)
    at.run()
    assert "typed" not in at.session_state
    assert "secret" not in words(at)
    assert "secret" not in words(run("compare", other)), "a page that another person opened comes from a cache"


def test_a_link_is_created_shown_recorded_and_revoked(store: Store, project: int) -> None:
    at = run("access", project)
    assert "links work only on this machine" in "".join(w.value for w in at.warning)
    at = press(at, "Create link")
    assert "The link has no name" in at.error[0].value
    assert store.people.links(project) == []
    at.text_input(key="access-link-name").set_value("Rosa")
    at = press(at, "Create link")
    [link] = store.people.links(project)
    assert (link.rater, link.batch, link.created_by) == ("Rosa", None, "local manager")
    [address] = [code.value for code in at.code]
    found = links.resolve(store.people, address.rpartition("t/")[2])
    assert found.link == link
    other = max(p.id for p in store.projects.list())
    at.query_params["project"] = str(other)
    assert not at.run().code, "the address is shown with another project"
    at.query_params["project"] = str(project)
    assert [code.value for code in at.run().code] == [address]
    assert not press(at, "Hide address").code
    at.button(key=f"access-revoke-{link.id}").click().run()
    assert store.people.links(project)[0].revoked
    assert [e.act for e in store.audit.entries(project, limit=2)] == ["link revoked", "link created"]

    links.create(store, "ann", project, "Otto")

    def table() -> str:
        return "\n".join(unescaped(t.value.to_string()) for t in at.run().table)

    assert "Rosa" in table()
    at.text_input(key="access-filter").set_value("otto")
    assert "Otto" in table()
    assert "Rosa" not in table()
    at.text_input(key="access-filter").set_value("nothing like this").run()
    assert "No entry contains this" in words(at)


def test_a_manager_sets_roles_and_adds_and_disables_accounts(
    store: Store, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    vera = person(store, "vera", project, "viewer")
    log_in(store, monkeypatch, "ann")
    at = run("access", project)
    role = at.selectbox(key=f"access-role-{project}-{vera.id}")
    assert (role.label, role.proto.label_visibility.value) == ("Role of vera in news", 0)
    role.set_value("adjudicator").run()
    assert store.people.roles(vera.id) == {project: "adjudicator"}
    newest = store.audit.entries(project, limit=1)[0]
    assert (newest.who, newest.act, newest.details) == ("ann", "role set", {"account": "vera", "role": "adjudicator"})
    at.text_input(key="access-add-name").set_value("bob")
    at.text_input(key="access-add-password").set_value("short")
    at = press(at, "Add account")
    assert at.error
    assert at.text_input(key="access-add-name").value == "bob"
    at.text_input(key="access-add-password").set_value(PASSWORD)
    at = press(at, "Add account")
    assert accounts.find(store.people, "bob").active
    assert [at.text_input(key=f"access-add-{field}").value for field in ("name", "password")] == ["", ""]
    assert "Added bob." in [success.value for success in at.success]
    at.button(key=f"access-active-{vera.id}").click().run()
    assert not accounts.find(store.people, "vera").active
