"""The matrix of self-evaluation against Tables 5 and 6 of He et al. 2023, and arithmetic."""

from statistics import fmean, pstdev

import numpy as np
import pytest

from core.errors import UserError
from core.robustness.self_evaluation import Evaluator, matrix

GPT = ("small", "med", "large")
TABLE_5 = {
    "GPT2-small": (-21.08, -24.35, -24.36),
    "GPT2-med": (-23.20, -17.48, -19.06),
    "GPT2-large": (-22.87, -18.56, -15.04),
    "OPT-2.7b": (-24.24, -19.08, -17.20),
}
BASES = ("BT-base", "BT-large", "T5-small", "T5-base")
TABLE_6 = {
    "BT-base": (-0.270, -0.361, -0.367, -0.392),
    "BT-large": (-0.357, -0.278, -0.390, -0.389),
    "T5-small": (-0.359, -0.397, -0.227, -0.362),
    "T5-base": (-0.335, -0.344, -0.331, -0.226),
    "BS-para-p": (-3.790, -3.762, -3.847, -3.786),
}


def table_5() -> list[Evaluator]:
    return [
        Evaluator(name, name.removeprefix("GPT2-"), True, {g: [s] for g, s in zip(GPT, row, strict=True)})
        for name, row in TABLE_5.items()
    ]


def table_6(tag: int) -> list[Evaluator]:
    """Tags of `tag` letters: 2 for families, all for single models."""
    return [
        Evaluator(name, name[:tag], True, {g: [s] for g, s in zip(BASES, row, strict=True)})
        for name, row in TABLE_6.items()
    ]


def z(row: tuple[float, ...], at: int) -> float:
    return (row[at] - fmean(row)) / pstdev(row)


def test_table_5_every_gpt_ranks_its_own_generator_first() -> None:
    table = matrix(table_5(), {g: g for g in GPT})
    assert table.reason == ""
    ranks = {row.name: tuple(row.ranks.values()) for row in table.rows}
    assert ranks == {"GPT2-small": (1, 2, 3), "GPT2-med": (3, 1, 2), "GPT2-large": (3, 2, 1), "OPT-2.7b": (3, 2, 1)}
    assert [row.own for row in table.rows] == [("small",), ("med",), ("large",), ()]
    assert table.rows[0].means == {"small": -21.08, "med": -24.35, "large": -24.36}


def test_table_5_bias_is_the_own_z_less_the_mean_z_of_the_others() -> None:
    """GPT2-small: its row has mean −23.2633 and deviation 1.5439, so z(small) = 2.1833 / 1.5439 = 1.4142. The others give small
    −3.2867 / 2.4119 = −1.3627, −4.0467 / 3.2020 = −1.2638 and −4.0667 / 2.9762 = −1.3664, on average −1.3310: 2.7452."""
    table = matrix(table_5(), {g: g for g in GPT})
    assert table.rows[0].bias.value == pytest.approx(2.7452, abs=2e-4)
    for i, name in enumerate(("GPT2-small", "GPT2-med", "GPT2-large")):
        others = fmean(z(row, i) for other, row in TABLE_5.items() if other != name)
        assert table.rows[i].bias.value == pytest.approx(z(TABLE_5[name], i) - others)
        assert table.rows[i].bias.value > 0
        assert table.rows[i].bias.reason == "a CI needs at least two segments"
    assert table.rows[3].bias.value is None
    assert table.rows[3].bias.reason == "no system is based on its model"


def test_table_6_every_evaluator_favours_its_own_model() -> None:
    table = matrix(table_6(9), {b: b for b in BASES})
    for i, base in enumerate(BASES):
        assert table.rows[i].ranks[base] == 1
        assert table.rows[i].bias.value is not None
        assert table.rows[i].bias.value > 0
    assert list(table.rows[4].ranks.values()) == [3, 1, 4, 2]  # −3.762 > −3.786 > −3.790 > −3.847
    assert list(table.rows[0].ranks.values()) == [1, 2, 3, 4]
    assert list(table.rows[3].ranks.values()) == [3, 4, 2, 1]


def test_table_6_by_families_both_bart_and_t5_favour_their_own() -> None:
    table = matrix(table_6(2), {b: b[:2] for b in BASES})
    for row in table.rows[:4]:
        assert row.own == (BASES[:2] if row.based == "BT" else BASES[2:])
        assert row.bias.value is not None
        assert row.bias.value > 0.3
    # BART-base: its own are the first two; metrics on other models are the two T5 and BARTScore-para
    own = fmean(z(TABLE_6["BT-base"], i) for i in (0, 1))
    others = fmean(fmean(z(TABLE_6[n], i) for i in (0, 1)) for n in ("T5-small", "T5-base", "BS-para-p"))
    assert table.rows[0].bias.value == pytest.approx(own - others)


