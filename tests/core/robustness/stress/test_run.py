"""The whole protocol on texts and metrics that can be followed by hand."""

from dataclasses import replace

import pytest

from core.data import Dataset, Item, Segment, Value
from core.errors import UserError
from core.metrics.base import Metric
from core.perturbations.base import NoiseLevel
from core.progress import Cancelled
from core.robustness.stress.report import Report
from core.robustness.stress.run import StressTestRequest, run_stress_tests
from core.robustness.stress.texts import REFERENCE, gold_of
from core.scoring.values import InMemoryScores, ScoringProgress
from tests.builders import counting_metric, stop_when
from tests.core.robustness.stress.fake_noise import CUT, DROP, PAD, golds, noise, of_words

ASKED = StressTestRequest("n", "reference", "made here", (), (), seeds=3, draws=200)
LENGTH = counting_metric("words", lambda item: Value(float(len(item.hypothesis.split()))))
SHORT = Metric(replace(LENGTH.spec, name="short", higher_is_better=False), lambda: "short|v:1", LENGTH.score)


def made(gold: list, noises: list, metrics: list, cache: InMemoryScores | None = None, **more: object) -> Report:  # type: ignore[type-arg]
    return run_stress_tests(gold, ASKED, cache or InMemoryScores(), noises=noises, metrics=metrics, **more)  # type: ignore[arg-type]


def test_means_and_drops_are_those_of_the_texts() -> None:
    # six texts of 8 words: 6 stay at 25 %, 4 at 50 %; the metric counts words
    cell = made(of_words(*[8] * 6), [CUT], [LENGTH]).cell("cut", "words")
    assert (cell.gold, cell.texts, cell.undefined, cell.verdict, cell.published) == (8.0, 6, 0, "pass", True)
    first, second = cell.points
    assert first[:6] == ("25%", 0.25, 0.25, 6.0, 0.0, 2.0)  # label, strength, ratio, mean, sd, drop
    assert (second.mean, second.drop, second.low, second.high) == (4.0, 4.0, 4.0, 4.0)
    assert first.p == pytest.approx(1 / 201)  # no drawing of 200 is at or below 0
    assert (first.step_p, second.step_p) == (None, 1.0)


def test_where_lower_is_better_longer_texts_are_worse() -> None:
    report = made(of_words(*[8] * 6), [CUT, PAD], [SHORT])
    assert [report.cell(test, "short").verdict for test in ("cut", "pad")] == ["fail", "pass"]
    assert report.cell("pad", "short").points[0].drop == 25.0
    assert [c.test for c in report.failing()] == ["cut"]


def test_the_deviation_is_that_of_the_means_of_the_seeds() -> None:
    # the metric counts occurrences of one word, which each seed drops from other texts
    gold = of_words(*[5] * 9)
    first = counting_metric("first", lambda item: Value(float("x0" in item.hypothesis)))
    cell = made(gold, [DROP], [first]).cell("drop", "first")
    by_seed = []
    for seed in range(3):
        kept = [DROP.noised(g.item.hypothesis, 0.25, seed) for g in gold]
        by_seed.append(sum("x0" in outcome.text for outcome in kept) / 9)
    mean = sum(by_seed) / 3
    assert cell.points[0].mean == pytest.approx(mean)
    assert cell.points[0].sd == pytest.approx((sum((b - mean) ** 2 for b in by_seed) / 2) ** 0.5)
    assert cell.points[0].sd > 0


def test_each_different_text_is_scored_once() -> None:
    seen: list[Item] = []
    metric = counting_metric("seen", seen=seen)
    gold = of_words(8, 8, 8, 8, 8, 8, 2)
    made(gold, [CUT, DROP], [metric])
    assert len(seen) == len(set(seen))
    assert {item.hypothesis for item in seen} >= {g.item.hypothesis for g in gold}


def test_cached_scores_are_reused_and_reported() -> None:
    seen: list[Item] = []
    metric, cache = counting_metric("seen", seen=seen), InMemoryScores()
    first = made(of_words(*[8] * 6), [CUT], [metric], cache)
    before = len(seen)
    again = made(of_words(*[8] * 6), [CUT], [metric], cache)
    assert len(seen) == before
    assert again.cells == first.cells
    assert f"{before} of {before} scores were reused" in again.notes[0]


def test_texts_with_a_missing_score_are_left_out() -> None:
    def no_short_ones(item: Item) -> Value:
        n = len(item.hypothesis.split())
        return Value(float(n)) if n > 2 else Value(None, "undefined", "too short to score")

    gold = of_words(*[8] * 6, 4)  # half of 4 words is 2
    cell = made(gold, [CUT], [counting_metric("long", no_short_ones)]).cell("cut", "long")
    assert (cell.texts, cell.undefined, cell.gold) == (6, 1, 8.0)
    nothing = made(gold, [CUT], [counting_metric("long", no_short_ones), counting_metric("never", lambda item: Value(None, "undefined", "no model"))])  # fmt: skip
    assert nothing.cell("cut", "never").verdict == "untold"
    assert nothing.cell("cut", "never").why == "Every text has a missing score: no model."
    assert nothing.cell("cut", "never").points[0].mean is None


