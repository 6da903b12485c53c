"""Data exchanged with the span editor, where outputs have random ids, for the units that one annotator labels."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from core.campaigns.protocol import PROTOCOLS, Protocol
from core.data import Dataset, OutputKey, Segment, SegmentKey, is_storable
from core.errors import Stale, Unavailable, UserError
from core.ports.labels import ON_OUTPUT, STEPS, Action, Ask, ErrorSpan, RecordedSegment, SegmentLabels, UnitTouch
from core.ports.store import Store
from core.services.labels.labels import (
    LabelsBySegment,
    Outline,
    finished,
    next_unlabelled,
    open_segment,
    outline_of,
    shown_order,
)
from core.services.labels.protocols import asked_of, is_protocol_stored, protocol_of, typology_of

_SPAN = ("mark", "side", "start", "end", "quote", "severity", "category", "note", "seen")
FIELDS: Mapping[str, tuple[str, ...]] = {
    "add": (*_SPAN, "suggestion"),
    "change": _SPAN,
    "delete": ("mark", "seen"),
    "reject": ("suggestion", "seen"),
    "verdict": ("value", "seen"),
    "score": ("value", "seen"),
    "prefer": ("winner", "seen"),
    "decline": ("reason", "seen"),
    "undo": ("seen",),
    "redo": ("seen",),
    "submit": ("outputs", "seen"),
    "reopen": ("seen",),
}
"""The actions of the browser, and the fields of their payloads: never a system name."""
BEFORE, AFTER = 2, 1
LARGEST_NUMBER, LONGEST_ID = 2**53, 200

Admit = Callable[[int, SegmentKey], UnitTouch | None]
"""Returns what a save in a segment notes of a unit of a campaign, None elsewhere. Raises `UserError` if the person may not label there."""


class EditorPlace(NamedTuple):
    project_id: int
    segment: SegmentKey


@dataclass
class ActionsAnswer:
    """What became of the actions that a browser sent: the saved ones, and the refused ones with their reasons.

    `stale` are the refused ones that were made on labels which have changed since. An action in neither could not be saved
    now, and `why` is the reason; the browser keeps it and sends it again.
    """

    acknowledged: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    stale: list[str] = field(default_factory=list)
    seen: dict[str, str] = field(default_factory=dict)  # by refused action: the version that it was made on
    broken: set[EditorPlace] = field(default_factory=set)  # where something was refused
    asked: set[EditorPlace] = field(default_factory=set)  # of batches without actions, which ask for the labels
    why: str = ""
    said: Callable[[str], str] = str  # translates the reasons


def receive(
    store: Store,
    rater: str,
    batches: Iterable[Any],
    admit: Admit = lambda project, segment: None,
    said: Callable[[str], str] = str,
) -> ActionsAnswer:
    """Save what a browser sent: `batches` [{project, doc, segment, actions: [{id, kind, output, payload, time}]}].

    A batch is one transaction. Wrong actions are left out of it and refused one by one.
    After a refusal, undo and redo of that segment are refused too: they referred to an action that does not exist. If
    storage cannot be written, the rest waits in the browser, so that the order of actions is kept. `said` translates reasons.
    """
    answer = ActionsAnswer(said=said)
    for batch in batches:
        try:
            if isinstance(batch, Mapping):
                _record(store, rater, batch, admit, answer)
        except Unavailable as error:
            what = said(error.what)
            answer.why = f"{what[:1].upper()}{what[1:]}"  # without its place, a path on the server
            break
    return answer


def _record(store: Store, rater: str, batch: Mapping[str, Any], admit: Admit, answer: ActionsAnswer) -> None:
    raw = _entries(batch.get("actions"), answer)
    try:
        place = _place(batch)
        touch = admit(*place)
        asks = asked_of(store, place.project_id)
        _check_categories(store, rater, place, raw, answer)
    except Unavailable:
        raise
    except UserError as error:
        answer.refused.update({a["id"]: error.sentence(answer.said) for a in raw})
        return
    if not batch.get("actions"):
        answer.asked.add(place)
    entries: dict[str, Mapping[str, Any]] = {}
    for entry in raw:
        if entry["id"] not in answer.refused:
            entries.setdefault(entry["id"], entry)

    def action_of(name: str, ids: Mapping[str, str]) -> Action:
        systems = {shown: system for system, shown in ids.items()}
        action = _without_refused(_action(entries[name], systems, asks), answer)
        if action.kind in STEPS and place in answer.broken:
            raise UserError(
                "an earlier action was refused, so this undo or redo was skipped", hint="Check the error spans"
            )
        return action

    def refuse(name: str, error: UserError) -> None:
        _refuse(entries[name], place, error, answer)

    if not entries:
        return
    try:
        saved = store.labels.append_valid(
            place.project_id, rater, place.segment, list(entries), action_of, refuse, touch
        )
        answer.acknowledged += saved.ids
    except Unavailable:
        raise
    except UserError as error:
        for name in entries:
            refuse(name, error)


def _refuse(entry: Mapping[str, Any], place: EditorPlace, why: UserError, answer: ActionsAnswer) -> None:
    answer.refused[entry["id"]] = why.sentence(answer.said)
    answer.broken.add(place)
    payload = entry.get("payload")
    seen = payload.get("seen") if isinstance(payload, Mapping) else None
    if isinstance(why, Stale):
        answer.stale.append(entry["id"])
    elif isinstance(seen, str):
        answer.seen[entry["id"]] = answer.seen.get(seen, seen)


def _without_refused(action: Action, answer: ActionsAnswer) -> Action:
    """Return the action as made on the version before actions that were refused (for another reason than being stale)."""
    seen = action.payload.get("seen")
    if not isinstance(seen, str) or seen not in answer.seen:
        return action
    return action._replace(payload={**action.payload, "seen": answer.seen[seen]})


def _entries(actions: Any, answer: ActionsAnswer) -> list[Mapping[str, Any]]:
    """Return the actions with a valid id; refuse those with a numeric one."""
    valid = []
    for entry in actions if isinstance(actions, list | tuple) else ():
        name = entry.get("id") if isinstance(entry, Mapping) else None
        if isinstance(name, str) and len(name) <= LONGEST_ID and is_storable(name):
            valid.append(entry)
        elif isinstance(name, int | float):
            answer.refused[str(name)] = _disagreement().sentence(answer.said)
    return valid


def _place(batch: Mapping[str, Any]) -> EditorPlace:
    """Return the segment of a batch. Raises `UserError` if it is invalid."""
    project, doc, segment = batch.get("project"), batch.get("doc"), batch.get("segment")
    whole = isinstance(project, int) and not isinstance(project, bool) and 0 <= project <= LARGEST_NUMBER
    if not (whole and isinstance(doc, str) and isinstance(segment, str) and is_storable(doc + segment)):
        raise _disagreement()
    return EditorPlace(int(project or 0), SegmentKey(doc, segment))


def _check_categories(
    store: Store, rater: str, place: EditorPlace, raw: Sequence[Mapping[str, Any]], answer: ActionsAnswer
) -> None:
    """Refuse categories that are neither in the typology nor in imported labels of this annotator for the segment."""
    payloads = {entry["id"]: entry.get("payload") for entry in raw}
    categories = {
        i: p["category"] for i, p in payloads.items() if isinstance(p, Mapping) and isinstance(p.get("category"), str)
    }
    unknown = set(categories.values())
    if unknown:
        unknown -= {c.path for c in typology_of(store, place.project_id).categories}
    if unknown:
        before = store.labels.events(place.project_id, rater=rater, segment=place.segment)
        unknown -= {event.action.payload.get("category") for event in before}
    for entry in raw:
        category = categories.get(entry["id"], "")
        if category in unknown:
            hint = "Choose one from the list"
            _refuse(entry, place, UserError("this category does not exist", got=repr(category[:60]), hint=hint), answer)


def _disagreement() -> UserError:
    return UserError("the page is out of date for this segment", hint="Reload the page")


def _action(raw: Mapping[str, Any], names: Mapping[str, str], asks: Sequence[Ask]) -> Action:
    """Return the action for the log, with the known fields only. The log checks their form."""
    try:
        kind, raw_payload = raw["kind"], dict(raw.get("payload") or {})
        system = names[raw["output"]] if kind in ON_OUTPUT else None
        payload = {k: raw_payload[k] for k in FIELDS[kind] if k in raw_payload}
        if kind == "submit" and "outputs" in payload:
            payload["systems"] = [names[output] for output in payload.pop("outputs")]
        if kind == "prefer" and payload.get("winner") is not None:
            payload["winner"] = names[payload["winner"]]
        if kind == "submit" and asks != ("spans",):
            payload["asks"] = list(asks)
    except (KeyError, TypeError, ValueError) as error:
        raise _disagreement() from error
    return Action(raw["id"], kind, system, payload, str(raw.get("time", "")))


def nearby(store: Store, project_id: int, segment: SegmentKey) -> Dataset:
    """Return the texts of a segment and of those neighbours in its document that the editor shows."""
    around = store.projects.index(project_id).around(segment, BEFORE, AFTER)
    return store.projects.texts(project_id, around)


def editor_data(
    document: Dataset,
    project_id: int,
    rater: str,
    segment: SegmentKey,
    systems: Collection[str],
    recorded: RecordedSegment,
    *,
    more: bool,
    protocol: Protocol = PROTOCOLS["mqm"],
    declines: bool = False,
) -> dict[str, Any]:
    """Return the data of the editor. `document` has at least the texts that the editor shows (`nearby`).

    `recorded` is the rater's of this segment, which must be open (`labels.open_segment`) for these `systems`. `more`: another
    segment is unlabelled. `declines`: the rater may say that the segment cannot be judged. Names of systems are sent once they
    were revealed.
    """
    labels, typology = recorded.labels, protocol.typology
    around = [s for s in document.segments if s.doc_id == segment.doc_id]
    at = next(i for i, s in enumerate(around) if s.key == segment)
    before, current, after = around[max(0, at - BEFORE) : at], around[at], around[at + 1 : at + 1 + AFTER]
    texts = {o.key: o.text for o in document.outputs}

    def beside(system: str, others: Sequence[Segment]) -> str:
        return "\n".join(t for s in others if (t := texts.get(OutputKey(system, s.doc_id, s.segment_id))))

    return {
        "project": project_id,
        "rater": rater,
        "doc": segment.doc_id,
        "segment": segment.segment_id,
        "source": current.source,
        "references": list(current.references) if current.source is None else [],
        "before": [s.source for s in before if s.source],
        "after": [s.source for s in after if s.source],
        "outputs": [
            {
                "id": labels.ids[system],
                "label": f"Output {number}",
                "name": system if system in labels.revealed else None,
                "text": texts[OutputKey(system, *segment)],
                "before": beside(system, before[-1:]),
                "after": beside(system, after[:1]),
                **_suggested(labels.suggestions.get(system, ())),
            }
            for number, system in enumerate(shown_order(labels, systems), start=1)
        ],
        "events": browser_events(recorded),
        "locked": locked_outputs(labels),
        "categories": [c._asdict() for c in typology.categories],
        "severities": [s._asdict() for s in typology.severities if s.name in protocol.severities],
        "whole": typology.whole._asdict(),
        "typology": typology.title,
        "omission": typology.omission,
        "title": protocol.title,
        "asks": list(protocol.asks),
        "anchors": [anchor._asdict() for anchor in protocol.anchors],
        "ties": protocol.ties,
        "declines": declines,
        "next": more,
    }


def _suggested(suggestions: Sequence[ErrorSpan]) -> dict[str, Any]:
    """Return the suggestions of an output for the editor; nothing without any, as in the control arm of a campaign."""
    fields = ("side", "start", "end", "quote", "severity", "category")
    rows = [{"id": s.id} | {name: getattr(s.span, name) for name in fields} for s in suggestions]
    return {"suggestions": rows} if rows else {}


def browser_events(recorded: RecordedSegment) -> list[dict[str, Any]]:
    """Return a rater's actions on a segment as the browser made them, without names of systems."""
    return [_sent(e.action, recorded.labels.ids) for e in recorded.events if e.action.kind in FIELDS]


