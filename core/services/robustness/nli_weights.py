"""Evaluate weights and pooling strategies (Chen and Eger 2023, sections 5 and 6) from existing scores.

Quality is the agreement with human scores on outputs, robustness the accuracy on adversarial cases. C = w·N + (1 − w)·M is
linear in w, so two outputs change their order at one w only. Both are step functions of w, and the best w is found exactly
by the search for λ with w = λ/(1 + λ), Dist_exp = −N and Dist_imp = −M.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.calibration.calibrate import Calibration, CalibrationPoint, calibrate
from core.calibration.curve import omega
from core.data import OutputKey
from core.errors import UserError
from core.metrics.entailment.nli import STRATEGIES, pooled
from core.progress import Progress, no_progress
from core.services.robustness.adversarial import accuracy
from core.stats.bootstrap import Interval, mean_interval
from core.stats.correlation.correlation import Group, Measure
from core.stats.correlation.pairs import Floats
from core.stats.significance.perm_both import agreement_with_ties

WEIGHTS: tuple[float, ...] = tuple(i / 10 for i in range(11))
"""The weights in the paper's figures."""
Values = Mapping[tuple[str, str], float]
UNDEFINED = "undefined at every λ"
"""Part of the message of `calibrate` if agreement is undefined at every λ; here it is rephrased for w."""


class OutputsOfBoth(NamedTuple):
    """Outputs with both metrics' scaled scores and human scores, each of shape (n,); higher is better."""

    keys: tuple[OutputKey, ...]
    nli: Floats
    other: Floats
    human: Floats


class Attacked(NamedTuple):
    """Adversarial cases with both metrics' scaled scores of the good and the bad text, each of shape (n,); NaN if missing."""

    phenomena: tuple[str, ...]
    nli_good: Floats
    nli_bad: Floats
    other_good: Floats
    other_bad: Floats

    def margins(self) -> tuple[Floats, Floats]:
        """Return how much better the good text is by the NLI metric and by the other one, shape (n,) each.

        Both are NaN if one is missing, so that all weights are evaluated on the same cases.
        """
        nli, other = self.nli_good - self.nli_bad, self.other_good - self.other_bad
        lost = np.isnan(nli + other)
        return np.where(lost, np.nan, nli), np.where(lost, np.nan, other)

    @property
    def compared(self) -> int:
        """Return the number of cases both metrics have scored."""
        return int(np.isfinite(self.margins()[0]).sum())


class PathPoint(NamedTuple):
    """A combination at weight w: agreement with human scores and adversarial accuracy, None if undefined."""

    w: float
    quality: float | None
    robustness: float | None


class Weight(NamedTuple):
    """The weight with the best agreement; all w from `low` to `high` have the same. `ci` is its bootstrap 95 % CI.

    `held_out` is the cross-validated agreement over `left_out` (documents, or segments with fewer than four documents). `at`
    is the agreement of the other metric alone (w = 0) and of the NLI metric alone (w = 1). `robustness` is the adversarial
    accuracy at w, None without cases. `curve` has the agreement from each w to the next.
    """

    w: float
    agreement: float
    low: float
    high: float
    ci: tuple[float, float] | None
    held_out: float | None
    at: tuple[float | None, float | None]
    robustness: float | None
    notes: tuple[str, ...]
    curve: tuple[tuple[float, float | None], ...] = ()
    left_out: str = "documents"


class Improvement(NamedTuple):
    """The relative improvement of metrics by a weight: the mean over metrics with its 95 % CI."""

    w: float
    what: str
    change: Interval


class Pooled(NamedTuple):
    """Quality and robustness of one pooling strategy."""

    direction: str
    formula: str
    quality: float | None
    robustness: float | None


class LeftOut(NamedTuple):
    """A dataset under the strategy that wins most often on the others, and the best strategy on the dataset itself."""

    dataset: str
    direction: str
    formula: str
    wins: int
    value: float
    best: tuple[str, str]
    best_value: float


def path(
    judged: OutputsOfBoth | None,
    attacked: Attacked | None,
    *,
    measure: Measure = "pearson",
    group: Group = "pooled",
    weights: Sequence[float] = WEIGHTS,
) -> list[PathPoint]:
    """Return quality and robustness from the other metric (w = 0) to the NLI metric (w = 1), as in Figure 2."""
    points = []
    for w in weights:
        quality = None
        if judged is not None:
            mixed = w * judged.nli + (1 - w) * judged.other
            quality = _quality(mixed, judged.human, judged.keys, measure, group)
        points.append(PathPoint(w, quality, None if attacked is None else robustness(attacked, w)))
    return points


def _quality(scores: Floats, human: Floats, keys: Sequence[OutputKey], measure: Measure, group: Group) -> float | None:
    segments, systems = [k.segment for k in keys], [k.system for k in keys]
    return agreement_with_ties(measure, scores, human, group=group, segments=segments, systems=systems).value


def robustness(attacked: Attacked, w: float) -> float | None:
    """Return the adversarial accuracy at w: the mean over phenomena, on cases both metrics have scored. Ties are wrong."""
    nli, other = attacked.margins()
    return accuracy(w * nli + (1 - w) * other, attacked.phenomena)


def flips(attacked: Attacked) -> Floats:
    """Return the weights in (0, 1) at which a case becomes right or wrong, ascending; accuracy is constant between them."""
    nli, other = attacked.margins()
    turning = nli * other < 0
    return np.unique(other[turning] / (other[turning] - nli[turning]))


