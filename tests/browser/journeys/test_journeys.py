"""The journeys of managers and annotators, from end to end in a browser, on one server that all of them share."""

from __future__ import annotations

import csv
import time

import pytest
from playwright.sync_api import Browser, Page, expect

from core.campaigns.design import design_from_json
from core.data import Dataset, Output, Segment
from core.ports.store import Store
from tests import hostile
from tests.browser.campaigns import work
from tests.browser.conftest import PATIENCE, Server, at_rest, log_in, settled
from tests.browser.german import assert_german, german_link
from tests.browser.journeys import loop
from tests.browser.span_editor import Host, edits, mark, opened, place, saved, spans
from tests.browser.test_accessibility import DRAWN_IN_SECTIONS, STILL, VIEWS, found, sections

SMALLEST = 36
"""Height in CSS pixels of what a finger taps; WCAG 2.2 AA asks for 24."""


def test_upload_score_compare_annotate_calibrate_export(shared: Server, page: Page) -> None:
    loop.upload_outputs(page, shared)
    loop.score(page, shared)
    loop.compare(page, shared)
    loop.annotate(page, shared)
    loop.calibrate(page, shared)
    loop.export(page, shared)


def test_labels_are_there_after_a_reload_and_in_the_export(link: Host, page: Page) -> None:
    opened(link, page, "exported")
    mark(page, "weather")
    for card in page.locator(".esa-output", has_not_text="weather").all():
        card.get_by_role("button", name="No error").click()
    saved(page)
    page.reload()
    expect(page.locator(".esa-p.marked")).to_have_text("weather")
    page.get_by_test_id("submit").click()
    saved(page)
    rows = [r for r in loop.exported(page, link.server, link.project) if r["rater"] == link.rater("exported")]
    assert [(r["system"], r["quote"], r["severity"]) for r in rows if r["quote"]] == [("Aardvark", "weather", "Major")]
    assert sorted(r["system"] for r in rows if r["verdict"] == "no_error") == ["Buzzard", "Cormorant"]


def test_labels_survive_a_server_that_is_killed(link: Host, annotate: Host, page: Page) -> None:
    """Saved labels are in the database; those made without a server wait in the browser, also over a reload."""
    tabs = {
        (annotate, "stays"): opened(annotate, page, "stays"),
        (link, "stays"): opened(link, page.context.new_page(), "stays"),
        (link, "reloads"): opened(link, page.context.new_page(), "reloads"),
    }
    annotate.known(page)
    for tab in tabs.values():
        mark(tab, "weather")
        other = tab.locator(".esa-output", has_not_text="weather").first
        other.get_by_role("button", name="Non-translation").click()
        saved(tab)
    link.server.kill()
    try:
        for host, name in tabs:
            assert [a.kind for a in edits(host, name)] == ["add", "verdict"]
        for tab in tabs.values():
            mark(tab, "home", "2")
            expect(tab.get_by_test_id("saved-state")).to_contain_text("not saved yet")
    finally:
        link.server.start()
    reloaded = tabs[link, "reloads"]
    reloaded.reload()
    expect(reloaded.locator(".esa-p.marked")).to_have_text(["weather", "home"])
    for (host, name), tab in tabs.items():
        saved(tab)
        assert [s[3] for s in spans(edits(host, name, "add"))] == ["weather", "home"]


def tap(phone: Page, word: str) -> None:
    _, _, x, y = place(phone, word)
    phone.touchscreen.tap(x, y)
    expect(phone.locator(".esa-p.chosen").last).to_contain_text(word)


def swipe(phone: Page, word: str) -> None:
    """Move a finger up from a word. It rests before it is lifted: else the page scrolls on, and the next tap only stops it."""
    _, _, x, y = place(phone, word)
    finger, began = phone.context.new_cdp_session(phone), time.time() - 2

    def touch(kind: str, seconds: float, *points: dict[str, float]) -> None:
        event = {"type": kind, "touchPoints": points, "timestamp": began + seconds}
        finger.send("Input.dispatchTouchEvent", event)

    touch("touchStart", 0, {"x": x, "y": y})
    for step in range(10):
        touch("touchMove", step / 50, {"x": x, "y": y - 15 * step})
    touch("touchMove", 1, {"x": x, "y": y - 136})
    touch("touchEnd", 1.5)


