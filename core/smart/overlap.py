"""Clipped n-gram overlap and longest common subsequences of many texts with many others."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import chain, count
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import LCSseq
from rapidfuzz.process import cdist

from core.smart.alignment import Array

Grams = Mapping[Any, int]
Ints = npt.NDArray[np.int64]


class GramCounts(NamedTuple):
    """The distinct n-grams of several texts, text by text.

    `sizes` is their number per text, `grams` their ids (shared by both sides of a comparison), `counts` their frequencies.
    """

    sizes: Ints
    grams: Ints
    counts: Ints

    def totals(self) -> Array:
        """Return the number of n-grams per text, (n,)."""
        return np.diff(self.ends()).astype(np.float64)

    def ends(self) -> Ints:
        """Return the start of each text's n-grams (repeated by count), and the end of the last, (n + 1,)."""
        return _sums(self.counts)[_sums(self.sizes)]


def counted(left: Sequence[Grams], right: Sequence[Grams]) -> tuple[GramCounts, GramCounts]:
    """Return two sides of n-grams from counts made elsewhere."""
    ids: dict[Hashable, int] = defaultdict(count().__next__)

    def side(texts: Sequence[Grams]) -> GramCounts:
        sizes = np.array([len(t) for t in texts], dtype=np.int64)
        n = int(sizes.sum())
        grams = np.fromiter(map(ids.__getitem__, chain.from_iterable(texts)), np.int64, n)
        return GramCounts(sizes, grams, np.fromiter(chain.from_iterable(t.values() for t in texts), np.int64, n))

    return side(left), side(right)


def characters(left: Sequence[str], right: Sequence[str], orders: int) -> Iterator[tuple[GramCounts, GramCounts]]:
    """Yield two sides of character n-grams for each order from 1 to `orders`, without white space.

    Counts equal those of sacreBLEU's `extract_all_char_ngrams`. The id of an n-gram combines the id of its first n − 1
    characters with that of the last.
    """
    texts = ["".join(text.split()) for text in (*left, *right)]
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    text_of = np.repeat(np.arange(len(texts)), lengths)
    room = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(codes))
    at = np.arange(len(codes))
    single: Ints = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    base, grams = int(single.max(initial=0)) + 1, single
    for order in range(1, orders + 1):
        if order > 1:
            long = room[at] >= order
            at = at[long]
            grams = np.unique(grams[long] * base + single[at + order - 1], return_inverse=True)[1].astype(np.int64)
        numbers = int(grams.max(initial=0)) + 1
        keys, counts = np.unique(text_of[at] * numbers + grams, return_counts=True)
        sizes = np.bincount(keys // numbers, minlength=len(texts))
        middle = int(sizes[: len(left)].sum())
        found, n = keys % numbers, counts.astype(np.int64)
        yield (
            GramCounts(sizes[: len(left)], found[:middle], n[:middle]),
            GramCounts(sizes[len(left) :], found[middle:], n[middle:]),
        )


def shared(rows: GramCounts, columns: GramCounts) -> Array:
    """Return Σ over n-grams of min(count in the row's text, count in the column's text), (rows, columns); exact.

    min(a, b) is the inner product of 1…1 0…0 (a ones) and 1…1 0…0 (b ones), so one product of sparse 0/1 matrices gives all
    minima.
    """
    numbers = max(int(rows.grams.max(initial=-1)), int(columns.grams.max(initial=-1))) + 1
    most = np.zeros(numbers, dtype=np.int64)
    for side in (rows, columns):
        np.maximum.at(most, side.grams, side.counts)
    places = _sums(most)
    product = _ones(rows, places) @ _ones(columns, places).T
    dense: Array = product.toarray().astype(np.float64)
    return dense


def _ones(side: GramCounts, places: Ints) -> Any:
    """Return the counts as a sparse 0/1 matrix; `places` is the first column of each n-gram."""
    from scipy.sparse import csr_array

    levels = np.arange(int(side.counts.sum())) - np.repeat(_sums(side.counts)[:-1], side.counts)
    columns = np.repeat(places[side.grams], side.counts) + levels
    return csr_array(
        (np.ones(len(columns), dtype=np.int32), columns, side.ends()), shape=(len(side.sizes), int(places[-1]))
    )


def _sums(values: Ints) -> Ints:
    """Return the cumulative sums, starting with 0."""
    return np.concatenate([[0], np.cumsum(values)])


def word_grams(words: Sequence[str], n: int) -> Grams:
    """Return the n-grams of words with their counts."""
    return Counter(zip(*(words[i:] for i in range(n)), strict=False))


def longest_common(rows: Sequence[Sequence[str]], columns: Sequence[Sequence[str]]) -> Array:
    """Return the length in words of a longest common subsequence of each row with each column, (rows, columns)."""
    if not len(rows) or not len(columns):
        return np.zeros((len(rows), len(columns)))
    return cdist(rows, columns, scorer=LCSseq.similarity, dtype=np.int64).astype(np.float64)
