"""What a weight and a pooling strategy are worth (Chen and Eger 2023, sections 5 and 6), from scores that are there already.

Two things are looked at: quality, the agreement with people on outputs of systems, and robustness, the accuracy on adversarial
cases. C = w·N + (1 − w)·M is linear in w, so that two outputs change places at one w only: both are step functions of w, and
the best w is found exactly, by the search for λ with w = λ/(1 + λ), Dist_exp = −N and Dist_imp = −M.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.calibration.calibrate import Calibration, Point, calibrate
from core.calibration.curve import omega
from core.calibration.drawn import Tell, quiet
from core.data import OutputKey
from core.errors import UserError
from core.metrics.nli import STRATEGIES, pooled
from core.services.adversarial import accuracy
from core.stats.bootstrap import Interval, mean_interval
from core.stats.correlation import Group, Measure
from core.stats.pairs import Floats
from core.stats.perm_both import agreement_with_ties

WEIGHTS: tuple[float, ...] = tuple(i / 10 for i in range(11))
"""Those of the paper's figures."""
UNDEFINED = "undefined at every λ"
"""What `calibrate` says where no λ has an agreement; of w it is said in other words."""


class Judged(NamedTuple):
    """Outputs with both scores, scaled and higher for better, and what people think of them: all of shape (n,)."""

    keys: tuple[OutputKey, ...]
    nli: Floats
    other: Floats
    human: Floats


class Attacked(NamedTuple):
    """Adversarial cases with both scores, scaled, of the good and of the bad text: each of shape (n,), NaN where missing."""

    phenomena: tuple[str, ...]
    nli_good: Floats
    nli_bad: Floats
    other_good: Floats
    other_bad: Floats

    def margins(self) -> tuple[Floats, Floats]:
        """By how much the good text is better (n,), by the NLI metric and by the other one; NaN in both where one lacks it, so
        that every weight is judged on the same cases."""
        nli, other = self.nli_good - self.nli_bad, self.other_good - self.other_bad
        lost = np.isnan(nli + other)
        return np.where(lost, np.nan, nli), np.where(lost, np.nan, other)

    @property
    def compared(self) -> int:
        """How many cases both metrics have scored."""
        return int(np.isfinite(self.margins()[0]).sum())


class PathPoint(NamedTuple):
    """A combination at weight w: agreement with people and adversarial accuracy, None where undefined."""

    w: float
    quality: float | None
    robustness: float | None


class Weight(NamedTuple):
    """The weight that agrees best with people; all w from `low` to `high` do as well. `ci` is its 95 % bootstrap interval.

    `held_out` is the agreement on what was left out (`left_out`: documents, or with fewer than four of them segments), under
    the weight fitted on the rest; `at` that of the other metric alone
    (w = 0) and of the NLI metric alone (w = 1). `robustness` is the adversarial accuracy at w, None without cases. `curve` has
    the agreement from each w to the next.
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
    """By what share of the metrics' own values a weight improves them, the mean over metrics with its 95 % interval."""

    w: float
    what: str
    change: Interval


class Pooled(NamedTuple):
    """What a pooling strategy is worth."""

    direction: str
    formula: str
    quality: float | None
    robustness: float | None


class LeftOut(NamedTuple):
    """A dataset under the strategy that wins most often on the others, beside the one that is best on it."""

    dataset: str
    direction: str
    formula: str
    wins: int
    value: float
    best: tuple[str, str]
    best_value: float


def path(
    judged: Judged | None,
    attacked: Attacked | None,
    *,
    measure: Measure = "pearson",
    group: Group = "pooled",
    weights: Sequence[float] = WEIGHTS,
) -> list[PathPoint]:
    """From the other metric (w = 0) to the NLI metric (w = 1), as in Figure 2. None stands for data that is not there."""
    points = []
    for w in weights:
        quality = None
        if judged is not None:
            mixed = w * judged.nli + (1 - w) * judged.other
            segments, systems = [k.segment for k in judged.keys], [k.system for k in judged.keys]
            found = agreement_with_ties(measure, mixed, judged.human, group=group, segments=segments, systems=systems)
            quality = found.value
        points.append(PathPoint(w, quality, None if attacked is None else robustness(attacked, w)))
    return points


def robustness(attacked: Attacked, w: float) -> float | None:
    """Adversarial accuracy at w, the mean over phenomena; a case where both texts get the same score is wrong. At every w it is
    that of the cases that both metrics have scored."""
    nli, other = attacked.margins()
    return accuracy(w * nli + (1 - w) * other, attacked.phenomena)


def flips(attacked: Attacked) -> Floats:
    """The weights in (0, 1) at which some case turns right or wrong, ascending: between two of them accuracy is constant."""
    nli, other = attacked.margins()
    turning = nli * other < 0
    return np.unique(other[turning] / (other[turning] - nli[turning]))


