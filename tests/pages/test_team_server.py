"""A server with accounts: every download opens, and each role sees the actions that it may take, and no others."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextvars import Context
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple, cast

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import app
from core.errors import UserError
from core.mqm.actions import label_actions
from core.ports.campaigns import Campaign
from core.ports.labels import LabelBatch
from core.ports.people import Role
from core.ports.rules import Rule, StorageCall
from core.ports.store import Store
from core.services.people import accounts, guard, sessions
from core.services.spans.layers import add_layer
from core.spans.layers import LayerSpan
from pages._ui.campaigns.campaign_data import screen_key
from pages._ui.compare import replies
from pages._ui.shared import files
from pages._ui.shared.addresses import NewCampaignLinks
from tests import judges
from tests.core.services.campaigns import test_suggestions as suggesting
from tests.core.services.campaigns.world import campaign_world
from tests.pages import test_campaign_import, test_span_layers
from tests.pages.opened_page import opened, press
from tests.pages.team import TeamServer, log_in, serve
from tests.pages.test_robustness import STRINGS
from tests.pages.test_robustness import filled as with_two_references
from tests.paths import ROOT
from tests.stores import put_scores

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
    """Return all places that draw a download, through `files.download` or `files.downloads`. Pictures and files of tables are checked where they are drawn."""
    found, own = [], files.__file__
    for path in [*ROOT.joinpath("pages").rglob("*.py"), ROOT / "app.py"]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            assert not called.endswith("download_button") or str(path) == own, f"{path} goes past files.download"
            if called.removeprefix("files.") in ("download", "downloads") and str(path) != own:
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


def with_judge(store: Store) -> int:
    """A project with labels of three annotators, a judge, one reply of which is long, and a layer from a file."""
    data, of = judges.texts(), judges.severities()
    rated = judges.rated_outputs(data, of)
    batches = [LabelBatch(*place, actions) for place, actions in label_actions(rated).actions.items()]
    project = store.projects.create("judged").id
    store.projects.add(project, data, batches)
    values = {o.key: judges.answer(int(w), o.text) for o, w in zip(data.outputs, of["judge"], strict=True)}
    detail = values[data.outputs[0].key].detail
    assert detail is not None
    detail["replies"][0]["text"] = "x" * (replies.LONGEST + 1)
    put_scores(store, project, "judge-mqm", values, judges.SIGNATURE)
    spans = {r.key: [LayerSpan(error) for error in r.errors] for r in rated[: len(data.outputs)]}
    add_layer(store, project, "file", spans, {"file": "x.jsonl"}, {})
    return project


def with_suggestions(store: Store) -> Campaign:
    """A campaign that shows suggestions of a layer, with submitted units."""
    world = campaign_world(store=store, layer=suggesting.layer(), suggestions=suggesting.HALF, overlap=1, people=1)
    world.work("Sue", suggesting.accept_first)
    return world.campaign


def draw_downloads(world: TeamServer, suite: int, judged: int, suggested: Campaign, *, manages: bool) -> None:
    """Open the pages so that each of their downloads is drawn."""
    project, campaign = world.project, world.campaign
    opened("meta_evaluation", judged, tab="Judge card")
    opened("meta_evaluation", judged, tab="Error spans")
    first = judges.texts().outputs[0].key
    chosen = replies._Chosen(judged, first, first.system, "judge-mqm")
    opened("compare", judged, {replies.CHOSEN: chosen}, doc=first.doc_id, segment=first.segment_id)
    at = opened("projects", judged, {f"span-panel-{judged}": True})
    if manages:
        error = {"start": 0, "end": 1, "text": "never", "severity": "major", "confidence": 0.5}
        text = next(o.text for o in judges.texts().outputs if o.key == first)
        source = judges.texts().segments[0].source
        test_span_layers.send(at, "x_comet.json", {first.system: [{"src": source, "mt": text, "errors": [error]}]})
    opened("campaigns", suggested.project_id, {screen_key(suggested): "Results"}, campaign=str(suggested.id))
    opened("compare", project)
    at = opened("meta_evaluation", project)
    for section in ("Length and bias", "All human scores"):
        at.button_group(key="evaluate-section").set_value(section).run()
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
        shown = {"campaign-new-links": NewCampaignLinks(campaign.id, [("Ana", "t/abc")], started=True)}
        opened("campaigns", project, {screen_key(campaign): "Progress", **shown}, **of)
        test_campaign_import.opened(*test_campaign_import.files("pearmut"))
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
    if ending == "png":
        assert (content[:4], content[-8:]) == (b"\x89PNG", b"IEND\xaeB`\x82"), name
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
    judged, suggested = with_judge(store), with_suggestions(store)
    for name in ("mia", "vera"):
        role: Role = "manager" if name == "mia" else "viewer"
        for project in (suite, judged, suggested.project_id):
            accounts.set_role(store, "test", project, accounts.find(store.people, name), role)
    expected = set(sites())
    assert len(expected) > 15
    for name in ("mia", "vera"):
        drawn.clear()
        token = log_in(store, monkeypatch, name)
        draw_downloads(world, suite, judged, suggested, manages=name == "mia")
        for one in drawn:
            check(one.name, one.made())
        found = {site for site in expected for one in drawn if one.at(site)}
        lacking = sorted(expected - found)
        of_managers = ("people_tab.py", "addresses.py", "imported.py", "other_programs.py")
        assert [s for s in lacking if name == "mia" or not s.file.endswith(of_managers)] == [], (
            "this walk does not draw these downloads: let it"
        )
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


class ChangeAllowedError(Exception):
    """A change that the guard has let pass. It is not carried out: the next action finds the same project."""


HARMLESS = {"labels", "timings", "audit"}
"""Ports whose changes are carried out: without them no page could be drawn."""
MANAGERS_READ = {
    *(f"people.{name}" for name in ("accounts", "members", "taking_part", "links", "roles", "has_link")), "shared.list",
}  # fmt: skip
"""Methods that only managers may call, and that change nothing."""


class Watch:
    """What the guard has allowed and refused since `clear`."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.refused, self.allowed = list[str](), list[str]()
        decide = guard.decide

        def watched(rule: Rule, call: StorageCall) -> Any:
            method = cast(partial[Any], call.run).func
            port = next(name for name in Store._fields if getattr(call.store, name) is method.__self__)
            name = f"{port}.{method.__name__}"

            def change() -> Any:
                self.allowed.append(name)
                raise ChangeAllowedError(name)

            carried_out = rule.reads or name in MANAGERS_READ or port in HARMLESS
            try:
                return decide(rule, call if carried_out else call._replace(run=change))
            except UserError as error:
                self.refused.append(f"{name}: {error}")
                raise

        patch.setattr(guard, "decide", watched)

    def clear(self) -> None:
        self.refused.clear()
        self.allowed.clear()


