"""The screens of a campaign: its state, people, quality, disagreements and results."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from pandas import DataFrame
from streamlit.testing.v1 import AppTest

from core.ports.campaigns import Campaign
from core.ports.store import Store
from core.reports.campaign_results import as_latex
from core.services.campaigns.comparison import CampaignBasis, CampaignComparison
from core.services.campaigns.decisions import LEAST, queue, to_decide
from core.services.people import accounts
from core.stats.bootstrap import Interval
from core.stats.campaign.campaign_scores import WeightedMean
from core.stats.campaign.paired_differences import PairedDifference
from core.stats.significance.system_comparison import Comparison
from db.engine import connect
from db.store import store_over
from pages._ui.campaigns import results_tab
from pages._ui.campaigns.campaign_data import screen_key
from tests.core.services.campaigns import filled
from tests.pages.opened_page import opened as open_page
from tests.pages.opened_page import press
from tests.pages.said import words
from tests.pages.team import PASSWORD, log_in
from tests.paths import APP
from tests.templates import empty_database

NAMES = ("Ana", "Ben", "Chi")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Campaign]:
    """A database with a campaign, and the campaign."""
    path = tmp_path_factory.mktemp("campaign") / "errorscope.db"
    engine = connect(empty_database(path))
    store = store_over(engine)
    made = filled.started(store, people=NAMES, dataset=filled.texts(2, 3), block_size=3)
    filled.work(store, made, share=0.75, per_day=3)
    engine.dispose()
    return path, made


@pytest.fixture
def database(template: tuple[Path, Campaign], tmp_path: Path) -> str:
    return f"sqlite:///{shutil.copy(template[0], tmp_path / 'errorscope.db')}"


@pytest.fixture
def campaign(store: Store, template: tuple[Path, Campaign]) -> Campaign:
    return template[1]


def opened(campaign: Campaign, screen: str = "Progress", rater: str = "") -> AppTest:
    state = {screen_key(campaign): screen} | ({"errorscope_annotator": rater} if rater else {})
    return open_page("campaigns", campaign.project_id, state, campaign=str(campaign.id))


def primary(at: AppTest) -> list[str]:
    return [b.label for b in at.button if b.proto.type == "primary"]


def progress_line(at: AppTest) -> str:
    return str(at.get("progress")[0].proto.text)


def test_a_campaign_changes_its_state_and_lists_change_hands(store: Store, campaign: Campaign) -> None:
    at = opened(campaign)
    line = progress_line(at)
    assert line.startswith("27 of 36 ratings")
    assert "of work left" in line
    assert "done by" in line
    at = press(at, "Pause")
    assert store.campaigns.get(campaign.id).state == "paused"
    at = press(at, "Resume")
    assert store.campaigns.get(campaign.id).state == "running"
    next(b for b in at.button if str(b.key).endswith("-Cedar")).click().run()
    assert {s for u in store.campaigns.units(campaign.id) if u.retired for s in u.systems} == {"Cedar"}
    assert not any(b.label == "Finish now" for b in at.button), "ratings are missing"
    at = press(at, "Finish campaign")
    assert store.campaigns.get(campaign.id).state == "finished"
    assert primary(at) == ["See results"]
    ended = opened(campaign, "People")
    assert {"New link", "Create link", "Give no more units", "Create links"}.isdisjoint(b.label for b in ended.button)
    assert "Exclude" in [b.label for b in ended.button]
    at = press(at, "See results")
    assert "Alder has the highest mean" in words(at)
    assert not any(b.label in ("See results", "Resume") for b in at.button)
    press(at, "Reopen")
    filled.work(store, campaign)
    at = opened(campaign)
    assert primary(at) == ["Finish now"]
    press(at, "Pause")
    assert primary(opened(campaign)) == ["Finish now"]
    press(opened(campaign), "Finish now")
    assert store.campaigns.get(campaign.id).state == "finished"
    at = press(press(opened(campaign), "All campaigns"), "See results")
    assert "Alder has the highest mean" in words(at)
    assert at.query_params["tab"] == "Results"
    at = open_page("campaigns", campaign.project_id, campaign=str(campaign.id), tab="Quality")
    assert at.button_group[0].value == "Quality", "a tab has no address"
    at = press(at, "All campaigns")
    assert "tab" not in at.query_params
    at = press(opened(campaign), "Delete campaign")
    assert store.campaigns.list(campaign.project_id) == []
    assert not at.error

    made = filled.started(
        store, people=NAMES, dataset=filled.texts(2, 3), block_size=3, overlap=1, assigning="fixed", name="lists"
    )
    filled.work(store, made, share=0.5)
    at = opened(made, "People")
    assert "nobody will rate" not in words(at)
    at = press(at, "Give no more units")
    assert "nobody will rate: 3 of Ana (gets no more units)" in words(at)
    to = next(s for s in at.selectbox if s.label == "To")
    assert list(to.options) == ["All others", "Ben", "Chi"]
    to.select("Chi").run()
    assert "Chi gets 3" in words(at)
    at = press(at, "Hand over 3 units")
    assert "reason is missing" in words(at)
    next(t for t in at.text_input if t.label == "Reason" and "hand-over" in str(t.key)).input("moved away")
    at = press(at, "Hand over 3 units")
    assert "nobody will rate" not in words(at)
    assert not any(b.label.startswith("Hand over") for b in at.button)
    (entry,) = [e for e in store.audit.entries(made.project_id) if e.act == "list handed over"]
    assert (entry.details["name"], entry.details["to"], entry.details["reason"]) == ("Ana", "Chi", "moved away")


def test_people_are_invited_excluded_and_relieved(store: Store, campaign: Campaign) -> None:
    at = opened(campaign, "People")
    at.text_area[0].input("Eva\nFinn\n")
    at = press(at, "Create links")
    assert {p.rater for p in store.campaigns.participants(campaign.id)} == {*NAMES, "Eva", "Finn"}
    assert [code.value[:2] for code in at.code] == ["t/", "t/"]
    at = press(at, "Hide links")
    assert not at.code
    at = press(at, "Exclude")
    assert "reason is missing" in words(at)
    at.text_input[0].input("too fast")
    at = press(at, "Exclude")
    assert store.campaigns.participants(campaign.id)[0].excluded == "too fast"
    press(at, "Include again")
    assert store.campaigns.participants(campaign.id)[0].excluded == ""
    press(at, "Give no more units")
    assert store.campaigns.participants(campaign.id)[0].left


def test_disagreements_are_decided_without_names_by_others(
    store: Store, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = opened(campaign, "Disagreements", "Ana")
    assert "somebody else decides" in words(at)
    assert not any("Start from" in b.label for b in at.button)
    at = opened(campaign, "Disagreements", "Judy")
    said = words(at)
    assert "to decide" in said
    assert not any(name in said for name in (*NAMES, *filled.QUALITY))
    press(at, "Start from version 1")
    kinds = {e.action.kind for e in store.labels.events(campaign.texts, rater="Judy")}
    assert "score" in kinds
    assert "Judy" not in {p.rater for p in store.campaigns.participants(campaign.id)}

    accounts.add(store, "test", "ann", PASSWORD, manager=True)
    judge = accounts.add(store, "test", "judge", PASSWORD, manager=False)
    accounts.set_role(store, "test", campaign.project_id, judge, "adjudicator")
    log_in(store, monkeypatch, "judge")
    at = AppTest.from_file(APP, default_timeout=60).run()
    disputed = queue(store, campaign)
    units = sum(not d.decided_by for d in to_decide(disputed, LEAST["esa"]))
    assert f"**{units} units to decide** · pilot · news, pilot" in words(at)
    at.button(key=f"campaign-decide-{campaign.id}").click().run()
    assert at.title[0].value == "Campaigns"
    assert any(b.label == "Start from version 1" for b in at.button), "not where the work is"
    assert f"Units with at least 15 % disagreement. {len(disputed) - units} unit" in words(at)
    at.number_input(key=f"campaign-least-{campaign.id}").set_value(1).run()
    assert f"{len(disputed)} units to decide" in words(at)
    at.number_input(key=f"campaign-least-{campaign.id}").set_value(100).run()
    assert "Nothing to decide" in words(at)
    at = opened(campaign)
    assert "3 annotators. Names are hidden from people who decide" in words(at)
    assert list(at.button_group[0].options) == ["Progress", "Disagreements", "Results"]
    assert not any(name in words(at) for name in NAMES)
    assert not any(b.label in ("Pause", "Delete campaign") for b in at.button)
    at = opened(campaign, "Disagreements")
    assert any(b.label == "Start from version 1" for b in at.button)
    at = opened(campaign, "Results")
    files = {b.label for b in at.get("download_button")}
    assert "Results (CSV)" in files
    assert "Download" not in files, "the ratings by name"
    assert "name the annotators, so only managers and viewers get them" in words(at)
    assert not any(name in str(table.value) for table in at.table for name in NAMES)


def test_screens_state_what_they_rest_on_or_what_comes(campaign: Campaign, store: Store) -> None:
    said = words(opened(campaign, "Results"))
    assert "Alder has the highest mean" in said
    assert "27 ratings of 6 segments in 2 documents by 3 raters" in said
    assert "ESA (pilot)" in said
    said = words(opened(campaign, "Quality"))
    assert "3 annotators" in said
    assert "Agreement over time" in said

    made = filled.started(store, people=(), dataset=filled.texts(1, 2), name="empty")
    for screen in ("Progress", "People", "Quality", "Disagreements", "Results"):
        assert opened(made, screen).info, screen


def test_a_difference_has_the_better_system_first_and_the_lower_end_of_its_interval_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    difference = PairedDifference(
        "Birch", "Alder", Comparison(-2.0, 0.01, n=9), 0.01, Interval(-2.0, -3.5, -1.0, 9), 4.0, "", 9
    )
    means = tuple(WeightedMean(s, Interval(v, v, v, 9), 9, 9) for s, v in (("Alder", 8.0), ("Birch", 6.0)))
    found = CampaignComparison("score", "item", None, means, (difference,), (), None, None, None)  # type: ignore[arg-type]
    charts, tables = list[DataFrame](), list[list[dict[str, str]]]()
    monkeypatch.setattr(results_tab.campaigns, "differences", lambda frame, title: charts.append(frame))
    monkeypatch.setattr(results_tab.tables, "text_table", tables.append)
    captions = list[str]()
    monkeypatch.setattr(results_tab, "figure", lambda chart, headline, sentence, what: captions.append(sentence))
    monkeypatch.setattr(results_tab, "_of_ratings", lambda found: "18 ratings.")
    campaign: Any = SimpleNamespace(name="pilot")
    results_tab._differences(campaign, found)
    assert charts[0].loc[0, ["pair", "value", "low", "high"]].tolist() == ["Alder − Birch", 2.0, 1.0, 3.5]
    assert tables[0][0]["difference [95 % CI]"] == "2.00 [1.00, 3.50]"
    assert captions == [
        "Blue: significant (Holm, p ≤ .05). Smallest possible p: .004 (Holm). Detectable: the smallest difference found with 80 % power, on average 4.00. Tested over segments. 18 ratings."
    ]
    unclear = found._replace(differences=(difference._replace(adjusted=0.4),))
    results_tab._differences(campaign, unclear)
    assert captions[1].startswith(
        "No difference is significant (Holm, p ≤ .05). Smallest possible p: .004 (Holm). Detectable"
    )

    found = found._replace(basis=CampaignBasis(18, 9, 1, 2, 2, 0, 0, {}, (1.0, 1.0), 0))
    text = as_latex(found, "Pilot_1")
    assert r"Alder & \textbf{8.00 [8.00, 8.00]} & 9 \\" in text
    assert r"Birch & 6.00 [6.00, 6.00] & 9 \\" in text
    assert (
        r"\caption{Pilot\_1: score, with 95 \% CIs. 18 ratings of 9 segments by 2 raters. Bold: not significantly below"
        in text
    )
    plain = as_latex(unclear._replace(basis=found.basis), "Pilot")
    assert "Bold" not in plain
    assert "textbf" not in plain


@pytest.mark.extended
def test_every_protocol_has_decisions_and_results(store: Store) -> None:
    for protocol in ("mqm", "cesa", "pairwise", "da"):
        made = filled.started(
            store, protocol, people=("Ana", "Ben"), dataset=filled.texts(1, 3), block_size=3, name=protocol,
        )  # fmt: skip
        rng, people = Random(3), store.campaigns.participants(made.id)
        for who in people:
            for given in filled.assigned(store, made, who, made.created):
                filled.label(store, made, who, given, made.created, rng)
        assert opened(made, "Results").subheader, protocol
        opened(made, "Disagreements", "Judy")


def links_to(at: AppTest) -> dict[str, str]:
    return {e.proto.label: e.proto.url for e in at.get("link_button")}


def test_an_account_is_added_and_finds_the_campaign(
    store: Store, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    accounts.add(store, "test", "ann", PASSWORD, manager=True)
    vera = accounts.add(store, "test", "vera", PASSWORD, manager=False)
    accounts.set_role(store, "test", campaign.project_id, vera, "viewer")
    log_in(store, monkeypatch, "ann")
    at = opened(campaign, "People")
    choice = next(s for s in at.selectbox if s.label == "Or a person with an account")
    assert list(choice.options) == ["vera (viewer)", "ann"]
    choice.select("vera (viewer)").run()
    assert "vera sees the names of systems" in words(at)
    at = press(at, "Add account")
    assert [p.rater for p in store.campaigns.participants(campaign.id)] == [*NAMES, "vera"]
    assert list(at.dataframe[-1].value["access"]) == ["none", "none", "none", "account"]
    assert links_to(at) == {}
    log_in(store, monkeypatch, "vera")
    at = opened(campaign, "People")
    assert links_to(at) == {"Continue": f"/tasks/{campaign.texts}"}
    assert "hidden here" in words(at)
    assert not any(name in words(at) for name in NAMES)
    at = at.switch_page("pages/projects.py").run()
    assert links_to(at) == {"Continue": f"/tasks/{campaign.texts}"}
    log_in(store, monkeypatch, "ann")
    at = opened(campaign, "People")
    at.selectbox(key=f"campaign-person-{campaign.id}").select("vera").run()
    at = press(at, "Remove this account")
    assert store.people.campaigns(vera.id) == []
    assert "Add account again" in [b.label for b in at.button]
