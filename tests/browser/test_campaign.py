"""Campaigns on the page of a link: a page that is out of date, and the language."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, expect

from core.campaigns.design import CampaignDesign
from core.campaigns.protocol import PROTOCOLS
from core.services.campaigns import people, setup
from tests.browser.campaigns import judge
from tests.browser.conftest import PATIENCE, Server
from tests.core.services.campaigns.world import dataset


def test_a_page_that_was_requested_before_a_submission_shows_it(shared: Server, browser: Browser) -> None:
    """As at a reload right after Submit: the server reads the unit before it saves the submission, and nobody moves the focus."""
    store = shared.store()
    project = store.projects.create("cats reloaded").id
    store.projects.add(project, dataset(systems=("Ada",)))
    campaign = setup.create(store, "ann", project, "pilot", CampaignDesign(PROTOCOLS["esa"]))
    (link,) = people.invite(store, "ann", campaign, ["Ana"])
    store.campaigns.set_state(campaign.id, "running")
    context = browser.new_context(viewport={"width": 1200, "height": 900}, locale="en-GB")
    context.set_default_timeout(PATIENCE)
    tab = context.new_page()
    with tab.expect_response("**/api/unit") as first:
        tab.goto(f"{shared.url}/{link.path}")
    before = first.value.text()
    judge(tab)
    expect(tab.locator("#progress")).to_have_text(re.compile("^1 done"))
    tab.go_back()
    expect(tab.get_by_test_id("submit")).to_have_text("Next unsubmitted ⏎")
    assert tab.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('errorscope.outbox/'))") == []
    tab.route("**/api/unit", lambda route: route.fulfill(body=before, content_type="application/json"), times=1)
    tab.reload()
    expect(tab.get_by_test_id("submit")).to_have_text("Next unsubmitted ⏎")
    expect(tab.locator("#progress")).to_have_text(re.compile("^1 done"))
    expect(tab.get_by_role("slider")).to_have_attribute("aria-valuenow", "80")
    context.close()


def test_the_page_has_the_language_of_the_browser_or_the_chosen(shared: Server, browser: Browser) -> None:
    store = shared.store()
    project = store.projects.create("cats in German").id
    store.projects.add(project, dataset(systems=("Ada",)))
    campaign = setup.create(store, "ann", project, "pilot", CampaignDesign(PROTOCOLS["esa"]))
    (link,) = people.invite(store, "ann", campaign, ["Ana"])
    store.campaigns.set_state(campaign.id, "running")
    context = browser.new_context(viewport={"width": 420, "height": 900}, locale="de-DE")
    context.set_default_timeout(PATIENCE)
    tab = context.new_page()
    tab.goto(f"{shared.url}/{link.path}")
    expect(tab.get_by_test_id("submit")).to_contain_text("Abgeben")
    expect(tab.locator("#instructions")).to_contain_text("Lesen Sie den Ausgangstext")
    expect(tab.locator(".esa-output")).to_contain_text("Sinn teilweise erhalten")
    tab.get_by_role("button", name="Pause machen").click()
    expect(tab.locator("#break")).to_contain_text("nach 60 Minuten")
    tab.get_by_role("button", name="Weitermachen").click()
    tab.get_by_role("link", name="English").click()
    expect(tab.get_by_test_id("submit")).to_contain_text("Submit")
    context.close()
