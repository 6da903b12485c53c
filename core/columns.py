"""A project as arrays: which outputs it has, and one score of all of them. Texts stay in the database.

Arrays have shape (n_segments, n_systems), in the order of the project. NaN marks a missing value; why it is missing is kept beside it.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from io import BytesIO
from typing import Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
import numpy.typing as npt

from core.data import OutputKey, SegmentKey, Status, Value

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Cell = tuple[int, int]
STATUSES: tuple[Status, ...] = ("ok", "undefined", "needs", "error")
_STATES = {status: i for i, status in enumerate(STATUSES)}
_NO_PARTS: Mapping[str, float] = {}
ABSENT = 255
"""The state of an output without a value."""


@dataclass(frozen=True)
class ProjectIndex:
    """Segments in document order, systems in the order of their first output, and the lengths of the outputs.

    `lengths` has the Unicode code points of each output, −1 where a system has none. Two indexes with the same `version` are equal.
    """

    segments: tuple[SegmentKey, ...]
    systems: tuple[str, ...]
    lengths: npt.NDArray[np.int32] = field(repr=False)
    version: str = ""

    @cached_property
    def present(self) -> Mask:
        return self.lengths >= 0

    @cached_property
    def row(self) -> dict[SegmentKey, int]:
        return {key: i for i, key in enumerate(self.segments)}

    @cached_property
    def column(self) -> dict[str, int]:
        return {system: j for j, system in enumerate(self.systems)}

    @cached_property
    def documents(self) -> dict[str, list[int]]:
        """Return the rows of each document."""
        rows: dict[str, list[int]] = {}
        for i, key in enumerate(self.segments):
            rows.setdefault(key.doc_id, []).append(i)
        return rows

    @cached_property
    def n_outputs(self) -> int:
        return int(self.present.sum())

    @property
    def shape(self) -> Cell:
        return len(self.segments), len(self.systems)

    def cell(self, key: OutputKey) -> Cell | None:
        """Return row and column of an output, or None if the project does not have it."""
        i, j = self.row.get(key.segment, -1), self.column.get(key.system, -1)
        return (i, j) if i >= 0 and j >= 0 and self.present[i, j] else None

    def key(self, cell: Cell) -> OutputKey:
        return OutputKey(self.systems[cell[1]], *self.segments[cell[0]])

    def keys(self, which: Mask | None = None) -> Iterator[OutputKey]:
        """Yield the keys of the outputs, or of those that `which` marks, in the order of the project."""
        marked = self.present if which is None else which & self.present
        for i, j in np.argwhere(marked).tolist():
            yield self.key((i, j))

    @cached_property
    def outline(self) -> dict[SegmentKey, tuple[str, ...]]:
        """Return the segments that have outputs, each with its systems."""
        of_pattern: dict[bytes, tuple[str, ...]] = {}  # most segments have the same systems
        systems_by_segment = {}
        for key, present in zip(self.segments, self.present, strict=True):
            pattern = present.tobytes()
            if pattern not in of_pattern:
                of_pattern[pattern] = tuple(self.systems[j] for j in np.flatnonzero(present).tolist())
            if of_pattern[pattern]:
                systems_by_segment[key] = of_pattern[pattern]
        return systems_by_segment

    def around(self, segment: SegmentKey, before: int, after: int) -> list[SegmentKey]:
        """Return a segment with its neighbours in the document. Raises KeyError for an unknown segment."""
        rows = self.documents[segment.doc_id]
        at = bisect_left(rows, self.row[segment])
        return [self.segments[i] for i in rows[max(0, at - before) : at + 1 + after]]

    def ordered(self, keys: Iterable[OutputKey]) -> list[OutputKey]:
        """Return these outputs by segment and system, each once; those that the project does not have are left out."""
        cells = {cell for key in keys if (cell := self.cell(key)) is not None}
        return [self.key(cell) for cell in sorted(cells)]

    def cells(self, keys: Iterable[OutputKey]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Return rows and columns of outputs of the project."""
        cells = [(self.row[k.segment], self.column[k.system]) for k in keys]
        both = np.array(cells, dtype=np.intp).reshape(-1, 2)
        return both[:, 0], both[:, 1]


