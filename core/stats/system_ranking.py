"""A metric's ranking of systems compared with the human one: soft pairwise accuracy and rank bias.

Higher scores must be better. Tables have the shape (n_systems, n_segments). Pairwise accuracy (Kocmi et al. 2021) is
`core.stats.correlation.correlation.system_agreement` with acc_eq.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.progress import Progress, no_progress
from core.stats.bootstrap import percentiles
from core.stats.correlation.correlation import Statistic, agreement, group_ids, rows_by
from core.stats.correlation.kernel import mid_ranks
from core.stats.correlation.pairs import Floats, Ints, tables, vectors
from core.stats.significance.random_signs import at_least, random_signs
from core.stats.threads import in_threads

TOO_FEW_SYSTEMS = "at least two systems are needed"
TOO_FEW_SEGMENTS = "at least two segments that every system translated are needed"
PERMUTATIONS = 500
"""Of each bootstrap draw."""


class SystemTable(NamedTuple):
    """`rows[i, j]` is the index of the output of system i for segment j; both are in the order of their first output."""

    systems: tuple[Hashable, ...]
    rows: Ints

    def of(self, scores: Sequence[float] | Floats) -> Floats:
        """Return scores of the same outputs as a table of shape (n_systems, n_segments)."""
        (values,) = vectors(scores)
        return values[self.rows]


def complete_table(systems: Sequence[Hashable], segments: Sequence[Hashable]) -> SystemTable:
    """Return the table of segments with an output of every system. Raises `ValueError` for two outputs of a system for one segment."""
    of_system, of_segment = group_ids(systems), group_ids(segments)
    n_systems, n_segments = len(set(systems)), len(set(segments))
    if len(of_system) != len(of_segment):
        raise ValueError(f"{len(of_system)} systems and {len(of_segment)} segments for the same outputs")
    rows = np.full((n_systems, n_segments), -1, dtype=np.int64)
    rows[of_system, of_segment] = np.arange(len(of_system))
    if (rows >= 0).sum() != len(of_system):
        raise ValueError("a system has two outputs for one segment")
    whole = (rows >= 0).all(0) if n_systems else np.zeros(n_segments, dtype=bool)
    return SystemTable(tuple(dict.fromkeys(systems)), rows[:, whole])


def soft_pairwise_accuracy(metric: npt.ArrayLike, human: npt.ArrayLike, *, seed: int, draws: int = 1000) -> Statistic:
    """Return 1 − mean over the pairs i < j of |p_human(i, j) − p_metric(i, j)| (Thompson et al. 2024, section 3).

    p(i, j) is the one-sided p-value of "system i is better than j" from a paired permutation test; human and metric scores
    share the permutations. `n` counts systems. p counts draws equal to the observed difference, as in the paper's code, so
    p(i, j) + p(j, i) ≠ 1 for two systems with many equal scores, and their order in the table matters a little.

    With 1,000 draws, the standard deviation over seeds is .001 to .002. google-research/mt-metrics-eval always uses seed 4 and
    single precision, which loses some ties with the observed difference; its value differs by about as much. Undefined if
    all systems have equal scores on every segment.
    """
    m, h = tables(metric, human)
    if min(m.shape) < 2:
        return Statistic(None, TOO_FEW_SYSTEMS if len(m) < 2 else TOO_FEW_SEGMENTS, len(m))
    for name, table in (("metric", m), ("human", h)):
        if (table.max(0) == table.min(0)).all():
            return Statistic(None, f"all systems have equal {name} scores on every segment", len(m))
    counts = np.zeros((2, len(m), len(m)))
    for signs in random_signs(m.shape[1], seed, draws):
        counts += [at_least(m, signs), at_least(h, signs)]
    pairs = np.triu_indices(len(m), 1)
    p_metric, p_human = (counts / draws)[:, *pairs]
    return Statistic(float(1 - np.abs(p_human - p_metric).mean()), "", len(m))


def soft_pairwise_intervals(
    metrics: Mapping[str, npt.ArrayLike],
    human: npt.ArrayLike,
    *,
    units: Sequence[Hashable] = (),
    seed: int,
    draws: int = 200,
    progress: Progress = no_progress,
) -> dict[str, tuple[float, float]]:
    """Return bootstrap intervals of soft pairwise accuracy by metric; empty below two systems or two units.

    Tables have the shape (n_systems, n_segments); `units` names the unit of each segment. Each draw repeats the permutation
    test on the drawn segments for the human scores and all metrics.
    """
    human_table, *of_metrics = tables(human, *metrics.values())
    groups = rows_by(group_ids(units) if len(units) else np.arange(human_table.shape[1]))
    pairs = np.triu_indices(len(human_table), 1)
    if len(human_table) < 2 or len(groups) < 2:
        return {}
    rng = np.random.default_rng(seed)
    resampled = [
        (np.concatenate([groups[g] for g in rng.integers(0, len(groups), len(groups))]), int(rng.integers(2**31)))
        for _ in range(draws)
    ]

    def once(resample: tuple[Ints, int]) -> Floats:
        drawn, of_signs = resample
        counts = np.zeros((1 + len(of_metrics), len(human_table), len(human_table)))
        for signs in random_signs(len(drawn), of_signs, PERMUTATIONS):
            counts += [at_least(table[:, drawn], signs) for table in (human_table, *of_metrics)]
        p = counts[:, *pairs] / PERMUTATIONS
        accuracy: Floats = 1 - np.abs(p[1:] - p[0]).mean(1)
        return accuracy

    accuracies = np.stack(in_threads(once, resampled, progress))
    return {name: percentiles(accuracies[:, i]) for i, name in enumerate(metrics)}


class RankBias(NamedTuple):
    """Differences of a metric's ranking of systems from the human ranking (Amplayo et al. 2022, §7); rank 1 is the best.

    `differences[i]` = metric rank − human rank of system i (Figure 4); below 0, the metric favours the system. They sum to 0.
    `deviation` is their population standard deviation, σ(Rank Diff) of Table 4, lower is better, 0 for the human ranking;
    `mean_absolute` the mean of their absolute values; `accuracy` the share of system pairs with the human order, in [0, 1].
    With fewer than two systems, or equal scores on one side, all are None or empty, with the `reason`.
    """

    human: tuple[float, ...]
    metric: tuple[float, ...]
    differences: tuple[float, ...]
    deviation: float | None
    mean_absolute: float | None
    accuracy: float | None
    reason: str = ""


def ranks(scores: npt.ArrayLike) -> Floats:
    """Return ranks, 1 for the highest score and the mean rank for ties; shape (n,)."""
    (values,) = vectors(scores)
    return mid_ranks(-values)


def rank_bias(metric: npt.ArrayLike, human: npt.ArrayLike) -> RankBias:
    """Compare a metric's system scores with the human ones. Raises `ValueError` for different shapes."""
    m, h = vectors(metric, human)
    reason = TOO_FEW_SYSTEMS if len(m) < 2 else ""
    for name, values in (("metric", m), ("human", h)):
        if not reason and values.min() == values.max():
            reason = f"all {name} scores of the systems are equal"
    if reason:
        return RankBias((), (), (), None, None, None, reason)
    of_metric, of_human = ranks(m), ranks(h)
    apart = of_metric - of_human
    return RankBias(
        tuple(of_human.tolist()),
        tuple(of_metric.tolist()),
        tuple(apart.tolist()),
        float(np.sqrt((apart**2).mean())),  # their mean is 0
        float(np.abs(apart).mean()),
        agreement("acc_eq", m, h).value,
    )
