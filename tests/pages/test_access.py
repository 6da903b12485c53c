"""Pages as people with roles see them, and the page Access."""

from __future__ import annotations

import pytest
from streamlit.runtime.context import ContextProxy
from streamlit.testing.v1 import AppTest

from core.ports.people import Account, Role
from core.ports.store import Store
from core.services.people import accounts, links, sessions
from core.services.people.identity import SESSION_COOKIE
from pages._ui.shared import drafts
from tests.fakes import small_dataset
from tests.pages.said import unescaped
from tests.paths import APP

PASSWORD = "correct horse battery"
PAGES = (
    "projects",
    "compare",
    "annotate",
    "labels_and_raters",
    "meta_evaluation",
    "calibrate",
    "robustness",
    "models",
    "help",
)


class Visit:
    """The cookie of the session that the pages see."""

    token = ""

    def as_account(self, store: Store, account: Account) -> None:
        self.token = sessions.start(store, account).token


@pytest.fixture
def visit(monkeypatch: pytest.MonkeyPatch) -> Visit:
    made = Visit()
    monkeypatch.setattr(ContextProxy, "cookies", property(lambda _: {SESSION_COOKIE: made.token}))
    return made


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


def run(page: str, project: int | None = None) -> AppTest:
    at = AppTest.from_file(APP, default_timeout=30)
    if project is not None:
        at.query_params["project"] = str(project)
    return at.switch_page(f"pages/{page}.py").run()


def said(at: AppTest) -> str:
    parts = [*at.error, *at.info, *at.markdown, *at.caption, *at.title]
    return unescaped("\n".join(str(e.value) for e in parts))


@pytest.mark.parametrize("page", PAGES)
def test_a_viewer_sees_the_project_and_no_other(store: Store, project: int, visit: Visit, page: str) -> None:
    visit.as_account(store, person(store, "vera", project, "viewer"))
    at = run(page)
    assert not at.exception
    assert not at.error
    assert list(at.sidebar.selectbox(key="switcher").options) == ["news"]
    assert "secret" not in said(at)


def test_an_address_of_another_project_opens_nothing(store: Store, project: int, visit: Visit) -> None:
    visit.as_account(store, person(store, "vera", project, "viewer"))
    other = next(p.id for p in store.projects.list() if p.name == "secret")
    at = run("compare", other)
    assert "This project does not exist" in said(at)
    assert "secret" not in said(at)


def test_a_viewer_cannot_label(store: Store, project: int, visit: Visit) -> None:
    visit.as_account(store, person(store, "vera", project, "viewer"))
    at = run("annotate", project)
    assert "does not include labelling" in said(at)
    assert store.labels.events(project) == []


def test_an_adjudicator_labels_under_the_name_of_the_account(store: Store, project: int, visit: Visit) -> None:
    visit.as_account(store, person(store, "adam", project, "adjudicator"))
    at = run("annotate", project)
    assert not at.exception
    assert not at.error
    assert not at.text_input  # no form for another name
    assert {event.rater for event in store.labels.events(project)} == {"adam"}


def test_a_viewer_cannot_rename_or_delete(store: Store, project: int, visit: Visit) -> None:
    visit.as_account(store, person(store, "vera", project, "viewer"))
    at = run("projects", project)
    for field in at.text_input:
        if field.label == "New name":
            field.set_value("taken over")
    for button in at.button:
        if button.label == "Rename":
            button.click()
    at.run()
    assert store.projects.get(project).name == "news"


def test_a_new_role_takes_effect_at_the_next_run(store: Store, project: int, visit: Visit) -> None:
    vera = person(store, "vera", project, "viewer")
    visit.as_account(store, vera)
    at = run("compare", project)
    assert not at.error
    accounts.set_role(store, "test", project, vera, None)
    at.run()
    assert "has no role that opens this page" in said(at)
    accounts.set_role(store, "test", project, vera, "annotator")
    assert "has no role that opens this page" in said(at.run())
    accounts.set_role(store, "test", project, vera, "viewer")
    assert not at.run().error


def test_a_disabled_account_is_out_at_the_next_run(store: Store, project: int, visit: Visit) -> None:
    vera = person(store, "vera", project, "viewer")
    visit.as_account(store, vera)
    at = run("compare", project)
    accounts.set_active(store, "test", vera, False)
    assert "no longer logged in" in said(at.run())


def test_what_one_person_opened_another_does_not_get_from_the_cache(store: Store, project: int, visit: Visit) -> None:
    vera = person(store, "vera", project, "viewer")
    other = next(p.id for p in store.projects.list() if p.name == "secret")
    visit.as_account(store, accounts.find(store.people, "ann"))
    assert "secret" in said(run("compare", other))
    visit.as_account(store, vera)
    assert "secret" not in said(run("compare", other))


