"""A real server that speaks the protocol of judges (OpenAI's chat completions), for tests and benchmarks.

    with judge_server() as server:                      # a thread of this process, on a free port of 127.0.0.1
        monkeypatch.setenv("ERRORSCOPE_JUDGE", server.setting)
        server.answer = lambda body: '{"score": 71}'   # the reply to each request; `by_prompt` by default
        server.faults += [Fault(status=429, headers={"Retry-After": "0"}), Fault(hang=True)]   # for the next requests, one each
        server.model, server.fingerprint = "other", "f2"   # another model under the same name
        assert server.requests == 3 and server.bodies[0]["model"] == "m"

`requests` counts chat completions, `bodies` has what was sent without probes of the program, `gets` the paths that were read, `keys` the
headers Authorization. Several threads may ask. `python -m tests.judge_server --delay 0.02` runs it as a process and prints its port.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

Body = Mapping[str, Any]
SEVERITIES = ("major", "minor")


@dataclass
class Fault:
    """What happens to one request instead of an answer: a status, an answer that never comes, one that ends midway, or a huge one."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    hang: bool = False
    dies: bool = False
    megabytes: int = 0


def fields_of(body: Body) -> dict[str, Any]:
    """Return the JSON object of texts in the last user message, {} if there is none."""
    for message in reversed(body["messages"]):
        try:
            value = json.loads(message["content"])
        except (ValueError, TypeError):
            continue
        if message["role"] == "user" and isinstance(value, dict):
            return value
    return {}


def number_of(text: str, most: int) -> int:
    """Return a whole number from 0 to below `most` that depends on the text only."""
    return int(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(), 16) % most


def by_prompt(body: Body) -> str:
    """Return a valid reply that depends on the texts only, in the form that the schema of the request or its prompt asks for."""
    said = json.dumps(body["messages"], sort_keys=True)
    schema = ((body.get("response_format") or {}).get("json_schema") or {}).get("schema") or {}
    names = set(schema.get("properties") or {})
    if not names:
        names = {word for word in ("score", "better", "verdict", "choice") if f'\\"{word}\\"' in said}
    if "better" in names:
        texts = fields_of(body)
        first, second = (number_of(str(texts.get(side)), 1000) for side in ("A", "B"))
        return json.dumps({"better": "A" if first > second else "B" if second > first else "tie"})
    if "score" in names:
        return json.dumps({"score": number_of(said, 101)})
    if "choice" in names:
        allowed = (schema.get("properties") or {}).get("choice", {}).get("enum") or ["good"]
        return json.dumps({"choice": allowed[number_of(said, len(allowed))]})
    output = str(fields_of(body).get("output") or "")
    words = output.split()
    if not words or number_of(said, 3) == 0:
        return json.dumps({"verdict": "no_error", "errors": []})
    quote = words[number_of(said, len(words))]
    error = {
        "quote": quote,
        "context": output,
        "severity": SEVERITIES[number_of(said, 2)],
        "category": "Accuracy/Mistranslation",
        "text": "output",
    }
    return json.dumps({"verdict": "errors", "errors": [error]})


