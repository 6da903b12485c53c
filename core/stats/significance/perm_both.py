"""Test whether two metrics differ in their agreement with human scores: PERM-BOTH (Deutsch, Dror and Roth 2021, section 4.2).

Both metrics are z-scored over all outputs, then swapped output by output with probability ½. The null hypothesis is that each
output's two scores are exchangeable between the metrics. It does not cover a metric's bias for a whole system, so the test is
anti-conservative at system level (19 % rejections at p ≤ .05, in a simulation with biases as large as the differences between
systems).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from core.errors import UserError
from core.stats.checks import vectors
from core.stats.correlation.batch import acc_eq_of_pairs, cells, evaluator
from core.stats.correlation.correlation import Group, Measure, Statistic, agreement
from core.stats.correlation.pairs import Floats, random_pairs_within
from core.stats.correlation.ties import blocks_by_size, calibrate_ties, calibrate_ties_by
from core.stats.significance.holm import ROUNDING, Alternative, Comparison
from core.stats.significance.random_signs import random_signs

Swap = Literal["outputs", "pairs"]
MAX_PAIRS = 500_000
"""Maximum number of pairs per draw for acc_eq: about 4,700 segments of 15 systems, or 1,000 pooled outputs."""
SAMPLED = 100_000
"""Size of the random sample used for more pooled pairs."""


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


def perm_both(
    measure: Measure,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    human: npt.ArrayLike,
    *,
    group: Group = "pooled",
    segments: Sequence[Hashable] = (),
    systems: Sequence[Hashable] = (),
    seed: int,
    draws: int = 1000,
    alternative: Alternative = "two-sided",
    swap: Swap = "outputs",
) -> Comparison:
    """Return the agreement of `first` minus that of `second`, and p = (c + 1)/(draws + 1), c the draws with at least that difference.

    All scores have the shape (n_outputs,), for the same outputs; higher is better. Undefined if an agreement is undefined. Draws
    with an undefined agreement are left out; if they are the majority, p is undefined. acc_eq uses the best ε of each draw.
    Above `MAX_PAIRS` pooled pairs, p uses a random sample of them, and `reason` says so.

    swap="pairs" is only for comparison with the WMT metrics task (acc_eq by segment; mt-metrics-eval's test): it keeps both ε
    and swaps the results of pairs. It is fast, but assumes independent pairs and is therefore anti-conservative: at p ≤ .05 it
    rejects for two equally good metrics in 28 % of cases with 15 systems, 7 % with 6 (tests/core/stats/type_one_error.py).
    """
    x, y, h = vectors(first, second, human)
    height = cells(measure, len(x), group, segments)
    many = measure == "acc_eq" and swap == "outputs" and height > MAX_PAIRS
    if many and group == "segment":
        raise UserError(
            "there are too many pairs of outputs to calibrate ties in every draw",
            got=f"{height:,} pairs within segments",
            expected=f"at most {MAX_PAIRS:,}",
            hint="Select fewer outputs",
        )
    seen = [agreement_with_ties(measure, m, h, group=group, segments=segments, systems=systems) for m in (x, y)]
    for statistic in seen:
        if statistic.value is None:
            return Comparison(None, None, statistic.reason, len(h))
    difference = float(seen[0].value or 0.0) - float(seen[1].value or 0.0)
    at, note = difference, ""
    if swap == "pairs":
        if measure != "acc_eq" or group != "segment":
            raise UserError("pairs are swapped for acc_eq within segments only", got=f"{measure}, {group}")
        drawn = _pair_swaps(x, y, h, segments, seed, draws)
    else:
        value = evaluator(measure, h, group=group, segments=segments, systems=systems)
        if many:
            note = f"p uses a random sample of {SAMPLED:,} of {height:,} pairs"
            height, value = SAMPLED, acc_eq_of_pairs(h, *random_pairs_within([np.arange(len(h))], SAMPLED, seed)[:2])
            at = float(value(x[None])[0] - value(y[None])[0])
        middle, half = (_z(x) + _z(y)) / 2, (_z(x) - _z(y)) / 2
        drawn = np.concatenate(
            [value(middle + s * half) - value(middle - s * half) for s in random_signs(len(h), seed, draws, height)]
        )
    drawn = drawn[~np.isnan(drawn)]
    if len(drawn) < draws / 2 or not len(drawn):
        return Comparison(difference, None, f"undefined on {draws - len(drawn)} of {draws} draws", len(h), len(drawn))
    as_far = drawn >= at - ROUNDING if alternative == "greater" else np.abs(drawn) >= abs(at) - ROUNDING
    return Comparison(difference, float((as_far.sum() + 1) / (len(drawn) + 1)), note, len(h), len(drawn))


def _z(scores: Floats) -> Floats:
    spread = float(scores.std()) if scores.max() > scores.min() else 0.0
    return (scores - scores.mean()) / spread if spread > 0 else np.zeros(len(scores))


def _pair_swaps(x: Floats, y: Floats, human: Floats, segments: Sequence[Hashable], seed: int, draws: int) -> Floats:
    """Return the differences of acc_eq when each pair's two results are swapped with probability ½.

    Only pairs with different results count, each by ± its share, so the sum over groups of one size is a binomial draw.
    """
    rng = np.random.default_rng(seed)
    blocks = blocks_by_size(segments, len(human))
    n_groups = sum(len(b) for b in blocks)
    epsilons = [calibrate_ties(m, human, segments).epsilon or 0.0 for m in (x, y)]
    total = np.zeros(draws)
    for rows in blocks:
        i, j = np.triu_indices(rows.shape[1], 1)
        human_sign = np.sign(human[rows[:, i]] - human[rows[:, j]])
        right = []
        for metric, epsilon in zip((x, y), epsilons, strict=True):
            gap = metric[rows[:, i]] - metric[rows[:, j]]
            right.append(np.where(np.abs(gap) <= epsilon, 0, np.sign(gap)) == human_sign)
        differing = int((right[0] != right[1]).sum())
        total += (2.0 * rng.binomial(differing, 0.5, draws) - differing) / (len(i) * n_groups)
    return total
