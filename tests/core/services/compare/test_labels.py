"""Human labels on Compare: the column of MQM scores, and the error spans of one output by layer."""

import numpy as np

from core.data import OutputKey, RatedOutput, SegmentKey, Span
from core.services.compare.compare import Query, ordered, signature_at
from core.services.compare.inspector import Marks
from core.services.compare.segment import MQM, SegmentQuery, ShownLayer, lanes_json, layers_json, payload, with_mqm
from core.services.spans.layers import LayerInfo
from core.spans.layers import LayerSpan
from tests.core.services.compare.test_compare import make_view
from tests.labels import by_output

MAJOR = Span("output", 4, 9, "river", "Major", "Accuracy/Mistranslation")
MINOR = Span("output", 0, 3, "The", "Minor", "Fluency/Grammar")
LEFT_OUT = Span("source", 0, 3, "Der", "Major", "Accuracy/Omission")
A, B = OutputKey("a", "d1", "1"), OutputKey("b", "d1", "1")
RATED = [
    RatedOutput(A, "ann", (MAJOR,)),
    RatedOutput(A, "bob", (LEFT_OUT, MINOR)),
    RatedOutput(B, "ann", ()),
    RatedOutput(OutputKey("a", "d1", "2"), "ann", (MINOR,)),
    RatedOutput(OutputKey("gone", "d9", "9"), "ann", (MAJOR,)),
]


def marks(*rated: RatedOutput) -> Marks:
    return Marks(by_output(rated), {SegmentKey("d1", "1"), SegmentKey("d1", "2")})


def test_mqm_is_a_column_before_the_metrics_and_orders_segments() -> None:
    view = with_mqm(make_view(), marks(*RATED))
    column = view.columns[0]
    assert (column.name, column.label, column.arrow, column.human) == (MQM, "MQM (labels)", "↑", False)
    assert [c.origin for c in view.columns] == ["labels", "", "", "", "human score"]
    assert signature_at(column, 1.0).endswith("|raters:2")
    # a: −(5 + 5 + 1) / 2 of two annotators; b has no error; the second output of b has no label
    np.testing.assert_array_equal(view.values(MQM, 1.0), [[-5.5, 0.0], [-1.0, np.nan], [np.nan, np.nan]])
    query = Query(sort="metric", metric=MQM)
    assert list(ordered(view, query, 1.0)) == [0, 1, 2]
    assert list(ordered(view, query._replace(descending=True), 1.0)) == [1, 0, 2]


def test_without_labels_the_view_stays_as_it_is() -> None:
    view = make_view()
    assert with_mqm(view, marks()) is view
    assert with_mqm(view, marks(RATED[-1])) is view


def test_lanes_say_what_each_layer_marked_and_examined() -> None:
    layer = ShownLayer(
        LayerInfo("file:x", "x", "file", {"file": "x.jsonl"}, 2),
        {"a": (LayerSpan(LEFT_OUT), LayerSpan(MAJOR, 0.25), LayerSpan(MINOR)), "b": ()},
    )
    assert layers_json([layer]) == [{"label": "x", "origin": "imported file", "provenance": {"file": "x.jsonl"}}]
    (lane,) = lanes_json([layer], "a")
    assert lane is not None
    assert [(s["quote"], s["side"], s.get("confidence")) for s in lane] == [
        ("The", "output", None), ("river", "output", 0.25), ("Der", "source", None),
    ]  # fmt: skip
    assert [lanes_json([layer], system) for system in ("b", "c")] == [[[]], [None]]


def test_cards_have_the_layers_that_may_be_seen() -> None:
    seen = marks(*RATED)
    view = with_mqm(make_view(), seen)
    layers = [ShownLayer(LayerInfo("file:x", "x", "file", {}, 1), {"a": (LayerSpan(MAJOR),)})]
    data = payload(view, SegmentQuery(0), {}, seen, layers)
    assert [card["layers"] for card in data["cards"]] == [lanes_json(layers, "a"), [None]]
    assert [card["scores"][MQM]["v"] for card in data["cards"]] == [-5.5, 0.0]
    assert not data["hidden"]
    other = payload(view, SegmentQuery(2), {}, seen, layers)
    assert other["hidden"]
    assert not other["layers"]
    assert {len(card["layers"]) for card in other["cards"]} == {0}
    assert not payload(view, SegmentQuery(2), {})["hidden"]
