"""`POST /api/actions`: save labels of the segments that a person may label. The answer says which actions are on disk."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from threading import Lock
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from api import health, people
from api.endpoint import body, endpoint
from api.refusals import AT_ONCE, PER_SECOND, AtOnce, RateLimit, RequestRefused
from api.storage import store
from api.task import catalogue
from core.data import SegmentKey
from core.errors import UserError
from core.ports.campaigns import Campaign
from core.ports.labels import UnitTouch
from core.ports.people import Identity
from core.ports.store import Store
from core.services.campaigns import decisions, work
from core.services.labels import editor
from core.services.labels.editor import browser_events, locked_outputs, receive
from core.settings import load_settings

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
    return None if campaign is None else work.unit_touch(campaign)


def _may_label(store: Store, who: Identity, campaign: Campaign | None, project_id: int, segment: SegmentKey) -> bool:
    if not who.annotates(project_id):
        return False
    if campaign is not None and decisions.may_decide(store, campaign, who, segment):
        return True
    if campaign is not None and who.rater is not None:
        return who.takes_part(project_id) and _was_given(store, campaign, who.rater, segment)
    if who.link is None or who.link.batch is None:
        return True
    return _in_calibration_set(store, project_id, who.link.batch, segment)


def _was_given(store: Store, campaign: Campaign, rater: str, segment: SegmentKey) -> bool:
    """Return whether a unit was given to this rater. One that was given once stays allowed, so labels that arrive late are saved."""
    key = (load_settings().database, campaign.texts, rater, segment)
    if campaign.state in ("running", "paused") and key in _given:
        return True
    if not work.may_label(store, campaign, rater, segment):
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
    key = (load_settings().database, project_id, batch)
    known = _sets.get(key, frozenset())
    if segment in known:
        return True
    known |= editor.outline(store, project_id, batch, archived=True).keys()
    with _lock:
        if len(_sets) >= MOST_SETS:
            _sets.clear()
        _sets[key] = known
    return segment in known


LIMIT = RateLimit(PER_SECOND, AT_ONCE)
AT_WORK = AtOnce(8)  # a thread each, of about 40
LARGEST_BATCH = 200
"""Actions in a batch. The page sends at most 50 in a request."""


def _short_enough(batch: Any) -> Any:
    actions = batch.get("actions") if isinstance(batch, Mapping) else None
    if isinstance(actions, list) and len(actions) > LARGEST_BATCH:
        raise ValueError(
            f"{len(actions):,} actions, expected at most {LARGEST_BATCH}. Nothing was saved; send them in several requests"
        )
    return batch


class LabelBatches(BaseModel):
    """Actions of one annotator, in order. A batch has actions on one segment.

    A batch {project, doc, segment, actions: [{id, kind, output, payload, time}]} is checked when it is saved, so that one wrong
    action does not hold up the others. Without actions it asks for the saved labels of its segment. A batch has at most 200 actions.
    """

    model_config = ConfigDict(extra="ignore")

    rater: str = Field(max_length=200, description="Name of the annotator; it must be the one who is logged in.")
    batches: list[Annotated[Any, AfterValidator(_short_enough)]] = Field(max_length=100)


class SegmentState(BaseModel):
    """The saved actions of this annotator on a segment, in order, and the outputs that can no longer be changed."""

    project: int
    doc: str
    segment: str
    events: list[dict[str, Any]]
    locked: list[str]


class ActionsSaved(BaseModel):
    """The ids of actions that are on disk, and of refused ones with the reason.

    An action in neither was not saved now, and `why` says why: send it again. `stale` actions were made on labels that have changed since.
    `segments` has the saved labels where something was refused or asked.
    """

    acknowledged: list[str]
    refused: dict[str, str]
    stale: list[str]
    segments: list[SegmentState]
    why: str = ""


@endpoint
async def actions(request: Request) -> Response:
    began = time.perf_counter()
    who = await run_in_threadpool(people.identify, request)
    key = people.key_of(who, request)
    LIMIT.take(key)
    people.check_csrf(who, request)
    sent = await body(request, LabelBatches)
    rater = rater_of(who, sent.rater)
    with health.waiting(), AT_WORK.one(key):
        saved = await run_in_threadpool(save, who, rater, sent.batches, catalogue.of_request(request))
    if saved.acknowledged:
        health.saved(len(saved.acknowledged), time.perf_counter() - began)
    return JSONResponse(saved.model_dump(), headers={"Cache-Control": "no-store"})


def rater_of(who: Identity, named: str) -> str:
    """Return the name under which labels are saved: the server decides it unless there are no accounts."""
    rater = who.rater
    if rater is None:
        return named
    if named != rater:
        raise RequestRefused(403, "These labels belong to another person. Log in as that person to send them")
    return rater


def save(who: Identity, rater: str, batches: list[Any], said: catalogue.Translate = str) -> ActionsSaved:
    """Record the actions; return what is on disk. `said` translates reasons."""
    mine = store(who, tasks=True)
    answer = receive(mine, rater, batches, partial(admit, mine, who), said)
    return ActionsSaved(
        acknowledged=answer.acknowledged, refused=answer.refused, stale=answer.stale,
        segments=[_state(mine, rater, *place) for place in sorted(answer.broken | answer.asked)],
        why=answer.why,
    )  # fmt: skip


def _state(mine: Store, rater: str, project_id: int, segment: SegmentKey) -> SegmentState:
    recorded = mine.labels.recorded(project_id, rater, segment)
    return SegmentState(
        project=project_id, doc=segment.doc_id, segment=segment.segment_id, events=browser_events(recorded),
        locked=locked_outputs(recorded.labels),
    )  # fmt: skip
