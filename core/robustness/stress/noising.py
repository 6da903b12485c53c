"""Noise every gold text, in this process or in several; the texts are the same either way."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache
from secrets import token_hex

from core.models import process
from core.perturbations import registry
from core.perturbations.noise.base import Noise, NoiseContext, TextPool
from core.robustness.stress.gold import Gold
from core.scoring.pool import DIED, follow_parent, spawned
from core.text.edits import Outcome

log = logging.getLogger(__name__)

Outcomes = list[list[Outcome]]
"""The outcomes of one gold text, by level and seed."""
Make = Callable[[Noise, Sequence[int]], Iterator[Outcomes]]
"""A function that yields the outcomes of a noise and seeds for each gold text."""

FEW = 8
"""With fewer gold texts, starting processes takes longer than it saves."""

MODELS = 2
"""The largest number of processes that load a model: each holds all of it in memory."""

_golds: Sequence[Gold] = ()
_texts = TextPool()


def here(golds: Sequence[Gold], start: int = 0) -> Make:
    """Return a function that makes texts in this process, beginning with gold text `start`."""
    texts = TextPool(g.item.hypothesis for g in golds)

    def make(noise: Noise, seeds: Sequence[int]) -> Iterator[Outcomes]:
        for gold in golds[start:]:
            yield _outcomes(noise, gold, texts, seeds)

    return make


def elsewhere(golds: Sequence[Gold]) -> Make:
    """Return a function that makes the texts of the registry's noises in the model process: the parser of English and some noises load models."""
    key, sent, alone = token_hex(8), list(golds), here(golds)

    def make(noise: Noise, seeds: Sequence[int]) -> Iterator[Outcomes]:
        if not _is_registered(noise):
            yield from alone(noise, seeds)
            return
        for at in range(len(sent)):
            yield process.run_on(key, sent, _pooled, _made_of, noise.name, at, tuple(seeds))

    return make


@contextmanager
def makers(golds: Sequence[Gold], workers: int) -> Iterator[Make]:
    """Yield a function that makes texts in `workers` processes, which end with the block or with this process.

    Noises that are not in the registry run in this process, as do noises that use a model on a GPU. On a CPU, up to `MODELS` processes
    load the model and share all threads. If a process dies, the remaining texts are made in this process. A program with a model process
    makes texts there.
    """
    if process.is_elsewhere():
        yield elsewhere(golds)
        return
    alone = here(golds)
    if workers < 2 or len(golds) < FEW:
        yield alone
        return
    with ExitStack() as stack:

        @cache
        def pool(count: int) -> ProcessPoolExecutor:
            threads = max(1, workers // count)
            found = spawned(count, _begin, (list(golds), threads))
            stack.callback(found.shutdown, cancel_futures=True)
            return found

        def make(noise: Noise, seeds: Sequence[int]) -> Iterator[Outcomes]:
            count = workers if not noise.loads_model else 0 if _on_gpu() else min(MODELS, workers)
            if not count or not _is_registered(noise):
                yield from alone(noise, seeds)
                return
            size, made = max(1, len(golds) // (4 * count)), 0
            asked = [(noise.name, at, tuple(seeds)) for at in range(len(golds))]
            try:
                given = pool(count).map(_made, asked, chunksize=size)
            except DIED as error:
                log.warning("Cannot start processes for %s (%s): continuing in this process", noise.name, error)
                yield from alone(noise, seeds)
                return
            try:
                for outcomes in given:
                    yield outcomes
                    made += 1
            except BrokenExecutor as error:
                log.warning("A process that made %s died (%s): continuing in this process", noise.name, error)
                yield from here(golds, made)(noise, seeds)

        yield make


def _is_registered(noise: Noise) -> bool:
    return noise.name in registry.NOISES and registry.noise(noise.name) is noise


def _on_gpu() -> bool:
    from core.models.loading import device

    return device() == "cuda"


def _outcomes(noise: Noise, gold: Gold, texts: TextPool, seeds: Sequence[int]) -> Outcomes:
    context = NoiseContext(gold.item.source, texts)
    return [[noise.noised(gold.item.hypothesis, level.strength, s, context) for s in seeds] for level in noise.levels]


def _begin(golds: Sequence[Gold], threads: int) -> None:
    global _golds, _texts
    follow_parent()
    os.environ["OMP_NUM_THREADS"] = str(threads)
    _golds, _texts = golds, TextPool(g.item.hypothesis for g in golds)


def _made(asked: tuple[str, int, tuple[int, ...]]) -> Outcomes:
    name, at, seeds = asked
    return _outcomes(registry.noise(name), _golds[at], _texts, seeds)


def _pooled(golds: Sequence[Gold]) -> tuple[Sequence[Gold], TextPool]:
    return golds, TextPool(g.item.hypothesis for g in golds)


def _made_of(pool: tuple[Sequence[Gold], TextPool], name: str, at: int, seeds: tuple[int, ...]) -> Outcomes:
    golds, texts = pool
    return _outcomes(registry.noise(name), golds[at], texts, seeds)
