"""A segment that two raters have opened, and what their editors send."""

from __future__ import annotations

from typing import Any

from core.data import Dataset, Output, Segment, SegmentKey
from core.ports.labels import Action
from core.ports.store import Store
from core.services.labels import labels as work
from core.services.labels.editor import editor_data
from tests.stores import new_store

HERE = SegmentKey("news", "2")
TEXTS = {"Aardvark": "😀 bad <b>text</b>", "Buzzard": "A good text."}
IDS = {"Aardvark": "o-one", "Buzzard": "o-two"}
OPENED = {"order": list(IDS), "ids": list(IDS.values()), "seed": 3}


def texts() -> Dataset:
    segments = tuple(Segment("news", str(i), f"Quelle {i}") for i in (1, 2, 3))
    outputs = tuple(
        Output(name, s.doc_id, s.segment_id, text if s.key == HERE else f"{text} {s.segment_id}")
        for s in segments
        for name, text in TEXTS.items()
    )
    return Dataset(segments, outputs)


def filled(store: Store | None = None) -> tuple[Store, int]:
    """Return a store, by default a new one, and its new project."""
    store = store or new_store()
    project = store.projects.create(f"pilot {len(store.projects.list())}").id
    store.projects.add(project, texts())
    for rater in ("Ana", "Ben"):
        store.labels.append(project, rater, HERE, [Action(f"open-{rater}", "open", None, OPENED)])
    return store, project


def recorded(store: Store, project: int) -> list[Action]:
    """The recorded actions other than those that opened the segment."""
    return [e.action for e in store.labels.events(project) if e.action.kind != "open"]


def add(project: int, number: int = 1, system: str = "Aardvark", **change: object) -> dict[str, Any]:
    """Marks "bad": in code points [2, 5), because the emoji counts one."""
    payload = {"mark": f"m{number}", "side": "output", "start": 2, "end": 5, "quote": "bad", "severity": "Major"}
    payload |= {"category": "Accuracy/Mistranslation", "note": ""} | change
    return {"id": f"a{number}", "kind": "add", "output": IDS[system], "payload": payload}


def outbox(project: int, *actions: object) -> list[Any]:
    return [{"project": project, "doc": HERE.doc_id, "segment": HERE.segment_id, "actions": list(actions)}]


def drawn(store: Store, project: int, rater: str, **options: Any) -> dict[str, Any]:
    opened = work.open_segment(store, project, rater, HERE, TEXTS)
    return editor_data(store.projects.dataset(project), project, rater, HERE, TEXTS, opened, more=True, **options)
