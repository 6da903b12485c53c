"""Weights and pooling strategies, against grids and arithmetic written out."""

import numpy as np
import pytest

from core.calibration import breakpoints
from core.data import OutputKey, Value
from core.errors import UserError
from core.metrics import registry
from core.metrics.entailment.nli import STRATEGIES
from core.metrics.ranges import Range
from core.services.robustness import combining, nli_weights
from core.services.robustness.combining import ScaledMetric
from core.services.robustness.nli_weights import Attacked, OutputsOfBoth, PathPoint
from core.stats.correlation.correlation import agreement

RNG = np.random.default_rng(3)
N = 60


def drawn(n: int = N) -> OutputsOfBoth:
    human = RNG.integers(0, 8, n).astype(float)
    nli, other = (np.clip(human / 8 + RNG.normal(0, s, n), 0, 1).round(6) for s in (0.5, 0.4))
    keys = tuple(OutputKey(f"s{i % 4}", f"d{i // 8}", f"{i // 4}") for i in range(n))
    return OutputsOfBoth(keys, nli, other, human)


def attacked(n: int = 200) -> Attacked:
    kinds = tuple(np.array(["addition", "omission", "negation"])[RNG.integers(0, 3, n)])
    return Attacked(kinds, *(RNG.normal(m, 0.3, n) for m in (0.6, 0.3, 0.4, 0.5)))


@pytest.mark.parametrize("measure", ["kendall", "spearman", "pearson"])
@pytest.mark.parametrize("group", ["pooled", "segment"])
def test_the_best_weight_is_no_worse_than_any_of_a_fine_grid(measure: str, group: str) -> None:
    judged = drawn()
    found = nli_weights.best_weight(judged, measure=measure, group=group, draws=0)  # type: ignore[arg-type]
    segments = [k.segment for k in judged.keys]

    def at(w: float) -> float:
        mixed = (w * judged.nli + (1 - w) * judged.other).round(12)
        return agreement(measure, mixed, judged.human, group=group, segments=segments).value or -1.0  # type: ignore[arg-type]

    on_grid = [at(w) for w in np.linspace(0.0005, 0.9995, 1000)]
    assert found.agreement == pytest.approx(at(found.w), abs=1e-9)
    assert found.agreement >= max(on_grid) - 1e-9
    assert found.at == (pytest.approx(at(0)), pytest.approx(at(1)))
    if measure != "pearson":
        assert (found.curve[0], found.curve[-1]) == ((0.0, found.at[0]), (1.0, found.at[1]))
        assert max(value or -1 for _, value in found.curve) == pytest.approx(found.agreement)
        assert [w for w, _ in found.curve] == sorted(w for w, _ in found.curve)
        assert at((found.low + found.high) / 2) == pytest.approx(found.agreement, abs=1e-9)


def test_the_best_weight_is_cross_validated_or_says_why_there_is_none() -> None:
    cases, judged = attacked(), drawn()
    best = nli_weights.best_weight(judged, cases, draws=40)
    assert best.ci is not None
    assert 0 <= best.ci[0] <= best.ci[1] <= 1
    assert best.held_out is not None
    assert best.robustness == nli_weights.robustness(cases, best.w)
    with pytest.raises(UserError, match="no weight agrees best") as error:
        nli_weights.best_weight(judged._replace(human=np.ones(N)), draws=0)
    assert "λ" not in str(error.value)
    assert not any("λ" in note for note in nli_weights.best_weight(judged, draws=0).notes)


def test_accuracy_steps_equal_robustness() -> None:
    cases = attacked(60)
    steps = nli_weights.accuracy_steps(cases)
    assert steps[0] == (0.0, nli_weights.robustness(cases, 0))
    assert steps[-1] == (1.0, nli_weights.robustness(cases, 1))
    assert [w for w, _ in steps[2:-1]] == pytest.approx(nli_weights.flips(cases).tolist())
    for (low, value), (high, _) in zip(steps[1:-1], steps[2:], strict=True):
        assert nli_weights.robustness(cases, low + (high - low) / 3) == value
    assert len(nli_weights.accuracy_steps(cases, limit=10)) == 12  # ten stretches and both ends


def test_one_case_turns_right_at_the_weight_written_out() -> None:
    """ΔN = .6, ΔM = −.2: w·.6 − (1 − w)·.2 > 0 from w = .25 on."""
    case = Attacked(("addition",), *(np.array([x]) for x in (0.8, 0.2, 0.3, 0.5)))
    assert nli_weights.flips(case) == pytest.approx([0.25])
    assert [nli_weights.robustness(case, w) for w in (0, 0.24, 0.26, 1)] == [0, 0, 1, 1]


def test_the_path_goes_from_the_other_metric_to_the_nli_metric() -> None:
    judged, cases = drawn(), attacked()
    points = nli_weights.path(judged, cases)
    assert [p.w for p in points] == pytest.approx([i / 10 for i in range(11)])
    for point, scores in ((points[0], judged.other), (points[-1], judged.nli)):
        assert point.quality == pytest.approx(float(np.corrcoef(scores, judged.human)[0, 1]))
    assert points[0].robustness == nli_weights.robustness(cases, 0)
    assert nli_weights.path(None, cases)[3].quality is None
    assert nli_weights.path(judged, None)[3].robustness is None


