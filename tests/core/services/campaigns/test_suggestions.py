"""Campaigns with suggestions: the copy of the layer, who is shown what, what is recorded, and the rows of the effect report."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from core.campaigns.design import CampaignDesign, design_from_json, design_to_json
from core.campaigns.protocol import PROTOCOLS
from core.campaigns.rater_evidence import verdicts
from core.campaigns.suggestions import Suggestions
from core.data import OutputKey, Severity, Span
from core.errors import UserError
from core.ports.labels import Action
from core.services.campaigns import running
from core.services.campaigns.answers import read_labels
from core.services.campaigns.quality import evidence_units, submitted_units
from core.services.campaigns.setup import create, preview_data, preview_suggestions, preview_units
from core.services.campaigns.setup_design import suggestions_of
from core.services.campaigns.suggestions import SETTING, copy_of, suggestion_rows
from core.spans.layers import LayerSpan, SpanLayer
from tests.core.services.campaigns.world import CampaignWorld, campaign_world, dataset
from tests.stores import new_store

HALF = Suggestions("file:x", control_share=0.5, planted_share=0.0, withheld_share=0.0, margin=3.0, seed=1)
TEXTS = {o.key: o.text for o in dataset(1, 3).outputs}


@pytest.fixture(autouse=True)
def _same_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws depend on the names of the units, which are random."""
    rng = Random(5)
    monkeypatch.setattr("secrets.token_hex", lambda n: f"{rng.getrandbits(8 * n):0{2 * n}x}")


def at(word: str, text: str, severity: Severity = "Major", category: str = "Accuracy/Mistranslation") -> LayerSpan:
    start = text.index(word)
    return LayerSpan(Span("output", start, start + len(word), word, severity, category, "why"), 0.9)


def layer(segments: int = 3) -> SpanLayer:
    """“quiet” and “garden” in every output, except those of Cyd, which were not examined."""
    texts = {o.key: o.text for o in dataset(1, segments).outputs}
    spans = {
        key: (at("quiet", text), at("garden", text, "Minor")) for key, text in texts.items() if key.system != "Cyd"
    }
    return SpanLayer("file:x", "x", "file", spans, {"signature": "x|v1"})


def suggested(unit: dict[str, Any]) -> list[dict[str, Any]]:
    return unit["outputs"][0].get("suggestions", [])


def accept(unit: dict[str, Any], row: dict[str, Any], **edited: Any) -> dict[str, Any]:
    span = {"mark": f"m-{row['id']}", "note": "", "suggestion": row["id"]} | {k: v for k, v in row.items() if k != "id"}
    return {"kind": "add", "output": unit["outputs"][0]["id"], "payload": span | edited}


def reject(unit: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "reject", "output": unit["outputs"][0]["id"], "payload": {"suggestion": row["id"]}}


def scored(unit: dict[str, Any], value: float = 80) -> list[dict[str, Any]]:
    return [{"kind": "score", "output": unit["outputs"][0]["id"], "payload": {"value": value}}]


def accept_first(unit: dict[str, Any]) -> list[dict[str, Any]]:
    """Accept the first suggestion with another severity, reject the others."""
    first, *rest = suggested(unit) or [None]
    decided = [] if first is None else [accept(unit, first, severity="Minor"), *(reject(unit, row) for row in rest)]
    return [*decided, *scored(unit)]


