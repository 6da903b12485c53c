"""The content of an import in a temporary database on disk, so that the size of the files does not matter for the memory.

SQLite creates the file without a name in the folder for temporary files (TMPDIR), keeps small ones in memory, and removes it with the
process, however it ends.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any, Final, TypeVar

from core.data import OutputKey, SegmentKey
from core.errors import UserError
from core.formats.parsing.cells import FilePlace

CACHE_KB = 32_768
HELD = 8_000_000
"""Characters of segments that are kept in memory between two batches."""
PER_SEGMENT = 200
"""Characters that a segment counts for besides its texts and ids."""
_TABLES = """
CREATE TABLE segments(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, doc TEXT, segment TEXT, source TEXT, source_file INT,
  source_line INT, refs TEXT, n_refs INT, refs_file INT, refs_line INT);
CREATE TABLE outputs(code INTEGER PRIMARY KEY, text TEXT, file INT, line INT);
CREATE TABLE seen(code INTEGER PRIMARY KEY, line INT);
CREATE TABLE ratings(id INTEGER PRIMARY KEY, code INT, name TEXT, value REAL, line INT);
CREATE TABLE scores(id INTEGER PRIMARY KEY, code INT, kind INT, value REAL, file INT, line INT, UNIQUE(code, kind));
"""
T = TypeVar("T")


@dataclass(slots=True)
class StagedSegment:
    """A segment as the files give it so far, and where. `id` is 0 until it is stored."""

    id: int
    source: str | None
    source_at: FilePlace
    references: tuple[str, ...]
    references_at: FilePlace
    changed: bool = True


def temporary_database(cache_kb: int = CACHE_KB, page_bytes: int = 4096) -> sqlite3.Connection:
    """Return an empty database on disk that no other process can open, in an open transaction."""
    db = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    db.executescript(
        f"PRAGMA page_size={page_bytes}; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-{cache_kb}; PRAGMA temp_store=FILE; BEGIN"
    )
    return db


class Stage:
    """A batch of an import in memory, as plain dictionaries, and everything before it on disk.

    `load` brings what is stored for the keys of the next batch into the dictionaries, `keep` stores what is new in them.
    """

    SYSTEMS: Final = 1 << 22
    """Systems that an import may have. An output is numbered segment * SYSTEMS + system."""

    def __init__(self) -> None:
        self.db = temporary_database()
        for statement in _TABLES.split(";"):
            self.db.execute(statement)
        self.segments: dict[SegmentKey, StagedSegment] = {}
        self.outputs: dict[OutputKey, tuple[str, FilePlace]] = {}
        self.first: dict[OutputKey, int] = {}
        self.ratings: list[tuple[OutputKey, str, float, int]] = []
        self.scores: dict[tuple[OutputKey, int], tuple[float | None, FilePlace]] = {}
        """Scores by output and kind: the number of a metric (from 0), or below 0 that of a human score (`human_kind`)."""
        self.human_names: list[str] = []
        self._kinds: dict[str, int] = {}
        self.n_outputs = self.n_segments = 0
        self.ranks: dict[str, int] = {}  # systems in the order of their first output
        self._systems: dict[str, int] = {}
        self._names: list[str] = []
        self._files: dict[str, int] = {}
        self._file_names: list[str] = []
        self._stored: set[Any] = set()  # keys of the dictionaries that are on disk with the same values
        self._held = 0

    def load(self, rows: Sequence[OutputKey], outputs: Iterable[OutputKey]) -> None:
        """Begin a batch with rows of these keys, which hold these outputs."""
        self.load_segments(rows)
        codes = {code: key for key in outputs if (code := self._code(key))}
        for code, text, file, line in self._of_keys("SELECT * FROM outputs WHERE code", list(codes)):
            self.outputs[codes[code]] = text, self.place(file, line)
        self._stored.update(self.outputs)
        codes = {code: key for key in rows if (code := self._code(key))}
        for code, line in self._of_keys("SELECT * FROM seen WHERE code", list(codes)):
            self.first[codes[code]] = line

    def load_segments(self, keys: Iterable[OutputKey]) -> None:
        """Bring the stored segments of these outputs into the dictionary."""
        missing_keys = {key[1:] for key in keys} - self.segments.keys()
        for row in self._of_keys("SELECT * FROM segments WHERE key", [_text_key(*key) for key in missing_keys]):
            _, _, doc, segment, source, source_file, source_line, references, _, file, line = row
            key = SegmentKey(doc, segment)
            self.segments[key] = StagedSegment(
                row[0], source, self.place(source_file, source_line), tuple(json.loads(references)),
                self.place(file, line), changed=False,
            )  # fmt: skip
            self._held += _size(key, source, references)

    def load_scores(self, keys: Iterable[OutputKey], metrics: bool = False) -> None:
        """Bring the stored human scores of these outputs into the dictionary, or those of metrics; call it after `load`."""
        codes = {code: key for key in keys if (code := self._code(key))}
        query = f"SELECT code, kind, value, file, line FROM scores WHERE kind {'>=' if metrics else '<'} 0 AND code"
        for code, kind, value, file, line in self._of_keys(query, list(codes)):
            self.scores[codes[code], kind] = value, self.place(file, line)
            self._stored.add((codes[code], kind, value))

    def human_kind(self, name: str) -> int:
        """Return the kind of a human score: −1, −2, … in the order of their names."""
        if name not in self._kinds:
            self._kinds[name] = -1 - len(self.human_names)
            self.human_names.append(name)
        return self._kinds[name]

    def keep(self) -> None:
        """End a batch: store what is new, and empty the dictionaries."""
        for place, segment in self.segments.items():
            if segment.changed:
                self._keep_segment(place, segment)
        new = {key: at for key, at in self.outputs.items() if key not in self._stored}
        for key in new:
            self.ranks.setdefault(key.system, len(self.ranks))
        self.n_outputs += len(new)
        rows = ((self.code(key), text, self._file(at.file), at.line) for key, (text, at) in new.items())
        self.many("INSERT INTO outputs VALUES (?, ?, ?, ?)", rows)
        self.many("INSERT OR IGNORE INTO seen VALUES (?, ?)", ((self.code(k), line) for k, line in self.first.items()))
        ratings = ((self.code(key), name, value, line) for key, name, value, line in self.ratings)
        self.many("INSERT INTO ratings(code, name, value, line) VALUES (?, ?, ?, ?)", ratings)
        self.many(
            "INSERT INTO scores(code, kind, value, file, line) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT(code, kind) DO UPDATE SET value = excluded.value, file = excluded.file, line = excluded.line",
            (
                (self.code(key), kind, value, self._file(at.file), at.line)
                for (key, kind), (value, at) in self.scores.items()
                if (key, kind, value) not in self._stored
            ),
        )
        self._empty()

    def drop(self) -> None:
        """End a batch that could not be read to its end: forget what is new in it."""
        self.segments.clear()
        self._empty()

    def _empty(self) -> None:
        for batch in (self.outputs, self.first, self.ratings, self.scores, self._stored):
            batch.clear()
        if self._held > HELD or not self.segments:
            self.segments.clear()
            self._held = 0

    def end_table(self) -> None:
        """Forget the rows of a table, whose keys may occur again in the next one."""
        self.run("DELETE FROM seen")
        self.run("DELETE FROM ratings")

    def rated(self, *, one_each: bool, size: int) -> Iterator[list[tuple[int, str, list[float], int]]]:
        """Yield batches of the ratings of a table: output, scale, its numbers, and the line of the first, in the order of the first.

        With `one_each` no output has several under a name.
        """
        order = "SELECT code, name, value, line FROM ratings ORDER BY id"
        if not one_each:
            first = "MIN(id) OVER (PARTITION BY code, name)"
            order = f"SELECT code, name, value, line FROM (SELECT *, {first} AS first FROM ratings) ORDER BY first, id"
        rows = self.query(order)
        grouped = ((code, name, list(of)) for (code, name), of in groupby(rows, key=lambda row: (row[0], row[1])))
        for some in batched(grouped, size):
            yield [(code, name, [value for _, _, value, _ in of], of[0][3]) for code, name, of in some]

    def query(self, statement: str, *values: object) -> Iterator[Any]:
        """Yield the rows of a query. Raises `UserError` if the disk is full."""
        with explained():
            yield from self.db.execute(statement, values)

    def present(self, keys: Iterable[OutputKey]) -> set[OutputKey]:
        """Return those of the keys that have an output. The batch must be empty."""
        output_keys = list(keys)
        self.load_segments(output_keys)
        codes = {code: key for key in output_keys if (code := self._code(key))}
        present_keys = {codes[code] for (code,) in self._of_keys("SELECT code FROM outputs WHERE code", list(codes))}
        self._empty()
        return present_keys

    def keys(self, codes: Sequence[int]) -> dict[int, OutputKey]:
        """Return the keys of numbered outputs."""
        ids = {code // self.SYSTEMS for code in codes}
        of = {
            i: (doc, segment)
            for i, doc, segment in self._of_keys("SELECT id, doc, segment FROM segments WHERE id", list(ids))
        }
        return {code: OutputKey(self._names[code % self.SYSTEMS], *of[code // self.SYSTEMS]) for code in codes}

    def split(self, code: int) -> tuple[int, str]:
        """Return the number of the segment and the name of the system of a numbered output."""
        return code // self.SYSTEMS, self._names[code % self.SYSTEMS]

    def code(self, key: OutputKey) -> int:
        """Return the number of an output, whose segment is stored or in the batch."""
        number = self._systems.get(key[0])
        number = self._system(key[0]) if number is None else number
        return self.segments[key[1:]].id * self.SYSTEMS + number  # type: ignore[index]  # a tuple equals its key

    def place(self, file: int, line: int) -> FilePlace:
        return FilePlace(self._file_names[file], line)

    def _code(self, key: OutputKey) -> int:
        """Return the number of an output, or 0 if its segment is new."""
        segment = self.segments.get(key[1:])  # type: ignore[call-overload]  # a tuple equals its key
        return segment.id * self.SYSTEMS + self._system(key.system) if segment and segment.id else 0

    def _system(self, name: str) -> int:
        if (number := self._systems.get(name)) is None:
            number = self._systems[name] = len(self._names)
            self._names.append(name)
            if number >= self.SYSTEMS:
                raise UserError("too many systems", expected=f"at most {self.SYSTEMS:,}", hint="Choose another column")
        return number

    def _file(self, name: str) -> int:
        if (number := self._files.get(name)) is None:
            number = self._files[name] = len(self._file_names)
            self._file_names.append(name)
        return number

    def _keep_segment(self, key: SegmentKey, s: StagedSegment) -> None:
        references = json.dumps(s.references, ensure_ascii=False)
        values = (
            s.source, self._file(s.source_at.file), s.source_at.line, references, len(s.references),
            self._file(s.references_at.file), s.references_at.line,
        )  # fmt: skip
        if s.id:
            columns = "source = ?, source_file = ?, source_line = ?, refs = ?, n_refs = ?, refs_file = ?, refs_line = ?"
            self.run(f"UPDATE segments SET {columns} WHERE id = ?", *values, s.id)
        else:
            self.n_segments += 1
            s.id = self.n_segments
            row = (s.id, _text_key(*key), *key, *values)
            self.run("INSERT INTO segments VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", *row)
            self._held += _size(key, s.source, references)
        s.changed = False

    def _of_keys(self, query: str, keys: Sequence[str] | Sequence[int]) -> Iterable[Any]:
        if not keys:
            return []
        with explained():
            keys_json = json.dumps(keys, ensure_ascii=False)
            return self.db.execute(f"{query} IN (SELECT value FROM json_each(?))", (keys_json,)).fetchall()

    def run(self, statement: str, *values: object) -> None:
        with explained():
            self.db.execute(statement, values)

    def many(self, statement: str, rows: Iterable[tuple[object, ...]]) -> None:
        with explained():
            self.db.executemany(statement, rows)


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in lists of `size`, the last of which may be shorter."""
    left = iter(items)
    while some := list(islice(left, size)):
        yield some


def _size(key: SegmentKey, source: str | None, references: str) -> int:
    return PER_SEGMENT + len(key[0]) + len(key[1]) + len(source or "") + len(references)


def _text_key(document: str, segment: str) -> str:
    return f"{len(document)}:{document}{segment}"


@contextmanager
def explained() -> Iterator[None]:
    """Convert errors of the temporary file. Raises `UserError`."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise UserError(
            "there is no room for the temporary file of the import",
            got=str(error),
            hint="Free space on the disk, or set TMPDIR to a folder on another one. Nothing was imported",
        ) from error
