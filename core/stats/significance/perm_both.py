"""Test whether two metrics differ in their agreement with human scores: PERM-BOTH (Deutsch, Dror and Roth 2021, section 4.2).

Both metrics are z-scored over all outputs, then swapped output by output with probability ½. The null hypothesis is that each
output's two scores are exchangeable between the metrics. It does not cover a metric's bias for a whole system, so the test is
anti-conservative at system level (19 % rejections at p ≤ .05, in a simulation with biases as large as the differences between
systems).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

from core.errors import UserError
from core.stats.checks import vectors
from core.stats.correlation.batch import acc_eq_of_pairs, cells, evaluator
from core.stats.correlation.correlation import Group, Measure, Statistic, agreement
from core.stats.correlation.pairs import Floats, random_pairs_within
from core.stats.correlation.ties import calibrate_ties_by
from core.stats.significance.holm import ROUNDING, Comparison
from core.stats.significance.random_signs import random_signs

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
) -> Comparison:
    """Return the agreement of `first` minus that of `second`, and p = (c + 1)/(draws + 1), c the draws with at least that difference.

    All scores have the shape (n_outputs,), for the same outputs; higher is better. Undefined if an agreement is undefined. Draws
    with an undefined agreement are left out; if they are the majority, p is undefined. acc_eq uses the best ε of each draw.
    Above `MAX_PAIRS` pooled pairs, p uses a random sample of them, and `reason` says so.

    The WMT metrics task (mt-metrics-eval) swaps the results of pairs of outputs instead. That assumes independent pairs: at
    p ≤ .05 it rejects for two equally good metrics in 28 % of cases with 15 systems (tests/core/stats/type_one_error.py).
    """
    x, y, h = vectors(first, second, human)
    height = cells(measure, len(x), group, segments)
    many = measure == "acc_eq" and height > MAX_PAIRS
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
    as_far = np.abs(drawn) >= abs(at) - ROUNDING
    return Comparison(difference, float((as_far.sum() + 1) / (len(drawn) + 1)), note, len(h), len(drawn))


def _z(scores: Floats) -> Floats:
    spread = float(scores.std()) if scores.max() > scores.min() else 0.0
    return (scores - scores.mean()) / spread if spread > 0 else np.zeros(len(scores))
