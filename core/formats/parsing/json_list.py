"""Read the elements of a JSON list, or of the lists in an object, one by one, regardless of line breaks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Protocol

from core.errors import ImportProblems, Problem
from core.formats.parsing.limits import Meter
from core.formats.problems import shown

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
        line, found = window.element()
        if not found.startswith('"') or found in keys:
            raise _broken(name, line, f"{shown(found)} twice" if found in keys else shown(found))
        keys.add(found)
        window.take(":")
        for at, item in _items(window):
            yield json.loads(found), at, item
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


def _broken(name: str, line: int, found: str) -> ImportProblems:
    expected, todo = "a list of records [{…}, {…}]", "Export the file again; it may be truncated"
    return ImportProblems([Problem(name, line, "", found, expected, todo)])


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
            found = _BLANK.match(self.text, self.at)
            self.at = found.end() if found else self.at
            if self.at < len(self.text) or not self.more():
                return self.text[self.at : self.at + 1]

    def take(self, *signs: str) -> str:
        """Skip blanks, and go behind the next character, which must be one of the signs."""
        sign = self.skip()
        if sign not in signs:
            found = shown(self.text[self.at : self.at + 20]) if sign else "a list that does not end"
            raise self.broken(self.at, found)
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
                found, self.at = self.text[self.at : end], end
                return line, found
            ended = not self.more()

    def broken(self, where: int, found: str) -> ImportProblems:
        return _broken(self.name, self.line_of(where), found)
