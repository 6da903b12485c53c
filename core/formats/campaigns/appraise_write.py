"""Write a campaign as Appraise stores it: the ratings as CSV and the texts as JSON batches, one batch per annotator.

Items are numbered through all batches. What Appraise has no place for (the ids of a segment that its document does not imply) is kept
under `errorscope`, which Appraise ignores.
"""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from core.data import OutputKey, grouped
from core.formats.campaigns.appraise import spans_cell
from core.formats.campaigns.campaign_file import (
    CampaignFile,
    CampaignRating,
    checked_campaign,
    lost_parts,
    raw_spans,
    seconds_text,
    texts_of,
)
from core.formats.campaigns.span_json import APPRAISE, EXACT, SpanText, write_span
from core.formats.labels.label_file import Written


def write(file: CampaignFile, *, source_language: str = "", target_language: str = "") -> Written:
    """Return the CSV and the batches. Raises `UserError` for a rating whose output or spans do not match the texts."""
    checked_campaign(file)
    known = file.texts()
    place = {o.key: i for i, o in enumerate(file.dataset.outputs)}
    numbers: dict[tuple[str, str, OutputKey], int] = {}
    batches = []
    for of in grouped((r.rater, r) for r in file.ratings).values():
        items = []
        for r in of:
            numbers[r.rater, r.kind, r.key] = len(numbers) + 1
            text, source = texts_of(r, known)
            items.append(_item(len(numbers), r.kind, r.key, source, text, r.of, place.get(r.key)))
            if r.errors == () and not r.unread:
                items[-1][EXACT]["no_error"] = True
        batches.append(items)
    rated = {r.key for r in file.ratings if r.kind == "item"}
    unrated = [o for o in file.dataset.outputs if o.key not in rated]
    if unrated:
        first = len(numbers) + 1
        batches.append([
            _item(n, "item", o.key, known[o.key][1], o.text, None, place[o.key]) for n, o in enumerate(unrated, first)
        ])  # fmt: skip
    languages: dict[str, Any] = {"sourceLanguage": source_language, "targetLanguage": target_language}
    tasks = [
        {"items": items, "task": {"batchNo": n, "requiredAnnotations": 1} | languages}
        for n, items in enumerate(batches, start=1)
    ]
    texts = json.dumps(tasks, ensure_ascii=False, indent=2) + "\n"
    lost = lost_parts(file, checks=True, times=True, raw="start_i", unrated=True)
    return Written((_csv(file, numbers, tuple(languages.values())), texts), tuple(lost))


def _document(kind: str, key: OutputKey) -> str:
    return key.doc_id if kind == "tutorial" else f"{key.doc_id}#{key.system}"


def _type(kind: str) -> str:
    return "BAD" if kind == "check" else "TGT"


def _item(
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


def _csv(file: CampaignFile, numbers: dict[tuple[str, str, OutputKey], int], languages: tuple[str, ...]) -> str:
    known, raw = file.texts(), raw_spans(file)
    typed = any(e.category != "Unspecified" for r in file.ratings for e in r.errors or ())
    placeholder = "0" if typed and all(r.score is None for r in file.ratings) else ""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    for r in file.ratings:
        rows.writerow([
            r.rater, r.key.system, numbers[r.rater, r.kind, r.key], _type(r.kind), *languages,
            placeholder if r.score is None else _number(r.score), _document(r.kind, r.key), "False",
            _spans(r, known, raw.get((r.rater, r.kind, r.key), [])), seconds_text(r.began), seconds_text(r.ended),
        ])  # fmt: skip
    return out.getvalue()


def _number(score: float) -> str:
    return str(int(score)) if score.is_integer() else repr(score)


def _spans(rating: CampaignRating, known: dict[OutputKey, tuple[str, str | None]], raw: list[dict[str, Any]]) -> str:
    if rating.errors is None:
        return ""
    texts = SpanText.of(*texts_of(rating, known), APPRAISE)
    return spans_cell([*(write_span(e, texts) for e in rating.errors), *raw])
