"""The work of participants: who gets what, what is shown, what counts."""

from __future__ import annotations

import json

import pytest

from core.campaigns.design import TutorialItem
from core.campaigns.protocol import ProtocolName
from core.data import OutputKey, SegmentKey, Span, grouped
from core.errors import UserError
from core.services.campaigns import answers, people
from core.services.campaigns.answers import PART, read_labels
from core.services.campaigns.monitor import progress
from core.services.campaigns.work import in_context, leave
from tests.core.services.campaigns.world import (
    SYSTEMS,
    CampaignWorld,
    Say,
    campaign_world,
    no_errors,
    prefer_first,
    scores,
    span,
)


def raters_by_unit(world: CampaignWorld) -> dict[str, list[str]]:
    return grouped((a.unit.name, a.rater) for a in read_labels(world.store, world.campaign).answers if a.counts)


@pytest.mark.parametrize("assigning", ["fixed", "dynamic"])
@pytest.mark.parametrize(
    ("protocol", "say", "segments", "units"),
    [
        ("esa", scores(), 2, 6),
        ("cesa", scores(), 3, 3),
        ("da", scores(), 1, 3),
        ("mqm", no_errors, 1, 3),
        ("pairwise", prefer_first, 1, 3),
    ],
)
def test_every_unit_gets_its_distinct_raters(
    protocol: ProtocolName, say: Say, segments: int, units: int, assigning: str
) -> None:
    world = campaign_world(protocol, segments=segments, overlap=2, people=3, assigning=assigning)
    done = [world.work(name, say) for name in ("Ana", "Ben", "Cem")]
    found = raters_by_unit(world)
    assert sum(done) == 2 * units
    assert len(found) == units
    assert all(len(set(names)) == len(names) == 2 for names in found.values())
    state = progress(world.store, world.campaign, world.now)
    assert (state.complete, state.ratings, state.planned, state.extra) == (units, 2 * units, 2 * units, 0)


def test_nothing_in_the_page_says_which_unit_or_system_it_is() -> None:
    world = campaign_world("cesa", checks=0.4, repeats=0.4)
    shown = json.dumps(world.page("Ana"))
    assert not any(f'"{name}"' in shown for name in SYSTEMS)
    assert not any(f'"{word}' in shown for word in ("check", "repeat", "planted", "broken", "doc 0", "doc 1"))


def test_an_idle_unit_is_given_to_somebody_else_and_a_late_save_is_an_extra_rating() -> None:
    world = campaign_world(overlap=1, people=2)
    idle = world.page("Ana")
    world.later(minutes=31)
    world.work("Ben", scores(40))
    found = progress(world.store, world.campaign, world.now)
    assert (found.complete, found.ratings) == (9, 9)
    assert world.send("Ana", idle, [*scores(90)(idle), {"kind": "submit"}]) == []
    found = progress(world.store, world.campaign, world.now)
    assert (found.ratings, found.extra) == (9, 1)


def test_work_keeps_the_lease() -> None:
    world = campaign_world(overlap=1, people=2)
    first = world.page("Ana")
    world.later(minutes=20)
    assert world.send("Ana", first, scores(90)(first)) == []
    world.later(minutes=20)
    world.work("Ben", scores(40))
    assert world.page("Ana")["total"] == 2
    assert progress(world.store, world.campaign, world.now).ratings == 7


