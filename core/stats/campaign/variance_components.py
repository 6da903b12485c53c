"""Variance components of a pilot: items, system × item, raters, and the residual."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from core.stats.campaign.campaign_scores import CampaignScore, repeats_averaged
from core.stats.correlation.correlation import group_ids
from core.stats.correlation.pairs import Floats

NAMES = ("item", "interaction", "rater", "residual")
COMPONENTS = np.array([[0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 1], [1, 1, 0, 1], [1, 1, 1, 1]], dtype=np.float64)
"""Which variances differ within each kind of pair of scores, see `pair_kinds`."""
NOT_APART = "no output was scored by two raters, so the residual is part of the interaction"


class CampaignVariances(NamedTuple):
    """Variances, ≥ 0, in squared units of the scores; all None, with a reason, if undefined.

    `item`: difficulty of items. `interaction`: system × item, quality of one output. `rater`: severity. `residual`: the rest.
    `note` names variances that are estimated as 0 or that cannot be separated.
    """

    item: float | None
    interaction: float | None
    rater: float | None
    residual: float | None
    scores: int
    raters: int
    reason: str = ""
    note: str = ""


class PairKinds(NamedTuple):
    """Number of pairs of scores of each kind, and Σ (y − y′)²/2 over them, both of shape (5,)."""

    counts: Floats
    squares: Floats


def variances_of_pilot(scores: Iterable[CampaignScore]) -> CampaignVariances:
    """Return the variance components of y = system + item + system × item + rater + residual, systems fixed, the rest random.

    Estimated by symmetric differences (Koch 1968): half the mean squared difference of pairs of scores is the sum of the
    variances in which they differ (two raters of one output: rater + residual; …), and the variances are fitted to these
    means by non-negative least squares. For any pattern of missing scores; weights are not used. Bias of order 1/n_items, as systems'
    means are estimated. Few raters give a rough `rater` variance: with R raters its relative standard error is about √(2/(R − 1)).

    If no output has two raters, `interaction` is the sum of interaction and residual, and `residual` is 0, which `note` says.
    Undefined if too little is shared between raters, systems and items to separate the rest.
    """
    ratings = repeats_averaged(scores)
    n, n_raters = len(ratings), len({r.rater for r in ratings})

    def undefined(reason: str) -> CampaignVariances:
        return CampaignVariances(None, None, None, None, n, n_raters, reason)

    if n_raters < 2:
        return undefined(f"at least two raters are needed, there are {n_raters}")
    kinds = pair_kinds(ratings)
    columns = estimable(kinds)
    if columns is None:
        return undefined("raters, systems and items overlap too little to tell their variances apart")
    nonempty = kinds.counts > 0
    means = kinds.squares[nonempty] / kinds.counts[nonempty]
    if means.max() <= 0:
        return undefined("all scores of a system are equal")
    precision = np.sqrt(kinds.counts[nonempty]) / np.maximum(means, 1e-6 * means.max())
    fitted = np.zeros(4)
    fitted[columns], _ = nnls(COMPONENTS[nonempty][:, columns] * precision[:, None], means * precision)
    notes = [NOT_APART] if len(columns) < 4 else []
    notes += [f"the estimate of {NAMES[c]} is 0" for c in columns if fitted[c] == 0]
    item, interaction, rater, residual = map(float, fitted)
    return CampaignVariances(item, interaction, rater, residual, n, n_raters, "", "; ".join(notes))


def estimable(kinds: PairKinds) -> list[int] | None:
    """Return the columns of `COMPONENTS` that can be told apart: all, all but the residual's, or None."""
    design = COMPONENTS[kinds.counts > 0]
    if kinds.counts[0]:
        return [0, 1, 2, 3] if np.linalg.matrix_rank(design) == 4 else None
    return [0, 1, 2] if len(design) and np.linalg.matrix_rank(design[:, :3]) == 3 else None


def pair_kinds(ratings: list[CampaignScore]) -> PairKinds:
    """Return the pairs of each kind, from sums over groups: no pair is formed, so the time is linear in the scores.

    Kinds: two raters of one output; one rater, two systems, one item; the same with two raters; one rater, one system, two items;
    the same with two raters. `ratings` has at most one score per rater and output. Scores are centred per system; pairs of systems
    on one item are multiplied by n/(n − 1), n the items with two systems, for the estimation of the systems' means.
    """
    y = np.array([r.value for r in ratings])
    ids = group_ids([r.system for r in ratings])
    y = y - (np.bincount(ids, y) / np.bincount(ids))[ids] if len(y) else y

    def within(key: Callable[[CampaignScore], Hashable]) -> Floats:
        """Return the number of pairs within groups, and Σ (y − y′)²/2 = Σ_groups m·Σ(y − ȳ)²/2."""
        groups = group_ids([key(r) for r in ratings])
        m = np.bincount(groups)
        spread = np.bincount(groups, (y - (np.bincount(groups, y) / m)[groups]) ** 2)
        return np.array([(m * (m - 1) / 2).sum(), (m * spread).sum() / 2])

    output = within(lambda r: (r.system, r.item))
    item_rater = within(lambda r: (r.item, r.rater))
    item = within(lambda r: r.item)
    system_rater = within(lambda r: (r.system, r.rater))
    system = within(lambda r: r.system)
    kinds = np.stack([output, item_rater, item - output - item_rater, system_rater, system - output - system_rater])
    kinds[kinds[:, 0] < 0.5] = 0.0
    systems_per_item = Counter(i for i, _ in {(r.item, r.system) for r in ratings})
    n = sum(systems > 1 for systems in systems_per_item.values())
    kinds[1:3, 1] *= n / (n - 1) if n > 1 else 1.0
    return PairKinds(kinds[:, 0], np.maximum(kinds[:, 1], 0.0))
