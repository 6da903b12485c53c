"""Ties of metric scores: ε that calibrates them (Deutsch et al. 2023), also for very many pairs.

As ε grows, pairs without a human tie become wrong and pairs with one become correct. Both counts are monotone in ε, so between
two values of ε the number of correct pairs is at most the first count at the left end plus the second at the right end.
Intervals of ε that cannot contain the best are dropped, the others are split, and the remaining pairs are listed.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from core.errors import UserError
from core.stats.correlation.correlation import Statistic, blocks_by_size, group_ids
from core.stats.correlation.pairs import Floats, Ints, dense_ranks, vectors
from core.stats.means import group_means

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
                listed = [step for pair in open_ for step in self._listed(*pair, most)]
                return sorted({s.epsilon: s for s in (*ordered, *listed)}.values())
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
        positions = np.searchsorted(self.values, self._metric - epsilon)
        while (back := (positions > 0) & (self._metric - self.values[np.maximum(positions - 1, 0)] <= epsilon)).any():
            positions = positions - back
        top = len(self.values) - 1
        while (on := (positions <= top) & (self._metric - self.values[np.minimum(positions, top)] > epsilon)).any():
            positions = positions + on
        return positions.astype(np.int64)

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


TieGroup = Literal["pooled", "segment", "within_system", "system"]
TIE_GROUPS: tuple[TieGroup, ...] = ("pooled", "segment", "within_system", "system")
SORTED_PAIRS = 3_000_000
"""Maximum number of pooled pairs to sort; above it, `core.stats.correlation.ties` finds the same ε."""
MAX_PAIRS = 30_000_000
"""Maximum number of pairs within groups."""
TOO_FEW = "at least two outputs of a segment are needed"


class TieCalibration(NamedTuple):
    """The best acc_eq, the smallest ε that reaches it, and the chance floor.

    The floor max(t, (1−t)/2), with t the share of human ties, is what a random continuous metric gets after calibration.
    """

    statistic: Statistic
    epsilon: float | None
    chance: float | None


class TieCurve(NamedTuple):
    """acc_eq as a step function of ε: `accuracy[i]` from `epsilon[i]` (included) up to `epsilon[i + 1]`.

    Both of shape (n_steps,), `epsilon` ascending from 0; empty where undefined, with the `reason`. `ties` is the share of
    human ties, averaged over the `groups` as the accuracy is; `undefined` counts the groups of one output, which have no pair.
    """

    epsilon: Floats
    accuracy: Floats
    ties: float
    n: int
    groups: int
    reason: str = ""
    undefined: int = 0

    @property
    def chance(self) -> float | None:
        return None if self.reason else max(self.ties, (1 - self.ties) / 2)

    def at(self, epsilon: float) -> float:
        return float(self.accuracy[np.searchsorted(self.epsilon, epsilon, "right") - 1])

    def best(self) -> int:
        """Return the index of the smallest ε with the highest accuracy (up to rounding)."""
        return int(np.argmax(self.accuracy >= self.accuracy.max() - 1e-12))

    def thinned(self, points: int = 500) -> TieCurve:
        """Return at most `points` + 3 evenly spread steps for a plot, including the first, best and last."""
        if len(self.epsilon) <= points + 3:
            return self
        even = np.linspace(0, len(self.epsilon) - 1, points).astype(np.int64)
        kept = np.unique(np.append(even, self.best()))
        return self._replace(epsilon=self.epsilon[kept], accuracy=self.accuracy[kept])


def calibrate_ties(metric: npt.ArrayLike, human: npt.ArrayLike, segments: Sequence[Hashable] = ()) -> TieCalibration:
    """Find the ε among {0} and all |Δ metric| that maximises acc_eq, averaged over `segments` (pooled without them).

    The result is exact, from one sort of all |Δ|. Above `SORTED_PAIRS` pooled pairs, an exact search with O(outputs) memory is
    used instead.
    """
    return calibration_of(tie_curve(metric, human, segments))


def calibrate_ties_by(
    group: TieGroup,
    metric: npt.ArrayLike,
    human: npt.ArrayLike,
    *,
    segments: Sequence[Hashable] = (),
    systems: Sequence[Hashable] = (),
) -> TieCalibration:
    """Run `calibrate_ties` with pairs of all outputs ("pooled"), within segments ("segment": the WMT setting), within systems
    ("within_system"), or of systems' mean scores ("system")."""
    return calibration_of(tie_curve_by(group, metric, human, segments=segments, systems=systems))