def test_what_is_left_for_a_person_does_not_rise_with_the_next_block() -> None:
    def shown(world: CampaignWorld) -> tuple[int, int]:
        about = world.page("Ana")["campaign"]
        return about["done"], about["left"]

    for size in (1, 2):
        world = campaign_world(overlap=2, people=3, block_size=size)
        seen = [shown(world)]
        while seen[-1][1]:
            assert [world.work(name, scores(), 1) for name in ("Ana", "Ben", "Cem")] == [1, 1, 1]
            seen.append(shown(world))
        assert seen == [(n, 6 - n) for n in range(7)]  # 9 units × 2 ratings / 3 people
        world = campaign_world(overlap=2, people=3, block_size=size)  # the others do not come
        seen = [shown(world)]
        while world.work("Ana", scores(), 1):
            seen.append(shown(world))
        assert seen[0] == (0, 6)
        assert seen[-1] == (9, 0)
        assert [left for _, left in seen] == [
            6,
            5,
            4,
            3,
            2,
            1,
            0,
            0,
            0,
            0,
        ]  # one less each time; then more than the share
    large = campaign_world(
        overlap=2, people=18, checks=0.5, repeats=0.5
    )  # one rating changes no share of what is open, a check neither
    seen = [shown(large)]
    for _ in range(2):
        large.work("Ana", scores(), 1)
        seen.append(shown(large))
    assert seen == [(0, 2), (1, 1), (2, 0)]
    listed = campaign_world(overlap=2, people=3, assigning="fixed")
    assert [shown(listed), listed.work("Ana", scores(), 2), shown(listed)] == [(0, 6), 2, (2, 4)]


def test_the_share_of_who_leaves_is_left_for_the_others() -> None:
    world = campaign_world(overlap=2, people=4, checks=0.5)
    assert world.page("Ana")["campaign"]["left"] == 8  # ⌈9 units × 2 ratings / 4 people⌉, and a check for every two
    world.page("Ben")
    leave(world.store, world.campaign, "Ben")
    assert world.page("Ana")["campaign"]["left"] == 9
    leave(world.store, world.campaign, "Ana")
    assert world.page("Ana")["campaign"]["left"] == 3  # what was given


def test_nobody_labels_a_unit_that_was_not_given_to_them() -> None:
    world = campaign_world(overlap=1, people=2)
    unit = world.page("Ana")
    world.page("Ben")
    assert len(world.send("Ben", unit, scores()(unit))) == 1
    assert world.send("Nobody", unit, scores()(unit))


def test_states_of_a_campaign() -> None:
    world = campaign_world(overlap=1, people=2)
    world.store.campaigns.set_state(world.campaign.id, "draft")
    with pytest.raises(UserError, match="has not started"):
        world.page("Ana")
    world.store.campaigns.set_state(world.campaign.id, "running")
    unit = world.page("Ana")
    world.store.campaigns.set_state(world.campaign.id, "paused")
    assert world.page("Ana")["campaign"]["state"] == "paused"
    assert world.send("Ana", unit, [*scores()(unit), {"kind": "submit"}]) == []
    with pytest.raises(UserError, match="nothing to label"):
        world.page("Ben")
    world.store.campaigns.set_state(world.campaign.id, "finished")
    assert world.page("Ana")["campaign"]["state"] == "finished"
    (why,) = world.send("Ana", unit, scores(10)(unit))
    assert "finished" in why


def test_the_context_is_that_of_the_document_and_a_check_is_between_unchanged_neighbours() -> None:
    world = campaign_world(overlap=1, people=1, block_size=3)
    unit = world.page("Ana", "unlabelled")
    assert unit["before"] == []
    world.send("Ana", unit, [*scores()(unit), {"kind": "submit"}])
    unit = world.page("Ana", "unlabelled")
    at = unit["source"].split()[2]
    assert unit["before"] == [unit["source"].replace(f"source {at}", f"source {int(at) - 1}")]
    assert unit["outputs"][0]["before"].startswith(unit["outputs"][0]["text"].split()[0])


def test_a_check_of_two_copies_has_the_neighbours_of_two_systems_as_any_pair() -> None:
    world = campaign_world("pairwise", overlap=1, people=1, checks=0.5)
    units = world.store.campaigns.units(world.campaign.id)
    assert sum(unit.kind == "check" for unit in units) > 2
    for unit in units:
        texts = in_context(world.store, world.campaign, unit)
        by = {(o.segment_id, o.system): o.text.split()[0] for o in texts.outputs}
        neighbours = {s.segment_id for s in texts.segments} - {PART}
        assert neighbours
        for name in neighbours:
            assert len({by[name, system] for system in unit.systems}) == 2, unit.kind
            if unit.kind == "check":
                assert by[name, "clean"] == by[PART, "clean"]


