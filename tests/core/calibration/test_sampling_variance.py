"""The interval of a batch's mean holds the mean over all outputs as often as it says, under the designs batches are drawn by."""

import math
from itertools import product

import numpy as np
import pytest

from core.calibration.sampling import ALONE, LabelCandidate, batch_mean, choose, design, weights
from core.data import OutputKey

SYSTEMS = "ABCD"


def population(n_segments: int, seed: int) -> tuple[list[LabelCandidate], np.ndarray]:
    """Outputs whose human score depends on the segment, the system and the metric's value; few errors, skewed as MQM is."""
    rng = np.random.default_rng(seed)
    found, people = [], []
    for i in range(n_segments):
        hard = rng.normal()
        for k, system in enumerate(SYSTEMS):
            value = hard + 0.4 * k + rng.normal()
            found.append(LabelCandidate(OutputKey(system, "d", str(i)), value, *rng.exponential(size=2)))
            people.append(-float(rng.poisson(2 * math.exp(-0.5 * value))))
    return found, np.array(people)


DESIGNS = {
    "single outputs by strata": {"method": "stratified", "n_strata": 5},
    "fractions of places": {"method": "stratified", "n_strata": 7},
    "whole segments by strata": {"method": "stratified", "n_strata": 4, "whole": True},
    "less than one place a stratum": {"method": "stratified", "n_strata": 20},
    "informative": {"method": "informative", "interval": (0.5, 2.0)},
    "informative, whole segments": {"method": "informative", "interval": (0.5, 2.0), "whole": True},
}


IN_SHORT = {("single outputs by strata", ""), ("fractions of places", "B"), ("informative, whole segments", "")}
"""Designs and systems that `make test` simulates."""


@pytest.mark.parametrize(
    ("name", "system"),
    [
        pytest.param(*case, marks=[] if case in IN_SHORT else pytest.mark.extended)
        for case in product(DESIGNS, ["", "B"])
    ],
)
def test_the_interval_covers_the_overall_mean_95_times_of_100(name: str, system: str) -> None:
    options = dict(DESIGNS[name])
    whole, by_strata = bool(options.get("whole")), options["method"] == "stratified"
    everything, people = population(120, 3)
    n, draws = 60 if whole or system == "" else 100, 150
    at = {c.key: i for i, c in enumerate(everything)}
    of_domain = np.array([system in ("", c.key.system) for c in everything])
    truth = people[of_domain].mean()
    stratum: np.ndarray | None = None
    places: np.ndarray = np.zeros(0)
    if by_strata:
        stratum, places = design(everything, n, whole=whole, n_strata=options["n_strata"])  # type: ignore[arg-type]
    held, errors, halves = 0, [], []
    for seed in range(draws):
        batch = choose(everything, n, seed=seed, **options)  # type: ignore[arg-type]
        rows = [at[c.key] for c in batch]
        mean = batch_mean(
            people[rows], [c.probability for c in batch], [c.key.segment if whole else c.key for c in batch],
            domain=of_domain[rows], stratum=None if stratum is None else stratum[rows], places=places,
        )  # fmt: skip
        held += mean.low <= truth <= mean.high
        errors.append(mean.value - truth)
        halves.append((mean.high - mean.low) / 2)
    # four standard errors of a share of .95 over the draws; skewed scores cost up to .02 more
    assert 0.95 - 4 * math.sqrt(0.95 * 0.05 / draws) - 0.02 <= held / draws, held / draws
    # and it is not so by being wide: half an interval is about two standard errors
    assert 1.6 < np.mean(halves) / np.std(errors) < 2.6


def test_a_simple_random_sample_has_the_textbook_interval() -> None:
    # 4 of 16: mean 2.5, s² = 5/3, V = (1 − 4/16)·s²/4 = .3125; t of 3 degrees of freedom 3.18245
    mean = batch_mean([1, 2, 3, 4], [0.25] * 4, "abcd")
    assert mean.value == 2.5
    assert mean.high == pytest.approx(2.5 + 3.182446 * 0.3125**0.5, abs=1e-5)
    assert mean.low == pytest.approx(2.5 - 3.182446 * 0.3125**0.5, abs=1e-5)


def test_two_strata_have_the_textbook_interval_of_their_own() -> None:
    # two of 4 with 1 and 3 (s² = 2), two of 20 with 10 and 12 (s² = 2), N = 24; mean (4·2 + 20·11)/24 = 9.5
    # V = (4/24)²·(1 − ½)·2/2 + (20/24)²·(1 − 1/10)·2/2 = 1/72 + 5/8; t of 2 degrees of freedom 4.302653
    mean = batch_mean([1, 3, 10, 12], [0.5, 0.5, 0.1, 0.1], "abcd", stratum=[0, 0, 1, 1], places=[2, 2])
    assert mean.value == pytest.approx(9.5)
    assert mean.high == pytest.approx(9.5 + 4.302653 * (1 / 72 + 5 / 8) ** 0.5, abs=1e-5)


def test_fractional_places_add_the_variance_of_the_random_start() -> None:
    # 1.5 and 1.5 places of 3 units each, all alike within: two of one stratum and one of the other, evenly likely
    # values 0 and 1: mean ⅓ or ⅔ by n_h; truth ½. Merged (fewer than two in one), so the spread within counts instead
    low = batch_mean([0, 0, 1], [0.5] * 3, "abc", stratum=[0, 0, 1], places=[1.5, 1.5])
    assert low.low < 0.5 < (low.high or 0)
    # 2.5 and 2.5: n = 2 and 3 or 3 and 2; nothing varies within, so V is that of the comb alone:
    # A = (y − ȳ)/(p·N̂): ȳ = .6, p·N̂ = 5: −.12 and .08; sums −.24 + .24 and −.36 + .16, ½ each: V = .1² = .01
    mean = batch_mean([0, 0, 1, 1, 1], [0.5] * 5, "abcde", stratum=[0, 0, 1, 1, 1], places=[2.5, 2.5])
    assert mean.high == pytest.approx(0.6 + 3.182446 * 0.1, abs=1e-5)


def test_what_is_certain_has_no_sampling_error() -> None:
    assert batch_mean([1, 2, 6], [1, 1, 1], "abc") == (3.0, 3.0, 3.0, "")


def test_the_mean_is_that_of_hajek() -> None:
    rng = np.random.default_rng(0)
    y, p = rng.normal(size=9), rng.uniform(0.1, 1, 9)
    assert batch_mean(y, p, list(range(9))).value == pytest.approx(np.average(y, weights=weights(p)))


def test_one_unit_has_no_interval_and_nothing_has_no_mean() -> None:
    assert batch_mean([1.0, 2.0], [0.5, 0.5], ["s", "s"]) == (1.5, None, None, ALONE)
    with pytest.raises(ValueError, match="at least one"):
        batch_mean([1.0], [0.5], ["s"], domain=[False])