def test_where_lower_is_better_ranks_and_bias_are_turned() -> None:
    higher = matrix(table_5(), {g: g for g in GPT})
    turned = [
        e._replace(higher_is_better=False, scores={g: [-s for s in v if s] for g, v in e.scores.items()})
        for e in table_5()
    ]
    lower = matrix(turned, {g: g for g in GPT})
    assert [r.ranks for r in lower.rows] == [r.ranks for r in higher.rows]
    assert [r.bias.value for r in lower.rows[:3]] == pytest.approx([r.bias.value for r in higher.rows[:3]])
    assert lower.rows[0].means["small"] == 21.08


def two(own: list[float | None], other: list[float | None]) -> list[Evaluator]:
    """Metrics on a and on b: the first gives system A `own` and B 0, the second A `other` and B 0."""
    zero: list[float | None] = [0.0] * len(own)
    return [Evaluator("m", "a", True, {"A": own, "B": zero}), Evaluator("n", "b", True, {"A": other, "B": zero})]


def test_only_segments_that_all_have_count() -> None:
    table = matrix(two([1, None, 3, float("nan"), 5], [1, 1, None, 1, -7]), {"A": "a", "B": "b"})
    assert (table.segments, table.left_out) == (2, 3)
    assert table.rows[0].means == {"A": 3.0, "B": 0.0}  # of 1 and 5
    assert table.rows[1].means == {"A": -3.0, "B": 0.0}  # of 1 and −7


def test_the_interval_is_over_segments_and_repeats_with_its_seed() -> None:
    """With two systems z is 1 or −1: the first metric always puts A above B; the second does so where the drawn sum is above 0.
    Bias is then 1 − 1 = 0, or 1 − (−1) = 2."""
    rng = np.random.default_rng(1)
    noisy = list(rng.normal(-0.1, 1.0, 40))
    noisy_two = two([1.0] * 40, noisy), {"A": "a", "B": "b"}
    table = matrix(*noisy_two, seed=7, draws=400)
    bias = table.rows[0].bias
    assert bias.value == pytest.approx(2.0 if sum(noisy) < 0 else 0.0)
    assert (bias.low, bias.high) == pytest.approx((0.0, 2.0))
    assert bias.n == 40
    assert matrix(*noisy_two, seed=7, draws=400) == table


def test_a_certain_bias_has_an_interval_without_0() -> None:
    rng = np.random.default_rng(0)
    systems = ("A", "B", "C")
    quality = rng.normal(0, 1, 60)
    scores = {
        name: {g: list(quality + rng.normal(0, 0.3, 60) + (2.0 if g == own else 0.0)) for g in systems}
        for name, own in (("m", "A"), ("n", "B"), ("o", "C"))
    }
    evaluators = [Evaluator(n, "abc"["mno".index(n)], True, s) for n, s in scores.items()]
    table = matrix(evaluators, {"A": "a", "B": "b", "C": "c"}, draws=200)
    assert all(row.bias.low is not None and row.bias.low > 0 for row in table.rows)


@pytest.mark.parametrize(
    ("evaluators", "generators", "why"),
    [
        (two([1, 2], [1, 2]), {"A": "a"}, "a comparison needs at least two systems"),
        (two([1, 2], [1, 2])[:1], {"A": "a", "B": "b"}, "a comparison needs at least two metrics"),
        ([], {"A": "a", "B": "b"}, "a comparison needs at least two metrics"),
        (two([1, None], [None, 2]), {"A": "a", "B": "b"}, "no segment has a score of every metric for every system"),
    ],
)
def test_without_a_comparison_there_is_no_matrix_but_a_reason(
    evaluators: list[Evaluator], generators: dict[str, str], why: str
) -> None:
    table = matrix(evaluators, generators)
    assert (table.rows, table.reason) == ((), why)


@pytest.mark.parametrize(
    ("generators", "evaluators", "why"),
    [
        ({"A": "x", "B": "y"}, two([1, 2], [1, 2]), "no system is based on its model"),
        ({"A": "a", "B": "a"}, two([1, 2], [1, 2]), "all systems are based on its model"),
        ({"A": "a", "B": "b"}, two([1, -1], [1, 2]), "a metric gives all systems the same mean"),
        (
            {"A": "a", "B": "b"},
            [e._replace(based="a") for e in two([1, 2], [1, 2])],
            "no metric is based on another model",
        ),
    ],
)
def test_a_bias_that_cannot_be_told_says_why(generators: dict[str, str], evaluators: list[Evaluator], why: str) -> None:
    bias = matrix(evaluators, generators).rows[0].bias
    assert (bias.value, bias.low, bias.high, bias.reason) == (None, None, None, why)


def test_scores_that_do_not_fit_together_are_an_error() -> None:
    with pytest.raises(UserError, match="no scores for this system"):
        matrix(two([1], [1]), {"A": "a", "C": "b"})
    uneven = [Evaluator("m", "a", True, {"A": [1.0], "B": [1.0, 2.0]})]
    with pytest.raises(UserError, match="different numbers of segments"):
        matrix(uneven, {"A": "a", "B": "b"})
