"""Spearman's ρ of many draws at 201 λ, from the ranks of each draw in the order of the outputs at each λ.

With c_i the number of copies of all outputs up to i, the mid-rank of i is c_i − (w_i − 1)/2. So the sum of rank products is
Σ c_i·(w_i·r_i), with r the centred human ranks of the draw, minus a sum that does not depend on λ. All sums are exact.
"""

from __future__ import annotations

import numpy as np

from core.calibration.bootstrap_batch import STEPS, BootstrapBatch, DrawAgreements, GroupMembers
from core.calibration.terms import start_order
from core.progress import Progress
from core.stats.correlation.pairs import Floats, Ints
from core.stats.threads import in_threads

DRAWS_AT_ONCE = 16


def by_ranks(d: BootstrapBatch, places: list[Ints], progress: Progress) -> DrawAgreements:
    """Return the agreement of each draw along λ, and at the three `places`, given as score ranks (n,)."""
    start, each = start_order(d.exp, d.imp), np.arange(len(d.unit))
    distinct = np.unique(start, return_index=True)[1]
    exp, imp = d.exp[distinct], d.imp[distinct]
    orders = [np.lexsort((imp, exp, k * exp + (STEPS - k) * imp))[::-1] for k in range(STEPS + 1)]
    same_human, same_start, *same = (GroupMembers(ranks, each) for ranks in (d.human, start, *places))

    def count(some: slice) -> Floats:
        w = d.weights[d.unit, some]
        size, total = same_human.sums(w), w.sum(0)
        ranked = w * same_human.spread(np.cumsum(size, axis=0) - size / 2 - total / 2)
        human = total**3 - (size**3).sum(0)

        def value(products: Floats, size: Floats) -> Floats:
            below = np.sqrt(human * (total**3 - (size**3).sum(0))) / 12
            return np.where(below > 1e-9, products / np.where(below > 1e-9, below, 1), np.nan)

        size, sums = same_start.sums(w), same_start.sums(ranked)
        products = np.array([np.einsum("gd,gd->d", sums[o], np.cumsum(size[o], axis=0)) for o in orders])
        found = list(value(products - np.einsum("gd,gd->d", sums, size) / 2, size))
        for members in same:
            size, sums = members.sums(w), members.sums(ranked)
            found.append(value(np.einsum("gd,gd->d", sums, np.cumsum(size, axis=0) - size / 2), size))
        return np.array(found)

    values = np.concatenate(in_threads(count, d.parts(DRAWS_AT_ONCE), progress), axis=1)
    return DrawAgreements(values[: STEPS + 1].T, *values[STEPS + 1 :])