def test_controls_receive_nothing_and_the_arm_is_recorded_with_the_first_opening() -> None:
    world = campaign_world(layer=layer(), suggestions=HALF, overlap=1, people=1)
    units = {u.name: u for u in world.store.campaigns.units(world.campaign.id)}
    arms: dict[str, str] = {}
    while not (unit := world.page("Ana", "unlabelled"))["campaign"]["finished"]:
        events = world.store.labels.events(world.campaign.texts, rater="Ana")
        (opened,) = [e.action.payload for e in events if e.segment.doc_id == unit["doc"] and e.action.kind == "open"]
        shown, page = suggested(unit), json.dumps(unit)
        arms[unit["doc"]] = opened.get("arm", "not examined")
        if opened.get("arm") == "suggested":
            assert [s["quote"] for s in shown] == ["quiet", "garden"]
            assert {*shown[0]} == {"id", "side", "start", "end", "quote", "severity", "category"}, (
                "no note, no confidence"
            )
            assert (opened["probability"], {s["category"] for s in shown}) == (0.5, {"Unspecified"})
        else:
            assert shown == []
            assert "suggest" not in page
            assert "arm" not in opened or "suggestions" not in opened
        assert not any(word in page for word in ('"control', '"arm', "judge", "planted", "withheld"))
        assert suggested(world.page("Ana", here=None)) == shown, "the same when it is opened again"
        assert world.send("Ana", unit, [*accept_first(unit), {"kind": "submit", "payload": {}}]) == []
    systems = {name: units[name].systems[0] for name in arms}
    assert {arm for name, arm in arms.items() if systems[name] == "Cyd"} == {"not examined"}
    examined = [arm for name, arm in arms.items() if systems[name] != "Cyd"]
    assert {"suggested", "control"} == {*examined}
    assert len(examined) == 6


def test_undecided_suggestions_and_strange_ones_are_refused() -> None:
    world = campaign_world(layer=layer(), suggestions=HALF, overlap=1, people=1)
    unit = next(
        u
        for u in iter(lambda: world.page("Ana", "unlabelled"), None)
        if suggested(u) or world.send("Ana", u, [*scored(u), {"kind": "submit", "payload": {}}])
    )
    submit = {"kind": "submit", "payload": {}}
    first, second = suggested(unit)
    (refused,) = world.send("Ana", unit, [*scored(unit), submit])
    assert refused.startswith("2 of 2 suggestions are not decided")
    assert world.send(
        "Ana",
        unit,
        [accept(unit, first), accept(unit, first, mark="again", start=0, end=3, quote=unit["outputs"][0]["text"][:3])],
    )
    assert "does not exist" in world.send("Ana", unit, [reject(unit, {"id": "s-of-somebody-else"})])[0]
    assert world.send("Ana", unit, [reject(unit, second), submit]) == []
    (answer,) = [a for a in read_labels(world.store, world.campaign).answers if a.unit.name == unit["doc"]]
    (mark,) = next(iter(answer.labels.outputs.values())).marks
    assert (mark.span.quote, mark.suggestion) == ("quiet", first["id"])


def test_later_changes_of_the_layer_change_nothing() -> None:
    """The layer is what Eve submitted of one output; she deletes it after the campaign is created."""
    store = new_store()
    project = store.projects.create("cats").id
    store.projects.add(project, dataset(1, 1, ["Ada"]))
    ((key, text),) = {o.key: o.text for o in dataset(1, 1, ["Ada"]).outputs}.items()
    error = at("quiet", text).error
    fields = {"side": "output", "start": error.start, "end": error.end, "quote": "quiet", "severity": "Major"}
    added = Action("1", "add", key.system, fields | {"mark": "m", "category": "Accuracy/Mistranslation", "note": ""})
    submitted = Action("2", "submit", None, {"systems": [key.system]})
    store.labels.append(project, "Eve", key.segment, [added, submitted])
    design = Suggestions("annotator:Eve", 0.2, 0.0, 0.0)
    campaign = create(store, "ann", project, "pilot", CampaignDesign(overlap=6, people=6, suggestions=design))
    store.campaigns.set_state(campaign.id, "running")
    store.labels.append(project, "Eve", key.segment, [Action("3", "delete", key.system, {"mark": "m"})])
    stored = store.settings.get(campaign.texts, SETTING)
    assert stored
    assert (stored["label"], stored["outputs"], stored["spans"]) == ("Eve", 1, 1)
    assert (stored["provenance"], stored["changed"]) == ({"rater": "Eve"}, {"category is replaced": 1})
    world = CampaignWorld(store, project, store.campaigns.get(campaign.id))
    shown = [suggested(world.page(name)) for name in ("Ana", "Ben", "Cem", "Dan", "Fay", "Gil")]
    assert [row["quote"] for rows in shown for row in rows] == ["quiet"] * sum(map(bool, shown)) != []


