"""The work of one participant: the next unit with its context, the tutorial and its feedback, progress, and what is noted after a save."""

from __future__ import annotations

import random
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from math import ceil
from statistics import median
from typing import Any

from core.campaigns.assignment import draw_block, tutorial_first, with_checks
from core.campaigns.design import CampaignDesign, design_from_json
from core.campaigns.fixed_lists import ListOwner, ListState
from core.campaigns.tutorial import TutorialResult, tutorial_from_json, tutorial_mark, tutorial_result
from core.data import Dataset, Output, Segment, SegmentKey
from core.errors import UserError
from core.ports.campaigns import Assignment, Campaign, CampaignUnit, Draw, DrawState, NewAssignment, Participant
from core.ports.labels import SegmentLabels, UnitTouch
from core.ports.store import Store
from core.services.campaigns import suggestions
from core.services.campaigns.answers import key_of
from core.services.labels.editor import AFTER, BEFORE, Step, choose_segment, editor_data
from core.services.labels.labels import LabelsBySegment, open_segment


def draw_for(design: CampaignDesign, who: Participant, place: int) -> Draw:
    """Return the draw for a participant, the `place`-th (from 0) who joined.

    After the tutorial, participants wait until all of it is submitted. A fixed list comes whole, and later what was added to it;
    people beyond the planned number have none.
    """

    def drawn(state: DrawState) -> list[NewAssignment]:
        if first := tutorial_first(state, who.id):
            return first
        if design.assigning == "dynamic":
            return with_checks(draw_block(state, who.id, design), state, who.id, design)
        listed = ListState(state, design, [ListOwner(who.id, place)]).not_given(who.id)
        return with_checks(listed, state, who.id, design)

    return drawn


def _tutorial_result(design: CampaignDesign, unit: CampaignUnit, labels: SegmentLabels) -> TutorialResult:
    """Compare an answer with the right one."""
    item = tutorial_from_json(unit.details, *unit.of)
    return tutorial_result(item, labels.of(item.key.system), asks=design.protocol.asks)


def _feedback(result: TutorialResult) -> dict[str, Any]:
    """Return what the page tells after an answer: whether it was right, and remarks in the order of the text."""
    remarks = [f.remark.parts() for f in result.feedback]
    return {"right": result.right, "remarks": remarks, "explanation": result.explanation}


LEAST_FOR_PACE = 5
"""From so many submitted units on, the time left comes from the participant's own pace."""


def participant(store: Store, campaign: Campaign, rater: str) -> Participant:
    """Return the participant with this name, who joins the campaign if new."""
    return store.campaigns.join(campaign.id, rater, secrets.token_hex(4).upper())


def gets_units(who: Participant) -> bool:
    """Return whether a participant is given units at present."""
    return not (who.left or who.excluded or who.passed_tutorial is False)


def require_started(campaign: Campaign) -> None:
    """Raise `UserError` before the campaign starts."""
    if campaign.state == "draft":
        raise UserError("this evaluation has not started yet", hint="Come back later")


def may_label(store: Store, campaign: Campaign, rater: str, segment: SegmentKey) -> bool:
    """Return whether the unit was ever given to this rater. Late labels are accepted, also while the campaign is paused.

    Raises `UserError` if it is finished.
    """
    if campaign.state == "finished":
        raise UserError(
            "the evaluation is finished, so labels can no longer be changed", hint="Everything saved before counts"
        )
    mine = next((p for p in store.campaigns.participants(campaign.id) if p.rater == rater), None)
    return mine is not None and any(
        key_of(a.unit.name) == segment for a in store.campaigns.assignments(campaign.id, mine.id)
    )


def unit_touch(campaign: Campaign, now: datetime | None = None) -> UnitTouch:
    """Return what is noted when units are opened or labelled now."""
    at = now or datetime.now(UTC)
    return UnitTouch(at, _lease(design_from_json(campaign.design), at))


def _lease(design: CampaignDesign, now: datetime) -> datetime:
    return now + timedelta(minutes=design.lease_minutes)


