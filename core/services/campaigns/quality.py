"""Verdicts on the participants of a campaign, from their submitted units."""

from __future__ import annotations

from collections.abc import Sequence

from core.campaigns.submitted import QualityThresholds, RaterVerdict, SubmittedUnit
from core.campaigns.verdicts import DEFAULT_THRESHOLDS, verdicts
from core.ports.campaigns import Campaign
from core.ports.store import Store
from core.services.campaigns.answers import Answer, answers
from core.text.words import words


def rater_verdicts(
    store: Store,
    campaign: Campaign,
    given: Sequence[Answer] | None = None,
    thresholds: QualityThresholds = DEFAULT_THRESHOLDS,
) -> list[RaterVerdict]:
    """Return one verdict per participant who has submitted anything, by name; excluded people have one too."""
    units = submitted_units(store, campaign, answers(store, campaign) if given is None else given)
    return verdicts(units, thresholds)


def submitted_units(store: Store, campaign: Campaign, given: Sequence[Answer]) -> list[SubmittedUnit]:
    """Return the submitted units that were judged, with the number of words to be read."""
    texts = store.projects.dataset(campaign.texts)
    length = {s.doc_id: len(words(s.source or "")) for s in texts.segments}
    for output in texts.outputs:
        length[output.doc_id] += len(words(output.text))
    return [
        SubmittedUnit(
            a.participant.rater, a.unit.name, a.unit.kind, a.unit.of, a.unit.systems, a.labels, a.labels.seconds,
            length.get(a.unit.name, 0), a.assignment.submitted, a.unit.details,
        )
        for a in given
        if a.labels.submitted and not a.labels.declined
    ]  # fmt: skip
