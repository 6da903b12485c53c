"""What the cards of one segment are given."""

import json

import pytest

from core.data import Dataset, Output, OutputKey, Segment, Value
from core.metrics.base import MetricSpec
from core.ports.scores import ScoredBy
from core.refine.result import EditStep, Refinement, Token
from core.services.compare.segment import SegmentQuery, payload, status_of
from core.services.projects.view import View
from tests.core.services.compare.test_compare import NOW
from tests.views import view_of

SPEC = MetricSpec("bartscore++", "BARTScore++", "", "", (0, 0), frozenset())
TEXT = "Taxes rise 😀"
REFERENCES = ("Duties fall 😀", "Taxes fall 😀")
STEP = EditStep(1, "substitute", " rise", " fall", -1.5, -0.25, ((" fall", 0.8), (" rise", 0.1)), "Taxes fall 😀")


def refinement(**changes: object) -> Refinement:
    tokens = (Token("Taxes", 0, 5, -0.1), Token(" rise", 5, 10, -6.0), Token("</s>", 12, 12, -0.1))
    fields = {
        "variant": "f", "condition": 1, "non_translation": False, "why_non_translation": "", "refined": "Taxes fall 😀",
        "score_hyp": -1.5, "score_refined": -0.25, "score_ref": -0.05, "tokens": tokens, "steps": (STEP,),
    }  # fmt: skip
    return Refinement(**(fields | changes))  # type: ignore[arg-type]


def value(analysis: Refinement) -> Value:
    return Value(-0.5, parts=analysis.parts(), detail=json.loads(json.dumps(analysis.to_json())))


def make_view(values: dict[str, Value]) -> View:
    segment = Segment("d", "1", None, REFERENCES)
    outputs = tuple(Output(s, "d", "1", TEXT) for s in ("alpha", "beta"))
    sign = "bartscore++|lambda:1|v:1"
    table = {OutputKey(s, "d", "1"): v for s, v in values.items()}
    scored = [ScoredBy("bartscore++", sign, len(table), NOW)]
    return view_of(Dataset((segment,), outputs), scored, {sign: table}, {"bartscore++": SPEC})


def test_a_card_has_refinement_trace_and_distances_as_plain_json() -> None:
    values = {"alpha": value(refinement()), "beta": value(refinement(refined_ids=(0, 5, 2)))}
    data = payload(make_view(values), SegmentQuery(0, refinement="bartscore++"), values)
    card, other = sorted(data["cards"], key=lambda c: c["name"])
    assert card["status"] == "refined"
    assert ["insert", "fall "] in card["refined"] or ["insert", "fall"] in card["refined"]
    assert card["steps"] == [["substitute", " rise", " fall", -1.5, -0.25, [[" fall", 0.8], [" rise", 0.1]], 1]]
    assert card["tokens"][1] == [" rise", -6.0, " rise"]
    assert (card["exp"], card["imp"]) == (pytest.approx(1.25), pytest.approx(0.2))
    assert card["scores"]["bartscore++"]["exp"] == pytest.approx(1.25)
    assert (card["retokenized"], other["retokenized"]) == (False, True)
    assert Refinement.from_json(values["beta"].detail or {}).refined_ids == (0, 5, 2)
    json.dumps(data, allow_nan=False)
    blind = payload(make_view(values), SegmentQuery(0, refinement="bartscore++", blind=3), values)
    assert "alpha" not in json.dumps(blind)
    assert [c["name"] for c in blind["cards"]] == ["Output A", "Output B"]


def test_diff_uses_the_requested_or_refined_reference() -> None:
    values = {"alpha": value(refinement())}
    view = make_view(values)
    used = next(c for c in payload(view, SegmentQuery(0, refinement="x"), values)["cards"] if c["name"] == "alpha")
    asked = next(c for c in payload(view, SegmentQuery(0, reference=0), values)["cards"] if c["name"] == "alpha")
    assert (used["reference"], asked["reference"]) == (1, 0)
    for card in (used, asked):  # same and inserted pieces spell the output, same and deleted ones the reference
        assert "".join(t for k, t in card["diff"] if k != "delete") == TEXT
        assert "".join(t for k, t in card["diff"] if k != "insert") == REFERENCES[card["reference"]]


@pytest.mark.parametrize(
    ("given", "reference", "status", "why"),
    [
        (value(refinement(steps=(), refined=TEXT)), True, "no_edit", ""),
        (value(refinement(non_translation=True, why_non_translation="8 % overlap", steps=())), True, "non_translation", "8 % overlap"),
        (Value(None, "needs", "BARTScore++ needs a reference"), False, "missing", "BARTScore++ needs a reference"),
        (Value(None, "undefined", ""), True, "missing", "undefined for this output"),
        (None, False, "missing", "needs a reference: this segment has none"),
        (None, True, "missing", "not scored yet"),
        (Value(-0.5), True, "missing", "scored, but its refinement was not kept"),
    ],
)  # fmt: skip
def test_every_status_says_why(given: Value | None, reference: bool, status: str, why: str) -> None:
    assert status_of(given, scored=True, reference=reference) == (status, why)
