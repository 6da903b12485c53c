"""Find the best ε of acc_eq exactly among billions of pairs of outputs, in O(n log n) per value of ε.

As ε grows, pairs without a human tie become wrong and pairs with one become correct. Both counts are monotone in ε, so between
two values of ε the number of correct pairs is at most the first count at the left end plus the second at the right end.
Intervals of ε that cannot contain the best are dropped, the others are split, and the remaining pairs are listed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.stats.correlation.pairs import Floats, Ints, dense_ranks

FIRST = 256
"""Number of initial values of ε: quantiles of a sample of the pairs."""
SAMPLE = 200_000
LISTED_AT_ONCE = 1_000_000


class EpsilonStep(NamedTuple):
    """Counts for ε from `epsilon`, an existing difference (or 0), up to `following`, the next one.

    `ordered` counts concordant pairs that ε does not tie, `tied` those tied on both sides.
    """

    epsilon: float
    following: float
    ordered: int
    tied: int

    @property
    def right(self) -> int:
        return self.ordered + self.tied


class ManyPairs:
    """All pairs of `metric` and `human`, both of shape (n,)."""

    def __init__(self, metric: Floats, human: Floats) -> None:
        order = np.argsort(metric, kind="stable")
        self.values, self._value = np.unique(metric[order], return_inverse=True)
        self._metric = metric[order]
        self._human = dense_ranks(human)[order]
        self._start = np.append(np.searchsorted(self._metric, self.values), len(metric))
        self._counter = _PrefixCounter(self._human)
        self.total = len(metric) * (len(metric) - 1) // 2
        self.listed = max(LISTED_AT_ONCE, int((100.0 * self.total * len(metric)) ** 0.5))
        """At most this many pairs are listed; this takes about as long as the further values of ε that would save it."""
        sizes = np.bincount(self._human)
        self.ties = int((sizes * (sizes - 1) // 2).sum())

    def at(self, epsilon: float) -> EpsilonStep:
        beyond = self._beyond(epsilon)
        before = self._start[beyond]
        ordered, tied = self._counter.below_and_equal(before)
        inside = self._metric - self.values[np.minimum(beyond, self._value)]
        outside = np.where(beyond > 0, self._metric - self.values[np.maximum(beyond - 1, 0)], np.inf)
        return EpsilonStep(float(inside.max()), float(outside.min()), ordered, self.ties - tied)

    def steps(self) -> list[EpsilonStep]:
        """Return steps by ascending ε that include the best one, and enough others to draw the curve."""
        known = {s.epsilon: s for s in map(self.at, self._quantiles())}
        while True:
            most = max(s.right for s in known.values())
            ordered = [known[e] for e in sorted(known)]
            open_ = [(a, b) for a, b in zip(ordered, ordered[1:], strict=False) if self._may_hold(a, b, most, known)]
            inside = [self._between(a, b) for a, b in open_]
            if sum(inside) <= self.listed and max(inside, default=0) <= LISTED_AT_ONCE:
                found = [step for pair in open_ for step in self._listed(*pair, most)]
                return sorted({s.epsilon: s for s in (*ordered, *found)}.values())
            for (a, b), size in zip(open_, inside, strict=True):
                if size > min(LISTED_AT_ONCE, self.listed // (4 * len(open_))):
                    step = self.at(_middle(a.following, b.epsilon))
                    known[step.epsilon] = step

    def _may_hold(self, a: EpsilonStep, b: EpsilonStep, most: int, known: dict[float, EpsilonStep]) -> bool:
        """Return whether a value of ε strictly between a and b can be better than all known, or equal and smaller."""
        if a.following >= b.epsilon:
            return False
        limit = a.ordered + b.tied
        return limit > most or (limit == most and all(s.right < most for s in known.values() if s.epsilon <= a.epsilon))

    def _quantiles(self) -> list[float]:
        rng = np.random.default_rng(0)
        i, j = rng.integers(0, len(self._metric), (2, SAMPLE))
        gaps = np.sort(np.abs(self._metric[i] - self._metric[j]))
        at = np.linspace(0, len(gaps) - 1, FIRST).astype(np.int64)
        return [0.0, *np.unique(gaps[at]).tolist(), float(self.values[-1] - self.values[0])]

    def _beyond(self, epsilon: float) -> Ints:
        """Return for each output, by ascending metric, the number of distinct values more than ε below its own."""
        found = np.searchsorted(self.values, self._metric - epsilon)
        while (back := (found > 0) & (self._metric - self.values[np.maximum(found - 1, 0)] <= epsilon)).any():
            found = found - back
        top = len(self.values) - 1
        while (on := (found <= top) & (self._metric - self.values[np.minimum(found, top)] > epsilon)).any():
            found = found + on
        return found.astype(np.int64)

    def _between(self, a: EpsilonStep, b: EpsilonStep) -> int:
        """Return the number of pairs with a difference strictly between the two values of ε."""
        low, high = self._ranges(a, b)
        return int((high - low).sum())

    def _ranges(self, a: EpsilonStep, b: EpsilonStep) -> tuple[Ints, Ints]:
        return self._start[self._beyond(np.nextafter(b.epsilon, 0))], self._start[self._beyond(a.epsilon)]

    def _listed(self, a: EpsilonStep, b: EpsilonStep, most: int) -> Iterator[EpsilonStep]:
        """Yield the best step strictly between a and b, if it is at least as good as all known ones."""
        low, high = self._ranges(a, b)
        size = high - low
        i = np.repeat(np.arange(len(size)), size)
        j = np.arange(len(i)) - np.repeat(np.cumsum(size) - size, size) + low[i]
        apart = self._human[i] - self._human[j]
        kept = apart >= 0
        gaps, change = self._metric[i[kept]] - self._metric[j[kept]], np.where(apart[kept] > 0, -1, 1)
        epsilon, which = np.unique(gaps, return_inverse=True)
        if not len(epsilon):
            return
        right = a.right + np.cumsum(np.bincount(which, change)).astype(np.int64)
        best = int(np.argmax(right))
        if right[best] >= most:
            yield self.at(float(epsilon[best]))


def _middle(low: float, high: float) -> float:
    middle = low + (high - low) / 2
    return middle if middle < high else low


class _PrefixCounter:
    """Wavelet matrix that counts, for each element of an array of ranks, the smaller and equal ranks in a prefix of the array."""

    def __init__(self, ranks: Ints) -> None:
        n, bits = len(ranks), max(1, int(ranks.max(initial=0)).bit_length())
        self._levels: list[tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], int]] = []
        current, left = ranks, np.zeros(n, dtype=np.int64)
        smaller = np.zeros(n, dtype=np.int64)
        for bit in range(bits - 1, -1, -1):
            one = ((current >> bit) & 1).astype(bool)
            zeros = np.concatenate(([0], np.cumsum(~one))).astype(np.int32)
            own = ((ranks >> bit) & 1).astype(np.int32)
            count = int(zeros[-1])
            self._levels.append((zeros, own, count))
            before = zeros[left]
            smaller += own * before
            left = np.where(own == 1, count + left - before, before)
            current = np.concatenate((current[~one], current[one]))
        self._smaller, self._left = int(smaller.sum()), int(left.sum())

    def below_and_equal(self, lengths: Ints) -> tuple[int, int]:
        """Return the sums over all elements of the smaller and the equal ranks among the first `lengths` (n,)."""
        right, smaller = lengths.astype(np.int32), 0
        for zeros, own, count in self._levels:
            before = zeros[right]
            smaller += int((own * before).sum(dtype=np.int64))
            right = before + own * (count + right - 2 * before)
        return smaller - self._smaller, int(right.sum(dtype=np.int64)) - self._left
