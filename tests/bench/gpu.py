"""The refinement engine on a GPU against the plain implementation: `python -m tests.bench.gpu [--pairs N] [--plain N] [--only bundled]`.

One process refines N pairs with the engine, which fills the GPU, then the first few with the plain implementation. Ratios compare the time per
output. Without a GPU it runs on the CPU; use few pairs then. The model of bart-large's size is untrained and gets outputs of at most 20 words. Its
candidates differ so little that few can be left out early. Agreement of bf16 with fp32 is measured with the bundled model.
"""

from __future__ import annotations

import argparse
import time
from typing import NamedTuple

import numpy as np
import torch
from scipy.stats import kendalltau

from core.memory import collect_garbage_rarely
from core.models.architectures.seq2seq import Seq2SeqScorer
from core.refine.engine import Task, refine_all
from core.refine.result import Options, Refinement, Variant
from tests.bench.refinement import Pair, pairs, scorer
from tests.core.refine.oracle import Plain

VARIANTS: tuple[Variant, ...] = ("precision", "f")
OPTIONS = Options(non_translation="off")


class Run(NamedTuple):
    """Results of the engine, seconds, and peak GPU memory in bytes."""

    refinements: list[Refinement]
    seconds: float
    peak: int


def refined(model: Seq2SeqScorer, some: list[Pair], variant: Variant) -> Run:
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    began = time.perf_counter()
    found = refine_all(model, [Task(h, (r,)) for r, h in some], variant, OPTIONS)
    return Run(
        found, time.perf_counter() - began, torch.cuda.max_memory_allocated() if torch.cuda.is_available() else 0
    )


def against_plain(size: str, dtype: str, variant: Variant, count: int, few: int) -> Run:
    model, some = scorer(size, dtype), pairs(count, seed=1, longest=20 if size == "large" else 200)
    refined(model, some[:40], variant)
    run = refined(model, some, variant)
    rounds = sum(len(f.steps) for f in run.refinements)
    line = (
        f"{size:8} {dtype:4} {variant:10} {count:4} outputs, {rounds / count:4.1f} edits each: {run.seconds / count:.4f} s per output, "
        f"{run.peak / 2**30:.1f} GiB"
    )
    if few:
        plain = Plain(model)
        plain.refine(model.encode(some[0][1]).ids, model.encode(some[0][0]).ids, variant, 10)
        began = time.perf_counter()
        traces = [plain.refine(model.encode(h).ids, model.encode(r).ids, variant, 10) for r, h in some[:few]]
        each = (time.perf_counter() - began) / few
        same = [
            [s.text for s in f.steps] == [model.decode(t) for t in trace.texts[1:]]
            for f, trace in zip(run.refinements, traces, strict=False)
        ]
        line += f"; plain {each:.3f} s ({few} outputs), ratio {each / (run.seconds / count):.1f}, the same edits {sum(same)} of {few}"
    print(line, flush=True)
    return run


def agreement(one: Run, other: Run) -> None:
    """Print how far bf16 agrees with fp32 on the same outputs."""
    texts = [a.refined == b.refined for a, b in zip(one.refinements, other.refinements, strict=True)]
    steps = [
        [(s.position, s.new) for s in a.steps[:1]] == [(s.position, s.new) for s in b.steps[:1]]
        for a, b in zip(one.refinements, other.refinements, strict=True)
    ]
    for name in ("score_hyp", "score_refined", "score_ref"):
        x, y = (np.array([getattr(f, name) for f in run.refinements]) for run in (one, other))
        print(
            f"  {name}: apart {np.abs(x - y).mean():.4f} on average, {np.abs(x - y).max():.4f} at most, τ {kendalltau(x, y)[0]:.4f}"
        )
    print(f"  the same refined text {np.mean(texts):.1%}, the same first edit {np.mean(steps):.1%}", flush=True)


def scores(size: str, dtype: str) -> None:
    """Print the time of BARTScore in one direction."""
    model, some = scorer(size, dtype), pairs(2000, seed=3)
    for _ in range(2):
        began = time.perf_counter()
        model.means([(r, h, "target") for r, h in some])
        seconds = time.perf_counter() - began
    print(f"{size:8} {dtype:4} BARTScore: {1000 * seconds / len(some):.2f} ms per output", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=400)
    parser.add_argument("--plain", type=int, default=4, help="outputs that the plain implementation refines too")
    parser.add_argument("--only", default="", help="large or bundled")
    args = parser.parse_args()
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    collect_garbage_rarely()  # as in the model process
    print(f"{device}, torch {torch.__version__}", flush=True)
    if args.only != "bundled":
        for dtype in ("fp32", "bf16"):
            against_plain("large", dtype, "precision", args.pairs, args.plain)
            scores("large", dtype)
    if args.only != "large":
        for variant in VARIANTS:
            agreement(*(against_plain("bundled", dtype, variant, args.pairs, args.plain) for dtype in ("fp32", "bf16")))
        scores("bundled", "fp32")


if __name__ == "__main__":
    main()
