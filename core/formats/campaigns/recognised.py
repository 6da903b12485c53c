"""Recognise the files of human-evaluation campaigns of other tools by their first bytes."""

from __future__ import annotations

import csv
import re
from typing import Literal

from core.formats.campaigns import wmt25_spans
from core.formats.campaigns.appraise import COLUMNS, WITH_BATCH, with_spans
from core.formats.files import Upload, beginning
from core.formats.parsing.numbers import number

LOOK = 1 << 20
"""How many bytes of a file are read."""

RecognisedFormat = Literal["appraise", "appraise-batches", "wmt25", "wmt25-spans", "pearmut"]
BATCHES: Literal["appraise-batches"] = "appraise-batches"
_KEYS: tuple[tuple[RecognisedFormat, tuple[str, ...]], ...] = (
    ("pearmut", ("user_id", "item_i", "annotation")),
    ("wmt25", ("doc_id", "tgt_text", "scores")),
    (BATCHES, ("documentID", "targetID", "itemID", "targetText")),
)


def recognised(upload: Upload) -> RecognisedFormat | None:
    """Return the format of a campaign file, `BATCHES` for the texts of an Appraise campaign, or None for any other file."""
    head = beginning(upload, LOOK).decode("utf-8-sig", "replace").lstrip()
    if head[:1] in ("{", "["):
        keys = set(re.findall(r'"(\w+)"\s*:', head))
        return next((name for name, needed in _KEYS if keys.issuperset(needed)), None)
    first = head.split("\n", 1)[0].rstrip("\r")
    if "\t" in first:
        return "wmt25-spans" if set(wmt25_spans.REQUIRED) <= set(first.split("\t")) else None
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
    return spans[:1] in ("", "[", "{") and all(not c.strip() or number(c) is not None for c in (cells[6], *cells[10:]))
