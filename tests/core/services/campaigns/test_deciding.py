"""Who may decide on disagreements, and the units behind evidence."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import product
from statistics import fmean

import pytest

from core.data import SegmentKey, Span
from core.mqm.log import fold_segment
from core.ports.labels import Action, ActionKind, ErrorSpan, FoldedSegment, OutputLabels, SegmentLabels
from core.ports.people import LOCAL, Account, Identity
from core.ports.store import Store
from core.reports.campaign_results import methods
from core.services.campaigns import answers, comparison, decisions, monitor, quality
from core.services.campaigns.answers import key_of, read_labels
from core.services.export.export import labels_as
from core.services.export.files import outputs_as
from core.services.labels.labels import open_segment
from tests.core.services.campaigns import filled


def person(name: str, project: int, role: str) -> Identity:
    return Identity(Account(1, name, False, True, datetime(2026, 1, 1, tzinfo=UTC)), {project: role})  # type: ignore[dict-item]


def test_managers_and_adjudicators_who_do_not_label_decide(store: Store) -> None:
    campaign = filled.started(store, dataset=filled.texts(1, 1))
    item = next(u for u in store.campaigns.units(campaign.id) if u.kind == "item")
    key, project = key_of(item.name), campaign.project_id
    for who, may in (
        (LOCAL, True),
        (person("Judy", project, "adjudicator"), True),
        (person("Judy", project, "viewer"), False),
        (person("Judy", project, "annotator"), False),
        (person("Ana", project, "adjudicator"), False),  # labels in the campaign
    ):
        assert decisions.may_decide(store, campaign, who, key) is may
    assert not decisions.may_decide(store, campaign, LOCAL, key_of("no unit"))


def test_a_decision_replaces_the_versions() -> None:
    store, campaign = filled.completed()
    before = decisions.queue(store, campaign)
    first = before[0]
    data = decisions.decision_page(store, campaign, "Judy", first.unit, more=True)
    assert data["asks"] == ["spans", "score"]
    assert [o["name"] for o in data["outputs"]] == [None]
    decisions.take_version(store, campaign, "Judy", first.unit, first.versions[0])
    submit = Action("submit-1", "submit", None, {"asks": ["spans", "score"]})
    store.labels.append(campaign.texts, "Judy", key_of(first.unit.name), [submit])
    after = decisions.queue(store, campaign)
    assert [d.unit for d in after] == [d.unit for d in before], "the numbers of the units change"
    decided = after[0]
    assert (decided.unit, decided.decided_by) == (first.unit, "Judy")
    counted = answers.counted_labels(read_labels(store, campaign))
    raters = {one.rater for one in counted if one.unit == first.unit}
    assert raters == {"Judy, decision"}
    compared = comparison.compare(store, campaign)
    assert "1 unit on which annotators disagreed has a decision" in methods(compared)
    for unit in before[1:]:
        decisions.take_version(store, campaign, "Judy", unit.unit, unit.versions[0])
        store.labels.append(
            campaign.texts, "Judy", key_of(unit.unit.name), [submit._replace(id=f"submit-{unit.unit.name}")]
        )
    all_decided = comparison.compare(store, campaign)
    assert all_decided.effects == compared.effects, "how raters differ does not depend on decisions"
    assert all_decided.effects is not None
    assert len(all_decided.effects.raters) == 3
    assert all_decided.means != compared.means


def test_project_exports_have_the_scores_of_campaigns() -> None:
    store, campaign = filled.completed()
    given = {
        (a.unit.of, *a.unit.systems, a.rater): a.labels.of(a.unit.systems[0]).score
        for a in read_labels(store, campaign).answers
    }
    lines = [json.loads(line) for line in labels_as(store, campaign.project_id, name="esa").data.splitlines()]
    assert {
        (SegmentKey(r["doc_id"], r["segment_id"]), r["system"], r["annotator"].removesuffix(" (pilot)")): r["esa_score"]
        for r in lines
    } == given
    assert not any("esa_score is null" in lost for lost in labels_as(store, campaign.project_id, name="esa").lost)
    rows = [json.loads(line) for line in outputs_as(store, campaign.project_id, ending="jsonl").data.splitlines()]
    for row in rows:
        of_output = [
            score
            for (key, system, _), score in given.items()
            if (*key, system) == (row["doc_id"], row["segment_id"], row["system"])
        ]
        assert row["ESA (pilot)"] == pytest.approx(fmean(of_output))
    assert "ESA (pilot)" in outputs_as(store, campaign.project_id, ending="csv").data.decode().splitlines()[0].split(
        ","
    )


def test_small_differences_are_not_to_be_decided() -> None:
    store, campaign = filled.completed()
    everything = decisions.queue(store, campaign)
    wanted = decisions.to_decide(everything, decisions.LEAST["esa"])
    assert 0 < len(wanted) < len(everything)
    assert all(d.size >= 0.15 for d in wanted)
    smallest = everything[-1]
    decisions.take_version(store, campaign, "Judy", smallest.unit, smallest.versions[0])
    submit = Action("submit-1", "submit", None, {"asks": ["spans", "score"]})
    store.labels.append(campaign.texts, "Judy", key_of(smallest.unit.name), [submit])
    again = decisions.to_decide(decisions.queue(store, campaign), decisions.LEAST["esa"])
    assert again[-1].decided_by == "Judy", "a decision disappears from the list"


def test_a_taken_version_replaces_all_that_the_person_has_marked() -> None:
    store, campaign = filled.completed()
    unit = decisions.queue(store, campaign)[0].unit
    (system,), key = unit.systems, key_of(unit.name)
    span = {
        "mark": "m",
        "side": "output",
        "start": 0,
        "end": 2,
        "quote": "In",
        "severity": "Major",
        "category": "Other",
        "note": "",
    }
    marked = OutputLabels((ErrorSpan("m", Span("output", 0, 2, "In", "Minor", "Other")),), None, 60.0)
    versions = (
        OutputLabels((), None, 95.0),
        marked,
        OutputLabels((), "non_translation"),
        OutputLabels((), "no_error", 100.0),
    )
    befores: tuple[list[tuple[ActionKind, dict[str, object]]], ...] = (
        [("verdict", {"value": "non_translation"}), ("score", {"value": 0})], [("verdict", {"value": "no_error"})], [("add", span)], [],
    )  # fmt: skip
    for n, (before, version) in enumerate(product(befores, versions)):
        who = f"Judy {n}"
        open_segment(store, campaign.texts, who, key, unit.systems)
        done = [Action(f"{n}-{i}", kind, system, payload) for i, (kind, payload) in enumerate(before)]
        store.labels.append(campaign.texts, who, key, done)
        decisions.take_version(store, campaign, who, unit, SegmentLabels({system: version}))
        now = fold_segment(store.labels.events(campaign.texts, rater=who, segment=key)).of(system)
        assert ([m.span for m in now.marks], now.verdict, now.score) == (
            [m.span for m in version.marks], version.verdict, version.score,
        )  # fmt: skip


def test_a_rater_is_not_taken_for_a_decision_by_name(store: Store) -> None:
    campaign = filled.started(store, dataset=filled.texts(2, 4), people=("Judy, decision", "Ben", "Chi"))
    filled.work(store, campaign)
    found = comparison.compare(store, campaign)
    assert (found.basis.adjudicated, found.basis.raters) == (0, 3)
    assert found.effects is not None
    assert {of.rater for of in found.effects.raters} == {"Judy, decision", "Ben", "Chi"}
    first = decisions.queue(store, campaign)[0]
    decisions.take_version(store, campaign, "Judy", first.unit, first.versions[0])
    submit = Action("submit-1", "submit", None, {"asks": ["spans", "score"]})
    store.labels.append(campaign.texts, "Judy", key_of(first.unit.name), [submit])
    counted = answers.counted_labels(read_labels(store, campaign))
    assert (sum(one.is_decision for one in counted), len({one.rater for one in counted})) == (1, 4)


def test_numbers_that_are_shown_together_come_from_one_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit that is submitted while a comparison is computed is in all of its numbers, or in none."""
    store, campaign = filled.completed("pairwise")
    read, of_rater = list[str](), store.labels.of_rater

    def counting(project_id: int, rater: str) -> Mapping[SegmentKey, FoldedSegment]:
        read.append(rater)
        return of_rater(project_id, rater)

    monkeypatch.setattr(store.labels, "of_rater", counting)
    for work in (comparison.compare, decisions.queue, monitor.snapshot, answers.labels_of, answers.judgements_of):
        read.clear()
        work(store, campaign)
        assert sorted(read) == sorted(filled.SEVERITY), work