def test_spans_that_a_campaign_cannot_show_are_left_out_and_counted() -> None:
    """One span of each kind in one output; the protocol offers Major and Minor only."""
    key, text = next(iter(TEXTS.items()))
    good, neutral = at("quiet", text, category="accuracy/mistranslation"), at("cats", text, "Neutral")
    moved = LayerSpan(Span("output", 0, 3, "xyz", "Major", "Other"))
    omission = LayerSpan(Span("source", 0, 3, "The", "Major", "Missing"))
    offered = PROTOCOLS["mqm"].edited(severities=("Major", "Minor"))
    made = SpanLayer(
        "f", "f", "file", {key: (good, good, neutral, moved, omission, at("garden", text, category="New"))}
    )
    copied = copy_of(made, offered, {key: (text, "The source"), OutputKey("Z", "d", "1"): ("x", None)})
    kept = [(s.error.quote, s.error.category, s.error.note) for s in copied.spans[key]]
    assert kept == [("quiet", "Accuracy/Mistranslation", ""), ("The", "Accuracy/Omission", ""), ("garden", "Other", "")]
    assert copied.changed == {
        "span is repeated": 1, "severity Neutral is not offered": 1, "span does not fit the text": 1,
        "category is replaced": 3, "output was not examined by the layer": 1,
    }  # fmt: skip


def test_rows_of_the_effect_report_say_what_became_of_suggestions() -> None:
    design = Suggestions("file:x", control_share=0.5, planted_share=0.5, withheld_share=0.5, seed=2)
    world = campaign_world(layer=layer(), suggestions=design, overlap=2, people=2)
    for rater in ("Ana", "Ben"):
        world.work(rater, accept_first)
    rows = suggestion_rows(world.store, world.campaign, read_labels(world.store, world.campaign))
    assert len(rows) == 12, "two raters of 3 segments of 2 systems; Cyd was not examined"
    assert {row.arm for row in rows} == {"suggested", "control"}
    assert {row.system for row in rows} == {"Ada", "Bob"}
    for row in rows:
        assert (row.score, row.probability, row.shown + row.withheld <= 2) == (80, 0.5, True)
        if row.arm == "control":
            assert (row.shown, row.spans, row.wrong_marked, row.agreement) == (0, 0, 0, 0.0)
        else:
            assert row.shown + row.withheld == 2
            assert row.accepted + row.edited + row.rejected == row.shown
            assert row.edited + row.accepted + row.wrong_marked == row.spans == min(1, row.shown + row.wrong)
    assert sum(row.wrong for row in rows if row.arm == "control"), "what is planted is drawn for controls too"
    places = [row.position for row in rows if row.rater == "Ana"]
    assert len(set(places)) == 6
    assert max(places) < 9


