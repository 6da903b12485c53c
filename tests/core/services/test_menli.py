"""Weights and pooling strategies, against grids and arithmetic written out."""

import numpy as np
import pytest

from core.data import OutputKey, Value
from core.errors import UserError
from core.metrics import registry
from core.metrics.nli import STRATEGIES
from core.metrics.ranges import Range
from core.services import menli, menli_scores
from core.services.menli import Attacked, Judged, PathPoint
from core.stats.correlation import agreement

RNG = np.random.default_rng(3)
N = 60


def drawn(n: int = N) -> Judged:
    human = RNG.integers(0, 8, n).astype(float)
    nli, other = (np.clip(human / 8 + RNG.normal(0, s, n), 0, 1).round(6) for s in (0.5, 0.4))
    keys = tuple(OutputKey(f"s{i % 4}", f"d{i // 8}", f"{i // 4}") for i in range(n))
    return Judged(keys, nli, other, human)


def attacked(n: int = 200) -> Attacked:
    kinds = tuple(np.array(["addition", "omission", "negation"])[RNG.integers(0, 3, n)])
    return Attacked(kinds, *(RNG.normal(m, 0.3, n) for m in (0.6, 0.3, 0.4, 0.5)))


@pytest.mark.parametrize("measure", ["kendall", "spearman", "pearson"])
@pytest.mark.parametrize("group", ["pooled", "segment"])
def test_the_best_weight_is_no_worse_than_any_of_a_fine_grid(measure: str, group: str) -> None:
    judged = drawn()
    found = menli.best_weight(judged, measure=measure, group=group, draws=0)  # type: ignore[arg-type]
    segments = [k.segment for k in judged.keys]

    def at(w: float) -> float:
        mixed = (w * judged.nli + (1 - w) * judged.other).round(12)
        return agreement(measure, mixed, judged.human, group=group, segments=segments).value or -1.0  # type: ignore[arg-type]

    on_grid = [at(w) for w in np.linspace(0.0005, 0.9995, 1000)]
    assert found.agreement == pytest.approx(at(found.w), abs=1e-9)
    assert found.agreement >= max(on_grid) - 1e-9
    assert found.at == (pytest.approx(at(0)), pytest.approx(at(1)))
    if measure != "pearson":
        assert at((found.low + found.high) / 2) == pytest.approx(found.agreement, abs=1e-9)


def test_the_weight_has_an_interval_and_is_cross_validated_over_documents() -> None:
    cases = attacked()
    found = menli.best_weight(drawn(), cases, draws=40)
    assert found.ci is not None
    assert 0 <= found.ci[0] <= found.ci[1] <= 1
    assert found.held_out is not None
    assert found.robustness == menli.robustness(cases, found.w)


def test_robustness_changes_at_the_flips_only() -> None:
    cases = attacked(60)
    turns = menli.flips(cases)
    assert len(turns) > 5
    fine = np.linspace(0, 1, 4001)
    values = [menli.robustness(cases, float(w)) for w in fine]
    for a, b, left, right in zip(values, values[1:], fine, fine[1:], strict=False):
        assert a == b or ((turns >= left) & (turns <= right)).any()


def test_one_case_turns_right_at_the_weight_written_out() -> None:
    """ΔN = .6, ΔM = −.2: w·.6 − (1 − w)·.2 > 0 from w = .25 on."""
    case = Attacked(("addition",), *(np.array([x]) for x in (0.8, 0.2, 0.3, 0.5)))
    assert menli.flips(case) == pytest.approx([0.25])
    assert [menli.robustness(case, w) for w in (0, 0.24, 0.26, 1)] == [0, 0, 1, 1]


def test_the_path_goes_from_the_other_metric_to_the_nli_metric() -> None:
    judged, cases = drawn(), attacked()
    points = menli.path(judged, cases)
    assert [p.w for p in points] == pytest.approx([i / 10 for i in range(11)])
    for point, scores in ((points[0], judged.other), (points[-1], judged.nli)):
        assert point.quality == pytest.approx(float(np.corrcoef(scores, judged.human)[0, 1]))
    assert points[0].robustness == menli.robustness(cases, 0)
    assert menli.path(None, cases)[3].quality is None
    assert menli.path(judged, None)[3].robustness is None


