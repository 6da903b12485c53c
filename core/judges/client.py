"""Send requests to one endpoint: several at a time, with retries and time limits, over connections that stay open.

HTTP/1.1 by h11 over sockets of asyncio. There are no redirects, proxies, cookies or `.netrc`: a request reaches the address of the
endpoint, or nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import random
import ssl
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, Literal, NamedTuple

import h11

from core.data import storable
from core.judges.endpoints import Endpoint
from core.memory import RecentResults
from core.metrics.base import MetricEnded
from core.progress import Progress

RETRIED = frozenset({408, 409, 425, 429})
"""Answers after which a request is sent again, besides those from 500 on."""
RETRIES = 4
BACK_OFF, LONGEST_BACK_OFF = 0.5, 30.0
"""Seconds before the first retry, which double each time, and the longest; a random half of it is left out."""
LONGEST_RETRY_AFTER = 120.0
"""A server that asks for a longer wait (`Retry-After`) is not waited for."""
GIVE_UP_AFTER = 3
"""Requests that fail in a row, each after its retries, after which no further ones are sent."""
LARGEST_REPLY = 1 << 20
"""Bytes of an answer that are read."""
LONGEST_TEXT = 20_000
"""Characters of a reply that are kept."""
TICK = 0.1
"""Seconds between two reports of progress."""
_MEMORY = RecentResults["Reply"](4096)
_OVERFLOW = (
    "context length",
    "context_length",
    "context size",
    "exceed_context",
    "maximum context",
    "too many tokens",
    "prompt is too long",
)

Fate = Literal["answered", "too_large", "overflow", "failed"]


class Reply(NamedTuple):
    """What became of a request. `finish` is the server's reason for the end of the text; `top` are the most probable first tokens with
    their log probabilities. `why` is the reason if there is no text; `seconds` include retries. `refused_text`: the server may accept other texts."""

    fate: Fate
    text: str = ""
    finish: str = ""
    refusal: str = ""
    model: str = ""
    fingerprint: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    top: tuple[tuple[str, float], ...] | None = None
    why: str = ""
    seconds: float = 0.0
    retries: int = 0
    refused_text: bool = False

    @property
    def identity(self) -> str:
        return f"{self.model} {self.fingerprint}".strip()


@dataclass
class TokenBudget:
    """Tokens that one job may use, read and written; None: without limit."""

    most: int | None
    used: int = 0

    def check(self, name: str) -> None:
        if self.most is not None and self.used >= self.most:
            raise MetricEnded(
                "the budget of tokens is used up", where=f"judge {name}", got=f"{self.used:,} tokens",
                expected=f"at most {self.most:,} per job", hint="What is stored stays. Raise tokens_per_job, or score the rest in another job",
            )  # fmt: skip


@dataclass
class _Connection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    http: h11.Connection = field(default_factory=lambda: h11.Connection(h11.CLIENT))


class Session:
    """Requests to one endpoint within one event loop: `concurrency` at a time, equal ones once.

    `identity` names the model that answers, for the memory of replies. Use `asyncio.run` around all calls, and `close` at the end.
    """

    def __init__(self, endpoint: Endpoint, identity: str = "", budget: TokenBudget | None = None) -> None:
        endpoint.check_allowed()
        self.endpoint, self.identity, self.budget = endpoint, identity, budget or TokenBudget(None)
        self._slots = asyncio.Semaphore(endpoint.form.concurrency)
        self._idle, self._failed, self._answered, self._why = list[_Connection](), 0, False, ""
        self._pending: dict[bytes, asyncio.Future[Reply]] = {}
        self._tls = ssl.create_default_context() if endpoint.tls else None
        self._path = f"{endpoint.base}/chat/completions"
        self._origin = hashlib.sha256(f"{endpoint.authority}{self._path} {identity} ".encode())

    async def ask(self, body: Mapping[str, Any], repeat: str = "") -> Reply:
        """Return the reply to a request, from memory if it was answered before as the same `repeat`. Raises `MetricEnded`."""
        data = json.dumps(body, ensure_ascii=True).encode("ascii")
        digest = self._origin.copy()
        digest.update(data + repeat.encode())
        key = digest.digest()
        if known := _MEMORY.get(key):
            return known[0]
        if (pending := self._pending.get(key)) is not None:
            return await asyncio.shield(pending)
        pending = self._pending[key] = asyncio.get_running_loop().create_future()
        try:
            reply = await self._asked(data)
            if reply.fate != "failed":
                _MEMORY.computed(key, lambda: reply)
            pending.set_result(reply)
            return reply
        except BaseException as error:
            if isinstance(error, MetricEnded):
                pending.set_exception(error)
                pending.exception()  # nobody else may wait for it
            else:
                pending.cancel()
            raise
        finally:
            del self._pending[key]

    async def get(self, path: str, limit: float) -> Any:
        """Return the JSON value at a path of the server, or None if it has none. Raises `OSError` if it cannot be reached in time."""
        try:
            async with asyncio.timeout(limit):
                status, _, data = await self._exchange("GET", path, b"")
        except (h11.ProtocolError, OSError, EOFError) as error:
            raise OSError(_reason(error, limit)) from None
        with suppress(ValueError, RecursionError):
            return json.loads(data) if status == 200 and data is not None else None
        return None

    async def close(self) -> None:
        """Close the connections."""
        while self._idle:
            self._idle.pop().writer.close()
        await asyncio.sleep(0)  # then they are closed

    async def _asked(self, data: bytes) -> Reply:
        async with self._slots:
            self.budget.check(self.endpoint.name)
            began, attempt = time.monotonic(), 0
            while True:
                self._check()
                reply, wait = await self._attempt(data, attempt)
                if wait is None or attempt == RETRIES:
                    break
                await asyncio.sleep(wait)
                attempt += 1
            if reply.fate != "failed":
                self._failed, self._answered = 0, True
            elif not (self._answered and reply.refused_text):
                self._failed, self._why = self._failed + 1, reply.why
            self.budget.used += reply.tokens_in + reply.tokens_out
            return reply._replace(seconds=time.monotonic() - began, retries=attempt)

    def _check(self) -> None:
        if self._failed >= GIVE_UP_AFTER:
            raise MetricEnded(
                f"the judge failed {self._failed} times in a row", where=f"judge {self.endpoint.name}", got=self._why,
                hint="Check its server, and score again: what is stored is not asked again",
            )  # fmt: skip

    async def _attempt(self, data: bytes, attempt: int) -> tuple[Reply, float | None]:
        """Return the reply, and the seconds before the next attempt; None if it is final."""
        back_off = min(BACK_OFF * 2**attempt, LONGEST_BACK_OFF) * (0.5 + random.random() / 2)
        limit = self.endpoint.form.time_limit
        try:
            async with asyncio.timeout(limit):
                status, headers, answer = await self._exchange("POST", self._path, data)
        except TimeoutError as error:
            return Reply("failed", why=_reason(error, limit)), None
        except (OSError, h11.ProtocolError, EOFError) as error:
            return Reply("failed", why=_reason(error, limit)), back_off
        if status in RETRIED or status >= 500:
            asked = _seconds_after(headers.get(b"retry-after", b""))
            failed = Reply("failed", why=_why_failed(status, answer))
            if asked is None:
                return failed, back_off
            return failed, asked + back_off / 8 if asked <= LONGEST_RETRY_AFTER else None
        if answer is not None and (key := self.endpoint.key()):
            answer = answer.replace(key.encode(), b"***")
        return _read(status, answer), None

    async def _exchange(self, method: str, path: str, data: bytes) -> tuple[int, dict[bytes, bytes], bytes | None]:
        """Send one request. Return status, headers and body; None for a body of more than `LARGEST_REPLY` bytes."""
        used = bool(self._idle)
        connection = self._idle.pop() if self._idle else await self._connected()
        complete = False
        try:
            try:
                connection.writer.write(self._written(connection.http, method, path, data))
                answer = await _received(connection)
            except (OSError, EOFError):
                if not used:
                    raise
                connection.writer.close()  # the server closed it while it was idle
                connection = await self._connected()
                connection.writer.write(self._written(connection.http, method, path, data))
                answer = await _received(connection)
            http = connection.http
            complete = answer[2] is not None and http.our_state is h11.DONE and http.their_state is h11.DONE
            return answer
        finally:
            if complete:
                connection.http.start_next_cycle()
                self._idle.append(connection)
            else:
                connection.writer.close()

    async def _connected(self) -> _Connection:
        # no other machine is asked for the address of this one
        host = "127.0.0.1" if self.endpoint.host == "localhost" else self.endpoint.host
        reader, writer = await asyncio.open_connection(host, self.endpoint.port, ssl=self._tls)
        return _Connection(reader, writer)

    def _written(self, http: h11.Connection, method: str, path: str, data: bytes) -> bytes:
        headers = [("Host", self.endpoint.authority), ("Accept", "application/json"), ("User-Agent", "errorscope")]
        if method == "POST":
            headers += [("Content-Type", "application/json"), ("Content-Length", str(len(data)))]
        if key := self.endpoint.key():
            headers.append(("Authorization", f"Bearer {key}"))
        try:
            head = http.send(h11.Request(method=method, target=path, headers=headers)) or b""
        except (h11.LocalProtocolError, UnicodeEncodeError):
            raise MetricEnded(
                "the key of the judge has characters that no header can have", where=self.endpoint.key_variable
            ) from None
        body = http.send(h11.Data(data=data)) if data else b""
        return head + (body or b"") + (http.send(h11.EndOfMessage()) or b"")


async def _received(connection: _Connection) -> tuple[int, dict[bytes, bytes], bytes | None]:
    status, headers, size, parts = 0, dict[bytes, bytes](), 0, list[bytes]()
    while True:
        event = connection.http.next_event()
        if event is h11.NEED_DATA:
            data = await connection.reader.read(1 << 16)
            if not data and not status:
                raise EOFError
            connection.http.receive_data(data)
        elif isinstance(event, h11.Response):
            status, headers = event.status_code, dict(event.headers)
        elif isinstance(event, h11.Data):
            size += len(event.data)
            if size > LARGEST_REPLY:
                return status, headers, None
            parts.append(bytes(event.data))
        elif isinstance(event, h11.EndOfMessage):
            return status, headers, b"".join(parts)
        elif isinstance(event, h11.ConnectionClosed):
            raise EOFError


def _why_failed(status: int, answer: bytes | None) -> str:
    """Return the reason of a status that may pass. Servers may share their context among the requests at a time."""
    said = (answer or b"").decode("utf-8", "replace").lower()
    small = ": its context is too small for the requests at a time" if any(w in said for w in _OVERFLOW) else ""
    return f"the server answered with status {status}{small}"


def _reason(error: Exception, limit: float) -> str:
    """Return why there is no answer, without what the server or a library says of it."""
    if isinstance(error, TimeoutError):
        return f"no complete reply within {limit:g} s"
    if isinstance(error, ssl.SSLError):
        return "the certificate of the server is not accepted, or it does not use TLS"
    if isinstance(error, ConnectionRefusedError):
        return "no server answers at this address"
    if isinstance(error, EOFError):
        return "the server closed the connection before its reply was complete"
    return "the server does not answer with HTTP" if isinstance(error, h11.ProtocolError) else "the connection failed"


def _seconds_after(header: bytes) -> float | None:
    """Return the seconds of a `Retry-After` header, a number or a date; None if it has neither."""
    text = header.decode("ascii", "replace").strip()
    if text.isdigit() and len(text) < 10:
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError):
        return None


def _read(status: int, data: bytes | None) -> Reply:
    if data is None:
        return Reply("too_large", why=f"the reply has more than {LARGEST_REPLY // 1024} KB")
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError):
        answer = None
    if status != 200:
        said = data[:4000].decode("utf-8", "replace").lower()
        if status in (400, 413, 422) and any(words in said for words in _OVERFLOW):
            return Reply("overflow", why="the texts are longer than the model can read")
        why = {
            401: "the key is missing or not accepted",
            403: "the key is not accepted",
            404: "the server has no such model or address",
        }
        reason = why.get(status, f"the server refused the request with status {status}")
        return Reply("failed", why=reason, refused_text=status in (400, 413, 422))
    try:
        return _of_answer(answer)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError):
        return Reply("failed", why="the answer of the server has another form than that of chat completions")


def _of_answer(answer: Any) -> Reply:
    choice, usage = answer["choices"][0], answer.get("usage") or {}
    message = choice["message"]
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(part.get("text") or "" for part in content if part.get("type") == "text")
    top = None
    if (probabilities := choice.get("logprobs")) and (tokens := probabilities.get("content")):
        listed = tokens[0].get("top_logprobs") or [tokens[0]]
        pairs = ((storable(str(one["token"])), float(one["logprob"])) for one in listed[:50])
        top = tuple(pair for pair in pairs if math.isfinite(pair[1]))
    return Reply(
        "answered", storable(str(content or ""))[:LONGEST_TEXT], str(choice.get("finish_reason") or ""),
        storable(str(message.get("refusal") or ""))[:LONGEST_TEXT], storable(str(answer.get("model") or ""))[:200],
        storable(str(answer.get("system_fingerprint") or ""))[:200], _count(usage.get("prompt_tokens")),
        _count(usage.get("completion_tokens")), top,
    )  # fmt: skip


def _count(tokens: Any) -> int:
    return tokens if isinstance(tokens, int) and not isinstance(tokens, bool) and 0 <= tokens < 1 << 40 else 0


async def each(session: Session, work: Sequence[Callable[[], Awaitable[None]]], progress: Progress) -> None:
    """Run all of `work`, as many at a time as the endpoint allows, and report the share that is done.

    What `progress` or one of them raises ends the others. After `MetricEnded`, those that have begun are completed first.
    """
    left, done, ended = iter(work), 0, None

    async def lane() -> None:
        nonlocal done, ended
        for one in left:
            try:
                await one()
            except MetricEnded as error:
                ended = ended or error
            if ended is not None:
                return
            done += 1

    lanes = [asyncio.create_task(lane()) for _ in range(min(session.endpoint.form.concurrency, len(work)))]
    try:
        while lanes and any(not task.done() for task in lanes):
            progress(done / len(work))
            finished, _ = await asyncio.wait(lanes, timeout=TICK, return_when=asyncio.FIRST_EXCEPTION)
            for task in finished:
                task.result()
    finally:
        for task in lanes:
            task.cancel()
        await asyncio.gather(*lanes, return_exceptions=True)
    if ended is not None:
        raise ended


def run_to_end(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine to its end; in a thread of its own if this one runs an event loop already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work)
        return
    with ThreadPoolExecutor(1) as other_thread:
        other_thread.submit(asyncio.run, work).result()
