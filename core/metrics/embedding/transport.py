"""Exact earth mover's distance between two sets of weighted points."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

AT_ONCE = 1024  # cells; larger problems are solved by column generation
NEAREST = 6  # cells per row and column that column generation starts with
TOLERANCE = 1e-9


def earth_movers_distance(supply: Array, demand: Array, cost: Array) -> float:
    """Return min ⟨F, cost⟩ over F ≥ 0 with row sums `supply` (n,) and column sums `demand` (m,), for `cost` (n, m).

    Both sets of weights are scaled to sum to 1; points with weight 0 are left out. Raises ValueError if a side has no
    weight.
    """
    rows, columns = supply > 0, demand > 0
    if not rows.any() or not columns.any():
        raise ValueError("all weights are 0")
    a, b, c = supply[rows] / supply[rows].sum(), demand[columns] / demand[columns].sum(), cost[np.ix_(rows, columns)]
    return float(a @ c @ b) if 1 in c.shape else _least(a, b, c)


def _least(a: Array, b: Array, c: Array) -> float:
    """Return the minimum by column generation: start with a few cells, and add cells of negative reduced cost until none is left."""
    ways = np.ones(c.shape, dtype=bool) if c.size <= AT_ONCE else _cheapest(c) | _corner(a, b)
    while True:
        least, reduced = _solved(a, b, c, ways)
        better = reduced < -TOLERANCE
        if not better.any():
            return least
        ways |= better & _cheapest(reduced)


def _cheapest(cost: Array) -> Flags:
    """Return a mask (n, m) of the cheapest cells in each row and column."""
    out = np.zeros(cost.shape, dtype=bool)
    for axis, size in enumerate(cost.shape):
        near = np.argpartition(cost, min(NEAREST, size) - 1, axis=axis)
        np.put_along_axis(out, np.take(near, range(min(NEAREST, size)), axis=axis), True, axis=axis)
    return out


def _corner(a: Array, b: Array) -> Flags:
    """Return a mask (n, m) of cells that allow a feasible solution (north-west corner rule)."""
    steps = np.sort(np.concatenate([np.cumsum(a), np.cumsum(b)]))
    row = np.minimum(np.searchsorted(np.cumsum(a), steps), len(a) - 1)
    column = np.minimum(np.searchsorted(np.cumsum(b), steps), len(b) - 1)
    out = np.zeros((len(a), len(b)), dtype=bool)
    out[row, column] = True
    return out


def _solved(a: Array, b: Array, c: Array, ways: Flags) -> tuple[float, Array]:
    """Return the minimal cost over some cells, and the reduced costs (n, m) of all cells, with the dual simplex of HiGHS."""
    from scipy import optimize
    from scipy.sparse import csc_array

    linprog: Any = optimize.linprog  # its stubs lack sparse constraints
    n = len(a)
    row, column = np.nonzero(ways)
    cells, kept = np.arange(len(row)), column < len(b) - 1  # the last column's sum follows from the others
    entries = (np.concatenate([row, n + column[kept]]), np.concatenate([cells, cells[kept]]))
    constraints = csc_array((np.ones(len(entries[0])), entries), shape=(n + len(b) - 1, len(row)))
    sums = np.append(a, b[:-1])
    found = linprog(c[ways], A_eq=constraints, b_eq=sums, method="highs-ds", options={"presolve": False})
    if found.status != 0:
        raise RuntimeError(f"the solver failed on the transport problem: {found.message}")
    duals = np.append(found.eqlin.marginals, 0)
    return float(found.fun), c - duals[:n, None] - duals[None, n:]
