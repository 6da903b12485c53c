"""Which units of a campaign a participant may label, and what is noted after a save."""

from __future__ import annotations

from collections.abc import Collection
from threading import Lock

from api.storage import store
from core.data import SegmentKey
from core.mqm.log import fold_segment
from core.ports.campaigns import Campaign
from core.ports.people import Identity
from core.services.campaigns import deciding, working
from core.services.labels import units
from core.services.labels.exchange import EditorPlace
from core.settings import load as settings

MOST_KNOWN = 200_000
MOST_SETS = 256
_given: set[tuple[str, int, str, SegmentKey]] = set()
_sets: dict[tuple[str, int, str], frozenset[SegmentKey]] = {}
_lock = Lock()


def may_label(project_id: int, rater: str, segment: SegmentKey) -> bool | None:
    """Return whether a unit was given to this rater, or None if the project has no texts of a campaign.

    A unit that was given once stays allowed, so labels that arrive late are saved.
    """
    campaign = store().campaigns.of_texts(project_id)
    if campaign is None:
        return None
    key = (settings().database, project_id, rater, segment)
    if campaign.state in ("running", "paused") and key in _given:
        return True
    if not working.may_label(store(), campaign, rater, segment):
        return False
    with _lock:
        if len(_given) >= MOST_KNOWN:
            _given.clear()
        _given.add(key)
    return True


def in_calibration_set(project_id: int, batch: str, segment: SegmentKey) -> bool:
    """Return whether a segment is in the calibration set of this name, which is read again before a refusal.

    A set may be deleted and made again under its name. Segments of the set before stay allowed, so labels that arrive late are saved.
    Raises `UserError` if there is no such set.
    """
    key = (settings().database, project_id, batch)
    known = _sets.get(key, frozenset())
    if segment in known:
        return True
    known |= units.outline(store(), project_id, batch, archived=True).keys()
    with _lock:
        if len(_sets) >= MOST_SETS:
            _sets.clear()
        _sets[key] = known
    return segment in known


def may_decide(who: Identity, project_id: int, segment: SegmentKey) -> bool:
    """Return whether this person decides on a unit on which raters disagree."""
    campaign = store().campaigns.of_texts(project_id)
    return campaign is not None and deciding.may_decide(store(), campaign, who, segment)


def note_saved(rater: str, places: Collection[EditorPlace]) -> None:
    """Note after a save that units of campaigns are being worked on or submitted. Decisions need no note."""
    for place in places:
        if (campaign := store().campaigns.of_texts(place.project_id)) and _labels(campaign, rater, place):
            events = store().labels.events(place.project_id, rater=rater, segment=place.segment)
            working.note_saved(store(), campaign, rater, place.segment, fold_segment(events))


def _labels(campaign: Campaign, rater: str, place: EditorPlace) -> bool:
    key = (settings().database, place.project_id, rater, place.segment)
    return key in _given or deciding.is_participant(store(), campaign, rater)
