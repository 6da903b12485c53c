"""Read Label Studio's JSON: a list of tasks, each with the texts in `data` and the error spans in `annotations`.

According to its documentation ("Label Studio task format"), an annotation is a list `result` of regions. A region has an `id`, a `type`
and a `value`; text regions have `start`, `end` (exclusive) and usually `text`. Further answers about a region (severity, category, note)
are regions of the same `id`; a note may be in the `meta` of a region. Offsets are code points since late 2021 and UTF-16 units in older exports; the quotes in `text` show which.
`was_cancelled` annotations were skipped. Until version 1.0 annotations were named `completions`. `predictions` are read only if no task has an annotation; their model is the rater.

Any such export with text regions can be read: among the labels, choices and taxonomy of a region, the name of a severity is the severity,
and the rest is the category path. Texts are in `data` as `output` (or target, mt, translation, hypothesis, text) and `source` (or src);
regions whose `to_name` is that of the source are error spans in the source. Regions of HyperText have their offsets in `globalOffsets`,
those of Paragraphs in `startOffset` and `endOffset`, which are read if the quote confirms them.

Ratings and numbers about a whole output are scores by annotator, under the name of their control tag.

An annotation with a region of another kind is no rating. Without regions, the output has no errors if the file shows that errors were
asked for (an annotation has regions), or if a choice says "no error"; another choice about the whole output is not understood, and the
annotation is no rating. Copies of an annotation, which have its id, count once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from core.data import Dataset, Judgement, OutputKey, Side, Span
from core.errors import PROGRAM
from core.formats.campaigns.span_json import units_of
from core.formats.files import Upload, beginning_text
from core.formats.labels.google_mqm_reading import is_clean
from core.formats.labels.label_file import Gatherer, LabelFile, Severities
from core.formats.parsing.json_records import Record, records
from core.formats.parsing.numbers import json_number
from core.formats.problems import refused, shown
from core.formats.role_names import words_of
from core.formatting import format_count

_OUTPUT = ("output", "target", "tgt", "mt", "translation", "hypothesis", "text")
_SOURCE = ("source", "src")
_SEGMENT, _SYSTEM = ("segment_id", "seg_id"), ("system", "model")
_ANNOTATIONS = ("annotations", "completions")
"""Names of the list of annotations; the second one until version 1.0."""
_TEXT_REGIONS = ("labels", "choices", "taxonomy", "hypertextlabels", "paragraphlabels")
_NEUTRAL = frozenset(("textarea", "rating", "number", "slider", "datetime", "relation"))
"""Answers that say nothing about the errors of an output."""
_SCORES = ("rating", "number", "slider")
"""Answers that are scores, if they are about a whole output."""
_PLACES = frozenset(("start", "startOffset", "globalOffsets", "x", "points", "vertices", "rle", "ranges", "sequence"))
"""Keys of the value of a region, in a text, an image, audio or video."""

_MARKUP = re.compile("[<&]")
_BREAKS = re.compile(r"(?:\r|\n|\\n)+")
"""Line breaks in a text or in its quote, in which each is written as a backslash and an n."""
_CSV = frozenset(("annotation_id", "annotator", "lead_time"))
_CSV_REGION = re.compile(r'\{""(start|end|text|labels|x|points)"":')


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


class _Annotation(NamedTuple):
    """What one annotator said of one task: the regions, the scores by name, and in words the regions that are not read and the answers
    about the whole output, `neutral` ones apart. `ours` is whether the rater is written as by this program."""

    line: int
    key: OutputKey
    rater: str
    regions: list[_Region]
    unread: list[str]
    answers: list[str]
    neutral: list[str]
    scores: list[tuple[str, float]]
    ours: bool


def is_csv(columns: Sequence[str], head: str) -> bool:
    """Return whether a table is Label Studio's CSV with regions as JSON in its cells."""
    return set(columns) >= _CSV and _CSV_REGION.search(head) is not None


