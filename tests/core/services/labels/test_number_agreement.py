"""Agreement in the numbers that raters gave."""

import krippendorff
import numpy as np
import pytest

from core.data import Judgement, OutputKey
from core.services.labels.judgements import number_agreement
from core.stats.raters.rater_agreement import krippendorff_alpha, rank_scores

NAN = float("nan")
FOUR = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
)
"""Krippendorff (2011), section C: four observers, twelve units; his ordinal α is .815, his interval α .849."""


def judged(name: str, scores: np.ndarray) -> list[Judgement]:
    return [
        Judgement(OutputKey("S", "", str(j)), f"r{i}", name, float(v))
        for (i, j), v in np.ndenumerate(scores)
        if not np.isnan(v)
    ]


def test_the_worked_example_of_krippendorff_is_met() -> None:
    (found,) = number_agreement(judged("likert", FOUR))
    assert found.alphas["ordinal"].value == pytest.approx(0.815, abs=5e-4)
    assert found.alphas["interval"].value == pytest.approx(0.849, abs=5e-4)
    assert (found.outputs, found.twice) == (12, 11)


def test_ordinal_alpha_is_that_of_the_package() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        scores = rng.integers(0, 6, (3, 15)).astype(float)
        scores[rng.random(scores.shape) < 0.3] = NAN
        package = krippendorff.alpha(scores, level_of_measurement="ordinal")
        assert krippendorff_alpha(rank_scores(scores), seed=0, draws=2).value == pytest.approx(package, abs=1e-9)


def test_raters_on_different_scales_agree_by_z() -> None:
    strict = np.array([10.0, 20, 30, 40])
    (found,) = number_agreement(judged("da", np.stack([strict, strict + 50])))
    # by hand: D_o = 2500; D_e of the 8 numbers: mean 50, Σ(v − 50)² = 2·(40²+30²+20²+10²) = 6000, D_e = 2·6000/7
    assert found.alphas["interval"].value == pytest.approx(1 - 2500 / (12000 / 7))
    assert found.alphas["z"].value == pytest.approx(1)
    assert found.pairs[0].tau.value == pytest.approx(1)
    assert [(r.rater, r.mean, r.outputs) for r in found.raters] == [("r0", 25, 4), ("r1", 75, 4)]


def test_ranks_are_compared_within_their_segment() -> None:
    # within each segment both raters rank alike; pooled over segments τ would count ties between them
    rows = [
        Judgement(OutputKey(system, "", segment), rater, "rank", rank)
        for rater in ("ann", "bob") for segment in "12" for system, rank in (("A", 1.0), ("B", 2.0))
    ]  # fmt: skip
    (found,) = number_agreement(rows)
    assert set(found.alphas) == {"ordinal"}
    assert (found.pairs[0].tau.value, found.pairs[0].tau.groups) == (1.0, 2)


def test_raters_who_share_nothing_have_no_tau_and_no_alpha() -> None:
    rows = [
        Judgement(OutputKey("A", "", "1"), "ann", "rank", 1.0),
        Judgement(OutputKey("A", "", "2"), "bob", "rank", 1.0),
    ]
    (found,) = number_agreement(rows)
    assert found.alphas["ordinal"].value is None
    assert found.pairs[0].tau.value is None
    assert found.pairs[0].tau.reason
