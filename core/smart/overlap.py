"""Clipped n-gram counts and longest common subsequences of many texts with many others, all pairs at once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import chain, count
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from core.smart.alignment import Array

Grams = Mapping[Any, int]
Ints = npt.NDArray[np.int64]

BITS = 4096


class Counts(NamedTuple):
    """The distinct n-grams of several texts, text after text: `sizes` how many a text has, `grams` their numbers (the same
    on both sides of a comparison), `counts` how often each stands there."""

    sizes: Ints
    grams: Ints
    counts: Ints

    def totals(self) -> Array:
        """How many n-grams each text has, (n,)."""
        return np.diff(self.ends()).astype(np.float64)

    def ends(self) -> Ints:
        """Where the n-grams of each text begin when every one is written out, and where the last ends, (n + 1,)."""
        return _sums(self.counts)[_sums(self.sizes)]


def counted(left: Sequence[Grams], right: Sequence[Grams]) -> tuple[Counts, Counts]:
    """Two sides of n-grams that somebody else has counted."""
    ids: dict[Hashable, int] = defaultdict(count().__next__)

    def side(texts: Sequence[Grams]) -> Counts:
        sizes = np.array([len(t) for t in texts], dtype=np.int64)
        n = int(sizes.sum())
        grams = np.fromiter(map(ids.__getitem__, chain.from_iterable(texts)), np.int64, n)
        return Counts(sizes, grams, np.fromiter(chain.from_iterable(t.values() for t in texts), np.int64, n))

    return side(left), side(right)


def characters(left: Sequence[str], right: Sequence[str], orders: int) -> Iterator[tuple[Counts, Counts]]:
    """Two sides of character n-grams of order 1 to `orders`, white space left out: what sacreBLEU's `extract_all_char_ngrams`
    counts, for all texts at once. An n-gram's number is that of its first n − 1 characters with that of its last."""
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
            Counts(sizes[: len(left)], found[:middle], n[:middle]),
            Counts(sizes[len(left) :], found[middle:], n[middle:]),
        )


def shared(rows: Counts, columns: Counts) -> Array:
    """Σ over n-grams of min(count in the row's text, count in the column's text), (rows, columns); exact.

    min(a, b) is the inner product of 1…1 0…0 (a ones) with 1…1 0…0 (b ones): a count becomes that many ones, so that all
    minima are one product of sparse 0/1 matrices.
    """
    numbers = max(int(rows.grams.max(initial=-1)), int(columns.grams.max(initial=-1))) + 1
    most = np.zeros(numbers, dtype=np.int64)
    for side in (rows, columns):
        np.maximum.at(most, side.grams, side.counts)
    places = _sums(most)
    product = _ones(rows, places) @ _ones(columns, places).T
    dense: Array = product.toarray().astype(np.float64)
    return dense


def _ones(side: Counts, places: Ints) -> Any:
    """Counts as a sparse 0/1 matrix; `places` says where the columns of an n-gram begin."""
    from scipy.sparse import csr_array

    levels = np.arange(int(side.counts.sum())) - np.repeat(_sums(side.counts)[:-1], side.counts)
    columns = np.repeat(places[side.grams], side.counts) + levels
    return csr_array(
        (np.ones(len(columns), dtype=np.int32), columns, side.ends()), shape=(len(side.sizes), int(places[-1]))
    )


def _sums(values: Ints) -> Ints:
    """0, and the sum of the first, the first two, …"""
    return np.concatenate([[0], np.cumsum(values)])


def word_grams(words: Sequence[str], n: int) -> Grams:
    """The n-grams of words with their counts."""
    return Counter(zip(*(words[i:] for i in range(n)), strict=False))


def longest_common(rows: Sequence[Sequence[str]], columns: Sequence[Sequence[str]]) -> Array:
    """The length in words of a longest common subsequence of every row with every column, (rows, columns)."""
    out = np.zeros((len(rows), len(columns)))
    start, bits = 0, 0
    for i, words in enumerate(columns):
        bits += len(words)
        if bits >= BITS or i + 1 == len(columns):
            out[:, start : i + 1] = _longest_common(rows, columns[start : i + 1])
            start, bits = i + 1, 0
    return out


def _longest_common(rows: Sequence[Sequence[str]], columns: Sequence[Sequence[str]]) -> Array:
    """The bit-parallel table of `core.text.diff` with all columns in one integer: a bit that is always 0 stands after each
    column's words and stops the carry of the addition there."""
    where: dict[str, int] = defaultdict(int)
    starts, full, at = [], 0, 0
    for words in columns:
        starts.append(at)
        for word in words:
            where[word] |= 1 << at
            full |= 1 << at
            at += 1
        at += 1
    out = np.zeros((len(rows), len(columns)))
    for i, words in enumerate(rows):
        state = full
        for word in words:
            if hits := state & where.get(word, 0):
                state = ((state + hits) | (state - hits)) & full
        passed = np.frombuffer((full & ~state).to_bytes(at // 8 + 1, "little"), dtype=np.uint8)
        out[i] = np.add.reduceat(np.unpackbits(passed, bitorder="little")[:at], starts, dtype=np.int64)
    return out
