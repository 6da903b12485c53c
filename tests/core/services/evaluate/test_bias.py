"""Length and rank bias on data small enough to count, and Table 4 of the paper on SummEval."""

import numpy as np
import pytest

from cli.reproduce import DIMENSIONS, summeval
from core.data import Dataset, Output, OutputKey, Segment, SegmentKey
from core.metrics import registry
from core.progress import no_progress
from core.services.calibrate.calibration import HumanScores
from core.services.evaluate.evaluate import AgreementOptions
from core.services.evaluate.evaluation_data import ScoredMetric, join
from core.services.evaluate.length_and_bias import (
    MEAN,
    ROUGE_X,
    baseline_of,
    bias,
    by_length,
    disagreements,
    same_outputs,
    segment_lengths,
)
from tests.paths import DATA
from tests.views import view_of

SUMMEVAL = DATA / "summeval.jsonl.gz"
SYSTEMS = "ABCD"
FLUENT = {"A": (4, 4, 4, 4), "B": (3, 3, 3, 3), "C": (2, 2, 2, 2), "D": (1, 1, 1, 1)}
TRUE = {"A": (1, 1, 4, 4), "B": (2, 2, 3, 3), "C": (3, 3, 2, 2), "D": (4, 4, 1, 1)}  # turned round for long texts
GOOD = {"A": (9, 8, 9, 8), "B": (7, 6, 7, 6), "C": (5, 4, 5, 4), "D": (3, 2, 3, 2)}  # A B C D everywhere
SWAP = {"A": (5, 5, 5, 5), "B": (9, 9, 9, 9), "C": (4, 4, 4, 4), "D": (1, 1, 1, 1)}  # B A C D
FLAT = dict.fromkeys(SYSTEMS, (1, 1, 1, 1))
METRICS = {"good": GOOD, "swap": SWAP, "flat": FLAT}
LENGTHS = {SegmentKey("d", str(i)): float(n) for i, n in enumerate((5, 6, 20, 30))}


def table(scores) -> dict[OutputKey, float]:
    return {OutputKey(s, "d", str(i)): float(v) for s, values in scores.items() for i, v in enumerate(values)}


def people(scores) -> HumanScores:
    return HumanScores("human|name:x", {k: (v, None) for k, v in table(scores).items()})


def scores_of(*human, metrics=METRICS, drop=()):
    scored_metrics = [ScoredMetric(n, n.title(), f"{n}|v:1") for n in metrics]
    values = {n: {k: v for k, v in table(s).items() if k not in drop} for n, s in metrics.items()}
    return same_outputs({f"h{i}": join(people(h), scored_metrics, values) for i, h in enumerate(human)})


def choice(**more) -> AgreementOptions:
    return AgreementOptions(level="system", draws=20, **more)


def lengths(of, baseline="good", wanted=2, **more):
    return by_length(of, LENGTHS, "outputs", baseline, choice(**more), wanted)


def test_bucket_tau_is_averaged_and_compared_with_baseline() -> None:
    found = lengths(scores_of(FLUENT, TRUE))
    assert [(b.low, b.high, b.size) for b in found.buckets] == [(5, 6, 2), (20, 30, 2)]
    # Good: A B C D. Short texts: τ with fluency 1, with truth −1: mean 0; long ones: 1 and 1.
    assert [found.of("good", b).value for b in (0, 1)] == [0, 1]
    # Swap has one of 6 pairs wrong: τ = 4/6 with fluency, −4/6 with truth on short texts.
    assert [found.of("swap", b).value for b in (0, 1)] == [0, pytest.approx(2 / 3)]
    assert found.of("swap", 1).difference == pytest.approx(2 / 3 - 1)
    assert found.of("swap", 1).relative == pytest.approx(-1 / 3)
    assert found.of("good", 1).relative == 0
    row = found.of("swap", 1)
    assert (row.segments, row.systems, row.baseline, row.shortest, row.longest) == (2, 4, "Good", 20, 30)
    assert (row.low, row.high) == (pytest.approx(2 / 3), pytest.approx(2 / 3))  # the same on every draw
    assert row.difference_low == pytest.approx(-1 / 3)


