"""Read the batches of an Appraise campaign: the texts of every task, with its tutorial items and attention checks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from typing import NamedTuple

from core.data import OutputKey
from core.formats.campaigns.campaign_file import CampaignReading, Kind
from core.formats.campaigns.span_json import EXACT
from core.formats.files import Upload
from core.formats.parsing.json_records import Record, records
from core.formats.problems import shown

_MARKS = re.compile(r"(?:#(?:bad|duplicate)\d*)+$", re.IGNORECASE)
_ITEM = re.compile(r"(.+) \| (.+) \| (.+)", re.DOTALL)

_NOT_JOINED = re.compile(r"(?<=Transformer)\+(?=R2L)|(?<=R2L)\+(?=Back)")
"""A + that Appraise takes for a part of the name of a system; it writes _ instead."""

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


def read_batches(
    upload: Upload, found: CampaignReading, systems: Collection[str] = ()
) -> dict[RowName, list[BatchItem]]:
    """Return the items by their names in the CSV, and add the texts of the project to `found`. `systems` are those of the CSV, in which
    an output of the systems A+B has a row for each."""
    by_name: dict[RowName, list[BatchItem]] = {}
    ordered: list[tuple[int, BatchItem]] = []
    for place, record in enumerate(records(upload, found.problems), start=1):
        seen: Counter[str] = Counter()
        task = record.record("task", needed=False)
        batch = (task.whole("batchNo", needed=False) if task else None) or place
        for item in _items(record):
            for one in _of_systems(item, batch, seen, systems):
                by_name.setdefault(one.name, []).append(one)
                if one.kind == "item" and not one.document_score:
                    ordered.append((place, one))
    if all(one.place is not None for _, one in ordered):
        ordered.sort(key=lambda at: at[1].place or 0)
    for place, one in ordered:
        found.add_texts(place, one.key, one.source, one.text or "")
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


def _of_systems(item: Record, batch: int, seen: Counter[str], systems: Collection[str]) -> list[BatchItem]:
    """Return an item once per system whose output it is."""
    document, target = item.text("documentID"), item.text("targetID")
    number, text = item.text("itemID"), item.text("targetText")
    if document is None or target is None or number is None or text is None:
        return []
    seen[document] += 1
    parts = _NOT_JOINED.sub("_", target).split("+")
    names = parts if target not in systems and any(part in systems for part in parts) else [target]
    return [_item(item, batch, seen[document], document, number, text, target, name) for name in names]


def _item(
    item: Record, batch: int, ordinal: int, document: str, number: str, text: str, target: str, system: str
) -> BatchItem:
    name = (number, document, item.text("itemType", needed=False) or "TGT", system)
    whole = item.flag("isCompleteDocument")
    source = item.text("sourceText", needed=False) or None
    kind, key, of = _identity(item, name, target, ordinal)
    kept = item.values.get(EXACT)
    kept = kept if isinstance(kept, dict) else {}
    place = kept.get("place")
    return BatchItem(
        batch, name, kind, key, of, source, None if kept.get("text") is False else text, whole,
        place if isinstance(place, int) else None, kept.get("no_error") is True,
    )  # fmt: skip


def _identity(item: Record, name: RowName, target: str, ordinal: int) -> tuple[Kind, OutputKey, OutputKey | None]:
    number, document, of_type, name_of_system = name
    match item.values.get(EXACT):
        case {"kind": "item" | "check" | "tutorial" as kind, "key": [str(), str(), str()] as key, **rest}:
            made_from = rest.get("of")
            match made_from:
                case [str(), str(), str()]:
                    return kind, OutputKey(*key), OutputKey(*made_from)
            return kind, OutputKey(*key), None
    task = item.values.get("mqm")
    if (isinstance(task, dict) and "tutorial" in task) or "tutorial" in document.casefold():
        return "tutorial", OutputKey(name_of_system, document, number), None
    marks = found[0] if (found := _MARKS.search(document)) else ""
    plain = document.removesuffix(marks)
    prefix = f"{item.text('sourceID', needed=False) or ''}."
    whole, system = target.removeprefix(prefix), name_of_system.removeprefix(prefix)
    if named := _ITEM.fullmatch(item.text("_item", needed=False) or ""):
        of = OutputKey(named[1] if whole == system else system, named[3], named[2])
    else:
        parts = [part.removeprefix(prefix) for part in target.split("+")] if whole != system else []
        ends = (whole, "+".join(parts) or whole, *parts)
        doc_id = next((plain.removesuffix(f"#{end}") for end in ends if plain.endswith(f"#{end}")), plain)
        of = OutputKey(system, doc_id, str(ordinal))
    if marks or of_type.upper() not in ("TGT", "REF"):
        return "check", OutputKey(of.system, of.doc_id + (marks or f"#{of_type}"), of.segment_id), of
    return "item", of, None
