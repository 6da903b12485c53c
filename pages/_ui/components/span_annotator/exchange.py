"""Data exchanged by the span editor and the page. Outputs have blind ids in the browser, without system names."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from core.data import Dataset, OutputKey, SegmentKey, is_storable
from core.errors import Stale, Unavailable, UserError
from core.mqm.log import STEPS, SegmentLabels, fold_segment
from core.mqm.typology import MQM, Typology
from core.ports.labels import Action, Event
from core.ports.store import Store
from core.services.labels.labels import save
from core.services.labels.typologies import of_project

_SPAN = ("mark", "side", "start", "end", "quote", "severity", "category", "note", "seen")
FIELDS: Mapping[str, tuple[str, ...]] = {
    "add": _SPAN,
    "change": _SPAN,
    "delete": ("mark", "seen"),
    "verdict": ("value", "seen"),
    "undo": ("seen",),
    "redo": ("seen",),
    "submit": ("outputs", "seen"),
    "reopen": ("seen",),
}
"""The actions of the browser, and the fields of their payloads: never a system name."""
ON_OUTPUT = frozenset({"add", "change", "delete", "verdict"})
BEFORE, AFTER = 2, 1
LARGEST_NUMBER, LONGEST_ID = 2**53, 200

Systems = Callable[[int, SegmentKey], Sequence[str]]


def blind_id(project_id: int, segment: SegmentKey, system: str) -> str:
    """Return the id of an output in the browser: it hides the system and stays the same when systems are added."""
    text = "\x1f".join([str(project_id), *segment, system])
    return "o" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


@dataclass
class OutboxAnswer:
    """The result of an outbox: its number, the saved actions, and the refused ones with their reasons.

    `stale` are the refused ones that were made on labels which have changed since. An action in neither could not be saved
    now; the browser keeps it and sends it again.
    """

    received: int = 0
    acknowledged: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    stale: list[str] = field(default_factory=list)
    seen: dict[str, str] = field(default_factory=dict)  # by refused action: the version that it was made on
    labels: dict[tuple[int, SegmentKey], SegmentLabels] = field(default_factory=dict)
    broken: set[tuple[int, SegmentKey]] = field(default_factory=set)  # where something was refused


def receive(store: Store, rater: str, outbox: Any, systems: Systems) -> OutboxAnswer:
    """Save what the browser sent. An outbox of another annotator is ignored: it waits in that browser.

    A batch is one transaction. If it is refused, its actions are tried one by one, so that only the wrong ones are lost.
    After a refusal, undo and redo of that segment are refused too: they referred to an action that does not exist. If
    storage cannot be written, the rest of the outbox waits, so that the order of actions is kept.
    """
    if not isinstance(outbox, Mapping) or outbox.get("rater") != rater:
        return OutboxAnswer()
    n, batches = outbox.get("n"), outbox.get("batches")
    if isinstance(n, bool) or not isinstance(n, int | float) or not 0 <= n <= LARGEST_NUMBER:
        return OutboxAnswer()
    answer = OutboxAnswer(received=int(n))
    for batch in batches if isinstance(batches, list | tuple) else ():
        try:
            if isinstance(batch, Mapping):
                _record(store, rater, batch, systems, answer)
        except Unavailable:
            break
    return answer


class EditorPlace(NamedTuple):
    project_id: int
    segment: SegmentKey


def _record(store: Store, rater: str, batch: Mapping[str, Any], systems: Systems, answer: OutboxAnswer) -> None:
    raw = _entries(batch.get("actions"), answer)
    try:
        place = _place(batch)
        names = {blind_id(place.project_id, place.segment, s): s for s in systems(place.project_id, place.segment)}
        _check_categories(store, rater, place, raw, answer)
    except Unavailable:
        raise
    except UserError as error:
        answer.refused.update({a["id"]: str(error) for a in raw})
        return
    raw = [a for a in raw if a["id"] not in answer.refused]
    if not raw or (place not in answer.broken and _whole(store, rater, place, raw, names, answer)):
        return
    for entry in raw:
        try:
            action = _without_refused(_action(entry, names), answer)
            if action.kind in STEPS and place in answer.broken:
                raise UserError(
                    "an earlier action was refused, so this undo or redo was skipped", hint="Check the error spans"
                )
            _save(store, rater, place, [action], answer)
        except Unavailable:
            raise
        except UserError as error:
            _refuse(entry, place, error, answer)


def _refuse(entry: Mapping[str, Any], place: EditorPlace, why: UserError, answer: OutboxAnswer) -> None:
    answer.refused[entry["id"]] = str(why)
    answer.broken.add(place)
    payload = entry.get("payload")
    seen = payload.get("seen") if isinstance(payload, Mapping) else None
    if isinstance(why, Stale):
        answer.stale.append(entry["id"])
    elif isinstance(seen, str):
        answer.seen[entry["id"]] = answer.seen.get(seen, seen)


def _without_refused(action: Action, answer: OutboxAnswer) -> Action:
    """Return the action as made on the version before actions that were refused (for another reason than being stale)."""
    seen = action.payload.get("seen")
    if not isinstance(seen, str) or seen not in answer.seen:
        return action
    return action._replace(payload={**action.payload, "seen": answer.seen[seen]})


def _entries(actions: Any, answer: OutboxAnswer) -> list[Mapping[str, Any]]:
    """Return the actions with a valid id; refuse those with a numeric one."""
    found = []
    for entry in actions if isinstance(actions, list | tuple) else ():
        name = entry.get("id") if isinstance(entry, Mapping) else None
        if isinstance(name, str) and len(name) <= LONGEST_ID and is_storable(name):
            found.append(entry)
        elif isinstance(name, int | float):
            answer.refused[str(name)] = str(_disagreement())
    return found


def _place(batch: Mapping[str, Any]) -> EditorPlace:
    """Return the segment of a batch. Raises `UserError` if it is invalid."""
    project, doc, segment = batch.get("project"), batch.get("doc"), batch.get("segment")
    whole = isinstance(project, int) and not isinstance(project, bool) and 0 <= project <= LARGEST_NUMBER
    if not (whole and isinstance(doc, str) and isinstance(segment, str) and is_storable(doc + segment)):
        raise _disagreement()
    return EditorPlace(int(project or 0), SegmentKey(doc, segment))


def _check_categories(
    store: Store, rater: str, place: EditorPlace, raw: Sequence[Mapping[str, Any]], answer: OutboxAnswer
) -> None:
    """Refuse categories that are neither in the typology nor in imported labels of this annotator for the segment."""
    payloads = {entry["id"]: entry.get("payload") for entry in raw}
    given = {
        i: p["category"] for i, p in payloads.items() if isinstance(p, Mapping) and isinstance(p.get("category"), str)
    }
    unknown = set(given.values())
    if unknown:
        unknown -= {c.path for c in of_project(store, place.project_id).categories}
    if unknown:
        events = store.labels.events(place.project_id, rater=rater, segment=place.segment)
        unknown -= {e.action.payload.get("category") for e in events}
    for entry in raw:
        category = given.get(entry["id"], "")
        if category in unknown:
            hint = "Choose one from the list"
            _refuse(entry, place, UserError("this category does not exist", got=repr(category[:60]), hint=hint), answer)


def _disagreement() -> UserError:
    return UserError("the page is out of date for this segment", hint="Reload the page")


def _whole(
    store: Store,
    rater: str,
    place: EditorPlace,
    raw: Sequence[Mapping[str, Any]],
    names: Mapping[str, str],
    answer: OutboxAnswer,
) -> bool:
    """Save a batch in one transaction; return False, with nothing saved, if an action must be refused."""
    try:
        _save(store, rater, place, [_action(entry, names) for entry in raw], answer)
    except Unavailable:
        raise
    except UserError:
        return False
    return True


def _save(store: Store, rater: str, place: EditorPlace, actions: Sequence[Action], answer: OutboxAnswer) -> None:
    saved = save(store, place.project_id, rater, place.segment, actions)
    answer.acknowledged += saved.ids
    answer.labels[place] = saved.labels


def _action(raw: Mapping[str, Any], names: Mapping[str, str]) -> Action:
    """Return the action for the log, with the known fields only. The log checks their form."""
    try:
        kind, given = raw["kind"], dict(raw.get("payload") or {})
        system = names[raw["output"]] if kind in ON_OUTPUT else None
        payload = {k: given[k] for k in FIELDS[kind] if k in given}
        if kind == "submit" and "outputs" in payload:
            payload |= _rated({names[output] for output in payload.pop("outputs")}, names.values())
    except (KeyError, TypeError, ValueError) as error:
        raise _disagreement() from error
    return Action(raw["id"], kind, system, payload, str(raw.get("time", "")))


def _rated(shown: Collection[str], systems: Iterable[str]) -> dict[str, Any]:
    """Return the payload of a submit: empty if all outputs were shown, else the shown systems (a calibration set may have some)."""
    rated = [system for system in systems if system in shown]
    return {} if set(rated) == set(systems) else {"systems": rated}


def editor_data(
    dataset: Dataset,
    project_id: int,
    rater: str,
    segment: SegmentKey,
    order: Iterable[str],
    events: Iterable[Event],
    answer: OutboxAnswer,
    *,
    more: bool,
    typology: Typology = MQM,
) -> dict[str, Any]:
    """Return the data of the editor. `more`: another segment is unlabelled. Names of systems are sent once they were revealed."""
    recorded = list(events)
    revealed = fold_segment(recorded).revealed
    document = [s for s in dataset.segments if s.doc_id == segment.doc_id]
    at = next(i for i, s in enumerate(document) if s.key == segment)
    before, here, after = document[max(0, at - BEFORE) : at], document[at], document[at + 1 : at + 1 + AFTER]
    texts = {o.key: o.text for o in dataset.outputs}

    def around(system: str, others: Sequence[Any]) -> str:
        return "\n".join(t for s in others if (t := texts.get(OutputKey(system, s.doc_id, s.segment_id))))

    return {
        "project": project_id,
        "rater": rater,
        "doc": segment.doc_id,
        "segment": segment.segment_id,
        "source": here.source,
        "references": list(here.references) if here.source is None else [],
        "before": [s.source for s in before if s.source],
        "after": [s.source for s in after if s.source],
        "outputs": [
            {
                "id": blind_id(project_id, segment, system),
                "label": f"Output {number}",
                "name": system if system in revealed else None,
                "text": texts[OutputKey(system, *segment)],
                "before": around(system, before[-1:]),
                "after": around(system, after[:1]),
            }
            for number, system in enumerate(order, start=1)
        ],
        "events": [_sent(e.action, project_id, segment) for e in recorded if e.action.kind in FIELDS],
        "categories": [c._asdict() for c in typology.categories],
        "severities": [s._asdict() for s in typology.severities],
        "whole": typology.whole._asdict(),
        "typology": typology.title,
        "omission": typology.omission,
        "next": more,
        "received": answer.received,
        "acknowledged": answer.acknowledged,
        "refused": answer.refused,
        "stale": answer.stale,
        "locked": sorted(blind_id(project_id, segment, system) for system in revealed),
    }


def _sent(action: Action, project_id: int, segment: SegmentKey) -> dict[str, Any]:
    output = None if action.system is None else blind_id(project_id, segment, action.system)
    payload = {k: action.payload[k] for k in FIELDS[action.kind] if k in action.payload}
    return {"id": action.id, "kind": action.kind, "output": output, "payload": payload}