def test_an_opened_unit_is_no_decision() -> None:
    store, campaign = filled.completed()
    first = decisions.queue(store, campaign)[0]
    open_segment(store, campaign.texts, "Judy", key_of(first.unit.name), first.unit.systems)
    assert not decisions.queue(store, campaign)[0].decided_by


def test_evidence_has_units_with_the_failed_checks_first(store: Store) -> None:
    campaign = filled.started(store, checks=0.3, repeats=0.3, dataset=filled.texts(2, 3))
    filled.work(store, campaign)
    units = quality.submitted_units(store, campaign, read_labels(store, campaign).answers)
    checks = quality.evidence_units("Ana", "checks", units)
    assert checks
    assert all(found.planted and found.broken for found in checks)
    assert [found.text.split(":")[0] for found in checks] == sorted(found.text.split(":")[0] for found in checks)
    for kind in ("repeats", "agreement", "same answer"):
        assert all(found.judgement.rater == "Ana" for found in quality.evidence_units("Ana", kind, units))
    assert "others: score" in quality.evidence_units("Ana", "agreement", units)[0].text


def test_versions_are_in_random_order_not_in_that_of_joining() -> None:
    store, campaign = filled.completed()
    first_joined = []
    for disputed in decisions.queue(store, campaign):
        of = sorted(
            (a.participant_id or 0, a.labels) for a in read_labels(store, campaign).answers if a.unit == disputed.unit
        )
        first_joined.append(disputed.versions[0] == of[0][1])
    assert len(first_joined) > 5
    assert True in first_joined
    assert False in first_joined
