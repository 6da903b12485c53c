"""Spearman's ρ of many draws at 201 λ: the ranks of each draw, in the order of the outputs at each λ.

With c_i the copies of all outputs up to i, the mid-rank of i is c_i − (w_i − 1)/2. So at every λ the sum of rank products is
Σ c_i·(w_i·r_i), with r the centred human ranks of the draw, less a sum that is the same at every λ. All sums are exact.
"""

from __future__ import annotations

import numpy as np

from core.calibration.drawn import STEPS, Agreements, Drawn, Members, Tell
from core.calibration.scan import in_threads
from core.calibration.terms import start_order
from core.stats.pairs import Floats, Ints

DRAWS_AT_ONCE = 16


def by_ranks(d: Drawn, places: list[Ints], tell: Tell) -> Agreements:
    """The agreement of each draw along λ, and at the three `places`, scores as ranks (n,)."""
    start, each = start_order(d.exp, d.imp), np.arange(len(d.unit))
    distinct = np.unique(start, return_index=True)[1]
    exp, imp = d.exp[distinct], d.imp[distinct]
    orders = [np.lexsort((imp, exp, k * exp + (STEPS - k) * imp))[::-1] for k in range(STEPS + 1)]
    same_human, same_start, *same = (Members(ranks, each) for ranks in (d.human, start, *places))

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

    values = np.concatenate(in_threads(count, d.parts(DRAWS_AT_ONCE), tell), axis=1)
    return Agreements(values[: STEPS + 1].T, *values[STEPS + 1 :])