def test_cases_with_a_missing_score_are_left_out() -> None:
    """The other metric alone is right in both cases that the NLI metric has no score for, and wrong in the others: on all four it
    would get ½ where on the two that both have scored it gets none."""
    cases = Attacked(
        ("addition",) * 4, np.array([np.nan, np.nan, 0.9, 0.9]), np.full(4, 0.5),
        np.array([0.9, 0.9, 0.1, 0.1]), np.full(4, 0.4),
    )  # fmt: skip
    assert [nli_weights.robustness(cases, w) for w in (0, 0.1, 0.9, 1)] == [0, 0, 1, 1]
    assert cases.compared == 2
    turned = Attacked(cases.phenomena, *cases[3:5], *cases[1:3])
    assert [nli_weights.robustness(turned, w) for w in (0, 0.1, 0.9, 1)] == [1, 1, 0, 0]
    assert nli_weights.robustness(cases._replace(nli_good=np.full(4, np.nan)), 0) is None


def test_improvements_are_shares_of_each_metrics_own_value() -> None:
    """From .5 to .6: +20 %; from .4 to .4: 0 %; the mean is +10 %."""
    paths = {
        "a": [PathPoint(0, 0.5, 0.5), PathPoint(0.1, 0.6, 0.5)],
        "b": [PathPoint(0, 0.4, None), PathPoint(0.1, 0.4, 0.9)],
    }
    rows = {(r.what, r.w): r.change for r in nli_weights.improvements(paths)}
    assert rows["quality", 0.1].value == pytest.approx(0.1)
    assert (rows["quality", 0.1].low, rows["quality", 0.1].high) == (pytest.approx(0.0), pytest.approx(0.2))
    assert rows["robustness", 0.1].value == 0
    assert rows["robustness", 0.1].n == 1


def test_the_grid_evaluates_every_strategy() -> None:
    human = RNG.normal(size=40)
    e = 1 / (1 + np.exp(-human))
    shares = np.zeros((40, 2, 3))
    shares[:, 0] = np.column_stack((e, 1 - e, np.zeros(40)))  # forward knows, backward says nothing
    shares[:, 1] = [1 / 3, 1 / 3, 1 / 3]
    rows = nli_weights.grid(shares, human, shares[:1] + 0.0, shares[1:2] + 0.0, ["addition"], measure="kendall")
    found = {(r.direction, r.formula): r for r in rows}
    assert list(found) == list(STRATEGIES)
    assert found["forward", "e"].quality == found["both", "e-n"].quality == 1
    assert found["backward", "e"].quality is None
    assert found["forward", "-c"].quality is None
    assert found["forward", "e"].robustness == float(e[0] > e[1])


def test_the_grid_can_group_by_segment() -> None:
    judged = drawn(16)
    shares = np.zeros((16, 2, 3))
    shares[:, 0, 0] = judged.nli
    shares[3] = np.nan
    keep = np.arange(16) != 3
    for group in ("segment", "system"):
        rows = nli_weights.grid(shares, judged.human, measure="pearson", group=group, keys=judged.keys)  # type: ignore[arg-type]
        keys = [k for k, there in zip(judged.keys, keep, strict=True) if there]
        expected = agreement(
            "pearson", judged.nli[keep], judged.human[keep], group=group,  # type: ignore[arg-type]
            segments=[k.segment for k in keys], systems=[k.system for k in keys],
        )  # fmt: skip
        assert rows[0].quality == pytest.approx(expected.value)


def test_a_strategy_is_chosen_without_the_dataset_it_is_tried_on() -> None:
    """Backward −c wins on two of three: on them it is chosen by the one other and loses to e elsewhere."""
    low = dict.fromkeys(STRATEGIES, 0.1)
    first, second = ("both", "e"), ("backward", "-c")
    values = {
        "x": low | {first: 0.9, second: 0.5},
        "y": low | {first: 0.4, second: 0.6},
        "z": low | {first: 0.2, second: 0.8},
    }
    rows = {
        name: nli_weights.left_out(name, of, [row for other, row in values.items() if other != name])
        for name, of in values.items()
    }
    assert (rows["x"].direction, rows["x"].formula, rows["x"].wins, rows["x"].value) == (*second, 2, 0.5)
    assert (rows["x"].best, rows["x"].best_value) == (first, 0.9)
    # y: one win each on x and z; the means are .55 and .65
    assert ((rows["y"].direction, rows["y"].formula), rows["y"].wins) == (second, 1)


def test_stored_values_become_scaled_scores_and_probabilities() -> None:
    nli, ter = (
        ScaledMetric(registry.load_metric("nli"), Range(0, 1, "")),
        ScaledMetric(registry.load_metric("ter"), Range(0, 100, "")),
    )
    keys = [OutputKey("s", "d", str(i)) for i in range(3)]
    n = {k: Value(v) for k, v in zip(keys, (0.2, 0.4, 0.6), strict=True)}
    m = {keys[0]: Value(50.0), keys[1]: Value(None, "undefined", "why"), keys[2]: Value(0.0)}
    pair = combining.pair(nli, ter, {"nli": n, "ter": m}, dict.fromkeys(keys, 1.0), [])
    assert pair is not None
    assert (judged := pair.judged) is not None
    assert judged.keys == (keys[0], keys[2])
    assert judged.nli == pytest.approx([0.2, 0.6])
    assert judged.other == pytest.approx([0.5, 1.0])
    parts = {f"{k}_{way}": i + 3 * j for j, way in enumerate(("forward", "backward")) for i, k in enumerate("enc")}
    shares = combining.shares([Value(0.0, parts=parts), Value(None, "undefined", "why")])
    assert shares[0].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert np.isnan(shares[1]).all()


def test_what_else_the_search_refuses_comes_through_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = drawn()
    with pytest.raises(UserError, match="nonsense") as error:
        nli_weights.best_weight(judged, measure="nonsense", draws=0)  # type: ignore[arg-type]
    assert "no weight" not in str(error.value)
    monkeypatch.setattr(breakpoints, "MOST_PAIRS", 10)
    with pytest.raises(UserError, match="too many outputs") as error:
        nli_weights.best_weight(judged, draws=0)
    assert "no weight" not in str(error.value)
