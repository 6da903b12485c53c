"""The submitted units of a campaign, on which verdicts on its participants are based (`core.campaigns.verdicts`)."""

from __future__ import annotations

from collections.abc import Sequence

from core.campaigns.submitted import UnitJudgement
from core.ports.campaigns import Campaign
from core.ports.store import Store
from core.text.words import words


def submitted_units(store: Store, campaign: Campaign, given: Sequence[UnitJudgement]) -> list[UnitJudgement]:
    """Return the submitted units that were judged, with the number of words to be read."""
    texts = store.projects.dataset(campaign.texts)
    length = {s.doc_id: len(words(s.source or "")) for s in texts.segments}
    for output in texts.outputs:
        length[output.doc_id] += len(words(output.text))
    return [a._replace(words=length.get(a.unit.name, 0)) for a in given if a.labels.submitted and not a.labels.declined]
