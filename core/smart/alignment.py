"""Score matrices of sentences, and SMART-1, -2, -L and -X computed from them (Amplayo et al. 2022, §4).

A matrix M holds the match of each target sentence (row) with each candidate sentence (column), in [0, 1]; the target is a
reference or the source. Matrices are batched by shape without padding, so a score does not depend on the others in the batch.
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


class SentenceMatches(NamedTuple):
    """Best match per sentence of one side: its index on the other side (the first on ties), and the score."""

    at: Index
    score: Array


def smart(matrices: Sequence[Array], variant: Variant) -> Array:
    """Return precision, recall and F of each matrix, (n, 3), in [0, 1], higher is better.

    Equations 1 to 10; `X` is the mean of variants 1, 2 and L (Table 3). F is 0 if precision and recall are 0. A matrix without
    rows or columns scores 0. A NaN in a matrix makes its scores NaN.

    A text scored against itself gets 1 under 1 and L if no sentence matches another better than itself. Under 2 it gets
    T / (T + 1) for T sentences, because the blank sentences around a text match nothing (METHODS: a zero row and column).
    """
    out = np.zeros((len(matrices), 3))
    for indices, block in _blocks(matrices):
        recalls = list(_RECALLS.values()) if variant == "X" else [_RECALLS[variant]]
        out[indices] = np.sum([_measured(recall, block) for recall in recalls], axis=0) / len(recalls)
    return out


def best_matches(matrix: Array) -> tuple[SentenceMatches, SentenceMatches]:
    """Return the best candidate sentence per target sentence, and the best target sentence per candidate sentence.

    Both sides need at least one sentence.
    """
    rows, columns = matrix.argmax(axis=1), matrix.argmax(axis=0)
    return SentenceMatches(rows, matrix.max(axis=1)), SentenceMatches(columns, matrix.max(axis=0))


def soft_lcs_path(matrix: Array) -> list[int]:
    """Return the index of the candidate sentence matched with each target sentence (row) under SMART-L.

    Indices never decrease, and the sum of scores is maximal (leftmost on ties). Use `matrix.T` for precision.
    """
    best = _table(matrix[None])[0]
    path, column = [], matrix.shape[1] - 1
    for row in best[::-1]:
        column = int(np.argmax(row[: column + 1] == row[column]))
        path.append(column)
    return path[::-1]


def _blocks(matrices: Sequence[Array]) -> Iterator[tuple[Index, Array]]:
    """Yield matrices stacked by shape as (n, rows, columns), at most `BLOCK_CELLS` cells at a time, with their indices."""
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
    """Return the mean best match over target sentences (equations 3 and 4 with N = 1)."""
    means: Array = block.max(axis=2).mean(axis=1)
    return means


def _two(block: Array) -> Array:
    """Return the same over sentence bigrams (N = 2), with a blank sentence on both sides of a text (footnote 1)."""
    padded = np.pad(block, ((0, 0), (1, 1), (1, 1)))
    return _one((padded[:, :-1, :-1] + padded[:, 1:, 1:]) / 2)


def _soft_lcs(block: Array) -> Array:
    """Return the soft-LCS of Figure 2 divided by the number of target sentences (equations 8 and 9)."""
    lengths: Array = _table(block)[:, -1, -1] / block.shape[1]
    return lengths


def _table(block: Array) -> Array:
    """Return the table of Figure 2 without its zero row and column.

    Rows never decrease from left to right, so lcs[i-1][j-1] + m ≤ lcs[i-1][j] + m and the first two cases are one. The rest
    is a running maximum along each row.
    """
    table = np.empty_like(block)
    before = np.zeros((block.shape[0], block.shape[2]))
    for i in range(block.shape[1]):
        np.maximum.accumulate(before + block[:, i], axis=1, out=table[:, i])
        before = table[:, i]
    return table


_RECALLS: dict[Variant, Callable[[Array], Array]] = {"1": _one, "2": _two, "L": _soft_lcs}


Sentences = tuple[str, ...]
Texts = tuple[Sentences, Sentences]  # target, candidate

FEW_CELLS, MOST_CELLS = 1 << 12, 1 << 22
WASTE = 4  # maximum ratio of computed to requested cells in blocks above FEW_CELLS


Matcher = Callable[[Sequence[Texts]], list[Array]]
"""A sentence matching function in [0, 1], such as chrF.

It returns one matrix (target sentences × candidate sentences) per pair of texts. The candidate sentence is the hypothesis;
both texts have sentences. NaN means that there is no score. A matrix does not depend on the other pairs.
"""
Block = Callable[[Sequence[str], Sequence[str]], Array]
"""Returns the scores of all target sentences (rows) with all candidate sentences (columns)."""


def matrices(block: Block, pairs: Sequence[Texts]) -> list[Array]:
    """Return the matrices of all pairs, taken from a few blocks over distinct sentences.

    Pairs that share texts (one source and its references, outputs of many systems) share a block unless the block would be
    much larger than the cells needed.
    """
    of_pairs: list[Array] = []
    for part in _parts(pairs):
        rows, columns = _numbered(targets for targets, _ in part), _numbered(candidates for _, candidates in part)
        whole = block(list(rows), list(columns))
        of_pairs += [whole[_at(rows, t)[:, None], _at(columns, c)] for t, c in part]
    return of_pairs


def _parts(pairs: Sequence[Texts]) -> Iterator[Sequence[Texts]]:
    waiting = [pairs] if pairs else []
    while waiting:
        part = waiting.pop()
        asked = sum(len(t) * len(c) for t, c in set(part))
        rows, columns = {s for t, _ in part for s in t}, {s for _, c in part for s in c}
        cells = len(rows) * len(columns)
        if len(part) > 1 and cells > min(MOST_CELLS, max(FEW_CELLS, WASTE * asked)):
            half = len(part) // 2
            waiting += [part[half:], part[:half]]
        else:
            yield part


def _numbered(texts: Iterator[Sentences]) -> dict[str, int]:
    distinct = dict.fromkeys(sentence for text in texts for sentence in text)
    return {sentence: i for i, sentence in enumerate(distinct)}


def _at(numbers: dict[str, int], text: Sentences) -> Index:
    return np.array([numbers[sentence] for sentence in text], dtype=np.intp)
