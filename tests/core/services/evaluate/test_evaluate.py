"""Metrics against people on data small enough to count: four segments, three systems."""

import math
from datetime import UTC, datetime
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from core.data import Dataset, Item, Output, OutputKey, Segment, Value
from core.formats.role_names import is_human_name
from core.metrics import registry
from core.ports.scores import ScoredBy
from core.refine.result import weighted
from core.reports.evaluation import methods
from core.services.calibrate.calibration import HumanScores
from core.services.evaluate import evaluation_data
from core.services.evaluate.evaluate import STATISTICS, AgreementOptions, evaluate, usual_group
from core.services.evaluate.evaluation_data import ScoredMetric, from_view, join
from core.services.evaluate.significance import (
    HUMAN,
    buckets,
    compare_all_systems,
    compare_metrics,
    contenders,
    draws_for,
    first_systems,
    top_systems,
    with_soft_intervals,
)
from core.stats.correlation import agreement_interval
from core.stats.significance.perm_both import williams
from core.stats.significance.system_comparison import holm
from core.stats.system_ranking import soft_pairwise_accuracy
from tests.core.stats.two_metrics import perm_both
from tests.views import view_of

HUMAN_SCORES = {"A": (0, -1, 0, -2), "B": (-1, -5, 0, -6), "C": (-10, -6, -25, -7)}  # means −.75, −3, −12
GOOD = {"A": (9, 7, 8, 6), "B": (8, 3, 9, 4), "C": (1, 2, 0, 5)}
POOR = {"A": (3, 1, 4, 1), "B": (5, 9, 2, 6), "C": (5, 3, 5, 8)}


def table(scores) -> dict[OutputKey, float]:
    return {OutputKey(s, f"d{i // 2}", str(i)): float(v) for s, values in scores.items() for i, v in enumerate(values)}


PEOPLE = HumanScores("mqm|scheme:google|v:1|raters:2", {k: (v, 2) for k, v in table(HUMAN_SCORES).items()}, ("x", "y"))
METRICS = [ScoredMetric("good", "Good", "good|v:1"), ScoredMetric("poor", "Poor", "poor|v:1", turned=True)]
VALUES = {"good": table(GOOD), "poor": table(POOR)}
ITEMS = {k: Item(f"source {k.segment_id}", "word " * (3 + i), ()) for i, k in enumerate(PEOPLE.scores)}


def joined(**more):
    return join(PEOPLE, METRICS, VALUES, **{"items": ITEMS, **more})


def flat(scores) -> list[float]:
    return [float(v) for values in scores.values() for v in values]


def test_values_without_intervals_are_the_same_and_not_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    data, calls = joined(), []
    real = evaluation_data.calibrate_ties_by
    monkeypatch.setattr(evaluation_data, "calibrate_ties_by", lambda *a, **k: calls.append(a[0]) or real(*a, **k))
    before = evaluate(data, AgreementOptions(draws=0))
    after = evaluate(data, AgreementOptions(draws=20))
    assert [(r.name, r.statistic, r.value, r.epsilon) for r in before.rows] == [
        (r.name, r.statistic, r.value, r.epsilon) for r in after.rows
    ]
    assert {r.low for r in before.rows} == {None} != {r.low for r in after.rows}
    assert len(calls) == len(data.scored_metrics)


def test_pooled_statistics_are_those_of_scipy() -> None:
    found = evaluate(joined(), AgreementOptions(draws=20))
    for name, scores in (("good", GOOD), ("poor", POOR)):
        m, h = flat(scores), flat(HUMAN_SCORES)
        assert found.of(name, "kendall").value == pytest.approx(stats.kendalltau(m, h).statistic)
        assert found.of(name, "spearman").value == pytest.approx(stats.spearmanr(m, h).statistic)
        assert found.of(name, "pearson").value == pytest.approx(stats.pearsonr(m, h).statistic)
        row = found.of(name, "kendall")
        assert row.low is not None
        assert row.low <= row.value <= row.high
        assert (row.n, row.status) == (12, "ok")


def test_acc_eq_within_segments_matches_counted_pairs() -> None:
    # Good in segments 0 to 3, people beside: (9 8 1 | 0 −1 −10), (7 3 2 | −1 −5 −6), (8 9 0 | 0 0 −25), (6 4 5 | −2 −6 −7).
    # At ε = 0 right: 3, 3, 2 (8 against 9 should tie), 2 (4 against 5): 10 of 12. At ε = 1 the tie of segment 2 is won, but
    # 9/8 and 3/2 are lost, and 4/5 stays wrong: 9 of 12. So ε = 0 is best. One pair of 12 ties: floor max(1/12, 11/24).
    row = evaluate(joined(), AgreementOptions(group="segment", draws=20)).of("good", "acc_eq")
    assert row.value == pytest.approx(10 / 12)
    assert row.epsilon == 0
    assert row.chance == pytest.approx(11 / 24)
    assert row.groups == 4


