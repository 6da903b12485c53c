"""The annotator's page in German: no English text of ours on the screen, in labels of buttons, or in answers of the server."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from playwright.sync_api import Browser, Page, expect

from api.task import catalogue
from core.campaigns.design import CampaignDesign, TutorialItem
from core.campaigns.protocol import PROTOCOLS
from core.data import OutputKey, Span
from core.services.campaigns import creating, people
from tests.browser.conftest import PATIENCE, Server
from tests.core.services.campaigns.world import dataset

SHOWN = """() => [...document.querySelectorAll("body, body *")].flatMap((e) => [
  ...["aria-label", "title", "placeholder"].map((name) => e.getAttribute(name)),
  ...(e.matches("script, style") ? [] : [...e.childNodes].filter((n) => n.nodeType === 3).map((n) => n.textContent))])
  .map((text) => text?.trim()).filter(Boolean)"""


@pytest.fixture(scope="module")
def server(shared: Server) -> Server:
    return shared


def link(server: Server) -> str:
    """Return the address of a participant of an MQM campaign with a tutorial."""
    store = server.store()
    project = store.projects.create("cats on the German page").id
    texts = dataset()
    store.projects.add(project, texts)
    output = texts.outputs[0]
    missed = Span("output", 0, 3, output.text[:3], "Major", "Accuracy/Addition")
    item = TutorialItem(OutputKey(output.system, output.doc_id, output.segment_id), (missed,), None, "")
    design = replace(CampaignDesign(PROTOCOLS["mqm"]), people=1, tutorial=(item,))
    campaign = creating.create(store, "ann", project, "pilot", design)
    (sent,) = people.invite(store, "ann", campaign, ["Ana"])
    store.campaigns.set_state(campaign.id, "running")
    return f"{server.url}/{sent.path}"


def english() -> list[re.Pattern[str]]:
    """Return the English texts that the page replaces; a value in them is any text."""
    known = catalogue.texts("de")
    alike = {german.lower() for german in known.values()}
    replaced = [text for text, german in known.items() if text != german and text.lower() not in alike]
    with_words = [text for text in replaced if re.search(r"[A-Za-z]{3}", re.sub(r"\{\w+\}", "", text))]
    return [re.compile(re.sub(r"\\\{\w+\\\}", ".+", re.escape(text))) for text in with_words]


def assert_german(page: Page) -> None:
    shown = page.evaluate(SHOWN)
    assert "Fehler markieren" in shown or "Anleitung" in shown
    assert [text for text in shown for form in english() if form.fullmatch(text)] == []


def test_everything_on_the_page_is_german(server: Server, browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 1300, "height": 900}, locale="de-DE")
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(link(server))
    assert len(english()) > 300
    expect(page.get_by_role("button", name="Keine Übersetzung").first).to_be_visible()
    assert_german(page)
    page.keyboard.press("?")
    expect(page.get_by_text("Kategorien: Übersetzung (MQM)")).to_be_visible()
    expect(page.get_by_text("Genauigkeit › Hinzufügung")).to_be_visible()
    expect(page.get_by_text("Umschalt + Pfeiltasten", exact=True)).to_be_visible()
    assert_german(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Kein Fehler").first.click()
    page.get_by_test_id("submit").click()
    expect(page.locator("#feedback")).to_contain_text("Noch nicht ganz.")
    expect(page.locator("#feedback")).to_contain_text("Sie haben „Ada“ übersehen.")
    assert_german(page)
    context.close()
