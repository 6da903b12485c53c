"""What a participant gets next: the tutorial first, then a fixed list or a drawn block, with checks and repeats between."""

from __future__ import annotations

from core.campaigns.assignment import draw_block
from core.campaigns.design import CampaignDesign
from core.campaigns.fixed_lists import fixed_lists
from core.campaigns.interleaving import tutorial_first, with_checks
from core.ports.campaigns import Draw, DrawState, NewAssignment, Participant


def draw(design: CampaignDesign, who: Participant, place: int) -> Draw:
    """Return the draw for a participant, the `place`-th (from 0) who joined.

    After the tutorial, participants wait until all of it is submitted. A fixed list comes whole, once; people beyond the planned
    number get none.
    """

    def drawn(state: DrawState) -> list[NewAssignment]:
        if first := tutorial_first(state, who.id):
            return first
        mine = [a for a in state.assignments if a.participant_id == who.id]
        if design.assigning == "dynamic":
            return with_checks(draw_block(state, who.id, design), state, who.id, design)
        if place >= design.people or any(a.unit.kind == "item" for a in mine):
            return []
        retired = {u.id for u in state.units if u.retired}
        wanted = [a for a in fixed_lists(state.units, design)[place] if a.unit_id not in retired]
        return with_checks(wanted, state, who.id, design)

    return drawn