def test_system_level_compares_means() -> None:
    # Means of Good: 7.5, 6, 2: the order of people (3 of 3 pairs). Poor: 2.25, 5.5, 5.25: only B over C (1 of 3).
    found = evaluate(joined(), AgreementOptions(level="system", draws=20))
    assert found.of("good", "pairwise").value == 1
    assert found.of("poor", "pairwise").value == pytest.approx(1 / 3)
    assert found.of("poor", "kendall").value == pytest.approx((1 - 2) / 3)
    means = [[np.mean(v) for v in scores.values()] for scores in (GOOD, HUMAN_SCORES)]
    assert found.of("good", "pearson").value == pytest.approx(stats.pearsonr(*means).statistic)
    human, good = (np.array(list(s.values()), dtype=float) for s in (HUMAN_SCORES, GOOD))
    direct = soft_pairwise_accuracy(good, human, seed=0, draws=1000).value
    assert found.of("good", "soft_pairwise").value == pytest.approx(direct)
    assert found.of("good", "soft_pairwise").low is None
    slow = with_soft_intervals(found, draws=20).of("good", "soft_pairwise")
    assert slow.low is not None
    assert slow.low <= slow.high


def test_sentinels_come_last_with_reasons_if_undefined() -> None:
    found = evaluate(joined(), AgreementOptions(draws=5))
    assert found.order("kendall")[:2] == ["good", "poor"]
    assert all(n.startswith("sentinel:") for n in found.order("kendall")[2:])
    lengths = [-len(ITEMS[k].hypothesis) for k in found.joined.keys]
    expected = stats.kendalltau(lengths, found.joined.human).statistic
    assert found.of("sentinel:shortness", "kendall").value == pytest.approx(expected)
    copying = found.of("sentinel:copying", "kendall")
    assert (copying.value, copying.status, copying.reason) == (None, "undefined", "all metric scores are equal")
    assert not [c for c in joined(items=None).scored_metrics if c.sentinel]


def test_only_outputs_scored_by_all_metrics_are_compared() -> None:
    some = {k: v for k, v in VALUES["good"].items() if k.segment_id != "3"}
    values = {**VALUES, "good": some, "none": dict.fromkeys(PEOPLE.scores, math.nan)}
    data = join(PEOPLE, [*METRICS, ScoredMetric("none", "None", "none|v:1")], values, excluded=["C", "Z"], partly=True)
    assert len(data.keys) == 6
    assert data.set_aside == ""
    assert data.notes == ("Good has no score for 2 of 8 rated outputs; they are left out for all metrics.",)
    assert data.excluded == ("C",)
    row = evaluate(data, AgreementOptions(draws=5)).of("none", "kendall")
    assert (row.value, row.reason) == (None, "no rated output has a score")
    same_sample = {name: {k: v for k, v in of.items() if k.segment_id in "01"} for name, of in VALUES.items()}
    data = join(PEOPLE, METRICS, same_sample)
    assert len(data.keys) == 6
    assert [(p.scored, p.rated, p.aside) for p in data.partly] == [(6, 12, False)] * 2
    assert data.notes == ("6 of 12 rated outputs have not been scored and are left out.",)


def test_a_partly_scored_metric_is_set_aside_but_not_for_a_few_failures() -> None:
    some = {k: v for k, v in VALUES["good"].items() if k.segment_id == "3"}
    data = join(PEOPLE, METRICS, {**VALUES, "good": some})
    assert len(data.keys) == 12
    assert [m.name for m in data.metrics] == ["poor"]
    assert data.set_aside == "Excluded (partly scored): Good (3 of 12 rated outputs)."
    assert data.notes == ()
    assert data.set_aside in methods(evaluate(data, AgreementOptions(draws=5)))
    keys = [OutputKey(s, "d", str(i)) for i in range(50) for s in "AB"]
    human = HumanScores("h", {k: (float(hash(k) % 7), None) for k in keys})
    values = {"good": dict.fromkeys(keys[5:], 1.0), "poor": dict.fromkeys(keys, 2.0)}
    data = join(human, METRICS, values)
    assert (len(data.keys), data.set_aside) == (95, "")
    assert data.notes == ("Good has no score for 5 of 100 rated outputs; they are left out for all metrics.",)
    assert len(join(human, METRICS, {**values, "good": dict.fromkeys(keys[6:], 1.0)}).keys) == 100


