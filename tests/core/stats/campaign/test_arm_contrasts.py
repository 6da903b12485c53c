"""Contrasts of two random arms against arithmetic, bootstraps and enumeration."""

from __future__ import annotations

from itertools import combinations
from math import inf, isnan, log, nan

import numpy as np
import pytest

from core.stats.campaign.arm_contrasts import (
    ArmMeasure,
    ArmRows,
    Contrast,
    Terms,
    contrasts,
    equivalence,
    levels,
    randomisation_p,
)
from core.stats.correlation.pairs import Floats, Ints

EFFECT: Terms = {(1, 0): 1.0, (0, 0): -1.0}


def design(treated: list[int], raters: list[int], units: list[int], p: list[float] | None = None) -> ArmRows:
    shape = np.array(treated, dtype=bool)
    return ArmRows(
        shape,
        np.array(p or [0.5] * len(treated)),
        np.array(raters),
        np.array(units),
        np.zeros(len(treated), dtype=np.int64),
    )


def test_means_are_weighted_by_the_probability_of_the_arm() -> None:
    """Treated 4, 8 with p .8, .5: (4/.8 + 8/.5)/(1/.8 + 1/.5) = 21/3.25. Controls 2, 5 with 1 − p = .2, .5: (10 + 10)/(5 + 2)."""
    rows = design([1, 1, 0, 0], [0, 1, 0, 1], [0, 1, 2, 3], [0.8, 0.5, 0.8, 0.5])
    values, ones = np.array([4.0, 8, 2, 5]), np.ones(4)
    plain, in_logs = ArmMeasure(values, ones), ArmMeasure(values, ones, log=True)
    assert levels(rows, [plain])[:, 0] == pytest.approx([20 / 7, 21 / 3.25])
    assert contrasts(rows, [in_logs], [EFFECT])[0].value == pytest.approx(log(21 / 3.25 / (20 / 7)))
    shared = ArmMeasure(
        np.array([1.0, 2, 0, 3]), np.array([2.0, 4, 1, 5])
    )  # treated (1.25 + 4)/(2.5 + 8), controls 6/(5 + 10)
    assert contrasts(rows, [shared], [EFFECT])[0].value == pytest.approx(0.5 - 0.4)
    nothing = ArmMeasure(np.array([1.0, 1, 0, 0]), np.array([1.0, 1, 0, 0]))
    zero = ArmMeasure(np.array([1.0, 1, 0, 0]), ones, log=True)
    assert all(isnan(contrasts(rows, [m], [EFFECT])[0].value) for m in (nothing, zero))


def resampled(rows: ArmRows, measure: ArmMeasure, ids: Ints, draws: int = 4000) -> float:
    """Return the variance of the contrast in a bootstrap of clusters, times n/(n − 1)."""
    rng, n = np.random.default_rng(1), int(ids.max()) + 1
    values = []
    for _ in range(draws):
        counts = np.bincount(rng.integers(0, n, n), minlength=n)[ids]
        arm = [
            (counts * w * measure.top).sum() / (counts * w * measure.bottom).sum()
            for w in (~rows.treated / (1 - rows.probability), rows.treated / rows.probability)
        ]
        values.append(log(arm[1] / arm[0]) if measure.log else arm[1] - arm[0])
    return float(np.var(values)) * n / (n - 1)


def simulated(n_raters: int, n_units: int, rng: np.random.Generator) -> tuple[ArmRows, Floats]:
    """Return every rater's value for every unit: rater, unit and treatment × rater effects and a residual."""
    raters, units = np.repeat(np.arange(n_raters), n_units), np.tile(np.arange(n_units), n_raters)
    treated = rng.random(n_raters * n_units) < 0.5
    values = 10 + rng.normal(0, 1, n_raters)[raters] + rng.normal(0, 1, n_units)[units] + rng.normal(0, 1, len(raters))
    values += treated * rng.normal(1, 1, n_raters)[raters]
    return ArmRows(treated, np.full(len(raters), 0.5), raters, units, np.zeros(len(raters), dtype=np.int64)), values


def test_errors_are_those_of_bootstraps_of_raters_and_units() -> None:
    rows, values = simulated(30, 40, np.random.default_rng(5))
    for measure in (ArmMeasure(values, np.ones(len(values))), ArmMeasure(values, 1 + rows.units % 3.0, log=True)):
        parts = [resampled(rows, measure, ids, 1500) for ids in (rows.raters, rows.units, rows.cells)]
        estimate = contrasts(rows, [measure], [EFFECT])[0]
        assert estimate.error**2 == pytest.approx(parts[0] + parts[1] - parts[2], rel=0.15)
        assert estimate.df == 29
    few = rows.raters < 3
    three = ArmRows(*(column[few] for column in rows))
    measure = ArmMeasure(values[few], np.ones(few.sum()))
    by_units = contrasts(three, [measure], [EFFECT])[0]
    assert by_units.error**2 == pytest.approx(resampled(three, measure, three.units), rel=0.1)
    assert by_units.df == 39


def test_arms_are_drawn_again_within_blocks() -> None:
    """All ways to draw two treated cells of four in each of two blocks are counted."""
    treated, blocks = [1, 1, 0, 0, 0, 1, 1, 0], np.array([0, 0, 0, 0, 1, 1, 1, 1])
    values = np.array([9.0, 7, 3, 4, 20, 26, 23, 21])
    rows = design(treated, [0] * 8, list(range(8)))._replace(blocks=blocks)
    means = []
    for one in combinations(range(4), 2):
        for two in combinations(range(4, 8), 2):
            chosen = np.isin(np.arange(8), [*one, *two])
            means.append(values[chosen].mean() - values[~chosen].mean())
    observed = values[rows.treated].mean() - values[~rows.treated].mean()
    exact = np.mean(np.abs(means) >= abs(observed) - 1e-9)
    measures = [ArmMeasure(values, np.ones(8))]
    assert randomisation_p(rows, measures, [[EFFECT]], seed=0, draws=20_000)[0][0] == pytest.approx(exact, abs=0.01)
    family = randomisation_p(
        rows, [*measures, ArmMeasure(np.ones(8), np.ones(8))], [[EFFECT, {(1, 1): 1, (0, 1): -1}]], seed=0, draws=99
    )
    assert family[0][1] == 1
    apart = rows._replace(blocks=np.arange(8))
    assert randomisation_p(apart, measures, [[EFFECT]], seed=0, draws=99) == [[None]]
    with pytest.raises(ValueError, match="one arm"):
        randomisation_p(rows._replace(units=np.zeros(8, dtype=np.int64)), measures, [[EFFECT]], seed=0, draws=9)


def test_equivalence_is_that_of_two_one_sided_tests() -> None:
    """Effect 1.2 with standard error .9: 90 % interval 1.2 ± 1.645 · .9 = [−.28, 2.68]. Needed: (2.926 · .9/3)² = .771 of the units."""
    effect = Contrast(1.2, 0.9, 10**9)
    assert effect.interval(0.90) == pytest.approx((-0.28, 2.68), abs=0.005)
    assert equivalence([effect], 3).equivalent
    assert equivalence([effect], 3).needed == pytest.approx(0.771, abs=0.001)
    assert not equivalence([effect], 2).equivalent
    assert not equivalence([effect], 2).outside
    assert not equivalence([effect, Contrast(0, 2, 10**9)], 3).equivalent
    assert equivalence([Contrast(-5, 1, 10**9)], 3).outside
    assert Contrast(0, 1, 9).interval() == pytest.approx((-2.262, 2.262), abs=0.001)
    assert isnan(Contrast(nan, inf, 0).interval()[0])
