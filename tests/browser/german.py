"""The annotator's page in German, and which English texts must not be on it."""

from __future__ import annotations

import re
from dataclasses import replace

from playwright.sync_api import Page

from api.task import catalogue
from core.campaigns.design import CampaignDesign, TutorialItem
from core.campaigns.protocol import PROTOCOLS
from core.data import OutputKey, Span
from core.services.campaigns import people, setup
from tests.browser.conftest import Server
from tests.core.services.campaigns.world import dataset

SHOWN = """() => [...document.querySelectorAll("body, body *")].flatMap((e) => [
  ...["aria-label", "title", "placeholder"].map((name) => e.getAttribute(name)),
  ...(e.matches("script, style") ? [] : [...e.childNodes].filter((n) => n.nodeType === 3).map((n) => n.textContent))])
  .map((text) => text?.trim()).filter(Boolean)"""


def german_link(server: Server) -> str:
    """Return the address of a participant of an MQM campaign with a tutorial."""
    store = server.store()
    project = store.projects.create("cats on the German page").id
    texts = dataset()
    store.projects.add(project, texts)
    output = texts.outputs[0]
    missed = Span("output", 0, 3, output.text[:3], "Major", "Accuracy/Addition")
    item = TutorialItem(OutputKey(output.system, output.doc_id, output.segment_id), (missed,), None, "")
    design = replace(CampaignDesign(PROTOCOLS["mqm"]), people=1, tutorial=(item,))
    campaign = setup.create(store, "ann", project, "pilot", design)
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
    """No English text of ours is on the screen, in labels of buttons, or in answers of the server."""
    forms = english()
    assert len(forms) > 300
    shown = page.evaluate(SHOWN)
    assert "Fehler markieren" in shown or "Anleitung" in shown
    assert [text for text in shown for form in forms if form.fullmatch(text)] == []
