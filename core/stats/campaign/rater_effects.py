"""Severity of raters: z-scores, and systems' means adjusted by a mixed model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from core.stats.bootstrap import LEVEL
from core.stats.campaign.campaign_scores import CampaignScore, checked, repeats_averaged
from core.stats.campaign.reml import Fit, ScoreModel
from core.stats.campaign.variance_components import estimable, pair_kinds
from core.stats.correlation.correlation import group_ids
from core.stats.raters.rater_scale import standardised

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

    See `core.stats.raters.rater_scale.standardised`. They remove severity and spread of a rater, but also a true difference in
    the quality of the outputs that different raters saw. They need raters with random or balanced outputs.
    """
    found = checked(scores)
    z = standardised([s.rater for s in found], [s.value for s in found])
    kept = tuple(s._replace(value=float(v)) for s, v in zip(found, z, strict=True) if not np.isnan(v))
    lost = [s.rater for s, v in zip(found, z, strict=True) if np.isnan(v)]
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
