"""Read the rows of a Google MQM TSV, with the exact values in their metadata."""

from __future__ import annotations

from typing import Any, NamedTuple

from core.data import OutputKey, SegmentKey, Side
from core.errors import ImportProblems, Problem
from core.formats.files import Upload, numbered_lines
from core.formats.labels.google_mqm_text import marked, readable
from core.formats.parsing.json_text import NotJson, parsed
from core.formats.parsing.limits import Meter

REQUIRED = ("system", "doc", "seg_id", "rater", "source", "target", "category", "severity")
OPTIONAL = ("doc_id", "comment", "metadata")
WHOLE = "texts of whole characters"
ALIASES = {"docsegid": "doc_id", "globalsegid": "seg_id", "note": "comment"}


class MqmRow(NamedTuple):
    """One row. If `exact`, `source` and `target` are plain texts and `span` the position, from the metadata; otherwise the texts still
    contain `<v>` and `</v>`. `source` is None if the cell is empty."""

    line: int
    system: str
    doc: str
    seg_id: str
    rater: str
    source: str | None
    target: str
    category: str
    severity: str
    comment: str
    exact: bool = False
    span: tuple[Side, int, int] | None = None

    @property
    def segment(self) -> SegmentKey:
        return SegmentKey(self.doc, self.seg_id)

    @property
    def key(self) -> OutputKey:
        return OutputKey(self.system, self.doc, self.seg_id)

    @property
    def clean(self) -> bool:
        return self.span is None and is_clean(self.category)


def is_clean(name: str) -> bool:
    """Return whether a category or severity means no error, in any spelling ("No-error", "no error")."""
    return "".join(c for c in name.casefold() if c.isalnum()) == "noerror"


def rows_of(data: bytes, file: str) -> tuple[list[MqmRow], list[MqmRow]]:
    """Return all rows, and those whose metadata does not match their plain columns. Raises `ImportProblems`."""
    lines = numbered_lines(Upload(file, data))
    header = next(lines)[1]
    names = [ALIASES.get(n.strip().lower(), n.strip().lower()) for n in header.split("\t")]
    Meter(file).columns(1, len(names))
    faults = [
        Problem(
            file, 1, n, "no such column", "\t".join(REQUIRED), "Add the column, or choose a file in Google's MQM form"
        )
        for n in REQUIRED
        if n not in names
    ]
    faults += [
        Problem(file, 1, n, "the column twice", "once", "Remove one")
        for n in (*REQUIRED, *OPTIONAL)
        if names.count(n) > 1
    ]
    if faults:
        raise ImportProblems(faults)
    least = max(names.index(n) for n in REQUIRED) + 1
    rows, stale = [], []
    memo: dict[str, str] = {}
    for number, line in lines:
        if not line:
            continue
        cells = line.split("\t")
        if not least <= len(cells) <= len(names):
            faults.append(
                Problem(
                    file,
                    number,
                    "",
                    f"{len(cells)} cells",
                    f"{len(names)}",
                    "Correct the row: cells cannot contain tabs",
                )
            )
            continue
        try:
            row, fits = row_of(number, dict(zip(names, map(memo.setdefault, cells, cells), strict=False)))
        except NotJson as error:
            faults.append(Problem(file, number, "metadata", str(error), WHOLE, "Remove it from the row"))
            continue
        rows.append(row)
        if not fits:
            stale.append(row)
    if not rows and not faults:
        faults.append(Problem(file, 0, "", "a header without rows", "one row per error", "Choose another file"))
    if faults:
        raise ImportProblems(faults)
    return rows, stale


def row_of(number: int, cells: dict[str, str]) -> tuple[MqmRow, bool]:
    """Return the row, and whether its metadata (if this program wrote any) matches its plain columns.

    Raises `NotJson` for metadata with a text that no file or database can store.
    """
    row = MqmRow(
        line=number,
        system=cells["system"],
        doc=cells["doc"],
        seg_id=cells["seg_id"],
        rater=cells["rater"],
        source=cells["source"] or None,
        target=cells["target"],
        category=cells["category"],
        severity=cells["severity"],
        comment=cells.get("comment", ""),
    )
    said = metadata_of(cells.get("metadata") or "")
    if said is None or "errorscope" not in said:
        return row, True
    kept = said["errorscope"]
    exact = _exact(row, kept)
    return (exact, True) if exact else (row, False)


def metadata_of(cell: str) -> dict[str, Any] | None:
    """Return the object in a metadata cell; None if it is something else (a note).

    Raises `NotJson` for a text that no file or database can store.
    """
    try:
        value = parsed(cell)
    except NotJson as error:
        if error.unstorable:
            raise
        return None
    return value if isinstance(value, dict) else None


def _exact(row: MqmRow, kept: object) -> MqmRow | None:
    """Return the row with the exact values of `kept`; None if these do not match its plain columns."""
    if not isinstance(kept, dict) or not isinstance(kept.get("cells"), dict):
        return None
    fields = (*REQUIRED, "comment")
    values = {c: v for c, v in kept["cells"].items() if c in fields}
    if any(not isinstance(v, str) and not (c == "source" and v is None) for c, v in values.items()):
        return None
    if not {"source", "target"} <= values.keys():
        return None
    exact = row._replace(exact=True, **values)
    shown = exact._asdict()
    if kept.get("span") is not None:
        match kept["span"]:
            case ["output" | "source" as side, int(start), int(end)]:
                text = exact.target if side == "output" else exact.source or ""
                if not 0 <= start <= end <= len(text):
                    return None
                exact = exact._replace(span=(side, start, end))
                shown["target" if side == "output" else "source"] = marked(text, start, end)
            case _:
                return None
    plain = row._asdict()
    return exact if all(readable(shown[c] or "") == readable(plain[c] or "") for c in fields) else None