def locked_outputs(labels: SegmentLabels) -> list[str]:
    """Return the ids of the outputs whose labels can no longer be changed, because the names of their systems were shown."""
    return sorted(labels.ids[system] for system in labels.revealed if system in labels.ids)


def _sent(action: Action, ids: Mapping[str, str]) -> dict[str, Any]:
    output = None if action.system is None else ids.get(action.system)
    payload = {k: action.payload[k] for k in FIELDS[action.kind] if k in action.payload}
    if payload.get("winner") is not None:
        payload["winner"] = ids.get(payload["winner"])
    if action.kind == "submit" and "systems" in action.payload:
        payload["outputs"] = [ids[system] for system in action.payload["systems"] if system in ids]
    return {"id": action.id, "kind": action.kind, "output": output, "payload": payload}


Step = Literal["here", "next", "previous", "unlabelled"]


def outline(store: Store, project_id: int, batch: str | None = None, *, archived: bool = False) -> Outline:
    """Return the segments to label in their order, each with its systems: all of a project, or those of a calibration set.

    Raises `UserError` if the set does not exist, or was deleted after some of it was labelled (unless `archived`).
    """
    if batch is None:
        return store.projects.index(project_id).outline
    chosen_batch = next(
        (b for b in store.batches.list(project_id) if b.name == batch and (archived or not b.archived)), None
    )
    if chosen_batch is None:
        raise UserError("the calibration set of this link no longer exists", hint="Ask for a new link")
    return outline_of(chosen_batch)


