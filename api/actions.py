"""What the page of an annotator asks for: open a segment, save labels of the segments that a person may label, leave a campaign.

To open a segment is no GET, because that changes things: the person joins a campaign, units are given out, and the order of outputs is drawn.
"""

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

from api import health
from api.endpoint import AtOnce, RequestRefused, endpoint, key_of, received, secret, store
from api.task import catalogue
from core.data import SegmentKey
from core.errors import UserError
from core.ports.campaigns import Campaign
from core.ports.labels import UnitTouch
from core.ports.people import Identity
from core.ports.store import Store
from core.services.campaigns import decisions, work
from core.services.labels import editor
from core.services.labels.editor import LARGEST_NUMBER, browser_events, locked_outputs, receive
from core.services.people.sessions import outbox_name
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
    who, sent = await received(request, LabelBatches)
    rater = rater_of(who, sent.rater)
    with health.WAITING.track_inprogress(), AT_WORK.one(key_of(who, request)):
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


class UnitChoice(BaseModel):
    """The segment to open, or the one a step away from it; without `doc` and `segment` the first one that is not submitted."""

    project: int | None = Field(
        None, ge=0, le=LARGEST_NUMBER, description="The project; a personal link belongs to one anyway."
    )
    doc: str | None = None
    segment: str | None = None
    step: editor.Step = "here"


@endpoint
async def unit(request: Request) -> Response:
    who, asked = await received(request, UnitChoice)
    segment = None if asked.doc is None or asked.segment is None else SegmentKey(asked.doc, asked.segment)
    project = who.link.project_id if who.link else asked.project
    if project is None:
        raise RequestRefused(422, "project: expected a number")
    data = await run_in_threadpool(opened, who, project, segment, asked.step)
    return JSONResponse(data, headers={"Cache-Control": "no-store"})


def campaign_of(mine: Store, who: Identity, project_id: int) -> Campaign | None:
    """Return the campaign with these texts, None in other projects. Changes nothing.

    Raises `RequestRefused` for who does not label there under a name that the server knows, and `UserError` before a campaign starts.
    """
    if who.rater is None or not who.annotates(project_id):
        raise RequestRefused(403, "You do not label in this project")
    campaign = mine.campaigns.of_texts(project_id)
    if campaign is not None:
        if not who.takes_part(project_id):
            raise RequestRefused(403, "You do not take part in this evaluation. Ask a manager to add you")
        work.require_started(campaign)
    return campaign


def opened(who: Identity, project_id: int, segment: SegmentKey | None, step: editor.Step) -> dict[str, Any]:
    """Open a segment and return the data of the editor, with the name of the person's outbox. Refuses as `campaign_of` does."""
    mine = store(who, tasks=True)
    campaign = campaign_of(mine, who, project_id)
    if campaign is not None:
        data = work.unit_page(mine, campaign, who.rater or "", segment, step)
    else:
        asked = editor.outline(mine, project_id, who.link.batch if who.link else None)
        data = editor.unit(mine, project_id, who.rater or "", asked, segment, step)
    return data | {"outbox": outbox_name(secret(load_settings().database), who)}


class LeaveChoice(BaseModel):
    """Whether the participant leaves. Submitted units count in both cases."""

    project: int | None = Field(None, description="The evaluation; a personal link belongs to one anyway.")
    left: bool = Field(description="True to leave, false to receive units again.")


@endpoint
async def leave(request: Request) -> Response:
    who, sent = await received(request, LeaveChoice)

    def change() -> str:
        mine, texts = store(who, tasks=True), who.link.project_id if who.link else sent.project
        campaign = mine.campaigns.of_texts(texts) if texts is not None and who.takes_part(texts) else None
        if campaign is None or who.rater is None:
            raise RequestRefused(404, "You do not take part in this evaluation")
        return work.leave(mine, campaign, who.rater, sent.left).code

    return JSONResponse({"code": await run_in_threadpool(change)}, headers={"Cache-Control": "no-store"})
