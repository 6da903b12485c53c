"""Judges as metrics, against a real server."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from core.data import Dataset, Item, Output, Segment, Value
from core.errors import UserError
from core.judges import client, probe, questions
from core.judges.endpoints import endpoint
from core.metrics import readiness, registry
from core.progress import Cancelled
from core.scoring.dataset import for_dataset, score_dataset
from core.scoring.items import score_items
from core.scoring.values import InMemoryScores, ScoringProgress
from tests.judge_server import Fault, JudgeServer, fields_of, judge_server


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[JudgeServer]:
    """A server of its own, which is the default judge; retries wait a hundredth of the time."""
    monkeypatch.setattr(client, "BACK_OFF", 0.005)
    with judge_server() as running:
        monkeypatch.setenv("ERRORSCOPE_JUDGE", running.setting)
        yield running


def configured(
    monkeypatch: pytest.MonkeyPatch, folder: Path, server: JudgeServer, metrics: object = None, **more: object
) -> None:
    """Configure the judge "mine" with further settings."""
    content = {"judges": {"mine": {"address": server.address, "model": "m", **more}}, "metrics": metrics or {}}
    (folder / "judges.json").write_text(json.dumps(content), encoding="utf-8")
    monkeypatch.setenv("ERRORSCOPE_JUDGES", str(folder / "judges.json"))


def items(n: int) -> list[Item]:
    return [Item(f"die Katze {k}", f"the cat sat {k}", (f"a cat {k}",)) for k in range(n)]


def scored(name: str, texts: Sequence[Item]) -> list[Value]:
    return score_items(texts, [registry.load_metric(name)])[0].values


def data(n: int) -> Dataset:
    segments = tuple(Segment("d", str(k), one.source, one.references) for k, one in enumerate(items(n)))
    return Dataset(segments, tuple(Output("A", "d", str(k), one.hypothesis) for k, one in enumerate(items(n))))


def test_a_number_is_what_the_judge_says_and_all_parameters_are_sent(server: JudgeServer) -> None:
    server.answer = lambda body: json.dumps({"score": len(str(fields_of(body)["output"]))})
    values = scored("judge-da", [Item("x", "four", ()), Item("x", "seven 7", ())])
    assert [value.value for value in values] == [4.0, 7.0]
    assert values[0].parts["calls"] == 1
    assert values[0].detail is not None
    assert values[0].detail["state"] == "ok"
    assert values[0].detail["replies"][0]["text"] == '{"score": 4}'
    assert "spans" not in values[0].detail
    body = server.bodies[0]
    assert body["response_format"]["json_schema"]["schema"]["properties"] == {
        "score": {"type": "integer", "minimum": 0, "maximum": 100}
    }
    assert {key: body[key] for key in ("model", "temperature", "top_p", "max_tokens", "seed", "frequency_penalty", "presence_penalty", "stream")} == {
        "model": "m", "temperature": 0, "top_p": 1, "max_tokens": 1024, "seed": 1, "frequency_penalty": 0, "presence_penalty": 0, "stream": False,
    }  # fmt: skip
    assert json.loads(body["messages"][1]["content"]) == {"source": "x", "output": "four"}


def test_an_unreadable_reply_is_asked_for_twice_more_and_never_a_score(server: JudgeServer) -> None:
    server.answer = lambda body: '{"score": 50}' if body["seed"] == 2 else "fifty"
    (value,) = scored("judge-da", items(1))
    assert (value.value, value.parts["calls"], server.requests) == (50.0, 2, 2)
    server.answer = lambda body: "fifty"
    (value,) = scored("judge-da", [Item("a", "b", ())])
    assert (value.value, value.status, value.reason) == (None, "undefined", "the reply is not one JSON object")
    assert [(one["seed"], one["state"], one["text"]) for one in (value.detail or {})["replies"]] == [
        (k, "unparsed", "fifty") for k in (1, 2, 3)
    ]
    for finish, state in (("length", "truncated"), ("content_filter", "refused")):
        server.finish = lambda body, finish=finish: finish  # type: ignore[misc]
        (value,) = scored("judge-mqm", [Item(state, "b", ())])
        assert (value.status, (value.detail or {})["state"]) == ("undefined", state)
        assert "spans" not in (value.detail or {})
    assert server.requests == 2 + 3 + 2


def test_spans_have_places_and_a_penalty(server: JudgeServer) -> None:
    """Two major errors (5 each, one of them not found), one minor one (1), one minor punctuation error (0.1), and one listed twice: 11.1."""
    output, source = "The cat  saw the dog.", "Die Katze sah gestern den Hund."

    def error(
        quote: str, severity: str, category: str = "Accuracy/Mistranslation", text: str = "output"
    ) -> dict[str, str]:
        return {"quote": quote, "context": "", "severity": severity, "category": category, "text": text}

    errors = [
        error("saw", "major"), error("saw", "major"), error("elephant", "major"), error("gestern", "minor", "Accuracy/Omission", "source"),
        error(".", "minor", "Fluency/Punctuation"),
    ]  # fmt: skip
    server.answer = lambda body: json.dumps({"verdict": "errors", "errors": errors})
    (value,) = scored("judge-mqm", [Item(source, output, ())])
    assert value.value == pytest.approx(-11.1)
    detail = value.detail or {}
    assert [(one["side"], one["start"], one["end"], one["severity"]) for one in detail["spans"]] == [
        ("output", 9, 12, "Major"), ("output", 20, 21, "Minor"), ("source", 14, 21, "Minor"),
    ]  # fmt: skip
    assert [(one["quote"], one["outcome"]) for one in detail["unplaced"]] == [("elephant", "not_found")]
    assert {name: value.parts[name] for name in ("errors", "unplaced", "duplicates")} == {
        "errors": 4,
        "unplaced": 1,
        "duplicates": 1,
    }
    server.answer = lambda body: '{"verdict": "no_error", "errors": []}'
    (value,) = scored("judge-mqm", [Item("x", output, ())])
    assert (value.value, (value.detail or {})["state"], (value.detail or {})["spans"]) == (0.0, "no_error", [])


def test_repeats_are_averaged_and_their_spread_is_kept(server: JudgeServer) -> None:
    """Seeds 1, 1001 and 2001: 40, 60 and 80 have the mean 60 and the standard deviation 20."""
    server.answer = lambda body: json.dumps({"score": 40 + 20 * (body["seed"] // 1000)})
    (value,) = scored("judge-da|repeats:3", items(1))
    assert (value.value, value.parts["spread"], value.parts["repeats"]) == (60.0, 20.0, 3)
    server.answer = lambda body: "no" if body["seed"] > 1000 else '{"score": 40}'
    (value,) = scored("judge-da|repeats:3", [Item("a", "b", ())])
    assert (value.value, value.status) == (None, "undefined")  # one readable of three
    server.answer = lambda body: "no" if body["seed"] > 2000 else '{"score": 40}'
    (value,) = scored("judge-da|repeats:3", [Item("a", "c", ())])
    assert (value.value, value.parts["repeats"], (value.detail or {})["rule"][-6:]) == (40.0, 2, "2 of 3")


def test_comparisons_ask_both_orders_and_keep_inconsistent_apart(server: JudgeServer) -> None:
    """good beats bad in both orders; `same` is a tie with good; `first` always says A against bad: inconsistent."""

    def answer(body: Any) -> str:
        first, second = (str(fields_of(body)[side]) for side in ("A", "B"))
        if "good" in first + second and "bad" in first + second:
            return json.dumps({"better": "A" if first == "good" else "B"})
        return json.dumps({"better": "tie" if {first, second} == {"good", "same"} else "A"})

    server.answer = answer
    texts = [Item("x", text, ("r",)) for text in ("good", "bad", "same")]
    metric = registry.load_metric("judge-pairwise")
    assert metric.judge is not None
    assert metric.judge.cost(texts).calls == 6
    good, bad, same = scored("judge-pairwise", texts)
    counts = [
        {name: value.parts[name] for name in ("wins", "ties", "losses", "inconsistent")} for value in (good, bad, same)
    ]
    assert counts == [
        {"wins": 1, "ties": 1, "losses": 0, "inconsistent": 0}, {"wins": 0, "ties": 0, "losses": 1, "inconsistent": 1},
        {"wins": 0, "ties": 1, "losses": 0, "inconsistent": 1},
    ]  # fmt: skip
    assert [good.value, bad.value, same.value] == [0.75, 0.0, 0.5]
    assert server.requests == 6  # three pairs in two orders; each is asked once for both outputs
    (alone,) = scored("judge-pairwise", [Item("y", "only", ())])
    assert (alone.status, alone.detail) == ("needs", None)


def test_own_templates_have_a_form_of_their_own(
    server: JudgeServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "t.txt").write_text(
        'Source: {source}\nOutput: {output}\nBefore: {context}\n{"json": "stays"}', encoding="utf-8"
    )
    metrics = {
        "polite": {"template": "t.txt", "reply": "choice", "choices": {"polite": 1, "rude": -1}, "label": "Politeness"}
    }
    configured(monkeypatch, tmp_path, server, metrics)
    registry._plain.cache_clear()
    metric = registry.load_metric("judge:polite")
    assert (metric.spec.label, metric.spec.range, metric.spec.needs) == ("Politeness", (-1, 1), {"source", "judge"})
    server.answer = lambda body: '{"choice": "rude"}'
    values = score_dataset(data(3), [metric], cache := InMemoryScores())
    assert [value.value for value in cache.by_signature[values[0].signature].values()] == [-1.0] * 3
    sent = sorted(body["messages"][0]["content"] for body in server.bodies)
    assert sent[2].startswith(
        'Source: "die Katze 2"\nOutput: "the cat sat 2"\nBefore: "die Katze 0\\ndie Katze 1"\n{"json": "stays"}'
    )
    assert "judge:polite" in registry.specs()
    (tmp_path / "t.txt").write_text("{source} only", encoding="utf-8")
    registry._plain.cache_clear()
    assert readiness.of_all(["judge:polite"])["judge:polite"].state == "judge"
    injected = Item("{output}", "x {source}", ())
    assert questions.filled("{source}/{output}", injected, "") == '"{output}"/"x {source}"'
    registry._plain.cache_clear()


def test_the_server_may_refuse_stop_and_answer_too_much(
    server: JudgeServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    configured(monkeypatch, tmp_path, server, time_limit=0.3, concurrency=1)
    server.faults += [
        Fault(429, {"Retry-After": "0"}), Fault(503), Fault(dies=True), Fault(200), Fault(hang=True), Fault(megabytes=10), Fault(200),
        Fault(400, text='{"error": {"code": "exceed_context_size_error"}}'), Fault(400, text="bad request"),
    ]  # fmt: skip
    values = scored("judge-da|judge:mine", items(5))
    assert [(value.status, (value.detail or {})["state"]) for value in values] == [
        ("ok", "ok"), ("error", "failed"), ("ok", "ok"), ("undefined", "overflow"), ("error", "failed"),
    ]  # fmt: skip
    assert server.requests == 4 + 1 + 2 + 1 + 1  # retried; not after the time limit; 10 MB asked again; never after 400
    assert (values[0].detail or {})["replies"][0]["retries"] == 3
    assert [one["state"] for one in (values[2].detail or {})["replies"]] == ["unparsed", "ok"]
    assert values[1].reason == "no complete reply within 0.3 s"


def test_a_dead_server_ends_the_metric_and_nothing_is_asked_twice(
    server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    metric = for_dataset(registry.load_metric("judge-da"), data(60))
    server.faults += [Fault() for _ in range(20)] + [Fault(500) for _ in range(200)]
    (result,) = score_dataset(data(60), [metric], cache := InMemoryScores())
    assert (result.new, result.failed) == (20, 40)
    reasons = {value.reason for value in cache.by_signature[result.signature].values() if value.status == "error"}
    assert any("failed 3 times in a row" in reason and "status 500" in reason for reason in reasons)
    tried = server.requests
    assert tried < 20 + 4 * 2 * (client.RETRIES + 1)
    server.faults.clear()
    (result,) = score_dataset(data(60), [metric], cache)
    assert (result.new, result.known, result.failed) == (40, 20, 0)
    assert server.requests == tried + 40


def test_another_model_under_the_same_name_is_noticed(server: JudgeServer) -> None:
    metric = for_dataset(registry.load_metric("judge-da"), data(100))

    def answer(body: Any) -> str:
        if server.requests == 50:
            server.fingerprint = "f2"
        return '{"score": 1}'

    server.answer = answer
    (result,) = score_dataset(data(100), [metric], cache := InMemoryScores())
    values = cache.by_signature[result.signature]
    assert result.failed
    assert result.new == sum(value.status == "ok" for value in values.values()) < 50
    assert all((v.detail or {})["replies"][0]["fingerprint"] == "f1" for v in values.values() if v.status == "ok")
    assert "changed" in result.reason
    again = for_dataset(registry.load_metric("judge-da"), data(100))
    assert again.signature() != result.signature
    server.meta = {"n_params": 271}  # the weights changed, and no fingerprint says so
    (second,) = score_dataset(data(100), [again], InMemoryScores())
    assert (second.new, "changed" in second.reason) == (0, True)


def test_what_is_complete_is_stored_when_a_job_is_cancelled(server: JudgeServer) -> None:
    server.delay = 0.02
    metric = for_dataset(registry.load_metric("judge-da"), data(64))

    def stop(at: ScoringProgress) -> None:
        if server.requests > 12:
            raise Cancelled

    cache = InMemoryScores()
    with pytest.raises(Cancelled):
        score_dataset(data(64), [metric], cache, stop)
    stored, asked = len(cache.by_signature[metric.signature()]), server.requests
    assert asked - 4 <= stored <= asked < 40  # those in flight, four at a time, are lost
    server.delay = 0.0
    score_dataset(data(64), [metric], cache)
    assert asked + 64 - stored <= server.requests <= asked + 64 - stored + 4


def test_a_budget_of_tokens_ends_the_metric(
    server: JudgeServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    configured(monkeypatch, tmp_path, server, tokens_per_job=1000, concurrency=2)
    (result,) = score_dataset(data(40), [registry.load_metric("judge-da|judge:mine")], cache := InMemoryScores())
    assert result.new == server.requests < 12
    assert "the budget of tokens is used up" in result.reason
    (result,) = score_dataset(data(40), [registry.load_metric("judge-da|judge:mine")], cache)
    assert result.known < server.requests == result.known + result.new


def test_readiness_says_what_is_missing_and_does_not_wait(server: JudgeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def reason() -> str:
        return readiness.readiness_of(registry.load_metric("judge-da")).sentence()

    assert reason() == ""
    monkeypatch.setattr(probe, "KEPT", 0.0)
    monkeypatch.setenv("ERRORSCOPE_JUDGE", "http://127.0.0.1:1/v1 m")
    assert "cannot be reached" in reason()
    monkeypatch.setenv("ERRORSCOPE_JUDGE", "http://judge.example/v1 m")
    assert reason().startswith("judge not ready: texts may not be sent to this host")
    monkeypatch.delenv("ERRORSCOPE_JUDGE")
    assert "no judge is configured" in reason()
    for wrong in (
        "http://127.0.0.1",
        "127.0.0.1:80/v1 m",
        "http://user:sk-secret@127.0.0.1/v1 m",
        "http://127.0.0.1/v1?key=sk-secret m",
        "a b c",
    ):
        monkeypatch.setenv("ERRORSCOPE_JUDGE", wrong)
        with pytest.raises(UserError) as error:
            endpoint()
        assert "sk-secret" not in str(error.value)
    held = threading.Event()
    monkeypatch.setattr(probe, "_tested", lambda *_: _wait(held))
    monkeypatch.setenv("ERRORSCOPE_JUDGE", server.setting.replace("/v1", "/v1/"))
    probe.wait_at_most(0.05)
    try:
        assert "being tested" in reason()
    finally:
        held.set()
        probe.wait_at_most(None)


async def _wait(held: threading.Event) -> Any:
    held.wait(5)
    raise UserError("enough")


def test_metrics_inside_others_are_no_judges(server: JudgeServer) -> None:
    """Their texts would be sent without a screen that says so."""
    for expression in ("menli|with:judge-da", "smart1|matcher:judge-da"):
        with pytest.raises(UserError):
            registry.load_metric(expression)


def test_the_estimate_counts_calls_and_tokens(server: JudgeServer) -> None:
    metric = registry.load_metric("judge-esa|repeats:2")
    assert metric.judge is not None
    cost = metric.judge.cost(items(10))
    scored("judge-esa|repeats:2", items(10))
    assert cost.calls == 40
    assert server.requests == 40
    sent = sum(len(json.dumps(body["messages"])) // 4 for body in server.bodies)
    assert 0.6 < cost.tokens_in / sent < 1.2
    assert (metric.judge.host, metric.judge.is_local, metric.judge.batch) == ("127.0.0.1", True, 32)


def test_a_server_without_schemas_and_probabilities_is_noticed(server: JudgeServer) -> None:
    server.obeys_schema = False
    metric = registry.load_metric("judge-da")
    assert "|schema:no|" in metric.signature()
    scored("judge-da", items(1))
    assert "response_format" not in server.bodies[0]
    assert "no token probabilities" in readiness.readiness_of(registry.load_metric("judge-da|scale:expected")).reason


@pytest.mark.extended
def test_a_real_model_that_writes_nonsense_gets_no_scores(server: JudgeServer) -> None:
    """An untrained language model: what it writes is no JSON, so that no output has a score or "no error"."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from tests import tiny_checkpoints as tiny

    tiny.environment()
    model = AutoModelForCausalLM.from_pretrained(tiny.home("lm"))
    tokenizer = AutoTokenizer.from_pretrained(tiny.home("lm"))

    def answer(body: Any) -> str:
        torch.manual_seed(body["seed"])
        ids = tokenizer(body["messages"][-1]["content"][:8], return_tensors="pt").input_ids[:, : tiny.WINDOW // 2]
        written = model.generate(ids, do_sample=True, max_new_tokens=tiny.WINDOW // 4, pad_token_id=1)
        return str(tokenizer.decode(written[0, ids.shape[1] :]))

    server.answer = answer
    for name in ("judge-da", "judge-mqm"):
        values = scored(name, items(20))
        assert [value.status for value in values] == ["undefined"] * 20
        assert {(value.detail or {})["state"] for value in values} <= {"unparsed", "truncated"}
        assert all(len((value.detail or {})["replies"]) == 3 for value in values)
