"""λ fitted on a batch by its probabilities: the objective is the weighted one, and it is that of all outputs."""

import math
from itertools import combinations

import numpy as np
import pytest

from core.calibration.calibrate import Calibration, CalibrationPoint, calibrate
from core.data import OutputKey
from core.refine.result import weighted as score_at


def points(n: int, seed: int, systems: str = "AB") -> list[CalibrationPoint]:
    rng = np.random.default_rng(seed)
    return [
        CalibrationPoint(
            OutputKey(s, f"d{i % 5}", str(i)),
            float(rng.integers(0, 9)),
            float(rng.integers(0, 9)),
            float(rng.integers(0, 4)),
            -1.0 - i,
        )
        for i in range(n)
        for s in systems
    ]


def weighed(data: list[CalibrationPoint], seed: int) -> list[CalibrationPoint]:
    rng = np.random.default_rng(seed)
    of_segment = {p.key.segment: float(rng.uniform(1, 20)) for p in data}
    return [p._replace(weight=of_segment[p.key.segment]) for p in data]


def tau(data: list[CalibrationPoint], lam: float) -> float:
    """τ-b with pairs counted w_i·w_j, pair by pair."""
    agree = metric = human = 0.0
    for a, b in combinations(data, 2):
        m = np.sign(round(score_at(a.dist_exp, a.dist_imp, lam) - score_at(b.dist_exp, b.dist_imp, lam), 9))
        h, w = np.sign(a.human - b.human), a.weight * b.weight
        agree, metric, human = agree + w * m * h, metric + w * m * m, human + w * h * h
    return float(agree / math.sqrt(metric * human))


def test_the_agreement_is_the_sum_over_weighted_pairs() -> None:
    data = weighed(points(14, 0), 1)
    fit = calibrate(data, draws=0)
    for lam, key in ((0.0, "0"), (1.0, "1")):
        assert fit.at[key] == pytest.approx(tau(data, lam))
    assert fit.agreement == pytest.approx(tau(data, fit.lam))
    others = [tau(data, lam) for lam in np.geomspace(0.01, 100, 60)]
    assert fit.agreement >= max(others) - 1e-9
    assert "|weights:1/probability|" in fit.signature
    # plain BARTScore is weighed alike: its score falls with the number of the segment
    plain = [p._replace(dist_exp=-(p.score_hyp or 0), dist_imp=-(p.score_hyp or 0)) for p in data]
    assert fit.at["vanilla"] == pytest.approx(tau(plain, 1.0))


def test_whole_weights_are_copies_of_outputs() -> None:
    data = [p._replace(weight=float(1 + i % 3)) for i, p in enumerate(points(12, 2))]
    copies = [p._replace(weight=1.0) for p in data for _ in range(int(p.weight))]
    for measure in ("kendall", "pearson"):
        one, many = (calibrate(x, measure=measure, draws=0) for x in (data, copies))
        assert (one.lam, one.agreement) == pytest.approx((many.lam, many.agreement))


def test_equal_weights_change_nothing() -> None:
    data = points(12, 3)
    same = calibrate([p._replace(weight=7.0) for p in data], draws=20)
    assert same == calibrate(data, draws=20)


def test_systems_means_and_segments_are_weighed() -> None:
    data = weighed(points(12, 4, "ABC"), 5)
    by_system = calibrate(data, group="system", measure="pearson", draws=0)
    means = {}
    for s in "ABC":
        mine = [p for p in data if p.key.system == s]
        w = [p.weight for p in mine]
        means[s] = [np.average([p[k] for p in mine], weights=w) for k in (1, 2, 3)]
    score = [-(m[0] + m[1]) for m in means.values()]
    assert by_system.at["1"] == pytest.approx(np.corrcoef(score, [m[2] for m in means.values()])[0, 1])
    within = calibrate(data, group="segment", draws=0)
    values, weights = [], []
    for segment in dict.fromkeys(p.key.segment for p in data):
        mine = [p for p in data if p.key.segment == segment]
        try:
            values.append(tau(mine, 1.0))
            weights.append(mine[0].weight)
        except ZeroDivisionError:
            continue
    assert within.at["1"] == pytest.approx(np.average(values, weights=weights))


@pytest.mark.parametrize(
    ("data", "options", "said"),
    [
        (weighed(points(12, 6), 7), {"measure": "acc_eq"}, "only Kendall's τ and Pearson's r"),
        (
            [p._replace(weight=1.0 + i) for i, p in enumerate(points(12, 6))],
            {"group": "segment"},
            "must have equal weights",
        ),
        (weighed(points(240, 6), 7), {}, "weights are not supported"),
    ],
)
def test_unusable_weights_are_reported_and_ignored(
    data: list[CalibrationPoint], options: dict[str, str], said: str
) -> None:
    def fit(of: list[CalibrationPoint]) -> Calibration:
        return calibrate(of, draws=0, **options)  # type: ignore[arg-type]

    found, plain = fit(data), fit([p._replace(weight=1.0) for p in data])
    assert any(said in note and "are not used" in note for note in found.notes)
    assert (found.lam, found.agreement, found.signature) == (plain.lam, plain.agreement, plain.signature)
