"""How a judge is asked about outputs: requests with repeats and re-asked replies, and the value that they give."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from core.data import Item, Span, Status, Value, grouped
from core.errors import UserError
from core.judges import probe, questions
from core.judges.client import Reply, Session, TokenBudget, each, run_to_end
from core.judges.endpoints import Endpoint, endpoint
from core.judges.questions import (
    PARSER,
    READABLE,
    NumberForm,
    ReadReply,
    ReplyForm,
    SpansForm,
    State,
    WordForm,
    expected_value,
    read,
)
from core.metrics.base import JudgeCost, MetricEnded
from core.mqm.schemes import GOOGLE
from core.mqm.scores import DECIMALS, rater_penalty
from core.progress import Cancelled, Progress
from core.signature import signature
from core.spans.layers import LayerSpan, spans_to_json
from core.spans.quotes import Placed, place_quotes

VERSION = 1
RE_ASKS = 2
"""Times that an unreadable reply is asked for again, with another seed."""
BATCH = 8
"""Outputs scored together, in multiples of the concurrency."""
DIGITS = ("1", "2", "3", "4", "5")
TOKENS_OF_FORM: Mapping[type[object], int] = {NumberForm: 10, WordForm: 10, SpansForm: 150}
"""Tokens that a reply has, for estimates."""
RULE = "mean of the readable replies, which must be more than half"


class Judged(NamedTuple):
    """What one repeat gave: the state of the replies that decide it, a number, and placed quotes. `parts` are further numbers."""

    state: State
    number: float | None = None
    why: str = ""
    placed: tuple[Placed, ...] = ()
    parts: Mapping[str, float] = {}


class _OtherModel(Exception):  # noqa: N818  (a state, not a fault)
    """Another model answered than the one in the signature."""


@dataclass
class Calls:
    """The requests for one output, the model that must answer them, and a record of every reply."""

    judge: Endpoint
    identity: probe.ModelIdentity
    session: Session
    records: list[dict[str, Any]] = field(default_factory=list)

    async def ask(
        self, messages: questions.Messages, form: ReplyForm | None, repeat: int, **about: object
    ) -> tuple[ReadReply, str]:
        """Return what the judge says, and its text. A reply that cannot be read is asked for again. Without a form: one digit."""
        result, text = ReadReply("failed"), ""
        for attempt in range(RE_ASKS + 1):
            reply, seed = await self._send(messages, form, repeat, attempt)
            result = read(reply, form) if form is not None else _digit(reply)
            text = reply.text
            record = {
                "state": result.state, "text": text, "finish": reply.finish, "model": reply.model, "fingerprint": reply.fingerprint,
                "tokens_in": reply.tokens_in, "tokens_out": reply.tokens_out, "seconds": round(reply.seconds, 3), "retries": reply.retries,
                "seed": seed, "repeat": repeat, **about,
            }  # fmt: skip
            record |= {"why": result.why} if result.why else {}
            self.records.append(
                record | ({"top": [list(one) for one in reply.top]} if reply.top and form is None else {})
            )
            if result.state != "unparsed":
                break
        return result, text

    async def _send(
        self, messages: questions.Messages, form: ReplyForm | None, repeat: int, attempt: int
    ) -> tuple[Reply, int | None]:
        body = probe.request(self.judge, messages, 4 if form is None else None)
        seed = body.get("seed")
        if isinstance(seed, int):
            seed = body["seed"] = seed + 1000 * repeat + attempt
        if form is None:
            body |= {"logprobs": True, "top_logprobs": 20 if "top_logprobs" not in body else body["top_logprobs"]}
        elif self.identity.obeys_schema:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "reply", "strict": True, "schema": form.schema},
            }
        reply = await self.session.ask(body, f"{repeat}/{attempt}")
        if self.judge.form.context and reply.tokens_in >= self.judge.form.context:
            reply = reply._replace(
                fate="overflow", why="the texts fill the context of the model, and the server may have cut them"
            )
        if reply.fate == "answered" and not self.identity.wrote(reply, self.judge):
            raise _OtherModel(reply.identity)
        return reply, seed if isinstance(seed, int) else None


def _digit(reply: Reply) -> ReadReply:
    if reply.fate != "answered" or reply.refusal:
        return read(reply, NumberForm())
    return expected_value(reply.top, DIGITS)


Ask = Callable[[Calls, Item, int], Awaitable[Judged]]
"""Asks a judge about one output once; the number is that of the repeat."""


@dataclass(frozen=True, slots=True)
class Asking:
    """How a metric asks: what it sends for an item, the forms of the replies, and the facts in its signature besides the model.

    `among` is a digest of all outputs, where the value of one depends on the others. `lacks` returns what an item lacks, or "".
    """

    judge: str
    repeats: int
    ask: Ask
    messages: Callable[[Item], questions.Messages]
    forms: tuple[ReplyForm | None, ...]
    prompt: str
    options: Mapping[str, object]
    among: str = ""
    lacks: Callable[[Item], str] = lambda item: ""

    @property
    def endpoint(self) -> Endpoint:
        return endpoint(self.judge)

    @property
    def name(self) -> str:
        return self.judge

    @property
    def host(self) -> str:
        return self.endpoint.host

    @property
    def is_local(self) -> bool:
        return self.endpoint.is_local

    @property
    def batch(self) -> int:
        return BATCH * self.endpoint.form.concurrency

    def cost(self, items: Sequence[Item]) -> JudgeCost:
        """Return the estimated cost, without re-asked replies. The time is that of short requests, and rough."""
        judge = self.endpoint
        identity = probe.identity_of(judge)
        per_output = self.calls_per_output(items)
        out_of_form = sum(TOKENS_OF_FORM.get(type(form), 2) for form in self.forms) * per_output / len(self.forms)
        characters = sum(len(message["content"]) for item in items for message in self.messages(item))
        calls = per_output * len(items)
        tokens_in, tokens_out = characters / identity.characters * per_output, out_of_form * len(items)
        seconds = calls * identity.seconds * (1 + tokens_out / max(1.0, calls) / 16) / judge.form.concurrency
        prices = judge.form.price_in, judge.form.price_out
        price = (
            None if prices[0] is None or prices[1] is None else (tokens_in * prices[0] + tokens_out * prices[1]) / 1e6
        )
        return JudgeCost(calls, tokens_in, tokens_out, seconds, price)

    def calls_per_output(self, items: Sequence[Item]) -> float:
        if "opponents" not in self.options:
            return float(self.repeats * len(self.forms))
        others = grouped(((item.source, item.references), item.hypothesis) for item in set(items))
        pairs = sum(len(texts) * (len(texts) - 1) for texts in others.values())
        return pairs / max(1, sum(map(len, others.values())))  # both outputs of a pair share its two calls

    def sign(self, name: str) -> str:
        judge = self.endpoint
        identity = probe.identity_of(judge)
        if None in self.forms and not identity.has_logprobs:
            raise UserError(
                "the server of the judge gives no token probabilities", where=f"judge {judge.name}", hint="Use the scale 0-100",
            )  # fmt: skip
        facts = {
            "v": VERSION, "judge": self.judge, "model": judge.form.model, "rev": identity.rev(judge),
            "host": "local" if judge.is_local else "remote", **self.options, "repeats": self.repeats, "prompt": self.prompt,
            "schema": identity.obeys_schema, "parser": PARSER,
        }  # fmt: skip
        facts |= {"among": self.among} if self.among else {}
        parameters = ",".join(f"{key}={json.dumps(value)}" for key, value in sorted(judge.parameters.items()))
        return signature(name, {**facts, "parameters": parameters})

    def score(self, budget: TokenBudget, items: Sequence[Item], progress: Progress) -> list[Value]:
        """Return a value per item. Raises `Cancelled` and `MetricEnded` with the values that are complete."""
        judge = self.endpoint
        identity = probe.identity_of(judge)
        progress(0.0)
        values: dict[Item, Value] = {}
        changed = ""

        async def run() -> None:
            nonlocal changed
            session = Session(judge, identity.rev(judge), budget)

            async def judged(item: Item) -> None:
                values[item] = await self._value(Calls(judge, identity, session), item)

            try:
                await each(session, [partial(judged, item) for item in dict.fromkeys(items)], progress)
                changed = "" if await probe.facts_of(session) == identity.facts else "another model"
            except _OtherModel as other:
                changed = str(other)
            except OSError:  # what was answered stays; the next batch finds out
                pass
            finally:
                await session.close()

        try:
            run_to_end(run())
        except (Cancelled, MetricEnded) as stopped:
            stopped.finished = dict(values)
            raise
        if changed:
            probe.forget(judge)
        missing = Value(None, "error", f"another model answered ({changed}) than the one that was asked. Score again")
        return [values.get(item, missing) for item in items]

    async def _value(self, calls: Calls, item: Item) -> Value:
        if lacking := self.lacks(item):
            return Value(None, "needs", lacking)
        judged = [await self.ask(calls, item, repeat) for repeat in range(self.repeats)]
        return combined(judged, calls.records, spans=any(isinstance(form, SpansForm) for form in self.forms))


def combined(judged: Sequence[Judged], records: Sequence[Mapping[str, Any]], *, spans: bool) -> Value:
    """Return the value of one output: the mean over its repeats, if more than half of them are readable and none failed.

    With `spans`, its detail has the error spans.
    """
    readable = [one for one in judged if one.state in READABLE and one.number is not None]
    bad = [one for one in judged if one not in readable]
    failed = next((one for one in bad if one.state == "failed"), None)
    numbers = [one.number for one in readable if one.number is not None]
    parts: dict[str, float] = {
        "calls": len(records), "repeats": len(readable), **{key: sum(float(r[key]) for r in records) for key in ("tokens_in", "tokens_out", "seconds")},
    }  # fmt: skip
    for name in dict.fromkeys(name for one in readable for name in one.parts):
        parts[name] = math.fsum(one.parts.get(name, 0.0) for one in readable)
    if len(numbers) > 1:
        parts["spread"] = statistics.stdev(numbers)
    detail: dict[str, Any] = {"replies": [dict(record) for record in records]}
    if len(judged) > 1:
        detail["rule"] = f"{RULE}: {len(readable)} of {len(judged)}"
        detail["values"] = [one.number if one in readable else None for one in judged]
    if failed is not None or 2 * len(readable) <= len(judged):
        worst = failed or bad[0]
        status: Status = "error" if worst.state == "failed" else "undefined"
        return Value(None, status, worst.why, parts, {"state": worst.state, **detail})
    state = "no_error" if all(one.state == "no_error" for one in readable) else "ok"
    marked = _marked(readable) if spans else {}
    return Value(math.fsum(numbers) / len(numbers), "ok", "", parts, {"state": state, **marked, **detail})


def _marked(judged: Sequence[Judged]) -> dict[str, Any]:
    """Return the spans of all repeats, each once, with the share of repeats that has it as confidence if there are several."""
    counts: dict[Span, int] = {}
    for one in judged:
        for error in {placed.span.error for placed in one.placed if placed.span is not None}:
            counts[error] = counts.get(error, 0) + 1
    several = len(judged) > 1
    spans = [LayerSpan(error, n / len(judged) if several else None) for error, n in counts.items()]
    in_order = sorted(spans, key=lambda span: (span.error.side, span.error.start, span.error.end))
    unplaced = [
        {
            "quote": p.quote.text, "severity": p.quote.severity, "category": p.quote.category, "outcome": p.outcome, "side": p.quote.side,
            "places": [list(place) for place in p.places],
        }
        for one in judged
        for p in one.placed
        if p.span is None
    ]  # fmt: skip
    return {"spans": spans_to_json(in_order), "unplaced": unplaced}


def distinct(placed: Sequence[Placed]) -> tuple[Placed, ...]:
    """Return placed quotes without those that report the same error again: at the same place, or not placed and equal."""
    seen: dict[object, Placed] = {}
    for one in placed:
        where = one.span.error if one.span is not None else (one.quote, one.outcome)
        seen.setdefault(where, one)
    return tuple(seen.values())


def penalty(placed: Sequence[Placed]) -> float:
    """Return the penalty ≥ 0 of errors under Google's weights (`core.mqm.schemes`), those without a place included."""
    errors = (
        one.span.error if one.span is not None else Span("output", 0, 0, "", one.quote.severity, one.quote.category)
        for one in placed
    )
    return round(rater_penalty(errors, GOOGLE), DECIMALS)


def judged_spans(result: ReadReply, item: Item) -> Judged:
    """Return the errors of a reply with their places, and minus their penalty."""
    if result.state not in READABLE:
        return Judged(result.state, None, result.why)
    all_placed = place_quotes(result.quotes, item.hypothesis, item.source)
    placed = distinct(all_placed)
    parts = {"errors": float(len(placed)), "unplaced": float(sum(one.span is None for one in placed))}
    return Judged(
        result.state, 0.0 - penalty(placed), "", placed, parts | {"duplicates": float(len(all_placed) - len(placed))}
    )