def test_a_segment_is_labelled_by_touch_alone(link: Host, phone: Page) -> None:
    link.open(phone, "touch")
    phone.locator("#instructions summary").tap()
    phone.locator(".esa-text", has_text="weather").evaluate("e => e.scrollIntoView({ block: 'center' })")
    swipe(phone, "weather")
    expect(phone.locator(".esa-p.chosen")).to_have_count(0)
    phone.locator(".esa-text", has_text="weather").evaluate("e => e.scrollIntoView({ block: 'center' })")
    tap(phone, "weather")
    tap(phone, "kept")
    tool = phone.locator(".esa-tool")
    tool.get_by_role("button", name="Major").tap()
    picker = phone.locator(".esa-picker")
    expect(picker).to_be_visible()
    other = phone.locator("[data-verdict=no_error]").last
    other.scroll_into_view_if_needed()
    other.tap()
    expect(picker).to_be_hidden()
    assert other.get_attribute("aria-pressed") == "false"  # a tap beside the list closes it and does nothing else
    tool.get_by_role("button", name="Major").tap()
    expect(picker).to_be_visible()
    small = phone.locator(".esa button:visible, .task-head button:visible").evaluate_all(
        "(all, least) => all.filter((b) => b.getBoundingClientRect().height < least).map((b) => b.textContent)",
        SMALLEST,
    )
    assert small == []
    picker.get_by_role("option", name="Grammar").tap()
    saved(phone)
    ((side, _, _, quote, severity, category),) = spans(edits(link, "touch", "add"))
    assert (side, severity, category) == ("output", "Major", "Fluency/Grammar")
    assert quote.startswith("weather")
    assert quote.endswith("kept")
    tool.get_by_role("button", name="Delete").tap()  # at the span, because the list of spans is out of sight
    for button in phone.locator("[data-verdict=no_error]").all():
        button.tap()
    phone.get_by_test_id("submit").tap()
    expect(phone.locator(".esa-said")).to_have_text("Submitted · Undo")
    assert phone.evaluate("document.documentElement.scrollWidth") == 390


def test_no_error_in_a_stale_tab_erases_nothing(link: Host, page: Page) -> None:
    opened(link, page, "stale")
    second = opened(link, page.context.new_page())
    mark(page, "weather")
    saved(page)
    card = second.locator(".esa-output", has_text="weather")
    card.get_by_role("button", name="No error").click()
    versions = second.get_by_role("dialog", name="Two versions").locator(".esa-versions")
    expect(versions).to_contain_text(
        "Saved\nMajor · Fluency/Spelling · “weather”\nYours\nNo error", use_inner_text=True
    )
    assert [a.kind for a in edits(link, "stale")] == ["add"]
    second.get_by_role("button", name="Keep the saved version").click()
    expect(second.locator(".esa-p.marked")).to_have_text("weather")
    card.get_by_role("button", name="No error").click()  # now that the mark was seen
    saved(second)
    assert [a.kind for a in edits(link, "stale")] == ["add", "verdict"]
    mark(page, "home", "2", "gram")  # and the first tab has become the stale one
    page.get_by_role("button", name="Use my version").click()
    saved(page)
    expect(page.locator(".esa-p.marked")).to_have_text(["weather", "home"])
    assert [a.kind for a in edits(link, "stale")] == ["add", "verdict", "add", "add"]


def following(page: Page, heading: str) -> None:
    """Go to the next step of the set-up of a campaign."""
    at_rest(page)
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_role("heading", name=heading)).to_be_visible()
    at_rest(page)


def assert_preview_saves_nothing(page: Page, store: Store, project: int) -> None:
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if "/api/actions" in request.url else None)
    preview = page.locator(".esa-output")
    expect(preview).to_contain_text("<b>the new budget</b>")
    preview.get_by_role("slider").focus()
    page.keyboard.type("80")
    page.keyboard.press("Tab")  # settles the score at once
    expect(preview.locator(".esa-value")).to_have_text("80")
    saved(page)
    assert sent == []
    assert store.labels.raters(project) == []
    assert page.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('errorscope.outbox/'))") == []


