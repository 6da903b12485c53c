"""The outcomes of a noise on every gold text, made here or by several processes: the same texts either way."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache
from multiprocessing import get_context

from core.services.lab.gold import Gold
from core.services.lab.pool import DIED, follow_parent
from core.stress import registry
from core.stress.base import Outcome
from core.stress.noise.base import Beside, Noise, Texts

log = logging.getLogger(__name__)

Outcomes = list[list[Outcome]]
"""Of one gold text: by level, then seed."""
Make = Callable[[Noise, Sequence[int]], Iterator[Outcomes]]
"""The outcomes of a noise under seeds, one gold text after the other."""

FEW = 8
"""Gold texts below which starting processes takes longer than they save."""

MODELS = 2
"""Processes that load a model at most: each holds all of it."""

_golds: Sequence[Gold] = ()
_texts = Texts()


def here(golds: Sequence[Gold], start: int = 0) -> Make:
    """Made in this process, from one gold text on."""
    texts = Texts(g.item.hypothesis for g in golds)

    def make(noise: Noise, seeds: Sequence[int]) -> Iterator[Outcomes]:
        for gold in golds[start:]:
            yield _outcomes(noise, gold, texts, seeds)

    return make


@contextmanager
def makers(golds: Sequence[Gold], workers: int) -> Iterator[Make]:
    """Made by `workers` processes, which end with the block or with this process.

    Noises that are not the registry's are made here. So are those that ask a language model where it computes on a GPU; elsewhere
    `MODELS` processes of their own, with the threads of all, load it. What a process that died did not make is made here.
    """
    alone = here(golds)
    if workers < 2 or len(golds) < FEW:
        yield alone
        return
    with ExitStack() as stack:

        @cache
        def pool(count: int) -> ProcessPoolExecutor:
            threads = max(1, workers // count)
            found = ProcessPoolExecutor(
                count, mp_context=get_context("spawn"), initializer=_begin, initargs=(list(golds), threads)
            )
            stack.callback(found.shutdown, cancel_futures=True)
            return found

        def make(noise: Noise, seeds: Sequence[int]) -> Iterator[Outcomes]:
            count = workers if not noise.loads_model else 0 if _on_gpu() else min(MODELS, workers)
            if not count or registry.NOISES.get(noise.name) is None or registry.noise(noise.name) is not noise:
                yield from alone(noise, seeds)
                return
            size, made = max(1, len(golds) // (4 * count)), 0
            asked = [(noise.name, at, tuple(seeds)) for at in range(len(golds))]
            try:
                given = pool(count).map(_made, asked, chunksize=size)
            except DIED as error:
                log.warning("no process makes %s (%s): going on in this one", noise.name, error)
                yield from alone(noise, seeds)
                return
            try:
                for outcomes in given:
                    yield outcomes
                    made += 1
            except BrokenExecutor as error:
                log.warning("a process that made %s died (%s): going on in this one", noise.name, error)
                yield from here(golds, made)(noise, seeds)

        yield make


def _on_gpu() -> bool:
    from core.models.loading import device

    return device() == "cuda"


def _outcomes(noise: Noise, gold: Gold, texts: Texts, seeds: Sequence[int]) -> Outcomes:
    beside = Beside(gold.item.source, texts)
    return [[noise.noised(gold.item.hypothesis, level.strength, s, beside) for s in seeds] for level in noise.levels]


def _begin(golds: Sequence[Gold], threads: int) -> None:
    global _golds, _texts
    follow_parent()
    os.environ["OMP_NUM_THREADS"] = str(threads)
    _golds, _texts = golds, Texts(g.item.hypothesis for g in golds)


def _made(asked: tuple[str, int, tuple[int, ...]]) -> Outcomes:
    name, at, seeds = asked
    return _outcomes(registry.noise(name), _golds[at], _texts, seeds)
