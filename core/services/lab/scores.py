"""Scoring all texts of a stress test: each once a metric, through a cache, with one measure of progress over everything."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple, Protocol

from core.data import Dataset, Item, Output, Segment, SegmentKey, Value
from core.metrics.base import Cancelled, Metric
from core.services.lab.gold import Gold
from core.services.lab.pool import BATCH, pooled
from core.services.scoring import FIRST_CHUNK, Doing, OnProgress, score_dataset
from core.signature import content_key

PROBE = 12
"""Texts that a metric scores to learn how fast it is, before the first of them is scored on all."""


class Cache(Protocol):
    """What `core.services.scoring` needs, and the values by signature and content key (`core.services.scoring.Memory`)."""

    @property
    def values(self) -> Mapping[tuple[str, str], Value]: ...
    def known(self, signature: str, keys: Collection[str]) -> set[str]: ...
    def put(self, metric: str, signature: str, values: Mapping[str, Value], seconds: float) -> None: ...


class Work:
    """What is done of making texts and scoring them. Raises `Cancelled` when the person who is told wants no more.

    `done` and `total` count texts made and texts scored; before the texts are made, the number to score is the most there can be.
    """

    def __init__(self, on_progress: OnProgress, texts: int, metrics: int) -> None:
        self.on_progress, self.texts, self.total, self.done, self.told = on_progress, texts, texts * (1 + metrics), 0, 0

    def tell(self, done: int, what: str, part: int, parts: int, seconds_left: float | None = None) -> None:
        done = self.told = max(done, self.told)  # texts that are tried again were told of before
        if not self.on_progress(Doing(done, max(done, self.total), what, part, parts, seconds_left)):
            raise Cancelled

    def making(self, parts: int, label: str) -> Callable[[int], None]:
        """What is to be told how many texts of a test are made."""
        return lambda part: self.tell(self.done + part, f"Making texts: {label}", part, parts)


class Run(NamedTuple):
    """What became of a metric, which is bound to the company of the gold texts where it depends on one: how many texts it broke on,
    the first reason why, and the seconds of scoring in this run."""

    metric: Metric
    failed: int
    reason: str
    seconds: float


def among(metric: Metric, golds: Sequence[Gold]) -> Metric:
    """The metric for the company of the gold texts, whatever is scored: its weights do not move with the noise."""
    return metric.among([(SegmentKey("", str(i)), gold.item) for i, gold in enumerate(golds)])


def keyed(items: Iterable[Item], into: dict[str, Item]) -> list[str]:
    """The content keys of items, in their order; each different item comes `into` the others."""
    keys = []
    for item in items:
        key = content_key(*item)
        into.setdefault(key, item)
        keys.append(key)
    return keys


def score(
    items: Mapping[str, Item],
    metrics: Sequence[Metric],
    cache: Cache,
    work: Work,
    workers: int = 1,
    detailed: Collection[str] = (),
) -> list[Run]:
    """Score all items with all metrics, what the cache knows left out; values are kept with `detail` for the keys `detailed` alone.

    What fails in a large chunk is tried again in the smallest ones, so that a bad text costs no other with any number of
    processes. Raises `Cancelled`.
    """
    clock = _Clock(cache, detailed)
    work.total = work.done + len(items) * len(metrics)
    whole, before, found = _dataset(items), work.done, list[Run]()
    with pooled(metrics, workers) as ready:
        sizes = [FIRST_CHUNK if own is away else 2 * BATCH * workers for own, away in zip(metrics, ready, strict=True)]
        rates = [_rate(items, m, clock, work, max(PROBE, size)) for m, size in zip(ready, sizes, strict=True)]
        todo = [len(items) - len(cache.known(m.signature(), items.keys())) for m in metrics]
        for k, (metric, size) in enumerate(zip(ready, sizes, strict=True)):
            rest = sum(rate * n for rate, n in zip(rates[k + 1 :], todo[k + 1 :], strict=True))
            watch = _watch(work, rates[k] * todo[k], rest)
            if size > FIRST_CHUNK:
                with clock.forgiving():
                    score_dataset(whole, [metric], clock, watch, chunk=size)
            score_dataset(whole, [metric], clock, watch)
            signature = metric.signature()
            values = (cache.values[signature, key] for key in items)
            broke = [value.reason for value in values if value.status == "error"]
            seconds = clock.seconds.get(signature, 0.0)
            found.append(Run(metrics[k], len(broke), broke[0] if broke else "", seconds))
            work.done = before + (k + 1) * len(items)
    return found


def _watch(work: Work, own: float, rest: float) -> OnProgress:
    """Tells of one metric, with the seconds that it and those after it take; `own` until it knows better."""

    def watch(doing: Doing) -> bool:
        left = own if doing.seconds_left is None else doing.seconds_left
        if doing.metric_done == doing.metric_total:
            left = 0.0
        work.tell(work.done + doing.done, doing.metric, doing.metric_done, doing.metric_total, left + rest)
        return True

    return watch


def _rate(items: Mapping[str, Item], metric: Metric, clock: _Clock, work: Work, some: int) -> float:
    """Seconds a text, measured on a second handful: the first one pays for loading."""
    signature = metric.signature()
    known = clock.known(signature, items.keys())
    unknown = [key for key in items if key not in known]
    spread = unknown[:: max(1, len(unknown) // (2 * some))][: 2 * some]
    rate = 0.0
    for part in (spread[::2], spread[1::2]):
        if part:
            began = time.monotonic()

            def watch(doing: Doing) -> bool:
                work.tell(work.done, f"Trying out {doing.metric}", doing.metric_done, doing.metric_total)
                return True

            with clock.forgiving():
                score_dataset(_dataset({key: items[key] for key in part}), [metric], clock, watch, chunk=some)
            if clock.forgave:
                return 0.0
            rate = (time.monotonic() - began) / len(part)
    return rate


def _dataset(items: Mapping[str, Item]) -> Dataset:
    return Dataset(
        tuple(Segment("", key, item.source, item.references) for key, item in items.items()),
        tuple(Output("noised", "", key, item.hypothesis) for key, item in items.items()),
    )


class _Clock:
    """A cache that adds up the seconds a signature took, and drops the `detail` of most values."""

    def __init__(self, cache: Cache, detailed: Collection[str]) -> None:
        self._cache, self._detailed, self.seconds = cache, frozenset(detailed), dict[str, float]()
        self.forgave, self._forgiving = 0, False

    @contextmanager
    def forgiving(self) -> Iterator[None]:
        """In it, what fails is not kept, but counted in `forgave`: it can be tried again."""
        self.forgave, self._forgiving = 0, True
        try:
            yield
        finally:
            self._forgiving = False

    def known(self, signature: str, keys: Collection[str]) -> set[str]:
        return self._cache.known(signature, keys)

    def put(self, metric: str, signature: str, values: Mapping[str, Value], seconds: float) -> None:
        self.seconds[signature] = self.seconds.get(signature, 0.0) + seconds
        kept = {
            key: value if value.detail is None or key in self._detailed else replace(value, detail=None)
            for key, value in values.items()
            if not (self._forgiving and value.status == "error")
        }
        self.forgave += len(values) - len(kept)
        if kept:
            self._cache.put(metric, signature, kept, seconds)
