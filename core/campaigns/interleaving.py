"""Attention checks and repeats between the units of a block, and the tutorial before the first one."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from core.campaigns.design import CampaignDesign
from core.campaigns.seeded import seeded, shuffled
from core.ports.campaigns import Assignment, CampaignUnit, DrawState, NewAssignment


def tutorial_first(state: DrawState, participant_id: int) -> list[NewAssignment]:
    """Return all tutorial units in their order for a participant who has had none; otherwise nothing."""
    if any(a.participant_id == participant_id and a.unit.kind == "tutorial" for a in state.assignments):
        return []
    tutorial = [unit for unit in state.units if unit.kind == "tutorial" and not unit.retired]
    return [NewAssignment(u.id, None, u.systems, 1.0) for u in sorted(tutorial, key=lambda u: u.position)]


def with_checks(
    drawn: Sequence[NewAssignment], state: DrawState, participant_id: int, design: CampaignDesign
) -> list[NewAssignment]:
    """Return a drawn block with attention checks and repeats between its units.

    Rates are per item unit: with `design.checks` = 0.1, a person gets one check per ten items. What did not fit into a block is made
    up for in the next one. Each addition follows an item directly, so none is the first unit of a person, and never two in a row.
    They have no slot and probability 1; several outputs on the screen are in random order.

    Checks are new to the participant, and of other segments than this block if there are any such. Repeats are new too, and repeat
    an item that the participant submitted before the latest block. If there are none, fewer are added.
    """
    mine = [a for a in state.assignments if a.participant_id == participant_id]
    rng = seeded(design.seed, "checks", participant_id, len(mine))
    offset = seeded(design.seed, "rate", participant_id)
    items = sum(a.unit.kind == "item" for a in mine) + len(drawn)
    added: list[CampaignUnit] = []
    for kind, rate in (("check", design.checks), ("repeat", design.repeats)):
        had = sum(a.unit.kind == kind for a in mine)
        due = max(0, int(rate * items + offset.random()) - had)
        pool = _new_checks(drawn, state, mine, rng) if kind == "check" else _new_repeats(state, mine, rng)
        added += pool[: min(due, len(drawn) - len(added))]
    after = dict(zip(sorted(shuffled(range(len(drawn)), rng)[: len(added)]), shuffled(added, rng), strict=True))
    found: list[NewAssignment] = []
    for i, item in enumerate(drawn):
        found.append(item)
        if i in after:
            found.append(NewAssignment(after[i].id, None, tuple(shuffled(after[i].systems, rng)), 1.0))
    return found


def _new_checks(
    drawn: Sequence[NewAssignment], state: DrawState, mine: Sequence[Assignment], rng: Random
) -> list[CampaignUnit]:
    """Return checks that are new to a participant in random order, of other segments than the block if there are any."""
    had, ids = {a.unit.id for a in mine}, {new.unit_id for new in drawn}
    segments = {unit.of for unit in state.units if unit.id in ids}
    pool = [u for u in state.units if u.kind == "check" and not u.retired and u.id not in had]
    elsewhere = [unit for unit in pool if unit.of not in segments]
    return shuffled(elsewhere or pool, rng)


def _new_repeats(state: DrawState, mine: Sequence[Assignment], rng: Random) -> list[CampaignUnit]:
    """Return the repeats that are new to a participant, of items submitted before the latest block, in random order."""
    had, items = {a.unit.id for a in mine}, [a for a in mine if a.unit.kind == "item"]
    if not items:
        return []
    latest = max(items, key=lambda a: a.position).unit.block
    ready = {a.unit.name for a in items if a.submitted is not None and a.unit.block != latest}
    repeats = [u for u in state.units if u.kind == "repeat" and not u.retired and u.id not in had]
    return shuffled([unit for unit in repeats if unit.details.get("unit") in ready], rng)