def test_a_unit_that_cannot_be_judged_is_submitted_without_labels_and_does_not_count() -> None:
    world = campaign_world(overlap=1, people=1)
    unit = world.page("Ana")
    decline = [{"kind": "decline", "payload": {"reason": "wrong language"}}, {"kind": "submit"}]
    assert world.send("Ana", unit, decline) == []
    assert raters_by_unit(world) == {}
    assert people.work_done(world.store, world.campaign)[0].declined == 1
    assert world.page("Ana", "unlabelled")["doc"] != unit["doc"]


def test_submit_needs_every_score_but_no_span() -> None:
    world = campaign_world("cesa", overlap=1, people=1)
    unit = world.page("Ana")
    (why,) = world.send("Ana", unit, [*scores()(unit)[:2], {"kind": "submit"}])
    assert "1 of 3 outputs have no score" in why
    assert world.send("Ana", unit, [*scores()(unit)[2:], span(unit, 0, 0, 3), {"kind": "submit"}]) == []


def test_results_are_labels_and_judgements_of_the_project_without_checks_and_excluded_people() -> None:
    world = campaign_world("esa", overlap=2, people=2, checks=0.3, repeats=0.4)
    world.work("Ana", scores(80))
    world.work("Ben", scores(60))
    assert {a.unit.kind for a in read_labels(world.store, world.campaign).answers} == {"item", "check", "repeat"}
    given = answers.judgements(world.store, world.project)
    assert {j.name for j in given} == {"ESA (pilot)"}
    assert {(j.rater, j.value) for j in given} == {("Ana (pilot)", 80), ("Ben (pilot)", 60)}
    assert len(given) == 18
    assert {j.key for j in given} == {OutputKey(s, "doc 0", str(n)) for s in SYSTEMS for n in range(3)}
    labels = answers.all_labels(world.store, world.project)
    assert len(labels) == 6
    assert all(of.submitted for of in labels.values())
    ben = next(p for p in world.store.campaigns.participants(world.campaign.id) if p.rater == "Ben")
    people.exclude(world.store, "ann", world.campaign, ben.id, "same score everywhere")
    assert {j.rater for j in answers.judgements(world.store, world.project)} == {"Ana (pilot)"}
    people.exclude(world.store, "ann", world.campaign, ben.id, "")
    assert len(answers.judgements(world.store, world.project)) == 18
    assert [e.act for e in world.store.audit.entries(world.project)][:2] == [
        "participant included again", "participant excluded",
    ]  # fmt: skip


def test_a_preference_is_the_share_of_comparisons_won() -> None:
    world = campaign_world("pairwise", overlap=1, people=1)
    world.work(
        "Ana",
        lambda unit: [{"kind": "prefer", "payload": {"winner": min(unit["outputs"], key=lambda o: o["text"])["id"]}}],
    )
    values = {j.key.system: j.value for j in answers.judgements(world.store, world.project)}
    assert values == {"Ada": 1.0, "Bob": 0.5, "Cyd": 0.0}


def test_the_tutorial_comes_first_tells_what_was_right_and_can_end_the_work() -> None:
    key = OutputKey("Ada", "doc 0", "0")
    text = "Ada says in doc 0, 0: twelve quiet cats sat in the old garden and slept."
    error = Span("output", 22, 34, text[22:34], "Major", "Unspecified")
    item = TutorialItem(key, (error,), (20, 50), "Twelve cats are not quiet.")
    world = campaign_world("esa", overlap=1, people=2, tutorial=(item,), pass_mark=0.6)
    unit = world.page("Ana", "unlabelled")
    assert unit["campaign"]["tutorial"] == {"at": 1, "of": 1}
    assert (unit["campaign"]["feedback"], unit["campaign"]["done"], unit["campaign"]["left"]) == (None, 0, 5)
    assert world.send("Ana", unit, [span(unit, 0, 22, 34), *scores(30)(unit), {"kind": "submit"}]) == []
    feedback = world.page("Ana", "here", SegmentKey(unit["doc"], unit["segment"]))["campaign"]["feedback"]
    assert feedback["right"]
    assert feedback["explanation"] == "Twelve cats are not quiet."
    assert world.work("Ana", scores()) == 9
    unit = world.page("Ben", "unlabelled")
    assert world.send("Ben", unit, [*scores(100)(unit), {"kind": "submit"}]) == []
    shown = world.page("Ben", "unlabelled")
    assert (shown["campaign"]["passed"], shown["campaign"]["finished"], shown["total"]) == (False, True, 1)
    assert {r.rater for r in answers.judgements(world.store, world.project)} == {"Ana (pilot)"}