def test_system_level_leaves_out_incomplete_segments() -> None:
    people = HumanScores("h", {k: v for k, v in PEOPLE.scores.items() if k != OutputKey("B", "d0", "0")})
    found = evaluate(join(people, METRICS, VALUES), AgreementOptions(level="system", draws=5))
    # Without segment 0 the means of Poor are 2, 17/3, 16/3; people −1, −11/3, −38/3: again one pair of three.
    assert found.of("poor", "pairwise").value == pytest.approx(1 / 3)
    assert found.joined.whole().n_segments == 3
    one = HumanScores("h", {k: v for k, v in PEOPLE.scores.items() if k.system == "A" or k.segment_id == "1"})
    row = evaluate(join(one, METRICS, VALUES), AgreementOptions(level="system")).of("good", "kendall")
    assert row.reason == "needs at least two segments that every system has"


def test_metric_tests_use_holm_over_all_pairs() -> None:
    found = evaluate(joined(), AgreementOptions(draws=5, seed=4))
    names = contenders(found, "kendall")
    assert len(names) == 3  # two metrics and one sentinel
    done = compare_metrics(found, "kendall")
    scores, keys = found.joined.scores, found.joined.keys
    raw = [
        perm_both("kendall", scores[a], scores[b], found.joined.human, segments=[k.segment for k in keys],
                  systems=[k.system for k in keys], seed=4, draws=1000).p
        for a, b in combinations(done.names, 2)
    ]  # fmt: skip
    assert [p.p for p in done.pairs] == raw
    assert [p.adjusted for p in done.pairs] == holm(raw)
    assert done.tied[0] == done.names[0] == "good"
    best = compare_metrics(found, "kendall", all_pairs=False)
    assert [(p.first, p.second, p.p) for p in best.pairs] == [(p.first, p.second, p.p) for p in done.pairs[:2]]
    assert [p.adjusted for p in best.pairs] == holm(raw[:2])
    rows = [r._replace(value=0.99) if r.name == names[-1] else r for r in found.rows]
    above = found._replace(rows=tuple(rows))  # the baseline agrees best
    best = compare_metrics(above, "kendall", all_pairs=False)
    assert [(p.first, p.second) for p in best.pairs] == [(names[-1], "good"), ("good", "poor")]
    assert (best.best, best.names[0], best.tied[:2]) == ("good", names[-1], ("good", names[-1]))
    assert len(best.of_best) == 2
    assert set(compare_metrics(above, "kendall").tied) == set(best.tied)
    pearson = compare_metrics(found, "pearson")
    assert pearson.test == "Williams’s test"
    first = pearson.pairs[0]
    assert first.p == williams(scores[first.first], scores[first.second], found.joined.human).p
    assert draws_for(66) == 40 * 66 - 1  # so that 66 / (draws + 1) is .025


def test_systems_have_the_ranks_that_the_tests_allow() -> None:
    done = compare_all_systems(joined(), HUMAN, seed=1)
    assert [(m.system, m.mean) for m in done.means] == [("A", -0.75), ("B", -3.0), ("C", -12.0)]
    assert [(t.first, t.second, t.difference) for t in done.tests] == [
        ("A", "B", 2.25),
        ("A", "C", 11.25),
        ("B", "C", 9.0),
    ]
    # Four segments: with all differences of one sign 2 of 16 exchanges are as far: p = 1/8, so nothing is significant.
    assert done.tests[1].p == pytest.approx(1 / 8, abs=0.02)
    assert {m.ranks for m in done.means} == {(1, 3)}
    assert first_systems(done.means).startswith("3 of 3 systems may be the best: A (1–3), B (1–3), C (1–3).")
    apart = [done.means[0]._replace(ranks=(1, 1)), *(m._replace(ranks=(2, 3)) for m in done.means[1:])]
    assert first_systems(apart) == "A is significantly better than the 2 others."
    alone = compare_all_systems(joined(excluded=["B", "C"]), HUMAN)
    assert alone.reason == "needs at least two systems"


def test_pairs_within_segments_are_usual_for_millions_of_pooled_pairs() -> None:
    outputs = [OutputKey(system, "d", str(i)) for i in range(250) for system in "ABCDEFGHIJ"]
    assert usual_group(outputs) == "segment"  # 2,500 · 2,499 / 2 > 3 million
    assert usual_group(outputs[:2000]) == "pooled"
    assert usual_group([OutputKey("A", "d", str(i)) for i in range(2500)]) == "pooled"  # no pair within a segment


def test_top_k_and_buckets_evaluate_the_parts_alone() -> None:
    data, choice = joined(), AgreementOptions(draws=5)
    parts = top_systems(data, choice, "kendall")
    assert [(p.label, p.outputs) for p in parts] == [("all 3", 12), ("top 2", 8)]
    m, h = (flat({s: scores[s] for s in "AB"}) for scores in (GOOD, HUMAN_SCORES))
    assert parts[1].evaluation.of("good", "kendall").value == pytest.approx(stats.kendalltau(m, h).statistic)
    # Mean human scores of the segments: −11/3, −4, −25/3, −5: thirds of 4 segments cut after 1 and after 3.
    by_quality = buckets(data, choice, "kendall", "quality", [])
    by_length = buckets(data, choice, "kendall", "length", [float(len(ITEMS[k].hypothesis)) for k in data.keys])
    assert sum(p.outputs for p in by_quality) == sum(p.outputs for p in by_length) == 12
    assert all(p.outputs % 3 == 0 for p in by_quality)


