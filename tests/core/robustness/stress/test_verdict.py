"""The rule: when a metric passes, fails, or nothing can be told."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

from core.robustness.stress.verdict import DropEstimate, VerdictResult, drops, estimates, judge, steps


def judged(
    falls: "list[list[float]] | np.ndarray",
    *,
    graded: bool = True,
    draws: int = 500,
    higher: bool = True,
    sd: float = 0.2,
) -> VerdictResult:
    values = np.array(falls, dtype=np.float64)
    down = estimates(values, 0, draws)
    up = estimates(steps(values), 0, draws) if graded and len(values) > 1 else []
    labels = [f"{k + 1}0%" for k in range(len(values))]
    return judge(labels, down, up, gold=1.0, sd=sd, higher_is_better=higher, texts=values.shape[1])


SPREAD = np.random.default_rng(1).normal(0, 0.05, 40)
EVEN = SPREAD - SPREAD.mean()
OTHER = np.random.default_rng(2).normal(0, 0.05, 40)
WIDE = np.array([-1.0, 1.2] * 10)
STILL = "At 10% the mean is 1 (good texts: 1):"
SMALL = "a drop of more than 0.02 (0.1 SD of the scores of the good texts) is excluded"

VERDICTS = {
    "a clear fall from level to level": ([0.1 + SPREAD, 0.3 + SPREAD, 0.6 + SPREAD], {}, "pass", True, ""),
    "a level that excludes a meaningful drop": (
        [0.2 + SPREAD, EVEN - 0.02, 0.4 + SPREAD], {}, "fail", False, f"At 20% the mean is 1.02 (good texts: 1): {SMALL} (95 % CI −0.0"),
    # the interval of a mean of −0.005 over 40 texts of deviation 0.05 goes up to about −0.005 + 2 · 0.05 / √40 = 0.011
    "a chance rise above gold": ([EVEN - 0.005, 0.4 + SPREAD], {"sd": 0.05}, "unclear", False, ""),
    "a rise above gold that excludes a drop": ([EVEN - 0.005, 0.4 + SPREAD], {"sd": 0.2}, "fail", False, ""),
    "a drop that is shown, however small": ([0.01 + SPREAD / 100], {"sd": 1.0}, "pass", True, "The drop is significant at every level. Weakest level: at 10%"),
    "no move at all": ([[0.0] * 10], {"graded": False}, "fail", False, f"{STILL} {SMALL} (95 % CI 0 to 0)."),
    "one score for all gold texts": ([[0.0] * 10], {"graded": False, "sd": 0.0}, "fail", False, f"{STILL} any drop is excluded (95 % CI 0 to 0)."),
    "a significant rise between levels": (
        [0.5 + SPREAD, 0.2 + SPREAD, 0.6 + SPREAD], {}, "fail", False, "With more noise the mean rises from 0.4999 at 10% to 0.7999 at 20%"),
    "levels that are no grades, in any order": ([0.5 + SPREAD, 0.2 + SPREAD, 0.6 + SPREAD], {"graded": False}, "pass", True, ""),
    "a chance rise between levels": ([0.31 + EVEN, 0.305 + OTHER - OTHER.mean()], {}, "pass", False, ""),
    "a drop that is not significant": (
        [WIDE, 0.5 + 0 * WIDE], {}, "unclear", True,
        "At 10% the mean is 0.9 (good texts: 1): the drop is not significant, but a meaningful drop is not excluded (drop 0.1, "),
    "fewer than five texts": ([[1.0] * 4], {}, "untold", None, "4 texts could be compared; at least 5 are needed."),
    "five texts": ([[1.0] * 5], {}, "pass", True, ""),
    "a rise where lower is better": ([[-0.5] * 6], {"higher": False}, "fail", False, "At 10% the mean is 0.5 (good texts: 1): a drop of more than"),
}  # fmt: skip


@pytest.mark.parametrize(("falls", "options", "verdict", "published", "why"), VERDICTS.values(), ids=VERDICTS)
def test_a_metric_passes_fails_or_has_no_result(
    falls: "list[list[float]]", options: dict[str, float], verdict: str, published: bool | None, why: str
) -> None:
    result = judged(falls, **options)  # type: ignore[arg-type]
    assert (result.verdict, result.published) == (verdict, published)
    assert result.why.startswith(why)


def test_where_lower_is_better_a_drop_is_a_rise_of_the_number() -> None:
    assert drops(np.array([10.0]), np.array([[12.0], [9.0]]), higher_is_better=False).tolist() == [[2.0], [-1.0]]


def test_differences_of_rounding_are_none() -> None:
    third = np.array([1 / 3, 100.0])
    assert drops(third, np.array([[0.1 + 0.2 + 1 / 30, 100.0 - 1e-13]])).tolist() == [[0.0, 0.0]]


def test_holm_asks_for_more_where_there_are_more_levels() -> None:
    # one level of p = .03 is shown; of two with p = .03 both have an adjusted p of .06
    once, gold = DropEstimate(0.1, 0.01, 0.2, 0.03), {"gold": 1.0, "sd": 0.2, "higher_is_better": True, "texts": 20}
    assert judge(["a"], [once], [], **gold).verdict == "pass"
    assert judge(["a", "b"], [once, once], [], **gold).verdict == "unclear"


def test_one_changed_text_among_many_shows_no_drop() -> None:
    # a drawing of ten texts misses the one that fell with probability .9^10 = .35
    (one,) = estimates(np.array([[1.0] + [0.0] * 9]), 0, 4000)
    assert one.p == pytest.approx(0.9**10, abs=0.03)


def test_the_interval_is_that_of_the_percentile_bootstrap() -> None:
    # two texts, 0 and 1: the mean of a drawing of two is 0, ½ or 1 with probabilities ¼, ½, ¼
    (one,) = estimates(np.array([[0.0, 1.0]]), 0, 1000)
    assert (one.mean, one.low, one.high) == (0.5, 0.0, 1.0)


IN_SHORT = {(5, 1, "skewed"), (10, 3, "normal"), (40, 3, "sparse"), (10, 1, "normal")}
"""Numbers of texts and levels, and kinds of differences, that `make test` simulates."""


@pytest.mark.parametrize(
    ("n", "levels", "kind"),
    [
        pytest.param(*case, marks=[] if case in IN_SHORT else pytest.mark.extended)
        for case in product([5, 10, 40], [1, 3], ["normal", "sparse", "skewed"])
    ],
)
def test_under_no_effect_at_most_five_percent_pass(n: int, levels: int, kind: str) -> None:
    rng, passed, runs = np.random.default_rng([n, levels]), 0, 300
    for _ in range(runs):
        own = rng.normal(size=(levels, n))
        if kind == "sparse":
            own = np.sign(own) * (rng.random((levels, n)) < 0.15)
        elif kind == "skewed":
            own = 1 - rng.exponential(size=(levels, n))
        passed += judged(own, graded=False, draws=199).verdict == "pass"
    # the standard error of a share of .05 over 300 runs is .0126; two of them are allowed. Exponential differences, whose long tail is
    # on the wrong side, are the known limit of few texts: one in ten
    assert passed / runs <= (0.10 if kind == "skewed" and levels == 1 and n <= 10 else 0.05 + 2 * 0.0126)


def test_a_step_without_changed_texts_is_not_tested() -> None:
    falls, facts = (
        [DropEstimate(0.5, 0.4, 0.6, 0.001)] * 3,
        {"gold": 1.0, "sd": 0.2, "higher_is_better": True, "texts": 20},
    )
    tie, rise = DropEstimate(0.0, 0.0, 0.0, 1.0), DropEstimate(0.1, 0.05, 0.15, 0.03)
    assert judge(["a", "b", "c"], falls, [tie, tie], **facts).published is False
    assert judge(["a", "b", "c"], falls, [None, None], **facts)[::2] == ("pass", True)
    # of two steps p = .03 becomes .06, alone it stays
    assert judge(["a", "b", "c"], falls, [tie, rise], **facts).verdict == "pass"
    assert judge(["a", "b", "c"], falls, [None, rise], **facts).verdict == "fail"


def simulated(levels: int, n: int, drop: float, *, graded: bool = False, runs: int = 400) -> Counter[str]:
    """Verdicts where every level has that true drop, in standard deviations of gold, and differences deviate by one of them,
    independently over texts and levels: the least favourable to several levels."""
    rng, verdicts = np.random.default_rng([levels, n, round(drop * 10)]), Counter[str]()
    for _ in range(runs):
        sd = float(rng.normal(size=n).std(ddof=1))
        verdicts[judged(drop + rng.normal(size=(levels, n)), graded=graded, draws=300, sd=sd).verdict] += 1
    return verdicts


@pytest.mark.parametrize(
    ("n", "levels"),
    [
        pytest.param(*case, marks=[] if case in ((10, 5), (40, 1)) else pytest.mark.extended)
        for case in product([10, 20, 40, 100], [1, 5])
    ],
)
def test_a_metric_with_a_true_drop_seldom_fails_by_chance(n: int, levels: int) -> None:
    # two standard errors of a share of .05 over 400 runs, .0109 each, are allowed
    assert simulated(levels, n, 0.3)["fail"] / 400 <= 0.05 + 2 * 0.0109
