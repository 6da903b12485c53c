"""The tabs of a finished campaign in a real browser: what a manager reads and does there, compared with the store."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from statistics import fmean

import pytest
from playwright.sync_api import Locator, Page, expect

from core.ports.campaigns import Campaign
from core.ports.labels import SegmentLabels
from core.ports.store import Store
from core.services.campaigns import answers, comparison, decisions, people
from core.services.campaigns.answers import read_labels
from tests.browser.conftest import Server, at_rest
from tests.core.services.campaigns import filled

NAMES, SYSTEMS = tuple(filled.SEVERITY), tuple(filled.QUALITY)
RATINGS = 2 * 3 * 2 * len(SYSTEMS)  # documents × segments × raters × systems
JUDGE = "Judy"


@pytest.fixture(scope="module")
def campaign(shared: Server) -> Campaign:
    store = shared.store()
    made = filled.started(store, name="tabs", dataset=filled.texts(2, 3), block_size=3, checks=0.1)
    filled.work(store, made)
    store.campaigns.set_state(made.id, "finished")
    return store.campaigns.get(made.id)


@pytest.fixture
def opened(shared: Server, page: Page, campaign: Campaign) -> Callable[[str], Locator]:
    """Open a tab of the campaign and return what it shows."""
    page.goto(f"{shared.url}/campaigns?project={campaign.project_id}&campaign={campaign.id}")

    def tab(name: str) -> Locator:
        at_rest(page)
        page.get_by_test_id("stButtonGroup").get_by_text(name, exact=True).click()
        at_rest(page)
        return page.get_by_test_id("stMain")

    return tab


def counting(store: Store, campaign: Campaign) -> int:
    return sum(a.counts for a in read_labels(store, campaign).answers)


def labelled(labels: SegmentLabels) -> list[object]:
    return [(system, of.score, [m.span for m in of.marks]) for system, of in labels.outputs.items()]


def test_a_manager_goes_through_the_tabs_of_a_finished_campaign(
    shared: Server, page: Page, campaign: Campaign, opened: Callable[[str], Locator]
) -> None:
    store = shared.store()
    everything = f"{RATINGS} of {RATINGS} ratings"
    assert counting(store, campaign) == RATINGS

    shown = opened("Progress")
    expect(shown).to_contain_text(f"{everything} · 100 % of units complete · all ratings are there")
    expect(shown.get_by_role("heading", name="Ratings by system")).to_be_visible()
    expect(shown).to_contain_text("0 units open now")

    shown = opened("People")
    work = people.work_done(store, campaign)
    expect(shown).to_contain_text(f"Pay in all: {sum(row.pay for row in work):,.2f} EUR, at 15.00 EUR per hour")
    with page.expect_download() as download:
        shown.get_by_role("button", name="Pay table (CSV)").click()
    rows = list(csv.DictReader(download.value.path().read_text(encoding="utf-8-sig").splitlines()))
    assert [(r["name"], r["completion_code"], int(r["units"]), float(r["pay"])) for r in rows] == [
        (w.participant.rater, w.participant.code, w.units, w.pay) for w in work
    ]
    assert sum(int(r["units"]) for r in rows) >= RATINGS
    shown.get_by_role("button", name="Exclude").click()
    page.get_by_role("textbox", name="Reason").fill("too fast")
    page.get_by_test_id("stForm").get_by_role("button", name="Exclude").click()
    expect(shown.get_by_role("button", name="Include again")).to_be_visible()
    first = store.campaigns.participants(campaign.id)[0]
    assert (first.rater, first.excluded) == (NAMES[0], "too fast")
    left = counting(store, campaign)
    assert left < RATINGS
    expect(shown).to_contain_text(f"{left} of {RATINGS} ratings")
    at_rest(page)
    shown.get_by_role("button", name="Include again").click()
    expect(shown).to_contain_text(everything)
    assert store.campaigns.participants(campaign.id)[0].excluded == ""
    assert counting(store, campaign) == RATINGS

    shown = opened("Quality")
    expect(shown).to_contain_text(
        re.compile(
            "No doubts about 3 annotators|of 3 annotators needs? a look|Too little to assess|too little to assess"
        )
    )
    for name in NAMES:
        expect(shown.get_by_role("table").first).to_contain_text(name)
    expect(shown.get_by_role("heading", name="Agreement over time")).to_be_visible()

    shown = opened("Disagreements")
    disputed = decisions.to_decide(decisions.queue(store, campaign), decisions.LEAST["esa"])
    expect(shown.get_by_role("heading", name=f"{len(disputed)} units to decide")).to_be_visible()
    page.get_by_role("textbox", name="Name", exact=True).fill(JUDGE)
    page.get_by_role("button", name="Start deciding", exact=True).click()
    version = shown.get_by_role("button", name="Start from version 1")
    expect(version).to_be_visible()
    at_rest(page)
    for hidden in (*NAMES, *SYSTEMS):
        expect(shown).not_to_contain_text(hidden)
    version.click()
    score = next(iter(disputed[0].versions[0].outputs.values())).score
    expect(shown.get_by_role("slider")).to_have_attribute("aria-valuenow", f"{score:g}")
    at_rest(page)
    page.get_by_test_id("submit").click()
    expect(shown.get_by_role("heading", name=f"{len(disputed) - 1} units to decide")).to_be_visible()
    ((unit, made),) = read_labels(store, campaign).decisions.items()
    assert (unit, made.rater) == (disputed[0].unit.name, JUDGE)
    assert labelled(made.labels) == labelled(disputed[0].versions[0])

    shown = opened("Results")
    found = comparison.compare(store, campaign)
    best, *others = found.means
    assert best.system == "Alder"
    by_output: dict[object, list[float]] = {}
    for judgement in answers.judgements_of(store, campaign):
        if judgement.key.system == best.system:
            by_output.setdefault(judgement.key, []).append(judgement.value)
    assert best.mean.value == pytest.approx(fmean(map(fmean, by_output.values())))
    expect(shown).to_contain_text(f"{best.system} has the highest mean: {best.mean.value:.1f} [")
    expect(shown).to_contain_text(f"{RATINGS - 1} ratings of 6 segments in 2 documents by 4 raters")
    expect(shown).to_contain_text("1 unit decided after disagreement")
    table = shown.get_by_role("table").first
    for other in others:
        expect(table).to_contain_text(f"{best.system} − {other.system}")
