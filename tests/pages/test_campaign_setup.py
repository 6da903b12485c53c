"""The set-up of campaigns: from an empty list to personal links, and choices that are kept."""

from functools import partial

import pytest

from core.campaigns.design import CampaignDesign, design_from_json
from core.campaigns.protocol import PROTOCOLS
from core.data import Dataset, Output, OutputKey, RatedOutput, Segment, Span
from core.mqm.actions import label_actions
from core.ports.campaigns import Campaign
from core.ports.store import Store
from core.services.campaigns import people, setup
from core.services.labels import protocols
from core.services.people import accounts
from core.services.people.links import resolve
from pages._ui.campaigns.setup.choices import edited
from tests.pages.opened_page import field, new_project, press, put, run
from tests.pages.said import words
from tests.pages.team import PASSWORD, log_in

SYSTEMS = ("A", "B", "C")
DOCUMENTS, PER_DOCUMENT = 4, 5
SENTENCES = (
    "The committee approved the new budget for schools and hospitals in March.",
    "Nobody expected the river to rise by three metres within a single night.",
    "Her second novel was translated into eleven languages and sold very well.",
    "The museum opens at nine and closes at six on every day but Monday.",
    "Farmers in the valley have planted twelve thousand young apple trees.",
)


def filled(store: Store) -> int:
    project = new_project(store)
    places = [(f"d{d}", str(i)) for d in range(DOCUMENTS) for i in range(PER_DOCUMENT)]
    segments = tuple(Segment(doc, i, f"Quelle {doc} {i}") for doc, i in places)
    outputs = tuple(Output(s, doc, i, f"{SENTENCES[int(i)]} ({s} {doc})") for doc, i in places for s in SYSTEMS)
    store.projects.add(project, Dataset(segments, outputs))
    return project


opened = partial(run, "campaigns")


def only(store: Store, project: int) -> Campaign:
    (campaign,) = store.campaigns.list(project)
    return campaign


def test_the_list_leads_to_a_set_up_that_survives_other_pages(store: Store) -> None:
    project = filled(store)
    at = opened(project)
    assert "A campaign is a human evaluation with several people" in words(at)
    assert [b.label for b in at.button if b.label == "New campaign"]
    assert "This campaign does not exist" in words(opened(project, campaign="99"))
    setup.create(store, "me", project, "pilot", CampaignDesign(PROTOCOLS["esa"]))
    at = opened(project)
    assert not [b for b in at.button if b.label == "Continue setting up"], "a command has set this draft up"
    at = opened(project, campaign=str(only(store, project).id), step="data")
    assert [b.label for b in at.button if b.label == "Start"]

    project = filled(store)
    protocols.use_bundled_typology(store, project, "data_to_text")
    at = opened(project, campaign="new", step="protocol")
    press(at, "MQM by experts")
    assert field(at, "Protocol").value == "mqm"
    assert "MQM (Data-to-text)" in words(at)
    typology = field(at, "Error typology")
    assert typology.options == ["Data-to-text (of this project)", "Translation (MQM)", "Summaries"]
    press(at, "Next")
    assert field(at, "How units are given out").value == "fixed"
    put(at, "Annotators", 9)
    at.switch_page("pages/help.py").run()
    del at.query_params["campaign"], at.query_params["step"]  # as Streamlit does in the browser
    at.switch_page("pages/campaigns.py").run()
    press(at, "Continue the new campaign")
    assert field(at, "Annotators").value == 9
    press(at, "Discard")
    assert [b.label for b in at.button if b.label == "New campaign"]


