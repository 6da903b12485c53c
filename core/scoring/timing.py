"""How long scoring takes, estimated from measured times of samples and earlier jobs.

Time is taken to be proportional to the size of the texts that a metric reads. That holds for texts of similar length only, so
measured times of much shorter or longer texts are not used.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple, TypeVar

import numpy as np

from core.data import Item
from core.metrics.base import MetricSpec
from core.ports.jobs import Numbers, OutputWindow
from core.ports.scores import Timing, Timings

T = TypeVar("T")
SIMILAR = 1.5
"""Largest ratio between the mean sizes of texts whose times are compared."""
MEASURED_SECONDS = 3.0
"""From so many seconds on, the speed within a chunk is known."""
ENOUGH = 8
"""An estimate from fewer measured outputs is rough."""


class MeasuredChunk(NamedTuple):
    """`n` items of `size` were scored and stored in `seconds`."""

    n: int
    size: int
    seconds: float


def size_of(item: Item, spec: MetricSpec) -> int:
    """Return the characters that a metric reads for an item: the output once per compared text, and these texts."""
    compared = list(item.references) if "reference" in spec.needs else []
    if "source" in spec.needs and item.source is not None:
        compared.append(item.source)
    return len(item.hypothesis) * max(1, len(compared)) + sum(map(len, compared)) + 1


def sizes_of(window: OutputWindow, spec: MetricSpec) -> Numbers:
    """Return `size_of` for each output of a window."""
    compared, n = np.zeros_like(window.hypothesis), np.zeros_like(window.hypothesis)
    if "reference" in spec.needs:
        compared, n = compared + window.references, n + window.n_references
    if "source" in spec.needs:
        compared, n = compared + np.maximum(window.source, 0), n + (window.source >= 0)
    return window.hypothesis * np.maximum(n, 1) + compared + 1


def model_of(signature: str) -> str:
    """Return the part of a signature that names the models, on which the speed depends."""
    return "|".join(part for part in signature.split("|") if part.split(":")[0] in ("model", "rev", "dtype"))


def spread(ordered: Sequence[T]) -> list[T]:
    """Return all elements in an order whose every beginning covers the whole sequence evenly (van der Corput)."""

    def place(i: int) -> float:
        at, step = 0.0, 0.5
        while i:
            at, i, step = at + step * (i & 1), i >> 1, step / 2
        return at

    n = len(ordered)
    order = [*range(1, 2 ** n.bit_length()), 0]
    return [ordered[k] for k in dict.fromkeys(int(place(i) * n) for i in order)] if n else []


def similar(timings: Collection[Timing], length: float) -> list[Timing]:
    """Return the timings of texts of about this mean size."""
    return [t for t in timings if length / SIMILAR <= t.length <= length * SIMILAR]


def seconds_per_unit(timings: Collection[Timing], length: float) -> float | None:
    """Return the seconds per unit of size for texts of this mean size; None without a timing of similar texts."""
    near = similar(timings, length)
    return sum(t.seconds for t in near) / sum(t.size for t in near) if near else None


def summed(chunks: Sequence[MeasuredChunk], length: float) -> Timing | None:
    """Return the timing of the larger chunks, because small ones mostly measure the fixed cost of a chunk."""
    largest = max((c.size for c in chunks), default=0)
    large = [c for c in chunks if c.size >= largest / 2]
    if not large:
        return None
    return Timing(sum(c.n for c in large), sum(c.size for c in large), sum(c.seconds for c in large), length)


class SpeedInChunk:
    """The speed within a chunk of outputs with these sizes, measured from when the first ones are done: models are loaded before."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._size_until, self._first, self._began = [0, *accumulate(sizes)], 0, 0.0

    def seconds(self, done: int, now: float) -> float:
        """Return what the whole chunk takes at the speed until `now`, when `done` outputs are done; 0 before it is measured."""
        if not self._first:
            self._first, self._began = done, now
            return 0.0
        last = len(self._size_until) - 1
        size, passed = self._size_until[min(done, last)] - self._size_until[min(self._first, last)], now - self._began
        return self._size_until[-1] * passed / size if size and passed >= MEASURED_SECONDS else 0.0


class Stopwatch:
    """The measured times of one metric on the items of a job, and the time that open items will take."""

    def __init__(self, spec: MetricSpec, signature: str, items: Mapping[str, Item], timings: Timings | None) -> None:
        self._metric, self._model, self._timings = spec.name, model_of(signature), timings
        self.sizes = {key: size_of(item, spec) for key, item in items.items()}
        self._length = sum(self.sizes.values()) / max(1, len(self.sizes))
        self._known = seconds_per_unit(timings.of(spec.name, self._model), self._length) if timings else None
        self.chunks: list[MeasuredChunk] = []

    @property
    def seconds(self) -> float:
        return sum(c.seconds for c in self.chunks)

    def add(self, keys: Collection[str], seconds: float) -> None:
        self.chunks.append(MeasuredChunk(len(keys), sum(self.sizes[k] for k in keys), seconds))

    def pace(self, enough: float) -> float | None:
        """Return the seconds per unit of size: of this job after `enough` seconds, else of earlier ones if known."""
        own = summed(self.chunks, self._length)
        if own is not None and (self._known is None or self.seconds >= enough):
            return own.seconds / own.size
        return self._known

    def keep(self) -> None:
        """Store the measured times for the next estimate, and use them in this one."""
        if self._timings is not None and (own := summed(self.chunks, self._length)) is not None:
            self._timings.add(self._metric, self._model, own)
            self._known = own.seconds / own.size
