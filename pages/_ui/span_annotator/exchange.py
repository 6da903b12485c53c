"""What the span editor and the page tell each other. Outputs have blind ids in the browser: no system is named there."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from core.data import Dataset, OutputKey, SegmentKey, is_storable
from core.errors import Unavailable, UserError
from core.mqm import typology
from core.mqm.log import SegmentLabels
from core.ports import Action, Event, Store
from core.services.labels import save

_SPAN = ("mark", "side", "start", "end", "quote", "severity", "category", "note")
FIELDS: Mapping[str, tuple[str, ...]] = {
    "add": _SPAN,
    "change": _SPAN,
    "delete": ("mark",),
    "verdict": ("value",),
    "undo": (),
    "redo": (),
    "submit": ("outputs",),
    "reopen": (),
}
"""What the browser may do, and the part of each payload that goes to and fro: never a system's name."""
ON_OUTPUT = frozenset({"add", "change", "delete", "verdict"})
STEPS = frozenset({"undo", "redo"})
BEFORE, AFTER = 2, 1
LARGEST_NUMBER, LONGEST_ID = 2**53, 200

Systems = Callable[[int, SegmentKey], Sequence[str]]


def blind_id(project_id: int, segment: SegmentKey, system: str) -> str:
    """The name of an output in the browser; it says nothing of the system and stays the same when systems are added."""
    text = "\x1f".join([str(project_id), *segment, system])
    return "o" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


@dataclass
class Answer:
    """What became of an outbox: which batch number, which actions are on disk, which were refused and why.

    An action that is in neither could not be written now; the browser keeps it and sends it again.
    """

    received: int = 0
    acknowledged: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    labels: dict[tuple[int, SegmentKey], SegmentLabels] = field(default_factory=dict)
    broken: set[tuple[int, SegmentKey]] = field(default_factory=set)  # where something was refused


def receive(store: Store, rater: str, outbox: Any, systems: Systems) -> Answer:
    """Record what the browser sent. An outbox of another annotator is left alone: it waits in that browser.

    A batch is one transaction; when it is refused its actions are tried one by one, so that only the wrong ones are lost.
    After a refusal no undo or redo of that segment is taken: it was meant for an action that is not there. When storage
    cannot be written to, the rest of the outbox is left for later, so that the order of actions stays.
    """
    if not isinstance(outbox, Mapping) or outbox.get("rater") != rater:
        return Answer()
    n, batches = outbox.get("n"), outbox.get("batches")
    if isinstance(n, bool) or not isinstance(n, int | float) or not 0 <= n <= LARGEST_NUMBER:
        return Answer()
    answer = Answer(received=int(n))
    for batch in batches if isinstance(batches, list | tuple) else ():
        try:
            if isinstance(batch, Mapping):
                _record(store, rater, batch, systems, answer)
        except Unavailable:
            break
    return answer


class Place(NamedTuple):
    project_id: int
    segment: SegmentKey


def _record(store: Store, rater: str, batch: Mapping[str, Any], systems: Systems, answer: Answer) -> None:
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
            action = _action(entry, names)
            if action.kind in STEPS and place in answer.broken:
                raise UserError(
                    "left out, because something done before it was refused", hint="Look at the marks again"
                )
            _save(store, rater, place, [action], answer)
        except Unavailable:
            raise
        except UserError as error:
            answer.refused[entry["id"]] = str(error)
            answer.broken.add(place)


def _entries(actions: Any, answer: Answer) -> list[Mapping[str, Any]]:
    """The actions of a batch that can be answered under their id; one under no proper id is refused by what it says."""
    found = []
    for entry in actions if isinstance(actions, list | tuple) else ():
        name = entry.get("id") if isinstance(entry, Mapping) else None
        if isinstance(name, str) and len(name) <= LONGEST_ID and is_storable(name):
            found.append(entry)
        elif isinstance(name, int | float):
            answer.refused[str(name)] = str(_disagreement())
    return found


def _place(batch: Mapping[str, Any]) -> Place:
    """The segment a batch is about. Raises `UserError` for what can be none."""
    project, doc, segment = batch.get("project"), batch.get("doc"), batch.get("segment")
    whole = isinstance(project, int) and not isinstance(project, bool) and 0 <= project <= LARGEST_NUMBER
    if not (whole and isinstance(doc, str) and isinstance(segment, str) and is_storable(doc + segment)):
        raise _disagreement()
    return Place(int(project or 0), SegmentKey(doc, segment))


