"""Time from an action to the answer that it is saved, with many annotators at once: `python -m tests.bench.saves`.

A real server is started. Each annotator has a personal link and makes one action per second on average; an action that gets no
answer is sent again, as the browser does. At the end each action is looked up in the database: an acknowledged one that is not there
is lost, one that is there twice is doubled. With --kills, the server is killed (SIGKILL) that often at random moments. With --servers 2,
two servers on one database stand behind a proxy that passes each connection to one of those that run.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import random
import secrets
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from core.data import Dataset, Output, Segment, SegmentKey
from core.ports.store import Store
from core.services.labels.labels import open_segment
from db.store import open_store
from tests.browser.conftest import Server
from tests.ports import free_port

SYSTEMS = ("A", "B", "C", "D")
SEGMENTS = 20
ACTIONS_PER_SECOND = 1.0
ANSWER_SECONDS = 30.0
RETRY_SECONDS = 0.5


class Annotator:
    """One browser: makes actions at random intervals, and sends each until it is acknowledged."""

    def __init__(self, number: int, token: str, project: int, ids: dict[SegmentKey, list[str]]) -> None:
        self.name, self.project, self.ids = f"annotator {number}", project, ids
        self.headers = {"Authorization": f"Bearer {token}"}
        self.random = random.Random(number)
        self.seconds: list[float] = []
        self.acknowledged: list[str] = []
        self.refused: dict[str, str] = {}
        self.statuses: Counter[int] = Counter()
        self.retries = 0

    async def work(self, client: httpx.AsyncClient, until: float) -> None:
        await asyncio.sleep(self.random.random() / ACTIONS_PER_SECOND)
        while time.monotonic() < until:
            pause = self.random.expovariate(ACTIONS_PER_SECOND)
            began = time.monotonic()
            await self.act(client)
            await asyncio.sleep(max(0.0, pause - (time.monotonic() - began)))

    async def act(self, client: httpx.AsyncClient) -> None:
        segment = self.random.choice(list(self.ids))
        value = self.random.choice(["no_error", None])
        action = {
            "id": secrets.token_hex(16),
            "kind": "verdict",
            "output": self.random.choice(self.ids[segment]),
            "payload": {"value": value},
        }
        batch = {"project": self.project, "doc": segment.doc_id, "segment": segment.segment_id, "actions": [action]}
        began = time.perf_counter()
        while True:
            answer = await self.post(client, {"rater": self.name, "batches": [batch]})
            if action["id"] in answer.get("acknowledged", ()):
                self.acknowledged.append(str(action["id"]))
                self.seconds.append(time.perf_counter() - began)
                return
            if action["id"] in answer.get("refused", ()):
                self.refused |= answer["refused"]
                return
            self.retries += 1
            await asyncio.sleep(RETRY_SECONDS)

    async def post(self, client: httpx.AsyncClient, body: dict[str, Any]) -> dict[str, Any]:
        with suppress(httpx.HTTPError, ValueError):
            response = await client.post("/api/actions", json=body, headers=self.headers)
            self.statuses[response.status_code] += 1
            answer: dict[str, Any] = response.json()
            return answer
        return {}


def prepared(store: Store, annotators: int, n_segments: int = SEGMENTS) -> list[Annotator]:
    """A project whose segments every annotator has opened, with a link each."""
    project = store.projects.create(f"saves {secrets.token_hex(4)}").id
    segments = tuple(Segment("doc", str(i), f"Source text number {i}.") for i in range(n_segments))
    texts = tuple(
        Output(s, "doc", seg.segment_id, f"The output of {s} for {seg.segment_id}.")
        for seg in segments
        for s in SYSTEMS
    )
    store.projects.add(project, Dataset(segments, texts))
    found = []
    for number in range(annotators):
        token = secrets.token_urlsafe(32)
        name = f"annotator {number}"
        store.people.add_link(project, name, None, hashlib.sha256(token.encode()).hexdigest(), None, "bench")
        ids = {s.key: list(open_segment(store, project, name, s.key, SYSTEMS).ids.values()) for s in segments}
        found.append(Annotator(number, token, project, ids))
    return found


async def proxy(port: int, backends: list[int]) -> asyncio.Server:
    """Pass each connection to one of the backends that accept it, in turn."""
    turn = [0]

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in backends:
            turn[0] += 1
            with suppress(OSError):
                there, back = await asyncio.open_connection("127.0.0.1", backends[turn[0] % len(backends)])
                await asyncio.gather(pump(reader, back), pump(there, writer))
                return
        writer.close()

    return await asyncio.start_server(accept, "127.0.0.1", port)


async def load(servers: list[Server], annotators: list[Annotator], seconds: float, kills: int, end_one: bool) -> int:
    """Let the annotators work; return how often a server was killed."""
    until, killed = time.monotonic() + seconds, 0
    port = servers[0].port
    if len(servers) > 1:
        port = free_port()
        await proxy(port, [server.port for server in servers])
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=ANSWER_SECONDS, limits=limits) as client:
        working = [asyncio.create_task(a.work(client, until if not kills else float("inf"))) for a in annotators]
        chance = random.Random(1)
        while killed < kills:
            await asyncio.sleep(chance.uniform(0.2, 2.0))
            servers[0].kill()
            killed += 1
            await asyncio.to_thread(servers[0].start)
        if end_one:
            await asyncio.sleep(seconds / 2)
            servers[-1].kill()
            killed += 1
        if kills:
            for annotator in working:
                annotator.cancel()
        await asyncio.gather(*working, return_exceptions=True)
    return killed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", default="", help="an SQLAlchemy URL; a new SQLite file if it is not given")
    parser.add_argument("--annotators", type=int, nargs="+", default=[50])
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--servers", type=int, default=1, choices=(1, 2))
    args, _ = parser.parse_known_args()
    home = Path(tempfile.mkdtemp(prefix="errorscope-saves-"))
    url = args.database or f"sqlite:///{home / 'errorscope.db'}"
    store = open_store(url)
    servers = [Server(home / str(n), {"ERRORSCOPE_DB": url, "ERRORSCOPE_WORKER": "off"}) for n in range(args.servers)]
    for server in servers:
        server.start()
    try:
        for number in args.annotators:
            annotators = prepared(store, number)
            killed = asyncio.run(load(servers, annotators, args.seconds, args.kills, args.servers > 1))
            _report(store, annotators, killed, url.partition(":")[0])
    finally:
        for server in servers:
            server.kill()


def _report(store: Store, annotators: list[Annotator], killed: int, database: str) -> None:
    acknowledged = [i for a in annotators for i in a.acknowledged]
    found = Counter(e.action.id for e in store.labels.events(annotators[0].project))
    lost = sum(i not in found for i in acknowledged)
    doubled = sum(n > 1 for n in found.values()) + len(acknowledged) - len(set(acknowledged))
    ms = np.percentile([s for a in annotators for s in a.seconds], [50, 95, 99, 100]) * 1000
    print(
        f"{database:12} {len(annotators):4} annotators, {len(acknowledged):6,} actions: p50 {ms[0]:.0f}, p95 {ms[1]:.0f}, p99 {ms[2]:.0f}, "
        f"largest {ms[3]:.0f} ms; lost {lost}, doubled {doubled}, refused {sum(len(a.refused) for a in annotators)}, "
        f"sent again {sum(a.retries for a in annotators)}, servers killed {killed}",
        flush=True,
    )


if __name__ == "__main__":
    main()
