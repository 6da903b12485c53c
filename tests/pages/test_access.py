"""Pages as people with roles see them, and the page Access."""

from __future__ import annotations

import pytest
from streamlit.runtime.context import ContextProxy
from streamlit.testing.v1 import AppTest

from core.ports.people import Account, Role
from core.ports.store import Store
from core.services.people import accounts, links, sessions
from core.services.people.sessions import SESSION_COOKIE
from tests.builders import small_dataset
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


def press(at: AppTest, label: str) -> AppTest:
    next(b for b in at.button if b.label == label).click().run()
    assert not at.exception
    return at


def test_every_role_sees_and_changes_what_it_may(store: Store, project: int, visit: Visit) -> None:
    visit.as_account(store, person(store, "vera", project, "viewer"))
    other = next(p.id for p in store.projects.list() if p.name == "secret")
    for page in PAGES:
        at = run(page)
        assert not at.exception, page
        assert not at.error, page
        assert list(at.sidebar.selectbox(key="switcher").options) == ["news"], page
        assert "secret" not in said(at), page
        if page == "annotate":
            assert "does not include labelling" in said(at)
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
    assert "Only managers" in said(at)
    assert not at.tabs
    at = run("compare", other)
    assert "This project does not exist" in said(at)
    assert "secret" not in said(at)

    visit.as_account(store, person(store, "adam", project, "adjudicator"))
    at = run("annotate", project)
    assert not at.exception
    assert not at.error
    assert not at.text_input  # no form for another name
    assert {event.rater for event in store.labels.events(project)} == {"adam"}

    mia = person(store, "mia", project, "manager")
    visit.as_account(store, mia)
    at = run("access", project)
    assert not at.exception
    assert not at.error
    labels = {button.label for button in at.button}
    assert not labels & {"Add account", "Set password", "Disable account"}
    assert at.selectbox(key=f"access-role-{project}-{mia.id}")


def test_a_changed_role_or_account_takes_effect_at_the_next_run(store: Store, project: int, visit: Visit) -> None:
    vera = person(store, "vera", project, "viewer")
    visit.as_account(store, vera)
    at = run("compare", project)
    assert not at.error
    accounts.set_role(store, "test", project, vera, None)
    assert "has no role that opens this page" in said(at.run())
    accounts.set_role(store, "test", project, vera, "annotator")
    assert "has no role that opens this page" in said(at.run())
    accounts.set_role(store, "test", project, vera, "viewer")
    assert not at.run().error
    accounts.set_active(store, "test", vera, False)
    assert "no longer logged in" in said(at.run())


def test_caches_sessions_and_addresses_are_not_shared_by_people(store: Store, project: int, visit: Visit) -> None:
    vera, mia = person(store, "vera", project, "viewer"), person(store, "mia", project, "manager")
    other = next(p.id for p in store.projects.list() if p.name == "secret")
    ann = accounts.find(store.people, "ann")
    visit.as_account(store, ann)
    at = run("compare", other)
    assert "secret" in said(at)
    at.session_state["typed"] = "by ann"
    visit.as_account(store, vera)
    at.run()
    assert "typed" not in at.session_state
    assert "secret" not in said(at)
    assert "secret" not in said(run("compare", other)), "a page that another person opened comes from a cache"

    def typed(draft: str = "") -> AppTest:
        at = AppTest.from_file(APP, default_timeout=30)
        at.query_params["project"] = str(project)
        at.query_params["draft"] = draft
        at.session_state["robustness-metrics"] = ["chrf"]
        return at.switch_page("pages/robustness.py").run()

    visit.as_account(store, mia)
    at = typed()
    at.text_area(key="robustness-changed").set_value("typed by mia").run()
    draft = at.query_params["draft"]
    address = draft if isinstance(draft, str) else draft[0]
    assert typed(address).text_area(key="robustness-changed").value == "typed by mia"
    visit.as_account(store, ann)
    assert typed(address).text_area(key="robustness-changed").value != "typed by mia"


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
    assert "No entry contains this" in said(at)


def test_a_manager_sets_roles_and_adds_and_disables_accounts(store: Store, project: int, visit: Visit) -> None:
    vera = person(store, "vera", project, "viewer")
    visit.as_account(store, accounts.find(store.people, "ann"))
    at = run("access", project)
    role = at.selectbox(key=f"access-role-{project}-{vera.id}")
    assert (role.label, role.proto.label_visibility.value) == ("Role of vera in news", 0)
    role.set_value("adjudicator").run()
    assert not at.exception
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
    assert "Added bob." in [said.value for said in at.success]
    at.button(key=f"access-active-{vera.id}").click().run()
    assert not accounts.find(store.people, "vera").active
