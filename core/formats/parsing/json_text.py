"""Parse JSON, elements of JSON lists and JSON Lines within limits: every text gives a value or an error with a reason."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Protocol

from core.data import is_storable
from core.errors import ImportProblems
from core.formats.parsing.cells import Cell, Meter, TableReading, TableRow, cell_of
from core.formats.problems import Collector, refused, shown

DEPTH = 64
"""The deepest nesting of lists and objects."""
DIGITS = 100
"""The longest number in characters."""


class NotJson(ValueError):  # noqa: N818  (what the text is)
    """The reason why a text is not JSON or not accepted. `key` is a repeated key of an object.

    `unstorable` is True if a text has a NUL or half a surrogate pair; then `place` is the key of the outer object it belongs to.
    """

    def __init__(self, why: str, key: str | None = None, *, unstorable: bool = False, place: str = "") -> None:
        super().__init__(why)
        self.key = None if key is None else readable(key)
        self.unstorable, self.place = unstorable, readable(place)


def readable(text: str) -> str:
    """Return a text for a message, with characters that no file can store as escape codes."""
    return "".join(c if is_storable(c) else f"\\u{ord(c):04x}" for c in text)


def _short(digits: str) -> str:
    if len(digits) > DIGITS:
        raise NotJson(f"a number of {len(digits):,} characters")
    return digits


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        key = next(k for k, _ in pairs if k in seen or seen.add(k))  # type: ignore[func-returns-value]
        raise NotJson("a repeated key in one object", key)
    return members


_TYPED = json.JSONDecoder(parse_int=lambda n: int(_short(n)), parse_float=lambda n: float(_short(n)))
_AS_WRITTEN = json.JSONDecoder(object_pairs_hook=_unique, parse_float=str, parse_int=str, parse_constant=str)


def parsed(text: str) -> Any:
    """Return the value of a JSON text. Raises `NotJson` for invalid JSON, a number of more than `DIGITS` characters, nesting deeper than
    `DEPTH`, and a NUL or half a surrogate pair in a text."""
    return _checked(text, _TYPED.decode)


def as_written(text: str) -> Any:
    """Return the value of a JSON text, with numbers as the texts they were written as. Raises `NotJson` as `parsed` does, and for
    repeated keys in an object."""
    return _checked(text, _AS_WRITTEN.decode)


def _checked(text: str, decode: Callable[[str], Any]) -> Any:
    try:
        value = decode(text)
    except json.JSONDecodeError as error:
        raise NotJson(f"{error.msg} at character {error.pos + 1}") from error
    except RecursionError as error:
        raise NotJson("nesting too deep") from error
    if text.count("[") + text.count("{") > DEPTH and _depth_over(value, DEPTH):
        raise NotJson("nesting too deep")
    if "\\u" in text:
        _check_texts(value)
    return value


def _check_texts(value: Any) -> None:
    parts = value.items() if isinstance(value, dict) else [("", value)]
    for key, part in parts:
        if not (is_storable(key) and all(map(is_storable, _texts(part)))):
            raise NotJson("a NUL or half a surrogate pair", unstorable=True, place=key)


def _children(value: Any) -> Any:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _depth_over(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [child for parent in level for child in _children(parent) if isinstance(child, dict | list)]
        if not level:
            return False
    return True


def _texts(value: Any) -> Iterator[str]:
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            yield from item
        left += _children(item)


_BLANK = re.compile(r"[ \t\r\n]*")
_PIECE = 1 << 20
_SCANNER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)


class Readable(Protocol):
    """A text that is read in pieces."""

    def read(self, size: int, /) -> str:
        """Return about so many characters, "" at the end."""
        ...


def is_list(data: bytes) -> bool:
    """Return whether checked UTF-8 begins with a list."""
    return data.removeprefix(b"\xef\xbb\xbf")[:4096].lstrip(b" \t\r\n")[:1] == b"["


def elements(name: str, text: Readable) -> Iterator[tuple[int, str]]:
    """Yield each element of the list as JSON text, with the line it begins on.

    Only a part of the file is held at a time. Raises `ImportProblems` for broken JSON, an unterminated list, text after it, and an
    element longer than the limit.
    """
    window = _Window(name, text)
    yield from _items(window)
    window.end("the list")


def members(name: str, text: Readable) -> Iterator[tuple[str, int, str]]:
    """Yield each element of the lists in an object {key: list} with its key and line, as `elements` does."""
    window = _Window(name, text)
    window.take("{")
    keys = set[str]()
    sign = ","
    while sign == ",":
        window.skip()
        line, element = window.element()
        if not element.startswith('"') or element in keys:
            raise _broken(name, line, f"{shown(element)} twice" if element in keys else shown(element))
        keys.add(element)
        window.take(":")
        for at, item in _items(window):
            yield json.loads(element), at, item
        sign = window.take(",", "}")
    window.end("the object")


def _items(window: _Window) -> Iterator[tuple[int, str]]:
    window.take("[")
    if window.skip() == "]":
        window.take("]")
        return
    sign = ","
    while sign == ",":
        window.skip()
        yield window.element()
        sign = window.take(",", "]")


def _broken(name: str, line: int, got: str) -> ImportProblems:
    expected, todo = "a list of records [{…}, {…}]", "Export the file again; it may be truncated"
    return refused(name, line, got, expected, todo)


class _Window:
    """The decoded part of the file: `at` is the position in it, `line` the line number of the position `counted`."""

    def __init__(self, name: str, stream: Readable) -> None:
        self.name, self.meter, self.stream = name, Meter(name), stream
        self.text, self.at, self.line, self.counted = "", 0, 1, 0

    def line_of(self, where: int) -> int:
        self.line += self.text.count("\n", self.counted, where)
        self.counted = where
        return self.line

    def more(self) -> bool:
        """Drop the text before `at` and decode more; return False at the end of the file."""
        self.line_of(self.at)
        piece = self.stream.read(max(_PIECE, len(self.text) - self.at))
        self.text, self.at, self.counted = self.text[self.at :] + piece, 0, 0
        return bool(piece)

    def skip(self) -> str:
        """Go to the next character that is not a blank, and return it; "" at the end."""
        while True:
            blanks = _BLANK.match(self.text, self.at)
            self.at = blanks.end() if blanks else self.at
            if self.at < len(self.text) or not self.more():
                return self.text[self.at : self.at + 1]

    def take(self, *signs: str) -> str:
        """Skip blanks, and go behind the next character, which must be one of the signs."""
        sign = self.skip()
        if sign not in signs:
            got = shown(self.text[self.at : self.at + 20]) if sign else "a list that does not end"
            raise self.broken(self.at, got)
        self.at += 1
        return sign

    def end(self, what: str) -> None:
        """Raise `ImportProblems` if anything follows."""
        line = self.line_of(self.at)
        if self.skip():
            raise _broken(self.name, line, f"{shown(self.text[self.at : self.at + 60])} after {what}")

    def element(self) -> tuple[int, str]:
        """Return the line and the text of the element that begins here, and go to its end."""
        ended = False
        while True:
            try:
                _, end = _SCANNER.raw_decode(self.text, self.at)
            except RecursionError as error:
                raise self.broken(self.at, "nesting too deep") from error
            except json.JSONDecodeError as error:
                if ended:
                    raise self.broken(error.pos, f"broken JSON ({error.msg})") from error
                end = len(self.text)
            line = self.line_of(self.at)
            self.meter.length(line, end - self.at)
            if end < len(self.text) or ended:
                element, self.at = self.text[self.at : end], end
                return line, element
            ended = not self.more()

    def broken(self, where: int, got: str) -> ImportProblems:
        return _broken(self.name, self.line_of(where), got)


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
    numbered = ((number, line.strip(" \t\r\n")) for number, line in enumerate(lines, start=1))
    return _rows(name, ((None, number, text) for number, text in numbered if text), limit)


def list_rows(name: str, text: Readable, limit: int | None = None) -> TableReading:
    """Read the objects of one list as rows, as `jsonl_rows` does. An object gets the line it begins on, or the next line after the
    previous object's if that is higher."""
    return _rows(name, _one_per_line((None, *element) for element in elements(name, text)), limit)