def test_accepted_wrong_suggestions_are_evidence_on_the_annotator() -> None:
    design = Suggestions("file:x", control_share=0.2, planted_share=0.5, withheld_share=0.0, seed=2)
    world = campaign_world(layer=layer(8), suggestions=design, overlap=2, people=2, segments=8)
    everything = lambda unit: [*(accept(unit, row) for row in suggested(unit)), *scored(unit)]  # noqa: E731
    nothing = lambda unit: [*(reject(unit, row) for row in suggested(unit)), *scored(unit)]  # noqa: E731
    world.work("Ana", everything)
    world.work("Ben", nothing)
    labels = read_labels(world.store, world.campaign)
    units = submitted_units(world.store, world.campaign, labels.answers)
    accepted = {rater: [w.accepted for u in units if u.rater == rater for w in u.wrong] for rater in ("Ana", "Ben")}
    planted = {r.rater: 0 for r in suggestion_rows(world.store, world.campaign, labels)}
    for row in suggestion_rows(world.store, world.campaign, labels):
        planted[row.rater] += row.wrong if row.arm == "suggested" else 0
    assert {rater: len(of) for rater, of in accepted.items()} == planted
    assert all(accepted["Ana"])
    assert accepted["Ana"]
    assert not any(accepted["Ben"])
    evidence = {v.rater: e for v in verdicts(units) for e in v.evidence if e.kind == "suggestions"}
    assert (evidence["Ana"].value, evidence["Ben"].value) == (0.0, 1.0)
    assert evidence["Ben"].signal == "none"
    n = len(accepted["Ana"])
    assert evidence["Ana"].text.startswith(f"Rejected 0 of {n} planted wrong suggestions (0 %")
    shown = evidence_units("Ana", "suggestions", units)
    assert [(e.text, len(e.planted[0].quote.split()) > 1) for e in shown] == [("accepted a wrong suggestion", True)] * n


def test_checks_move_their_suggestions_and_suggest_nothing_where_the_error_is() -> None:
    world = campaign_world(layer=layer(), suggestions=HALF, overlap=1, people=1, checks=0.5, segments=3)
    checks = [u for u in world.store.campaigns.units(world.campaign.id) if u.kind == "check" and "Cyd" not in u.systems]
    assert checks
    for check in checks:
        text = world.store.projects.document(world.campaign.texts, check.name).outputs[0].text
        planted = check.details["planted"]["spans"]
        for row in check.details["suggestions"][check.systems[0]]:
            assert text[row["start"] : row["end"]] == row["quote"]
            assert not any(row["start"] < p["end"] and p["start"] < row["end"] for p in planted)


def test_a_design_needs_its_layer_and_error_spans_and_an_old_one_has_no_suggestions() -> None:
    world = campaign_world()
    with pytest.raises(UserError, match="span layer"):
        create(world.store, "ann", world.project, "b", CampaignDesign(suggestions=HALF))
    with pytest.raises(UserError, match="nothing to suggest"):
        CampaignDesign(PROTOCOLS["da"], suggestions=HALF).check()
    design = CampaignDesign(suggestions=HALF)
    assert design_from_json(design_to_json(design)) == design
    made = [suggestions_of({"suggestions": "file:x", "protocol": name, "seed": 4}) for name in ("esa", "mqm", "da")]
    assert made == [Suggestions("file:x", 0.25, 0.1, 0.1, 2.0, 4), Suggestions("file:x", 0.25, 0.1, 0.1, 0.5, 4), None]
    assert suggestions_of({}) is None
    old = {k: v for k, v in design_to_json(CampaignDesign()).items() if k != "suggestions"}
    assert design_from_json(old) == CampaignDesign()
    assert "suggestions" not in json.dumps(world.page("Ana"))


def test_the_preview_shows_suggestions_and_a_system_added_later_has_none() -> None:
    world = campaign_world(layer=layer(), suggestions=HALF, overlap=1, people=1, systems=("Bob", "Cyd"))
    design, index = design_from_json(world.campaign.design), world.store.projects.index(world.project)
    unit = next(u for u in preview_units(index.outline, design) if "Bob" in u.systems)
    texts = world.store.projects.texts(world.project, [unit.of])
    shown = preview_suggestions(world.store, world.project, design, texts, unit.of)
    assert [s["quote"] for s in suggested(preview_data(texts, world.project, design, unit, shown))] == [
        "quiet",
        "garden",
    ]
    assert running.add_system(world.store, "ann", world.campaign, "Ada") == 3
    units = world.store.campaigns.units(world.campaign.id)
    assert {u.systems[0]: "suggestions" in u.details for u in units} == {"Ada": False, "Bob": True, "Cyd": False}
    world.work("Ana", accept_first)
    rows = suggestion_rows(world.store, world.campaign, read_labels(world.store, world.campaign))
    assert [row.system for row in rows] == ["Bob"] * 3
