"""Numbers of rows without segment ids, kept on disk where there are many."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from core.formats.mapping import ColumnMapping
from core.formats.parsing.cells import Cell, CellReader, FileTable, TableRow
from core.formats.problems import Collector
from core.formats.streams.stage import Stage, batched
from core.formatting import format_count

HELD = 20_000
"""Counts, or numbers of texts, that are kept in memory."""
_COUNTS = (
    "CREATE TABLE counts(id INTEGER PRIMARY KEY, file TEXT, system TEXT, doc TEXT, n INT, UNIQUE(doc, system, file))"
)
_UNEVEN = """
SELECT c.file, c.system, c.doc, c.n, m.n, f.system, f.file FROM counts c
JOIN (SELECT doc, MAX(n) AS n FROM counts GROUP BY doc) m ON m.doc = c.doc
JOIN counts f ON f.id = (SELECT MIN(id) FROM counts WHERE doc = m.doc AND n = m.n)
WHERE c.n <> m.n ORDER BY c.id
"""


class RowCounts:
    """The number of rows of each file, system and document, where rows are matched by their order."""

    def __init__(self, stage: Stage) -> None:
        self._stage, self._made = stage, False
        self._counts: dict[tuple[str, str, str], int] = {}

    def next(self, file: str, system: str, document: str) -> int:
        """Count a row and return its number, from 1."""
        place = (file, system, document)
        n = self._counts.get(place)
        if n is None:
            n = self._stored(place)
            if len(self._counts) >= HELD:
                self._keep()
        self._counts[place] = n + 1
        return n + 1

    def one_each(self, file: str) -> bool:
        """Return whether a file has one row for each of its systems."""
        return bool(self._counts) and all(n == 1 for (its_file, *_), n in self._counts.items() if its_file == file)

    def check(self, problems: Collector) -> None:
        """Check that every system has the same number of rows: without segment ids rows are matched by order."""
        if not self._counts:
            return
        self._keep()
        for file, system, document, n, most, longest, its_file in self._stage.query(_UNEVEN):
            of, where = f" of {system}" if system else "", f" in document {document}" if document else ""
            todo = "Rows without segment ids are matched by order: add ids, or add the missing rows"
            problems.add(
                file, 0, "", format_count(n, "row") + of + where, f"{most}, as {longest or its_file} has", todo
            )

    def _stored(self, place: tuple[str, str, str]) -> int:
        if not self._made:
            return 0
        query = "SELECT n FROM counts WHERE file = ? AND system = ? AND doc = ?"
        return next((int(n) for (n,) in self._stage.query(query, *place)), 0)

    def _keep(self) -> None:
        if not self._made:
            self._stage.run(_COUNTS)
            self._made = True
        row = "INSERT INTO counts(file, system, doc, n) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET n = excluded.n"
        self._stage.many(row, ((*place, n) for place, n in self._counts.items()))
        self._counts.clear()


def texts_of(reader: CellReader, row: TableRow, mapping: ColumnMapping) -> tuple[Cell, ...]:
    """Return the source and the references of a row as they are written."""
    return tuple(reader.cell(row, column) for column in (mapping.source, *mapping.references))


class RatedTexts:
    """A number for each source with its references."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._numbers: dict[bytes, int] = {}

    @classmethod
    def of(cls, stage: Stage, reader: CellReader, table: FileTable, mapping: ColumnMapping) -> RatedTexts | None:
        """Return the numbers if rows have no IDs and every output stands in several rows, which therefore are several ratings of it;
        otherwise None, and rows are matched by their order."""
        identified = mapping.segment or mapping.document or not (mapping.source or mapping.references)
        outputs = mapping.systems if mapping.layout == "wide" else (mapping.system, mapping.output)
        if not mapping.human() or mapping.scores_only or identified:
            return None
        for name in ("rated", "rated_texts"):
            stage.run(f"DROP TABLE IF EXISTS {name}")
            stage.run(f"CREATE TABLE {name}(id INTEGER PRIMARY KEY, digest BLOB UNIQUE, n INT)")

        def digests() -> Iterator[tuple[bytes, bytes]]:
            for row in table.rows:
                texts = texts_of(reader, row, mapping)
                yield _digest(texts), _digest((texts, tuple(reader.cell(row, column) for column in outputs)))

        for some in batched(digests(), HELD):
            stage.many("INSERT OR IGNORE INTO rated_texts(digest) VALUES (?)", ((texts,) for texts, _ in some))
            row = "INSERT INTO rated(digest, n) VALUES (?, 1) ON CONFLICT DO UPDATE SET n = n + 1"
            stage.many(row, ((rated,) for _, rated in some))
        ((fewest,),) = stage.query("SELECT MIN(n) FROM rated")
        return None if (fewest or 0) < 2 else cls(stage)

    def number(self, texts: tuple[Cell, ...]) -> str:
        digest = _digest(texts)
        if (number := self._numbers.get(digest)) is None:
            ((number,),) = self._stage.query("SELECT id FROM rated_texts WHERE digest = ?", digest)
            if len(self._numbers) >= HELD:
                self._numbers.clear()
            self._numbers[digest] = number
        return str(number)


def _digest(value: object) -> bytes:
    return hashlib.blake2b(repr(value).encode("utf-8", "surrogatepass"), digest_size=16).digest()
