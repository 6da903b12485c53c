"""Tie calibration for acc_eq (Deutsch, Foster and Freitag 2023, section 5): find the best ε for metric ties."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from core.errors import UserError
from core.stats.correlation.correlation import Statistic, blocks_by_size, group_ids
from core.stats.correlation.many_pairs import ManyPairs
from core.stats.correlation.pairs import Floats, vectors
from core.stats.means import group_means

TieGroup = Literal["pooled", "segment", "within_system", "system"]
TIE_GROUPS: tuple[TieGroup, ...] = ("pooled", "segment", "within_system", "system")
SORTED_PAIRS = 3_000_000
"""Maximum number of pooled pairs to sort; above it, `core.stats.correlation.many_pairs` finds the same ε."""
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