def test_choices_of_every_step_make_a_running_campaign(store: Store) -> None:
    project = filled(store)
    at = press(opened(project), "New campaign")
    assert "20 segments × 3 systems = 60 outputs" in words(at)
    assert "4 documents" in words(at)
    for _ in range(4):
        press(at, "Next")
    press(at, "Create 3 links and start")
    campaign = only(store, project)
    assert campaign.state == "running"
    assert [p.rater for p in store.campaigns.participants(campaign.id)] == ["Annotator 1", "Annotator 2", "Annotator 3"]
    assert "shown only once" in words(at)
    assert len(at.code) == 3
    assert all(code.value.startswith("t/") for code in at.code)  # a test has no address
    assert at.query_params["campaign"] == str(campaign.id)
    press(at, "Hide links")
    assert "shown only once" not in words(at)

    project = filled(store)
    at = press(opened(project), "New campaign")
    put(at, "Segments", "sample")
    put(at, "Segments in the sample", 7)
    assert "7 segments × 3 systems = 21 outputs" in words(at)
    press(at, "Next")
    put(at, "Protocol", "da")
    put(at, "Instructions in Markdown", "Only **read** and score.")
    press(at, "Next")
    put(at, "Annotators", 5)
    put(at, "Pay per hour", 18.0)
    put(at, "Annotators per output", 6)
    assert "6 distinct raters per unit need at least 6 people" in words(at)
    put(at, "Annotators per output", 2)
    press(at, "Next")
    put(at, "Attention checks", 0.2)
    assert "per person: *Quality* needs at least 3" in words(at)
    press(at, "Back")
    assert field(at, "Annotators").value == 5
    press(press(at, "Next"), "Next")
    put(at, "Name of the campaign", "my *first*")
    put(at, "Annotators, one name per line", "Ana")
    assert "1 person so far; 2 or more are needed" in words(at)
    put(at, "Annotators, one name per line", "Ana\nana")
    assert "2 people; the plan (step 3) counts on 5" in words(at)
    press(at, "Create 2 links and start")
    assert "This name is there twice" in words(at)
    assert store.campaigns.list(project) == []
    put(at, "Annotators, one name per line", "Ana\nBoris\n\nChen")
    press(at, "Create 3 links and start")
    campaign = only(store, project)
    design = design_from_json(campaign.design)
    assert campaign.name == "my *first*"
    assert design.protocol.name == "da"
    assert design.protocol.instructions == "Only **read** and score."
    assert (len(design.segments), design.people, design.pay_per_hour, design.checks) == (7, 5, 18.0, 0.2)
    assert design.seconds_per_unit == 25
    assert any(u.kind == "check" for u in store.campaigns.units(campaign.id))


