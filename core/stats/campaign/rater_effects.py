"""Severity of raters: z-scores, and systems' means adjusted by a mixed model fitted by restricted maximum likelihood."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult, minimize
from scipy.stats import norm

from core.stats.bootstrap import LEVEL
from core.stats.campaign.campaign_scores import CampaignScore, checked, estimable, pair_kinds, repeats_averaged
from core.stats.correlation.correlation import group_ids
from core.stats.correlation.pairs import Floats, Ints
from core.stats.raters.rater_agreement import standardised

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
            variance_ratios = np.zeros(3)
            variance_ratios[free] = point**2
            return variance_ratios

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


FEWEST_RATERS = 3
FEW_RATERS = 10
SINGULAR = 1e-5


class StandardisedScores(NamedTuple):
    """`scores` with z-scores as values; scores of the raters in `left_out` (one score, or constant scores) are missing."""

    scores: tuple[CampaignScore, ...]
    left_out: tuple[str, ...]


class AdjustedMean(NamedTuple):
    """Adjusted mean of `system` over its `scores` scores, with standard error and 95 % CI, in the unit of the scores."""

    system: str
    mean: float
    error: float
    low: float
    high: float
    scores: int


class AdjustedDifference(NamedTuple):
    """Adjusted mean of `first` minus that of `second`, with standard error and 95 % CI."""

    first: str
    second: str
    difference: float
    error: float
    low: float
    high: float


class RaterSeverity(NamedTuple):
    """Predicted effect of a rater on a score: below 0 for severe raters. Shrunk towards 0, more so with few `scores`."""

    rater: str
    effect: float
    scores: int


class RaterEffects(NamedTuple):
    """Result of the mixed model; all tuples and shares are empty, with a reason, if it is undefined.

    `shares` are the shares of the variances of item, output, rater and residual in their sum, each in [0, 1]. The share of
    output is 0 where no output has two raters: it is then part of the residual. `note` says what limits the result.
    """

    means: tuple[AdjustedMean, ...]
    differences: tuple[AdjustedDifference, ...]
    raters: tuple[RaterSeverity, ...]
    shares: dict[str, float]
    variances: dict[str, float]
    reason: str = ""
    note: str = ""


def standardised_scores(scores: Iterable[CampaignScore]) -> StandardisedScores:
    """Return the z-scores per rater: (score − the rater's mean)/(the rater's standard deviation), over all the rater's scores.

    See `core.stats.raters.rater_agreement.standardised`. They remove severity and spread of a rater, but also a true difference in
    the quality of the outputs that different raters saw. They need raters with random or balanced outputs.
    """
    valid_scores = checked(scores)
    z = standardised([s.rater for s in valid_scores], [s.value for s in valid_scores])
    kept = tuple(s._replace(value=float(v)) for s, v in zip(valid_scores, z, strict=True) if not np.isnan(v))
    lost = [s.rater for s, v in zip(valid_scores, z, strict=True) if np.isnan(v)]
    return StandardisedScores(kept, tuple(dict.fromkeys(lost)))


def rater_effects(scores: Iterable[CampaignScore]) -> RaterEffects:
    """Fit score = system + item + output + rater + residual by REML, systems fixed, the rest random and normal.

    Henderson's mixed model equations (Searle, Casella and McCulloch 1992, chapter 7). The adjusted means are the generalised
    least-squares estimates of the systems, so systems with severe raters or hard items are compared fairly, and items with a score of only
    one system count too. The output effect (system × item) is fitted if some output has two raters; else it is
    part of the residual. Standard errors and normal intervals take the variances as known, so with few raters they are too narrow.
    Means include the uncertainty by the choice of items and raters; differences, only what does not cancel. Weights are not
    used: the model assumes that drawing does not depend on the scores.

    Undefined with fewer than three raters, if effects cannot be separated, if all scores of a system are equal, if
    nothing remains for the residual, and without convergence.
    """
    ratings = repeats_averaged(scores)
    y = np.array([r.value for r in ratings])
    systems = list(dict.fromkeys(r.system for r in ratings))
    raters = list(dict.fromkeys(r.rater for r in ratings))
    if len(raters) < FEWEST_RATERS:
        return _undefined(f"at least {FEWEST_RATERS} raters are needed, there are {len(raters)}")
    kinds = pair_kinds(ratings)
    columns = estimable(kinds)
    if columns is None:
        return _undefined("raters, systems and items overlap too little to tell their effects apart")
    if kinds.squares.max() <= 1e-20 * float((y**2).sum()):
        return _undefined("all scores of a system are equal")
    ids = [
        group_ids(names)
        for names in ([r.system for r in ratings], [r.item for r in ratings], [r.rater for r in ratings])
    ]
    try:
        fit = ScoreModel(y, *ids).fit(with_outputs=len(columns) == 4)
    except np.linalg.LinAlgError:
        return _undefined("the equations of the model are singular")
    total = float(fit.variances.sum())
    if not np.isfinite(total) or fit.variances[3] <= SINGULAR * total:
        return _undefined("the effects explain the scores completely: nothing remains for the residual")
    if not fit.converged:
        return _undefined("the estimates of the variances did not converge")
    return _result(fit, ratings, systems, raters, with_outputs=len(columns) == 4)


def _undefined(reason: str) -> RaterEffects:
    return RaterEffects((), (), (), {}, {}, reason)


def _result(
    fit: Fit, ratings: list[CampaignScore], systems: list[str], raters: list[str], *, with_outputs: bool
) -> RaterEffects:
    z = float(norm.isf((1 - LEVEL) / 2))
    per_system, per_rater = Counter(r.system for r in ratings), Counter(r.rater for r in ratings)
    means = []
    for i, name in enumerate(systems):
        mean, error = float(fit.beta[i]), float(np.sqrt(fit.covariance[i, i]))
        means.append(AdjustedMean(name, mean, error, mean - z * error, mean + z * error, per_system[name]))
    differences = []
    for i, j in combinations(range(len(systems)), 2):
        gap = float(fit.beta[i] - fit.beta[j])
        spread = fit.covariance[i, i] + fit.covariance[j, j] - 2 * fit.covariance[i, j]
        error = float(np.sqrt(max(0.0, float(spread))))
        differences.append(AdjustedDifference(systems[i], systems[j], gap, error, gap - z * error, gap + z * error))
    effects = zip(raters, fit.effects.tolist(), strict=True)
    variances = dict(zip(("item", "output", "rater", "residual"), fit.variances.tolist(), strict=True))
    notes = [] if with_outputs else ["no output was scored by two raters, so its effect is part of the residual"]
    notes += [
        f"the variance of {name} is estimated as 0"
        for name, variance in variances.items()
        if variance <= SINGULAR * sum(variances.values()) and (with_outputs or name != "output")
    ]
    if len(raters) < FEW_RATERS:
        notes.append(f"with {len(raters)} raters, intervals are too narrow")
    return RaterEffects(
        tuple(means),
        tuple(differences),
        tuple(RaterSeverity(name, effect, per_rater[name]) for name, effect in effects),
        {name: variance / sum(variances.values()) for name, variance in variances.items()},
        variances,
        "",
        "; ".join(notes),
    )
