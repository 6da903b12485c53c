"""Tie calibration for acc_eq (Deutsch, Foster and Freitag 2023, section 5): the ε below which a metric calls a tie."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from core.stats.correlation import Statistic, group_ids, rows_by
from core.stats.pairs import Floats


class TieCalibration(NamedTuple):
    """The best acc_eq, the smallest ε that reaches it, and the chance floor max(t, (1−t)/2) with t the share of human ties:
    what a random continuous metric gets after calibration."""

    statistic: Statistic
    epsilon: float | None
    chance: float | None


def calibrate_ties(
    metric: Sequence[float] | Floats, human: Sequence[float] | Floats, segments: Sequence[Hashable] = ()
) -> TieCalibration:
    """The ε among {0} and all |Δ metric| that maximises acc_eq, averaged over `segments` (pooled without them).

    Exact: accuracy is linear in the pairs, so one sort of all |Δ| and a running sum visit every ε. O(pairs) memory.
    """
    m, h = np.asarray(metric, dtype=np.float64), np.asarray(human, dtype=np.float64)
    groups = rows_by(group_ids(segments)) if len(segments) else [np.arange(len(m))]
    groups = [rows for rows in groups if len(rows) > 1]
    if not groups:
        return TieCalibration(Statistic(None, "at least two outputs of a segment are needed", len(m)), None, None)
    gaps, gains, start, ties = [], [], 0.0, 0.0
    for rows in groups:
        i, j = np.triu_indices(len(rows), 1)
        dm, human_sign = m[rows[i]] - m[rows[j]], np.sign(h[rows[i]] - h[rows[j]])
        share = 1.0 / (len(i) * len(groups))
        start += share * float((np.sign(dm) == human_sign).sum())
        ties += share * float((human_sign == 0).sum())
        apart = dm != 0  # a pair tied already stays as it is
        gaps.append(np.abs(dm[apart]))
        gains.append(share * ((human_sign == 0).astype(float) - (np.sign(dm) == human_sign))[apart])
    gap, gain = np.concatenate(gaps), np.concatenate(gains)
    order = np.argsort(gap, kind="stable")
    gap, reached = gap[order], start + np.cumsum(gain[order])
    last = np.append(gap[1:] != gap[:-1], True) if len(gap) else np.zeros(0, dtype=bool)
    epsilons, values = np.concatenate(([0.0], gap[last])), np.concatenate(([start], reached[last]))
    best = int(np.argmax(values >= values.max() - 1e-12))
    statistic = Statistic(float(values[best]), "", len(m), len(groups))
    return TieCalibration(statistic, float(epsilons[best]), max(ties, (1 - ties) / 2))