def test_one_reference_is_nothing_to_be_held_against() -> None:
    data = Dataset(tuple(Segment("d", str(i), "s", (f"one two three four {i} six seven eight",)) for i in range(6)), ())
    report = made(gold_of(data, REFERENCE), [CUT], [counting_metric("ref", needs=frozenset({"reference"})), LENGTH])
    assert report.cell("cut", "ref").verdict == "untold"
    assert "needs a reference" in report.cell("cut", "ref").why
    assert report.cell("cut", "words").verdict == "pass"
    assert report.notes[0].startswith("6 of 6 good texts have no reference to compare with (the first reference")


def test_a_level_at_which_nothing_changed_is_not_judged() -> None:
    # a quarter of 3 words is none, half of them is one
    report = made(of_words(*[3] * 6), [CUT], [LENGTH])
    cell = report.cell("cut", "words")
    assert (cell.points[0].ratio, cell.points[0].drop, cell.points[0].p) == (0.0, 0.0, None)
    assert (cell.verdict, cell.published) == ("pass", True)
    assert "Cut: no text was changed at 25%; this level is not tested." in report.notes


def test_the_worst_are_five_texts_with_the_highest_rise() -> None:
    gold = of_words(*range(3, 11))
    by_length = counting_metric("more", lambda item: Value(-(float(len(item.hypothesis.split())) ** 2)))
    worst = made(gold, [CUT], [by_length]).cell("cut", "more").worst
    # halves rounded down: of 10 words 5 stay (100 − 25 = 75), of 9 5 (56), of 8 4 (48), of 7 4 (33), of 6 3 (27)
    assert [(o.id, o.rise, o.level) for o in worst] == [
        ("7", 75.0, "50%"), ("6", 56.0, "50%"), ("5", 48.0, "50%"), ("4", 33.0, "50%"), ("3", 27.0, "50%"),
    ]  # fmt: skip
    assert (worst[0].gold_score, worst[0].noised_score, worst[0].seed) == (-100.0, -25.0, 0)
    assert worst[0].noised == "w7x0 w7x1 w7x2 w7x3 w7x4"
    assert (worst[0].source, worst[0].reference) == ("source 7", "reference")


def test_means_of_common_score_parts_are_kept() -> None:
    def parted(item: Item) -> Value:
        n = float(len(item.hypothesis.split()))
        return Value(n, parts={"condition": 1.0, "precision": 2 * n, **({"recall": n} if n > 4 else {})})

    cell = made(of_words(*[8] * 6), [CUT], [counting_metric("parted", parted)]).cell("cut", "parted")
    assert cell.gold_parts == {"precision": 16.0}
    assert [p.parts for p in cell.points] == [{"precision": 12.0}, {"precision": 8.0}]


def test_a_metric_is_fitted_on_the_gold_texts() -> None:
    bound: list[int] = []

    def fit(outputs: object) -> Metric:
        bound.append(len(outputs))  # type: ignore[arg-type]
        return Metric(LENGTH.spec, lambda: "plain|v:1|among:6", LENGTH.score)

    plain = counting_metric("plain")
    report = made(of_words(*[8] * 6), [CUT], [Metric(plain.spec, plain.signature, plain.score, fit=fit)])
    assert bound == [6]
    assert (report.metrics[0].name, report.metrics[0].signature) == ("plain", "plain|v:1|among:6")


def test_metrics_with_bundled_models_are_marked() -> None:
    small = Metric(LENGTH.spec, lambda: "words|v:1|model:bundled/bart-mini|rev:1", LENGTH.score)
    assert [made(of_words(*[8] * 6), [CUT], [m]).metrics[0].small for m in (small, LENGTH)] == [True, False]


def test_progress_never_goes_back_and_ends_at_all() -> None:
    seen: list[ScoringProgress] = []
    made(of_words(*[8] * 6), [CUT, DROP], [LENGTH, counting_metric("other")], on_scoring=seen.append)
    assert [at.done for at in seen] == sorted(at.done for at in seen)
    assert seen[-1].done == seen[-1].total
    assert all(at.done <= at.total for at in seen)
    assert any(at.seconds_left is not None for at in seen)