class Visit(NamedTuple):
    """An address that shows actions, with what the session has kept."""

    page: str
    state: dict[str, object]
    query: dict[str, str]


def visits(world: TeamServer) -> Iterator[Visit]:
    """Yield the pages, with the sections and screens that have actions of their own."""
    for page in PAGES:
        if page not in ("robustness", "campaigns"):
            yield Visit(page, {}, {})
    for section in ("Break a metric", "Adversarial suite", "Saved cases", "Combine"):
        yield Visit("robustness", {"robustness-section": section, "robustness-metrics": STRINGS}, {})
    yield Visit("robustness", {"robustness-section": "Stress tests", "lab-metrics": STRINGS}, {})
    yield Visit("robustness", {"robustness-section": "Stress tests"}, {"run": str(world.run)})
    yield Visit("campaigns", {}, {})
    for screen in ("Progress", "People", "Quality", "Disagreements", "Results"):
        yield Visit("campaigns", {screen_key(world.campaign): screen}, {"campaign": str(world.campaign.id)})


def actions(at: AppTest) -> Iterator[tuple[str, str]]:
    """Yield the kind and the key of what can be pressed or chosen."""
    for kind, elements in (("button", at.button), ("checkbox", at.checkbox), ("selectbox", at.selectbox)):
        for element in elements:
            if not element.disabled:
                yield kind, str(element.key or element.label)


def act(at: AppTest, kind: str, key: str) -> None:
    """Press a button with other texts in the fields, change a box, or choose another option, and run the page."""
    element = next(e for e in getattr(at, kind) if str(e.key or e.label) == key)
    if kind == "selectbox":
        others = [o for o in element.options if o != element.options[element.index or 0]]
        if others:
            element.select(others[0]).run()
    elif kind == "checkbox":
        element.set_value(not element.value).run()
    else:
        for field in at.text_input:
            if not field.disabled:
                field.set_value(f"{field.value} 2")
        element.click().run()


def walk(at: AppTest, again: Callable[[], AppTest], watch: Watch) -> Iterator[tuple[tuple[str, str], AppTest]]:
    """Take every action of a page, and those that appear through them; yield each with the page afterwards. `again` opens the page anew."""
    done, seen, fresh, title = set[tuple[str, str]](), set[tuple[str, str]](), True, at.title[0].value
    while True:
        todo = [a for a in actions(at) if a not in done and a[1] != "switcher"]
        if not todo and fresh:
            return
        if todo:
            taken = next((a for a in reversed(todo) if a not in seen), todo[0])
            seen |= set(todo)
            done.add(taken)
            watch.clear()
            act(at, *taken)
            yield taken, at
        fresh = not todo or bool(watch.allowed) or not at.title or at.title[0].value != title
        if fresh:
            at = again()


@pytest.mark.extended
def test_roles_see_the_actions_they_may_take_and_no_others(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    world, watch, wrong, allowed = serve(store), Watch(monkeypatch), list[str](), dict[str, set[str]]()
    for name in ("vera", "adam", "mia"):
        log_in(store, monkeypatch, name)
        mine = allowed.setdefault(name, set())
        for visit in visits(world):
            again = partial(opened, visit.page, world.project, visit.state, **visit.query)
            watch.clear()
            at = again()
            wrong += [f"{name}: {visit.page} is drawn with {what}" for what in watch.refused]
            for action, after in walk(at, again, watch):
                where = f"{name}: {visit.page} {visit.state or ''}: {action}"
                wrong += [f"{where}: {what}" for what in (*watch.refused, *(e.value for e in after.exception))]
                if not watch.allowed:
                    wrong += [f"{where}: {e.value}" for e in after.error if re.search("fault|managers", e.value)]
                mine |= set(watch.allowed)
    assert not wrong, "\n".join(wrong)
    assert allowed["vera"] == set()
    assert allowed["adam"] == set(), "decisions are labels, which are carried out"
    assert allowed["mia"] >= {
        "batches.save", "calibrations.save", "campaigns.set_state", "campaigns.delete", "cases.remove", "people.set_role",
        "projects.delete", "projects.rename", "settings.put", "shared.add", "shared.revoke", "stress.delete",
    }  # fmt: skip
