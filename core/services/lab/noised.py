"""The gold texts of a stress test, noised by one test at every level and seed, with what could not be touched and why."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from core.data import Item
from core.errors import unknown
from core.services.lab.gold import Gold
from core.services.lab.making import Make, here
from core.services.lab.report import StressTestInfo
from core.signature import signature
from core.stress import registry
from core.stress.base import Change, Refused
from core.stress.noise.base import Noise, noise_ratio

GROUPS = ("all", "fluency", "consistency", "special")
Tell = Callable[[int], None]


class Noised(NamedTuple):
    """`compared` are the places of the touched gold texts; `texts[level][seed][i]` is the i-th of them noised, or as it was where
    the test refuses it there; `ratios` the noise ratio of each level."""

    noise: Noise
    seeds: tuple[int, ...]
    compared: tuple[int, ...]
    texts: tuple[tuple[tuple[str, ...], ...], ...]
    ratios: tuple[float, ...]
    facts: StressTestInfo

    def items(self, golds: Sequence[Gold]) -> Iterable[Item]:
        """Everything to be scored, one gold text after the other, each followed by what became of it."""
        for i, at in enumerate(self.compared):
            item = golds[at].item
            yield item
            for level in self.texts:
                for texts in level:
                    yield item._replace(hypothesis=texts[i])


def expanded(names: Iterable[str]) -> tuple[str, ...]:
    """The tests of names and groups (`all`, `fluency`, `consistency`, `special`), each once, in the order given. Raises UserError."""
    found: dict[str, None] = {}
    for name in names:
        if name in GROUPS:
            found.update((n.name, None) for n in registry.noises() if name in ("all", n.aspect))
        elif name in registry.NOISES:
            found[name] = None
        else:
            raise unknown("test", name, [*GROUPS, *registry.NOISES])
    return tuple(found)


def work(noise: Noise, golds: Sequence[Gold], seeds: int) -> int:
    """How many texts `noised` makes at most."""
    return len(golds) * len(noise.levels) * (seeds if noise.seeded else 1)


def noised(noise: Noise, golds: Sequence[Gold], seed: int, seeds: int, tell: Tell, make: Make | None = None) -> Noised:
    """The gold texts under one test, with seeds `seed`, `seed + 1`, … (one alone where nothing is drawn).

    A text is compared where the test touches it, under some seed: graded, at the strongest level; otherwise at every level, since
    an error that is not there cannot be punished. Where a compared text is refused, at a weaker level or under one seed, its gold
    text stands, and counts as ratio 0. `tell` hears how many texts are done; `make` makes them (here, unless told otherwise).
    """
    used = tuple(range(seed, seed + (seeds if noise.seeded else 1)))
    compared, reasons, made, done = [], Counter[str](), list[list[list[str]]](), 0
    for at, (gold, outcomes) in enumerate(zip(golds, (make or here(golds))(noise, used), strict=True)):
        text = gold.item.hypothesis
        judged = outcomes[-1:] if noise.graded else outcomes
        lacking = next((of for of in judged if not any(isinstance(o, Change) for o in of)), None)
        if lacking is None:
            compared.append(at)
            made.append([[o.text if isinstance(o, Change) else text for o in of] for of in outcomes])
        else:
            reasons[next(o.reason for o in lacking if isinstance(o, Refused))] += 1
        done += len(used) * len(noise.levels)
        tell(done)
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
    found = [
        noise_ratio(g, t, switching=switching) if t != g else 0.0
        for texts in seeds
        for g, t in zip(golds, texts, strict=True)
    ]
    return float(np.mean(found))


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