def test_undefined_values_say_why() -> None:
    row = lengths(scores_of(FLUENT, TRUE)).of("swap", 0)
    assert (row.relative, row.no_ratio) == (None, "the τ-b of the comparison metric is not above 0")
    assert (row.difference, row.status) == (0, "ok")
    row = lengths(scores_of(FLUENT, FLAT)).of("good", 0)
    assert (row.value, row.status, row.reason) == (None, "undefined", "h1: all human scores are equal")
    flat = lengths(scores_of(FLUENT)).of("flat", 0)
    assert (flat.value, flat.difference, flat.low, flat.reason) == (None, None, None, "all metric scores are equal")
    row = lengths(scores_of(FLUENT), baseline="flat").of("good", 0)
    assert (row.value, row.difference) == (1, None)
    assert row.no_ratio == "the comparison metric is undefined: all metric scores are equal"
    alone = lengths(scores_of(FLUENT), wanted=4).of("good", 0)
    assert (alone.segments, alone.value) == (1, None)
    assert "at least two segments" in alone.reason


def test_segments_without_such_a_text_are_counted_and_documents_drawn_whole() -> None:
    some = {k: v for k, v in LENGTHS.items() if v != 30}
    part = by_length(scores_of(FLUENT), some, "references", "good", choice(), 1)
    assert (part.left_out, part.buckets[0].size) == (1, 3)
    assert by_length(scores_of(FLUENT), {}, "references", "good", choice()).rows == ()
    row = lengths(scores_of(FLUENT), unit="document").of("good", 0)
    assert (row.value, row.low, row.high) == (1, None, None)


def test_only_whole_segments_that_every_score_rates_are_compared() -> None:
    lost = OutputKey("B", "d", "2")
    partly = {**table(TRUE)}
    del partly[OutputKey("C", "d", "0")]
    scored_metrics = [ScoredMetric("good", "Good", "good|v:1")]
    values = {"good": {k: v for k, v in table(GOOD).items() if k != lost}}
    of = same_outputs({
        "h0": join(people(FLUENT), scored_metrics, values),
        "h1": join(HumanScores("human|name:y", {k: (v, None) for k, v in partly.items()}), scored_metrics, values),
    })  # fmt: skip
    assert {k.segment_id for k in of["h0"].keys} == {"1", "3"}
    assert of["h0"].keys == of["h1"].keys
    assert of["h1"].human.tolist() == [table(TRUE)[k] for k in of["h1"].keys]
    assert same_outputs({}) == {}


def test_rank_differences_match_hand_counts() -> None:
    found = bias(scores_of(FLUENT), group=["B", "C"])
    differences = {(r.name, r.system): r.difference for r in found.ranks if r.score == "h0"}
    assert [differences["swap", s] for s in SYSTEMS] == [1, -1, 0, 0]  # swap places B above A
    row = found.of("swap", "h0")
    assert row.deviation == pytest.approx((2 / 4) ** 0.5)
    assert row.mean_absolute == 0.5
    assert row.accuracy == pytest.approx(5 / 6)
    assert row.group_mean == -0.5  # of B (−1) and C (0)
    assert found.of("good", "h0").deviation == 0
    assert found.systems == ("A", "B", "C", "D")
    flat = found.of("flat", "h0")
    assert (flat.deviation, flat.accuracy, flat.status) == (None, None, "undefined")
    assert flat.reason == "all metric scores of the systems are equal"
    assert not [r for r in found.ranks if r.name == "flat"]


def test_the_mean_over_human_scores_averages_ranks_and_figures() -> None:
    upside = dict(zip(SYSTEMS, reversed(FLUENT.values()), strict=True))
    found = bias(scores_of(FLUENT, upside))
    # good: differences 0 0 0 0 with one, A to D −3 −1 1 3 with the other; σ 0 and √5, accuracy 1 and 0
    assert [r.difference for r in found.ranks if (r.name, r.score) == ("good", MEAN)] == [-1.5, -0.5, 0.5, 1.5]
    row = found.of("good")
    assert row.deviation == pytest.approx(5**0.5 / 2)
    assert row.accuracy == 0.5
    undefined = bias(scores_of(FLUENT, FLAT)).of("good")
    assert undefined.reason == "h1: all human scores of the systems are equal"
    assert undefined.deviation is None


