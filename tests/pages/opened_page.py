"""Open a page on a project, as its address in a browser does."""

from streamlit.testing.v1 import AppTest

from core.ports.store import Store
from tests.paths import APP


def opened(page: str, project: int, **query: str) -> AppTest:
    at = AppTest.from_file(APP, default_timeout=120)
    for name, value in ({"project": str(project)} | query).items():
        at.query_params[name] = value
    return again(at.switch_page(f"pages/{page}.py"))


def again(at: AppTest) -> AppTest:
    """Run the page, which must not fail; an error that its boundary has caught is a message on the page."""
    at.run()
    assert not at.exception
    assert not at.error
    return at


def new_project(store: Store, name: str = "p") -> int:
    """Create a project of this name; a number is added if the name is taken."""
    taken = {project.name for project in store.projects.list()}
    free = next(n for n in (name, *(f"{name} {k}" for k in range(2, 99))) if n not in taken)
    return store.projects.create(free).id
