"""Test whether two metrics differ in their agreement with human scores: PERM-BOTH and Williams's test.

PERM-BOTH (Deutsch, Dror and Roth 2021, section 4.2): both metrics are z-scored over all outputs, then swapped output by output with probability ½. The null hypothesis is that each
output's two scores are exchangeable between the metrics. It does not cover a metric's bias for a whole system, so the test is
anti-conservative at system level (19 % rejections at p ≤ .05, in a simulation with biases as large as the differences between
systems).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student

from core.errors import UserError
from core.progress import Progress, no_progress
from core.stats.correlation.correlation import (
    Group,
    Measure,
    Statistic,
    agreement,
    cells,
    evaluator,
    group_ids,
    rows_by,
)
from core.stats.correlation.kernel import tied_pairs
from core.stats.correlation.pairs import Floats, pairs_within, random_pairs_within, vectors
from core.stats.correlation.ties import calibrate_ties_by
from core.stats.significance.exchanged import LARGEST_TABLE, CalibratedTies, PooledOrder, SystemMeans
from core.stats.significance.exchanges import EachDraw, ExchangedPair, Exchanges, InSegments
from core.stats.significance.random_signs import SignDraws, sign_stages
from core.stats.significance.system_comparison import ROUNDING, Comparison, Ended
from core.stats.threads import in_threads

MAX_PAIRS = 500_000
"""Maximum number of pairs per draw for acc_eq: about 4,700 segments of 15 systems, or 1,000 pooled outputs."""
SAMPLED = 100_000
"""Size of the random sample used for more pooled pairs."""
FEWEST = 1000
"""Draws that are made in any case before a test ends early."""
ENOUGH = 100
"""A test ends early when so many draws have reached the observed difference."""
CLEAR = 8.0
"""A test ends early when no draw has reached the observed difference and it is larger than so many standard deviations of the draws."""
STAGES = (FEWEST, 10_000)
"""Numbers of draws after which the tests that have ended are left out. All further draws are one stage, if they fit in memory."""


def agreement_with_ties(
    measure: Measure,
    metric: npt.ArrayLike,
    human: npt.ArrayLike,
    *,
    group: Group = "pooled",
    segments: Sequence[Hashable] = (),
    systems: Sequence[Hashable] = (),
) -> Statistic:
    """Return `agreement` with calibrated ε for acc_eq (ε = 0 on systems' means), the statistic that the tests compare."""
    m, h = vectors(metric, human)
    if measure == "acc_eq" and group != "system":
        return calibrate_ties_by(group, m, h, segments=segments, systems=systems).statistic
    return agreement(measure, m, h, group=group, segments=segments, systems=systems)


class PermBoth:
    """PERM-BOTH between many metrics, which share the random exchanges: p = (c + 1)/(draws + 1), c the draws with at least the
    observed difference.

    `scores` has the shape (n_metrics, n_outputs), `seen` the agreement of each metric (`agreement_with_ties`); higher is better.
    Undefined if an agreement is undefined. Draws with an undefined agreement are left out; if they are the majority, p is
    undefined. acc_eq uses the best ε of each draw. Above `MAX_PAIRS` pooled pairs, p uses a random sample of them, and the
    reason says so.

    The WMT metrics task (mt-metrics-eval) swaps the results of pairs of outputs instead. That assumes independent pairs: at
    p ≤ .05 it rejects for two equally good metrics in 28 % of cases with 15 systems (tests/core/stats/type_one_error.py).
    """

    def __init__(
        self,
        measure: Measure,
        human: Floats,
        scores: Floats,
        seen: Sequence[Statistic],
        *,
        group: Group = "pooled",
        segments: Sequence[Hashable] = (),
        systems: Sequence[Hashable] = (),
        seed: int,
        draws: int,
        early: bool = False,
    ) -> None:
        """Prepare the tests; with `early`, draws end early where the result is clear. Raises `UserError` for too many pairs of outputs."""
        self._measure, self._human, self._scores, self._seen = measure, human, scores, seen
        self._group, self._segments, self._systems = group, segments, systems
        self._seed, self._draws, self._early = seed, draws, early
        self._cells = cells(measure, len(human), group, segments)
        self._sampled = measure == "acc_eq" and group != "system" and self._cells > MAX_PAIRS
        if self._sampled and group == "segment":
            raise UserError(
                "there are too many pairs of outputs to calibrate ties in every draw",
                got=f"{self._cells:,} pairs within segments",
                expected=f"at most {MAX_PAIRS:,}",
                hint="Select fewer outputs",
            )

    def compare(self, pairs: Sequence[tuple[int, int]], progress: Progress = no_progress) -> list[Comparison]:
        """Return the comparison of each pair of metrics, by their places in the scores. `progress` gets the share that is done."""
        tests = [_Draws() for _ in pairs]
        defined = [s.value is not None for s in self._seen]
        open_ = [k for k, (a, b) in enumerate(pairs) if defined[a] and defined[b]]
        exchanges, values = self._exchanges() if open_ else (None, np.zeros(0))
        if exchanges is not None:
            height = SAMPLED if self._sampled else self._cells
            ends, made = [*STAGES, *range(0, self._draws, min(exchanges.most, self._draws))], 0
            for draws in sign_stages(len(self._human), self._seed, self._draws, height, ends):
                if not open_:
                    break
                exchanges.prepare(draws)
                left = len(open_) / len(pairs)
                before, after = self._share_of_work(made), self._share_of_work(made + len(draws))
                at = partial(_overall, left, before, after - before, progress)

                def work(chunk: list[int], draws: SignDraws = draws) -> None:
                    apart = [abs(float(values[a] - values[b])) for a, b in (pairs[k] for k in chunk)]
                    built = [exchanges.pair(*pairs[k]) for k in chunk]
                    for k, at, differences in zip(chunk, apart, _differences(built, draws, apart), strict=True):
                        tests[k].take(differences, at, self._draws if self._early else 0, clear=self._group != "system")

                size = exchanges.at_once
                in_threads(work, [open_[k : k + size] for k in range(0, len(open_), size)], at)
                made += len(draws)
                open_ = [k for k in open_ if not tests[k].ended]
        progress(1.0)
        return [self._comparison(a, b, test) for (a, b), test in zip(pairs, tests, strict=True)]

    def _share_of_work(self, draws: int) -> float:
        """Return the share of the work, in [0, 1], that the first draws of a test are expected to be.

        Where tests end early, the number that goes on falls about as 1 / draws, so each doubling of the draws takes the same time.
        """
        if not self._early:
            return draws / self._draws
        return math.log1p(draws / FEWEST) / math.log1p(self._draws / FEWEST)

    def _exchanges(self) -> tuple[Exchanges, Floats]:
        """Return how differences are computed in the draws, and the value of each metric without an exchange."""
        measure, group, human, n = self._measure, self._group, self._human, len(self._human)
        standard = np.stack([_z(of) for of in self._scores])
        values = np.array([s.value for s in self._seen], dtype=np.float64)  # None becomes NaN
        if self._sampled:
            i, j, _ = random_pairs_within([np.arange(n)], SAMPLED, self._seed)
            sign = np.sign(human[i] - human[j])
            values = np.array([tied_pairs(of[i] - of[j], sign).best() for of in self._scores], dtype=np.float64)
            return CalibratedTies(human, standard, i, j, np.full(SAMPLED, 1.0 / SAMPLED), rough=self._early), values
        if measure == "acc_eq" and group != "system":
            groups = (
                [r for r in rows_by(group_ids(self._segments)) if len(r) > 1] if group == "segment" else [np.arange(n)]
            )
            i, j, share = pairs_within(groups)
            return CalibratedTies(human, standard, i, j, share / len(groups), rough=self._early), values
        if group == "segment":
            return InSegments(measure, human, standard, self._segments), values
        if group == "system" and measure != "pearson":
            return SystemMeans(measure, human, standard, self._systems), values
        if measure in ("kendall", "spearman") and (n + 1) * (len(np.unique(human)) + 1) <= LARGEST_TABLE:
            return PooledOrder(measure, human, standard), values
        value = evaluator(measure, human, group=group, segments=self._segments, systems=self._systems)
        return EachDraw(standard, value, self._cells), values

    def _comparison(self, first: int, second: int, test: _Draws) -> Comparison:
        seen, n = [self._seen[first], self._seen[second]], len(self._human)
        for statistic in seen:
            if statistic.value is None:
                return Comparison(None, None, statistic.reason, n)
        difference = float(seen[0].value or 0.0) - float(seen[1].value or 0.0)
        if test.defined < test.made / 2 or not test.defined:
            reason = f"undefined on {test.made - test.defined} of {test.made} draws"
            return Comparison(difference, None, reason, n, test.defined)
        note = f"p uses a random sample of {SAMPLED:,} of {self._cells:,} pairs" if self._sampled else ""
        return Comparison(difference, test.p(self._draws), note, n, test.defined, test.ended)


@dataclass
class _Draws:
    """The draws of a test: all that were `made`, those with a `defined` difference, and those that `reached` the observed one."""

    made: int = 0
    defined: int = 0
    reached: int = 0
    ended: Ended = ""

    def take(self, differences: Floats, at: float, most: int, *, clear: bool) -> None:
        """Add the differences of further draws, and end if the result is clear before `most` draws. 0: never end early."""
        valid = ~np.isnan(differences)
        far = valid & (np.abs(differences) >= at - ROUNDING)
        reached, defined = self.reached + np.cumsum(far), self.defined + np.cumsum(valid)
        enough = (reached >= ENOUGH) & (defined >= FEWEST) & (self.made + 1 + np.arange(len(differences)) < most)
        last = int(enough.argmax()) if enough.any() else len(differences) - 1
        self.made, self.defined, self.reached = self.made + last + 1, int(defined[last]), int(reached[last])
        if enough.any():
            self.ended = "reached"
        elif (
            clear
            and self.made < most
            and not self.reached
            and self.defined >= FEWEST
            and at > CLEAR * float(differences[valid].std())
        ):
            self.ended = "clear"

    def p(self, draws: int) -> float:
        if self.ended == "reached" and self.defined > FEWEST:
            return self.reached / self.defined
        return (self.reached + 1) / ((draws if self.ended == "clear" else self.defined) + 1)


def _differences(pairs: Sequence[ExchangedPair], draws: SignDraws, apart: Sequence[float]) -> Iterator[Floats]:
    """Yield the differences of each pair of metrics in each draw; those that need sums over the outputs share one product."""
    linear = [pair.linear for pair in pairs if pair.linear is not None]
    sums = iter(draws.times(np.stack(linear, axis=1))) if linear else iter(())
    for pair, at in zip(pairs, apart, strict=True):
        yield pair.differences(draws, np.zeros(0) if pair.linear is None else next(sums), at)


def _overall(left: float, before: float, share: float, progress: Progress, done: float) -> None:
    """Report the progress: a share `left` of the tests goes on, and of their work the share `before` had been done."""
    progress(1 - left * (1 - before - done * share))


def _z(scores: Floats) -> Floats:
    spread = float(scores.std()) if scores.max() > scores.min() else 0.0
    return (scores - scores.mean()) / spread if spread > 0 else np.zeros(len(scores))


NO_VARIANCE = "the two metrics are equal up to scale"
FEWEST_OUTPUTS = 4


class Williams(NamedTuple):
    """`t` with n − 3 degrees of freedom and its `p`; both None, with a reason, if undefined."""

    t: float | None
    p: float | None
    reason: str = ""


def williams_t(r12: float, r13: float, r23: float, n: int) -> Williams:
    """Return t = (r12−r13)√((n−1)(1+r23)) / √(2K(n−1)/(n−3) + ((r12+r13)/2)²(1−r23)³), K = 1−r12²−r13²−r23²+2·r12·r13·r23.

    1 is the human score, 2 and 3 are the metrics; t > 0 if metric 2 correlates better. `p` is two-sided.
    Undefined below four outputs and if the metrics are equal up to scale.
    """
    if n < FEWEST_OUTPUTS:
        return Williams(None, None, f"at least four outputs are needed, there are {n}")
    k = max(0.0, 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23)
    below = 2 * k * (n - 1) / (n - 3) + ((r12 + r13) / 2) ** 2 * (1 - r23) ** 3
    if below <= 1e-14:
        return Williams(None, None, NO_VARIANCE)
    t = (r12 - r13) * np.sqrt((n - 1) * max(0.0, 1 + r23)) / np.sqrt(below)
    return Williams(float(t), float(2 * student.sf(abs(t), n - 3)))


def williams(first: npt.ArrayLike, second: npt.ArrayLike, human: npt.ArrayLike) -> Comparison:
    """Test whether two metrics' Pearson correlations with human scores differ, over outputs or systems.

    Williams's test (Williams 1959; Graham and Baldwin 2014) for two correlations with a common variable. It assumes independent
    outputs, but outputs of the same segment are not independent.
    """
    x, y, h = vectors(first, second, human)
    of_first, of_second, between = (agreement("pearson", *pair) for pair in ((x, h), (y, h), (x, y)))
    if of_first.value is None or of_second.value is None or between.value is None:
        reason = of_first.reason or of_second.reason or between.reason
        return Comparison(None, None, reason, len(h))
    test = williams_t(of_first.value, of_second.value, between.value, len(h))
    return Comparison(of_first.value - of_second.value, test.p, test.reason, len(h))