def unit_page(
    store: Store,
    campaign: Campaign,
    rater: str,
    current: SegmentKey | None = None,
    step: Step = "here",
    now: datetime | None = None,
) -> dict[str, Any]:
    """Return the data of the annotator's page: those of the editor for one unit (`exchange.editor_data`), and `campaign`.

    If everything that the participant has is submitted, more units are drawn. Raises `UserError` before
    the campaign starts, and if there is nothing to label.
    """
    require_started(campaign)
    at, design = now or datetime.now(UTC), design_from_json(campaign.design)
    who = participant(store, campaign, rater)
    labelled = store.labels.of_rater(campaign.texts, rater)
    given_so_far = store.campaigns.assignments(campaign.id, who.id)
    who = _after_tutorial(store, campaign, design, who, given_so_far, labelled)
    mine = _shown(design, who, given_so_far)
    if _wants_more(campaign, who, mine, labelled):
        lease = _lease(design, at) if design.assigning == "dynamic" else None
        place = [p.id for p in store.campaigns.participants(campaign.id)].index(who.id)
        mine += _shown(
            design, who, store.campaigns.assign(campaign.id, who.id, at, lease, draw_for(design, who, place))
        )
    if not mine:
        raise UserError("there is nothing to label", hint=_why_nothing(campaign, who))
    asked = {key_of(a.unit.name): a.order for a in mine}
    segment = choose_segment(asked, labelled, current, step)
    assignment = mine[list(asked).index(segment)]
    touch = unit_touch(campaign, at) if campaign.state == "running" and assignment.opened is None else None
    opened = open_segment(
        store, campaign.texts, rater, segment, assignment.order, order=assignment.order, touch=touch,
        opening=lambda: suggestions.opening(store, campaign, rater, assignment.unit),
    )  # fmt: skip
    submitted = [key for key in asked if _is_submitted(labelled, key)]
    data = editor_data(
        in_context(store, campaign, assignment.unit), campaign.texts, rater, segment, assignment.order, opened,
        more=any(key != segment and key not in submitted for key in asked),
        protocol=design.protocol, declines=True,
    )  # fmt: skip
    at_unit = list(asked).index(segment) + 1
    about = _about(store, campaign, design, who, assignment, mine, labelled, opened.labels)
    return data | {"done": len(submitted), "total": len(asked), "at": at_unit, "campaign": about}


def _shown(design: CampaignDesign, who: Participant, assignments: Sequence[Assignment]) -> list[Assignment]:
    """Return what the page shows: before the tutorial is passed nothing else, and the tutorial first in any case.

    What was handed over to somebody else stays with people who have begun it.
    """
    if design.assigning == "fixed":
        assignments = [a for a in assignments if a.state != "reclaimed" or a.opened is not None]
    tutorial = [a for a in assignments if a.unit.kind == "tutorial"]
    if design.tutorial and who.passed_tutorial is not True:
        return tutorial
    return tutorial + [a for a in assignments if a.unit.kind != "tutorial"]


def _wants_more(campaign: Campaign, who: Participant, mine: Sequence[Assignment], labelled: LabelsBySegment) -> bool:
    """Return whether everything is submitted and the participant may get more."""
    return campaign.state == "running" and gets_units(who) and not _open_units(mine, labelled)


def _open_units(mine: Sequence[Assignment], labelled: LabelsBySegment) -> list[Assignment]:
    return [a for a in mine if not _is_submitted(labelled, key_of(a.unit.name))]


def _is_submitted(labelled: LabelsBySegment, key: SegmentKey) -> bool:
    return key in labelled and labelled[key].labels.submitted


def _why_nothing(campaign: Campaign, who: Participant) -> str:
    if campaign.state == "paused":
        return "The evaluation is paused. Come back later"
    if campaign.state == "finished":
        return "The evaluation is finished. Thank you"
    if who.passed_tutorial is False:
        return "The introduction was not passed. Ask the person who sent you the link"
    return "Everything has enough raters. Thank you"


def _after_tutorial(
    store: Store,
    campaign: Campaign,
    design: CampaignDesign,
    who: Participant,
    mine: Sequence[Assignment],
    labelled: LabelsBySegment,
) -> Participant:
    """Return the participant, with the result of the tutorial once all of it is submitted."""
    tutorial = [a for a in mine if a.unit.kind == "tutorial"]
    if who.passed_tutorial is not None or not tutorial or _open_units(tutorial, labelled):
        return who
    results = [_tutorial_result(design, a.unit, labelled[key_of(a.unit.name)].labels) for a in tutorial]
    who = who._replace(passed_tutorial=tutorial_mark(results) >= design.pass_mark)
    store.campaigns.change(who)
    return who


def in_context(store: Store, campaign: Campaign, unit: CampaignUnit) -> Dataset:
    """Return the texts of a unit between those of its neighbours in the document, all as one document.

    A check has its changed text between unchanged neighbours.
    """
    key = key_of(unit.name)
    texts = store.projects.document(campaign.texts, key.doc_id)
    index = store.projects.index(campaign.project_id)
    known = index.around(unit.of, BEFORE, AFTER) if unit.of in index.row else []
    around = store.projects.texts(campaign.project_id, known)
    keys = [s.key for s in around.segments]
    at = keys.index(unit.of) if unit.of in keys else 0
    near = range(len(keys))
    segments, outputs = [], list(texts.outputs)
    written = {(o.segment_id, o.system): o.text for o in around.outputs}
    project_texts = {o.system: o.text for o in around.outputs if o.key.segment == unit.of}
    beside = _systems_beside(unit, {o.system: o.text for o in texts.outputs}, project_texts)
    for i in near:
        if i == at:
            segments += list(texts.segments)
            continue
        name = f"{i - at}"
        segments.append(Segment(key.doc_id, name, around.segments[i].source))
        outputs += [
            Output(system, key.doc_id, name, written[keys[i].segment_id, of])
            for system, of in beside.items() if (keys[i].segment_id, of) in written
        ]  # fmt: skip
    return Dataset(tuple(segments or texts.segments), tuple(outputs))