def accuracy_steps(attacked: Attacked, limit: int = 200) -> list[tuple[float, float | None]]:
    """Adversarial accuracy at w = 0, then from each w to the next, then at w = 1; of more than `limit` flips so many stretches
    of equal length stand for them."""
    turns = flips(attacked)
    ends = np.concatenate(([0.0], turns if len(turns) <= limit else np.arange(1, limit) / limit, [1.0]))
    steps = [(float(a), robustness(attacked, float(a + b) / 2)) for a, b in zip(ends, ends[1:], strict=False)]
    return [(0.0, robustness(attacked, 0)), *steps, (1.0, robustness(attacked, 1))]


def best_weight(
    judged: Judged,
    attacked: Attacked | None = None,
    *,
    measure: Measure = "kendall",
    group: Group = "pooled",
    seed: int = 0,
    draws: int = 300,
    tell: Tell = quiet,
) -> Weight:
    """The exact optimum over all w in [0, 1], its interval over segments, and its cross-validation over documents.

    Raises `UserError` where the agreement is undefined at every w, and as `calibrate` does.
    """
    points = [
        Point(key, -float(n), -float(m), float(h))
        for key, n, m, h in zip(judged.keys, judged.nli, judged.other, judged.human, strict=True)
    ]
    try:
        found: Calibration = calibrate(points, measure=measure, group=group, seed=seed, draws=draws, tell=tell)
    except UserError as error:
        if UNDEFINED not in error.what:
            raise
        raise UserError("no weight agrees best with people", got=_of_w(error.got), hint=_of_w(error.hint)) from error
    w = omega(found.lam)
    return Weight(
        w,
        found.agreement,
        omega(found.plateau.low),
        omega(found.plateau.high),
        None if found.ci is None else (omega(found.ci[0]), omega(found.ci[1])),
        found.cross_validated.value,
        (found.at["0"], found.at["inf"]),
        None if attacked is None else robustness(attacked, w),
        tuple(map(_of_w, found.notes)),
        tuple((omega(p.lam), p.agreement) for p in found.curve),
        found.cross_validated.over,
    )


def _of_w(text: str) -> str:
    """What the search for λ says, of w."""
    return text.replace(" in λ/(1+λ)", "").replace("λ", "w")


def improvements(paths: Mapping[str, Sequence[PathPoint]], *, seed: int = 0) -> list[Improvement]:
    """Figure 3: (value at w − value at 0) / |value at 0|, for quality and robustness, over metrics where both are there.

    A value of 0 at w = 0 has no such share, and is left out.
    """
    found = []
    for what in ("quality", "robustness"):
        for k, w in enumerate(next(iter(paths.values()), ())):
            changes = []
            for points in paths.values():
                start, here = getattr(points[0], what), getattr(points[k], what)
                if start and here is not None:
                    changes.append((here - start) / abs(start))
            found.append(Improvement(w.w, what, mean_interval(changes, seed)))
    return found


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
    """All 15 strategies (Table 7), from probabilities both ways (n, 2, 3) as `core.metrics.nli.pooled` takes them.

    `shares` with the `human` scores (n,) give quality, `good` and `bad` with the `phenomena` of the cases robustness. Rows
    with NaN are left out. Any `group` but pooled asks for the `keys` of the outputs (n,).
    """
    rows = []
    for direction, formula in STRATEGIES:
        quality = robust = None
        if shares is not None and human is not None:
            scores, people = pooled(shares, direction, formula), np.asarray(human, dtype=np.float64)
            known = np.isfinite(scores) & np.isfinite(people)
            there = [key for key, k in zip(keys, known.tolist(), strict=True) if k] if keys else []
            segments, systems = [k.segment for k in there], [k.system for k in there]
            found = agreement_with_ties(
                measure, scores[known], people[known], group=group, segments=segments, systems=systems
            )
            quality = found.value
        if good is not None and bad is not None:
            robust = accuracy(pooled(good, direction, formula) - pooled(bad, direction, formula), phenomena)
        rows.append(Pooled(direction, formula, quality, robust))
    return rows


def leave_one_out(values: Mapping[str, Mapping[tuple[str, str], float]]) -> list[LeftOut]:
    """Every dataset under a strategy chosen without it (section 6), so that nothing of it leaks into the choice.

    `values` are those of each strategy on each dataset, higher is better. A strategy wins where no other is higher; who wins
    most often is chosen, of equals the one with the highest mean, then the first of `STRATEGIES`. Raises UserError for fewer than
    two datasets.
    """
    if len(values) < 2:
        raise UserError(
            "a strategy is chosen on other datasets than the one it is tried on",
            got=f"{len(values)} datasets",
            expected="at least two",
        )
    found = []
    for name, here in values.items():
        others = [row for other, row in values.items() if other != name]
        wins = Counter(s for row in others for s in STRATEGIES if row[s] == max(row.values()))
        chosen = max(STRATEGIES, key=lambda s: (wins[s], np.mean([row[s] for row in others])))
        best = max(STRATEGIES, key=here.__getitem__)
        found.append(LeftOut(name, *chosen, wins[chosen], here[chosen], best, here[best]))
    return found
