"""The client of judges: its overhead, and what becomes of made replies.

    python -m tests.bench.judge                 # 10,000 outputs through a server that answers in 20 ms, 32 at a time
    python -m tests.bench.judge --replies       # 2,000 made replies of twelve kinds, counted by outcome

Overhead is the wall time of scoring over the time that the server alone takes, outputs / concurrency × 20 ms. The server is another process,
and only parses what it needs, so that it has a processor to itself and is not measured.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from core.data import Item
from core.judges.questions import NumberForm, read
from core.metrics.registry import load_metric
from core.progress import no_progress
from tests.core.judges.made_replies import made_replies

SECONDS, CONCURRENCY = 0.02, 32


class _Answers(asyncio.Protocol):
    """Answer each request after `SECONDS`, or at once to what is no completion."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport, self.data = transport, b""

    def data_received(self, data: bytes) -> None:
        self.data += data
        head, end, body = self.data.partition(b"\r\n\r\n")
        length = head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]
        if end and len(body) >= int(length or 0):
            self.data = b""
            if head.startswith(b"GET"):
                self._write({"data": [{"id": "m"}]})
            else:
                asyncio.get_running_loop().call_later(SECONDS, partial(self._write, COMPLETION))

    def _write(self, answer: Any) -> None:
        body = json.dumps(answer).encode()
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        self.transport.write(head + body)  # type: ignore[attr-defined]


COMPLETION = {
    "model": "m", "choices": [{"message": {"content": '{"score": 71}'}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 200, "completion_tokens": 6},
}  # fmt: skip


async def _serve() -> None:
    server = await asyncio.get_running_loop().create_server(_Answers, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def overhead(outputs: int) -> None:
    """Score outputs through a server process, and print the overhead."""
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.judge", "--serve"], stdout=subprocess.PIPE, text=True
        )
        try:
            assert server.stdout is not None
            judge = {
                "address": f"http://127.0.0.1:{int(server.stdout.readline())}/v1",
                "model": "m",
                "concurrency": CONCURRENCY,
            }
            settings = Path(folder) / "judges.json"
            settings.write_text(json.dumps({"judges": {"bench": judge}}), encoding="utf-8")
            os.environ["ERRORSCOPE_JUDGES"] = str(settings)
            metric = load_metric("judge-da|judge:bench")
            metric.signature()
            items = [
                Item(f"Satz {k}: die Katze saß auf der Matte.", f"Sentence {k}: the cat sat on the mat.", ())
                for k in range(outputs)
            ]
            began, computed = time.perf_counter(), time.process_time()
            values = metric.score(items, no_progress)
            took, computed = time.perf_counter() - began, time.process_time() - computed
        finally:
            server.kill()
            server.wait()
    assert all(value.value == 71 for value in values)
    least = outputs / CONCURRENCY * SECONDS
    print(
        f"{outputs:,} outputs, {CONCURRENCY} at a time: {took:.2f} s; the server alone {least:.2f} s; overhead {took / least - 1:.1%}"
    )
    print(f"{1000 * computed / outputs:.2f} ms of processor time per output")


def outcomes() -> None:
    """Print the number of made replies by kind and state."""
    counts = Counter((made.kind, read(made.reply, NumberForm()).state) for made in made_replies())
    for (kind, state), n in sorted(counts.items()):
        print(f"{kind:<24} {state:<10} {n:>4}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--outputs", type=int, default=10_000)
    parser.add_argument("--replies", action="store_true")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.serve:
        asyncio.run(_serve())
    elif chosen.replies:
        outcomes()
    else:
        overhead(chosen.outputs)


if __name__ == "__main__":
    main()
