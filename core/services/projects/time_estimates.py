"""How long scoring takes on this machine, for the outputs that have no scores yet; samples of segments."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from core.data import Dataset, Item, SegmentKey
from core.formatting import format_duration
from core.metrics.base import Metric
from core.ports.store import Store
from core.scoring.dataset import FIRST_CHUNK
from core.scoring.timing import ENOUGH, model_of, pace, similar, size_of
from core.signature import content_key

LONG_SECONDS = 600.0
"""A job that takes longer scores what is on the screen, or a sample, first."""
TOO_LONG_SECONDS = 3600.0
"""A default metric that takes longer is not chosen at first."""
SAMPLE_SEED = 0


class DistinctOutputs(NamedTuple):
    """The outputs of a dataset by content key, and the keys of each segment. Equal outputs count once."""

    items: Mapping[str, Item]
    of_segment: Mapping[SegmentKey, frozenset[str]]

    def of(self, segments: Iterable[SegmentKey]) -> frozenset[str]:
        return frozenset[str]().union(*(self.of_segment.get(s, frozenset()) for s in segments))


class OpenOutputs(NamedTuple):
    """The outputs that a metric has not scored, with their sizes, and the seconds per unit of size if they are known.

    `measured` is the number of outputs that the speed was measured on.
    """

    metric: str
    label: str
    sizes: Mapping[str, int]
    speed: float | None
    measured: int = 0

    @property
    def rough(self) -> bool:
        """Return whether the time is known from a few outputs only."""
        return self.speed is not None and bool(self.sizes) and self.measured < ENOUGH

    @property
    def timed(self) -> bool:
        """Return whether the time is known, or too short to measure."""
        return self.speed is not None or len(self.sizes) <= FIRST_CHUNK

    def seconds(self, keys: Collection[str] | None = None) -> float | None:
        """Return the estimated time for the open outputs, or those among `keys`; None if it is not known."""
        size = sum(self.sizes.values() if keys is None else (n for key, n in self.sizes.items() if key in keys))
        return self.speed * size if self.speed is not None else None if size else 0.0


def distinct_outputs(dataset: Dataset) -> DistinctOutputs:
    """Return the outputs of a dataset, each once."""
    keyed = [(key.segment, content_key(*item), item) for key, item in dataset.items()]
    of_segment: dict[SegmentKey, set[str]] = {}
    for segment, key, _ in keyed:
        of_segment.setdefault(segment, set()).add(key)
    return DistinctOutputs({k: item for _, k, item in keyed}, {s: frozenset(k) for s, k in of_segment.items()})


def open_outputs(store: Store, outputs: DistinctOutputs, metrics: Iterable[Metric]) -> list[OpenOutputs]:
    """Return what each metric (fitted on the dataset) has not scored yet."""
    found = []
    of_needs: dict[frozenset[str], dict[str, int]] = {}
    for metric in metrics:
        spec, signature = metric.spec, metric.signature()
        needs = frozenset(spec.needs & {"source", "reference"})
        if needs not in of_needs:
            of_needs[needs] = {key: size_of(item, spec) for key, item in outputs.items.items()}
        sizes = of_needs[needs]
        known = store.scores.known(signature, sizes.keys())
        timings = store.timings.of(spec.name, model_of(signature))
        length = sum(sizes.values()) / max(1, len(sizes))
        measured = sum(t.n for t in similar(timings, length))
        left = {k: n for k, n in sizes.items() if k not in known}
        found.append(OpenOutputs(spec.name, spec.label, left, pace(timings, length), measured))
    return found


def total_seconds(metrics: Iterable[OpenOutputs], keys: Collection[str] | None = None) -> float | None:
    """Return the time of all metrics together; None if that of one is not known."""
    seconds = [metric.seconds(keys) for metric in metrics]
    known = [s for s in seconds if s is not None]
    return sum(known) if len(known) == len(seconds) else None


def in_words(metrics: Sequence[OpenOutputs], keys: Collection[str] | None = None) -> str:
    """Return the total and what takes longest: "about 1 h 20 min (BARTScore++ 1 h, 3 others 12 min)"; "" if not known."""
    total = total_seconds(metrics, keys)
    if total is None:
        return ""
    slowest = sorted(metrics, key=lambda m: -(m.seconds(keys) or 0.0))
    named = [m for m in slowest[:3] if (m.seconds(keys) or 0.0) > max(1.0, total / 20)]
    parts = [f"{m.label} {format_duration(m.seconds(keys) or 0.0)}" for m in named]
    others = [m for m in slowest if m not in named]
    rest = total_seconds(others, keys)
    if parts and others and rest:
        parts.append(f"{len(others)} other{'s' * (len(others) > 1)} {format_duration(rest)}")
    return f"about {format_duration(total)}" + (f" ({', '.join(parts)})" if len(parts) > 1 else "")


def sample_of(dataset: Dataset, n: int) -> list[SegmentKey]:
    """Return `n` random segments in the order of the dataset; a larger sample contains the smaller ones."""
    keys = [segment.key for segment in dataset.segments]
    drawn = set(random.Random(SAMPLE_SEED).sample(keys, len(keys))[:n])
    return [key for key in keys if key in drawn]


def start(
    store: Store, project_id: int, metrics: Sequence[str], segments: Sequence[SegmentKey] = (),
    first: Sequence[SegmentKey] = (),
) -> None:  # fmt: skip
    """Queue the scoring of `segments` (or all); without `segments`, those in `first` come before the others."""
    if first and not segments:
        store.jobs.enqueue(project_id, metrics, first)
    store.jobs.enqueue(project_id, metrics, segments)
