"""SMART-chrF over SummEval beside the same scores from one call of sacreBLEU a pair of sentences, in one run.

Both sides score the same documents: every output of every system against 11 references and the source. Needs the file of
docs/smart.md; without it texts of the same shape are drawn.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sacrebleu.metrics.chrf import CHRF

from cli.reproduce import summeval
from core.data import Item
from core.metrics import registry
from core.progress import no_progress
from core.smart.alignment import smart
from core.text.sentences import sentences, split_at_points
from tests.paths import DATA

FILE = DATA / "summeval.jsonl.gz"
NAME = "smart1|sentences:point"
SYSTEMS, REFERENCES = 16, 11
BLOCK = 4 * SYSTEMS  # outputs one side scores before the other does


def outputs(path: Path) -> list[Item]:
    """SummEval's outputs, a document's side by side."""
    if path.exists():
        return [rated.item for rated in summeval(path)]
    print(f"{path.name} is not here: texts of its shape are drawn", flush=True)
    return [item for document in range(100) for item in drawn(random.Random(document))]


def drawn(rng: random.Random) -> list[Item]:
    vocabulary = ["".join(rng.choices("etaoinshrdlu", k=rng.randint(2, 9))) for _ in range(400)]

    def text(n: int) -> str:
        return " ".join(" ".join(rng.choices(vocabulary, k=rng.randint(8, 24))) + " ." for _ in range(n))

    source, references = text(18), tuple(text(3) for _ in range(REFERENCES))
    return [Item(source, text(3), references) for _ in range(SYSTEMS)]


def pair_by_pair(items: list[Item]) -> list[float]:
    """SMART-1's F with every cell of every matrix from `CHRF.sentence_score`."""
    chrf = CHRF()
    out = []
    for item in items:
        candidates = sentences(item.hypothesis, split_at_points)
        targets = [sentences(text, split_at_points) for text in (item.source or "", *item.references)]
        matrices = [
            np.array([[chrf.sentence_score(c, [t]).score / 100 for c in candidates] for t in ts]) for ts in targets
        ]
        out.append(float(smart(matrices, "1")[:, 2].max()))
    return out


def ours(items: list[Item]) -> list[float]:
    return [value.value or 0.0 for value in registry.load_metric(NAME).score(items, no_progress)]


class Timed(NamedTuple):
    """Seconds of both sides for the same outputs, and how far apart two scores of one output are."""

    fast: float
    slow: float
    apart: float


def timed(items: list[Item]) -> Timed:
    began = time.perf_counter()
    fast = ours(items)
    between = time.perf_counter()
    slow = pair_by_pair(items)
    ended = time.perf_counter()
    return Timed(between - began, ended - between, max(abs(a - b) for a, b in zip(fast, slow, strict=True)))


def peak() -> float:
    """GiB, of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=20, help="documents that both sides score")
    parser.add_argument("--data", type=Path, default=FILE)
    args, _ = parser.parse_known_args()
    items = outputs(args.data)
    ours(items[:SYSTEMS])  # imports
    some = items[: args.documents * SYSTEMS]
    blocks = [timed(some[i : i + BLOCK]) for i in range(0, len(some), BLOCK)]
    fast, slow = sum(b.fast for b in blocks), sum(b.slow for b in blocks)
    apart = max(b.apart for b in blocks)
    assert apart <= 1e-9, apart
    ratios = sorted(b.slow / b.fast for b in blocks)
    print(
        f"SMART-1-chrF, {len(some):,} outputs × {REFERENCES + 1} targets   matrices {fast:6.2f} s   pair by pair {slow:7.2f} s"
        f"   ratio {slow / fast:5.1f} (blocks {ratios[0]:.1f} … {ratios[-1]:.1f})   scores apart ≤ {apart:.0e}"
        f"   (load {os.getloadavg()[0]:.1f})",
        flush=True,
    )
    for times in (1, 10):
        more = [renamed(item, i) for i in range(times) for item in items]
        began = time.perf_counter()
        ours(more)
        print(
            f"SMART-1-chrF, {len(more):,} outputs × {REFERENCES + 1} targets   {time.perf_counter() - began:6.2f} s"
            f"   peak memory {peak():.2f} GiB   (load {os.getloadavg()[0]:.1f})",
            flush=True,
        )


def renamed(item: Item, i: int) -> Item:
    """Other texts of the same make: known ones would be the same work twice."""
    mark = f"{i} " if i else ""
    return Item(mark + (item.source or ""), mark + item.hypothesis, tuple(mark + r for r in item.references))


if __name__ == "__main__":
    main()
