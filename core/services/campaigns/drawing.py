"""What a participant gets next: the tutorial first, then a fixed list or a drawn block, with checks and repeats between."""

from __future__ import annotations

from core.campaigns.assignment import draw_block
from core.campaigns.design import CampaignDesign
from core.campaigns.handing_over import ListOwner, ListState
from core.campaigns.interleaving import tutorial_first, with_checks
from core.ports.campaigns import Draw, DrawState, NewAssignment, Participant


def draw(design: CampaignDesign, who: Participant, place: int) -> Draw:
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