def test_accounts_are_chosen_and_links_are_for_others(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    project = filled(store)
    made = {n: accounts.add(store, "me", n, PASSWORD, manager=n == "ann") for n in ("ann", "eva", "zoe")}
    accounts.set_role(store, "me", project, made["zoe"], "viewer")
    accounts.set_active(store, "me", accounts.add(store, "me", "gone", PASSWORD, manager=False), False)
    log_in(store, monkeypatch, "ann")
    at = opened(project, campaign="new", step="start")
    picker = field(at, "Annotators with an account")
    assert picker.options == ["zoe (viewer)", "ann", "eva"]
    names, before = "Annotators without an account, one name per line", picker.key
    assert field(at, names).value == "Annotator 1\nAnnotator 2\nAnnotator 3"
    put(at, "Annotators with an account", [made["eva"].id])
    picker = field(at, "Annotators with an account")
    assert picker.key == before, "what is chosen before the page is drawn again is lost"
    accounts.set_role(store, "me", project, made["eva"], "annotator")  # the name of a chosen option changes
    picker = field(at.run(), "Annotators with an account")
    assert (picker.options[:2], list(picker.value)) == (["eva (annotator)", "zoe (viewer)"], [made["eva"].id])
    put(at, "Annotators with an account", [made["eva"].id, made["zoe"].id])
    assert "zoe sees the names of systems" in words(at)
    assert field(at, names).value == "Annotator 1"
    put(at, names, "eva")
    press(at, "Create 1 link and start")
    assert "Choose the account in the list" in words(at)
    put(at, names, "")
    put(at, "Name of the campaign", "system B or C?")
    title = field(at, "Name that annotators see")
    assert (title.value, title.placeholder) == ("", "system B or C?")
    press(at, "Create and start")
    campaign = only(store, project)
    assert (campaign.state, [p.rater for p in store.campaigns.participants(campaign.id)]) == ("running", ["eva", "zoe"])
    assert store.people.campaigns(made["eva"].id) == [campaign.texts]
    assert store.people.links(campaign.texts) == []
    assert "These accounts find it when they log in: eva, zoe" in words(at)
    store.campaigns.set_state(campaign.id, "finished")
    assert "was started" not in words(at.run())
    assert design_from_json(campaign.design).shown_title == "system B or C?"


def test_submitted_labels_become_the_tutorial(store: Store) -> None:
    project = filled(store)
    key = OutputKey("A", "d1", "2")
    mark = Span("output", 0, 3, SENTENCES[2][:3], "Major", "Accuracy/Addition")
    rated = [RatedOutput(key._replace(system=s), "me", (mark,) if s == "A" else ()) for s in SYSTEMS]
    for (rater, segment), actions in label_actions(rated).actions.items():
        store.labels.append(project, rater, segment, actions)
    at = opened(project, campaign="new", step="checks")
    put(at, "Outputs", [key])
    put(at, "Explanation", "Her, not his.")
    press(at, "Next")
    press(at, "Save as draft")
    (item,) = design_from_json(only(store, project).design).tutorial
    assert (item.key, item.score, item.feedback) == (key, (65.0, 95.0), "Her, not his.")
    assert [(e.start, e.end, e.severity) for e in item.errors] == [(0, 3, "Major")]
    at = opened(project, campaign=str(only(store, project).id), step="checks")  # continued in another session
    assert list(field(at, "Outputs").value) == [key]
    put(at, "Right scores", (70.0, 90.0))
    press(press(at, "Next"), "Save draft")
    assert design_from_json(only(store, project).design).tutorial == (item._replace(score=(70.0, 90.0)),)


def test_a_draft_invites_nobody_and_keeps_links_that_exist(store: Store) -> None:
    project = filled(store)
    at = opened(project, campaign="new", step="start")
    press(at, "Save as draft")
    campaign = only(store, project)
    assert campaign.state == "draft"
    assert store.campaigns.participants(campaign.id) == []
    press(at, "All campaigns")
    assert "Draft" in words(at)
    links = people.invite(store, "me", campaign, ["Ana", "Bo"])
    at = opened(project, campaign=str(campaign.id), step="start")
    assert "Invited already: Ana, Bo" in words(at)
    assert field(at, "Annotators, one name per line").value == ""
    put(at, "Annotators, one name per line", "Chen")
    press(at, "Create 1 link and start")
    assert [p.rater for p in store.campaigns.participants(campaign.id)] == ["Ana", "Bo", "Chen"]
    texts = only(store, project).texts
    assert resolve(store.people, links[0].token).link.project_id == texts  # type: ignore[union-attr]


def test_a_draft_is_continued_in_another_session_and_started(store: Store) -> None:
    project = filled(store)
    at = press(opened(project), "New campaign")
    put(at, "Segments", "sample")
    put(at, "Segments in the sample", 7)
    press(at, "Next")
    put(at, "Protocol", "da")
    put(at, "Instructions in Markdown", "Only **read**.")
    press(press(press(at, "Next"), "Next"), "Next")
    put(at, "Name of the campaign", "spring")
    put(at, "Annotators, one name per line", "Ana\nBo")
    put(at, "Links work for", 7)
    press(at, "Save as draft")
    draft = only(store, project)

    at = press(opened(project), "Continue setting up")  # in another session
    assert at.query_params["campaign"] == str(draft.id)
    assert field(at, "Segments in the sample").value == 7
    put(at, "Segments in the sample", 5)
    press(at, "Next")
    assert field(at, "Protocol").value == "da"
    assert field(at, "Instructions in Markdown").value == "Only **read**."
    put(press(at, "Next"), "Annotators", 4)
    press(press(at, "Next"), "Next")
    values = [
        field(at, label).value for label in ("Name of the campaign", "Annotators, one name per line", "Links work for")
    ]
    assert values == ["spring", "Ana\nBo", 7]
    press(at, "Save draft")
    changed = only(store, project)
    design = design_from_json(changed.design)
    assert (changed.id, changed.state, len(design.segments), design.people) == (draft.id, "draft", 5, 4)
    assert sum(u.kind == "item" for u in store.campaigns.units(draft.id)) == 5 * len(SYSTEMS)

    press(at, "Continue setting up")
    for _ in range(4):
        press(at, "Next")
    press(at, "Create 2 links and start")
    started = only(store, project)
    assert (started.id, started.name, started.state) == (draft.id, "spring", "running")
    assert [p.rater for p in store.campaigns.participants(started.id)] == ["Ana", "Bo"]
    assert len(at.code) == 2
    assert not [b for b in press(at, "All campaigns").button if b.label == "Continue setting up"]
    at = opened(project, campaign=str(started.id), step="protocol")
    assert [b.label for b in at.button if b.label == "Pause"]  # the campaign, not its set-up


@pytest.mark.extended
def test_unsaved_changes_of_a_draft_yield_to_another_window(store: Store) -> None:
    project = filled(store)
    press(opened(project, campaign="new", step="start"), "Save as draft")
    at = press(opened(project), "Continue setting up")
    put(press(press(at, "Next"), "Next"), "Annotators", 9)
    press(press(at, "All campaigns"), "Continue setting up")
    assert "9 annotators" in words(at)
    other = press(opened(project), "Continue setting up")
    put(press(press(other, "Next"), "Next"), "Annotators", 6)
    press(press(press(other, "Next"), "Next"), "Save draft")
    assert "6 annotators" in words(at.run())
    assert [t.value for t in at.toast] == ["The draft was saved in another window. You see it as it is saved now."]
    put(press(press(at, "Next"), "Next"), "Annotators", 8)
    press(at, "Discard changes")
    assert "6 annotators" in words(press(at, "Continue setting up"))
    assert not [b for b in press(at, "All campaigns").button if b.label == "Continue the new campaign"]


def test_the_estimate_has_a_difference_for_every_protocol(store: Store) -> None:
    at = opened(filled(store), campaign="new", step="people")
    put(at, "Pay per hour", 20.0)
    # 60 units × 2 raters = 120, and 5 % checks + 5 % repeats: 132 ratings of 60 s = 2.2 h, 44 €
    assert "Ratings: **120**" in words(at)
    assert "Checks, repeats, tutorial: **12**" in words(at)
    assert "Cost: **44 EUR**" in words(at)
    assert "points** of the score from 0 to 100" in words(at)
    expected = {
        "mqm": ("points** of the MQM score per output", "2.9 points between outputs"),
        "pairwise": (
            "of the comparisons won by the better system", "in Bradley–Terry strength", "Found by simulation",
        ),
    }  # fmt: skip
    for protocol, said in expected.items():
        put(press(at, "Back"), "Protocol", protocol)
        press(at, "Next")
        assert [text for text in said if text not in words(at)] == [], protocol
        assert "Not computed" not in words(at), protocol


def test_edits_of_a_table_are_applied_to_its_rows() -> None:
    rows = [{"value": 0, "text": "a"}, {"value": 50, "text": "b"}, {"value": 100, "text": "c"}]
    changes = {"edited_rows": {1: {"text": "B"}}, "deleted_rows": [0], "added_rows": [{"value": 75, "text": "d"}, {}]}
    assert edited(rows, changes) == [
        {"value": 50, "text": "B"}, {"value": 100, "text": "c"}, {"value": 75, "text": "d"},
    ]  # fmt: skip
    assert rows[1]["text"] == "b"
