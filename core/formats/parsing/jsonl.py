"""Read JSON Lines, one object per line, and lists of objects. Numbers keep the digits they were written with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from core.formats.parsing.cells import Cell, TableReading, TableRow, cell_of
from core.formats.parsing.json_list import Readable, elements, members
from core.formats.parsing.json_text import NotJson, as_written
from core.formats.parsing.limits import Meter
from core.formats.problems import Collector, shown

_ONE_OBJECT = "one JSON object per line"
_WHOLE = "Write the character itself, in UTF-8"
_MEMBERS = re.compile(r'\s*\{\s*"([^"\\]|\\.)*"\s*:\s*\[\s*\{')
SYSTEM = "system"


_WRAPPERS = frozenset("data rows records examples instances items segments".split())
"""Keys of a list that are no name of a system."""


def jsonl_rows(name: str, lines: Iterable[str], limit: int | None = None) -> TableReading:
    """Read objects as the rows of a table; the columns are all keys in the order of their first occurrence. Blank lines are skipped.

    `lines` are those of checked UTF-8; `limit` stops after that many rows. The rows raise `ImportProblems` at their end with every line
    that is not an object, has a repeated key or a text that no file or database can store (a NUL, half a surrogate pair), and for more
    rows, cells or columns than the limits.
    """
    records = ((number, line.strip(" \t\r\n")) for number, line in enumerate(lines, start=1))
    problems, meter = Collector(), Meter(name)
    return _reading(name, _objects(name, records, problems, meter), problems, meter, limit)


def list_rows(name: str, text: Readable, limit: int | None = None) -> TableReading:
    """Read the objects of one list as rows, as `jsonl_rows` does. An object gets the line it begins on, or the next line after the
    previous object's if that is higher."""
    problems, meter = Collector(), Meter(name)
    return _reading(name, _objects(name, _one_a_line(elements(name, text)), problems, meter), problems, meter, limit)


def member_rows(name: str, text: Readable, limit: int | None = None) -> TableReading:
    """Read the objects of an object {system: [objects]} as rows, as `list_rows` does, with the key as system (comet-score writes it).

    An object may name its system itself; keys such as `data` are no system.
    """
    keys: dict[str, None] = {}
    problems, meter = Collector(), Meter(name)

    def objects() -> Iterator[tuple[int, dict[str, Cell]]]:
        last = 0
        for key, line, found in members(name, text):
            last = max(line, last + 1)
            row = _object(name, last, found, problems)
            if row is None:
                meter.row(last)
                continue
            named = key.casefold() in _WRAPPERS or SYSTEM in row
            keys.update({} if named else {key: None})
            yield last, row if named else {SYSTEM: key, **row}

    reading = _reading(name, objects(), problems, meter, limit)
    rows = reading.rows

    def noted() -> Iterator[TableRow]:
        yield from rows
        systems = ", ".join(map(shown, list(keys)[:8])) + (f" and {len(keys) - 8} more" if len(keys) > 8 else "")
        reading.notes += [f"the keys of the object are systems: {systems}"] if keys else []

    reading.rows = noted()
    return reading


def holds_members(head: str) -> bool:
    """Return whether a text begins as an object does whose first value is a list of objects."""
    return _MEMBERS.match(head) is not None


def _one_a_line(found: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    last = 0
    for line, text in found:
        last = max(line, last + 1)
        yield last, text


def _reading(
    name: str, objects: Iterable[tuple[int, dict[str, Cell]]], problems: Collector, meter: Meter, limit: int | None
) -> TableReading:
    columns: dict[str, None] = {}
    reading = TableReading(name)

    def rows() -> Iterator[TableRow]:
        for number, row in islice(objects, limit):
            if not row.keys() <= columns.keys():
                columns.update(dict.fromkeys(row))
                reading.columns[:] = columns
            meter.columns(number, len(columns))
            meter.row(number, len(columns) + sum(len(cell) for cell in row.values() if isinstance(cell, tuple)))
            if not problems:
                yield TableRow(number, tuple(map(row.get, columns)))
        problems.check()

    reading.rows = rows()
    return reading


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