class Scale(NamedTuple):
    """What the values of a score look like: the largest absolute one, whether all are whole numbers, and the names of their parts.

    Without values, `largest` is None.
    """

    largest: float | None = None
    whole: bool = False
    parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class ScoreColumn(Mapping[OutputKey, Value]):
    """One score of all outputs of a project, without `detail`; also a mapping from the key of an output to its value.

    `states` are positions in `STATUSES`, or `ABSENT`. `why` has positions in `reasons` (the first one is ""). `parts` are the numbers
    that values are computed from, NaN for values without them.
    """

    index: ProjectIndex = field(repr=False)
    numbers: Array = field(repr=False)
    states: npt.NDArray[np.uint8] = field(repr=False)
    why: npt.NDArray[np.int32] = field(repr=False)
    reasons: tuple[str, ...] = ("",)
    parts: Mapping[str, Array] = field(default_factory=dict, repr=False)

    @classmethod
    def empty(cls, index: ProjectIndex) -> ScoreColumn:
        values, states = np.full(index.shape, np.nan), np.full(index.shape, ABSENT, dtype=np.uint8)
        return cls(index, values, states, np.zeros(index.shape, dtype=np.int32))

    @classmethod
    def of(cls, index: ProjectIndex, values: Mapping[OutputKey, Value]) -> ScoreColumn:
        """Return a column with these values; outputs that the project does not have are left out."""
        return cls.empty(index).with_values(values)

    @classmethod
    def of_numbers(cls, index: ProjectIndex, numbers: Array) -> ScoreColumn:
        """Return a column with these values, shape (n_segments, n_systems); NaN where there is none."""
        empty = cls.empty(index)
        return replace(
            empty, numbers=numbers, states=np.where(np.isnan(numbers), empty.states, np.uint8(_STATES["ok"]))
        )

    def with_values(self, values: Mapping[OutputKey, Value]) -> ScoreColumn:
        """Return a copy with these values; outputs that the project does not have are left out."""
        n, draft = self.index.shape[1], ColumnDraft(self)
        cells = [(at, v) for key, v in values.items() if (at := self.index.cell(key)) is not None]
        if not cells:
            return self
        draft.put([i * n + j for (i, j), _ in cells], [(v.value, v.status, v.reason, v.parts) for _, v in cells])
        return draft.column()

    @property
    def nbytes(self) -> int:
        parts = sum(array.nbytes for array in self.parts.values())
        why = self.why.nbytes if any(self.why.strides) else 0
        return self.numbers.nbytes + self.states.nbytes + why + parts

    @cached_property
    def has_result(self) -> Mask:
        """Return which outputs have a value, or a reason other than a failure why there is none."""
        return np.asarray((self.states != ABSENT) & (self.states != STATUSES.index("error")))

    @cached_property
    def scale(self) -> Scale:
        defined = self.numbers[~np.isnan(self.numbers)]
        if not len(defined):
            return Scale(parts=tuple(self.parts))
        return Scale(float(np.abs(defined).max()), bool((defined == np.round(defined)).all()), tuple(self.parts))

    @cached_property
    def n(self) -> int:
        """Return the number of outputs with a result."""
        return int(self.has_result.sum())

    def at(self, i: int, j: int) -> Value | None:
        """Return the value of one output, or None if there is none yet."""
        state = int(self.states[i, j])
        if state == ABSENT:
            return None
        value = float(self.numbers[i, j])
        parts = {name: float(a[i, j]) for name, a in self.parts.items() if not np.isnan(a[i, j])}
        return Value(None if np.isnan(value) else value, STATUSES[state], self.reasons[self.why[i, j]], parts)

    def picked(self, keys: Iterable[OutputKey]) -> dict[OutputKey, Value]:
        """Return the values of these outputs in the order of the project; outputs without a value are left out."""
        cells = sorted({cell for key in keys if (cell := self.index.cell(key)) is not None})
        return {self.index.key(cell): value for cell in cells if (value := self.at(*cell)) is not None}

    def finite(self) -> dict[OutputKey, float]:
        """Return the outputs with a number, in the order of the project."""
        cells = np.argwhere(~np.isnan(self.numbers)).tolist()
        return {self.index.key((i, j)): float(self.numbers[i, j]) for i, j in cells}

    def __getitem__(self, key: OutputKey) -> Value:
        cell = self.index.cell(key)
        value = None if cell is None else self.at(*cell)
        if value is None:
            raise KeyError(key)
        return value

    def __iter__(self) -> Iterator[OutputKey]:
        return self.index.keys(np.asarray(self.states != ABSENT))

    def __len__(self) -> int:
        return int((self.states != ABSENT).sum())

    def to_bytes(self) -> bytes:
        """Return the column for storage, without its index."""
        arrays: dict[str, npt.NDArray[Any]] = {"values": self.numbers, "states": self.states, "why": self.why}
        arrays |= {f"part:{name}": array for name, array in self.parts.items()}
        return packed({"reasons": list(self.reasons)}, arrays)

    @classmethod
    def from_bytes(cls, index: ProjectIndex, data: bytes) -> ScoreColumn:
        """Return the column that `to_bytes` stored for this index."""
        facts, arrays = unpacked(data)
        parts = {name.removeprefix("part:"): a for name, a in arrays.items() if name.startswith("part:")}
        return cls(
            index, arrays["values"], arrays["states"], _without_zeros(arrays["why"]), tuple(facts["reasons"]), parts
        )


