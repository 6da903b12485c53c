"""The judge card: verdicts of judges whose quality is known, and what is counted."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.data import Item, OutputKey, Value
from core.errors import UserError
from core.judges.annotator_test import AnnotatorResult
from core.judges.asking import Judged, combined
from core.metrics import registry
from core.mqm.schemes import SCHEMES
from core.reports.judge_card import remarks
from core.scoring.items import score_items
from core.services.calibrate.calibration import HumanScores, from_judgements, from_rated, from_score
from core.services.judges.card import CardOptions, JudgeCard, judge_card, missing_labels
from core.services.judges.judged_outputs import answer_of, human_labels, judged_outputs, prices_of
from core.services.projects.view import Column
from tests import judges, views
from tests.judge_server import fields_of, judge_server
from tests.labels import columns
from tests.stores import new_store, put_scores

OPTIONS = CardOptions(draws=200)
DATA = judges.texts()


def card_of(
    values: dict[OutputKey, Value], of: dict[str, np.ndarray], human: str = "mqm", options: CardOptions = OPTIONS,
    metric: str = "judge-mqm",
) -> JudgeCard:  # fmt: skip
    """The card of a judge with these values, after they went through a database."""
    store = new_store()
    project = store.projects.create("p")
    numbers = judges.judgements(DATA, of)
    store.projects.add(project.id, DATA, judgements=numbers)
    signature = judges.SIGNATURE.replace("judge-mqm", metric)
    put_scores(store, project.id, metric, values, signature)
    scored = tuple(store.scores.signatures(project.id))
    view = views.view_of(DATA, scored, {signature: store.scores.column(project.id, signature)}, registry.specs())
    rated = columns(judges.rated_outputs(DATA, of))
    scores: HumanScores = from_rated(rated, judges.RATERS, SCHEMES["google"])
    if human == "ESA":
        scores = from_judgements(numbers, "ESA", "mean", ())
    elif human == "DA":
        scores = from_score({j.key: j.value for j in numbers[: len(DATA.outputs)]}, "DA", higher_is_better=True)
        options = options._replace(human_below=85, same_scale=False)
    elif human == "none":
        scores = from_score({}, "DA", higher_is_better=True)
    labels = human_labels(scores, rated, numbers)
    return judge_card(judged_outputs(store, project.id, view, view.columns[0], labels), options)


def answers(worst: np.ndarray, **more: object) -> dict[OutputKey, Value]:
    return {o.key: judges.answer(int(w), o.text) for o, w in zip(DATA.outputs, worst, strict=True)}


def test_a_judge_as_good_as_an_annotator_may_replace_one() -> None:
    of = judges.severities()
    card = card_of(answers(of["judge"]), of)
    by_question = {q.question: q for q in card.questions}
    assert [(q, r.verdict.kind) for q, r in by_question.items()] == [
        ("error", "may"),
        ("severity", "may"),
        ("score", "may"),
    ]
    assert card.sentence == (
        f"{card.label}: may replace an annotator for errors (yes or no), the worst severity and scores."
    )
    error = by_question["error"]
    assert (error.outputs, error.unanswered, card.outputs, card.documents) == (120, 0, 120, 30)
    # With error probabilities of .9 + .1/3, two annotators of one output agree in .93² + … of the cases: κ near the annotators' own.
    assert error.by_class.kappa.low > 0.6
    assert error.ceiling.difference.low < 0 < error.ceiling.difference.high
    assert error.constant_answer == "“error”"
    assert not error.constant.passes
    assert error.problems == ()
    assert len(error.curves[0]) == 31
    assert card.states == {s: {"answered": 60} for s in judges.SYSTEMS}
    assert card.costs == {"calls": 1000, "tokens_in": 200_000, "tokens_out": 40_000, "seconds": 500}
    assert card.disagreements[0].key in {o.key for o in DATA.outputs}
    # The MQM score of the same severities is compared with numbers from 0 to 100 by order only; errors below a threshold are compared.
    esa = card_of(answers(of["judge"]), of, "ESA", OPTIONS._replace(same_scale=False, human_below=85))
    assert [(q.question, q.verdict.kind) for q in esa.questions] == [("error", "may"), ("score", "untested")]
    assert esa.questions[1].by_score.low > 0.5
    assert "error spans of the judge and of" in esa.notes[0]


def test_a_judge_that_is_no_better_than_a_constant_answer_is_refused() -> None:
    of = judges.severities()
    clean = card_of(answers(np.zeros(120)), of)
    assert [q.verdict.kind for q in clean.questions] == ["not"] * 3
    assert clean.sentence.endswith("not shown to be better than a constant answer for errors (yes or no), the worst severity and scores.")  # fmt: skip
    assert [r.value for r in clean.questions[0].by_class.recalls] == [1, 0]
    # Nearly all outputs are clean: the same answer passes the test, and a better judge is not told apart from it.
    rare = {who: np.where(np.arange(120) < 8, 2, 0) for who in judges.RATERS}
    missed = np.where(np.arange(120) < 5, 2, 0)
    card = card_of(answers(missed), rare)
    assert card.questions[0].constant.passes
    assert card.questions[0].test.passes
    assert (card.questions[0].verdict.kind, card.questions[0].verdict.more) == ("few", None)
    assert "a constant answer passes the test too" in card.questions[0].verdict.why
    rng = np.random.default_rng(4)
    poor = np.where(rng.random(120) < 0.4, of["judge"], rng.integers(0, 3, 120))
    verdict = card_of(answers(poor), of).questions[1].verdict
    assert (verdict.kind, verdict.constant) == ("not", False)


def test_too_few_labels_are_counted() -> None:
    of = judges.severities()
    first = {o.key: judges.answer(int(w), o.text) for o, w in list(zip(DATA.outputs, of["judge"], strict=True))[:20]}
    card = card_of(first, of)
    assert remarks(card)[0].endswith("(50 to 100 are advised) (error, severity, score).")
    # 20 outputs are shared with each of three annotators: 3·(30 − 20) labels are missing
    assert [(q.verdict.kind, q.verdict.more) for q in card.questions] == [("few", 30)] * 3
    assert "too few labels to say for errors (yes or no) (30 more)" in card.sentence
    assert len(card.questions[0].problems) == 3  # annotators, Wilcoxon's test, documents
    # SE = (.05 − .15)/−1.25 = .08; z_.95 + z_.8 = 2.486; 40·(2.486·.08/.10)² = 158.2 items, of which 40 are labelled
    row = AnnotatorResult("Ana", "", 40, 20, 0.6, 0.65, 0.05, 0.5, -1.25, 0.11, 0.05, False, "t")
    assert missing_labels([row], 0.15) == 159 - 40
    assert missing_labels([row._replace(difference=0.2)], 0.15) is None
    silent = {o.key: judges.no_answer("unparsed") for o in DATA.outputs} | {
        DATA.outputs[0].key: judges.answer(2, DATA.outputs[0].text)
    }
    assert [(q.verdict.kind, q.verdict.why[:18]) for q in card_of(silent, of).questions] == [
        ("not", "no readable answer")
    ] * 3
    unlabelled = card_of(first, of, "none")
    assert (unlabelled.outputs, unlabelled.questions[0].verdict.kind) == (0, "few")
    one_rater = card_of(answers(of["judge"]), of, "DA").questions[0]
    assert (one_rater.question, one_rater.verdict.kind, one_rater.verdict.more) == ("error", "few", 90)
    imported = from_score({o.key: 1.0 for o in DATA.outputs}, "DA", higher_is_better=True)
    assert human_labels(imported, None, ()).raters == ("DA",)
    with pytest.raises(UserError, match="ranks are on no scale"):
        human_labels(imported.__class__("judgements|name:r|by:wins", {}), None, ())


def test_repeats_preferences_and_missing_answers_are_counted() -> None:
    of = judges.severities()
    values = answers(of["judge"])
    for i, o in enumerate(DATA.outputs[:90]):
        values[o.key] = judges.answer(
            2, o.text, -5.0, [-5.0, -5.0, 0.0] if i % 3 == 0 else [-float(i), -float(i) - 1, -float(i)]
        )
    values[DATA.outputs[-1].key] = judges.no_answer("refused")
    values[DATA.outputs[-2].key] = judges.no_answer("unparsed")
    values[DATA.outputs[-3].key] = Value(None, "error", "no connection")
    del values[DATA.outputs[-4].key]
    card = card_of(values, of, options=OPTIONS._replace(own=("A",), prices=(1.0, 10.0)))
    assert card.states == {
        "A": {"answered": 58, "unparsed": 1, "not asked": 1},
        "B": {"answered": 58, "error": 1, "refused": 1},
    }
    assert (card.outputs, [q.unanswered for q in card.questions]) == (118, [2, 2, 2])
    assert card.stability.calls == 3
    assert card.stability.flip_rate.value == pytest.approx(
        30 / 3 / 90
    )  # a third of 90 outputs, each with one of three calls apart
    tokens = card.costs["tokens_in"] + 10 * card.costs["tokens_out"]
    assert card.costs["price"] == pytest.approx(tokens / 1e6)
    assert card.own.own_pairs + card.own.other_pairs > 20
    assert card.length.slope.low < 0 < card.length.slope.high
    assert card.length.longer_errors is not None
    pairs = {
        o.key: Value(0.5, parts={"calls": 2.0, "wins": 1, "ties": 1, "losses": 1, "inconsistent": 1})
        for o in DATA.outputs
    }
    pairwise = card_of(pairs, of, "ESA", metric="judge-pairwise")
    assert pairwise.position.order_dependent.value == 0.25
    assert pairwise.questions[-1].verdict.kind != "may"
    detail = {"state": "ok", "spans": [], "unplaced": [{"severity": "Major", "category": "Accuracy", "quote": "?"}]}
    first, second, tie = (judges.reply(order="first", text=f'{{"better": "{word}"}}') for word in ("A", "B", "tie"))
    assert answer_of(detail | {"replies": [first, first, second, tie]}) == ("ok", 2, (), 3, 2)
    made = combined(
        [Judged("ok", 80.0), Judged("unparsed"), Judged("ok", 90.0)],
        [judges.reply(repeat=i) for i in range(3)],
        spans=False,
    )
    assert answer_of(made.detail) == ("ok", None, (80.0, 90.0), 0, 0)  # the form in which judges store repeats
    twice = [judges.reply(repeat=i) for i in range(3)]
    assert answer_of(detail | {"replies": twice, "values": [1, None, 3]})[:3] == (
        "ok",
        0,
        (1, 3),
    )  # one of three calls named it


def test_a_judge_on_a_real_server_has_a_card(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The server knows the labels of a good judge, and adds a little by the seed; some replies cannot be read, or truncate."""
    of = judges.severities()
    worst = {o.text: int(w) for o, w in zip(DATA.outputs, of["judge"], strict=True)}
    texts = [Item(s.source, o.text, ()) for s in DATA.segments for o in DATA.outputs_of()[s.key]]

    def answer_to(body: dict[str, Any]) -> str:
        text = str(fields_of(body)["output"])
        return (
            "no idea"
            if text == texts[5].hypothesis
            else json.dumps({"score": 92 - 30 * worst[text] + body["seed"] // 1000 * 3})
        )

    with judge_server(answer=answer_to) as server:
        settings = {"judges": {"mine": {"address": server.address, "model": "m", "price_in": 2.0, "price_out": 6.0}}}
        (tmp_path / "judges.json").write_text(json.dumps(settings), encoding="utf-8")
        monkeypatch.setenv("ERRORSCOPE_JUDGES", str(tmp_path / "judges.json"))
        metric = registry.load_metric("judge-da|judge:mine|repeats:3")
        (scored,) = score_items(texts, [metric])

        async def in_a_loop() -> list[Value]:
            return score_items(texts[:1], [metric])[0].values

        with ThreadPoolExecutor(1) as notebook:
            assert notebook.submit(asyncio.run, in_a_loop()).result()[0].value == scored.values[0].value
        column = Column("m", metric.spec.name, "Judge DA", metric.signature(), True)
        assert prices_of(column) == (2.0, 6.0)
    assert prices_of(column._replace(signature="judge-da|judge:other")) is None
    of_key = dict(zip([o.key for s in DATA.segments for o in DATA.outputs_of()[s.key]], scored.values, strict=True))
    options = OPTIONS._replace(human_below=85, judge_below=85, prices=(2.0, 6.0))
    card = card_of(of_key, of, "ESA", options, metric=metric.spec.name)
    assert [(q.question, q.verdict.kind, q.unanswered) for q in card.questions] == [
        ("error", "may", 1),
        ("score", "may", 1),
    ]
    assert card.stability.calls == 3
    # Calls of one output differ by 0, 3 and 6: MS_w = 9; the outputs' means have a variance of about (30·.85)²
    assert card.stability.icc.value == pytest.approx(1 - 9 / (9 + np.var([92 - 30 * w for w in of["judge"]])), abs=0.01)
    assert card.costs["calls"] == pytest.approx(
        1000 * (119 * 3 + 9) / 120
    )  # the unreadable reply is asked for twice more, in each repeat
    assert card.costs["price"] == pytest.approx((2 * card.costs["tokens_in"] + 6 * card.costs["tokens_out"]) / 1e6)
