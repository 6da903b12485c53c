"""Time from an action to the answer that it is saved, with many annotators at once: `python -m tests.bench.saves`.

A real server is started. Each annotator has a personal link and makes one action per second on average; an action that gets no
answer is sent again, as the browser does. At the end each action is looked up in the database: an acknowledged one that is not there
is lost, one that is there twice is doubled. With --kills, the server is killed (SIGKILL) that often at random moments. With --servers 2,
two servers on one database stand behind a proxy that passes each connection to one of those that run.

With --neighbours, the annotators work alone first, then beside one neighbour after the other, who sends the largest requests that are allowed
in a loop. The exit status is 1 if the 95th percentile of their saves grows by more than 200 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import hashlib
import random
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
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
from tests.paths import ROOT
from tests.ports import free_port

SYSTEMS = ("A", "B", "C", "D")
SEGMENTS = 20
ACTIONS_PER_SECOND = 1.0
ANSWER_SECONDS = 30.0
RETRY_SECONDS = 0.5
BATCHES, BATCH, TOO_MANY = 100, 200, 12_000
"""Batches in the neighbour's request and actions in each of them, as many as are allowed; and actions that are too many."""
OUTPUTS = 100_000
"""Of the neighbour's import and export."""
LONGEST_WAIT = 0.2
"""Seconds that another save may take longer because of a neighbour."""


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
        ids = {s.key: list(open_segment(store, project, name, s.key, SYSTEMS).labels.ids.values()) for s in segments}
        found.append(Annotator(number, token, project, ids))
    return found


