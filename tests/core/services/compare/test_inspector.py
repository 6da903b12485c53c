"""What the inspector is given: rounds and tries, which model speaks, and marks for those who may see them."""

import json
import math

import pytest

from core.data import OutputKey, RatedOutput, Segment, SegmentKey, Span, Value
from core.mqm.actions import label_actions
from core.ports.labels import Action
from core.ports.store import Store
from core.refine.inspect import Round
from core.refine.result import EditStep, Options, Token
from core.services.compare import inspector
from core.services.compare.inspector import Try
from core.services.projects.texts import StoredTexts
from core.signature import signature
from tests.builders import small_dataset
from tests.core.services.compare.test_segment import refinement
from tests.labels import columns, submitted
from tests.stores import new_store, put_scores

S0, S1 = SegmentKey("doc", "0"), SegmentKey("doc", "1")
SIGN = "bartscore++|lambda:1|v:1|variant:f|model:bundled/bart-mini|rev:abc|dtype:fp32"
HERE = {"model": "bundled/bart-mini", "rev": "abc", "dtype": "fp32"}


# ── the model ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", ["model", "rev", "dtype"])
def test_another_model_is_named_and_the_same_one_is_not(name: str) -> None:
    assert inspector.another_model(SIGN, HERE) == ""
    assert inspector.another_model(SIGN, HERE | {name: "other"}) == "bundled/bart-mini (abc)"


@pytest.mark.parametrize(
    "options",
    [
        Options(),
        Options(k=5, rounds=3, edits=("insert", "delete")),
        Options(non_translation="probability", share=0.5),
        Options(non_translation="off"),
        Options(overlap=0.1, share=0.9),
    ],
)
def test_options_are_read_back_from_a_signature(options: Options) -> None:
    found = inspector.options_of(signature("bartscore++", {"lambda": 1.0, **options.facts()}))
    assert found.facts() == options.facts()


def test_the_condition_is_the_used_reference_or_source() -> None:
    segment = Segment("d", "1", "quelle", ("one", "two"))
    assert inspector.condition_of(segment, refinement(condition=1)) == ("reference 2", "two")
    assert inspector.condition_of(segment, refinement(condition=-1)) == ("source", "quelle")
    assert inspector.condition_of(Segment("d", "1", None, ("one",)), refinement(condition=0)) == ("reference", "one")


# ── rounds and tries ─────────────────────────────────────────────────────────────────────────────────────────────────


def made(text: str, score: float, step: EditStep | None = None) -> Round:
    tokens = (Token(text, 0, len(text), math.log(0.25)), Token("", len(text), len(text), -0.1))
    return Round(text, tokens, (((" best", 0.5), (text, 0.25)), ((".", 0.5),)), score, step)


STEP = EditStep(0, "substitute", "bad", "good", -2.0, -1.0, (), "good")
ROUNDS = (made("bad", -2.0, STEP), made("good", -1.0))


def test_a_replay_that_comes_out_otherwise_is_noticed() -> None:
    stored = refinement(steps=(STEP,), score_hyp=-2.0)
    assert not inspector.departs(stored, ROUNDS, prompted=False)
    assert inspector.departs(stored, (ROUNDS[0], made("fine", -1.0)), prompted=False)
    assert inspector.departs(stored, (made("bad", -2.01, STEP), ROUNDS[1]), prompted=True)
    unedited = refinement(steps=(), score_hyp=-2.5)
    assert inspector.departs(unedited, ROUNDS[:1], prompted=False)
    assert not inspector.departs(unedited, ROUNDS[:1], prompted=True)


def test_a_round_says_which_alternative_stands_there() -> None:
    data = inspector.round_json(ROUNDS[0])
    assert data["near"] == [[[" best", 0.5], ["bad", 0.25, True]], [[".", 0.5]]]
    assert data["step"] == ["substitute", "bad", "good", -2.0, -1.0, 0]
    token = Token("😀", 0, 1, math.log(0.125))  # a part of a character is known by its probability
    seen = Round("😀", (token,), ((("\ufffd", 0.5), ("\ufffd", 0.125)),), -1.0, None)
    assert inspector.round_json(seen)["near"] == [[["\ufffd", 0.5], ["\ufffd", 0.125, True]]]


