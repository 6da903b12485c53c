"""Read JSON files of records (one object per line, or one list of objects) and check the types of their values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from types import UnionType
from typing import Any

from core.formats.files import Upload, beginning, raw_lines
from core.formats.parsing.cells import Meter
from core.formats.parsing.json_text import NotJson, elements, is_list, parsed
from core.formats.parsing.numbers import BOUNDS, json_number
from core.formats.problems import Collector, shown
from core.formats.streams.opened import text_bytes

HEAD_BYTES = 4096


class Record:
    """One object and its line. A missing value, or one of the wrong type, is a problem and returned as None."""

    def __init__(self, file: str, line: int, values: dict[str, Any], problems: Collector, path: str = "") -> None:
        self.file, self.line, self.values, self.problems, self.path = file, line, values, problems, path

    def problem(self, name: str, got: str, expected: str, todo: str = "Correct the record") -> None:
        self.problems.add(self.file, self.line, self.path + name, got, expected, todo)

    def _of(self, names: tuple[str, ...]) -> tuple[str, Any]:
        return next(((n, self.values[n]) for n in names if self.values.get(n) is not None), (names[0], None))

    def _typed(self, names: tuple[str, ...], kind: type | UnionType, expected: str, needed: bool) -> tuple[str, Any]:
        """Return the first name with a value, and the value if it is of this kind."""
        name, value = self._of(names)
        if isinstance(value, kind) and not isinstance(value, bool):
            return name, value
        self._wrong(name, value, expected, needed)
        return name, None

    def text(self, *names: str, needed: bool = True) -> str | None:
        """Return the text under the first of the names that has a value; a whole number becomes its digits."""
        _, value = self._typed(names, str | int, "a text", needed)
        return None if value is None else str(value)

    def whole(self, *names: str, needed: bool = True) -> int | None:
        value: int | None = self._typed(names, int, "a whole number", needed)[1]
        return value

    def number(self, *names: str) -> float | None:
        """Return a number within the bounds, also one written as a text; None if missing."""
        name, value = self._of(names)
        if value in (None, "", "None"):
            return None
        if (number := json_number(value)) is None:
            self._wrong(name, value, BOUNDS, True)
        return number

    def flag(self, name: str) -> bool:
        return self.values.get(name) is True

    def record(self, *names: str, needed: bool = True) -> Record | None:
        name, value = self._typed(names, dict, "an object", needed)
        return None if value is None else self.inner(name, value)

    def records(self, *names: str, needed: bool = True) -> list[Record]:
        """Return a list of objects, also if the list is written as a text (as Appraise exports it)."""
        name, value = self._of(names)
        if isinstance(value, str):
            with suppress(NotJson):
                value = parsed(value)
        if not isinstance(value, list):
            self._wrong(name, value, "a list", needed)
            return []
        for i, item in enumerate(value):
            if not isinstance(item, dict):
                self._wrong(f"{name}[{i}]", item, "an object", True)
        return [self.inner(f"{name}[{i}]", item) for i, item in enumerate(value) if isinstance(item, dict)]

    def inner(self, name: str, values: dict[str, Any]) -> Record:
        """Return an object inside this one, under this name."""
        return Record(self.file, self.line, values, self.problems, f"{self.path}{name}.")

    def _wrong(self, name: str, value: Any, expected: str, needed: bool) -> None:
        if value is not None:
            self.problem(name, shown(json.dumps(value, ensure_ascii=False)), expected)
        elif needed:
            self.problem(name, "nothing", expected, "Add it, or choose another format")


def records(upload: Upload, problems: Collector) -> Iterator[Record]:
    """Yield the objects of a file with their line, or with their position if the file is one list."""
    listed = is_list(beginning(upload, HEAD_BYTES))
    lines = raw_lines(text_bytes(upload, by_line=not listed))
    texts: Iterable[tuple[int, str]] = enumerate((text for _, text in elements(upload.name, lines)), start=1)
    if not listed:
        texts = ((n, line) for n, line in enumerate(lines, start=1) if line.strip(" \t\r\n"))
    meter = Meter(upload.name)
    for number, text in texts:
        meter.row(number)
        if (record := read_record(upload.name, number, text, problems)) is not None:
            yield record


def read_record(file: str, line: int, text: str, problems: Collector) -> Record | None:
    """Return the object of a JSON text; None, and a problem, if it is something else."""
    try:
        value = parsed(text)
    except NotJson as error:
        if error.unstorable:
            todo = "Write the character itself, in UTF-8"
            problems.add(file, line, error.place, str(error), "whole characters", todo)
        else:
            problems.add(file, line, "", f"{shown(text)} ({error})", "JSON", "Export the file again")
        return None
    if isinstance(value, dict):
        return Record(file, line, value, problems)
    problems.add(file, line, "", shown(text), "an object", "Write one object per line, or a list of objects")
    return None