def tie_curve_by(
    group: TieGroup,
    metric: npt.ArrayLike,
    human: npt.ArrayLike,
    *,
    segments: Sequence[Hashable] = (),
    systems: Sequence[Hashable] = (),
) -> TieCurve:
    """Run `tie_curve` with the pairs of `calibrate_ties_by`."""
    if group not in TIE_GROUPS:
        raise UserError("there is no such grouping", got=repr(group), expected=", ".join(TIE_GROUPS))
    if group != "system":
        return tie_curve(metric, human, {"pooled": (), "segment": segments, "within_system": systems}[group])
    m, h = vectors(metric, human)
    of = group_ids(systems)
    return tie_curve(group_means(m, of), group_means(h, of))


def calibration_of(curve: TieCurve) -> TieCalibration:
    if curve.reason:
        return TieCalibration(Statistic(None, curve.reason, curve.n), None, None)
    best = curve.best()
    statistic = Statistic(float(curve.accuracy[best]), "", curve.n, curve.groups, curve.undefined)
    return TieCalibration(statistic, float(curve.epsilon[best]), curve.chance)


def tie_curve(metric: npt.ArrayLike, human: npt.ArrayLike, groups: Sequence[Hashable] = ()) -> TieCurve:
    """Return acc_eq = (C + T_hm)/all pairs at each ε where it changes; a metric tie is |Δ| ≤ ε.

    Values lie in [0, 1], higher is better, if higher scores are better. Pairs are formed within each of `groups` (one name per
    output; by default one group of all outputs), and groups have equal weight. Groups of one output have no pairs and are
    ignored; without any pair the curve is undefined. It is defined for constant scores. Above `SORTED_PAIRS` pooled pairs the
    curve has some hundreds of its steps, including the best.
    """
    m, h = vectors(metric, human)
    blocks = blocks_by_size(groups, len(m))
    if not blocks:
        nothing = np.zeros(0)
        return TieCurve(nothing, nothing, 0.0, len(m), 0, TOO_FEW)
    n_groups = sum(len(b) for b in blocks)
    if n_groups == 1 and len(m) == blocks[0].size and len(m) * (len(m) - 1) // 2 > SORTED_PAIRS:
        return _pooled(m, h)
    if sum(b.size * (b.shape[1] - 1) // 2 for b in blocks) > MAX_PAIRS:
        raise UserError(
            "there are too many pairs of outputs",
            expected=f"at most {MAX_PAIRS:,}",
            hint="Compare within segments, or select fewer outputs",
        )
    counted = [(2.0 / (b.shape[1] * (b.shape[1] - 1) * n_groups), _gaps(m[b], h[b])) for b in blocks]
    epsilon = np.unique(np.concatenate([[0.0], *(np.append(c.gained, c.lost) for _, c in counted)]))
    accuracy, ties = np.zeros(len(epsilon)), 0.0
    for share, c in counted:
        gained, lost = np.searchsorted(c.gained, epsilon, "right"), np.searchsorted(c.lost, epsilon, "right")
        accuracy += share * (c.right + gained - lost)
        ties += share * c.ties
    return TieCurve(
        epsilon, accuracy, ties, len(m), n_groups, undefined=len(set(groups)) - n_groups if len(groups) else 0
    )


def _pooled(metric: Floats, human: Floats) -> TieCurve:
    pairs = ManyPairs(metric, human)
    steps = pairs.steps()
    epsilon, right = (np.array(x, dtype=np.float64) for x in ([s.epsilon for s in steps], [s.right for s in steps]))
    return TieCurve(epsilon, right / pairs.total, pairs.ties / pairs.total, len(metric), 1)


class _Gaps(NamedTuple):
    """Pairs of groups of one size: the numbers of correct pairs at ε = 0 (`right`) and of human `ties`.

    `gained` and `lost` are the ascending |Δ metric| of pairs that become correct or wrong when ε reaches it.
    """

    right: int
    ties: int
    gained: Floats
    lost: Floats


def _gaps(metric: Floats, human: Floats) -> _Gaps:
    right, ties = 0, 0
    gained, lost = [], []
    for apart in range(1, metric.shape[1]):
        dm, dh = metric[:, apart:] - metric[:, :-apart], human[:, apart:] - human[:, :-apart]
        correct, tied = np.sign(dm) == np.sign(dh), dh == 0
        right, ties = right + int(correct.sum()), ties + int(tied.sum())
        gained.append(np.abs(dm[tied & (dm != 0)]))
        lost.append(np.abs(dm[correct & ~tied]))
    return _Gaps(right, ties, np.sort(np.concatenate(gained)), np.sort(np.concatenate(lost)))
