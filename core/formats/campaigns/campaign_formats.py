"""Recognise the campaign files of other tools, and write campaigns as Appraise and Pearmut store them.

Items are numbered through all batches. What Appraise has no place for (the ids of a segment that its document does not imply) is kept
under `errorscope`, which Appraise ignores.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from core.data import OutputKey, SegmentKey, grouped
from core.formats.campaigns import wmt25
from core.formats.campaigns.appraise import COLUMNS, WITH_BATCH, spans_cell, with_spans
from core.formats.campaigns.campaign_file import (
    CampaignFile,
    CampaignRating,
    Identity,
    checked_campaign,
    lost_parts,
    raw_spans,
    seconds_text,
    texts_of,
)
from core.formats.campaigns.pearmut import JOINTS, split_id
from core.formats.campaigns.span_json import APPRAISE, PEARMUT, SpanText, write_span
from core.formats.files import Upload, beginning_text
from core.formats.labels.annotator_answers import EXACT, NO_ERROR, RANDOM, WELCOME, kind_of
from core.formats.labels.label_file import Written
from core.formats.parsing.numbers import parse_number

RecognisedFormat = Literal["appraise", "appraise-batches", "wmt25", "wmt25-spans", "pearmut"]
BATCHES: Literal["appraise-batches"] = "appraise-batches"
_KEYS: tuple[tuple[RecognisedFormat, tuple[str, ...]], ...] = (
    ("pearmut", ("user_id", "item_i", "annotation")),
    ("wmt25", ("doc_id", "tgt_text", "scores")),
    (BATCHES, ("documentID", "targetID", "itemID", "targetText")),
)


def recognised(upload: Upload) -> RecognisedFormat | None:
    """Return the format of a campaign file, `BATCHES` for the texts of an Appraise campaign, or None for any other file."""
    head = beginning_text(upload).lstrip()
    if head[:1] in ("{", "["):
        keys = set(re.findall(r'"(\w+)"\s*:', head))
        return next((name for name, needed in _KEYS if keys.issuperset(needed)), None)
    first = head.split("\n", 1)[0].rstrip("\r")
    if "\t" in first:
        return "wmt25-spans" if set(wmt25.REQUIRED) <= set(first.split("\t")) else None
    return "appraise" if _is_appraise(head) else None


def _is_appraise(head: str) -> bool:
    """Return whether the first row without a header is one of Appraise: score, flag and times are where they belong."""
    try:
        rows = [row for _, row in zip(range(2), csv.reader(head.splitlines(keepends=True)), strict=False)]
    except csv.Error:
        return False
    cells = with_spans(rows[-1]) if rows else []
    if len(cells) not in (COLUMNS, WITH_BATCH) or cells[8].strip() not in ("True", "False"):
        return False
    spans = cells[9].strip()
    return spans[:1] in ("", "[", "{") and all(
        not c.strip() or parse_number(c) is not None for c in (cells[6], *cells[10:])
    )


def write_appraise(file: CampaignFile) -> Written:
    """Return the CSV and the batches. Raises `UserError` for a rating whose output or spans do not match the texts."""
    checked_campaign(file)
    known = file.texts()
    place = {o.key: i for i, o in enumerate(file.dataset.outputs)}
    numbers: dict[Identity, int] = {}
    batches = []
    for of in grouped((r.rater, r) for r in file.ratings).values():
        items = []
        for r in of:
            numbers[r.identity] = len(numbers) + 1
            text, source = texts_of(r, known)
            items.append(_appraise_item(len(numbers), r.kind, r.key, source, text, r.of, place.get(r.key)))
            if r.errors == () and not r.unread:
                items[-1][EXACT]["no_error"] = True
        batches.append(items)
    rated = {r.key for r in file.ratings if r.kind == "item"}
    unrated = [o for o in file.dataset.outputs if o.key not in rated]
    if unrated:
        first = len(numbers) + 1
        batches.append([
            _appraise_item(n, "item", o.key, known[o.key][1], o.text, None, place[o.key]) for n, o in enumerate(unrated, first)
        ])  # fmt: skip
    task: dict[str, Any] = {"requiredAnnotations": 1, "sourceLanguage": "", "targetLanguage": ""}
    tasks = [{"items": items, "task": {"batchNo": n} | task} for n, items in enumerate(batches, start=1)]
    texts = json.dumps(tasks, ensure_ascii=False, indent=2) + "\n"
    lost = lost_parts(file, checks=True, times=True, raw="start_i", unrated=True)
    return Written((_csv(file, numbers), texts), tuple(lost))


def _document(kind: str, key: OutputKey) -> str:
    return key.doc_id if kind == "tutorial" else f"{key.doc_id}#{key.system}"


def _type(kind: str) -> str:
    return "BAD" if kind == "check" else "TGT"


def _appraise_item(
    number: int, kind: str, key: OutputKey, source: str | None, text: str | None, of: OutputKey | None, place: int | None
) -> dict[str, Any]:  # fmt: skip
    kept: dict[str, Any] = {"kind": kind, "key": list(key)}
    if of is not None:
        kept["of"] = list(of)
    if kind == "item":
        kept["place"] = place
    if text is None:
        kept["text"] = False
    return {
        "itemID": number, "itemType": _type(kind), "documentID": _document(kind, key), "sourceID": key.doc_id,
        "targetID": key.system, "sourceText": source or "", "targetText": text or "", "isCompleteDocument": False,
        "mqm": {"tutorial": {}, "payload": []} if kind == "tutorial" else [], EXACT: kept,
    }  # fmt: skip


def _csv(file: CampaignFile, numbers: dict[Identity, int]) -> str:
    known, raw = file.texts(), raw_spans(file)
    typed = any(e.category != "Unspecified" for r in file.ratings for e in r.errors or ())
    placeholder = "0" if typed and all(r.score is None for r in file.ratings) else ""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    for r in file.ratings:
        rows.writerow([
            r.rater, r.key.system, numbers[r.identity], _type(r.kind), "", "",
            placeholder if r.score is None else _number(r.score), _document(r.kind, r.key), "False",
            _spans(r, known, raw.get(r.identity, [])), seconds_text(r.began), seconds_text(r.ended),
        ])  # fmt: skip
    return out.getvalue()


def _number(score: float) -> str:
    return str(int(score)) if score.is_integer() else repr(score)


def _spans(rating: CampaignRating, known: dict[OutputKey, tuple[str, str | None]], raw: list[dict[str, Any]]) -> str:
    if rating.errors is None:
        return ""
    texts = SpanText.of(*texts_of(rating, known), APPRAISE)
    return spans_cell([*(write_span(e, texts) for e in rating.errors), *raw])


Place = tuple[SegmentKey, str | None]
"""Segment and source text of an item."""


@dataclass(slots=True)
class _Sheet:
    """One page: ratings of one annotator with the same times, by item."""

    first: CampaignRating
    items: dict[Place, list[CampaignRating]] = field(default_factory=dict)
    last: Place | None = None

    def takes(self, r: CampaignRating, at: Place) -> bool:
        """Return whether a rating belongs to this page without a change of the order."""
        f = self.first
        if (f.rater, f.kind, f.began, f.ended, f.comment) != (r.rater, r.kind, r.began, r.ended, r.comment):
            return False
        if any(segment == at[0] for segment, _ in self.items) and at != self.last:
            return False
        return all(r.key.system != other.key.system for other in self.items.get(at, ()))


def write_pearmut(file: CampaignFile) -> Written:
    """Return one JSON file. Raises `UserError` for a rating whose output or spans do not match the texts."""
    checked_campaign(file)
    known, references = file.texts(), {s.key: s.references for s in file.dataset.segments}
    raw = raw_spans(file)
    counts: Counter[str] = Counter()
    lines = []
    for sheet in _sheets(file.ratings, known):
        first = sheet.first
        prefix = {"tutorial": WELCOME, "check": RANDOM}.get(first.kind, "")
        page: str | int = f"{prefix}{counts[prefix]}" if prefix else counts[prefix]
        counts[prefix] += 1
        items, annotations, validations = [], [], []
        for (segment, source), of in sheet.items.items():
            texts = {r.key.system: texts_of(r, known)[0] or "" for r in of}
            refs = references.get(segment, ()) if first.kind == "item" else ()
            items.append(_pearmut_item(str(page), segment, source, refs, texts, of))
            annotations.append(
                {r.key.system: _annotation(r, source, texts[r.key.system], raw.get(r.identity, [])) for r in of}
            )
            validations.append({r.key.system: r.passed for r in of if r.passed is not None})
        line: dict[str, Any] = {"annotation": annotations, "actions": _actions(first), "item": items}
        if any(validations):
            line["validations"] = validations
        if first.comment:
            line["comment"] = first.comment
        lines.append(line | {"user_id": first.rater, "item_i": page})
    text = json.dumps({"campaign": lines}, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    lost = lost_parts(
        file, checks=True, times=True, comments=True, raw="start_i", passed=True, references=1, sliders=True
    )
    return Written((text,), tuple(lost))


def _sheets(ratings: Iterable[CampaignRating], known: dict[OutputKey, tuple[str, str | None]]) -> list[_Sheet]:
    sheets: list[_Sheet] = []
    for r in ratings:
        at = (r.key.segment, texts_of(r, known)[1])
        if not sheets or not sheets[-1].takes(r, at):
            sheets.append(_Sheet(r))
        sheets[-1].items.setdefault(at, []).append(r)
        sheets[-1].last = at
    return sheets


def _pearmut_item(
    page: str, segment: SegmentKey, source: str | None, references: tuple[str, ...], texts: dict[str, str], of: list[CampaignRating]
) -> dict[str, Any]:  # fmt: skip
    name = JOINTS[0].join(segment) if segment.doc_id else segment.segment_id
    item: dict[str, Any] = {"item_id": name, "src": source, "tgt": texts}
    if references:
        item["ref"] = references[0]
    kept: dict[str, Any] = segment._asdict() if split_id(name) != segment else {}
    if kind_of(name, page) != of[0].kind:
        kept["kind"] = of[0].kind
    made_from = {r.key.system: list(r.of) for r in of if r.of is not None}
    if made_from:
        kept["of"] = made_from
    return item | ({EXACT: kept} if kept else {})


def _annotation(r: CampaignRating, source: str | None, text: str, raw: list[dict[str, Any]]) -> dict[str, Any]:
    annotation: dict[str, Any] = {"score": r.score}
    if r.sliders:
        annotation["sliders"] = dict(r.sliders)
    if r.errors is not None:
        texts = SpanText.of(text, source, PEARMUT)
        annotation["error_spans"] = [*(write_span(e, texts, key="category") for e in r.errors), *raw]
        if not annotation["error_spans"]:
            annotation[EXACT] = NO_ERROR
    return annotation


def _actions(r: CampaignRating) -> list[dict[str, Any]]:
    times = ((r.began, "load"), (r.ended, "submit"))
    return [{"time": float(seconds_text(at)), "action": action} for at, action in times if at is not None]
