"""The set-up of a campaign in a real browser: from outputs to a link that an annotator opens."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from core.campaigns.design import design_from_json
from core.data import Dataset, Output, Segment
from tests.browser.conftest import Server, at_rest

SYSTEMS = ("A", "B")
TEXT = "😀 The committee approved <b>the new budget</b> for schools in March"


@pytest.fixture(scope="module")
def server(shared: Server) -> Server:
    store = shared.store()
    project = store.projects.create("to evaluate").id
    places = [(f"d{d}", str(i)) for d in range(3) for i in range(4)]
    segments = tuple(Segment(doc, i, f"Quelle {doc} {i}") for doc, i in places)
    outputs = tuple(Output(s, doc, i, f"{TEXT}, {s} {doc} {i}.") for doc, i in places for s in SYSTEMS)
    store.projects.add(project, Dataset(segments, outputs))
    return shared


def following(page: Page, heading: str) -> None:
    at_rest(page)
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_role("heading", name=heading)).to_be_visible()
    at_rest(page)


def test_from_outputs_to_a_link_that_opens(server: Server, page: Page) -> None:
    project = server.project("to evaluate")
    page.goto(f"{server.url}/campaigns?project={project}")
    page.get_by_role("button", name="New campaign").click()
    expect(page.get_by_text("12 segments × 2 systems = 24 outputs")).to_be_visible()
    following(page, "What are annotators asked?")
    page.get_by_text("Direct assessment", exact=True).click()
    expect(page.get_by_text("· Direct assessment ·")).to_be_visible()
    following(page, "Who rates, and how often?")
    page.get_by_label("Annotators", exact=True).fill("2")
    page.get_by_label("Annotators", exact=True).press("Enter")
    expect(page.get_by_text("2 annotators, 2 per output")).to_be_visible()
    following(page, "How is the work checked?")
    page.reload()
    expect(page.get_by_text("2 annotators, 2 per output")).to_be_visible()
    following(page, "Who gets a link?")
    preview = page.locator(".esa-output")
    expect(preview).to_contain_text("<b>the new budget</b>")
    names = page.get_by_role("textbox", name="Annotators, one name per line")
    names.fill("Ana\nBoris")
    names.press("Control+Enter")
    page.get_by_role("button", name="Create 2 links and start").click()
    expect(page.get_by_text("shown only once")).to_be_visible()
    (campaign,) = server.store().campaigns.list(project)
    assert campaign.state == "running"
    assert design_from_json(campaign.design).protocol.name == "da"
    assert f"campaign={campaign.id}" in page.url
    link = page.get_by_test_id("stCode").first.inner_text().strip()
    page.goto(link)
    expect(page.get_by_text("the new budget").first).to_be_visible()
    page.goto(f"{server.url}/campaigns?project={project}&campaign={campaign.id}")
    expect(page.get_by_role("button", name="All campaigns")).to_be_visible()
    expect(page.get_by_text("shown only once")).to_have_count(0)


def test_the_preview_saves_nothing(server: Server, page: Page) -> None:
    project = server.project("to evaluate")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if "/api/actions" in request.url else None)
    page.goto(f"{server.url}/campaigns?project={project}&campaign=new&step=start")
    editor = page.locator(".esa-output").first
    expect(editor).to_be_visible()
    editor.get_by_role("textbox").first.focus()
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("1")
    expect(editor).to_contain_text("1 error span")
    expect(page.get_by_text("saved ✓")).to_be_visible()
    assert sent == []
    assert server.store().labels.raters(project) == []
    assert page.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('errorscope.outbox/'))") == []
