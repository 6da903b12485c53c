"""Score all texts of a stress test, each once per metric, through a cache and with one overall progress."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple, Protocol

from core.data import Dataset, Item, Output, Segment, SegmentKey, Value
from core.metrics.base import Metric
from core.progress import Progress
from core.robustness.stress.gold import Gold
from core.scoring.dataset import FIRST_CHUNK, ScoreCache, score_dataset
from core.scoring.pool import BATCH, pooled
from core.scoring.progress import OnScoring, ScoringProgress
from core.signature import content_key

PROBE = 12
"""How many texts a metric scores to measure its speed, before the run begins."""


class StressScoreCache(ScoreCache, Protocol):
    """The cache that `core.scoring.dataset` needs, with its values by signature and content key (see `Memory` there)."""

    @property
    def values(self) -> Mapping[tuple[str, str], Value]: ...


class RunProgress:
    """Progress of making and scoring texts. Passes on `Cancelled` from `on_scoring`.

    `done` and `total` count texts made and scored; until all texts are made, `total` is an upper bound.
    """

    def __init__(self, on_scoring: OnScoring | None, texts: int, metrics: int) -> None:
        self.on_scoring, self.texts, self.total, self.done, self.shown = on_scoring, texts, texts * (1 + metrics), 0, 0

    def report(self, done: int, what: str, part: int, parts: int, seconds_left: float | None = None) -> None:
        done = self.shown = max(done, self.shown)  # retried texts were counted before
        if self.on_scoring is not None:
            self.on_scoring(ScoringProgress(done, max(done, self.total), what, part, parts, seconds_left))

    def making(self, parts: int, label: str) -> Progress:
        """Return the callback for making the `parts` texts of a test."""

        def report(share: float) -> None:
            made = round(share * parts)
            self.report(self.done + made, f"Making texts: {label}", made, parts)

        return report


class MetricRun(NamedTuple):
    """A metric after scoring (fitted on the gold texts if it depends on the batch): the number of failed texts, the first reason, and
    the seconds spent in this run."""

    metric: Metric
    failed: int
    reason: str
    seconds: float


def among(metric: Metric, golds: Sequence[Gold]) -> Metric:
    """Return the metric fitted on the gold texts, so that its weights do not depend on the noised texts."""
    return metric.for_outputs([(SegmentKey("", str(i)), gold.item) for i, gold in enumerate(golds)])


def keyed(items: Iterable[Item], into: dict[str, Item]) -> list[str]:
    """Return the content keys of items, in order, and add each distinct item to `into`."""
    keys = []
    for item in items:
        key = content_key(*item)
        into.setdefault(key, item)
        keys.append(key)
    return keys


def score(
    items: Mapping[str, Item],
    metrics: Sequence[Metric],
    cache: StressScoreCache,
    work: RunProgress,
    workers: int = 1,
    detailed: Collection[str] = (),
) -> list[MetricRun]:
    """Score all items with all metrics, except those in the cache; `detail` is kept only for the keys in `detailed`.

    Texts that fail in a large chunk are retried in the smallest ones, so that a bad text does not affect others. Raises `Cancelled`.
    """
    clock = _Clock(cache, detailed)
    work.total = work.done + len(items) * len(metrics)
    whole, before, found = _dataset(items), work.done, list[MetricRun]()
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
            found.append(MetricRun(metrics[k], len(broke), broke[0] if broke else "", seconds))
            work.done = before + (k + 1) * len(items)
    return found


def _watch(work: RunProgress, own: float, rest: float) -> OnScoring:
    """Return a callback that adds the seconds of the remaining metrics (`rest`); `own` is the first estimate for this one."""

    def watch(at: ScoringProgress) -> None:
        left = own if at.seconds_left is None else at.seconds_left
        if at.metric_done == at.metric_total:
            left = 0.0
        work.report(work.done + at.done, at.metric, at.metric_done, at.metric_total, left + rest)

    return watch


def _rate(items: Mapping[str, Item], metric: Metric, clock: _Clock, work: RunProgress, some: int) -> float:
    """Return the seconds per text, measured on a second sample because the first includes loading the model."""
    signature = metric.signature()
    known = clock.known(signature, items.keys())
    unknown = [key for key in items if key not in known]
    spread = unknown[:: max(1, len(unknown) // (2 * some))][: 2 * some]
    rate = 0.0
    for part in (spread[::2], spread[1::2]):
        if part:
            began = time.monotonic()

            def watch(at: ScoringProgress) -> None:
                work.report(work.done, f"Measuring the speed of {at.metric}", at.metric_done, at.metric_total)

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
    """A cache that adds up the seconds per signature and drops the `detail` of most values."""

    def __init__(self, cache: StressScoreCache, detailed: Collection[str]) -> None:
        self._cache, self._detailed, self.seconds = cache, frozenset(detailed), dict[str, float]()
        self.forgave, self._forgiving = 0, False

    @contextmanager
    def forgiving(self) -> Iterator[None]:
        """Within this context, failed texts are counted in `forgave` but not stored, so that they can be retried."""
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
