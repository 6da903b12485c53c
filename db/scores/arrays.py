"""Projects as arrays (`core.columns`), kept in the table `project_arrays` so that nobody reads a million rows twice.

A kept array has the number of the import and of the last run that it includes. Scores of later runs are added when it is read; after an
import everything is read again. Few rows are not kept, because reading them is as fast.

Outputs are found in the arrays by their ids or content keys (`Places`): an index on the keys would make imports a third slower.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from threading import Lock
from typing import Any, ClassVar, Literal, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, Engine, Select, delete, func, insert, select

from core.columns import ColumnDraft, ProjectIndex, ScoreColumn, packed, unpacked
from core.data import SegmentKey, Status
from core.errors import UserError
from db.columns import digest_of
from db.engine import reading, writing
from db.lookup import outputs, require_project, segments
from db.tables import project_arrays, projects

MEMORY = 96 * 2**20
"""Bytes of arrays that a process holds of all projects of a database together."""
FEW = 2000
"""Rows that are read faster than a kept array."""
AT_ONCE = 2000
"""Rows that are fetched at once. With 10,000, a server that reads a project first takes 12 MB more, and no less time."""
_BYTES = 16
"""Of a content key. That any two of 10¹² texts share them has a chance of 10⁻¹⁵."""
Numbers = npt.NDArray[np.int64]

Found = tuple[Numbers, Sequence[tuple[float | None, Status, str, Mapping[str, float] | None]]]
"""Flat positions, and the value, status, reason and parts at each."""


class Kept(NamedTuple):
    """A value that includes everything up to an import and a run, and its size in bytes."""

    imports: int
    newest: int
    value: Any
    nbytes: int = 0


class ArraySource(NamedTuple):
    """Where a column comes from. `newest` grows with every change; `changes` yields what changed after a number, and everything after 0.

    Without `grows`, everything is read again after a change.
    """

    name: str
    newest: Callable[[Connection], int]
    changes: Callable[[Connection, int], Iterator[Found]]
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
            project_index = read_index(connection, project_id, _version(project_id, imports))
        index = project_index.project
        self.hold(project_id, "index", Kept(imports, 0, index, _bytes(index)))
        if index.n_outputs > FEW:
            names = {"systems": list(index.systems), "segments": [list(key) for key in index.segments]}
            self.keep(project_id, "index", Kept(imports, 0, packed(names, {"lengths": index.lengths})))
            for name, places in (("ids", project_index.by_id), ("keys", project_index.by_key)):
                self.keep(project_id, name, Kept(imports, 0, packed({}, {name: places.names, "places": places.at})))
        return index

    def column(self, project_id: int, source: ArraySource) -> ScoreColumn:
        """Return a column of a visible project with everything that is stored now."""
        index = self.index(project_id)
        with reading(self._engine) as connection:
            imports = imports_of(connection, project_id)
            if index.version != _version(project_id, imports):  # something was imported meanwhile
                index = read_index(connection, project_id, _version(project_id, imports)).project
            newest = source.newest(connection)
            kept = self.kept(
                connection, project_id, source.name, imports, lambda data: ScoreColumn.from_bytes(index, data)
            )
            if kept is not None and kept.newest == newest:
                return kept.value  # type: ignore[no-any-return]
            grows = kept is not None and source.grows
            base = kept.value if kept is not None and grows else ScoreColumn.empty(index)
            draft, n = ColumnDraft(base), 0
            for places, values in source.changes(connection, kept.newest if kept is not None and grows else 0):
                draft.put(places, values)
                n += len(values)
            column = draft.column() if n else base
        self.hold(project_id, source.name, Kept(imports, newest, column, column.nbytes))
        if n > FEW:
            self.keep(project_id, source.name, Kept(imports, newest, column.to_bytes()))
        return column

    def by_id(self, connection: Connection, project_id: int, changes: Select[Any]) -> Iterator[Found]:
        """Yield selected values: the id of an output, then value, status, reason and parts."""
        places = None
        for rows in connection.execution_options(yield_per=AT_ONCE).execute(changes).partitions():
            if places is None:
                places = self.places(connection, project_id, "ids")
            at, which = places.find(np.array([[row[0] for row in rows]], dtype=np.int64))
            yield at, [rows[i][1:] for i in which.tolist()]

    def places(self, connection: Connection, project_id: int, name: Literal["ids", "keys"]) -> Places:
        """Return where the outputs of a project are, by their ids or by their content keys (`db.scores.arrays.cut_keys`)."""
        imports = imports_of(connection, project_id)

        def load(data: bytes) -> Places:
            arrays = unpacked(data)[1]
            return Places(np.atleast_2d(arrays[name]), arrays["places"])

        if kept := self.kept(connection, project_id, name, imports, load):
            return kept.value  # type: ignore[no-any-return]
        project_index = read_index(connection, project_id, _version(project_id, imports))
        places = project_index.by_id if name == "ids" else project_index.by_key
        self.hold(project_id, name, Kept(imports, 0, places, _bytes(places)))
        return places

    def kept(
        self, connection: Connection, project_id: int, name: str, imports: int, load: Callable[[bytes], Any]
    ) -> Kept | None:
        """Return what is held in memory or kept in the database of this import, or None."""
        with self._lock:
            if (in_memory := self._held.get((project_id, name))) is not None and in_memory.imports == imports:
                self._touch((project_id, name))
                return in_memory
        of = project_arrays.c
        mine = (of.project_id == project_id, of.digest == digest_of(name), of.imports == imports)
        row = connection.execute(select(of.newest, of.data).where(*mine)).first()
        if row is None:
            return None
        value = load(row.data)
        kept = Kept(imports, row.newest, value, _bytes(value))
        self.hold(project_id, name, kept)
        return kept

    def hold(self, project_id: int, name: str, value: Kept) -> None:
        """Hold a value in memory. If all need too much, forget places first, and then what was not used for longest."""
        with self._lock:
            self._held[project_id, name] = value
            self._touch((project_id, name))
            while len(self._held) > 1 and sum(kept.nbytes for kept in self._held.values()) > self._memory:
                self._held.popitem(last=False)

    def _touch(self, key: tuple[int, str]) -> None:
        """Let a value be forgotten last; places first, because they are needed only while a column is read from scores."""
        self._held.move_to_end(key, last=not isinstance(self._held[key].value, Places))

    def keep(self, project_id: int, name: str, value: Kept) -> None:
        """Keep bytes in the database. Storage that fails now costs time later, and nothing else."""
        row = {"project_id": project_id, "digest": digest_of(name)}
        mine = [project_arrays.c[column] == expected for column, expected in row.items()]
        with suppress(UserError), writing(self._engine, pooled=False) as connection:
            connection.execute(delete(project_arrays).where(*mine))
            fields = {"imports": value.imports, "newest": value.newest, "data": value.value}
            connection.execute(insert(project_arrays).values(row | fields))


def imports_of(connection: Connection, project_id: int) -> int:
    """Return how often something was imported into a project. Raises `UserError` if it does not exist or is hidden."""
    require_project(connection, project_id)
    return connection.execute(select(projects.c.imports).where(projects.c.id == project_id)).scalar() or 0


def _bytes(value: object) -> int:
    """Return about how much memory arrays take; 0 for small values such as counts."""
    match value:
        case ScoreColumn():
            return value.nbytes
        case ProjectIndex():
            return value.lengths.nbytes + 400 * len(value.segments)  # names, and their places in dictionaries
        case Places():
            return value.names.nbytes + value.at.nbytes
        case _:
            return 0


def _version(project_id: int, imports: int) -> str:
    return f"{project_id}:{imports}"


def _index(data: bytes, project_id: int, imports: int) -> ProjectIndex:
    names, arrays = unpacked(data)
    keys = tuple(SegmentKey(*key) for key in names["segments"])
    return ProjectIndex(keys, tuple(names["systems"]), arrays["lengths"], _version(project_id, imports))


class Places(NamedTuple):
    """The flat positions of outputs by name. `names` has shape (numbers of a name, n), sorted by the first number; names may repeat."""

    names: npt.NDArray[Any]
    at: Numbers

    @classmethod
    def of(cls, names: npt.NDArray[Any], at: Numbers) -> Places:
        order = np.argsort(names[0], kind="stable")
        return cls(names[:, order], at[order])

    def find(self, sought: npt.NDArray[Any]) -> tuple[Numbers, Numbers]:
        """Return the positions of wanted names, and beside each the column of the name in `sought`. Unknown names are left out."""
        order = np.argsort(sought[0])  # searching in order is several times as fast
        first = np.searchsorted(self.names[0], sought[0, order], "left")
        n = np.searchsorted(self.names[0], sought[0, order], "right") - first
        within = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
        positions, which = np.repeat(first, n) + within, np.repeat(order, n)
        same = (self.names[1:, positions] == sought[1:, which]).all(axis=0)
        return self.at[positions[same]], which[same]


class ReadIndex(NamedTuple):
    project: ProjectIndex
    by_id: Places
    by_key: Places


def cut_keys(keys: Sequence[str]) -> npt.NDArray[np.uint64]:
    """Return the beginnings of content keys (hexadecimal) as names for `Places`."""
    data = bytes.fromhex("".join([key[: 2 * _BYTES] for key in keys]))
    return np.ascontiguousarray(np.frombuffer(data, dtype=np.uint64).reshape(len(keys), 2).T)


def read_index(connection: Connection, project_id: int, version: str) -> ReadIndex:
    """Read which outputs a project has, without their texts."""
    in_project = segments.c.project_id == project_id
    query = (
        select(segments.c.id, segments.c.doc_id, segments.c.segment_id).where(in_project).order_by(segments.c.position)
    )
    texts = connection.execute(query).all()
    segment_ids = np.array([row.id for row in texts], dtype=np.int64)
    order = np.argsort(segment_ids)
    length = func.length if connection.dialect.name == "sqlite" else func.char_length
    of = outputs.c
    columns = (of.id, of.segment, of.system, length(of.text), of.position, of.content_key)
    every = select(*columns).join_from(outputs, segments).where(in_project)
    systems: dict[str, int] = {}
    parts, keys = [], [cut_keys(())]
    for rows in connection.execution_options(yield_per=AT_ONCE).execute(every).partitions():
        ids, segment, system, lengths, position, key = zip(*rows, strict=True)
        row = order[np.searchsorted(segment_ids[order], np.array(segment, dtype=np.int64))]
        column = [systems.setdefault(name, len(systems)) for name in system]
        parts.append(np.array([ids, row, column, lengths, position], dtype=np.int64))
        keys.append(cut_keys(key))
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
    segment_keys = tuple(SegmentKey(row.doc_id, row.segment_id) for row in texts)
    index = ProjectIndex(segment_keys, tuple(names[i] for i in ranked), matrix, version)
    at = row * shape[1] + rank[column]
    return ReadIndex(index, Places.of(ids[None], at), Places.of(np.concatenate(keys, axis=1), at))
