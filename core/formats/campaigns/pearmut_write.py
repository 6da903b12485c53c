"""Write a campaign as Pearmut's annotations: JSON `{campaign: [records]}`, one record per page of an annotator."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from core.data import OutputKey, SegmentKey
from core.formats.campaigns.campaign_file import (
    CampaignFile,
    CampaignRating,
    checked_campaign,
    lost_parts,
    raw_spans,
    seconds_text,
    texts_of,
)
from core.formats.campaigns.pearmut import JOINTS, split_id
from core.formats.campaigns.span_json import EXACT, PEARMUT, SpanText, write_span
from core.formats.labels.label_file import Written
from core.formats.labels.pearmut_answer import NO_ERROR, RANDOM, WELCOME, kind_of

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


def write(file: CampaignFile, campaign: str = "campaign") -> Written:
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
            items.append(_item(str(page), segment, source, refs, texts, of))
            annotations.append(
                {r.key.system: _annotation(r, source, texts[r.key.system], raw.get(_name(r), [])) for r in of}
            )
            validations.append({r.key.system: r.passed for r in of if r.passed is not None})
        line: dict[str, Any] = {"annotation": annotations, "actions": _actions(first), "item": items}
        if any(validations):
            line["validations"] = validations
        if first.comment:
            line["comment"] = first.comment
        lines.append(line | {"user_id": first.rater, "item_i": page})
    text = json.dumps({campaign: lines}, ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    lost = lost_parts(
        file, checks=True, times=True, comments=True, raw="start_i", passed=True, references=1, sliders=True
    )
    return Written((text,), tuple(lost))


def _name(r: CampaignRating) -> tuple[str, Any, OutputKey]:
    return r.rater, r.kind, r.key


def _sheets(ratings: Iterable[CampaignRating], known: dict[OutputKey, tuple[str, str | None]]) -> list[_Sheet]:
    sheets: list[_Sheet] = []
    for r in ratings:
        at = (r.key.segment, texts_of(r, known)[1])
        if not sheets or not sheets[-1].takes(r, at):
            sheets.append(_Sheet(r))
        sheets[-1].items.setdefault(at, []).append(r)
        sheets[-1].last = at
    return sheets


def _item(
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
    found: dict[str, Any] = {"score": r.score}
    if r.sliders:
        found["sliders"] = dict(r.sliders)
    if r.errors is not None:
        texts = SpanText.of(text, source, PEARMUT)
        found["error_spans"] = [*(write_span(e, texts, key="category") for e in r.errors), *raw]
        if not found["error_spans"]:
            found[EXACT] = NO_ERROR
    return found


def _actions(r: CampaignRating) -> list[dict[str, Any]]:
    times = ((r.began, "load"), (r.ended, "submit"))
    return [{"time": float(seconds_text(at)), "action": action} for at, action in times if at is not None]