@pytest.mark.parametrize("level", ["segment", "system"])
def test_every_statistic_has_a_row_for_everybody(level) -> None:
    same = ScoredMetric("same", "Same", "same|v:1")
    values = {**VALUES, "same": dict.fromkeys(VALUES["good"], 0.3)}
    found = evaluate(join(PEOPLE, [*METRICS, same], values, items=ITEMS), AgreementOptions(level=level, draws=3))
    assert len(found.rows) == len(found.joined.scored_metrics) * len(STATISTICS[level])
    assert all((r.value is None) == (r.status != "ok") for r in found.rows)
    assert all(r.reason for r in found.rows if r.value is None)
    for statistic in STATISTICS["system"] if level == "system" else ():
        row = found.of("same", statistic)
        assert (row.value, row.status) == (None, "undefined"), statistic
        assert "equal" in row.reason


def test_names_of_human_references_are_recognised() -> None:
    human = ("refA", "ref.1", "Human-B", "reference", "human", "gold_summary", "REFB", "post-edit", "HumanTranslation2")
    systems = (
        "Refiner",
        "A",
        "synthetic_ref",
        "HumanEval-7B",
        "reference-free-mt",
        "Gold-NMT",
        "no-ref",
        "target-aware",
    )
    assert [n for n in (*human, *systems) if is_human_name(n)] == list(human)


def test_from_view_has_two_lambdas_and_changes_signs() -> None:
    segments = tuple(Segment(f"d{i // 2}", str(i), f"source {i}", ("a reference",)) for i in range(4))
    outputs = tuple(Output(*k, f"text {i}") for i, k in enumerate(PEOPLE.scores))
    distances = {k: (0.1 * i, 0.02 * (7 * i % 12)) for i, k in enumerate(PEOPLE.scores)}
    tables = {
        "bartscore++|lambda:1": {
            k: Value(-e - i, parts={"dist_exp": e, "dist_imp": i, "score_hyp": -e}) for k, (e, i) in distances.items()
        },
        "ter|v:1": {k: Value(float(i)) for i, k in enumerate(PEOPLE.scores)},
    }
    scored = [ScoredBy(s.partition("|")[0], s, 12, datetime(2026, 1, 1, tzinfo=UTC)) for s in tables]
    view = view_of(Dataset(segments, outputs), scored, tables, registry.specs())
    data = from_view(view, PEOPLE, lam=2.0)
    assert [c.label for c in data.metrics] == ["TER", "BARTScore++ (λ = 2)", "BARTScore++ (λ = 1)"]
    assert [c.signature for c in data.metrics][1:] == ["bartscore++|lambda:2", "bartscore++|lambda:1"]
    ter, at_two, at_one = (data.scores[c.name].tolist() for c in data.metrics)
    assert ter == [-float(list(PEOPLE.scores).index(k)) for k in data.keys]
    assert at_two == pytest.approx([weighted(*distances[k], 2.0) for k in data.keys])
    assert at_one == pytest.approx([weighted(*distances[k], 1.0) for k in data.keys])
    assert [c.label for c in from_view(view, PEOPLE, names=["ter"]).metrics] == ["TER"]


def test_the_order_of_rows_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreement_interval, "MAX_WORK", 100)  # acc_eq samples pairs too
    monkeypatch.setattr(agreement_interval, "SAMPLED", 40)
    rng = np.random.default_rng(0)
    scores = {OutputKey(s, f"d{i // 3}", str(i)): float(v) for s in "BAC" for i, v in enumerate(rng.integers(0, 9, 12))}
    human = {key: (value + float(rng.integers(0, 5)), 1) for key, value in scores.items()}
    keys = list(scores)
    found = []
    for order in (range(len(keys)), rng.permutation(len(keys))):
        people = HumanScores("human|v:1", {keys[k]: human[keys[k]] for k in order})
        data = join(people, METRICS[:1], {"good": {keys[k]: scores[keys[k]] for k in order}})
        rows = []
        for choice in (
            AgreementOptions(),
            AgreementOptions(group="segment", unit="document"),
            AgreementOptions("system"),
        ):
            rows += with_soft_intervals(evaluate(data, choice._replace(draws=20)), draws=5).rows
        found.append((rows, compare_all_systems(data, HUMAN), compare_all_systems(data, HUMAN, unit="document")))
    assert found[0] == found[1]
