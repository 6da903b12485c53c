"""Read JSON Lines: one object per line. Numbers keep the digits they were written with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from core.formats.parsing.cells import Cell, FileTable, TableRow, TableStream, cell_of
from core.formats.parsing.json_list import elements
from core.formats.parsing.json_text import NotJson, as_written
from core.formats.parsing.limits import Meter
from core.formats.parsing.text_check import refused
from core.formats.problems import Collector, shown

_ONE_OBJECT = "one JSON object per line"
_WHOLE = "Write the character itself, in UTF-8"


Records = Callable[[], Iterable[tuple[int, str]]]
"""The JSON texts of a file with their lines, read again at each call."""


def stream_jsonl(name: str, lines: Callable[[], Iterable[str]], limit: int | None = None) -> TableStream:
    """Return objects as a table; the columns are all keys in the order of their first occurrence. Blank lines are skipped.

    `lines` are those of checked UTF-8; `limit` stops after that many rows. Raises `ImportProblems` with every line that is not an object,
    has a repeated key or a text that no file or database can store (a NUL, half a surrogate pair), and for more rows, cells or columns than
    the limits.
    """

    def records() -> Iterator[tuple[int, str]]:
        return ((number, line.strip(" \t\r\n")) for number, line in enumerate(lines(), start=1))

    number, first = next(((number, text) for number, text in records() if text), (0, ""))
    if first in ("[", "{") or first.startswith("[{"):
        listed = first[0] == "["
        todo = (
            "Write one object per line, for example with: jq -c '.[]' FILE"
            if listed
            else "Write each object on one line"
        )
        raise refused(name, number, "one list" if listed else "one object over several lines", _ONE_OBJECT, todo)
    return _stream(name, records, limit)


def read_list(name: str, data: bytes) -> FileTable:
    """Read one list of objects into rows, as `stream_jsonl` does. An object gets the line it begins on, or the next line after the previous
    object's if that is higher."""
    return _stream(name, lambda: _one_a_line(elements(name, data)), None).held()


def _one_a_line(found: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    last = 0
    for line, text in found:
        last = max(line, last + 1)
        yield last, text


def _stream(name: str, records: Records, limit: int | None) -> TableStream:
    problems, meter = Collector(), Meter(name)
    columns: dict[str, None] = {}
    for number, row in islice(_objects(name, records(), problems, meter), limit):
        columns.update(dict.fromkeys(row))
        meter.columns(number, len(columns))
        meter.row(number, len(columns) + sum(len(cell) for cell in row.values() if isinstance(cell, tuple)))
    problems.check()
    names = tuple(columns)

    def each() -> Iterator[TableRow]:
        for number, row in islice(_objects(name, records(), Collector(), Meter(name)), limit):
            yield TableRow(number, tuple(map(row.get, names)))

    return TableStream(name, names, each)


def _objects(
    name: str, records: Iterable[tuple[int, str]], problems: Collector, meter: Meter
) -> Iterator[tuple[int, dict[str, Cell]]]:
    for number, text in records:
        if not text:
            continue
        row = _object(name, number, text, problems)
        if row is None:
            meter.row(number)
        else:
            yield number, row


def _object(name: str, number: int, text: str, problems: Collector) -> dict[str, Cell] | None:
    """Return the cells of one object; None, and a problem, for anything else."""
    try:
        value = as_written(text)
    except NotJson as error:
        if error.key is not None:
            problems.add(name, number, error.key, str(error), "each key once", "Remove one of them")
        elif error.unstorable:
            problems.add(name, number, error.place, str(error), "whole characters", _WHOLE)
        else:
            todo = "Write each object on one line, in valid JSON"
            problems.add(name, number, "", f"{shown(text)} ({error})", _ONE_OBJECT, todo)
        return None
    if not isinstance(value, dict):
        kind = "a list" if isinstance(value, list) else shown(text)
        problems.add(name, number, "", kind, _ONE_OBJECT, "Write one object per line, not one list")
        return None
    return {key: cell_of(v) for key, v in value.items()}
