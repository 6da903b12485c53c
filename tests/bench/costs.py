"""What scoring costs, by metric and stage: the figures of the cost model in docs/scale.md.

    python -m tests.bench.costs [--seconds 10] [--metrics chrf bartscore++]

Each metric scores WMT translations in one thread for about `--seconds` of processor time (18 words on average; without the training data, the
sample project). The first outputs load the model and are not counted. Every output has its own reference; outputs that share one cost less. Texts are read and values stored in a new database, as a worker does: SQLite, and PostgreSQL if
ERRORSCOPE_TEST_POSTGRES is set, for which the bytes that pass over the loopback interface are counted too.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import psutil
from sqlalchemy import make_url, select, text

from core.data import Dataset, Item, Output, Segment, Value
from core.metrics import registry
from core.progress import no_progress
from core.scoring.turns import CHUNK, CHUNK_SECONDS
from core.signature import content_key
from db.engine import connect, reading
from db.jobs import chunk_texts
from db.store import open_store
from db.tables import outputs
from tests.bench.refinement import pairs
from tests.bench.workers import dataset, new_database
from tests.postgres import SERVER

METRICS = ("chrf", "bleu", "rouge1", "ter", "smart1", "embedding", "bertscore", "nli", "bartscore", "bartscore++")
STORED = 20_000
AT_ONCE = 1000
"""Values per transaction: what a fast metric computes in about a second."""


class MetricCost(NamedTuple):
    """Processor seconds per output, and the outputs that were scored."""

    metric: str
    seconds: float
    n: int

    @property
    def chunk(self) -> int:
        """Return the number of outputs in a chunk."""
        return max(1, min(CHUNK, int(CHUNK_SECONDS / self.seconds)))

    @property
    def chunks_per_hour(self) -> float:
        return 3600 / (self.chunk * self.seconds)


class StorageCost(NamedTuple):
    """Processor seconds of the worker per output read and per value stored, bytes over the network for each, and bytes of the database per value."""

    kind: str
    reading: float
    writing: float
    sent_reading: float
    sent_writing: float
    size: float


def items(n: int, *, made: bool = False) -> Iterator[Item]:
    """Yield `n` different outputs, each with one reference, which is also the source. With `made`, yield those of `tests.bench.workers`."""
    if made:
        yield from (item for _, item in dataset(n, "b").items())
        return
    for k, (reference, output) in enumerate(pairs(n, seed=5)):
        yield Item(reference, f"{output} {k}", (reference,))


def cost(name: str, seconds: float, made: bool) -> MetricCost:
    """Return the processor time per output of a metric, measured on growing chunks for about `seconds`."""
    metric, given = registry.load_metric(name), list(items(20_000, made=made))
    warm, at, spent, size = 4, 4, 0.0, 4
    metric.score(given[:warm], no_progress)
    while spent < seconds and at < len(given):
        part = given[at : at + size]
        began = time.process_time()
        metric.score(part, no_progress)
        took = time.process_time() - began
        spent, at = spent + took, at + len(part)
        size = min(CHUNK, 2 * size) if took < seconds / 8 else size
    return MetricCost(name, spent / (at - warm), at - warm)


def storing(kind: str) -> StorageCost:
    """Read the texts of a project in chunks, and store values of one metric for them."""
    given = list(items(STORED))
    data = Dataset(
        tuple(Segment("d", str(i), item.source, item.references) for i, item in enumerate(given)),
        tuple(Output("A", "d", str(i), item.hypothesis) for i, item in enumerate(given)),
    )
    keys = [content_key(*item) for item in given]
    with new_database(kind) as url:
        store, engine = open_store(url), connect(url)
        store.projects.add(store.projects.create("p").id, data)
        with reading(engine) as connection:
            numbers = list(connection.execute(select(outputs.c.id)).scalars())
        sent, began = network_bytes(), time.process_time()
        for start in range(0, STORED, CHUNK):
            with reading(engine) as connection:
                chunk_texts.items(connection, numbers[start : start + CHUNK])
        reading_took, sent_reading = time.process_time() - began, network_bytes() - sent
        before, sent, began = size_of(url), network_bytes(), time.process_time()
        for start in range(0, STORED, AT_ONCE):
            values = {key: Value(0.1 + start) for key in keys[start : start + AT_ONCE]}
            store.scores.put("chrf", "chrf|v:1", values, 1.0)
        took, sent = time.process_time() - began, network_bytes() - sent
        size = size_of(url) - before
        engine.dispose()
    return StorageCost(kind, *(x / STORED for x in (reading_took, took, sent_reading, sent, size)))


def network_bytes() -> int:
    """Return the bytes that have passed over the loopback interface; 0 where it has another name."""
    lo = psutil.net_io_counters(pernic=True).get("lo")
    return 0 if lo is None else lo.bytes_sent


def size_of(url: str) -> int:
    """Return the bytes of a database."""
    address = make_url(url)
    if address.get_backend_name() == "sqlite":
        with closing(sqlite3.connect(address.database or "")) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return Path(address.database or "").stat().st_size
    engine = connect(url)
    with reading(engine) as connection:
        found = int(connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one())
    engine.dispose()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--metrics", nargs="+", default=METRICS)
    parser.add_argument(
        "--made", action="store_true", help="score the texts of tests.bench.workers, to compare with its figures"
    )
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    texts = list(items(1000))
    size = sum(len("".join((i.source or "", i.hypothesis, *i.references)).encode()) for i in texts) / len(texts)
    print(f"texts of an output: {size:.0f} bytes")
    stored = [storing(kind) for kind in ("sqlite", *["postgresql"] * bool(SERVER))]
    for s in stored:
        sent = f", {s.sent_reading:.0f} and {s.sent_writing:.0f} bytes over the network" * (s.kind != "sqlite")
        print(
            f"{s.kind}: {1e6 * s.reading:.0f} µs of the worker to read an output, {1e6 * s.writing:.0f} µs to store a value{sent}, {s.size:.0f} bytes stored per value"
        )
    print("metric          ms per output   outputs per chunk   chunks per hour and core")
    for name in args.metrics:
        found = cost(name, args.seconds, args.made)
        print(f"{name:16}{1000 * found.seconds:13.3f}{found.chunk:20,}{found.chunks_per_hour:27,.0f}", flush=True)


if __name__ == "__main__":
    main()
