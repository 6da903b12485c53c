"""The rows of a Google MQM TSV: bytes to cells, columns by name, and the exact values kept beside the plain ones."""

from __future__ import annotations

from typing import Any, NamedTuple

from core.data import OutputKey, SegmentKey, Side
from core.errors import ImportProblems, Problem
from core.formats.files import Upload, numbered_lines
from core.formats.google_mqm_text import marked, readable
from core.formats.json_text import NotJson, parsed
from core.formats.limits import Meter

REQUIRED = ("system", "doc", "seg_id", "rater", "source", "target", "category", "severity")
OPTIONAL = ("doc_id", "comment", "metadata")
WHOLE = "texts of whole characters"
ALIASES = {"docsegid": "doc_id", "globalsegid": "seg_id", "note": "comment"}


class Row(NamedTuple):
    """One row. `exact`: `source` and `target` are the plain texts and `span` the place, as metadata gives them;
    otherwise the texts still hold the mark. `source` is None where the cell is empty."""

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
    """Whether a category or severity says that there is no error, in whatever spelling ("No-error", "no error")."""
    return "".join(c for c in name.casefold() if c.isalnum()) == "noerror"


def rows_of(data: bytes, file: str) -> tuple[list[Row], list[Row]]:
    """All rows, and those whose metadata no longer fits their plain columns. Raises `ImportProblems`."""
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
                Problem(file, number, "", f"{len(cells)} cells", f"{len(names)}", "Mend the row: a cell holds no tab")
            )
            continue
        try:
            row, fits = row_of(number, dict(zip(names, map(memo.setdefault, cells, cells), strict=False)))
        except NotJson as error:
            faults.append(Problem(file, number, "metadata", str(error), WHOLE, "Write the row again without it"))
            continue
        rows.append(row)
        if not fits:
            stale.append(row)
    if not rows and not faults:
        faults.append(Problem(file, 0, "", "a header without rows", "one row an error", "Choose another file"))
    if faults:
        raise ImportProblems(faults)
    return rows, stale


def row_of(number: int, cells: dict[str, str]) -> tuple[Row, bool]:
    """The row, and whether its metadata (where there is any of ours) fits its plain columns.

    Raises `NotJson` for metadata with a text that no file or database can hold.
    """
    row = Row(
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
    """The object that a cell of metadata is; None where it is something else, which is a note.

    Raises `NotJson` where a text in it can be held by no file or database.
    """
    try:
        value = parsed(cell)
    except NotJson as error:
        if error.unstorable:
            raise
        return None
    return value if isinstance(value, dict) else None


def _exact(row: Row, kept: object) -> Row | None:
    """The row with the values of `kept`; None unless these, written plainly, are the row again."""
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
