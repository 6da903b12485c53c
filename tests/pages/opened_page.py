"""Open a page as its address in a browser does, press its buttons, and find its fields."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button

from core.ports.store import Store
from tests.pages.said import unescaped
from tests.paths import APP

NOTHING: Mapping[str, object] = MappingProxyType({})


def run(page: str = "compare", project: object = None, state: Mapping[str, object] = NOTHING, **query: str) -> AppTest:
    """Open a page on a project, with what its session has kept; it may show errors."""
    at = AppTest.from_file(APP, default_timeout=120)
    for name, value in (({} if project is None else {"project": str(project)}) | query).items():
        at.query_params[name] = value
    for key, kept in state.items():
        at.session_state[key] = kept
    return at.switch_page(f"pages/{page}.py").run()


def opened(page: str, project: object = None, state: Mapping[str, object] = NOTHING, **query: str) -> AppTest:
    """Open a page, which must show no error."""
    return without_errors(run(page, project, state, **query))


def again(at: AppTest) -> AppTest:
    """Run the page again, which must show no error."""
    return without_errors(at.run())


def without_errors(at: AppTest) -> AppTest:
    assert not at.error, at.error[0].value
    return at


def loaded_again(at: AppTest, page: str) -> AppTest:
    """Return the page in a new session, opened with the address that the old one shows."""
    new = AppTest.from_file(APP, default_timeout=120)
    for name in at.query_params:
        new.query_params[name] = at.query_params[name]
    return new.switch_page(f"pages/{page}.py").run()


def button(at: AppTest, label: str) -> Button:
    """Return the button with this label, escapes taken away, or else the first one whose label begins so."""
    labels = [(unescaped(b.label), b) for b in at.button]
    return next((b for text, b in labels if text == label), None) or next(
        b for text, b in labels if text.startswith(label)
    )


def press(at: AppTest, label: str) -> AppTest:
    """Press the `button`, which must be possible."""
    pressed = button(at, label)
    assert not pressed.disabled, label
    return pressed.click().run()


def field(at: AppTest, label: str) -> Any:
    """Return the field with this label, escapes taken away."""
    kinds = (at.number_input, at.text_input, at.text_area, at.radio, at.multiselect, at.selectbox, at.slider)
    return next(w for kind in kinds for w in kind if unescaped(w.label) == label)


def put(at: AppTest, label: str, value: object) -> AppTest:
    """Give a field a value."""
    return field(at, label).set_value(value).run()


def address(at: AppTest, name: str) -> str:
    """Return a parameter of the address."""
    value = at.query_params[name]
    return value if isinstance(value, str) else value[0]


def new_project(store: Store, name: str = "p") -> int:
    """Create a project of this name; a number is added if the name is taken."""
    taken = {project.name for project in store.projects.list()}
    free = next(n for n in (name, *(f"{name} {k}" for k in range(2, 99))) if n not in taken)
    return store.projects.create(free).id