def _systems_beside(
    unit: CampaignUnit, shown: Mapping[str, str], project_texts: Mapping[str, str]
) -> Mapping[str, str]:
    """Return, for each system of a unit, the system of the project whose outputs are shown around it.

    `shown` are the texts of the unit by system, `project_texts` those of the project for its segment. The two copies of an output in a
    check are of no system: the unchanged one gets the neighbours of the output's own system, the changed one those of
    another, so that a check looks like any other pair.
    """
    left = sorted(set(project_texts) - set(unit.systems))
    random.Random(unit.name).shuffle(left)
    system_of = {system: system for system in unit.systems if system in project_texts}
    for system in unit.systems:
        if system not in system_of and left:
            own = next((name for name in left if project_texts[name] == shown.get(system)), left[0])
            system_of[system] = own
            left = [name for name in left if name != own] or left
    return system_of


def _about(
    store: Store, campaign: Campaign, design: CampaignDesign, who: Participant, assignment: Assignment,
    mine: Sequence[Assignment], labelled: LabelsBySegment, own: SegmentLabels,
) -> dict[str, Any]:  # fmt: skip
    """Return what the page says of the campaign; nothing in it shows which units are checks."""
    tutorial = [a for a in mine if a.unit.kind == "tutorial"]
    waiting = _open_units(mine, labelled)
    done = not waiting and campaign.state != "paused"
    left = 0 if done else units_left(store, campaign, design, who, mine, waiting)
    shown = assignment.unit.kind == "tutorial" and own.submitted
    return {
        "title": design.shown_title,
        "instructions": design.protocol.instructions,
        "state": campaign.state,
        "tutorial": {"at": tutorial.index(assignment) + 1, "of": len(tutorial)} if assignment in tutorial else None,
        "passed": who.passed_tutorial,
        "feedback": _feedback(_tutorial_result(design, assignment.unit, own)) if shown else None,
        "done": _without_tutorial(mine) - _without_tutorial(waiting),
        "left": left,
        "seconds_left": (left + len(waiting) - _without_tutorial(waiting)) * seconds_per_unit(design, mine, labelled),
        "lease_minutes": design.lease_minutes if design.assigning == "dynamic" else None,
        "finished": done,
        "code": who.code if done or who.left else None,
    }


def _without_tutorial(assignments: Sequence[Assignment]) -> int:
    return sum(a.unit.kind != "tutorial" for a in assignments)


def units_left(
    store: Store, campaign: Campaign, design: CampaignDesign, who: Participant, mine: Sequence[Assignment],
    waiting: Sequence[Assignment],
) -> int:  # fmt: skip
    """Estimate how many units a participant still has to submit, without the tutorial. `waiting` are those of `mine` not submitted.

    A fixed list is known. Otherwise it is an equal share of all ratings less what the participant has submitted, so that each submission
    takes one off and the next block adds nothing; at most what is still open, and 0 for whoever does more than the share. It
    includes the planned checks and repeats.
    """
    at_hand = _without_tutorial(waiting)
    listed = design.assigning == "fixed" and _without_tutorial(mine) > 0
    if listed or campaign.state == "finished" or not gets_units(who):
        return at_hand
    rest = store.campaigns.remaining_work(campaign.id)
    people = max(1, max(design.people, rest.people) - rest.gone)
    planned, with_checks = rest.units * design.overlap, 1 + design.checks + design.repeats
    rated = sum(a.unit.kind == "item" for a in mine) - sum(a.unit.kind == "item" for a in waiting)
    own = round(min(ceil(planned / people), rest.units) * with_checks) - (_without_tutorial(mine) - at_hand)
    still_open = round(min(planned - rest.ratings, rest.units - rated) * with_checks)
    return max(0, min(own, max(at_hand, still_open)))


def seconds_per_unit(design: CampaignDesign, mine: Sequence[Assignment], labelled: LabelsBySegment) -> float:
    """Return the median time of the participant's submitted units, or the planned time while these are few."""
    keys = [key_of(a.unit.name) for a in mine]
    times = [labelled[key].labels.seconds for key in keys if _is_submitted(labelled, key)]
    return median(times) if len(times) >= LEAST_FOR_PACE else design.seconds_per_unit


def leave(store: Store, campaign: Campaign, rater: str, left: bool = True) -> Participant:
    """Record that a participant leaves the campaign, or comes back. Submitted labels count."""
    who = participant(store, campaign, rater)._replace(left=left)
    store.campaigns.change(who)
    return who
