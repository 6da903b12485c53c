"""Restricted maximum likelihood for scores with random effects of item, output and rater."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from core.stats.correlation.pairs import Floats, Ints

EVALUATIONS = 4000
LARGEST = 1000.0
STARTS = (0.7, 20.0)


class Fit(NamedTuple):
    """Fixed effects `beta`, shape (n_systems,), with `covariance`; variances of (item, output, rater, residual).

    `effects` are the predicted rater effects, shape (n_raters,).
    """

    beta: Floats
    covariance: Floats
    variances: Floats
    effects: Floats
    converged: bool


class _Parts(NamedTuple):
    """Products at given variance ratios, of the columns systems, raters and score, for V without raters."""

    products: Floats
    log_determinant: float


class ScoreModel:
    """y = system + item + output + rater + residual; all but systems random and independent (Bates et al. 2015, section 2).

    V = σ²·(I + λ_o·Z_o·Z_oᵀ + λ_i·Z_i·Z_iᵀ + λ_r·Z_r·Z_rᵀ). Outputs lie within items, so the first three terms are inverted block by
    block with the Sherman–Morrison formula, from sums per output and item, and raters are added with Woodbury's. One evaluation
    takes O(n_items·p²) with p = n_systems + n_raters + 1, and no matrix of n_scores² is formed.
    """

    def __init__(self, y: Floats, systems: Ints, items: Ints, raters: Ints) -> None:
        self.n, self.n_systems, self.n_raters = len(y), int(systems.max()) + 1, int(raters.max()) + 1
        self.centre = float(y.mean())
        columns = np.zeros((self.n, self.n_systems + self.n_raters + 1))
        rows = np.arange(self.n)
        columns[rows, systems] = 1
        columns[rows, self.n_systems + raters] = 1
        columns[:, -1] = y - self.centre
        self.plain = columns.T @ columns
        _, first, output = np.unique(items * self.n_systems + systems, return_index=True, return_inverse=True)
        sums = np.zeros((len(first), columns.shape[1]))
        np.add.at(sums, output, columns)
        item = items[first]
        self.sizes, size_ids, self.outputs_of_size = np.unique(
            np.bincount(output), return_inverse=True, return_counts=True
        )
        n_items = int(items.max()) + 1
        self.within_outputs, self.item_sums, self.item_counts = [], [], []
        for size in range(len(self.sizes)):
            own = size_ids == size
            self.within_outputs.append(sums[own].T @ sums[own])
            totals = np.zeros((n_items, columns.shape[1]))
            np.add.at(totals, item[own], sums[own])
            self.item_sums.append(totals)
            self.item_counts.append(np.bincount(item[own], minlength=n_items))

    def fit(self, *, with_outputs: bool) -> Fit:
        """Maximise the restricted likelihood over 0 ≤ √λ ≤ `LARGEST`, from several starts; λ_o is 0 unless `with_outputs`."""
        free = [0, 1, 2] if with_outputs else [0, 2]

        def ratios(point: Floats) -> Floats:
            found = np.zeros(3)
            found[free] = point**2
            return found

        def deviance(point: Floats) -> float:
            return self.deviance(ratios(point))

        best = min(
            (self._searched(deviance, np.full(len(free), start)) for start in STARTS), key=lambda r: float(r.fun)
        )
        at = ratios(best.x)
        beta, covariance, residual, effects = self._solved(at)
        return Fit(
            beta + self.centre,
            covariance,
            np.append(at, 1.0) * residual,
            effects,
            bool(best.success),
        )

    def _searched(self, deviance: Callable[[Floats], float], start: Floats) -> OptimizeResult:
        return minimize(
            deviance,
            start,
            method="Nelder-Mead",
            bounds=[(0.0, LARGEST)] * len(start),
            options={"xatol": 1e-7, "fatol": 1e-9, "maxiter": EVALUATIONS},
        )

    def deviance(self, ratios: Floats) -> float:
        """Return −2·log of the restricted likelihood at the ratios (λ_i, λ_o, λ_r), with σ² at its optimum."""
        parts, inner, middle = self._products(ratios)
        s = self.n_systems
        xx, xy, yy = _reduced(parts.products, inner, s)
        degrees = self.n - s
        rss = float(yy - xy @ np.linalg.solve(xx, xy))
        logs = parts.log_determinant + np.linalg.slogdet(middle)[1] + np.linalg.slogdet(xx)[1]
        return float(logs + degrees * (1 + np.log(2 * np.pi * max(rss, 1e-300) / degrees)))

    def _products(self, ratios: Floats) -> tuple[_Parts, Floats, Floats]:
        item, output, rater = ratios.tolist()
        shrunk = 1 + output * self.sizes
        products = self.plain.copy()
        totals, inside = np.zeros_like(self.item_sums[0]), np.zeros(len(self.item_counts[0]))
        for k, size in enumerate(self.sizes.tolist()):
            products -= output / shrunk[k] * self.within_outputs[k]
            totals += self.item_sums[k] / shrunk[k]
            inside += self.item_counts[k] * size / shrunk[k]
        products -= totals.T @ (totals * (item / (1 + item * inside))[:, None])
        log_determinant = float(self.outputs_of_size @ np.log(shrunk) + np.log1p(item * inside).sum())
        s = self.n_systems
        middle = np.eye(self.n_raters) + rater * products[s:-1, s:-1]
        return _Parts(products, log_determinant), rater * np.linalg.inv(middle), middle

    def _solved(self, ratios: Floats) -> tuple[Floats, Floats, float, Floats]:
        parts, inner, _ = self._products(ratios)
        s = self.n_systems
        xx, xy, yy = _reduced(parts.products, inner, s)
        beta = np.linalg.solve(xx, xy).astype(np.float64)
        residual = float(yy - xy @ beta) / (self.n - s)
        effects = inner @ (parts.products[s:-1, -1] - parts.products[s:-1, :s] @ beta)
        covariance = (residual * np.linalg.inv(xx)).astype(np.float64)
        return beta, covariance, residual, effects


def _reduced(products: Floats, inner: Floats, s: int) -> tuple[Floats, Floats, float]:
    """Return Xᵀ·V⁻¹·X, Xᵀ·V⁻¹·y and yᵀ·V⁻¹·y from the products without raters."""
    kept = [*range(s), -1]
    across = products[s:-1][:, kept]
    full = products[np.ix_(kept, kept)] - across.T @ inner @ across
    return full[:-1, :-1], full[:-1, -1], float(full[-1, -1])