def member_rows(name: str, text: Readable, limit: int | None = None) -> TableReading:
    """Read the objects of an object {system: [objects]} as rows, as `list_rows` does, with the key as system (comet-score writes it).

    An object may name its system itself; keys such as `data` are no system.
    """
    return _rows(name, _one_per_line(members(name, text)), limit)


def holds_members(head: str) -> bool:
    """Return whether a text begins as an object does whose first value is a list of objects."""
    return _MEMBERS.match(head) is not None


_Element = tuple[str | None, int, str]
"""The JSON text of an object with its line, and the key of the list that it is in."""


def _one_per_line(listed: Iterable[_Element]) -> Iterator[_Element]:
    last = 0
    for key, line, text in listed:
        last = max(line, last + 1)
        yield key, last, text


def _rows(name: str, listed: Iterable[_Element], limit: int | None) -> TableReading:
    reading, problems, meter = TableReading(name), Collector(), Meter(name)
    columns, systems = dict[str, None](), dict[str, None]()

    def objects() -> Iterator[tuple[int, dict[str, Cell]]]:
        for key, number, text in listed:
            row = _object(name, number, text, problems)
            if row is None:
                meter.row(number)
            elif key is None or key.casefold() in _WRAPPERS or SYSTEM in row:
                yield number, row
            else:
                systems[key] = None
                yield number, {SYSTEM: key, **row}

    def rows() -> Iterator[TableRow]:
        for number, row in islice(objects(), limit):
            if not row.keys() <= columns.keys():
                columns.update(dict.fromkeys(row))
                reading.columns[:] = columns
            meter.columns(number, len(columns))
            meter.row(number, len(columns) + sum(len(cell) for cell in row.values() if isinstance(cell, tuple)))
            if not problems:
                yield TableRow(number, tuple(map(row.get, columns)))
        problems.check()
        if systems:
            more = f" and {len(systems) - 8} more" if len(systems) > 8 else ""
            names = ", ".join(map(shown, list(systems)[:8])) + more
            reading.notes.append(f"the keys of the object are systems: {names}")

    reading.rows = rows()
    return reading


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
