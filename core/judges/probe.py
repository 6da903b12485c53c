"""Which model answers at an endpoint, and what its server can do.

The server says which model it serves (`/v1/models`; llama.cpp's `/props`; the digest of Ollama). Two short requests without texts of a
project find whether it obeys a schema, returns token probabilities, and counts the tokens of the prompt. All is kept for a minute.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event, Lock, Thread
from typing import Any, NamedTuple

from core.errors import UserError
from core.judges.client import Reply, Session
from core.judges.endpoints import Endpoint, endpoints
from core.metrics.base import MetricEnded

KEPT = 60.0
"""Seconds for which the answer of a server is used, also that it cannot be reached."""
TESTED_AGAIN = 3600.0
"""Seconds after which an unchanged server gets the two short requests again."""
LOOK_SECONDS = 0.8
"""Time limit for the questions which model a server has."""
LONG = "The sky is wide. " * 20
_WORDS = {
    "type": "object",
    "properties": {
        "word": {"type": "string", "enum": ["blue"]},
        "score": {"type": "integer", "minimum": 0, "maximum": 1},
        "more": {"type": "array", "items": {"type": "string", "maxLength": 5}, "maxItems": 1},
    },
    "required": ["word", "score", "more"],
    "additionalProperties": False,
}
"""A schema with everything that the schemas of replies have: a server may refuse a part of it."""


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """The model behind an endpoint and abilities of its server. `characters` is the number of characters per token in English,
    `seconds` the time of a short request."""

    facts: Mapping[str, Any]
    model: str
    fingerprint: str
    obeys_schema: bool
    has_logprobs: bool
    counts_tokens: bool
    characters: float
    seconds: float

    def rev(self, endpoint: Endpoint) -> str:
        """Return what identifies the model in a signature: a digest of all that the server says of it."""
        said = [dict(self.facts), self.model, self.fingerprint if endpoint.form.fingerprint == "check" else ""]
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:12]

    def wrote(self, reply: Reply, endpoint: Endpoint) -> bool:
        """Return whether this model wrote a reply."""
        same = reply.fingerprint == self.fingerprint or endpoint.form.fingerprint == "ignore"
        return reply.model == self.model and same


@dataclass
class _Watched:
    lock: Lock = field(default_factory=Lock)
    checked: float = 0.0
    tested: float = 0.0
    identity: ModelIdentity | None = None
    problem: UserError | None = None
    running: Event | None = None


_watched: dict[str, _Watched] = {}
_patience: float | None = None


def wait_at_most(seconds: float | None) -> None:
    """Let `identity_of` wait for a server so long at most in this process; None: until it answers or its time limit ends."""
    global _patience
    _patience = seconds


def identity_of(endpoint: Endpoint) -> ModelIdentity:
    """Return the model that answers at an endpoint. Raises `UserError` if it is not allowed, not reachable, or not tested yet."""
    endpoint.check_allowed()
    watched = _watched.setdefault(_key(endpoint), _Watched())
    with watched.lock:
        if watched.checked and time.monotonic() - watched.checked < KEPT:
            return _result(watched)
        begins = watched.running is None
        if watched.running is None:
            watched.running = Event()
            Thread(target=_look, args=(endpoint, watched, watched.running), daemon=True).start()
        running = watched.running
    # Only the first one waits on a page, so that several metrics of one judge do not wait after each other.
    if not running.wait(_patience if begins or _patience is None else 0.0):
        if watched.identity is not None:
            return watched.identity
        raise UserError(
            "the server of the judge is being tested", where=_place(endpoint), hint="Look again in a few seconds"
        )
    with watched.lock:
        return _result(watched)


class JudgeState(NamedTuple):
    """A configured judge on a page: what identifies it, or why it is not ready."""

    endpoint: Endpoint
    identity: ModelIdentity | None
    problem: UserError | None

    @property
    def words(self) -> str:
        return "ready" if self.identity else "not allowed" if not self._is_allowed() else "not ready"

    def _is_allowed(self) -> bool:
        try:
            self.endpoint.check_allowed()
        except UserError:
            return False
        return True


def judge_states() -> list[JudgeState]:
    """Return all configured judges, asked at the same time. Raises `UserError` for settings that are not valid."""

    def state(one: Endpoint) -> JudgeState:
        try:
            return JudgeState(one, identity_of(one), None)
        except UserError as error:
            return JudgeState(one, None, error)

    judges = list(endpoints().values())
    with ThreadPoolExecutor(max(1, len(judges))) as pool:
        return list(pool.map(state, judges))


def forget(endpoint: Endpoint) -> None:
    """Ask the server again at the next use, because another model answered."""
    watched = _watched.setdefault(_key(endpoint), _Watched())
    with watched.lock:
        watched.checked = watched.tested = 0.0
        watched.identity = None


async def facts_of(session: Session) -> dict[str, Any]:
    """Return what the server says of its model. Raises `OSError` if it cannot be reached."""
    endpoint, facts = session.endpoint, dict[str, Any]()
    listed = await session.get(f"{endpoint.base}/models", LOOK_SECONDS)
    entries = [one for one in (listed.get("data") if isinstance(listed, dict) else None) or [] if isinstance(one, dict)]
    named = [one for one in entries if one.get("id") == endpoint.form.model] or (entries if len(entries) == 1 else [])
    for one in named[:1]:
        facts |= {
            name: one[name] for name in ("id", "root", "parent", "max_model_len", "meta", "owned_by") if one.get(name)
        }
    if facts.get("owned_by") == "llamacpp" and isinstance(props := await session.get("/props", LOOK_SECONDS), dict):
        facts |= {name: props[name] for name in ("model_path", "model_alias", "build_info") if props.get(name)}
    if facts.get("owned_by") == "library" and isinstance(tags := await session.get("/api/tags", LOOK_SECONDS), dict):
        models = [
            one for one in tags.get("models") or [] if isinstance(one, dict) and one.get("name") == facts.get("id")
        ]
        facts["digest"] = next((one.get("digest") for one in models), None)
    return facts


def _key(endpoint: Endpoint) -> str:
    return f"{endpoint.name} {endpoint.url.geturl()} {endpoint.form.model_dump_json()}"


def _place(endpoint: Endpoint) -> str:
    return f"judge {endpoint.name} at {endpoint.authority}"


def _result(watched: _Watched) -> ModelIdentity:
    if watched.problem is not None:
        raise watched.problem
    assert watched.identity is not None
    return watched.identity


def _look(endpoint: Endpoint, watched: _Watched, running: Event) -> None:
    identity, problem, tested = watched.identity, None, watched.tested
    try:
        identity, is_new = asyncio.run(
            _identity(endpoint, None if time.monotonic() - tested > TESTED_AGAIN else identity)
        )
        tested = time.monotonic() if is_new else tested
    except UserError as error:
        problem = error
    except OSError as error:
        problem = UserError(
            "the server of the judge cannot be reached", where=_place(endpoint), got=str(error), hint="Start the server"
        )
    except Exception as error:
        problem = UserError(
            "the server of the judge cannot be tested", where=_place(endpoint), got=type(error).__name__
        )
    with watched.lock:
        watched.identity, watched.problem, watched.tested = identity, problem, tested
        watched.checked, watched.running = time.monotonic(), None
    running.set()


async def _identity(endpoint: Endpoint, known: ModelIdentity | None) -> tuple[ModelIdentity, bool]:
    session = Session(endpoint, "probe")
    try:
        facts = await facts_of(session)
        if known is not None and known.facts == facts:
            return known, False
        return await _tested(session, facts), True
    finally:
        await session.close()


async def _tested(session: Session, facts: Mapping[str, Any]) -> ModelIdentity:
    def body(text: str, **more: Any) -> dict[str, Any]:
        return request(session.endpoint, [{"role": "user", "content": text}], 40) | more

    asked = 'Reply with this JSON object and nothing else: {"word": "green"}'
    schema = {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": _WORDS}}
    nonce = f"{time.monotonic()}"  # the memory of replies must not answer
    first = await session.ask(body(asked, response_format=schema), nonce)
    second = await session.ask(body(f"{LONG}{asked}", logprobs=True, top_logprobs=5), nonce)
    replies = [reply for reply in (first, second) if reply.fate == "answered"]
    if len(replies) < 2:  # it may refuse one of these fields
        plain = await session.ask(body(asked), nonce)
        if plain.fate != "answered":
            raise MetricEnded("the judge does not answer", where=_place(session.endpoint), got=plain.why)
        replies.append(plain)
    both = first.fate == second.fate == "answered"
    tokens = second.tokens_in - first.tokens_in if both else 0
    return ModelIdentity(
        facts, replies[0].model, replies[0].fingerprint, _is_blue(first), bool(second.top), tokens > 0,
        len(LONG) / tokens if tokens > 0 else 4.0, min(reply.seconds for reply in replies),
    )  # fmt: skip


def _is_blue(reply: Reply) -> bool:
    """Return whether the reply has the word of the schema and not that of the prompt, also if it ended at the limit of tokens."""
    return re.search(r'"word"\s*:\s*"blue"', reply.text) is not None


def request(endpoint: Endpoint, messages: list[dict[str, str]], most: int | None = None) -> dict[str, Any]:
    """Return the body of a request with all sampling parameters; `most` limits the tokens of the reply."""
    parameters = dict(endpoint.parameters)
    for name in ("max_tokens", "max_completion_tokens"):
        if most is not None and name in parameters:
            parameters[name] = most
    return {"model": endpoint.form.model, "messages": messages, "stream": False, **parameters}
