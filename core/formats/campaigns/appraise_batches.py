"""Read the batches of an Appraise campaign: the texts of every task, with its tutorial items and attention checks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from core.data import OutputKey
from core.formats.campaigns.campaign_file import CampaignReading, Kind
from core.formats.campaigns.span_json import EXACT
from core.formats.files import Upload
from core.formats.parsing.json_records import Record, records
from core.formats.problems import shown

_MARKS = re.compile(r"(?:#(?:bad|duplicate)\d*)+$", re.IGNORECASE)
_ITEM = re.compile(r"(.+) \| (.+) \| (.+)", re.DOTALL)

RowName = tuple[str, str, str, str]
"""What names an item in the CSV: itemID, documentID, itemType and targetID."""


class BatchItem(NamedTuple):
    """One item of one batch. `document_score` is True for the score of a whole document, `clean` if the batches of this program say that
    its annotator found no error."""

    batch: int
    name: RowName
    kind: Kind
    key: OutputKey
    of: OutputKey | None
    source: str | None
    text: str | None
    document_score: bool
    place: int | None
    clean: bool = False


def read_batches(upload: Upload, found: CampaignReading) -> dict[RowName, list[BatchItem]]:
    """Return the items by their names in the CSV, and add the texts of the project to `found`."""
    by_name: dict[RowName, list[BatchItem]] = {}
    ordered: list[tuple[int, BatchItem]] = []
    for batch, record in enumerate(records(upload, found.problems), start=1):
        seen: Counter[str] = Counter()
        for item in _items(record):
            if (one := _item(item, batch, seen)) is None:
                continue
            by_name.setdefault(one.name, []).append(one)
            if one.kind == "item" and not one.document_score:
                ordered.append((batch, one))
    if all(one.place is not None for _, one in ordered):
        ordered.sort(key=lambda at: at[1].place or 0)
    for batch, one in ordered:
        found.add_texts(batch, one.key, one.source, one.text or "")
    if not by_name and not found.problems:
        found.problem(
            0, "items", "no items", "batches with items", f"Choose the batches of the campaign as {shown(upload.name)}"
        )
    return by_name


def _items(record: Record) -> Iterator[Record]:
    if "items" in record.values:
        yield from record.records("items")
    else:
        yield record


def _item(item: Record, batch: int, seen: Counter[str]) -> BatchItem | None:
    document, target = item.text("documentID"), item.text("targetID")
    number, text = item.text("itemID"), item.text("targetText")
    if document is None or target is None or number is None or text is None:
        return None
    seen[document] += 1
    name = (number, document, item.text("itemType", needed=False) or "TGT", target)
    whole = item.flag("isCompleteDocument")
    source = item.text("sourceText", needed=False) or None
    kind, key, of = _identity(item, name, seen[document])
    kept = item.values.get(EXACT)
    kept = kept if isinstance(kept, dict) else {}
    place = kept.get("place")
    return BatchItem(
        batch, name, kind, key, of, source, None if kept.get("text") is False else text, whole,
        place if isinstance(place, int) else None, kept.get("no_error") is True,
    )  # fmt: skip


def _identity(item: Record, name: RowName, ordinal: int) -> tuple[Kind, OutputKey, OutputKey | None]:
    number, document, of_type, target = name
    match item.values.get(EXACT):
        case {"kind": "item" | "check" | "tutorial" as kind, "key": [str(), str(), str()] as key, **rest}:
            made_from = rest.get("of")
            match made_from:
                case [str(), str(), str()]:
                    return kind, OutputKey(*key), OutputKey(*made_from)
            return kind, OutputKey(*key), None
    task = item.values.get("mqm")
    if (isinstance(task, dict) and "tutorial" in task) or "tutorial" in document.casefold():
        return "tutorial", OutputKey(target, document, number), None
    marks = found[0] if (found := _MARKS.search(document)) else ""
    plain = document.removesuffix(marks)
    if parts := _ITEM.fullmatch(item.text("_item", needed=False) or ""):
        of = OutputKey(parts[1], parts[3], parts[2])
    else:
        system = target.removeprefix(f"{item.text('sourceID', needed=False) or ''}.")
        of = OutputKey(system, plain.removesuffix(f"#{system}"), str(ordinal))
    if marks or of_type.upper() not in ("TGT", "REF"):
        return "check", OutputKey(of.system, of.doc_id + (marks or f"#{of_type}"), of.segment_id), of
    return "item", of, None