def read_label_studio(upload: Upload, severities: Severities, texts: Dataset | None = None) -> LabelFile:
    """Read the ratings with their texts. Raises `ImportProblems`, also for a span whose quote does not match its offsets."""
    if beginning_text(upload).lstrip()[:1] not in ("[", "{"):
        todo = "Choose JSON in Label Studio’s export"
        raise refused(upload.name, 0, "a table, such as Label Studio’s CSV", "Label Studio’s JSON", todo)
    gatherer = Gatherer(upload.name, severities)
    tasks = list(records(upload, gatherer.problems))
    guesses = not any(_listed(t, name) for t in tasks for name in _ANNOTATIONS)
    left_out = Counter({"prediction": 0 if guesses else sum(_listed(t, "predictions") for t in tasks)})
    annotations: list[_Annotation] = []
    seen: dict[tuple[OutputKey, str], Record] = {}
    for task in tasks:
        key = _task(gatherer, task)
        left_out["unsubmitted draft"] += _listed(task, "drafts")
        for said in task.records(*(["predictions"] if guesses else _ANNOTATIONS), needed=False):
            if said.flag("was_cancelled") or said.flag("skipped"):
                left_out["skipped annotation"] += 1
            elif key is not None and not guesses and _is_copy(said, key, seen):
                left_out["repeated annotation"] += 1
            elif key is not None:
                annotations.append(_annotation(gatherer, said, task, key, guesses))
    wide = any(_counts_units(gatherer, region) for a in annotations for region in a.regions)
    asked = any(a.regions or a.unread for a in annotations)
    for a in annotations:
        marks = [_mark(gatherer, region, wide) for region in a.regions]
        if _is_rating(gatherer, a, asked):
            gatherer.rating(a.line, a.key, a.rater, marks)
        for name, number in a.scores:
            gatherer.judge(a.line, Judgement(a.key, a.rater, name, number))
    for what, n in left_out.items():
        if n:
            gatherer.warn(0, "", format_count(n, what), "completed annotations by annotators, each once", "Left out")
    if guesses and annotations:
        gatherer.warn(0, "predictions", format_count(len(annotations), "prediction") + " and no annotation", "annotations",
                   "Read as ratings by their models")  # fmt: skip
    _warn_of_unpaired(gatherer, tasks)
    if not asked and any(not (a.answers or a.neutral or a.scores or a.ours) for a in annotations):
        gatherer.warn(0, "result", "no region in any annotation", "annotations in which errors were asked for",
                   "Empty annotations are read as outputs without errors")  # fmt: skip
    return gatherer.done()


def _warn_of_unpaired(gatherer: Gatherer, tasks: Sequence[Record]) -> None:
    """Warn if tasks with outputs of several systems have the same source, but no ID of the segment that joins them."""
    systems: dict[str, set[str]] = {}
    for task in tasks:
        data = task.values.get("data")
        if isinstance(data, dict) and not _name_of(data, _SEGMENT):
            source, system = data.get(_name_of(data, _SOURCE)), data.get(_name_of(data, _SYSTEM))
            if isinstance(source, str) and source and isinstance(system, str):
                systems.setdefault(source, set()).add(system)
    if n := sum(len(of) > 1 for of in systems.values()):
        gatherer.warn(0, "data", format_count(n, "source") + " in tasks of several systems, without segment_id", "segment_id",
                   "Each task is a segment of its own. To compare systems, give their tasks the same segment_id")  # fmt: skip


def _is_copy(said: Record, key: OutputKey, seen: dict[tuple[OutputKey, str], Record]) -> bool:
    """Return whether this annotation of the output was read before. With other regions it is a problem."""
    name = said.text("id", needed=False)
    before = said if name is None else seen.setdefault((key, name), said)
    if before is said:
        return False
    if any(before.values.get(part) != said.values.get(part) for part in ("result", "completed_by")):
        said.problem("id", f"annotation {shown(name or '')} of this output again, with other regions or by another annotator",
                     f"the regions of task {before.line}", "Keep the newer one")  # fmt: skip
    return True


def _is_rating(gatherer: Gatherer, a: _Annotation, asked: bool) -> bool:
    """Return whether an annotation says which errors the output has, and count what is not read."""
    clean = any(map(is_clean, a.answers))
    rating = not a.unread and bool(
        a.regions or clean or (not a.answers and (asked or a.ours or not (a.neutral or a.scores)))
    )
    for what in (*a.unread, *(answer for answer in a.answers if not is_clean(answer)), *a.neutral):
        gatherer.unread(a.line, what, rating=rating)
    return rating


def _listed(task: Record, name: str) -> int:
    entries = task.values.get(name)
    return len(entries) if isinstance(entries, list) else 0