def _check_categories(store: Store, rater: str, place: Place, raw: Sequence[Mapping[str, Any]], answer: Answer) -> None:
    """Refuse marks of a category that is neither in the typology nor, from an import, on a mark of this annotator here."""
    known: set[object] = set(typology.paths(marks_only=True))
    looked = False
    for entry in raw:
        payload = entry.get("payload")
        category = payload.get("category") if isinstance(payload, Mapping) else None
        if not isinstance(category, str) or category in known:
            continue
        if not looked:
            looked = True
            events = store.labels.events(place.project_id, rater=rater, segment=place.segment)
            known |= {e.action.payload.get("category") for e in events}
        if category not in known:
            problem = UserError("there is no such category", got=repr(category[:60]), hint="Choose one from the list")
            answer.refused[entry["id"]] = str(problem)
            answer.broken.add(place)


def _disagreement() -> UserError:
    return UserError("the page and the server disagree about this segment", hint="Reload the page")


def _whole(
    store: Store, rater: str, place: Place, raw: Sequence[Mapping[str, Any]], names: Mapping[str, str], answer: Answer
) -> bool:
    """Record a batch in one transaction; False, with nothing recorded, when something in it has to be refused."""
    try:
        _save(store, rater, place, [_action(entry, names) for entry in raw], answer)
    except Unavailable:
        raise
    except UserError:
        return False
    return True


def _save(store: Store, rater: str, place: Place, actions: Sequence[Action], answer: Answer) -> None:
    saved = save(store, place.project_id, rater, place.segment, actions)
    answer.acknowledged += saved.ids
    answer.labels[place] = saved.labels


def _action(raw: Mapping[str, Any], names: Mapping[str, str]) -> Action:
    """The action in the words of the log, with nothing in it that its kind does not know. Its form is checked there."""
    try:
        kind, given = raw["kind"], dict(raw.get("payload") or {})
        system = names[raw["output"]] if kind in ON_OUTPUT else None
        payload = {k: given[k] for k in FIELDS[kind] if k in given}
        if kind == "submit" and "outputs" in payload:
            payload = _rated({names[output] for output in payload["outputs"]}, names.values())
    except (KeyError, TypeError, ValueError) as error:
        raise _disagreement() from error
    return Action(raw["id"], kind, system, payload, str(raw.get("time", "")))


def _rated(shown: Collection[str], systems: Iterable[str]) -> dict[str, Any]:
    """What a submit says: nothing when every output of the segment was shown, else which were (a batch may ask for some only)."""
    rated = [system for system in systems if system in shown]
    return {} if set(rated) == set(systems) else {"systems": rated}


def editor_data(
    dataset: Dataset,
    project_id: int,
    rater: str,
    segment: SegmentKey,
    order: Iterable[str],
    events: Iterable[Event],
    answer: Answer,
    *,
    more: bool,
    names: bool = False,
) -> dict[str, Any]:
    """All the editor draws. `more`: another segment is unlabelled; `names`: the annotator asked for the systems' names."""
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
                "name": system if names else None,
                "text": texts[OutputKey(system, *segment)],
                "before": around(system, before[-1:]),
                "after": around(system, after[:1]),
            }
            for number, system in enumerate(order, start=1)
        ],
        "events": [_sent(e.action, project_id, segment) for e in events if e.action.kind in FIELDS],
        "categories": [
            {"path": path, "where": typology.marked_in(path), "needs_note": typology.needs_note(path)}
            for path in typology.paths(marks_only=True)
        ],
        "omission": typology.OMISSION,
        "next": more,
        "received": answer.received,
        "acknowledged": answer.acknowledged,
        "refused": answer.refused,
    }


def _sent(action: Action, project_id: int, segment: SegmentKey) -> dict[str, Any]:
    output = None if action.system is None else blind_id(project_id, segment, action.system)
    payload = {k: action.payload[k] for k in FIELDS[action.kind] if k in action.payload}
    return {"id": action.id, "kind": action.kind, "output": output, "payload": payload}
