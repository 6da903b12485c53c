"""Projects as arrays (`core.columns`), kept in the table `project_arrays` so that nobody reads a million rows twice.

A kept array has the number of the import and of the last run that it includes. Scores of later runs are added when it is read; after an
import everything is read again. Few rows are not kept, because reading them is as fast.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import Any, ClassVar, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, Engine, Select, delete, func, insert, select

from core.columns import ColumnDraft, ProjectIndex, ScoreColumn, packed, unpacked
from core.data import SegmentKey
from core.errors import UserError
from db.engine import reading, writing
from db.lookup import require_project
from db.tables import outputs, project_arrays, projects, segments

MEMORY = 128 * 2**20
"""Bytes of arrays that a process holds of all projects of a database together."""
FEW = 2000
"""Rows that are read faster than a kept array."""
AT_ONCE = 10_000

Ids = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""The ids of all outputs of a project, sorted, and the flat position of each."""


class Kept(NamedTuple):
    """A value that includes everything up to an import and a run, and its size in bytes."""

    imports: int
    newest: int
    value: Any
    nbytes: int = 0


class ArraySource(NamedTuple):
    """Where a column comes from. `newest` grows with every change.

    `changes` selects the id of an output, value, status, reason and parts (JSON text) of what changed after a number; 0 selects everything.
    Without `grows`, everything is read again after a change.
    """

    name: str
    newest: Callable[[Connection], int]
    changes: Callable[[int], Select[Any]]
    grows: bool = True


class ProjectArrays:
    """Arrays of the projects of one database."""

    _OF: ClassVar[WeakKeyDictionary[Engine, ProjectArrays]] = WeakKeyDictionary()

    @classmethod
    def of(cls, engine: Engine) -> ProjectArrays:
        """Return the arrays of a database, of which a process has one object."""
        return cls._OF.setdefault(engine, cls(engine))

    def __init__(self, engine: Engine, memory: int = MEMORY) -> None:
        self._engine, self._memory, self._lock = engine, memory, Lock()
        self._held: OrderedDict[tuple[int, str], Kept] = OrderedDict()

    def index(self, project_id: int) -> ProjectIndex:
        """Return which outputs a visible project has."""
        with reading(self._engine) as connection:
            imports = imports_of(connection, project_id)
            if kept := self.kept(
                connection, project_id, "index", imports, lambda data: _index(data, project_id, imports)
            ):
                return kept.value  # type: ignore[no-any-return]
            index, ids = _read_index(connection, project_id, imports)
        size = index.lengths.nbytes + 400 * len(index.segments)
        self.hold(project_id, "index", Kept(imports, 0, index, size))
        if index.n_outputs > FEW:
            names = {"systems": list(index.systems), "segments": [list(key) for key in index.segments]}
            self.keep(project_id, "index", Kept(imports, 0, packed(names, {"lengths": index.lengths})))
            self.keep(project_id, "ids", Kept(imports, 0, packed({}, {"ids": ids[0], "places": ids[1]})))
        return index

    def column(self, project_id: int, source: ArraySource) -> ScoreColumn:
        """Return a column of a visible project with everything that is stored now."""
        index = self.index(project_id)
        with reading(self._engine) as connection:
            imports = imports_of(connection, project_id)
            if index.version != _version(project_id, imports):  # something was imported meanwhile
                index, _ = _read_index(connection, project_id, imports)
            newest = source.newest(connection)
            kept = self.kept(
                connection, project_id, source.name, imports, lambda data: ScoreColumn.from_bytes(index, data)
            )
            if kept is not None and kept.newest == newest:
                return kept.value  # type: ignore[no-any-return]
            grows = kept is not None and source.grows
            base = kept.value if kept is not None and grows else ScoreColumn.empty(index)
            changes = source.changes(kept.newest if kept is not None and grows else 0)
            column, n = self._changed(connection, project_id, base, changes)
        self.hold(project_id, source.name, Kept(imports, newest, column, column.nbytes))
        if n > FEW:
            self.keep(project_id, source.name, Kept(imports, newest, column.to_bytes()))
        return column

    def _changed(
        self, connection: Connection, project_id: int, base: ScoreColumn, changes: Select[Any]
    ) -> tuple[ScoreColumn, int]:
        """Return the column with changes, and their number."""
        draft, n, ids = ColumnDraft(base), 0, None
        for rows in connection.execution_options(yield_per=AT_ONCE).execute(changes).partitions():
            known, places = ids = ids or self._ids(connection, project_id)
            given = np.array([row[0] for row in rows], dtype=np.int64)
            at = places[np.searchsorted(known, given)]
            draft.put(at, [row[1:] for row in rows])
            n += len(rows)
        return (draft.column() if n else base), n

    def _ids(self, connection: Connection, project_id: int) -> Ids:
        imports = imports_of(connection, project_id)

        def load(data: bytes) -> Ids:
            arrays = unpacked(data)[1]
            return arrays["ids"], arrays["places"]

        if kept := self.kept(connection, project_id, "ids", imports, load):
            return kept.value  # type: ignore[no-any-return]
        ids = _read_index(connection, project_id, imports)[1]
        self.hold(project_id, "ids", Kept(imports, 0, ids, 2 * ids[0].nbytes))
        return ids

    def kept(
        self, connection: Connection, project_id: int, name: str, imports: int, load: Callable[[bytes], Any]
    ) -> Kept | None:
        """Return what is held in memory or kept in the database of this import, or None."""
        with self._lock:
            if (held := self._held.get((project_id, name))) is not None and held.imports == imports:
                self._held.move_to_end((project_id, name))
                return held
        of = project_arrays.c
        mine = (of.project_id == project_id, of.digest == _digest(name), of.imports == imports)
        row = connection.execute(select(of.newest, of.data).where(*mine)).first()
        if row is None:
            return None
        value = load(row.data)
        size = value.nbytes if isinstance(value, ScoreColumn) else 2 * len(row.data)
        kept = Kept(imports, row.newest, value, size)
        self.hold(project_id, name, kept)
        return kept

    def hold(self, project_id: int, name: str, value: Kept) -> None:
        """Hold a value in memory, and forget those that were not used for longest if all need too much."""
        with self._lock:
            self._held[project_id, name] = value
            self._held.move_to_end((project_id, name))
            while len(self._held) > 1 and sum(kept.nbytes for kept in self._held.values()) > self._memory:
                self._held.popitem(last=False)

    def keep(self, project_id: int, name: str, value: Kept) -> None:
        """Keep bytes in the database. Storage that fails now costs time later, and nothing else."""
        row = {"project_id": project_id, "digest": _digest(name)}
        mine = [project_arrays.c[column] == given for column, given in row.items()]
        with suppress(UserError), writing(self._engine) as connection:
            connection.execute(delete(project_arrays).where(*mine))
            fields = {"imports": value.imports, "newest": value.newest, "data": value.value}
            connection.execute(insert(project_arrays).values(row | fields))