def test_long_traces_send_alternatives_of_one_round() -> None:
    assert all(r["near"] for r in inspector.rounds_json(ROUNDS, 0))
    n = inspector.MANY_TOKENS
    tokens = tuple(Token("x", i, i + 1, -1.0) for i in range(n))
    long = Round("x" * n, tokens, ((("y", 0.1),),) * n, -1.0, None)
    assert [r["near"] is None for r in inspector.rounds_json((long, long, long), 1)] == [True, False, True]


def test_a_try_is_told_by_its_difference_to_what_it_came_from() -> None:
    tries = [Try(7, "r0", ROUNDS[0], made("bad idea", -1.5))]
    assert inspector.base_of("r1", ROUNDS, tries) == ROUNDS[1]
    assert inspector.base_of("t7", ROUNDS, tries) == tries[0].after
    assert [inspector.base_of(name, ROUNDS, tries) for name in ("r9", "t8", "", "rx", "r-1")] == [None] * 5
    data = inspector.try_json(tries[0])
    assert (data["before"], data["after"]) == (-2.0, -1.5)
    assert data["diff"] == [["same", "bad"], ["insert", " idea"]]
    json.dumps([data, inspector.rounds_json(ROUNDS, 0)], allow_nan=False)


# ── marks ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def store() -> Store:
    return new_store()


@pytest.fixture
def project(store: Store) -> int:
    """Two segments of outputs "A output 0" and so on; ann and bob have submitted the first, bob also the second."""
    made = store.projects.create("p").id
    store.projects.add(made, small_dataset(2))
    rate(store, made, "ann", S0, {"A": [(0, 1)], "B": []})
    rate(store, made, "bob", S0, {"A": [(0, 8)], "B": [(2, 8)]})
    rate(store, made, "bob", S1, {"A": [(0, 1)], "B": [(0, 1)]})
    return made


def rate(store: Store, project: int, rater: str, segment: SegmentKey, spans: dict[str, list[tuple[int, int]]]) -> None:
    texts = {o.system: o.text for o in store.projects.dataset(project).outputs_of()[segment]}
    rated = [
        RatedOutput(
            OutputKey(system, *segment),
            rater,
            tuple(Span("output", a, b, texts[system][a:b], "Major", "Accuracy") for a, b in places),
        )
        for system, places in spans.items()
    ]
    for (who, key), actions in label_actions(rated).actions.items():
        store.labels.append(project, who, key, actions)


def marks(store: Store, project: int, rater: str | None, *, everyone: bool = False) -> inspector.Marks:
    return inspector.visible_marks(submitted(store, project), store.projects.index(project), rater, everyone=everyone)


def of_segment(seen: inspector.Marks, segment: SegmentKey) -> list[RatedOutput]:
    return [r for of in inspector.with_texts(seen, segment, dict.fromkeys("ABC", "text")).values() for r in of]


def test_labels_are_hidden_until_own_submission_or_shown_to_everyone(store: Store, project: int) -> None:
    unnamed = columns([RatedOutput(OutputKey(s, *S0), "", ()) for s in ("A", "B")])
    for rater in (None, "", "carl"):  # somebody without a name is not the rater without a name
        of_rater = marks(store, project, rater)
        assert not of_rater.by_output
        assert of_rater.hides(S0)
        assert of_rater.hides(S1)
        assert inspector.visible_marks(unnamed, store.projects.index(project), rater, everyone=False).hides(S0)
    of_ann = marks(store, project, "ann")
    assert (of_ann.hides(S0), of_ann.hides(S1)) == (False, True)
    assert {key.segment for key in of_ann.by_output} == {S0}
    assert {r.rater for r in of_segment(of_ann, S0)} == {"ann", "bob"}
    everything = marks(store, project, None, everyone=True)
    assert (everything.hides(S0), everything.hides(S1)) == (False, False)
    assert (len(of_segment(everything, S0)), len(of_segment(everything, S1))) == (4, 2)
    one = inspector.with_texts(everything, S1, dict.fromkeys("ABC", "text"))
    assert list(one) == [OutputKey("A", *S1), OutputKey("B", *S1)]


