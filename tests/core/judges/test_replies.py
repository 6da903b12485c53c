"""What replies say: nothing that cannot be read becomes a score, or "no error"."""

import json
import math
from collections import Counter

import pytest

from core.judges.client import Reply, _seconds_after
from core.judges.questions import CATEGORIES, NumberForm, SpansForm, WordForm, expected_value, read
from tests.core.judges.made_replies import completion, made_replies


def test_no_made_reply_becomes_a_score_that_it_does_not_say() -> None:
    states = Counter[tuple[str, str]]()
    for made in made_replies(2000):
        result = read(made.reply, NumberForm())
        assert (result.state, result.number) == (made.state, made.score), made
        assert (result.why == "") == (result.state == "ok")
        states[made.kind, result.state] += 1
    assert sum(states.values()) == 2000
    assert len(states) == 12
    assert {state: sum(n for (_, s), n in states.items() if s == state) for state in ("ok", "truncated", "refused", "unparsed")} == {
        "ok": 167, "truncated": 167, "refused": 167, "unparsed": 2000 - 3 * 167,
    }  # fmt: skip


def test_spans_say_no_error_only_explicitly() -> None:
    error = {"quote": "no error", "severity": "major", "category": "Other", "context": "", "text": "output"}

    def state(**members: object) -> str:
        return read(completion(json.dumps(members)), SpansForm()).state

    assert state(verdict="no_error", errors=[]) == "no_error"
    assert state(verdict="errors", errors=[error]) == "ok"
    for verdict, errors in (
        ("errors", []), ("no_error", [error]), ("none", []), ("errors", [error | {"severity": "critical"}]), ("errors", [error | {"text": "both"}]),
        ("errors", [error | {"category": "accuracy"}]), ("errors", [error | {"note": "x"}]), ("errors", [{"quote": "x"}]), ("errors", [error] * 51),
        ("errors", {"0": error}), ("errors", [error | {"quote": None}]),
    ):  # fmt: skip
        assert state(verdict=verdict, errors=errors) == "unparsed", (verdict, errors)
    assert state(errors=[]) == state(verdict="no_error") == "unparsed"
    for text in ("", "no-error", "I'm sorry, I can't do that", "**Major:**\nno-error", "Major errors: none"):
        assert read(completion(text), SpansForm()).state in ("unparsed", "refused")
    (quote,) = read(completion(json.dumps({"verdict": "errors", "errors": [error]})), SpansForm()).quotes
    assert (quote.text, quote.severity, quote.side) == ("no error", "Major", "output")
    assert all("/" not in one or one.split("/")[1] for one in CATEGORIES)


def test_a_server_may_ask_for_a_wait_in_seconds_or_by_date() -> None:
    assert _seconds_after(b"17") == 17.0
    assert _seconds_after(b"Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
    assert _seconds_after(b"") is _seconds_after(b"soon") is _seconds_after(b"-3") is None


def test_words_are_compared_exactly() -> None:
    form = WordForm(("correct", "incorrect"))
    assert read(completion('{"choice": "incorrect"}'), form).word == "incorrect"
    for text in ('{"choice": "Incorrect"}', '{"choice": "incorrect "}', '{"choice": ["correct"]}', "incorrect"):
        assert read(completion(text), form).state == "unparsed"


def test_the_expected_value_is_that_of_the_example() -> None:
    """p(1…5) = .02 .05 .08 .50 .25: (.02 + .10 + .24 + 2.00 + 1.25) / .90 = 3.61 / .90; "4" and " 4" are one value."""
    shares = {"1": 0.02, "2": 0.05, "3": 0.08, "4": 0.3, " 4": 0.2, "5": 0.25, "the": 0.1}
    top = [(token, math.log(p)) for token, p in shares.items()]
    assert expected_value(top, "12345").number == pytest.approx(3.61 / 0.90)
    assert expected_value([one for one in top if one[0] != "1"], "12345").state == "unparsed"  # .88 of the probability
    assert expected_value(None, "12345").state == "unparsed"
    assert read(Reply("overflow", why="too long"), NumberForm()) == ("overflow", None, "", (), "too long")
