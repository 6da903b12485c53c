"""Every metric against every other: agreements, PERM-BOTH with Holm's correction, and ranks."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.stats.clusters import Rule, rank_clusters, wins_of
from core.stats.correlation import Group, Measure, Statistic, too_few_groups
from core.stats.perm_both import Swap, agreement_with_ties, perm_both
from core.stats.significance import Comparison, holm


class MetricPair(NamedTuple):
    """Metrics by their place in `MetricMatrix.names`; `adjusted` is Holm's p over all pairs."""

    first: int
    second: int
    comparison: Comparison
    adjusted: float | None


class MetricMatrix(NamedTuple):
    """`names` from the best agreement to the worst, then those averaged over too few segments, undefined ones last; `rank` is
    None for both. Each tested pair stands once, the better metric first."""

    names: tuple[str, ...]
    agreements: tuple[Statistic, ...]
    ranks: tuple[int | None, ...]
    pairs: tuple[MetricPair, ...]

    def adjusted(self) -> npt.NDArray[np.float64]:
        """Holm's p-values as a symmetric table for a plot, NaN on the diagonal and where undefined."""
        table = np.full((len(self.names), len(self.names)), np.nan)
        for pair in self.pairs:
            if pair.adjusted is not None:
                table[pair.first, pair.second] = table[pair.second, pair.first] = pair.adjusted
        return table


def significance_matrix(
    measure: Measure,
    metrics: Mapping[str, npt.ArrayLike],
    human: npt.ArrayLike,
    *,
    group: Group = "pooled",
    segments: Sequence[Hashable] = (),
    systems: Sequence[Hashable] = (),
    seed: int,
    draws: int = 1000,
    alpha: float = 0.05,
    swap: Swap = "outputs",
    rule: Rule = "first_loss",
) -> MetricMatrix:
    """All pairs of `metrics`, each name with its scores of the same outputs as `human`, higher is better.

    Two-sided p-values; with m metrics the smallest adjusted p there can be is m(m−1)/2/(draws + 1), so take enough draws.
    """
    found = {
        name: agreement_with_ties(measure, scores, human, group=group, segments=segments, systems=systems)
        for name, scores in metrics.items()
    }

    def place(name: str) -> tuple[bool, bool, float]:
        of = found[name]
        few = group == "segment" and too_few_groups(of.groups, of.groups + of.undefined)
        return of.value is None, few, -(of.value or 0.0)

    names = sorted(found, key=place)
    values = [found[name].value or 0.0 for name in names if place(name)[:2] == (False, False)]
    barred = {name for name in names if place(name)[:2] == (False, True)}
    pairs = list(combinations(range(len(names)), 2))
    tests = [
        Comparison(None, None, "averaged over too few segments")
        if barred & {names[i], names[j]}
        else perm_both(
            measure,
            metrics[names[i]],
            metrics[names[j]],
            human,
            group=group,
            segments=segments,
            systems=systems,
            seed=seed,
            draws=draws,
            swap=swap,
        )
        for i, j in pairs
    ]
    adjusted = holm([t.p for t in tests])
    wins = wins_of(len(names), pairs, [t.difference for t in tests], adjusted, alpha)[: len(values), : len(values)]
    ranks = [*rank_clusters(values, wins, rule), *[None] * (len(names) - len(values))]
    rows = [MetricPair(i, j, t, p) for (i, j), t, p in zip(pairs, tests, adjusted, strict=True)]
    return MetricMatrix(tuple(names), tuple(found[n] for n in names), tuple(ranks), tuple(rows))
