"""`evaluate --tests` at the size of a WMT shared task, beside tests that compute each pair of metrics by itself.

The data are drawn: 13 systems on 460 segments with MQM-like human scores (a third 0, otherwise whole numbers and tenths), and 68
metrics of very different quality. Some give whole numbers with many ties, some are variants of one another, and some outputs of
a segment are the same text.

`python -m tests.bench.evaluation --whole` runs the command from files, at each level, and prints elapsed and processor time.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from core.services.evaluate.significance import draws_for
from core.stats.correlation.correlation import Group, Measure, cells, evaluator
from core.stats.correlation.pairs import Floats, Ints
from core.stats.significance.perm_both import PermBoth, agreement_with_ties
from core.stats.significance.random_signs import random_signs

Result = TypeVar("Result")
SYSTEMS, SEGMENTS, METRICS = 13, 460, 68
SEGMENTS_PER_DOCUMENT = 10
CASES: list[tuple[Group, Measure]] = [
    ("system", "kendall"),
    ("segment", "kendall"),
    ("segment", "acc_eq"),
    ("segment", "pearson"),
    ("pooled", "spearman"),
]


class Places(NamedTuple):
    """The system and the segment of each output."""

    systems: list[int]
    segments: list[int]


class DrawnCampaign(NamedTuple):
    """Human scores (n_systems, n_segments), scores of each metric (n_metrics, n_systems, n_segments), and a text for each output."""

    human: Floats
    metrics: dict[str, Floats]
    texts: Ints


def campaign(metrics: int = METRICS, systems: int = SYSTEMS, segments: int = SEGMENTS, seed: int = 0) -> DrawnCampaign:
    """Return a drawn campaign. Every sixth metric gives few different scores, every fifth is a variant of the one before."""
    rng = np.random.default_rng(seed)
    shape = systems, segments
    texts = np.arange(systems * segments).reshape(shape)
    for segment in np.flatnonzero(rng.random(segments) < 0.15):  # two systems with the same output
        first, second = rng.choice(systems, 2, replace=False)
        texts[second, segment] = texts[first, segment]
    _, same = np.unique(texts, return_inverse=True)

    def of_texts(values: Floats) -> Floats:
        """The same value for the same text."""
        first = np.zeros(same.max() + 1)
        first[same.reshape(-1)[::-1]] = values.reshape(-1)[::-1]
        return first[same.reshape(shape)]

    badness = rng.gamma(1.2, 1.0, (1, segments)) * rng.gamma(6, 1 / 6, (systems, 1)) * rng.gamma(1.5, 1 / 1.5, shape)
    errors = 5.0 * rng.poisson(0.35 * badness) + rng.poisson(0.9 * badness) + 0.1 * rng.poisson(0.15, shape)
    found: dict[str, Floats] = {}
    noise = np.zeros(shape)
    for k in range(metrics):
        own = rng.normal(size=shape) + 0.5 * rng.normal(size=(1, segments)) + 0.15 * rng.normal(size=(systems, 1))
        noise = 0.8 * noise + 0.6 * own if k % 5 == 4 else own
        weight = rng.beta(2, 1.5) * 0.8
        score = of_texts(weight * -np.sqrt(badness) / 0.5 + np.sqrt(1 - weight**2) * noise)
        few = 5.0 * np.round(np.clip(score, -3, 0.5))
        found[f"metric{k:02d}"] = few.astype(np.float64) if k % 6 == 5 else 0.8 + 0.05 * score
    return DrawnCampaign(-of_texts(errors), found, texts)


def write(drawn: DrawnCampaign, folder: Path) -> list[str]:
    """Write the campaign as files and return the arguments of `evaluate` that name them."""
    systems, segments = drawn.human.shape
    places = [
        (f"system{i:02d}", f"document{j // SEGMENTS_PER_DOCUMENT:02d}", str(j))
        for i in range(systems)
        for j in range(segments)
    ]
    keys = "system,doc_id,segment_id"
    rows = [",".join(place) for place in places]
    texts = drawn.texts.ravel().tolist()
    (folder / "outputs.csv").write_text(
        "\n".join([f"{keys},source,output", *(f"{r},Quelle {p[2]}.,Text number {t}." for r, p, t in zip(rows, places, texts, strict=True))])
        + "\n"
    )  # fmt: skip
    scores = drawn.human.ravel().tolist()
    (folder / "human.csv").write_text(
        "\n".join([f"{keys},score", *(f"{r},{score!r}" for r, score in zip(rows, scores, strict=True))]) + "\n"
    )
    arguments = ["--human", str(folder / "human.csv"), "--outputs", str(folder / "outputs.csv")]
    for name, values in drawn.metrics.items():
        path = folder / f"{name}-refA.seg.score"
        lines = (f"{p[0]}\t{score!r}" for p, score in zip(places, values.ravel().tolist(), strict=True))
        path.write_text("\n".join(lines) + "\n")
        arguments += ["--external", f"{name}={path}"]
    return arguments


class Spent(NamedTuple):
    """Elapsed seconds, and seconds of processor time of this process."""

    elapsed: float
    processor: float


def spent(work: Callable[[], Result]) -> tuple[Result, Spent]:
    began, used = time.perf_counter(), time.process_time()
    return work(), Spent(time.perf_counter() - began, time.process_time() - used)


def pair_by_pair(measure: Measure, human: Floats, scores: Floats, group: Group, places: Places, draws: int) -> None:
    """Compute the agreement of both exchanged metrics anew in every draw of every pair of metrics."""
    where = {"group": group, "segments": places.segments, "systems": places.systems}
    value = evaluator(measure, human, **where)  # type: ignore[arg-type]
    if measure == "acc_eq" and group != "system":

        def value(vectors: Floats) -> Floats:
            found = [agreement_with_ties(measure, of, human, **where).value for of in vectors]  # type: ignore[arg-type]
            return np.array(found, dtype=np.float64)

    height = cells(measure, len(human), group, places.segments)
    for a, b in combinations(range(len(scores)), 2):
        for signs in random_signs(len(human), 0, draws, height):
            value(np.where(signs > 0, scores[a], scores[b])) - value(np.where(signs > 0, scores[b], scores[a]))


def against_pairs(metrics: int, few: int) -> None:
    """Print the time of all tests, and what computing each pair by itself would take: the time of `few` draws of some pairs, scaled."""
    drawn = campaign(metrics)
    human, scores = drawn.human.ravel(), np.stack([values.ravel() for values in drawn.metrics.values()])
    at = np.indices(drawn.human.shape).reshape(2, -1)
    places = Places(at[0].tolist(), at[1].tolist())
    pairs = list(combinations(range(metrics), 2))
    draws = draws_for(len(pairs))
    for group, measure in CASES:
        where = {"group": group, "segments": places.segments, "systems": places.systems}
        seen = [agreement_with_ties(measure, of, human, **where) for of in scores]  # type: ignore[arg-type]
        test = PermBoth(measure, human, scores, seen, seed=0, draws=draws, early=True, **where)  # type: ignore[arg-type]
        found, new = spent(partial(test.compare, pairs))
        _, part = spent(partial(pair_by_pair, measure, human, scores[[0, 5]], group, places, few))
        old = part.processor * draws / few * len(pairs)
        ended = sum(bool(t.ended) for t in found)
        print(
            f"{metrics} metrics, {group:8}{measure:9} {len(pairs):,} tests of up to {draws:,} draws, {ended:,} ended early   "
            f"elapsed {new.elapsed:6.1f} s, processor {new.processor:6.1f} s   pair by pair {old:10,.0f} s (from {few} draws)   "
            f"ratio {old / new.processor:8,.0f}   (load {os.getloadavg()[0]:.1f})",
            flush=True,
        )


def whole() -> None:
    """Run the command from files at each level and print its times."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = write(campaign(), Path(folder))
        for options in (["--level", "system"], ["--group", "segment"], ["--group", "pooled"]):
            for tests in ([], ["--tests"]):
                before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
                command = [sys.executable, "-m", "cli", "evaluate", *arguments, *options, *tests]
                subprocess.run([*command, "--out", f"{folder}/found.json"], check=True)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                print(
                    f"{' '.join([*options, *tests]):30} elapsed {time.perf_counter() - began:6.1f} s   processor {used:6.1f} s"
                    f"   peak memory {after.ru_maxrss / 2**20:.2f} GiB   (load {os.getloadavg()[0]:.1f})",
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--metrics", type=int, default=12)
    parser.add_argument("--draws", type=int, default=20, help="draws of the tests pair by pair")
    parser.add_argument(
        "--whole", action="store_true", help="run the command with 68 metrics, from files, at each level"
    )
    args, _ = parser.parse_known_args()
    if args.whole:
        whole()
    else:
        against_pairs(args.metrics, args.draws)


if __name__ == "__main__":
    main()
