"""Layers compared with annotators: which outputs are compared, the sums, the rows by part, and what is said about them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.data import OutputKey, Span, Value
from core.errors import UserError
from core.progress import Cancelled
from core.reports.span_evaluation import sentence
from core.services.spans.compared_layers import ANNOTATORS, EVERY_WORD, NOTHING, WHOLE, SpanChoice
from core.services.spans.evaluation import evaluate_layers
from core.services.spans.layers import load_layer
from core.spans.layers import LayerSpan, SpanLayer
from tests.builders import stop_when
from tests.core.services.spans.test_layers import project_with_labels
from tests.stores import put_scores

KEYS = [OutputKey(system, "d", segment) for segment in "123" for system in "AB"]
A1, B1, A2, B2, A3, B3 = KEYS
TEXT = "ten chars. and ten more chars."  # 30 characters, 6 words


def layer(
    name: str, spans: dict[OutputKey, list[tuple[int, int, str, str]]], left_out: dict[str, int] | None = None
) -> SpanLayer:
    made = {
        key: tuple(LayerSpan(Span("output", s, e, TEXT[s:e], severity, category)) for s, e, severity, category in of)
        for key, of in spans.items()
    }
    return SpanLayer(name, name, "annotator", made, left_out=left_out or {})


ANN_SPANS = {A1: [(0, 10, "Major", "Accuracy/Omission"), (20, 24, "Minor", "Style")], B1: [], A2: [], B2: [(0, 3, "Minor", "")]}  # fmt: skip
ANN = layer("Ann", ANN_SPANS)


BO = layer("Bo", {A1: [(0, 10, "Major", "Accuracy")], B1: [], A3: []})
CY = layer("Cy", {A1: []})
JUDGE = layer("judge", {A1: [(4, 12, "Major", "ACCURACY"), (20, 24, "Major", "Fluency")], B1: [], A2: [(0, 3, "Minor", "Style")]}, {"not found": 2})  # fmt: skip
OTHER = layer("other", dict.fromkeys(KEYS, []) | {A1: [(0, 10, "Major", "Accuracy"), (0, 1, "Neutral", "")]})


def test_layers_are_compared_on_the_same_outputs() -> None:
    """Gold Ann: A1, B1, A2 (the judge has not examined B2): the worked example of the measures."""
    done = evaluate_layers([ANN], [JUDGE, OTHER], [ANN, BO, CY], lambda keys: dict.fromkeys(keys, TEXT))
    assert (done.gold, done.outputs, done.segments, done.comparisons) == ("Ann", 3, 2, 3)
    rows = {row.layer: row for row in done.rows}
    assert list(rows) == ["judge", "other", ANNOTATORS, WHOLE, EVERY_WORD, NOTHING]
    assert rows["judge"].f == pytest.approx(0.675, abs=5e-4)
    assert (rows["judge"].precision, rows["judge"].recall) == pytest.approx((1.75 / 3, 0.8))
    assert rows["other"].f == pytest.approx(2 * 1 * 0.5 / 1.5)
    assert (rows[NOTHING].f, rows[NOTHING].precision, rows[NOTHING].recall) == (0, None, 0)
    # the whole text matches [0, 10) with F 20/40: P = (10/30)/3, R = 1/2
    assert rows[WHOLE].f == pytest.approx(2 * (1 / 9) * 0.5 / (1 / 9 + 0.5))
    # Bo on A1 and B1, Cy on A1 only: on A1 each counts one half. P = ½·1/(½·1), R = ½·1/(½·2 + ½·2)
    humans = rows[ANNOTATORS]
    assert (humans.precision, humans.recall, humans.outputs) == pytest.approx((1, 0.25, 2))
    notes = "\n".join(done.notes)
    assert "1 output left out for all layers, because a layer has not examined them (judge 1)." in notes
    assert "because they have no place: judge not found 2." in notes
    assert "not counted because of their severity: other Neutral 1." in notes
    assert "2 annotators in place of a layer, from .000 (Cy) to .667 (Bo)" in notes
    parts = {(row.part, row.part_name, row.layer): row for row in done.parts}
    assert parts["system", "A", "judge"].outputs == 2
    assert parts["system", "B", "judge"].f is None
    # Accuracy, first level, any case: gold [0, 10), judge [4, 12)
    accuracy = parts["category", "accuracy", "judge"]
    assert (accuracy.precision, accuracy.recall, accuracy.found) == pytest.approx((0.75, 0.6, 0.6))
    # Minor: gold [20, 24) of A1, judge [0, 3) of A2; the judge's Major span finds it
    minor = parts["severity", "Minor", "judge"]
    assert (minor.f, minor.found, minor.outputs) == (0, 1, 2)


def test_every_annotator_in_turn_is_gold() -> None:
    """Ann on A1, B1, A2; Bo on A1, B1: sums over both. Bo has [0, 10) on A1: the judge adds .75 to P and .6 to R."""
    done = evaluate_layers([ANN, BO], [JUDGE], [ANN, BO], choice=SpanChoice(draws=20))
    assert (done.outputs, done.comparisons, done.ranking) == (3, 5, "")
    judge, humans, nothing = done.rows
    assert (judge.precision, judge.recall) == pytest.approx(((1.75 + 0.75) / 5, (1.6 + 0.6) / 3))
    # Ann and Bo on A1 and B1: one identical span of two and one. P = (1 + 1)/(1 + 2) = R
    assert (humans.f, humans.outputs) == pytest.approx((2 / 3, 2))
    assert nothing.kind == "trivial"
    assert [(t.first, t.second) for t in done.tests] == [("judge", NOTHING)]
    macro = evaluate_layers([ANN, BO], [JUDGE], [], choice=SpanChoice(average="macro", draws=0)).rows[0]
    mpp = 2 * 0.875 * 0.8 / 1.675
    bo = 2 * 0.375 * 0.6 / 0.975
    assert macro.f == pytest.approx((mpp + 1 + 0 + bo + 1) / 5)


def test_ranking_names_the_measures_that_disagree() -> None:
    exact = layer("exact", {A1: [(20, 24, "Minor", "")], B1: [], A2: []})
    rough = layer("rough", {A1: [(1, 10, "Major", ""), (20, 23, "Minor", "")], B1: [], A2: []})
    done = evaluate_layers([ANN], [exact, rough], [])
    # rough: P = 1, R = (9/10 + 3/4)/2
    said = sentence(done)
    assert said.startswith("Of 2 layers, rough agrees best with Ann: mpp, micro F .904")
    assert "The best trivial layer (nothing marked) reaches .000 [.00, .00]" in said, "not 1 in draws of clean outputs"
    assert "; the difference is not significant." in said, "two segments cannot show one"
    assert done.ranking == "The ranking of the layers depends on the measure: 1 of 1 pair in different order."
    # exact: one identical span of two gold ones. rough: em 0, and overlap 9/10 and 3/4
    assert done.orders["exact", "rough"] == ["em micro", "em macro"]
    others = [f"{measure} {average}" for measure in ("mpp", "mp", "WMT25") for average in ("micro", "macro")]
    assert done.orders["rough", "exact"] == others
    same = evaluate_layers([ANN], [OTHER, layer("none", dict.fromkeys(KEYS, []))], [])
    assert same.ranking == "The ranking of the layers does not depend on the measure: it is the same under all 8."


def test_ambiguous_quotes_are_a_worst_and_a_best_case() -> None:
    """The judge's quote is at [0, 10), as the gold, or at [12, 22): 2 characters of the gold's [20, 24)."""
    store, project = project_with_labels()
    places = {
        "quote": "x",
        "severity": "Major",
        "category": "",
        "outcome": "ambiguous",
        "side": None,
        "places": [[0, 10], [12, 22]],
    }
    value = Value(-5.0, "ok", "", {}, {"state": "ok", "spans": [], "unplaced": [places, places], "replies": []})
    put_scores(store, project, "judge-mqm", {OutputKey("A", "doc", "0"): value}, "judge-mqm|v:1")
    judge = load_layer(store, project, "judge:judge-mqm|v:1")
    (quotes,) = judge.ambiguous.values()
    assert [(s.side, s.start, s.end) for s in quotes[0]] == [("output", 0, 10), ("output", 12, 22)]
    assert len(quotes) == 1, "repeats of the judge report it again"
    unsure = replace(layer("judge", {A1: [], B1: [], A2: []}), ambiguous={A1: quotes})
    row = evaluate_layers([ANN], [unsure], []).rows[0]
    # best: P = 1, R = 1/2. worst: P = 2/10, R = (2/4)/2
    assert (row.f, row.best) == pytest.approx((0, 2 / 3))
    assert row.worst == pytest.approx(2 * 0.2 * 0.25 / 0.45)


def test_no_output_in_common_is_an_error_and_work_can_be_cancelled() -> None:
    with pytest.raises(UserError, match="no output has been examined"):
        evaluate_layers([CY], [layer("far", {B3: []})], [])
    with pytest.raises(UserError, match="compared with itself"):
        evaluate_layers([ANN, BO], [BO], [])
    with pytest.raises(Cancelled):
        evaluate_layers([ANN], [JUDGE], [], progress=stop_when(lambda share: share > 0.3))