def test_a_missing_score_of_one_metric_leaves_out_a_case_where_it_counts() -> None:
    cases = Attacked(("addition",) * 2, np.array([np.nan, 0.9]), np.zeros(2), np.array([0.5, 0.5]), np.zeros(2))
    assert [menli.robustness(cases, w) for w in (0, 0.5, 1)] == [1, 1, 1]
    assert menli.robustness(cases._replace(nli_good=np.full(2, np.nan)), 0.5) is None


def test_improvements_are_shares_of_each_metrics_own_value() -> None:
    """From .5 to .6: +20 %; from .4 to .4: 0 %; the mean is +10 %."""
    paths = {
        "a": [PathPoint(0, 0.5, 0.5), PathPoint(0.1, 0.6, 0.5)],
        "b": [PathPoint(0, 0.4, None), PathPoint(0.1, 0.4, 0.9)],
    }
    rows = {(r.what, r.w): r.change for r in menli.improvements(paths)}
    assert rows["quality", 0.1].value == pytest.approx(0.1)
    assert (rows["quality", 0.1].low, rows["quality", 0.1].high) == (pytest.approx(0.0), pytest.approx(0.2))
    assert rows["robustness", 0.1].value == 0
    assert rows["robustness", 0.1].n == 1


def test_the_grid_has_every_strategy_with_its_agreement_and_accuracy() -> None:
    human = RNG.normal(size=40)
    e = 1 / (1 + np.exp(-human))
    shares = np.zeros((40, 2, 3))
    shares[:, 0] = np.column_stack((e, 1 - e, np.zeros(40)))  # forward knows, backward says nothing
    shares[:, 1] = [1 / 3, 1 / 3, 1 / 3]
    rows = menli.grid(shares, human, shares[:1] + 0.0, shares[1:2] + 0.0, ["addition"], measure="kendall")
    found = {(r.direction, r.formula): r for r in rows}
    assert list(found) == list(STRATEGIES)
    assert found["forward", "e"].quality == found["both", "e-n"].quality == 1
    assert found["backward", "e"].quality is None
    assert found["forward", "-c"].quality is None
    assert found["forward", "e"].robustness == float(e[0] > e[1])


def test_a_strategy_is_chosen_without_the_dataset_it_is_tried_on() -> None:
    """Backward −c wins on two of three: on them it is chosen by the one other and loses to e elsewhere."""
    low = dict.fromkeys(STRATEGIES, 0.1)
    first, second = ("both", "e"), ("backward", "-c")
    values = {
        "x": low | {first: 0.9, second: 0.5},
        "y": low | {first: 0.4, second: 0.6},
        "z": low | {first: 0.2, second: 0.8},
    }
    rows = {r.dataset: r for r in menli.leave_one_out(values)}
    assert (rows["x"].direction, rows["x"].formula, rows["x"].wins, rows["x"].value) == (*second, 2, 0.5)
    assert (rows["x"].best, rows["x"].best_value) == (first, 0.9)
    # y: one win each on x and z; the means are .55 and .65
    assert ((rows["y"].direction, rows["y"].formula), rows["y"].wins) == (second, 1)
    with pytest.raises(UserError, match="at least two"):
        menli.leave_one_out({"x": low})


def test_stored_values_become_scaled_scores_and_probabilities() -> None:
    ter, nli = registry.load("ter").spec, registry.load("nli").spec
    keys = [OutputKey("s", "d", str(i)) for i in range(3)]
    n = {k: Value(v) for k, v in zip(keys, (0.2, 0.4, 0.6), strict=True)}
    m = {keys[0]: Value(50.0), keys[1]: Value(None, "undefined", "why"), keys[2]: Value(0.0)}
    judged = menli_scores.judged(n, m, dict.fromkeys(keys, 1.0), (nli, ter), (Range(0, 1, ""), Range(0, 100, "")))
    assert judged.keys == (keys[0], keys[2])
    assert judged.nli == pytest.approx([0.2, 0.6])
    assert judged.other == pytest.approx([0.5, 1.0])
    parts = {f"{k}_{way}": i + 3 * j for j, way in enumerate(("forward", "backward")) for i, k in enumerate("enc")}
    shares = menli_scores.shares([Value(0.0, parts=parts), Value(None, "undefined", "why")])
    assert shares[0].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert np.isnan(shares[1]).all()
