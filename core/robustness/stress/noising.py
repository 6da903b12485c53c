"""Noise every gold text, in this process or in several; the texts are the same either way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from secrets import token_hex

from core.perturbations import registry
from core.perturbations.noise.base import Noise, NoiseContext, TextPool
from core.processes import host
from core.processes.pool import Pool, PreparedArgument
from core.progress import Progress, no_progress
from core.robustness.stress.gold import Gold
from core.text.edits import Outcome

Outcomes = list[list[Outcome]]
"""The outcomes of one gold text, by level and seed."""
Make = Callable[[Noise, Sequence[int]], Iterator[Outcomes]]
"""A function that yields the outcomes of a noise and seeds for each gold text."""

FEW = 8
"""With fewer gold texts, starting processes takes longer than it saves."""

MODELS = 2
"""The largest number of processes that load a model: each holds all of it in memory."""


_GoldTexts = tuple[Sequence[Gold], TextPool]
"""All gold texts, in their order and as a pool to draw from."""


def make_locally(golds: Sequence[Gold]) -> Make:
    """Return a function that makes texts in this process."""
    own = _gold_texts(golds)

    def make(noise: Noise, seeds: Sequence[int]) -> Iterator[Outcomes]:
        for at in range(len(golds)):
            yield _outcomes(noise, own, at, seeds)

    return make


@contextmanager
def makers(golds: Sequence[Gold], workers: int) -> Iterator[Make]:
    """Yield a function that makes texts in `workers` processes, which end with the block or with this process.

    Noises that are not in the registry run in this process, as do noises that use a model on a GPU. On a CPU, up to `MODELS` processes
    load the model and share all threads. If a process dies, the remaining texts are made in this process. A program with a model process
    makes texts there, one after the other: the parser of English and some noises load models.
    """
    alone, prepared = make_locally(golds), PreparedArgument(token_hex(8), list(golds), _gold_texts)
    if not host.has_model_process() and (workers < 2 or len(golds) < FEW):
        yield alone
        return
    with ExitStack() as stack:

        @cache
        def pool(count: int) -> Pool:
            return stack.enter_context(Pool(count, environment={"OMP_NUM_THREADS": str(max(1, workers // count))}))

        def make(noise: Noise, seeds: Sequence[int]) -> Iterator[Outcomes]:
            calls = [(noise.name, at, tuple(seeds)) for at in range(len(golds))]
            if noise.name not in registry.NOISES or registry.noise(noise.name) is not noise:
                yield from alone(noise, seeds)
            elif host.has_model_process():
                for call in calls:
                    yield host.run(_made, *call, on=prepared)
            elif noise.loads_model and _on_gpu():
                yield from alone(noise, seeds)
            else:
                count = min(MODELS, workers) if noise.loads_model else workers
                yield from pool(count).map(_made, calls, on=prepared)

        yield make


def _on_gpu() -> bool:
    from core.models.loading import device

    return device() == "cuda"


def _gold_texts(golds: Sequence[Gold]) -> _GoldTexts:
    return golds, TextPool(g.item.hypothesis for g in golds)


def _made(own: _GoldTexts, name: str, at: int, seeds: tuple[int, ...], progress: Progress = no_progress) -> Outcomes:
    return _outcomes(registry.noise(name), own, at, seeds)


def _outcomes(noise: Noise, own: _GoldTexts, at: int, seeds: Sequence[int]) -> Outcomes:
    golds, texts = own
    gold, context = golds[at], NoiseContext(golds[at].item.source, texts)
    return [[noise.noised(gold.item.hypothesis, level.strength, s, context) for s in seeds] for level in noise.levels]
