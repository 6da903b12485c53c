"""Read and write Label Studio's JSON: a list of tasks, each with the texts in `data` and the error spans in `annotations`.

According to its documentation ("Label Studio task format"), an annotation is a list `result` of regions. A region has an `id`, a `type`
and a `value`; text regions have `start`, `end` (exclusive) and usually `text`. Further answers about a region (severity, category, note)
are regions of the same `id`. Offsets are code points since late 2021 and UTF-16 units in older exports; the quotes in `text` show which.
`was_cancelled` annotations were skipped. `predictions` are read only if no task has an annotation; their model is the rater.

Any such export with text regions can be read: among the labels, choices and taxonomy of a region, the name of a severity is the severity,
and the rest is the category path. Texts are in `data` as `output` (or target, mt, translation, hypothesis, text) and `source` (or src);
regions whose `to_name` is that of the source are error spans in the source.

One task per output is written, for the labelling interface in docs/formats.md. The rater is stored as a region `rater`, because Label
Studio assigns imported annotations to the user who imports them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from core.data import Dataset, OutputKey, RatedOutput, Segment, Side, Span, grouped
from core.formats.files import Upload
from core.formats.labels.label_file import (
    Gatherer,
    LabelFile,
    ProjectTotals,
    Severities,
    Written,
    category_or_none,
    checked,
    left_behind,
    utf16,
)
from core.formats.parsing.json_records import Record, records
from core.formats.problems import counted, shown

_OUTPUT = ("output", "target", "tgt", "mt", "translation", "hypothesis", "text")
_SOURCE = ("source", "src")
_TEXT_REGIONS = ("labels", "choices", "taxonomy")


class _Region(NamedTuple):
    """An error span as in the file; `quote` is None if the file does not quote the text."""

    record: Record
    key: OutputKey
    side: Side
    start: int
    end: int
    quote: str | None
    severity: str | None
    category: str
    note: str


def read(upload: Upload, severities: Severities, texts: Dataset | None = None) -> LabelFile:
    """Read the ratings with their texts. Raises `ImportProblems`, also for a span whose quote does not match its offsets."""
    found = Gatherer(upload.name, severities)
    tasks = list(records(upload, found.problems))
    guesses = not any(_listed(t, "annotations") for t in tasks)
    passed = 0 if guesses else sum(_listed(t, "predictions") for t in tasks)
    ratings: list[tuple[int, OutputKey, str, list[_Region]]] = []
    skipped = 0
    for task in tasks:
        key = _task(found, task)
        for annotation in task.records("predictions" if guesses else "annotations", needed=False):
            if annotation.flag("was_cancelled"):
                skipped += 1
            elif key is not None:
                rater, regions = _annotation(found, annotation, key, guesses)
                ratings.append((task.line, key, rater, regions))
    wide = any(_counts_units(found, region) for *_, regions in ratings for region in regions)
    for line, key, rater, regions in ratings:
        found.rating(line, key, rater, [_mark(found, region, wide) for region in regions])
    for n, what in ((skipped, "skipped annotation"), (passed, "prediction")):
        if n:
            found.warn(0, "", counted(n, what), "completed annotations by annotators", "Left out")
    return found.done()


def _listed(task: Record, name: str) -> int:
    given = task.values.get(name)
    return len(given) if isinstance(given, list) else 0


def _task(found: Gatherer, task: Record) -> OutputKey | None:
    data = task.record("data")
    text = data.text(*_OUTPUT) if data else None
    if data is None or text is None:
        return None
    segment = data.text("segment_id", "seg_id", needed=False) or task.text("id", needed=False) or str(task.line)
    system = data.text("system", "model", needed=False) or "output"
    key = OutputKey(system, data.text("doc_id", "doc", needed=False) or "", segment)
    source = data.text(*_SOURCE, needed=False)
    references = data.values.get("references")
    good = isinstance(references, list) and all(isinstance(r, str) for r in references)
    found.add_texts(task.line, key, source, text, references if good and references else ())
    return key


def _annotation(found: Gatherer, said: Record, key: OutputKey, guess: bool) -> tuple[str, list[_Region]]:
    """Return the rater and the error spans: regions of one id are one span."""
    by_id: dict[str, list[Record]] = {}
    rater = said.text("model_version", needed=False) if guess else _completed_by(said)
    for i, item in enumerate(said.records("result")):
        if item.values.get("from_name") == "rater":
            rater = "".join(_answers(item)) or rater
        else:
            by_id.setdefault(item.text("id", needed=False) or f"#{i}", []).append(item)
    regions = [r for items in by_id.values() if (r := _region(found, items, key)) is not None]
    return rater or "annotator", regions


def _completed_by(said: Record) -> str | None:
    who = said.record("completed_by") if isinstance(said.values.get("completed_by"), dict) else None
    return who.text("email", "username", "id", needed=False) if who else said.text("completed_by", needed=False)


def _answers(item: Record) -> list[str]:
    """Return the answers of a region: its labels or choices, the path of its taxonomy, its text."""
    answers: list[str] = []
    for name in (*_TEXT_REGIONS, "text"):
        given = _value(item).get(name)
        if isinstance(given, str) and item.values.get("type") == "textarea":
            answers.append(given)
        elif isinstance(given, list):
            answers += ["/".join(map(str, a)) if isinstance(a, list) else a for a in given if isinstance(a, str | list)]
    return answers


def _region(found: Gatherer, items: Sequence[Record], key: OutputKey) -> _Region | None:
    marked = [i for i in items if i.values.get("type") in _TEXT_REGIONS and {"start", "end"} <= _value(i).keys()]
    value = marked[0].record("value") if marked else None
    start, end = (value.whole("start"), value.whole("end")) if value else (None, None)
    if value is None or start is None or end is None:
        return None
    answers = [a for i in items if i.values.get("type") != "textarea" for a in _answers(i)]
    severity = next((a for a in answers if found.severities.find(a)), None)
    rest = list(dict.fromkeys(a for a in answers if a != severity))
    note = "\n".join(a for i in items if i.values.get("type") == "textarea" for a in _answers(i))
    side: Side = "source" if marked[0].values.get("to_name") in _SOURCE else "output"
    quote = value.values.get("text")
    if severity is None:
        found.problem(value.line, "result", f"a region with {', '.join(map(shown, rest)) or 'no label'}",
                      "Major, Minor or Neutral among its labels", "Give every region a severity")  # fmt: skip
        return None
    quoted = quote if isinstance(quote, str) else None
    return _Region(value, key, side, start, end, quoted, severity, "/".join(rest), note)


def _value(item: Record) -> dict[str, Any]:
    value = item.values.get("value")
    return value if isinstance(value, dict) else {}


def _text(found: Gatherer, region: _Region) -> str:
    return (found.output(region.key) if region.side == "output" else found.source(region.key.segment)) or ""


def _in_units(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Convert two UTF-16 offsets to code points; None if they split a character or lie outside the text."""
    at = {units: i for i, units in enumerate(utf16(text))}
    return (at[start], at[end]) if start in at and end in at else None


def _quotes(text: str, quote: str) -> bool:
    return text == quote or text.replace("\n", "\\n") == quote


def _counts_units(found: Gatherer, region: _Region) -> bool:
    """Return whether a region's quote matches its offsets only if these are UTF-16 units."""
    text = _text(found, region)
    if region.quote is None or _quotes(text[region.start : region.end], region.quote):
        return False
    units = _in_units(text, region.start, region.end)
    return units is not None and _quotes(text[units[0] : units[1]], region.quote)


def _mark(found: Gatherer, region: _Region, wide: bool) -> Span | None:
    text, start, end = _text(found, region), region.start, region.end
    if wide and (region.quote is None or not _quotes(text[start:end], region.quote)):
        start, end = _in_units(text, start, end) or (start, end)
    if region.quote is not None and 0 <= start <= end <= len(text) and not _quotes(text[start:end], region.quote):
        where = f"{region.side} [{region.start}, {region.end})"
        todo = "Use the text that was annotated, without later changes"
        found.problem(region.record.line, where, shown(text[start:end]), shown(region.quote), todo)
        return None
    return found.span(
        region.record.line, region.key, region.side, start, end, region.severity, region.category, region.note
    )


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
