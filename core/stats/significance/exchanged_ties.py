"""Differences in acc_eq with calibrated ties of two metrics that exchange scores, over the same pairs of outputs in every draw.

Each pair of outputs has four differences of scores: x_i − x_j, y_i − y_j, x_i − y_j and y_i − x_j. All of them are sorted once. A draw
selects one of the four for each pair, so the best ε of a draw is the largest running sum over the selected ones.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from core.stats.correlation.kernel import tied_pairs
from core.stats.correlation.pairs import Floats, Ints
from core.stats.significance.exchanges import AT_ONCE, MOST
from core.stats.significance.random_signs import SignDraws

CHECKED = 50
"""Draws computed exactly in any case, to see how far their linear part is from the difference."""
MARGIN = 3.0
"""Other draws are computed exactly if their linear part is nearer to the observed difference than so many times the largest deviation of
those computed before."""


KEPT = 20_000_000
"""Differences of scores that a thread keeps, 10 bytes each."""


class CalibratedTies:
    """Pairs of outputs `i`, `j`, each counted `share` times: all shares sum to 1.

    With `rough`, only draws near to the observed difference are computed exactly.
    """

    most = MOST

    def __init__(self, human: Floats, scores: Floats, i: Ints, j: Ints, share: Floats, *, rough: bool) -> None:
        self.n, self.scores, self.i, self.j, self.rough = len(human), scores, i, j, rough
        self.human = np.sign(human[i] - human[j]).astype(np.int8)
        equal = len(share) > 0 and share.min() == share.max()
        self.at_once = max(1, min(AT_ONCE, KEPT // max(1, 4 * len(i))))
        self.unit = float(share[0]) if equal else 1.0
        """What a difference of 1 in the sums is worth. With equal shares they are whole numbers."""
        self.share = None if equal else share

    def prepare(self, draws: SignDraws) -> None:
        pass

    def pair(self, first: int, second: int) -> CalibratedTiesPair:
        return CalibratedTiesPair(self, self.scores[first], self.scores[second])


class CalibratedTiesPair:
    def __init__(self, shared: CalibratedTies, first: Floats, second: Floats) -> None:
        self._shared = shared
        i, j = shared.i, shared.j
        # by kind: 0 if both scores are of the second metric, 1 if that of i is, 2 if that of j is, 3 if both are of the first
        apart = np.stack([a[i] - b[j] for a in (second, first) for b in (second, first)])
        tied = tied_pairs(apart.ravel(), np.tile(shared.human, len(apart)))
        n_changing = len(tied.gain)
        kind, self._which = np.divmod(tied.order[:n_changing], len(i))
        self._kind = kind.astype(np.uint8)
        self._gain: npt.NDArray[np.int8] | Floats = tied.gain
        if shared.share is not None:
            self._gain = tied.gain * shared.share[self._which]
        self._ends = None if len(tied.ends) == n_changing else tied.ends
        """Where ε can lie; None if everywhere."""
        self._right = np.empty(apart.shape, dtype=bool)
        self._right.ravel()[tied.order] = tied.right
        # the linear part, at the ε that is best on average over all draws
        reached = np.cumsum(self._gain)[tied.ends]
        upto = tied.ends[reached.argmax()] + 1 if len(reached) else 0
        of = self._right.astype(np.int8)
        of.ravel()[tied.order[:upto]] += tied.gain[:upto]
        worth = 0.5 * (np.full(len(i), shared.unit) if shared.share is None else shared.share)
        at_i, at_j = worth * (of[3] - of[0] + of[2] - of[1]), worth * (of[3] - of[0] - of[2] + of[1])
        self.linear: Floats = (np.bincount(i, at_i, shared.n) + np.bincount(j, at_j, shared.n)).astype(np.float64)

    def differences(self, draws: SignDraws, sums: Floats, at: float) -> Floats:
        found, n = sums.copy(), len(draws)
        left, deviation = np.ones(n, dtype=bool), 0.0
        doubtful = np.arange(min(CHECKED, n) if self._shared.rough else n)
        while len(doubtful):
            found[doubtful], left[doubtful] = self._exactly(draws, doubtful), False
            deviation = max(deviation, float(np.abs(found - sums)[doubtful].max()))
            doubtful = np.flatnonzero(left & (np.abs(np.abs(sums) - abs(at)) <= MARGIN * deviation + 1e-9))
        return found

    def _exactly(self, draws: SignDraws, which: Ints) -> Floats:
        i, j = self._shared.i, self._shared.j
        found = np.empty(len(which))
        for start in range(0, len(which), 64):
            block = which[start : start + 64]
            for place, positive in enumerate(draws.positive(block).view(np.uint8), start=start):
                kinds = 2 * positive[i] + positive[j]
                found[place] = self._best(kinds) - self._best(3 - kinds)
        return found * self._shared.unit

    def _best(self, kinds: npt.NDArray[np.uint8]) -> float:
        """Return the best acc_eq over all ε, if each pair of outputs has the difference of this kind."""
        selected = kinds.take(self._which) == self._kind
        reached = np.cumsum(selected * self._gain, dtype=None if self._shared.share is not None else np.int32)
        if self._ends is not None:
            reached = reached[self._ends]
        right = self._right[kinds, np.arange(len(kinds))]
        start = np.count_nonzero(right) if self._shared.share is None else right @ self._shared.share
        return float(start + max(0, reached.max(initial=0)))
