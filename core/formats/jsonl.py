"""JSON Lines: one object a line. Numbers keep the digits they were written with."""

from __future__ import annotations

import json
import re
from typing import Any

from core.formats.cells import Cell, Nested, Row, Table
from core.formats.files import raw_lines
from core.formats.problems import Collector, shown

_ONE_OBJECT = "one JSON object a line"
_WHOLE = "Write the character itself, in UTF-8"
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class _TwiceError(ValueError):
    """A key that an object holds twice."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        names = [key for key, _ in pairs]
        raise _TwiceError(next(key for key in names if names.count(key) > 1))
    return out


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_float=str, parse_int=str, parse_constant=str)


def _cell(value: Any) -> Cell:
    match value:
        case None | str():
            return value
        case bool():
            return "true" if value else "false"
        case list() if all(isinstance(v, str) for v in value):
            return tuple(value)
    return Nested(json.dumps(value, ensure_ascii=False))


def _unstorable(cell: Cell) -> bool:
    texts = cell if isinstance(cell, tuple) else (cell,)
    return any(isinstance(text, str) and _UNSTORABLE.search(text) for text in texts)


def read_jsonl(name: str, data: bytes, limit: int | None = None) -> Table:
    """Read objects into rows; the columns are all keys, in the order they are first met. Blank lines are skipped.

    `data` is checked UTF-8; `limit` stops after that many rows. Raises `ImportProblems` with the line of every line that
    is not an object, holds a key twice, or holds a text no file or database can store (a NUL, half a surrogate pair).
    """
    problems = Collector()
    columns: dict[str, None] = {}
    found: list[tuple[int, dict[str, Cell]]] = []
    memo: dict[Cell, Cell] = {}
    for number, line in enumerate(raw_lines(data), start=1):
        if limit is not None and len(found) >= limit:
            break
        text = line.strip(" \t\r\n")
        if not text:
            continue
        try:
            value = _DECODER.decode(text)
        except _TwiceError as error:
            problems.add(name, number, str(error), "the key twice in one object", "each key once", "Remove one of them")
            continue
        except (ValueError, RecursionError) as error:
            why = (
                f"{error.msg} at character {error.pos + 1}"
                if isinstance(error, json.JSONDecodeError)
                else "nesting too deep"
            )
            todo = "Write each object on one line; numbers, lists and texts as JSON has them"
            problems.add(name, number, "", f"{shown(text)} ({why})", _ONE_OBJECT, todo)
            continue
        if not isinstance(value, dict):
            kind = "a list" if isinstance(value, list) else shown(text)
            problems.add(name, number, "", kind, _ONE_OBJECT, "Write one object a line, not one list for all")
            continue
        row = {key: memo.setdefault(cell, cell) for key, cell in ((k, _cell(v)) for k, v in value.items())}
        if (
            "\\u" in text
            and (bad := next((k for k, cell in row.items() if _unstorable(k) or _unstorable(cell)), None)) is not None
        ):
            found_text = "a NUL or half a surrogate pair"
            problems.add(
                name, number, bad.encode("ascii", "backslashreplace").decode(), found_text, "whole characters", _WHOLE
            )
            continue
        columns.update(dict.fromkeys(row))
        found.append((number, row))
    problems.check()
    return Table(name, tuple(columns), tuple(Row(n, tuple(map(row.get, columns))) for n, row in found))