def imports_of(connection: Connection, project_id: int) -> int:
    """Return how often something was imported into a project. Raises `UserError` if it does not exist or is hidden."""
    require_project(connection, project_id)
    return connection.execute(select(projects.c.imports).where(projects.c.id == project_id)).scalar() or 0


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8")).hexdigest()


def _version(project_id: int, imports: int) -> str:
    return f"{project_id}:{imports}"


def _index(data: bytes, project_id: int, imports: int) -> ProjectIndex:
    names, arrays = unpacked(data)
    keys = tuple(SegmentKey(*key) for key in names["segments"])
    return ProjectIndex(keys, tuple(names["systems"]), arrays["lengths"], _version(project_id, imports))


def _read_index(connection: Connection, project_id: int, imports: int) -> tuple[ProjectIndex, Ids]:
    """Read all keys of a project, without its texts."""
    here = segments.c.project_id == project_id
    found = select(segments.c.id, segments.c.doc_id, segments.c.segment_id).where(here).order_by(segments.c.position)
    texts = connection.execute(found).all()
    segment_ids = np.array([row.id for row in texts], dtype=np.int64)
    order = np.argsort(segment_ids)
    length = func.length if connection.dialect.name == "sqlite" else func.char_length
    of = outputs.c
    every = select(of.id, of.segment, of.system, length(of.text), of.position).join_from(outputs, segments).where(here)
    systems: dict[str, int] = {}
    parts = []
    for rows in connection.execution_options(yield_per=AT_ONCE).execute(every).partitions():
        ids, segment, system, lengths, position = zip(*rows, strict=True)
        row = order[np.searchsorted(segment_ids[order], np.array(segment, dtype=np.int64))]
        column = [systems.setdefault(name, len(systems)) for name in system]
        parts.append(np.array([ids, row, column, lengths, position], dtype=np.int64))
    ids, row, column, lengths, position = np.concatenate(parts, axis=1) if parts else np.zeros((5, 0), dtype=np.int64)
    first = np.lexsort((position, row))
    seen, where = np.unique(column[first], return_index=True)
    ranked = seen[np.argsort(where)]  # systems in the order of their first output
    rank = np.zeros(len(systems), dtype=np.int64)
    rank[ranked] = np.arange(len(ranked))
    shape = (len(texts), len(systems))
    matrix = np.full(shape, -1, dtype=np.int32)
    matrix[row, rank[column]] = lengths
    names = list(systems)
    keys = tuple(SegmentKey(row.doc_id, row.segment_id) for row in texts)
    index = ProjectIndex(keys, tuple(names[i] for i in ranked), matrix, _version(project_id, imports))
    by_id = np.argsort(ids)
    return index, (ids[by_id], (row * shape[1] + rank[column])[by_id])
