"""The gold texts of a stress test, noised at every level and seed."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from secrets import token_hex
from typing import NamedTuple

import numpy as np

from core.data import Item
from core.errors import unknown
from core.perturbations import registry
from core.perturbations.noise.base import Noise, NoiseContext, TextPool, noise_ratio
from core.processes import host
from core.processes.pool import Pool, PreparedArgument
from core.progress import Progress, no_progress
from core.robustness.stress.gold import Gold
from core.robustness.stress.report import StressTestInfo
from core.signature import signature
from core.text.edits import Change, Outcome, Refused

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


GROUPS = ("all", "fluency", "consistency", "special")


class Noised(NamedTuple):
    """The texts of one test. `compared` are the indices of the gold texts that could be noised; `texts[level][seed][i]` is the i-th of
    them noised, or unchanged if the test refuses it there; `ratios` is the noise ratio per level."""

    noise: Noise
    seeds: tuple[int, ...]
    compared: tuple[int, ...]
    texts: tuple[tuple[tuple[str, ...], ...], ...]
    ratios: tuple[float, ...]
    facts: StressTestInfo

    def items(self, golds: Sequence[Gold]) -> Iterable[Item]:
        """Yield every item to score: each gold text, followed by its noised texts by level and seed."""
        for i, at in enumerate(self.compared):
            item = golds[at].item
            yield item
            for level in self.texts:
                for texts in level:
                    yield item._replace(hypothesis=texts[i])


def expanded(names: Iterable[str]) -> tuple[str, ...]:
    """Return the tests of these names and groups (`GROUPS`), each once, in the order given. Raises UserError for an unknown name."""
    test_names: dict[str, None] = {}
    for name in names:
        if name in GROUPS:
            test_names.update((n.name, None) for n in registry.noises() if name in ("all", n.aspect))
        elif name in registry.NOISES:
            test_names[name] = None
        else:
            raise unknown("test", name, [*GROUPS, *registry.NOISES])
    return tuple(test_names)


def work(noise: Noise, golds: Sequence[Gold], seeds: int) -> int:
    """Return the largest number of texts that `noised` makes."""
    return len(golds) * len(noise.levels) * (seeds if noise.seeded else 1)


def noised(
    noise: Noise, golds: Sequence[Gold], seed: int, seeds: int, progress: Progress, make: Make | None = None
) -> Noised:
    """Noise the gold texts with the seeds `seed`, `seed + 1`, … (one seed if the noise draws nothing).

    A text is compared if some seed changes it: at the strongest level in a graded test, at every level otherwise. Where the noise
    refuses a compared text at a weaker level or for one seed, the gold text is used, with ratio 0. `make` makes the texts (by default
    in this process).
    """
    used = tuple(range(seed, seed + (seeds if noise.seeded else 1)))
    compared, reasons, made = [], Counter[str](), list[list[list[str]]]()
    for at, (gold, outcomes) in enumerate(zip(golds, (make or make_locally(golds))(noise, used), strict=True)):
        text = gold.item.hypothesis
        judged = outcomes[-1:] if noise.graded else outcomes
        lacking = next((of for of in judged if not any(isinstance(o, Change) for o in of)), None)
        if lacking is None:
            compared.append(at)
            made.append([[o.text if isinstance(o, Change) else text for o in of] for of in outcomes])
        else:
            reasons[next(o.reason for o in lacking if isinstance(o, Refused))] += 1
        progress((at + 1) / len(golds))
    texts = tuple(
        tuple(tuple(m[k][s] for m in made) for s in range(len(used))) for k in range(len(noise.levels))
    )  # fmt: skip
    whole = [golds[at].item.hypothesis for at in compared]
    ratios = tuple(_ratio(whole, level, switching=noise.switching) for level in texts)
    facts = StressTestInfo(
        noise.name, noise.label, noise.aspect, noise.graded, tuple(level.label for level in noise.levels), len(used),
        len(compared), len(golds) - len(compared), tuple(reasons.most_common()), _signature(noise, golds, used),
    )  # fmt: skip
    return Noised(noise, used, tuple(compared), texts, ratios, facts)


def _ratio(golds: Sequence[str], seeds: Sequence[Sequence[str]], *, switching: bool) -> float:
    if not golds:
        return 0.0
    ratios = [
        noise_ratio(g, t, switching=switching) if t != g else 0.0
        for texts in seeds
        for g, t in zip(golds, texts, strict=True)
    ]
    return float(np.mean(ratios))


def _signature(noise: Noise, golds: Sequence[Gold], seeds: Sequence[int]) -> str:
    texts = "\0".join("\0".join((g.item.hypothesis, g.item.source or "")) for g in golds)
    digest = hashlib.sha256(texts.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    facts: dict[str, object] = {
        "v": noise.version,
        "levels": "+".join(level.label for level in noise.levels),
        "seeds": f"{seeds[0]}-{seeds[-1]}" if noise.seeded else "none",
        **({"models": models} if (models := noise.models()) else {}),
        "gold": f"{len(golds)}-{digest}",
    }
    return signature(noise.name, facts)
