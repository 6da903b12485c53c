"""SMART-1, -2, -L and -X of sentence score matrices (Amplayo et al. 2022, §4), many matrices at once.

A matrix M holds the match of every target sentence (row) with every candidate sentence (column), in [0, 1]; a target is a
reference or the source. Matrices of one shape are computed together, so that a score never depends on what else is scored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]
Variant = Literal["1", "2", "L", "X"]

BLOCK_CELLS = 1 << 21


class Best(NamedTuple):
    """The best match of each sentence of one side: its index on the other side (the first of equals), and their score."""

    at: Index
    score: Array


def smart(matrices: Sequence[Array], variant: Variant) -> Array:
    """Precision, recall and F of each matrix, (n, 3), in [0, 1], higher is better.

    Equations 1 to 10; `X` is the mean of the three (Table 3). F is 0 where both are 0. A matrix without rows or columns gives
    0: nothing of the one side is matched by a side that says nothing. A score that is not known (NaN) makes those of its
    matrix unknown.

    A text against itself gives 1 under 1 and L, where no sentence matches another better than itself; under 2 it gives
    T / (T + 1) for T sentences, because the blank sentences put around a text match nothing (METHODS: a zero row and column).
    """
    out = np.zeros((len(matrices), 3))
    for indices, block in _blocks(matrices):
        if variant == "X":
            out[indices] = (_measured(_one, block) + _measured(_two, block) + _measured(_soft_lcs, block)) / 3
        else:
            out[indices] = _measured(_RECALLS[variant], block)
    return out


def best_matches(matrix: Array) -> tuple[Best, Best]:
    """The best candidate sentence of every target sentence, and the best target sentence of every candidate sentence.

    Both sides must have sentences.
    """
    rows, columns = matrix.argmax(axis=1), matrix.argmax(axis=0)
    return Best(rows, matrix.max(axis=1)), Best(columns, matrix.max(axis=0))


def soft_lcs_path(matrix: Array) -> list[int]:
    """The candidate sentence each target sentence is matched with under SMART-L: never one before its predecessor's, the sum
    of scores the highest there is (leftmost among equals). One entry a row; `matrix.T` gives that of precision."""
    best = _table(matrix[None])[0]
    path, column = [], matrix.shape[1] - 1
    for row in best[::-1]:
        column = int(np.argmax(row[: column + 1] == row[column]))
        path.append(column)
    return path[::-1]


def _blocks(matrices: Sequence[Array]) -> Iterator[tuple[Index, Array]]:
    """Matrices of one shape as (n, rows, columns), a bounded number of cells at a time, with their indices."""
    shapes: dict[tuple[int, ...], list[int]] = {}
    for i, matrix in enumerate(matrices):
        if matrix.size:
            shapes.setdefault(matrix.shape, []).append(i)
    for (rows, columns), indices in shapes.items():
        step = max(1, BLOCK_CELLS // (rows * columns))
        for start in range(0, len(indices), step):
            part = indices[start : start + step]
            yield np.array(part), np.stack([matrices[i] for i in part])


def _measured(recall: Callable[[Array], Array], block: Array) -> Array:
    p, r = recall(np.ascontiguousarray(block.transpose(0, 2, 1))), recall(block)
    both = p + r
    with np.errstate(invalid="ignore", divide="ignore"):
        f = np.where(both == 0, 0, 2 * p * r / both)
    return np.stack([p, r, f], axis=1)


def _one(block: Array) -> Array:
    """Equations 3 and 4 with N = 1: the mean over target sentences of their best match."""
    means: Array = block.max(axis=2).mean(axis=1)
    return means


def _two(block: Array) -> Array:
    """N = 2: the same over bigrams of sentences, a blank sentence standing on both sides of a text (footnote 1)."""
    padded = np.pad(block, ((0, 0), (1, 1), (1, 1)))
    return _one((padded[:, :-1, :-1] + padded[:, 1:, 1:]) / 2)


def _soft_lcs(block: Array) -> Array:
    """Equations 8 and 9: the soft-LCS of Figure 2 over the number of target sentences."""
    lengths: Array = _table(block)[:, -1, -1] / block.shape[1]
    return lengths


def _table(block: Array) -> Array:
    """The table of Figure 2 without its zero row and column.

    A row of it never falls from left to right, so its first two cases are one: lcs[i-1][j-1] + m ≤ lcs[i-1][j] + m. What is
    left is a running maximum along each row.
    """
    table = np.empty_like(block)
    before = np.zeros((block.shape[0], block.shape[2]))
    for i in range(block.shape[1]):
        np.maximum.accumulate(before + block[:, i], axis=1, out=table[:, i])
        before = table[:, i]
    return table


_RECALLS: dict[Variant, Callable[[Array], Array]] = {"1": _one, "2": _two, "L": _soft_lcs}
