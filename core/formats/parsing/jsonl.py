"""Read JSON Lines: one object per line. Numbers keep the digits they were written with."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from core.formats.files import raw_lines
from core.formats.parsing.cells import Cell, FileTable, Nested, TableRow
from core.formats.parsing.json_list import elements
from core.formats.parsing.json_text import NotJson, as_written
from core.formats.parsing.limits import Meter
from core.formats.problems import Collector, shown

_ONE_OBJECT = "one JSON object per line"
_WHOLE = "Write the character itself, in UTF-8"
_REMEMBERED = 1 << 20  # distinct cells that later equal ones may share


def _cell(value: Any) -> Cell:
    match value:
        case None | str():
            return value
        case bool():
            return "true" if value else "false"
        case list() if all(isinstance(v, str) for v in value):
            return tuple(value)
    return Nested(json.dumps(value, ensure_ascii=False))


def read_jsonl(name: str, data: bytes, limit: int | None = None) -> FileTable:
    """Read objects into rows; the columns are all keys in the order of their first occurrence. Blank lines are skipped.

    `data` is checked UTF-8; `limit` stops after that many rows. Raises `ImportProblems` with every line that is not an object, has a
    repeated key or a text that no file or database can store (a NUL, half a surrogate pair), and for more rows, cells or columns than the
    limits.
    """
    lines = ((number, line.strip(" \t\r\n")) for number, line in enumerate(raw_lines(data), start=1))
    return _table(name, lines, limit)


def read_list(name: str, data: bytes) -> FileTable:
    """Read one list of objects into rows, as `read_jsonl` does. An object gets the line it begins on, or the next line after the previous
    object's if that is higher."""
    return _table(name, _one_a_line(elements(name, data)), None)


def _one_a_line(found: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    last = 0
    for line, text in found:
        last = max(line, last + 1)
        yield last, text


def _table(name: str, texts: Iterable[tuple[int, str]], limit: int | None) -> FileTable:
    problems, meter = Collector(), Meter(name)
    columns: dict[str, None] = {}
    found: list[tuple[int, dict[str, Cell]]] = []
    memo: dict[Cell, Cell] = {}
    for number, text in texts:
        if limit is not None and len(found) >= limit:
            break
        if not text:
            continue
        row = _object(name, number, text, problems)
        if row is None:
            meter.row(number)
            continue
        for key, cell in row.items():
            row[key] = memo.setdefault(cell, cell) if len(memo) < _REMEMBERED else memo.get(cell, cell)
        columns.update(dict.fromkeys(row))
        meter.columns(number, len(columns))
        meter.row(number, len(columns) + sum(len(cell) for cell in row.values() if isinstance(cell, tuple)))
        found.append((number, row))
    problems.check()
    return FileTable(name, tuple(columns), tuple(TableRow(n, tuple(map(row.get, columns))) for n, row in found))


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
    return {key: _cell(v) for key, v in value.items()}