def accuracy_steps(attacked: Attacked, limit: int = 200) -> list[tuple[float, float | None]]:
    """Return adversarial accuracy at w = 0, from each breakpoint to the next, and at w = 1.

    Above `limit` breakpoints, `limit` steps of equal length are used instead.
    """
    turns = flips(attacked)
    ends = np.concatenate(([0.0], turns if len(turns) <= limit else np.arange(1, limit) / limit, [1.0]))
    steps = [(float(a), robustness(attacked, float(a + b) / 2)) for a, b in zip(ends, ends[1:], strict=False)]
    return [(0.0, robustness(attacked, 0)), *steps, (1.0, robustness(attacked, 1))]


def best_weight(
    judged: OutputsOfBoth,
    attacked: Attacked | None = None,
    *,
    measure: Measure = "kendall",
    group: Group = "pooled",
    seed: int = 0,
    draws: int = 300,
    progress: Progress = no_progress,
) -> Weight:
    """Return the exact optimum over all w in [0, 1], its interval over segments, and its cross-validation over documents.

    Raises `UserError` if the agreement is undefined at every w, and as `calibrate` does.
    """
    points = [
        CalibrationPoint(key, -float(n), -float(m), float(h))
        for key, n, m, h in zip(judged.keys, judged.nli, judged.other, judged.human, strict=True)
    ]
    try:
        calibration: Calibration = calibrate(
            points, measure=measure, group=group, seed=seed, draws=draws, noise=0.0, progress=progress
        )
    except UserError as error:
        if UNDEFINED not in error.what:
            raise
        raise UserError("no weight agrees best with people", got=_of_w(error.got), hint=_of_w(error.hint)) from error
    w = omega(calibration.lam)
    return Weight(
        w,
        calibration.agreement,
        omega(calibration.plateau.low),
        omega(calibration.plateau.high),
        None if calibration.ci is None else (omega(calibration.ci[0]), omega(calibration.ci[1])),
        calibration.cross_validated.value,
        (calibration.at["0"], calibration.at["inf"]),
        None if attacked is None else robustness(attacked, w),
        tuple(map(_of_w, calibration.notes)),
        tuple((omega(p.lam), p.agreement) for p in calibration.curve),
        calibration.cross_validated.over,
    )


def _of_w(text: str) -> str:
    """Rephrase a message of the search for λ for w."""
    return text.replace(" in λ/(1+λ)", "").replace("λ", "w")


def improvements(paths: Mapping[str, Sequence[PathPoint]], *, seed: int = 0) -> list[Improvement]:
    """Return (value at w − value at 0) / |value at 0| for quality and robustness, averaged over metrics (Figure 3).

    Undefined values, and metrics with value 0 at w = 0, are left out.
    """
    rows = []
    for what in ("quality", "robustness"):
        for k, w in enumerate(next(iter(paths.values()), ())):
            changes = []
            for points in paths.values():
                start, at_weight = getattr(points[0], what), getattr(points[k], what)
                if start and at_weight is not None:
                    changes.append((at_weight - start) / abs(start))
            rows.append(Improvement(w.w, what, mean_interval(changes, seed)))
    return rows


def grid(
    shares: npt.ArrayLike | None = None,
    human: npt.ArrayLike | None = None,
    good: npt.ArrayLike | None = None,
    bad: npt.ArrayLike | None = None,
    phenomena: Sequence[str] = (),
    *,
    measure: Measure = "pearson",
    group: Group = "pooled",
    keys: Sequence[OutputKey] = (),
) -> list[Pooled]:
    """Evaluate all 15 strategies (Table 7) from probabilities in both directions, shape (n, 2, 3), as for `nli.pooled`.

    `shares` and the `human` scores (n,) give quality; `good`, `bad` and the `phenomena` of the cases give robustness. Rows
    with NaN are left out. Every `group` except pooled needs the `keys` of the outputs (n,).
    """
    rows = []
    for direction, formula in STRATEGIES:
        quality = robust = None
        if shares is not None and human is not None:
            scores, human_values = pooled(shares, direction, formula), np.asarray(human, dtype=np.float64)
            known = np.isfinite(scores) & np.isfinite(human_values)
            known_keys = [key for key, k in zip(keys, known.tolist(), strict=True) if k] if keys else []
            quality = _quality(scores[known], human_values[known], known_keys, measure, group)
        if good is not None and bad is not None:
            robust = accuracy(pooled(good, direction, formula) - pooled(bad, direction, formula), phenomena)
        rows.append(Pooled(direction, formula, quality, robust))
    return rows


def left_out(dataset: str, values: Values, others: Sequence[Values]) -> LeftOut:
    """Return a dataset under the strategy chosen on the other datasets (section 6).

    `values` has each strategy's value; higher is better. A strategy wins on a dataset if no other is higher. The one with the most
    wins is chosen; ties are broken by the highest mean, then by the order of `STRATEGIES`.
    """
    wins = Counter(s for row in others for s in STRATEGIES if row[s] == max(row.values()))
    chosen = max(STRATEGIES, key=lambda s: (wins[s], np.mean([row[s] for row in others])))
    best = max(STRATEGIES, key=values.__getitem__)
    return LeftOut(dataset, *chosen, wins[chosen], values[chosen], best, values[best])
