"""A campaign with suggestions: set up from a layer, decided by keys, interrupted by a reload, submitted, and its effect on Results."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from core.data import Dataset, Output, OutputKey, Segment, SegmentKey, Span
from core.ports.campaigns import Campaign
from core.ports.labels import SegmentLabels
from core.ports.store import Store
from core.services.campaigns import people
from core.services.spans.layers import add_layer
from core.spans.layers import LayerSpan
from tests.browser.conftest import PATIENCE, Server, at_rest, settled
from tests.browser.span_editor import saved

TEXTS = {"1": "The old house stood at the green river.", "2": "ذهب الولد إلى البيت القديم اليوم."}
WORDS = {"1": ("old", "green"), "2": ("الولد", "القديم")}


def spans(segment: str) -> tuple[LayerSpan, ...]:
    text = TEXTS[segment]
    places = [(text.index(word), word) for word in WORDS[segment]]
    return tuple(LayerSpan(Span("output", at, at + len(w), w, "Minor", "Style"), 0.5) for at, w in places)


def project_with_layer(store: Store, name: str) -> int:
    project = store.projects.create(name).id
    segments = tuple(Segment("doc", s, f"Quelle {s}") for s in TEXTS)
    store.projects.add(project, Dataset(segments, tuple(Output("Ada", "doc", s, text) for s, text in TEXTS.items())))
    add_layer(
        store, project, "judged elsewhere", {OutputKey("Ada", "doc", s): spans(s) for s in TEXTS}, {"file": "x"}, {}
    )
    return project


def labels(store: Store, campaign: Campaign, doc: str) -> SegmentLabels:
    return store.labels.recorded(campaign.texts, "Ana", SegmentKey(doc, "0")).labels


@pytest.mark.extended
def test_suggestions_from_a_layer_to_the_results(shared: Server, browser: Browser, page: Page) -> None:
    """Two segments of one system are a block: at a share of 50 %, one of them is a control."""
    store = shared.store()
    project = project_with_layer(store, "suggested")
    page.goto(f"{shared.url}/campaigns?project={project}&campaign=new&step=protocol")
    expect(page).to_have_url(re.compile("draft="))
    settled(page)
    page.get_by_label("Error spans of").focus()
    page.keyboard.type("judged")
    page.get_by_role("option", name=re.compile("judged elsewhere.* .imported file, 2 outputs")).click()
    share = page.get_by_role("slider", name="Units without suggestions")
    share.focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    for name in ("Outputs with a wrong suggestion", "Suggestions withheld"):
        page.get_by_role("slider", name=name).focus()
        page.keyboard.press("Home")
    at_rest(page)
    page.get_by_test_id("stButtonGroup").get_by_text("5 Start").click()
    expect(page.get_by_test_id("stMain")).to_contain_text(re.compile("judged elsewhere.?; 50 % of units without"))
    expect(page.locator(".esa-mark.suggested")).to_have_count(2)  # the preview shows them
    at_rest(page)
    page.get_by_role("button", name="Save as draft").click()
    expect(page.get_by_role("button", name="Continue setting up")).to_be_visible()
    (campaign,) = store.campaigns.list(project)
    made = campaign.design["suggestions"]
    assert (made["layer"], made["control_share"], made["planted_share"]) == ("file:judged elsewhere", 0.5, 0.0)
    (link, _) = people.invite(store, "ann", campaign, ["Ana", "Ben"])
    store.campaigns.set_state(campaign.id, "running")
    context = browser.new_context(viewport={"width": 420, "height": 900}, locale="en-GB")
    context.set_default_timeout(PATIENCE)
    tab = context.new_page()
    tab.goto(f"{shared.url}/{link.path}")
    arms = {}
    for _ in range(2):
        expect(tab.get_by_test_id("submit")).to_contain_text("Submit ⏎")
        expect(tab.locator("#progress")).to_contain_text("0 done" if not arms else "1 done")
        doc = tab.evaluate("new URLSearchParams(location.search).get('doc')") or next(
            of.segment.doc_id for of in store.labels.of_rater(campaign.texts, "Ana").values() if not of.labels.submitted
        )
        arms[doc] = labels(store, campaign, doc).arm
        if arms[doc] == "control":
            expect(tab.locator(".suggested")).to_have_count(0)
            assert "uggestion" not in tab.locator(".esa").inner_text()
        else:
            decide_by_keys(tab)
            recorded = labels(store, campaign, doc)
            ((system, shown),) = recorded.suggestions.items()
            (mark,) = recorded.of(system).marks
            assert (mark.suggestion, mark.span.severity) == (shown[0].id, "Major")
            assert recorded.of(system).decided == tuple(s.id for s in shown)
        tab.get_by_role("slider").focus()
        tab.keyboard.type("70")
        tab.keyboard.press("Enter")
        saved(tab)
    assert sorted(arms.values()) == ["control", "suggested"]
    expect(tab.locator("#progress")).to_contain_text("2 done")
    page.goto(f"{shared.url}/campaigns?project={project}&campaign={campaign.id}")
    at_rest(page)
    page.get_by_test_id("stButtonGroup").get_by_text("Results", exact=True).click()
    main = page.get_by_test_id("stMain")
    expect(main).to_contain_text("Effect of suggestions")
    expect(main).to_contain_text("Suggestions edited")
    expect(main).to_contain_text("may be pooled cannot be tested")
    expect(main).to_contain_text("Suggestions: judged elsewhere, 4 error spans in 2 outputs")
    context.close()


def decide_by_keys(tab: Page) -> None:
    """Edit the first suggestion and reject the second; before each step, the page is loaded again."""
    expect(tab.locator(".esa-p.suggested")).to_have_count(2)
    expect(tab.locator(".esa-side")).to_contain_text("Some suggestions are wrong")
    tab.get_by_role("slider").focus()
    tab.keyboard.type("50")
    tab.get_by_test_id("submit").click()
    expect(tab.locator(".esa-said")).to_contain_text("accept or reject the suggestion")
    tab.keyboard.press("Escape")
    tab.keyboard.press("a")  # chooses the first one
    expect(tab.locator(".esa-p.suggested.active")).to_have_count(1)
    tab.keyboard.press("1")  # accepted with another severity
    expect(tab.locator(".esa-p.suggested")).to_have_count(1)
    saved(tab)
    tab.reload()
    expect(tab.locator(".esa-p.suggested")).to_have_count(1)
    expect(tab.locator(".esa-mark.major")).to_have_count(1)
    tab.keyboard.press("f")
    tab.keyboard.press("f")
    expect(tab.locator(".esa-p.suggested")).to_have_count(0)
    tab.keyboard.press("u")
    expect(tab.locator(".esa-p.suggested")).to_have_count(1)
    tab.locator(".esa-mark.suggested").get_by_role("button", name="Not an error").click()
    expect(tab.locator(".esa-p.suggested")).to_have_count(0)
    saved(tab)
