import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.stats.campaign.campaign_scores import CampaignScore
from core.stats.campaign.rater_effects import ScoreModel, rater_effects, standardised_scores
from core.stats.correlation.correlation import group_ids
from core.stats.correlation.pairs import Floats
from tests.core.stats.campaign.simulated import Design, simulated


def indicators(names: list[str]) -> Floats:
    found: Floats = np.eye(len(set(names)))[group_ids(names)]
    return found


@pytest.mark.parametrize("per_output", [1, 2])
def test_the_model_agrees_with_statsmodels(per_output: int) -> None:
    from statsmodels.regression.mixed_linear_model import MixedLM, VCSpec

    design = Design(items=14, systems=3, per_output=per_output, coverage=0.8, raters=5, system_item_sd=9, noise_sd=6)
    scores = simulated(np.random.default_rng(4), design)
    effects = {
        "item": indicators([str(s.item) for s in scores]),
        "output": indicators([f"{s.item} {s.system}" for s in scores]),
        "rater": indicators([s.rater for s in scores]),
    }
    if per_output == 1:
        del effects["output"]
    labels = [[[str(i) for i in range(m.shape[1])]] for m in effects.values()]
    model = MixedLM(
        np.array([s.value for s in scores]),
        indicators([s.system for s in scores]),
        groups=np.ones(len(scores)),
        exog_vc=VCSpec(list(effects), labels, [[m] for m in effects.values()]),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the oracle's covariance of the variances is not used
        oracle = model.fit(reml=True)
    found = rater_effects(scores)
    assert not found.reason
    assert [m.mean for m in found.means] == pytest.approx(oracle.fe_params.tolist(), abs=0.02)
    assert [m.error for m in found.means] == pytest.approx(oracle.bse_fe.tolist(), rel=0.01)
    variances = dict(zip(effects, oracle.vcomp, strict=True)) | {"residual": oracle.scale, "output": 0.0}
    if per_output == 2:
        variances["output"] = oracle.vcomp[1]
    assert found.variances == pytest.approx(variances, rel=0.03, abs=0.5)
    shares = {name: value / sum(found.variances.values()) for name, value in found.variances.items()}
    assert found.shares == pytest.approx(shares)
    systems = [m.system for m in found.means]
    covariance = np.asarray(oracle.cov_params())[:3, :3]
    for d in found.differences:
        c = np.eye(3)[systems.index(d.first)] - np.eye(3)[systems.index(d.second)]
        assert (d.high - d.low) / 2 == pytest.approx(1.96 * np.sqrt(c @ covariance @ c), rel=0.02)


def test_a_severe_rater_of_one_system_is_corrected() -> None:
    # equal systems; severe raters score A more often than B
    rng = np.random.default_rng(0)
    severity = {"kind": 15.0, "mild": 5.0, "strict": -15.0, "hard": -5.0}
    scores = []
    for i in range(150):
        item = rng.normal(60, 8)
        for system in "AB":
            share = 0.4 if system == "A" else 0.1
            rater = rng.choice(list(severity), p=[0.5 - share, 0.5 - share, share, share])
            scores.append(CampaignScore(system, i, str(rater), float(item + severity[rater] + rng.normal(0, 6))))
    plain = [np.mean([s.value for s in scores if s.system == system]) for system in "AB"]
    found = rater_effects(scores)
    (gap,) = found.differences
    assert plain[0] - plain[1] < -8
    assert gap.low < 0 < gap.high
    effects = {r.rater: r.effect for r in found.raters}
    assert effects["strict"] < effects["hard"] < effects["mild"] < effects["kind"]
    assert "4 raters" in found.note


def dense(point: tuple[float, float, float], scores: list[CampaignScore]) -> float:
    """−2·log of the restricted likelihood from the full covariance matrix, with σ² at its optimum."""
    y = np.array([s.value for s in scores])
    x = indicators([s.system for s in scores])
    z = [
        indicators(n)
        for n in (
            [str(s.item) for s in scores],
            [f"{s.item} {s.system}" for s in scores],
            [s.rater for s in scores],
        )
    ]
    v = np.eye(len(y)) + sum(ratio * m @ m.T for ratio, m in zip(point, z, strict=True))
    inverse = np.linalg.inv(v)
    xx = x.T @ inverse @ x
    rest = y - x @ np.linalg.solve(xx, x.T @ inverse @ y)
    degrees = len(y) - x.shape[1]
    logs = np.linalg.slogdet(v)[1] + np.linalg.slogdet(xx)[1]
    return float(logs + degrees * (1 + np.log(2 * np.pi * (rest @ inverse @ rest) / degrees)))


@given(st.integers(0, 1000), st.tuples(*[st.floats(0, 9)] * 3), st.integers(1, 3))
def test_the_likelihood_is_that_of_the_full_matrix(seed: int, point: tuple[float, float, float], k: int) -> None:
    scores = simulated(np.random.default_rng(seed), Design(items=6, systems=3, coverage=0.7, per_output=k, raters=4))
    scores = [s for i, s in enumerate(scores) if i % 5]
    names = [[s.system for s in scores], [s.item for s in scores], [s.rater for s in scores]]
    model = ScoreModel(np.array([s.value for s in scores]), *map(group_ids, names))
    assert model.deviance(np.array(point)) == pytest.approx(dense(point, scores), rel=1e-8, abs=1e-6)


def test_balanced_campaigns_keep_their_plain_differences() -> None:
    scores = simulated(np.random.default_rng(0), Design(items=20, systems=3, assignment="item", raters=4))
    effects = rater_effects(scores)
    plain = {name: np.mean([s.value for s in scores if s.system == name]) for name in ("S0", "S1", "S2")}
    for pair in effects.differences:
        assert pair.difference == pytest.approx(plain[pair.first] - plain[pair.second])
        assert pair.low < pair.difference < pair.high


def test_names_and_order_do_not_count() -> None:
    scores = simulated(np.random.default_rng(0), Design(items=15, systems=3, per_output=2, raters=4))
    plain = rater_effects(scores)
    other = rater_effects([s._replace(rater="x" + s.rater, item=-int(str(s.item))) for s in scores[::-1]])
    moved = rater_effects([s._replace(value=-2 * s.value + 7) for s in scores])
    reverse = {m.system: m for m in other.means}
    for mean, changed in zip(plain.means, moved.means, strict=True):
        assert reverse[mean.system].mean == pytest.approx(mean.mean, abs=1e-4)
        assert changed.mean == pytest.approx(7 - 2 * mean.mean, abs=1e-4)
        assert changed.error == pytest.approx(2 * mean.error, rel=1e-3)


def test_undefined_models_have_a_reason() -> None:
    two = [CampaignScore(s, i, r, float(i)) for s in "AB" for i in range(5) for r in "xy"]
    assert "at least 3 raters" in rater_effects(two).reason
    constant = [CampaignScore(s, i, r, 4.0) for s in "AB" for i in range(5) for r in "xyz"]
    assert "equal" in rater_effects(constant).reason
    additive = [
        CampaignScore(s, i, r, 10.0 * i * i + ord(r) + 3 * (s == "A")) for s in "AB" for i in range(5) for r in "xyz"
    ]
    assert "nothing remains" in rater_effects(additive).reason
    apart = [CampaignScore(s, i, f"{s}{i}", float(i)) for s in "AB" for i in range(5)]
    assert "overlap" in rater_effects(apart).reason
    assert rater_effects([]).reason


def test_z_scores_remove_the_scale_of_a_rater() -> None:
    scores = [CampaignScore("A", i, "strict", v) for i, v in enumerate((10, 20, 30))]
    scores += [CampaignScore("A", 9, "once", 50), CampaignScore("B", 8, "flat", 5), CampaignScore("B", 7, "flat", 5)]
    z_scores = standardised_scores(scores)
    assert [s.value for s in z_scores.scores] == pytest.approx([-1, 0, 1])
    assert z_scores.left_out == ("once", "flat")
