"""Sentence matchers, and score matrices computed for many texts at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from core.smart.alignment import Array, Index

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
    found: list[Array] = []
    for part in _parts(pairs):
        rows, columns = _numbered(targets for targets, _ in part), _numbered(candidates for _, candidates in part)
        whole = block(list(rows), list(columns))
        found += [whole[_at(rows, t)[:, None], _at(columns, c)] for t, c in part]
    return found


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