def test_rouge_x_is_the_mean_of_three_and_the_baseline() -> None:
    three = {
        f"rouge{n}": {s: tuple(k * v for v in GOOD[s]) for s in SYSTEMS} for k, n in zip((1, 2, 6), "12L", strict=True)
    }
    of = scores_of(FLUENT, metrics={"chrf": SWAP, **three})["h0"]
    assert of.scores[ROUGE_X].tolist() == pytest.approx([3 * table(GOOD)[k] for k in of.keys])
    assert of.scored_metric(ROUGE_X).signature == "mean of rouge1|v:1 + rouge2|v:1 + rougeL|v:1"
    assert baseline_of(of.scored_metrics) == ROUGE_X
    assert baseline_of(scores_of(FLUENT, metrics={"chrf": SWAP, "rouge2": GOOD})["h0"].scored_metrics) == "rouge2"
    assert baseline_of(scores_of(FLUENT)["h0"].scored_metrics) == "good"


def test_lengths_are_words_of_outputs_references_or_source() -> None:
    segments = (Segment("d", "0", None, ("One, two!", "One two three four")), Segment("d", "1", "水 is wet"))
    outputs = (Output("A", "d", "0", "a b c"), Output("B", "d", "0", "a – b c d e"), Output("A", "d", "1", ""))
    view = view_of(Dataset(segments, outputs), (), {}, registry.specs())
    keys = list(view.index.keys())
    assert segment_lengths(view, keys, "outputs") == {("d", "0"): 4, ("d", "1"): 0}
    assert segment_lengths(view, keys, "references") == {("d", "0"): 3}
    assert segment_lengths(view, keys, "source") == {("d", "1"): 3}


def test_the_largest_difference_of_ranks_is_first_and_equal_scores_share_a_rank() -> None:
    keys = tuple(OutputKey("A", "d", str(i)) for i in range(4))
    found = disagreements(keys, np.array([2.0, 1.0, 5.0, 0.0]), np.array([0.0, 0.0, -1.0, -9.0]))
    # ranks from below, less a half, of 4: human 3.5, 3.5, 2, 1; metric 3, 2, 4, 1
    assert [(d.key.segment_id, d.worse_by_metric, d.worse_by_human) for d in found] == [
        ("2", 0.875, 0.375), ("1", 0.375, 0.75), ("0", 0.625, 0.75), ("3", 0.125, 0.125),
    ]  # fmt: skip
    assert [d.too_high for d in found[:2]] == [True, False]


@pytest.mark.skipif(not SUMMEVAL.exists(), reason="SummEval is not in the shared data folder")
@pytest.mark.extended
def test_smart_x_has_the_bias_of_the_paper_on_summeval() -> None:
    # Amplayo et al. 2022, Table 4, SX-CHRF: σ(Rank Diff) and pairwise accuracy in %. For fluency the paper has 3.824, one tie
    # of people's scores ranked otherwise than by its mean rank.
    printed = {"Coh": (5.232, 65.00), "Fac": (2.062, 86.67), "Flu": (3.796, 74.17), "Inf": (4.198, 75.00)}
    rated = summeval(SUMMEVAL)
    documents = {text: str(i) for i, text in enumerate(dict.fromkeys(r.item.source for r in rated))}
    keys = [OutputKey(r.system, documents[r.item.source], "1") for r in rated]
    metric = registry.load_metric("smartX|sentences:point")
    values = metric.score([r.item for r in rated], no_progress)
    scored = {"sx": {k: v.value for k, v in zip(keys, values, strict=True) if v.value is not None}}
    sx = [ScoredMetric("sx", "SX-CHRF", metric.signature())]
    of = {
        name: join(HumanScores(name, {k: (r.human[d], None) for k, r in zip(keys, rated, strict=True)}), sx, scored)
        for name, d in DIMENSIONS.items()
    }
    found = bias(same_outputs(of))
    for name, (deviation, accuracy) in printed.items():
        row = found.of("sx", name)
        assert (round(row.deviation, 3), round(100 * row.accuracy, 2)) == (deviation, accuracy)
    assert {p.system for p in found.ranks} == {k.system for k in keys}
    assert all(abs(sum(p.difference for p in found.ranks if p.score == s)) < 1e-9 for s in printed)
