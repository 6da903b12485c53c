"""The inspector on the Compare page over a real database, with a model that is made up and without a browser."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.data import OutputKey, RatedOutput, SegmentKey, Span, Value
from core.mqm.actions import label_actions
from core.ports.store import Store
from core.refine.inspect import Round
from core.refine.result import EditStep, Refinement, Token
from pages._ui import components
from pages._ui.annotate import identity
from pages._ui.compare import inspector as inspector_section
from pages._ui.compare import inspector as model_rounds
from pages._ui.compare.inspector import OpenInspector
from pages._ui.compare.marks import switch_key
from tests.pages.opened_page import run
from tests.pages.test_compare import project
from tests.stores import put_scores

__all__ = ["project"]
KEY = SegmentKey("d", "1")
HERE = {"model": "tests/model", "rev": "abc", "dtype": "fp32"}
SIGN = "bartscore++|lambda:1|v:1|variant:f|model:tests/model|rev:abc|dtype:fp32"
STEP = EditStep(1, "substitute", " river", " stream", -2.0, -1.0, (), "The stream rose.")


def seen(text: str, score: float, step: EditStep | None = None) -> Round:
    tokens = (Token(text, 0, len(text), -1.0), Token("", len(text), len(text), -0.5))
    return Round(text, tokens, (((" other", 0.3),), ((".", 0.6),)), score, step)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the inspector is given, in order; a text scores minus its length."""
    given: list[dict[str, Any]] = []
    build = components.build
    drawn = {components.CARDS: lambda **kw: None, components.INSPECTOR: lambda **kw: given.append(kw["data"])}
    monkeypatch.setattr(components, "build", lambda of: drawn.get(of) or build(of))
    monkeypatch.setattr(inspector_section, "model_facts", lambda: HERE)
    monkeypatch.setattr(model_rounds, "look_at_text", lambda model, text, *_: seen(text, -float(len(text))))
    monkeypatch.setattr(
        model_rounds, "replay_rounds", lambda model, text, *_: (seen(text, -2.0, STEP), seen(STEP.text, -1.0))
    )
    return given


def score(store: Store, project: int, sign: str = SIGN) -> None:
    values = {}
    for key, item in store.projects.dataset(project).items():
        edited = key.system == "alpha" and key.segment == KEY
        analysis = Refinement(
            "f", 0, False, "", STEP.text if edited else item.hypothesis, -2.0, -1.0 if edited else -2.0, -0.1,
            (Token("x", 0, 1, -1.0),), (STEP,) if edited else (),
        )  # fmt: skip
        values[key] = Value(-1.0, parts=analysis.parts(), detail=analysis.to_json())
    put_scores(store, project, "bartscore++", values, sign)


def label(store: Store, project: int, rater: str) -> None:
    marks = (Span("output", 4, 9, "river", "Major", "Accuracy"),)
    rated = [RatedOutput(OutputKey(s, *KEY), rater, marks if s == "alpha" else ()) for s in ("alpha", "beta")]
    for (who, segment), actions in label_actions(rated).actions.items():
        store.labels.append(project, who, segment, actions)


def opened(project: int, system: str = "alpha") -> AppTest:
    at = run(project=project)
    at.session_state[inspector_section.OPENED] = OpenInspector(project, KEY, system, 1)
    return checked(at.run())


def checked(at: AppTest) -> AppTest:
    assert not at.exception
    assert not at.error, at.error[0].value
    return at


def asked(at: AppTest, data: dict[str, Any], **answers: Any) -> AppTest:
    at.session_state[f"mailbox-{inspector_section.INSPECTOR_KEY}"] = components.Mailbox(data["key"], last=answers)
    return checked(at.run())