def _task(gatherer: Gatherer, task: Record) -> OutputKey | None:
    if "data" not in task.values and "annotation_id" in task.values:
        task.problem("", "Label Studio’s JSON-MIN", "Label Studio’s JSON", "Choose JSON in its export")
        return None
    data = task.record("data")
    if data is not None and isinstance(data.values.get(_name_of(data.values, _OUTPUT)), list):
        data.problem(_name_of(data.values, _OUTPUT), "a list of paragraphs", "the output as one text",
                     "Make one task per output, with its text in the field “output”")  # fmt: skip
        return None
    text = data.text(*_OUTPUT, needed=False) if data else None
    if data is None or text is None:
        if data is not None and not _name_of(data.values, _OUTPUT):
            kinds = {_kind(item) for a in task.records(*_ANNOTATIONS, needed=False) for item in a.records("result")}
            fields = f"the fields {', '.join(map(shown, data.values)) or 'none'}"
            fields += f", with answers of type {', '.join(sorted(kinds))}" if kinds else ""
            task.problem("data", fields, "the rated output in a field named output, target, mt, translation, hypothesis or text",
                         "Name that field “output”, and make one task per output")  # fmt: skip
        return None
    segment = data.text(*_SEGMENT, needed=False) or task.text("id", needed=False) or str(task.line)
    system = data.text(*_SYSTEM, needed=False) or "output"
    key = OutputKey(system, data.text("doc_id", "doc", needed=False) or "", segment)
    source = data.text(*_SOURCE, needed=False)
    references = data.values.get("references")
    good = isinstance(references, list) and all(isinstance(r, str) for r in references)
    gatherer.add_texts(task.line, key, source, text, references if good and references else ())
    return key


def _name_of(data: dict[str, Any], names: Sequence[str]) -> str:
    """Return the first of the names that has a value in the data of a task, or ""."""
    return next((name for name in names if data.get(name) is not None), "")


def _annotation(gatherer: Gatherer, said: Record, task: Record, key: OutputKey, guess: bool) -> _Annotation:
    """Return the rater, the error spans and the other answers. Regions of one id are one span."""
    by_id: dict[str, list[Record]] = {}
    rater, ours = said.text("model_version", needed=False) if guess else _completed_by(said), False
    for i, item in enumerate(said.records("result")):
        if item.values.get("from_name") == "rater":
            ours, rater = True, "".join(_answers(item)) or rater
        else:
            by_id.setdefault(item.text("id", needed=False) or f"#{i}", []).append(item)
    regions, unread, answers, neutral = list[_Region](), list[str](), list[str](), list[str]()
    scores: list[tuple[str, float]] = []
    for items in by_id.values():
        placed = [i for i in items if _PLACES & _value(i).keys() and _kind(i) not in _NEUTRAL]
        marked = next((i for i in placed if _kind(i) in _TEXT_REGIONS), placed[0] if placed else None)
        if marked is not None:
            side, kind = _side(marked, task), f"region of type {shown(_kind(marked))}"
            place = _place(marked, _text_of(gatherer, key, side or "output"))
            if side is None:
                unread.append(f"{kind} on another text")
            elif place is None:
                unread.append(kind + (" without offsets in its text" if _kind(marked) in _TEXT_REGIONS else ""))
            else:
                regions += [r] if (r := _region(gatherer, items, marked, key, side, place)) is not None else []
                further = {_kind(i) for i in items} & _NEUTRAL - {"textarea"}
                neutral += [f"answer of type {shown(name)} about a region" for name in sorted(further)]
            continue
        for item in items:
            if (score := _score(item, task)) is not None:
                scores.append(score)
                continue
            if _kind(item) in _NEUTRAL:
                neutral.append(f"answer of type {shown(_kind(item))}")
                continue
            said_so = [a if is_clean(a) else f"{_kind(item)} {shown(a)} about a whole output" for a in _answers(item)]
            answers += said_so or [f"answer of type {shown(_kind(item))}"]
    return _Annotation(task.line, key, rater or "annotator", regions, unread, answers, neutral, scores, ours)


def _score(item: Record, task: Record) -> tuple[str, float] | None:
    """Return name and value of a score of a whole output; None for another answer."""
    value = (
        json_number(_value(item).get(_kind(item))) if _kind(item) in _SCORES and _side(item, task) == "output" else None
    )
    name = item.text("from_name", needed=False)
    return (name, value) if name and value is not None else None


def _side(item: Record, task: Record) -> Side | None:
    """Return the text that a region is in; None for a text that is neither the output nor the source."""
    to, data = item.values.get("to_name"), task.values.get("data")
    if to in _SOURCE:
        return "source"
    if isinstance(data, dict) and isinstance(to, str) and to in data and to != _name_of(data, _OUTPUT):
        return None
    return "source" if isinstance(to, str) and {*words_of(to)} & {*_SOURCE} else "output"