def test_a_run_can_be_cancelled_in_both_phases() -> None:
    cache = InMemoryScores()
    for stage in ("Making", "words"):
        stop = stop_when(lambda at, stage=stage: at.metric.startswith(stage) and at.metric_done > 20)  # type: ignore[misc]
        with pytest.raises(Cancelled):
            made(of_words(*[8] * 30), [CUT], [LENGTH], cache, on_scoring=stop)
    assert cache.by_signature  # what was scored stays


def test_what_cannot_be_run_is_said() -> None:
    never = counting_metric("never", lambda item: Value(None, "undefined", "no model"))
    with pytest.raises(UserError, match="no model"):
        made(of_words(*[8] * 6), [CUT], [never])
    with pytest.raises(UserError, match="no good text"):
        made([], [CUT], [LENGTH])
    with pytest.raises(UserError, match="nothing to run"):
        made(of_words(8), [], [LENGTH])
    with pytest.raises(UserError, match="Did you mean chrf"):
        run_stress_tests(of_words(8), ASKED._replace(tests=("truncation",), metrics=("chfr",)), InMemoryScores())
    for lacking, told in (({"seeds": 0}, "too few seeds"), ({"seed": -1}, "seed: .*-1"), ({"draws": 99}, "99")):
        with pytest.raises(UserError, match=told):
            run_stress_tests(of_words(8), ASKED._replace(**lacking), InMemoryScores(), noises=[CUT], metrics=[LENGTH])


def test_a_test_that_touches_nothing_is_told_with_its_reasons() -> None:
    report = made(golds(["a"] * 6), [CUT, noise("pad", PAD.rule)], [LENGTH])
    assert report.tests[0].reasons == (("too few words", 6),)
    assert report.cell("cut", "words").verdict == "untold"
    assert "Cut: no text could be changed." in report.notes


def test_signature_calls_do_not_grow_with_texts() -> None:
    asked: list[int] = []

    def signature() -> str:
        asked.append(1)
        return "words|v:1"

    counts = []
    for n in (6, 40):
        asked.clear()
        made(of_words(*[8] * n), [CUT], [replace(LENGTH, signature=signature)])
        counts.append(len(asked))
    assert counts[1] - counts[0] < 34  # 34 texts more; chunks grow, so that a few more of them are scored


def test_levels_with_the_same_texts_are_no_step() -> None:
    # a half of two words is one at both levels
    same = noise("same", CUT.rule, levels=(NoiseLevel(0.5, "50%"), NoiseLevel(0.6, "60%"), NoiseLevel(0.99, "99%")))
    cell = made(of_words(*[8] * 5, 9), [same], [LENGTH]).cell("same", "words")  # 8: 4, 4, 7 away; 9: 4, 5, 8
    assert cell.points[1].step_p is not None
    cell = made(of_words(*[8] * 6), [same], [LENGTH]).cell("same", "words")
    assert [p.step_p is None for p in cell.points] == [True, True, False]
    assert (cell.verdict, cell.published) == ("pass", True)


def test_a_level_is_judged_by_the_texts_that_have_scores() -> None:
    # only the text of 8 words changes at 25 %, and it has no score
    gold = of_words(*[3] * 6, 8)
    short = counting_metric("short", lambda item: Value(float(len(item.hypothesis.split()))) if "w6" not in item.hypothesis else Value(None, "undefined", "no"))  # fmt: skip
    cell = made(gold, [CUT], [short]).cell("cut", "short")
    assert (cell.texts, cell.points[0].p, cell.verdict) == (6, None, "pass")


def test_gold_texts_that_were_left_out_are_told() -> None:
    asked = ASKED._replace(left_out=2)
    report = run_stress_tests(of_words(*[8] * 6), asked, InMemoryScores(), noises=[CUT], metrics=[LENGTH])
    assert "2 segments are left out: the first reference is blank or missing." in report.notes


def test_the_trace_of_a_value_is_kept_for_gold_texts_alone() -> None:
    cache = InMemoryScores()
    metric = counting_metric("traced", lambda item: Value(float(len(item.hypothesis)), detail={"trace": 1}))
    gold = of_words(*[8] * 6)
    made(gold, [CUT], [metric], cache)
    [values] = cache.by_signature.values()
    assert sum(value.detail is not None for value in values.values()) == len(gold) < len(values)


def test_a_bad_text_costs_no_other() -> None:
    gold = of_words(*[8] * 60)

    def breaks(item: Item) -> Value:
        if item.hypothesis == gold[7].item.hypothesis:
            raise RuntimeError("one text")
        return Value(1.0)

    cache, done = InMemoryScores(), list[int]()
    watch = lambda at: done.append(at.done)  # noqa: E731
    report = made(gold, [CUT], [counting_metric("breaks", breaks)], cache, on_scoring=watch)
    [values] = cache.by_signature.values()
    assert sum(value.status == "error" for value in values.values()) == 1
    assert any(": 1 text not scored" in note for note in report.notes)
    assert done == sorted(done)
