"""Name files that no reader of labels knows, and say what to import instead."""

from __future__ import annotations

import re
from typing import NamedTuple

from core.formats.files import Upload, beginning
from core.formats.problems import shown
from core.formats.table import header_of

LOOK = 1 << 20
"""How many bytes of a file are read."""
_SHOWN = 8
_CHOOSE = "Choose the format of the file, or export it in one of those in docs/formats.md"

ITEM_TYPES = frozenset({"TGT", "REF", "CHK", "BAD"})
"""What Appraise rates: outputs, references, repetitions, and outputs with errors as attention checks."""
_APPRAISE_COLUMNS = range(9, 15)
_TYPE_AT = slice(3, 6)


class UnreadForm(NamedTuple):
    """What a file is, and what to do instead."""

    found: str
    todo: str


_JSON: tuple[tuple[frozenset[str], UnreadForm], ...] = (
    (
        frozenset(("campaign_id", "info", "data")),
        UnreadForm(
            "the tasks of a Pearmut campaign, without answers",
            "Choose the annotations that Pearmut’s dashboard downloads, or its log in data/outputs",
        ),
    ),
    (
        frozenset(("annotations", "item", "user_id")),
        UnreadForm(
            "a log of an early version of Pearmut (annotations instead of annotation)",
            "Write its scores as a table with one row per annotator and output, and import that",
        ),
    ),
    (
        frozenset(("documentID", "targetID", "itemID", "targetText")),
        UnreadForm(
            "the texts of an Appraise campaign, without answers",
            "Import a finished campaign on Campaigns, with the CSV of its scores",
        ),
    ),
)
_WITHOUT_DOCUMENTS = UnreadForm(
    "scores of Appraise in rows without a document",
    "Write a first line such as rater,system,segment,item type,source language,target language,score,start,end, and import it as "
    "scores by annotator",
)


def described(upload: Upload) -> UnreadForm:
    """Return what a file is that no reader of labels knows."""
    head = beginning(upload, LOOK).decode("utf-8-sig", "replace")
    start = head.lstrip()
    if start[:1] == "<":
        return UnreadForm("XML", "XML is not read. Export it in one of the forms in docs/formats.md")
    if start[:1] in ("{", "["):
        keys = dict.fromkeys(re.findall(r'"([^"\\]+)"\s*:', start))
        known = next((form for needed, form in _JSON if needed <= keys.keys()), None)
        return known or UnreadForm(f"JSON with the keys {_listed(list(keys))}", _CHOOSE)
    columns = header_of(upload.name, head.splitlines(keepends=True))
    if len(columns) in _APPRAISE_COLUMNS and ITEM_TYPES & set(columns[_TYPE_AT]):
        return _WITHOUT_DOCUMENTS
    if len(columns) > 1:
        return UnreadForm(f"the columns {_listed(columns)}", _CHOOSE)
    return UnreadForm(f"the line {shown(start.split(chr(10), 1)[0])}" if start else "nothing", _CHOOSE)


def _listed(names: list[str]) -> str:
    return ", ".join(map(shown, names[:_SHOWN])) + (" …" if len(names) > _SHOWN else "")