@dataclass
class JudgeServer:
    """State of the server; all of it may be changed while it runs."""

    port: int = 0
    model: str = "m"
    fingerprint: str = "f1"
    meta: dict[str, Any] = field(default_factory=lambda: {"n_params": 270, "size": 1})
    answer: Callable[[Body], str] = by_prompt
    delay: float = 0.0
    finish: Callable[[Body], str] = lambda body: "stop"
    top_logprobs: list[tuple[str, float]] | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    requests: int = 0
    bodies: list[dict[str, Any]] = field(default_factory=list)
    gets: list[str] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    at_once: int = 0
    most_at_once: int = 0
    record: bool = True
    obeys_schema: bool = True

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def setting(self) -> str:
        """Return the value of ERRORSCOPE_JUDGE."""
        return f"{self.address} m"

    async def chat(self, request: Request) -> Response:
        body = await request.json()
        is_probe = '"word"' in json.dumps(body.get("messages")).replace('\\"', '"')
        if not is_probe:
            self.requests += 1
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            if self.record:
                self.bodies.append(body)
                self.keys.add(request.headers.get("authorization", ""))
        try:
            if not is_probe and self.faults:
                fault = self.faults.pop(0)
                if fault.hang:
                    await asyncio.sleep(60)
                if fault.dies:
                    return StreamingResponse(
                        _dying(), headers={"content-length": "1000"}, media_type="application/json"
                    )
                if fault.megabytes:
                    return JSONResponse(self._completion(body, "x" * (fault.megabytes << 20)))
                if fault.status != 200:
                    return Response(fault.text, fault.status, dict(fault.headers))
            if self.delay:
                await asyncio.sleep(self.delay)
            if is_probe:
                return JSONResponse(self._completion(body, '{"word": "blue"}' if self.obeys_schema else "green"))
            return JSONResponse(self._completion(body, self.answer(body)))
        finally:
            self.at_once -= not is_probe

    def _completion(self, body: Body, text: str) -> dict[str, Any]:
        choice: dict[str, Any] = {
            "index": 0,
            "message": {"role": "assistant", "content": text},
            "finish_reason": self.finish(body),
        }
        if body.get("logprobs") and self.top_logprobs is not None:
            listed = [{"token": token, "logprob": value} for token, value in self.top_logprobs]
            choice["logprobs"] = {"content": [{**listed[0], "top_logprobs": listed}]}
        prompt = len(json.dumps(body["messages"])) // 4
        return {
            "id": "x", "object": "chat.completion", "created": int(time.time()), "model": self.model, "system_fingerprint": self.fingerprint,
            "choices": [choice], "usage": {"prompt_tokens": prompt, "completion_tokens": max(1, len(text) // 4)}, **self.extra,
        }  # fmt: skip

    async def models(self, request: Request) -> Response:
        self.gets.append(request.url.path)
        return JSONResponse({"data": [{"id": "m", "object": "model", "created": int(time.time()), "meta": self.meta}]})

    async def missing(self, request: Request) -> Response:
        self.gets.append(request.url.path)
        return Response("", 404)

    def app(self) -> Starlette:
        chat = Route("/v1/chat/completions", self.chat, methods=["POST"])
        return Starlette(routes=[chat, Route("/v1/models", self.models), Route("/{rest:path}", self.missing)])


async def _dying() -> AsyncIterator[bytes]:
    yield b'{"choices": ['
    raise OSError("the server died")


@contextmanager
def judge_server(**state: Any) -> Iterator[JudgeServer]:
    """Run a server in a thread until the block ends."""
    server = JudgeServer(**state)
    listening = socket.socket(proto=socket.IPPROTO_TCP)  # else asyncio leaves small writes waiting for 40 ms
    listening.bind(("127.0.0.1", 0))
    server.port = listening.getsockname()[1]
    runner = uvicorn.Server(
        uvicorn.Config(server.app(), log_level="critical", lifespan="off", timeout_graceful_shutdown=0)
    )
    thread = threading.Thread(target=runner.run, args=([listening],), daemon=True)
    thread.start()
    try:
        while not runner.started:
            time.sleep(0.005)
        yield server
    finally:
        runner.should_exit = runner.force_exit = True
        thread.join(5)
        listening.close()


_RUNNING = ExitStack()


@cache
def shared_judge() -> JudgeServer:
    """Return a server for all tests of this process that only need some judge; do not change it."""
    return _RUNNING.enter_context(judge_server(top_logprobs=[("4", -0.4), ("5", -1.5), ("3", -2.5)], record=False))


def main() -> None:
    """Run a server as a process: print its port, and serve until standard input ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--delay", type=float, default=0.0)
    with judge_server(delay=parser.parse_args().delay, record=False) as server:
        print(server.port, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