class Neighbour:
    """Somebody who sends the largest requests that are allowed, each as soon as the one before is answered."""

    def __init__(self, store: Store, server: Server, database: str, home: Path) -> None:
        (self.annotator,) = prepared(store, 1, BATCHES)
        self.client = httpx.Client(base_url=server.url, timeout=300.0)
        self.command = [sys.executable, "-m", "cli", "projects", "--database", database]
        self.table, self.chance = home / "neighbour.csv", random.Random(1)
        with self.table.open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(("doc_id", "segment_id", "system", "source", "output"))
            for n in range(OUTPUTS // len(SYSTEMS)):
                rows.writerows(
                    (f"document {n // 50}", n, s, f"Source text {n}. " * 4, f"Output of {s} for {n}. " * 5)
                    for s in SYSTEMS
                )
        self.bring()
        self.project = max(p.id for p in store.projects.list())
        self.kinds: dict[str, Callable[[], object]] = {
            f"{BATCHES} batches of {BATCH} actions": lambda: self.save(BATCHES, BATCH),
            f"{TOO_MANY:,} actions in a batch (refused)": lambda: self.save(1, TOO_MANY),
            "4 MB of empty lists (refused)": self.send_lists,
            f"export of {OUTPUTS:,} outputs": self.take,
            f"import of {OUTPUTS:,} outputs": self.bring,
            f"import of {OUTPUTS:,} outputs into a project that has some": self.add,
        }

    def save(self, batches: int, size: int) -> None:
        places = list(self.annotator.ids.items())[:batches]
        sent = [
            {"project": self.annotator.project, "doc": segment.doc_id, "segment": segment.segment_id, "actions": [
                {"id": secrets.token_hex(8), "kind": "verdict", "output": self.chance.choice(ids), "payload": {"value": None}}
                for _ in range(size)
            ]} for segment, ids in places
        ]  # fmt: skip
        body = {"rater": self.annotator.name, "batches": sent}
        self.client.post("/api/actions", json=body, headers=self.annotator.headers)

    def send_lists(self) -> None:
        body = b'{"rater": "' + self.annotator.name.encode() + b'", "batches": [' + b"[]," * 1_330_000 + b"[]]}"
        headers = {**self.annotator.headers, "Content-Type": "application/json"}
        self.client.post("/api/actions", content=body, headers=headers)

    def take(self) -> None:
        self.client.get(f"/api/projects/{self.project}/exports/outputs-csv").raise_for_status()

    def bring(self, *into: str) -> None:
        target = into or ("--name", secrets.token_hex(8))
        subprocess.run([*self.command, "import", str(self.table), *target], cwd=ROOT, check=True, capture_output=True)

    def add(self) -> None:
        """Import the table into a project that has another output, so that it is compared and written as a whole."""
        first = self.table.with_name("first.csv")
        first.write_text("doc_id,segment_id,system,source,output\nfirst,0,A,A source.,An output.\n")
        name = secrets.token_hex(8)
        subprocess.run([*self.command, "import", str(first), "--name", name], cwd=ROOT, check=True, capture_output=True)
        self.bring("--into", name)

    def begin(self, kind: str, took: list[float]) -> Callable[[], None]:
        """Send requests until the function that is returned is called; note how many seconds each takes."""
        done = threading.Event()

        def work() -> None:
            while not done.is_set():
                began = time.monotonic()
                self.kinds[kind]()
                took.append(time.monotonic() - began)

        thread = threading.Thread(target=work)
        thread.start()

        def end() -> None:
            done.set()
            thread.join()

        return end


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
    parser.add_argument("--neighbours", action="store_true", help="without and with others who send large requests")
    args, _ = parser.parse_known_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the servers end too
    home = Path(tempfile.mkdtemp(prefix="errorscope-saves-"))
    url = args.database or f"sqlite:///{home / 'errorscope.db'}"
    store = open_store(url)
    slower = False
    servers = [Server(home / str(n), {"ERRORSCOPE_DB": url, "ERRORSCOPE_WORKER": "off"}) for n in range(args.servers)]
    for server in servers:
        server.start()
    try:
        for number in args.annotators:
            annotators = prepared(store, number)
            if args.neighbours:
                slower |= _with_neighbours(store, servers[0], annotators, url, home, args.seconds)
                continue
            killed = asyncio.run(load(servers, annotators, args.seconds, args.kills, args.servers > 1))
            _report(store, annotators, url.partition(":")[0], f"servers killed {killed}")
    finally:
        for server in servers:
            server.kill()
    sys.exit(1 if slower else 0)


def _with_neighbours(
    store: Store, server: Server, annotators: list[Annotator], url: str, home: Path, seconds: float
) -> bool:
    """Print how long saves take alone and beside each neighbour; return whether one of them delays the others too much."""
    neighbour, database, alone, slower = Neighbour(store, server, url, home), url.partition(":")[0], 0.0, False
    for kind in ("", *neighbour.kinds):
        took = list[float]()
        for annotator in annotators:
            annotator.seconds.clear()
        end = neighbour.begin(kind, took) if kind else None
        asyncio.run(load([server], annotators, seconds, 0, False))
        if end is not None:
            end()
        of = f"beside {len(took)} × {kind}, {max(took):.1f} s each at most" if kind else "alone"
        p95 = _report(store, annotators, database, of)
        alone = alone if kind else p95
        slower |= p95 > alone + LONGEST_WAIT
    return slower


def _report(store: Store, annotators: list[Annotator], database: str, beside: str) -> float:
    """Print how long saves took and what became of them; return the 95th percentile in seconds."""
    acknowledged = [i for a in annotators for i in a.acknowledged]
    found = Counter(e.action.id for e in store.labels.events(annotators[0].project))
    lost = sum(i not in found for i in acknowledged)
    doubled = sum(n > 1 for n in found.values()) + len(acknowledged) - len(set(acknowledged))
    took = [s for a in annotators for s in a.seconds]
    ms = np.percentile(took, [50, 95, 99, 100]) * 1000
    print(
        f"{database:12} {len(annotators):4} annotators, {len(took):6,} actions: p50 {ms[0]:.0f}, p95 {ms[1]:.0f}, p99 {ms[2]:.0f}, "
        f"largest {ms[3]:.0f} ms; lost {lost}, doubled {doubled}, refused {sum(len(a.refused) for a in annotators)}, "
        f"sent again {sum(a.retries for a in annotators)}; {beside}",
        flush=True,
    )
    return float(ms[1]) / 1000


if __name__ == "__main__":
    main()