def test_checks_and_repeats_are_shown_among_the_units() -> None:
    world = campaign_world("esa", overlap=1, people=1, checks=0.3, repeats=0.4, seed=3)
    world.work("Ana", scores())
    kinds = [a.unit.kind for a in read_labels(world.store, world.campaign).answers]
    assert kinds.count("item") == 9
    assert kinds.count("check") >= 2
    assert kinds.count("repeat") >= 1
    assert kinds[0] == "item"


def test_who_leaves_gets_the_code_and_nothing_more() -> None:
    world = campaign_world(overlap=1, people=1)
    unit = world.page("Ana")
    world.send("Ana", unit, [*scores()(unit), {"kind": "submit"}])
    leave(world.store, world.campaign, "Ana")
    code = world.page("Ana")["campaign"]["code"]
    assert code == world.store.campaigns.participants(world.campaign.id)[0].code
    assert len(code) == 8
    assert world.work("Ana", scores()) == 1  # what was given already
    assert world.page("Ana")["campaign"]["finished"]


def test_the_pay_table() -> None:
    world = campaign_world(overlap=1, people=1, pay_per_hour=18.0)
    world.work("Ana", scores(), 3)
    header, row = people.pay_table(world.store, world.campaign).splitlines()
    assert header == "name,completion_code,units,cannot_judge,minutes,pay,currency,excluded"
    assert row.split(",")[2:4] == ["3", "0"]
    (work,) = people.work_done(world.store, world.campaign)
    assert float(row.split(",")[5]) == round(18 * work.seconds / 3600, 2)
    assert float(row.split(",")[4]) == round(work.seconds / 60, 2)
    assert abs(float(row.split(",")[4]) * 18 / 60 - float(row.split(",")[5])) < 0.01  # the time and the pay agree


def test_the_units_of_an_excluded_person_are_given_to_others_who_have_rated_nothing_of_them() -> None:
    world = campaign_world(overlap=1, people=2)
    world.work("Ana", scores())
    ana = world.store.campaigns.participants(world.campaign.id)[0]
    people.exclude(world.store, "ann", world.campaign, ana.id, "always the same answer")
    assert progress(world.store, world.campaign, world.now).complete == 0
    assert world.work("Ben", scores(40)) == 9
    assert progress(world.store, world.campaign, world.now).complete == 9
    people.exclude(world.store, "ann", world.campaign, ana.id, "")
    assert {len(names) for names in raters_by_unit(world).values()} == {2}


def test_who_counts_again_gets_the_slots_that_are_still_free() -> None:
    world = campaign_world(overlap=1, people=2, block_size=3)
    world.work("Ana", scores())
    ana = world.store.campaigns.participants(world.campaign.id)[0]
    people.exclude(world.store, "ann", world.campaign, ana.id, "by mistake")
    world.work("Ben", scores(40), 3)
    people.exclude(world.store, "ann", world.campaign, ana.id, "")
    state = progress(world.store, world.campaign, world.now)
    assert (state.complete, state.ratings, state.extra) == (9, 9, 3)
    assert world.work("Ben", scores(40)) == 0


def test_a_pause_after_the_last_unit_is_not_the_end() -> None:
    world = campaign_world(overlap=1, people=1, block_size=1)
    unit = world.page("Ana")
    world.store.campaigns.set_state(world.campaign.id, "paused")
    world.send("Ana", unit, [*scores()(unit), {"kind": "submit"}])
    shown = world.page("Ana", "unlabelled")["campaign"]
    assert (shown["finished"], shown["code"]) == (False, None)