def test_a_campaign_from_the_set_up_to_the_pay_table(shared: Server, page: Page) -> None:
    store = shared.store()
    project = store.projects.create("to evaluate").id
    places = [(f"d{d}", str(i)) for d in range(2) for i in range(2)]
    text = "😀 The committee approved <b>the new budget</b> for schools in March"
    segments = tuple(Segment(doc, i, f"Quelle {doc} {i}") for doc, i in places)
    outputs = tuple(Output(s, doc, i, f"{text}, {s} {doc} {i}.") for doc, i in places for s in "AB")
    store.projects.add(project, Dataset(segments, outputs))
    page.goto(f"{shared.url}/campaigns?project={project}")
    page.get_by_role("button", name="New campaign").click()
    expect(page.get_by_text("4 segments × 2 systems = 8 outputs")).to_be_visible()
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
    following(page, "Who annotates?")
    assert_preview_saves_nothing(page, store, project)
    names = page.get_by_role("textbox", name="Annotators, one name per line")
    names.fill("Ana\nBoris")
    names.press("Control+Enter")
    page.get_by_role("button", name="Create 2 links and start").click()
    expect(page.get_by_text("shown only once")).to_be_visible()
    (campaign,) = store.campaigns.list(project)
    assert campaign.state == "running"
    assert design_from_json(campaign.design).protocol.name == "da"
    assert f"campaign={campaign.id}" in page.url
    links = page.get_by_test_id("stCode")
    expect(links).to_have_count(2)
    addresses = [address.strip() for address in links.all_inner_texts()]
    codes = {}
    for name, address in zip(("Ana", "Boris"), addresses, strict=True):
        tab = page.context.new_page()
        tab.goto(address)
        codes[name] = work(tab)
    page.goto(f"{shared.url}/campaigns?project={project}&campaign={campaign.id}")
    expect(page.get_by_role("button", name="All campaigns")).to_be_visible()
    expect(page.get_by_text("shown only once")).to_have_count(0)
    at_rest(page)
    page.get_by_test_id("stButtonGroup").get_by_text("People", exact=True).click()
    at_rest(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Pay table (CSV)").click()
    rows = list(csv.DictReader(download.value.path().read_text(encoding="utf-8-sig").splitlines()))
    assert {row["name"]: row["completion_code"] for row in rows} == codes
    assert sum(int(row["units"]) for row in rows) >= 2 * len(outputs)


def test_login_opens_the_page_that_was_asked_for(team: Server, page: Page) -> None:
    page.goto(f"{team.url}/compare")
    expect(page).to_have_url(f"{team.url}/login?next=%2Fcompare")
    log_in(page, "vera", "wrong password")
    expect(page.get_by_role("alert")).to_have_text("Name or password is wrong.")
    log_in(page, "vera")
    expect(page.get_by_role("heading", name="Compare")).to_be_visible()
    expect(page.get_by_text("Something went wrong")).to_have_count(0)
    expect(page.get_by_test_id("stSidebarNav").get_by_text("Annotate")).to_have_count(0)
    assert "hidden from vera" not in page.content()
    page.get_by_role("link", name="Log out").click()
    page.get_by_role("button", name="Log out").click()
    expect(page).to_have_url(f"{team.url}/login")
    page.goto(f"{team.url}/compare")
    expect(page).to_have_url(f"{team.url}/login?next=%2Fcompare")


def test_everything_on_the_german_page_is_german(shared: Server, browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 1300, "height": 900}, locale="de-DE")
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(german_link(shared))
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


MOST_USED = ("projects", "compare", "annotate")
"""The pages that `make test` looks at; `make test-all` looks at all."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in MOST_USED else pytest.mark.extended) for name in VIEWS]
)
def test_a_page_has_no_barrier_and_requests_no_other_host(
    shared: Server, page: Page, hostile_project: int, seen: list[str], name: str
) -> None:
    """All names on the page are hostile."""
    page.goto(f"{shared.url}/{name}?project={hostile_project}")
    if name == "annotate":
        # No output lies behind the footer, close to its buttons.
        page.set_viewport_size({"width": 1400, "height": 3000})
        page.get_by_label("Name", exact=True).fill(hostile.RATERS[0])
        page.get_by_role("button", name="Start").click()
    expect(page.locator(VIEWS[name][0]).first).to_be_visible()
    settled(page)
    page.evaluate(STILL)
    for theme, ground in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(23, 22, 20)")):
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        expect(page.get_by_test_id("stApp")).to_have_css("background-color", ground)
        assert found(page, theme == "dark") == []
        for tab in VIEWS[name][1]:
            page.get_by_role("tab", name=tab).click()
            assert found(page, theme == "dark") == [], tab
    for section in sections(page) if name in DRAWN_IN_SECTIONS else ():
        section.click()
        settled(page)
    settled(page)
    elsewhere = "(all) => all.filter((e) => new URL(e.href || e.src, location).host !== location.host).length"
    assert not page.locator("a[href], img[src]:not([src^=data])").evaluate_all(elsewhere)
    assert not page.get_by_text("Something went wrong").count()
    assert not seen
