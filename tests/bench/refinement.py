"""`make bench`: the refinement engine against the plain implementation of METHODS section 1, in one run on one machine.

Two processes, one for each, take turns with blocks of the same pairs, so that a busy machine is busy for both; each
reports its own time, its peak memory and the tokens it sent through the model. Both refine whatever they are given
(the non-translation test is off) and their edits are compared.
"""

from __future__ import annotations

import argparse
import gzip
import math
import multiprocessing as mp
import resource
import time
from multiprocessing.connection import Connection
from typing import NamedTuple

import numpy as np

from tests.paths import DATA

PAIRS = DATA / "training/translation_pairs.tsv.gz"
Pair = tuple[str, str]


class Answer(NamedTuple):
    """Of one block: the texts of every step and the last score, by pair; seconds, those of all cores, peak bytes, tokens."""

    texts: list[list[str]]
    scores: list[float]
    seconds: float
    cpu: float
    peak: int
    tokens: int


def pairs(count: int, seed: int, longest: int = 200) -> list[Pair]:
    """(reference, output) pairs: of the training data where it is there, and of the sample, again and again, where not.

    With a small `longest`, outputs of at most so many words and more than half as many, and references of at most so many: the sample's
    texts are cut.
    """

    def cut(text: str) -> str:
        return " ".join(text.split()[:longest])

    if PAIRS.exists():
        with gzip.open(PAIRS, "rt", encoding="utf-8") as handle:
            rows = [(r, h) for r, h, *_ in (line.rstrip("\n").split("\t") for line in handle)]
    else:
        from core.services.projects.sample import dataset

        rows = [(cut(item.references[0]), cut(item.hypothesis)) for _, item in dataset().items() if item.references]
    shortest = longest // 2 if longest < 200 else 0
    fit = [(r, h) for r, h in rows if 0 < len(r.split()) <= longest and shortest < len(h.split()) <= longest]
    order = np.random.default_rng(seed).permutation(len(fit))
    return [fit[order[i % len(fit)]] for i in range(count)]


def scorer(size: str, dtype: str):  # type: ignore[no-untyped-def]
    """The bundled model, or an untrained one of bart-large's size that reads with the bundled tokenizer."""
    import torch
    from transformers import BartConfig, BartForConditionalGeneration

    from core.models.architectures.seq2seq import Seq2SeqScorer, load_seq2seq

    small = load_seq2seq("bundled", "auto", dtype)
    if size == "bundled":
        return small
    torch.manual_seed(0)
    model = BartForConditionalGeneration(BartConfig()).eval().to(small.device)
    return Seq2SeqScorer(model.to(torch.bfloat16 if dtype == "bf16" else torch.float32), small.tokenizer)


def count_tokens(model) -> list[int]:  # type: ignore[no-untyped-def]
    """A counter of what passes through the encoder, and through the decoder of the packed run."""
    from core.models.architectures import packed

    spent = [0]
    run, read = packed.decode_rows, model.read

    def counted(parts, rows, **options):  # type: ignore[no-untyped-def]
        spent[0] += sum(len(r.ids) for r in rows)
        return run(parts, rows, **options)

    def reading(conditions):  # type: ignore[no-untyped-def]
        spent[0] += sum(map(len, conditions))
        return read(conditions)

    packed.decode_rows, model.read = counted, reading
    return spent


def serve(pipe: Connection, engine: bool, size: str, dtype: str) -> None:
    """A process that refines blocks of (pairs, variant, k) until the other end of the pipe is closed."""
    from core.refine.engine import Task, refine_all
    from core.refine.result import Options
    from tests.core.refine.oracle import Plain

    model = scorer(size, dtype)
    spent = count_tokens(model)
    while True:
        try:
            block, variant, k = pipe.recv()
        except EOFError:
            return
        spent[0] = 0
        began, cpu = time.perf_counter(), time.process_time()
        if engine:
            found = refine_all(model, [Task(h, (r,)) for r, h in block], variant, Options(k=k, non_translation="off"))
            texts, scores = [[s.text for s in f.steps] for f in found], [f.score_refined for f in found]
        else:
            plain = Plain(model)
            traces = [plain.refine(model.encode(h).ids, model.encode(r).ids, variant, k) for r, h in block]
            texts, scores = [[model.decode(t) for t in f.texts[1:]] for f in traces], [f.scores[-1] for f in traces]
            spent[0] = plain.spent
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        pipe.send(Answer(texts, scores, seconds, cpu, peak, spent[0]))


