"""Intervals over segments and permutation tests between layers, against computations of another kind."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

from core.data import Span
from core.spans.measures import rates, span_columns, span_statistics
from core.spans.resampling import Average, average_f, intervals, permutation_tests
from core.stats.bootstrap import resamples

Layer = list[list[Span]]


def gold_and_copies(rng: random.Random, n: int, *copied: float) -> tuple[Layer, list[Layer]]:
    """Return gold spans of n outputs, and layers that have each gold span with a probability, and false spans besides."""
    gold: Layer = [
        [Span("output", s, s + 5, "", "Major", "") for s in range(0, 40, 10) if rng.random() < 0.4] for _ in range(n)
    ]

    def copy(spans: list[Span], share: float) -> list[Span]:
        kept = [s for s in spans if rng.random() < share]
        return [*kept, Span("output", 5, 10, "", "Minor", "")] if rng.random() < 0.3 else kept

    return gold, [[copy(spans, share) for spans in gold] for share in copied]


def statistics(gold: Layer, layers: list[Layer]) -> np.ndarray:
    of = span_columns(gold, {})
    return np.stack([span_statistics("mpp", span_columns(layer, {}), of, len(gold)) for layer in layers], axis=1)


def test_intervals_are_those_of_outputs_drawn_again() -> None:
    rng = random.Random(1)
    gold, layers = gold_and_copies(rng, 30, 0.8, 0.3)
    table = statistics(gold, layers)
    averages: tuple[Average, ...] = ("micro", "macro")
    for average in averages:
        made = intervals(table, average, seed=5, draws=200)
        for layer, interval in zip(layers, made, strict=True):
            drawn = []
            for block in resamples(30, 5, 200):
                for places in block.tolist():
                    again = statistics([gold[i] for i in places], [[layer[i] for i in places]])
                    p, r, f = rates(again[:, 0].sum(0))
                    drawn.append(float(f) if average == "micro" else float(again[:, 0, 4].mean()))
            assert (interval.low, interval.high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])))
            assert interval.value == pytest.approx(float(average_f(statistics(gold, [layer])[:, 0].sum(0), average)))
    assert intervals(table[:1], "micro", seed=0, draws=9)[0].low is None


def test_permutation_p_is_near_the_exact_one() -> None:
    """All 2^9 ways to swap the spans of two layers, segment by segment."""
    rng = random.Random(4)
    gold, (one, two) = gold_and_copies(rng, 9, 0.9, 0.5)
    (test,) = permutation_tests(statistics(gold, [one, two]), [(0, 1)], "micro", seed=0, draws=4000)

    def difference(first: Layer, second: Layer) -> float:
        f = average_f(statistics(gold, [first, second]).sum(0), "micro")
        return float(f[0] - f[1])

    seen = difference(one, two)
    reached = 0
    for swaps in product((False, True), repeat=9):
        first = [b if swap else a for a, b, swap in zip(one, two, swaps, strict=True)]
        second = [a if swap else b for a, b, swap in zip(one, two, swaps, strict=True)]
        reached += abs(difference(first, second)) >= abs(seen) - 1e-12
    assert test.difference == pytest.approx(seen)
    assert test.p == pytest.approx(reached / 512, abs=0.025)


@pytest.mark.extended
def test_equal_layers_differ_significantly_in_one_of_20() -> None:
    """400 pairs of equally good layers: p ≤ .05 in at most 7.5 %. Intervals contain the F of 20,000 outputs in 90–99 %."""
    rng = random.Random(7)
    gold, layers = gold_and_copies(rng, 20_000, 0.6)
    truth = float(average_f(statistics(gold, layers)[:, 0].sum(0), "micro"))
    rejected = covered = 0
    for run in range(400):
        gold, layers = gold_and_copies(rng, 60, 0.6, 0.6)
        table = statistics(gold, layers)
        (test,) = permutation_tests(table, [(0, 1)], "micro", seed=run, draws=199)
        rejected += test.p is not None and test.p <= 0.05
        (interval, _) = intervals(table, "micro", seed=run, draws=200)
        covered += interval.low is not None and interval.high is not None and interval.low <= truth <= interval.high
    assert rejected / 400 <= 0.075
    assert 0.90 <= covered / 400 <= 0.99