def test_an_inspected_card_shows_its_rounds_and_tries(store: Store, project: int, drawn: list[Any]) -> None:
    score(store, project)
    checked(run(project=project))
    assert not drawn
    at = opened(project)
    data = drawn[-1]
    assert (data["name"], data["condition"], data["complete"]) == ("alpha", "The river burst its banks.", True)
    assert [r["text"] for r in data["rounds"]] == ["The river rose.", "The stream rose."]
    assert data["notes"] == []

    one, two = {"n": 11, "base": "r0", "text": "The river"}, {"n": 12, "base": "t11", "text": "A river"}
    asked(at, drawn[-1], attempts={"list": [one]})
    assert drawn[-1]["answered"] == 11
    asked(at, drawn[-1], attempts={"list": [one, two]})
    tries = drawn[-1]["tries"]
    assert [(t["n"], t["base"], t["before"], t["after"]) for t in tries] == [
        (12, "try 1", -9.0, -7.0),
        (11, "the output", -2.0, -9.0),
    ]
    assert tries[0]["diff"] == [["delete", "The"], ["insert", "A"], ["same", " river"]]
    asked(at, drawn[-1], attempts={"list": [one, two]}, again={"n": 13})
    assert drawn[-1]["tries"] == []
    asked(at, drawn[-1], attempts={"list": [one | {"n": 14}]})
    assert [t["n"] for t in drawn[-1]["tries"]] == [14]

    at.session_state[inspector_section.OPENED] = OpenInspector(project, KEY, "beta", 2)
    checked(at.run())
    assert (drawn[-1]["name"], drawn[-1]["tries"]) == ("beta", []), "the next output begins without tries"
    at.query_params["doc"], at.query_params["segment"] = "d", "2"
    n = len(drawn)
    checked(at.run())
    assert len(drawn) == n, "another segment closes the inspector"
    assert inspector_section.OPENED not in at.session_state


def test_a_try_that_cannot_be_scored_says_why(store: Store, project: int, drawn: list[Any]) -> None:
    score(store, project)
    at = opened(project)
    for n, base, text, why in ((11, "t5", "x", "no longer exists"), (12, "r0", "x" * 20_001, "too long")):
        asked(at, drawn[-1], attempts={"list": [{"n": n, "base": base, "text": text}]})
        assert drawn[-1]["tries"] == [], why
        assert why in drawn[-1]["refused"][str(n)]
    checked(at.toggle(key="compare-blind").set_value(True).run())
    assert drawn[-1]["name"].startswith("Output ")
    assert "alpha" not in str(drawn[-1])


def test_another_model_than_that_of_the_card_is_named(store: Store, project: int, drawn: list[Any]) -> None:
    score(store, project, SIGN.replace("rev:abc", "rev:old"))
    opened(project)
    assert "scored by tests/model (old); the configured model is tests/model (abc)" in drawn[-1]["notes"][0]


def test_marks_are_hidden_before_a_submission_until_asked_for(
    store: Store, project: int, drawn: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    score(store, project)
    label(store, project, "ann")
    monkeypatch.setattr(identity, "rater", lambda: "carl")
    at = opened(project)
    hidden = drawn[-1]["overlap"]
    assert (hidden["layers"], hidden["rows"]) == (None, [])
    assert "stay hidden" in hidden["lines"][0]
    assert not any("would bias your labels" in c.value for c in at.caption)
    at.toggle(key=switch_key(project)).set_value(True).run()
    assert any("would bias your labels" in c.value for c in checked(at).caption)
    shown = drawn[-1]["overlap"]
    # the model took away "river", ann marked "river"; beta was not edited and has no mark
    assert [(r["label"], r["p"], r["r"], r["counts"]) for r in shown["rows"]] == [
        ("this output", 1.0, 1.0, [5, 5, 5]),
        ("this segment, all outputs", 1.0, 1.0, [5, 5, 5]),
        ("this project", 1.0, 1.0, [5, 5, 5]),
    ]
    assert ["river", True, "Major", 1, ""] in shown["layers"]


def test_who_has_submitted_the_segment_sees_the_marks(
    store: Store, project: int, drawn: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    score(store, project)
    label(store, project, "ann")
    opened(project, "beta")
    row = drawn[-1]["overlap"]["rows"][0]
    assert (row["p"], row["r"], row["f"]) == (None, None, None)
    assert row["why"] == "the model removed nothing and no rater marked an error"
    label(store, project, "bob")
    monkeypatch.setattr(identity, "rater", lambda: "bob")
    opened(project)
    assert drawn[-1]["overlap"]["raters"] == 2
    assert drawn[-1]["overlap"]["rows"][-1]["label"] == "the 1 segment you submitted"
    monkeypatch.setattr(identity, "rater", lambda: "carl")
    opened(project)
    assert drawn[-1]["overlap"]["layers"] is None
    assert drawn[-1]["overlap"]["rows"] == []