class ColumnDraft:
    """A copy of a column that is filled step by step."""

    def __init__(self, base: ScoreColumn) -> None:
        self._index, self._reasons = base.index, {reason: i for i, reason in enumerate(base.reasons)}
        self._numbers, self._states, self._why = base.numbers.copy(), base.states.copy(), base.why.copy()
        self._parts = {name: array.copy() for name, array in base.parts.items()}

    def put(
        self,
        at: Sequence[int] | npt.NDArray[np.int64],
        values: Sequence[tuple[float | None, Status, str, Mapping[str, float] | None]],
    ) -> None:
        """Set values (value, status, reason, parts or None) at flat positions."""
        places = np.asarray(at, dtype=np.intp)
        self._numbers.flat[places] = np.array([v[0] for v in values], dtype=np.float64)  # None becomes NaN
        self._states.flat[places] = [_STATES[v[1]] for v in values]
        self._why.flat[places] = [self._reasons.setdefault(v[2], len(self._reasons)) for v in values]
        all_parts = [v[3] or _NO_PARTS for v in values]
        for name in self._parts.keys() | {name for parts in all_parts for name in parts}:
            array = self._parts.setdefault(name, np.full(self._index.shape, np.nan))
            array.flat[places] = [parts.get(name, np.nan) for parts in all_parts]

    def column(self) -> ScoreColumn:
        why = _without_zeros(self._why)
        return ScoreColumn(self._index, self._numbers, self._states, why, tuple(self._reasons), self._parts)


def _without_zeros(why: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Return the same array; if no value has a reason, one that takes no memory (4 MB per 1,000,000 outputs)."""
    return why if why.any() else np.broadcast_to(np.zeros((), why.dtype), why.shape)


def packed(facts: Mapping[str, object], arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """Return JSON values and arrays as bytes; no array may hold Python objects."""
    text = np.frombuffer(json.dumps(facts).encode("ascii"), dtype=np.uint8)
    with BytesIO() as file:
        with ZipFile(file, "w") as stored:
            for name, array in {"facts": text, **arrays}.items():
                # scores hardly become smaller, and reading them would take five times as long
                stored.compression = ZIP_STORED if array.dtype.kind == "f" else ZIP_DEFLATED
                with stored.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    np.lib.format.write_array(entry, np.ascontiguousarray(array), allow_pickle=False)
        return file.getvalue()


def unpacked(data: bytes) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Return what `packed` stored. Nothing is unpickled."""
    with np.load(BytesIO(data), allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    return json.loads(arrays.pop("facts").tobytes()), arrays
