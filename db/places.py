"""Which outputs a project has, and where they stand in its arrays: found by their ids, or by their content keys.

Outputs have no index on their content keys, which would make imports a third slower. New scores are found with a sorted array instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, func, select

from core.columns import ProjectIndex
from core.data import SegmentKey
from db.shown import outputs, segments

AT_ONCE = 2000
"""Rows that are fetched at once. With 10,000, a server that reads a project first takes 12 MB more, and no less time."""
_BYTES = 16
"""Of a content key. That any two of 10¹² texts share them has a chance of 10⁻¹⁵."""

Numbers = npt.NDArray[np.int64]


class Places(NamedTuple):
    """The flat positions of outputs by name. `names` has shape (numbers of a name, n), sorted by the first number; names may repeat."""

    names: npt.NDArray[Any]
    at: Numbers

    @classmethod
    def of(cls, names: npt.NDArray[Any], at: Numbers) -> Places:
        order = np.argsort(names[0], kind="stable")
        return cls(names[:, order], at[order])

    def find(self, wanted: npt.NDArray[Any]) -> tuple[Numbers, Numbers]:
        """Return the positions of wanted names, and beside each the column of the name in `wanted`. Unknown names are left out."""
        order = np.argsort(wanted[0])  # searching in order is several times as fast
        first = np.searchsorted(self.names[0], wanted[0, order], "left")
        n = np.searchsorted(self.names[0], wanted[0, order], "right") - first
        within = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
        found, which = np.repeat(first, n) + within, np.repeat(order, n)
        same = (self.names[1:, found] == wanted[1:, which]).all(axis=0)
        return self.at[found[same]], which[same]


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
    here = segments.c.project_id == project_id
    found = select(segments.c.id, segments.c.doc_id, segments.c.segment_id).where(here).order_by(segments.c.position)
    texts = connection.execute(found).all()
    segment_ids = np.array([row.id for row in texts], dtype=np.int64)
    order = np.argsort(segment_ids)
    length = func.length if connection.dialect.name == "sqlite" else func.char_length
    of = outputs.c
    columns = (of.id, of.segment, of.system, length(of.text), of.position, of.content_key)
    every = select(*columns).join_from(outputs, segments).where(here)
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
