"""Which segments a person may label, and what is noted with a save. Functions take storage as this person may use it for tasks."""

from __future__ import annotations

from threading import Lock

from core.data import SegmentKey
from core.errors import UserError
from core.ports.campaigns import Campaign
from core.ports.labels import UnitTouch
from core.ports.people import Identity
from core.ports.store import Store
from core.services.campaigns import deciding, working
from core.services.labels import units
from core.settings import load as settings

MOST_KNOWN = 200_000
MOST_SETS = 256
_given: set[tuple[str, int, str, SegmentKey]] = set()
_sets: dict[tuple[str, int, str], frozenset[SegmentKey]] = {}
_lock = Lock()


def admit(store: Store, who: Identity, project_id: int, segment: SegmentKey) -> UnitTouch | None:
    """Return what a save in a segment notes of a unit of a campaign, None outside of campaigns. Decisions are noted nowhere (`LabelLog.append`).

    Raises `UserError` unless the segment is a unit of this person, in the calibration set of their link, or theirs to decide.
    """
    campaign = store.campaigns.of_texts(project_id) if who.annotates(project_id) else None
    if not _may_label(store, who, campaign, project_id, segment):
        raise UserError("this segment is not among those that you label", hint="Ask for a new link")
    return None if campaign is None else working.unit_touch(campaign)


def _may_label(store: Store, who: Identity, campaign: Campaign | None, project_id: int, segment: SegmentKey) -> bool:
    if not who.annotates(project_id):
        return False
    if campaign is not None and deciding.may_decide(store, campaign, who, segment):
        return True
    if campaign is not None and who.rater is not None:
        return who.takes_part(project_id) and _was_given(store, campaign, who.rater, segment)
    if who.link is None or who.link.batch is None:
        return True
    return _in_calibration_set(store, project_id, who.link.batch, segment)


def _was_given(store: Store, campaign: Campaign, rater: str, segment: SegmentKey) -> bool:
    """Return whether a unit was given to this rater. One that was given once stays allowed, so labels that arrive late are saved."""
    key = (settings().database, campaign.texts, rater, segment)
    if campaign.state in ("running", "paused") and key in _given:
        return True
    if not working.may_label(store, campaign, rater, segment):
        return False
    with _lock:
        if len(_given) >= MOST_KNOWN:
            _given.clear()
        _given.add(key)
    return True


def _in_calibration_set(store: Store, project_id: int, batch: str, segment: SegmentKey) -> bool:
    """Return whether a segment is in the calibration set of this name, which is read again before a refusal.

    A set may be deleted and made again under its name. Segments of the set before stay allowed, so labels that arrive late are saved.
    Raises `UserError` if there is no such set.
    """
    key = (settings().database, project_id, batch)
    known = _sets.get(key, frozenset())
    if segment in known:
        return True
    known |= units.outline(store, project_id, batch, archived=True).keys()
    with _lock:
        if len(_sets) >= MOST_SETS:
            _sets.clear()
        _sets[key] = known
    return segment in known