def test_marks_are_hidden_again_while_the_segment_is_reopened(store: Store, project: int) -> None:
    store.labels.append(project, "ann", S0, [Action("again", "reopen", None, {})])
    assert marks(store, project, "ann").hides(S0)
    assert {r.rater for r in of_segment(marks(store, project, "bob"), S0)} == {"bob"}  # ann's are not submitted now


def test_overlap_of_an_output_a_segment_and_the_project_by_hand(store: Store, project: int) -> None:
    dataset = store.projects.dataset(project)
    values = {}
    for key, item in dataset.items():
        refined = item.hypothesis.replace("output", "text") if key.system == "A" else item.hypothesis
        values[key] = Value(-1.0, detail=refinement(refined=refined).to_json())
    put_scores(store, project, "bartscore++", values, SIGN)
    texts = {o.key: o.text for o in dataset.outputs}
    model = inspector.edits(store, project, SIGN, S0, {key.system: text for key, text in texts.items() if key.segment == S0})  # fmt: skip
    seen = marks(store, project, None, everyone=True)
    # "A output 0": the model took away "output", 6 characters. ann marked "A": 1, in common 0; bob "A output": 7, in common 6
    found = inspector.overlap(seen.by_output[OutputKey("A", *S0)], texts, model)
    assert (found.precision, found.recall) == (pytest.approx(6 / 12), pytest.approx(6 / 8))
    # B was not edited; ann marked nothing there, bob "output": 6 more characters of people
    found = inspector.overlap(of_segment(seen, S0), texts, model)
    assert (found.precision, found.recall) == (pytest.approx(6 / 12), pytest.approx(6 / 14))
    # in the second segment bob marked one character of each, the model 6 of A
    found, n = inspector.project_overlap(store, project, SIGN, StoredTexts(store.projects, project, 2), seen)
    assert (found.counts, n) == ((6, 18, 16), 2)
    assert inspector.overlap_json(found)["f"] == pytest.approx(2 * 6 / (18 + 16))
    none = inspector.overlap(seen.by_output[OutputKey("B", *S0)], texts, model)
    assert inspector.overlap_json(none)["p"] is None
    assert none.reason == "the model removed nothing"
    assert inspector.overlap(of_segment(seen, S0), {}, {}).reason == "it has not been rated yet", "without refinements"


def test_labels_of_a_whole_text_are_completed(store: Store, project: int) -> None:
    verdicts = [Action(f"nt-{s}", "verdict", s, {"value": "non_translation"}) for s in "AB"]
    store.labels.append(project, "zoe", S0, [*verdicts, Action("nt-end", "submit", None, {})])
    texts = StoredTexts(store.projects, project, 2).segment(S0)[1]
    for rater, everyone in (("ann", False), ("bob", False), (None, True)):
        seen = inspector.with_texts(marks(store, project, rater, everyone=everyone), S0, texts)
        zoe = [r for of in seen.values() for r in of if r.rater == "zoe"]
        assert len(zoe) == 2
        assert all(r.errors[0].quote == texts[r.key.system] for r in zoe)
    drawn = inspector.layers_json("bad idea", "good idea", [RatedOutput(OutputKey("A", *S0), "ann", (Span("output", 0, 3, "bad", "Minor", "Style"),))])  # fmt: skip
    assert json.loads(json.dumps(drawn)) == [["bad", True, "Minor", 1, ""], [" idea", False, "", 0, ""]]
