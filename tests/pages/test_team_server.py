"""A server with accounts: every download opens."""

from __future__ import annotations

import ast
import csv
import io
import json
import sys
import zipfile
from collections.abc import Callable
from contextvars import Context
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import app
from core.errors import UserError
from core.ports.store import Store
from core.services.people import accounts, sessions
from pages._ui.campaigns.campaign_tabs import screen_key
from pages._ui.shared import files
from tests.pages.team import TeamServer, log_in, serve
from tests.pages.test_robustness import STRINGS
from tests.pages.test_robustness import filled as with_two_references
from tests.paths import APP, ROOT

PAGES = [name for pages in app.PAGES.values() for name in pages]


class Site(NamedTuple):
    """A line of a page that draws a download."""

    file: str
    first: int
    last: int


class Drawn(NamedTuple):
    """A download that a page has drawn: the line that draws it, the name of the file, and its content or what makes it."""

    file: str
    line: int
    name: str
    content: bytes | Callable[[], bytes]

    def at(self, site: Site) -> bool:
        return self.file == site.file and site.first <= self.line <= site.last

    def made(self) -> bytes:
        """Return the content. Like Streamlit, call what makes it in a thread of its own, which knows no session."""
        if isinstance(self.content, bytes):
            return self.content
        made = list[bytes]()
        make = self.content
        thread = Thread(target=lambda: Context().run(lambda: made.append(make())))
        thread.start()
        thread.join()
        assert made, f"{self.file}:{self.line} fails at the click"
        return made[0]


def sites() -> list[Site]:
    """Return all places that draw a download, through `files.download`."""
    found, own = [], files.__file__
    for path in [*ROOT.joinpath("pages").rglob("*.py"), ROOT / "app.py"]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            assert not called.endswith("download_button") or str(path) == own, f"{path} goes past files.download"
            if called in ("download", "files.download"):
                found.append(Site(str(path.relative_to(ROOT)), node.lineno, node.end_lineno or node.lineno))
    return found


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Drawn]:
    """The downloads, as pages draw them."""
    found, real = list[Drawn](), st.download_button

    def watched(label: str, data: Any, name: str, *given: Any, **more: Any) -> bool:
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename == files.__file__:
            frame = frame.f_back
        path = Path(frame.f_code.co_filename)
        found.append(Drawn(str(path.relative_to(ROOT)), frame.f_lineno, name, data))
        return real(label, data, name, *given, **more)

    monkeypatch.setattr(st, "download_button", watched)
    return found


def opened(page: str, project: int, state: dict[str, object] | None = None, **query: str) -> AppTest:
    at = AppTest.from_file(APP, default_timeout=120)
    for name, value in {"project": str(project), **query}.items():
        at.query_params[name] = value
    for key, value in (state or {}).items():
        at.session_state[key] = value
    at = at.switch_page(f"pages/{page}.py").run()
    assert not at.exception, page
    assert not at.error, (page, at.error[0].value)
    return at


def press(at: AppTest, label: str) -> AppTest:
    next(b for b in at.button if b.label == label).click().run()
    assert not at.exception
    assert not at.error, at.error[0].value
    return at


def draw_downloads(world: TeamServer, suite: int, *, manages: bool) -> None:
    """Open the pages so that each of their downloads is drawn."""
    project, campaign = world.project, world.campaign
    opened("compare", project)
    at = opened("meta_evaluation", project)
    at.button_group(key="evaluate-section").set_value("Length and bias").run()
    opened("robustness", project, {"robustness-section": "Stress tests"}, run=str(world.run))
    opened("robustness", project, {"robustness-section": "Saved cases"})
    made = {"robustness-section": "Adversarial suite", "suite-metrics": STRINGS, "suite-names": ["negation"]}
    at = opened("robustness", suite, made)
    at.button(key="suite-run").click().run()
    assert not at.error, at.error[0].value
    of = {"campaign": str(campaign.id)}
    at = opened("campaigns", project, {screen_key(campaign): "People"}, **of)
    if manages:
        at.text_area(key=f"campaign-names-{campaign.id}").input(f"Eva {len(world.store.people.links(campaign.texts))}")
        press(at, "Create links")
        shown = {"campaign-new-links": (campaign.id, [("Ana", "t/abc")])}
        opened("campaigns", project, {screen_key(campaign): "Progress", **shown}, **of)
    at = opened("campaigns", project, {screen_key(campaign): "Results"}, **of)
    choose_each(at, f"campaign-format-{campaign.id}")
    choose_each(opened("projects", project), f"export-format-{project}")


def choose_each(at: AppTest, key: str) -> None:
    """Choose each option of a select box, one after the other."""
    choice = at.selectbox(key=key)
    for option in choice.options:
        at.selectbox(key=key).select(option).run()
        assert not at.error, at.error[0].value


def check(name: str, content: bytes) -> None:
    """Open a file as a program would, and look for more than its head."""
    assert content, name
    ending = name.rpartition(".")[2]
    if ending == "zip":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for member in archive.namelist():
                check(member, archive.read(member))
        return
    if ending in ("parquet", "arrow"):
        assert content[:4] in (b"PAR1", b"ARRO"), name
        return
    text = content.decode("utf-8")
    if ending == "csv" or ending == "tsv":
        rows = list(csv.reader(io.StringIO(text), delimiter="," if ending == "csv" else "\t"))
        assert len(rows) > 1, name
        assert len({len(row) for row in rows}) == 1, name
    elif ending == "json":
        assert json.loads(text), name
    elif ending == "jsonl":
        assert [json.loads(line) for line in text.splitlines()], name
    elif ending == "html":
        assert "<table" in text, name
        assert text.rstrip().endswith("</html>"), name
    elif ending == "tex":
        assert "\\begin{tabular}" in text, name
    else:
        assert len(text) > 40, name


@pytest.mark.extended
def test_every_download_of_every_page_opens(store: Store, drawn: list[Drawn], monkeypatch: pytest.MonkeyPatch) -> None:
    world, suite = serve(store), with_two_references(store)
    for name in ("mia", "vera"):
        role = "manager" if name == "mia" else "viewer"
        accounts.set_role(store, "test", suite, accounts.find(store.people, name), role)
    expected = set(sites())
    assert len(expected) > 15
    for name in ("mia", "vera"):
        drawn.clear()
        token = log_in(store, monkeypatch, name)
        draw_downloads(world, suite, manages=name == "mia")
        for one in drawn:
            check(one.name, one.made())
        found = {site for site in expected for one in drawn if one.at(site)}
        lacking = sorted(expected - found)
        links = [s for s in lacking if name == "vera" and s.file.endswith(("people_tab.py", "creation.py"))]
        assert [s for s in lacking if s not in links] == [], "this walk does not draw these downloads: let it"
    pay = next(one for one in drawn if one.name.endswith(".pay.csv"))
    assert b"Ana" in pay.made()
    vera = accounts.find(store.people, "vera")
    accounts.set_role(store, "test", world.project, vera, "annotator")
    assert callable(pay.content)
    with pytest.raises(UserError, match="there is no such project"):
        pay.content()
    sessions.end(store, token)
    with pytest.raises(UserError, match="no longer logged in"):
        pay.content()