class Process:
    """One of the two processes. It ends with its block, whatever happens there, and with the program."""

    def __init__(self, engine: bool, size: str, dtype: str = "fp32") -> None:
        context = mp.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, engine, size, dtype), daemon=True)
        self.process.start()
        theirs.close()

    def __enter__(self) -> Process:
        self.ask(pairs(2, seed=99, longest=12), "precision", 10)
        return self

    def __exit__(self, *error: object) -> None:
        self.pipe.close()
        self.process.join()

    def ask(self, block: list[Pair], variant: str, k: int) -> Answer:
        self.pipe.send((block, variant, k))
        answer: Answer = self.pipe.recv()
        return answer


def added(answers: list[Answer]) -> Answer:
    return Answer(
        [t for a in answers for t in a.texts],
        [s for a in answers for s in a.scores],
        sum(a.seconds for a in answers),
        sum(a.cpu for a in answers),
        max(a.peak for a in answers),
        sum(a.tokens for a in answers),
    )


def against_plain(size: str, count: int, variant: str, block: int, dtype: str = "fp32", longest: int = 200) -> None:
    some = pairs(count, seed=1, longest=longest)
    blocks = [some[i : i + block] for i in range(0, count, block)]
    with Process(True, size, dtype) as ours, Process(False, size) as plain:
        answers = [(ours.ask(b, variant, 10), plain.ask(b, variant, 10)) for b in blocks]
    a, b = added([x for x, _ in answers]), added([x for _, x in answers])
    same = [i for i in range(count) if a.texts[i] == b.texts[i]]
    apart = max((abs(a.scores[i] - b.scores[i]) for i in same), default=math.nan)
    ratios = sorted(y.seconds / x.seconds for x, y in answers)
    print(
        f"{size:8} {variant:10} {dtype:5} {count:4} pairs   engine {a.seconds:7.1f} s {a.peak / 2**30:5.2f} GiB {a.tokens:10,} tokens"
        f"   plain {b.seconds:7.1f} s {b.peak / 2**30:5.2f} GiB {b.tokens:10,} tokens"
        f"   ratio {b.seconds / a.seconds:5.2f} (of processor time {b.cpu / a.cpu:.2f}; blocks {ratios[0]:.2f} … {ratios[-1]:.2f})"
        f"   same edits {len(same)}/{count}, scores apart ≤ {apart:.1e}   {a.seconds / count:.3f} s a sentence",
        flush=True,
    )


def growth() -> None:
    with Process(True, "bundled") as ours:
        for count in (50, 200, 800):
            answer = ours.ask(pairs(count, seed=2), "precision", 10)
            print(f"{count:4} pairs, k = 10: {1000 * answer.seconds / count:6.1f} ms a pair", flush=True)
        for k in (5, 10, 20):
            answer = ours.ask(pairs(100, seed=2), "precision", k)
            print(f" 100 pairs, k = {k:2}: {1000 * answer.seconds / 100:6.1f} ms a pair", flush=True)


def main() -> bool:
    """Whether everything was asked for."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--pairs", type=int, default=200, help="pairs for the bundled model")
    parser.add_argument("--large", type=int, default=8, help="pairs for the model of bart-large's size")
    parser.add_argument(
        "--block", type=int, default=20, help="pairs per turn of a process (small ones on a busy machine)"
    )
    parser.add_argument("--only", default="", help="a, b, f, bf16 or growth")
    args = parser.parse_args()
    if not PAIRS.exists():
        print(
            f"{PAIRS.name} is not in {PAIRS.parent}: pairs are drawn from the sample project, cut for the large model",
            flush=True,
        )
    wanted = args.only.split(",") if args.only else ["a", "f", "bf16", "b", "growth"]
    if "a" in wanted:
        against_plain("bundled", args.pairs, "precision", args.block)
    if "f" in wanted:
        against_plain("bundled", args.pairs // 2, "f", args.block)
    if "bf16" in wanted:
        against_plain("bundled", args.pairs, "precision", args.block, "bf16")
    if "b" in wanted:
        against_plain("large", args.large, "precision", args.large, longest=20)
    if "growth" in wanted:
        growth()
    return not args.only
