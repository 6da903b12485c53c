"""Bootstrap intervals of agreement: every draw against the statistic computed anew on the outputs drawn."""

from itertools import combinations

import numpy as np
import pytest

from core.stats.bootstrap import draws_of, percentiles
from core.stats.correlation.agreement_interval import agreement_interval
from core.stats.correlation.correlation import GROUPS, MEASURES, agreement
from core.stats.system_ranking import soft_pairwise_accuracy, soft_pairwise_intervals

SEGMENTS, SYSTEMS = 9, 4
RNG = np.random.default_rng(5)
HUMAN = RNG.integers(-4, 1, SEGMENTS * SYSTEMS).astype(float)
METRIC = np.round(HUMAN + RNG.normal(0, 2, len(HUMAN)), 1)
OF_SEGMENT = [f"s{i // SYSTEMS}" for i in range(len(HUMAN))]
OF_SYSTEM = [f"x{i % SYSTEMS}" for i in range(len(HUMAN))]
OF_DOCUMENT = [f"d{i // (3 * SYSTEMS)}" for i in range(len(HUMAN))]


def copies(weights: np.ndarray, units: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """The places of the outputs drawn, and which copy of its segment each belongs to."""
    names = list(dict.fromkeys(units))
    drawn = [(i, c) for i, u in enumerate(units) for c in range(int(weights[names.index(u)]))]
    return np.array([i for i, _ in drawn]), np.array([f"{OF_SEGMENT[i]}/{c}" for i, c in drawn])


def brute_acc_eq(rows: np.ndarray, groups: np.ndarray | None) -> float:
    """The best acc_eq over ε, pair by pair; two copies of one output make no pair."""
    pairs = [
        (a, b)
        for a, b in combinations(range(len(rows)), 2)
        if rows[a] != rows[b] and (groups is None or groups[a] == groups[b])
    ]
    gaps = [(METRIC[rows[a]] - METRIC[rows[b]], HUMAN[rows[a]] - HUMAN[rows[b]]) for a, b in pairs]
    return max(
        float(np.mean([(0 if abs(dm) <= e else np.sign(dm)) == np.sign(dh) for dm, dh in gaps]))
        for e in {0.0, *(abs(dm) for dm, _ in gaps)}
    )


@pytest.mark.parametrize("units", [OF_SEGMENT, OF_DOCUMENT])
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("measure", MEASURES)
def test_every_draw_is_the_statistic_of_the_outputs_drawn(measure, group, units) -> None:
    values = []
    for weights in draws_of(len(set(units)), 7, 12):
        rows, groups = copies(weights, units)
        if measure == "acc_eq" and group != "system":
            values.append(brute_acc_eq(rows, groups if group == "segment" else None))
            continue
        where = {"group": group, "segments": list(groups), "systems": [OF_SYSTEM[i] for i in rows]}
        value = agreement(measure, METRIC[rows], HUMAN[rows], **where).value
        values += [] if value is None else [value]
    interval = agreement_interval(
        measure, METRIC, HUMAN, group=group, segments=OF_SEGMENT, systems=OF_SYSTEM, units=units, seed=7, draws=12
    )
    assert (interval.low, interval.high) == pytest.approx(percentiles(values))
    assert interval.n == len(set(units))


@pytest.mark.parametrize("measure", ["spearman", "pearson"])
def test_a_draw_of_equal_scores_is_left_out(measure) -> None:
    metric, human, units = np.array([0.1, 0.1, 0.1, 0.2, 0.7]), np.array([3.0, 1.0, 2.0, 5.0, 2.0]), list("aaabc")
    values = []
    for weights in draws_of(3, 1, 40):
        rows = copies(weights, units)[0]
        found = agreement(measure, metric[rows], human[rows]).value
        values += [] if found is None else [found]
    found = agreement_interval(measure, metric, human, units=units, seed=1, draws=40)
    assert len(values) < 40
    assert (found.low, found.high) == pytest.approx(percentiles(values))


def test_an_undefined_agreement_has_no_interval_but_a_reason() -> None:
    flat = agreement_interval("kendall", np.ones(4), [1, 2, 3, 4], units=list("abcd"), seed=0)
    assert (flat.value, flat.low) == (None, None)
    assert "equal" in flat.reason
    one = agreement_interval("kendall", [1, 2, 3], [1, 2, 4], units=["d", "d", "d"], seed=0)
    assert one.value == 1
    assert "at least two" in one.reason


def test_only_identical_scores_have_a_zero_width_soft_interval() -> None:
    human = HUMAN.reshape(SEGMENTS, SYSTEMS).T
    metric = METRIC.reshape(SEGMENTS, SYSTEMS).T
    told: list[float] = []
    intervals = soft_pairwise_intervals(
        {"self": human, "metric": metric},
        human,
        seed=1,
        draws=40,
        progress=told.append,
    )
    assert intervals["self"] == (1.0, 1.0)
    low, high = intervals["metric"]
    value = soft_pairwise_accuracy(metric, human, seed=1).value
    assert low < value < high + 0.02
    assert told[-1] == 1.0
    assert len(told) == 40
    assert soft_pairwise_intervals({"m": metric[:1]}, human[:1], seed=1) == {}