def test_another_person_in_the_same_session_gets_none_of_its_state(store: Store, project: int, visit: Visit) -> None:
    vera = person(store, "vera", project, "viewer")
    other = next(p.id for p in store.projects.list() if p.name == "secret")
    visit.as_account(store, accounts.find(store.people, "ann"))
    at = run("compare", other)
    at.session_state["typed"] = "by ann"
    visit.as_account(store, vera)
    at.run()
    assert "typed" not in at.session_state
    assert "secret" not in said(at)


def test_an_address_shares_no_typed_text_between_people(store: Store, project: int, visit: Visit) -> None:
    mia, max_ = (person(store, name, project, "manager") for name in ("mia", "max"))
    drafts._drafts()["mia", "known"] = {"key": "typed by mia"}

    def page() -> None:
        import streamlit as st

        from pages._ui.shared import drafts

        st.session_state["found"] = dict(drafts._draft())

    for who, expected in ((max_, {}), (mia, {"key": "typed by mia"})):
        visit.as_account(store, who)
        other = AppTest.from_function(page)
        other.query_params["draft"] = "known"
        assert other.run().session_state["found"] == expected


def test_only_managers_open_access(store: Store, project: int, visit: Visit) -> None:
    visit.as_account(store, person(store, "vera", project, "viewer"))
    at = run("access", project)
    assert "Only managers" in said(at)
    assert not at.tabs


def test_a_link_is_created_shown_and_revoked(store: Store, project: int) -> None:
    at = run("access", project)
    assert "links work only on this machine" in "".join(w.value for w in at.warning)
    at.text_input(key="access-link-name").set_value("Rosa")
    next(b for b in at.button if b.label == "Create link").click()
    at.run()
    assert not at.exception
    [link] = store.people.links(project)
    assert (link.rater, link.batch, link.created_by) == ("Rosa", None, "local manager")
    [address] = [code.value for code in at.code]
    found = links.resolve(store.people, address.rpartition("t/")[2])
    assert found.link == link
    next(b for b in at.button if b.label == "Hide address").click()
    assert not at.run().code
    at.button(key=f"access-revoke-{link.id}").click().run()
    assert store.people.links(project)[0].revoked
    assert [e.act for e in store.audit.entries(project, limit=2)] == ["link revoked", "link created"]


def test_a_link_without_a_name_says_so(store: Store, project: int) -> None:
    at = run("access", project)
    next(b for b in at.button if b.label == "Create link").click()
    at.run()
    assert "The link has no name" in at.error[0].value
    assert store.people.links(project) == []


def test_roles_are_set_and_recorded(store: Store, project: int, visit: Visit) -> None:
    vera = person(store, "vera", project, "viewer")
    visit.as_account(store, accounts.find(store.people, "ann"))
    at = run("access", project)
    at.selectbox(key=f"access-role-{project}-{vera.id}").set_value("adjudicator").run()
    assert not at.exception
    assert store.people.roles(vera.id) == {project: "adjudicator"}
    newest = store.audit.entries(project, limit=1)[0]
    assert (newest.who, newest.act, newest.details) == ("ann", "role set", {"account": "vera", "role": "adjudicator"})


def test_accounts_are_added_and_disabled(store: Store, project: int, visit: Visit) -> None:
    vera = person(store, "vera", project, "viewer")
    visit.as_account(store, accounts.find(store.people, "ann"))
    at = run("access", project)
    at.text_input(key="access-add-name").set_value("bob")
    at.text_input(key="access-add-password").set_value(PASSWORD)
    next(b for b in at.button if b.label == "Add account").click()
    at.run()
    assert not at.exception
    assert accounts.find(store.people, "bob").active
    at.button(key=f"access-active-{vera.id}").click().run()
    assert not accounts.find(store.people, "vera").active


def test_a_manager_of_a_project_cannot_touch_accounts(store: Store, project: int, visit: Visit) -> None:
    mia = person(store, "mia", project, "manager")
    visit.as_account(store, mia)
    at = run("access", project)
    assert not at.exception
    assert not at.error
    labels = {button.label for button in at.button}
    assert not labels & {"Add account", "Set password", "Disable account"}
    assert at.selectbox(key=f"access-role-{project}-{mia.id}")


def test_the_record_is_filtered(store: Store, project: int) -> None:
    for name in ("Rosa", "Otto"):
        links.create(store, "ann", project, name)
    at = run("access", project)

    def table() -> str:
        return "\n".join(unescaped(t.value.to_string()) for t in at.table)

    assert "Rosa" in table()
    at.text_input(key="access-filter").set_value("otto").run()
    assert "Otto" in table()
    assert "Rosa" not in table()
    at.text_input(key="access-filter").set_value("nothing like this").run()
    assert "No entry contains this" in said(at)
