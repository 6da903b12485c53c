"""Write labels as Label Studio's JSON: one task per output, for the labelling interface in docs/formats.md.

The rater is stored as a region `rater`, because Label Studio assigns imported annotations to the user who imports them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from core.data import Dataset, OutputKey, RatedOutput, Segment, Span, grouped
from core.formats.labels.label_file import ProjectTotals, Written, category_or_none, checked, left_behind
from core.formats.problems import counted


def write(dataset: Dataset, rated: Iterable[RatedOutput], project: ProjectTotals) -> Written:
    """Write one task per rated output and one annotation per rater. Raises `UserError` for labels that do not match their texts."""
    labels = checked(dataset, rated)
    texts, segments = {o.key: o.text for o in dataset.outputs}, dataset.segment_of()
    of = grouped((r.key, r) for r in labels)
    tasks = [_task_json(key, texts[key], segments[key.segment], ratings) for key, ratings in of.items()]
    lost = []
    if n := sum(e.start == e.end for r in labels for e in r.errors):
        lost.append(f"{counted(n, 'empty error span')}: in the file, but Label Studio does not show them.")
    if labels:
        lost.append(
            "Raters: Label Studio assigns annotations to the user who imports them; the rater is in the field “rater”."
        )
    body = ",\n".join(json.dumps(task, ensure_ascii=False) for task in tasks)
    return Written((f"[\n{body}\n]\n",), (*lost, *left_behind(project, labels, references=False)))


def _task_json(key: OutputKey, text: str, segment: Segment, ratings: Iterable[RatedOutput]) -> dict[str, Any]:
    data: dict[str, Any] = {"output": text, "source": segment.source or "", "system": key.system}
    data |= {"doc_id": key.doc_id, "segment_id": key.segment_id}
    data |= {"references": list(segment.references)} if segment.references else {}
    annotations = []
    for r in ratings:
        said: list[dict[str, Any]] = [_item(f"{_id(r)}-r", "rater", "output", "textarea", {"text": [r.rater]})]
        for i, e in enumerate(r.errors):
            said += _regions(f"{_id(r)}-{i}", e)
        annotations.append({"result": said, "was_cancelled": False, "ground_truth": False})
    return {"data": data, "annotations": annotations}


def _id(r: RatedOutput) -> str:
    return hashlib.sha256(json.dumps([*r.key, r.rater]).encode()).hexdigest()[:10]


def _regions(name: str, e: Span) -> list[dict[str, Any]]:
    place = {"start": e.start, "end": e.end, "text": e.quote}
    to, ending = ("output", "") if e.side == "output" else ("source", "_source")
    said = [_item(name, f"severity{ending}", to, "labels", place | {"labels": [e.severity]})]
    if path := category_or_none(e.category):
        said.append(_item(name, f"category{ending}", to, "taxonomy", place | {"taxonomy": [path.split("/")]}))
    if e.note:
        said.append(_item(name, f"note{ending}", to, "textarea", place | {"text": [e.note]}))
    return said


def _item(name: str, control: str, to: str, kind: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"id": name, "from_name": control, "to_name": to, "type": kind, "origin": "manual", "value": value}
