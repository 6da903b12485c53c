"""The sample project: 40 segments, four systems, planted errors, two raters (docs/sample.md).

Scores may come from `core/sample/scores.jsonl.gz`, recorded with `python -m tools.record_sample`. A recorded value is used only
if its signature, including the model revision, equals that of this installation.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core import sample
from core.data import Dataset, Output, OutputKey, RatedOutput, Segment, Span, Value
from core.errors import UserError
from core.metrics import registry
from core.mqm.actions import label_actions
from core.mqm.scores import errors_of
from core.ports.labels import OutputLabels
from core.ports.projects import Project
from core.ports.store import Store

NAME = "Sample: German and Arabic into English"
FOLDER = Path(sample.__file__).parent
SEGMENTS, LABELS, SCORES = FOLDER / "segments.jsonl", FOLDER / "labels.jsonl", FOLDER / "scores.jsonl.gz"

Recorded = Mapping[tuple[str, str], Mapping[str, Value]]
"""Values by (metric, signature), then by content key."""


def dataset() -> Dataset:
    """Return the texts of the sample, in document order."""
    rows = _rows(SEGMENTS.read_text(encoding="utf-8"))
    return Dataset(
        tuple(Segment(r["doc_id"], r["segment_id"], r["source"], tuple(r["references"])) for r in rows),
        tuple(
            Output(system, r["doc_id"], r["segment_id"], output["text"])
            for r in rows
            for system, output in r["outputs"].items()
        ),
    )


def labels() -> tuple[RatedOutput, ...]:
    """Return the labels of the two sample raters, by rater, in document order."""
    texts = {o.key: o.text for o in dataset().outputs}
    rated = []
    for row in _rows(LABELS.read_text(encoding="utf-8")):
        key = OutputKey(row["system"], row["doc_id"], row["segment_id"])
        errors = (
            errors_of(OutputLabels(verdict=row["verdict"]), texts[key])
            if "verdict" in row
            else tuple(Span(**mark) for mark in row["marks"])
        )
        rated.append(RatedOutput(key, row["rater"], errors))
    return tuple(rated)


def recorded(path: Path = SCORES) -> Recorded:
    """Return the recorded scores; empty if there is no such file."""
    if not path.exists():
        return {}
    scores: dict[tuple[str, str], dict[str, Value]] = {}
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        for r in map(json.loads, lines):
            value = Value(r["value"], r["status"], r["reason"], r["parts"], r["detail"])
            scores.setdefault((r["metric"], r["signature"]), {})[r["key"]] = value
    return scores


def ensure(store: Store, scores: Path = SCORES) -> Project | None:
    """Return the sample project, created at the first start; None if the user deleted it or has only other projects.

    The sample raters in the database show that the project was created before, because raters outlive projects. Creation
    is a series of idempotent steps that ends with the labels of the last rater, so the next start completes an interrupted one.
    """
    mine = _sample(store)
    if mine is None:
        if store.projects.list() or {r.rater for r in labels()} & set(store.labels.raters()):
            return None
        try:
            mine = store.projects.create(NAME, sample=True)
        except UserError:  # another server on the same database made it just now
            mine = _sample(store)
            if mine is None:
                return None
    last = labels()[-1]
    if not store.labels.events(mine.id, rater=last.rater, segment=last.key.segment):
        _fill(store, mine.id, recorded(scores))
    return store.projects.get(mine.id)


def _sample(store: Store) -> Project | None:
    return next((p for p in store.projects.list() if p.sample), None)


def _fill(store: Store, project_id: int, known: Recorded) -> None:
    store.projects.add(project_id, dataset())
    for (metric, signature), values in known.items():
        if signature == _own_signature(metric):
            store.scores.put(metric, signature, values, seconds=0.0)  # reading them took no scoring
    store.jobs.enqueue(project_id, registry.STANDARD)
    for (rater, segment), actions in label_actions(labels()).actions.items():
        store.labels.append(project_id, rater, segment, actions)


def _own_signature(metric: str) -> str | None:
    """Return the metric's signature in this installation; None if the metric or its model is missing."""
    try:
        return registry.load_metric(metric).signature()
    except UserError:
        return None


def _rows(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.split("\n") if line]