def choose_segment(asked: Outline, mine: LabelsBySegment, current: SegmentKey | None, step: Step) -> SegmentKey:
    """Return the segment to show: `current` or a step from it; without `current`, the first one that is not submitted.

    Raises `UserError` if there is no segment.
    """
    keys = list(asked)
    if not keys:
        raise UserError("there is nothing to label", hint="Ask the person who sent you here")
    at = None if current is None or current not in asked else keys.index(current)
    if at is not None and step == "here":
        return keys[at]
    if at is not None and step in ("next", "previous"):
        return keys[max(0, min(at + (1 if step == "next" else -1), len(keys) - 1))]
    return next_unlabelled(asked, mine, current) or keys[at or 0]


def unit(
    store: Store, project_id: int, rater: str, asked: Outline, current: SegmentKey | None = None, step: Step = "here"
) -> dict[str, Any]:
    """Return the data of the editor for one segment (`exchange.editor_data`), with `done` and `total` segments."""
    mine = store.labels.of_rater(project_id, rater)
    segment = choose_segment(asked, mine, current, step)
    systems = asked[segment]
    recorded = open_segment(store, project_id, rater, segment, systems)
    submitted = {key for key, of in asked.items() if finished(mine.get(key), of)}
    data = editor_data(
        nearby(store, project_id, segment), project_id, rater, segment, systems, recorded,
        more=any(key != segment and key not in submitted for key in asked), protocol=protocol_of(store, project_id),
        declines=is_protocol_stored(store, project_id),
    )  # fmt: skip
    return data | {"done": len(submitted), "total": len(asked), "at": list(asked).index(segment) + 1}
