"""The texts of a stress test: gold texts, and those noised at every level and seed.

Gold texts are first references (scored against the others) or the outputs of one system (He et al. 2023, section 2).
"""

from __future__ import annotations

import hashlib
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from secrets import token_hex
from typing import NamedTuple

import numpy as np

from core.data import Dataset, Item
from core.errors import UserError, unknown
from core.metrics.base import MetricSpec
from core.perturbations import registry
from core.perturbations.base import Noise, NoiseContext, TextPool, noise_ratio
from core.processes import host
from core.processes.pool import Pool, PreparedArgument
from core.progress import Progress, no_progress
from core.robustness.stress.report import StressTestInfo
from core.signature import signature
from core.text.edits import Change, Outcome, Refused

REFERENCE = "reference"


class Gold(NamedTuple):
    """A text to noise: its hypothesis, with the source and references it is scored with. `id` is the segment id, or
    `document:segment` if documents share segment ids."""

    id: str
    item: Item


def gold_of(dataset: Dataset, which: str) -> list[Gold]:
    """Return the gold texts by name: `reference` for the first reference of each segment, scored against the others (there may be none),
    or a system for its outputs, scored against all references. Blank texts are left out.

    Raises UserError for an unknown name and if there are no texts.
    """
    if which not in (REFERENCE, *dataset.systems):
        raise unknown("system", which, [REFERENCE, *dataset.systems])
    golds = _golds(dataset, which)
    if not golds:
        lacking = "no segment has a reference" if which == REFERENCE else f"all outputs of {which} are blank"
        others = [name for name in (REFERENCE, *dataset.systems) if name != which]
        raise UserError(
            "there are no good texts", got=lacking, hint=f"Choose {' or '.join(others)} as good texts" if others else ""
        )
    return golds


def no_references(
    dataset: Dataset, which: str, golds: Sequence[Gold], metrics: Sequence[MetricSpec]
) -> UserError | None:
    """Return an error if every metric needs a reference and the only reference of each segment is the gold text."""
    if which != REFERENCE or any(g.item.references for g in golds) or not metrics:
        return None
    if all("reference" in spec.needs for spec in metrics):
        systems = ", ".join(dataset.systems)
        return UserError(
            "every segment has one reference, which is the good text: no reference is left to compare with",
            where="--gold",
            got=REFERENCE,
            expected=f"a system with good outputs: {systems}" if systems else "data with two references per segment",
            hint=f"For example --gold {shlex.quote(dataset.systems[0])}; or choose metrics that need no reference"
            if systems
            else "Add references, or choose metrics that need none",
        )
    return None


def left_out(dataset: Dataset, which: str) -> int:
    """Return how many segments `gold_of` leaves out because the first reference, or the system's output, is blank or missing."""
    return len(dataset.segments) - len(_golds(dataset, which))


def _golds(dataset: Dataset, which: str) -> list[Gold]:
    if which == REFERENCE:
        items = [(s.key, Item(s.source, s.references[0], s.references[1:])) for s in dataset.segments if s.references]
    else:
        items = [(key.segment, item) for key, item in dataset.items() if key.system == which]
    keyed = [(key, item) for key, item in items if item.hypothesis.strip()]
    counted = Counter(key.segment_id for key, _ in keyed)
    return [
        Gold(key.segment_id if counted[key.segment_id] == 1 else f"{key.doc_id}:{key.segment_id}", item)
        for key, item in keyed
    ]


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
            if registry.NOISES.get(noise.name) is not noise:
                yield from alone(noise, seeds)
            elif host.has_model_process():
                for call in calls:
                    yield host.run(_made, *call, on=prepared)
            elif noise.model and _on_gpu():
                yield from alone(noise, seeds)
            else:
                count = min(MODELS, workers) if noise.model else workers
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
