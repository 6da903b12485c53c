"""Escape text cells in CSV files that a spreadsheet could run as a formula, and undo the escaping.

An apostrophe is put before every text that begins with a formula character, also after apostrophes and invisible characters (blanks,
no-break and zero-width spaces, a byte order mark), since programs may drop those. The escaping is reversible. In an uploaded table a
leading apostrophe is part of the text, unless its header is one that only this program writes.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain

from core.formats.parsing.cells import TableReading, TableRow

_SIGNS = frozenset("=+-@")
_BREAKS = frozenset("\t\r\n")
_UNSEEN = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Invisible characters that Unicode counts among marks, letters and symbols."""

EXPORTED: frozenset[tuple[str, ...]] = frozenset(
    tuple(header.split())
    for header in (
        "system doc_id segment_id metric signature score status reason",
        "system metric score status reason signature",
        "system doc_id segment_id score n_raters",
        "system doc_id segment_id rater side start end quote severity category note verdict submitted",
        "error id source ref r hyp_para hyp_adv_based hyp_adv_free",
    )
)
"""Headers of the CSV files that this program writes and that may be uploaded again."""


@lru_cache(maxsize=4096)
def _starts_formula(char: str) -> bool:
    """Return whether a character is = + - or @ in any width or size, a tab or a line break."""
    return char in _BREAKS or unicodedata.normalize("NFKC", char)[:1] in _SIGNS


@lru_cache(maxsize=4096)
def _unseen(char: str) -> bool:
    """Return whether a character is invisible: blanks, control and format characters, variation selectors."""
    return (
        unicodedata.category(char)[0] in "ZC"
        or char in _UNSEEN
        or "\u180b" <= char <= "\u180f"
        or "\ufe00" <= char <= "\ufe0f"
        or "\U000e0100" <= char <= "\U000e01ef"
    )


def _risky(text: str) -> bool:
    if text[:1].isascii() and text[:1].isalnum():
        return False
    for char in text.lstrip("'"):
        if _starts_formula(char):
            return True
        if not _unseen(char):
            return False
    return False


def safe_cell(text: str) -> str:
    """Return the text with an apostrophe in front if a spreadsheet could run it as a formula.

    Apostrophes before a formula get one more, so that `raw_cell(safe_cell(text)) == text` for every text.
    """
    return "'" + text if _risky(text) else text


def raw_cell(cell: str) -> str:
    return cell[1:] if cell[:1] == "'" and _risky(cell) else cell


def unescaped(table: TableReading, *, always: bool = False) -> TableReading:
    """Apply `raw_cell` to the header and the text cells of a table whose columns are those that this program exports, or `always`."""
    as_read = table.rows

    def rows() -> Iterator[TableRow]:
        first = next(as_read, None)
        if first is None:
            return
        if not always and tuple(table.columns) not in EXPORTED:
            yield first
            yield from as_read
            return
        table.columns[:] = map(raw_cell, table.columns)
        for row in chain([first], as_read):
            yield TableRow(row.line, tuple(raw_cell(c) if isinstance(c, str) else c for c in row.cells))

    table.rows = rows()
    return table
