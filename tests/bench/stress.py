"""The stress test with string metrics on SummEval: milliseconds a text and metric, and the whole protocol in one run.

The first reference of each document is gold, the ten others are what it is held against (He et al. 2023, section 3). Needs the file of
docs/smart.md; without it texts of the same shape are drawn.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from pathlib import Path

from core.data import Item
from core.metrics import registry
from core.perturbations.registry import NOISE_TYPES, noises
from core.processes.pool import cores
from core.progress import no_progress
from core.robustness.stress.run import StressTestRequest, run_stress_tests
from core.robustness.stress.texts import REFERENCE, Gold, gold_of, noised
from core.scoring.values import InMemoryScores
from core.services.projects.importing import load
from tests.bench.smart import FILE, outputs

METRICS = ("rouge2", "rougeL", "chrf", "bleu")
TRIED = 200


def golds(path: Path, documents: int) -> list[Gold]:
    if path.exists():
        return gold_of(load([path]).dataset, REFERENCE)[:documents]
    drawn = dict.fromkeys(item.references for item in outputs(path))
    return [Gold(str(i), Item(None, refs[0], refs[1:])) for i, refs in enumerate(drawn)][:documents]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=cores())
    parser.add_argument("--data", type=Path, default=FILE)
    args, _ = parser.parse_known_args()
    gold = golds(args.data, args.documents)
    some = list(noised(noises(["token-drop"])[0], gold[:8], 0, 5, lambda done: None).items(gold))[:TRIED]
    for name in METRICS:
        metric = registry.load_metric(name)
        metric.score(some[:2], no_progress)
        began = time.perf_counter()
        metric.score(some, no_progress)
        took = 1000 * (time.perf_counter() - began) / len(some)
        print(f"{name:<8} {took:6.2f} ms a text against {len(some[0].references)} references", flush=True)
    asked = StressTestRequest("bench", "reference", args.data.name, NOISE_TYPES, METRICS, seeds=args.seeds)
    memory, began = InMemoryScores(), time.perf_counter()
    report = run_stress_tests(gold, asked, memory, workers=args.workers)
    told = Counter(cell.verdict for cell in report.cells)
    print(
        f"{len(report.tests)} tests × {len(gold)} texts × {args.seeds} seeds × {len(METRICS)} metrics, {sum(map(len, memory.by_signature.values())):,} scores, "
        f"{args.workers} processes: {time.perf_counter() - began:.1f} s   (load {os.getloadavg()[0]:.1f})   "
        + ", ".join(f"{n} {v}" for v, n in told.items()),
        flush=True,
    )


if __name__ == "__main__":
    main()
