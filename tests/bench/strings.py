"""`make bench`: string metrics, in processor time and in one run.

    python -m tests.bench.strings [--pairs 1000] [--outputs 20000] [--workers 2]

TER beside sacreBLEU's own on the same pairs, whose values must be equal; TER beside chrF; and `score` in one process and in several, with
the outputs of 20 systems one system after the other, as in most files. The pairs are references and perturbed outputs of the training data
where it is there, else of the sample project (`tests.bench.refinement.pairs`).
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from sacrebleu.metrics.ter import TER

from core.data import Dataset, Item, Output, Segment
from core.metrics import registry
from core.processes.pool import cores
from core.progress import no_progress
from core.scoring.dataset import score_dataset
from core.scoring.values import InMemoryScores
from tests.bench.refinement import pairs

SYSTEMS, BLOCK = 20, 100
METRICS = ("chrf", "bleu", "rougeL", "ter")
T = TypeVar("T")


def perturbed(text: str, rng: random.Random) -> str:
    """Return a text with words moved, replaced, repeated and left out, as the systems of a campaign differ."""
    words = text.split()
    for _ in range(rng.randint(0, 1 + len(words) // 6)):
        if len(words) < 2:
            break
        at, size, to = rng.randrange(len(words)), rng.randint(1, 4), rng.randrange(len(words))
        part = words[at : at + size]
        change = rng.choice(("move", "move", "replace", "repeat", "drop"))
        if change != "repeat":
            del words[at : at + size]
        if change != "drop":
            words[to:to] = ["other"] if change == "replace" else part
    return " ".join(words)


def made(n: int, seed: int) -> list[Item]:
    """Return `n` outputs, each with its own reference."""
    rng = random.Random(seed)
    return [Item(None, perturbed(output, rng), (reference,)) for reference, output in pairs(n, seed)]


def of_systems(n: int, seed: int) -> Dataset:
    """Return about `n` outputs of `SYSTEMS` systems, system by system."""
    rng, texts = random.Random(seed), pairs(n // SYSTEMS, seed)
    segments = tuple(Segment("d", str(i), None, (reference,)) for i, (reference, _) in enumerate(texts))
    outputs = (
        Output(f"S{k}", "d", str(i), perturbed(output, rng))
        for k in range(SYSTEMS)
        for i, (_, output) in enumerate(texts)
    )
    return Dataset(segments, tuple(outputs))


def processor_time() -> float:
    """Return the seconds of processor time of this process and of those that it has ended."""
    own, ended = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime


def timed(work: Callable[[], T]) -> tuple[T, float, float]:
    """Return a result, its processor time, and its elapsed time, in seconds."""
    began, started = time.perf_counter(), processor_time()
    found = work()
    return found, processor_time() - started, time.perf_counter() - began


def _called_per_pair(metric: TER, items: list[Item]) -> list[float]:
    return [metric.sentence_score(i.hypothesis, i.references).score for i in items]


def compare_ter(items: list[Item]) -> None:
    metrics, theirs = {name: registry.load_metric(name) for name in ("chrf", "ter")}, TER()
    for metric in metrics.values():
        metric.score(items[:2], no_progress)
    spent, ratios = dict.fromkeys((*metrics, "sacreBLEU"), 0.0), list[float]()
    for start in range(0, len(items), BLOCK):
        block = items[start : start + BLOCK]
        took = {}
        for name, metric in metrics.items():
            values, took[name], _ = timed(partial(metric.score, block, no_progress))
        expected, took["sacreBLEU"], _ = timed(partial(_called_per_pair, theirs, block))
        assert [value.value for value in values] == expected
        ratios.append(took["sacreBLEU"] / took["ter"])
        for name, seconds in took.items():
            spent[name] += seconds
    ms = {name: 1000 * seconds / len(items) for name, seconds in spent.items()}
    words = sum(len(item.references[0].split()) for item in items) / len(items)
    print(
        f"TER, {len(items):,} pairs of {words:.0f} words   sacreBLEU {ms['sacreBLEU']:.2f} ms   here {ms['ter']:.2f} ms   "
        f"ratio {spent['sacreBLEU'] / spent['ter']:.0f} (blocks {min(ratios):.0f} … {max(ratios):.0f})   values equal   "
        f"chrF {ms['chrf']:.2f} ms, TER/chrF {spent['ter'] / spent['chrf']:.1f}",
        flush=True,
    )


def compare_processes(dataset: Dataset, workers: int) -> None:
    for names in (*((name,) for name in METRICS), METRICS):
        metrics = registry.chosen(list(names))
        one, many = InMemoryScores(), InMemoryScores()
        _, alone, elapsed = timed(partial(score_dataset, dataset, metrics, one))
        _, shared, together = timed(partial(score_dataset, dataset, metrics, many, workers=workers))
        assert one.by_signature == many.by_signature
        print(
            f"{'+'.join(names):<22} {len(dataset.outputs):,} outputs of {SYSTEMS} systems   one process {elapsed:6.2f} s ({alone:6.2f} s of processor time)   "
            f"{workers} processes {together:6.2f} s ({shared:6.2f} s)   ratio {elapsed / together:.2f}   (load {os.getloadavg()[0]:.1f})",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--outputs", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=max(2, cores()))
    args, _ = parser.parse_known_args()
    compare_ter(made(args.pairs, 1))
    compare_processes(of_systems(args.outputs, 2), args.workers)


if __name__ == "__main__":
    main()
