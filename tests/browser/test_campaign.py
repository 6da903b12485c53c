"""Campaigns on the page of a link: three annotators in three browsers, a page that is out of date, and the language."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from playwright.sync_api import Browser, expect

from core.campaigns.design import CampaignDesign
from core.campaigns.protocol import PROTOCOLS, ProtocolName
from core.data import grouped
from core.services.campaigns import answers, people, setup
from core.services.campaigns.answers import read_labels
from tests.browser.campaigns import judge, work
from tests.browser.conftest import PATIENCE, Server
from tests.core.services.campaigns.world import dataset

NAMES = ("Ana", "Ben", "Cem")
UNITS = 6


@pytest.mark.parametrize("name", ["mqm", "pairwise"])
def test_three_annotators_rate_each_unit_twice(shared: Server, browser: Browser, name: ProtocolName) -> None:
    store = shared.store()
    project = store.projects.create(f"cats {name}").id
    systems = ("Ada",) if name == "mqm" else ("Ada", "Bob")
    store.projects.add(project, dataset(systems=systems))
    design = replace(CampaignDesign(PROTOCOLS[name]), overlap=2, people=3, block_size=1, pay_per_hour=20.0)
    campaign = setup.create(store, "ann", project, "pilot", design)
    links = people.invite(store, "ann", campaign, NAMES)
    store.campaigns.set_state(campaign.id, "running")
    tabs = []
    for link in links:
        context = browser.new_context(viewport={"width": 1200, "height": 900}, locale="en-GB")
        context.set_default_timeout(PATIENCE)
        tabs.append(context.new_page())
        tabs[-1].goto(f"{shared.url}/{link.path}")
    codes = {who: work(tab, name) for who, tab in zip(NAMES, tabs, strict=True)}
    given = [a for a in read_labels(store, campaign).answers if a.counts]
    raters = grouped((a.unit.name, a.rater) for a in given)
    assert len(raters) == UNITS
    assert all(len(set(who)) == 2 for who in raters.values())
    assert {p.rater: p.code for p in store.campaigns.participants(campaign.id)} == codes
    if name == "mqm":
        assert len(answers.all_labels(store, project)) == 2 * UNITS
    else:
        assert len(answers.judgements(store, project)) == 2 * UNITS * len(systems)
    for tab in tabs:
        tab.context.close()


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
    judge(tab, "esa")
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