def _place(item: Record, text: str) -> tuple[int, int] | None:
    """Return start and end of a region in its text; None if it is not a region of a text, or has its place in a markup tree only."""
    value = _value(item)
    if _kind(item) not in _TEXT_REGIONS:
        return None
    quote, exact = value.get("text"), value.get("globalOffsets")
    offsets = exact if isinstance(exact, dict) else value
    place = _pair(offsets.get("start"), offsets.get("end"))
    if place is not None and not (offsets is exact and _MARKUP.search(text)):
        return place
    if place is None and value.get("start") == value.get("end"):  # one node of the markup tree
        place = _pair(value.get("startOffset"), value.get("endOffset"))
    return place if place and isinstance(quote, str) and _quotes(text[slice(*place)], quote) else None


def _kind(item: Record) -> str:
    return str(item.values.get("type"))


def _pair(start: Any, end: Any) -> tuple[int, int] | None:
    return (start, end) if type(start) is int and type(end) is int else None


def _completed_by(said: Record) -> str | None:
    who = said.record("completed_by") if isinstance(said.values.get("completed_by"), dict) else None
    return who.text("email", "username", "id", needed=False) if who else said.text("completed_by", needed=False)


def _answers(item: Record) -> list[str]:
    """Return the answers of a region: its labels or choices, the path of its taxonomy, its text."""
    answers: list[str] = []
    for name in (*_TEXT_REGIONS, "text"):
        answer = _value(item).get(name)
        if isinstance(answer, str) and item.values.get("type") == "textarea":
            answers.append(answer)
        elif isinstance(answer, list):
            answers += [
                "/".join(map(str, a)) if isinstance(a, list) else a for a in answer if isinstance(a, str | list)
            ]
    return answers


def _region(
    gatherer: Gatherer, items: Sequence[Record], marked: Record, key: OutputKey, side: Side, place: tuple[int, int]
) -> _Region | None:  # fmt: skip
    answers = [a for i in items if _kind(i) != "textarea" for a in _answers(i)]
    severity = next((a for a in answers if gatherer.severities.find(a)), None)
    rest = list(dict.fromkeys(a for a in answers if a != severity))
    notes = [a for i in items if i.values.get("type") == "textarea" for a in _answers(i)]
    meta = marked.values.get("meta")
    notes += [a for a in _texts(meta.get("text")) if a not in notes] if isinstance(meta, dict) else []
    note = "\n".join(notes)
    quote, value = _value(marked).get("text"), marked.record("value") or marked
    if severity is None:
        gatherer.problem(value.line, "result", f"a region with {', '.join(map(shown, rest)) or 'no label'}",
                      "Major, Minor or Neutral among its labels",
                      f"Give every region a severity, or say which label is one with --severity LABEL=Major ({PROGRAM} convert)")  # fmt: skip
        return None
    quoted = quote if isinstance(quote, str) else None
    return _Region(value, key, side, *place, quoted, severity, "/".join(rest), note)


def _texts(answer: Any) -> list[str]:
    return [a for a in (answer if isinstance(answer, list) else [answer]) if isinstance(a, str) and a]


def _value(item: Record) -> dict[str, Any]:
    value = item.values.get("value")
    return value if isinstance(value, dict) else {}


def _text_of(gatherer: Gatherer, key: OutputKey, side: Side) -> str:
    return (gatherer.output(key) if side == "output" else gatherer.source(key.segment)) or ""


def _in_units(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Convert two UTF-16 offsets to code points; None if they split a character or lie outside the text."""
    place = units_of(text).place(start, end - 1)
    return None if isinstance(place, str) else place


def _quotes(text: str, quote: str) -> bool:
    return text == quote or _BREAKS.sub("\n", text) == _BREAKS.sub("\n", quote)


def _counts_units(gatherer: Gatherer, region: _Region) -> bool:
    """Return whether a region's quote matches its offsets only if these are UTF-16 units."""
    text = _text_of(gatherer, region.key, region.side)
    if region.quote is None or _quotes(text[region.start : region.end], region.quote):
        return False
    units = _in_units(text, region.start, region.end)
    return units is not None and _quotes(text[units[0] : units[1]], region.quote)


def _mark(gatherer: Gatherer, region: _Region, wide: bool) -> Span | None:
    text, start, end = _text_of(gatherer, region.key, region.side), region.start, region.end
    if wide and (region.quote is None or not _quotes(text[start:end], region.quote)):
        start, end = _in_units(text, start, end) or (start, end)
    if region.quote is not None and 0 <= start <= end <= len(text) and not _quotes(text[start:end], region.quote):
        where = f"{region.side} [{region.start}, {region.end})"
        todo = "Use the text that was annotated, without later changes"
        gatherer.problem(region.record.line, where, shown(text[start:end]), shown(region.quote), todo)
        return None
    line, key, side = region.record.line, region.key, region.side
    return gatherer.span(line, key, side, start, end, region.severity, region.category, region.note)
