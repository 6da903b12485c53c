"""Score all texts of a stress test, each once per metric, through a cache and with one overall progress."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from core.data import Dataset, Item, Output, Segment, SegmentKey, Value
from core.metrics.base import Metric
from core.progress import Progress
from core.robustness.stress.gold import Gold
from core.scoring.cache import ScoreCache
from core.scoring.dataset import FIRST_CHUNK, Keep, score_dataset
from core.scoring.pool import BATCH, pooled
from core.scoring.progress import OnScoring, ScoringProgress
from core.signature import content_key

PROBE = 12
"""How many texts a metric scores to measure its speed, before the run begins."""


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
    """A metric after scoring (fitted on the gold texts if it depends on the batch): its value of each text by content key, how many of
    them were stored before, the number of failed texts, the first reason, and the seconds spent in this run."""

    metric: Metric
    values: Mapping[str, Value]
    known: int
    failed: int
    reason: str
    seconds: float


def fitted_on(metric: Metric, golds: Sequence[Gold]) -> Metric:
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
    cache: ScoreCache,
    work: RunProgress,
    workers: int = 1,
    detailed: Collection[str] = (),
) -> list[MetricRun]:
    """Score all items with all metrics, except those in the cache; `detail` is kept only for the keys in `detailed`.

    Texts that fail in a large chunk are retried in the smallest ones, so that a bad text does not affect others. Raises `Cancelled`.
    """

    def keep(key: str, value: Value) -> Value:
        return value if value.detail is None or key in detailed else replace(value, detail=None)

    def keep_successes(key: str, value: Value) -> Value | None:
        return None if value.status == "error" else keep(key, value)

    work.total = work.done + len(items) * len(metrics)
    whole, before, runs = _dataset(items), work.done, list[MetricRun]()
    with pooled(metrics, workers) as ready:
        sizes = [FIRST_CHUNK if own is away else 2 * BATCH * workers for own, away in zip(metrics, ready, strict=True)]
        known = [cache.known(m.signature(), items.keys()) for m in ready]
        samples = [
            _sample(
                {key: items[key] for key in items if key not in stored},
                m,
                cache,
                work,
                max(PROBE, size),
                keep_successes,
            )
            for m, stored, size in zip(ready, known, sizes, strict=True)
        ]
        for k, (metric, size) in enumerate(zip(ready, sizes, strict=True)):
            watch = _watch(work, samples[k].seconds_left, sum(sample.seconds_left for sample in samples[k + 1 :]))
            seconds = samples[k].seconds
            if size > FIRST_CHUNK:
                [result] = score_dataset(whole, [metric], cache, watch, chunk=size, keep=keep_successes)
                seconds += result.seconds
            [result] = score_dataset(whole, [metric], cache, watch, keep=keep)
            values = cache.values(result.signature, items.keys())
            reasons = [values[key].reason for key in items if values[key].status == "error"]
            seconds += result.seconds
            reason = reasons[0] if reasons else ""
            runs.append(MetricRun(metrics[k], values, len(known[k]), len(reasons), reason, seconds))
            work.done = before + (k + 1) * len(items)
    return runs


def _watch(work: RunProgress, own: float, rest: float) -> OnScoring:
    """Return a callback that adds the seconds of the remaining metrics (`rest`); `own` is the first estimate for this one."""

    def watch(at: ScoringProgress) -> None:
        left = own if at.seconds_left is None else at.seconds_left
        if at.metric_done == at.metric_total:
            left = 0.0
        work.report(work.done + at.done, at.metric, at.metric_done, at.metric_total, left + rest)

    return watch


class _Sample(NamedTuple):
    """The seconds spent on a sample of the texts, and the estimated seconds for the others (0 if a text failed)."""

    seconds: float
    seconds_left: float


def _sample(
    unknown: Mapping[str, Item], metric: Metric, cache: ScoreCache, work: RunProgress, size: int, keep: Keep
) -> _Sample:
    """Score two samples of up to `size` texts. The time per text is that of the second: the first may load the model."""
    keys = list(unknown)
    spread = keys[:: max(1, len(keys) // (2 * size))][: 2 * size]
    seconds, rate, scored = 0.0, 0.0, 0

    def watch(at: ScoringProgress) -> None:
        work.report(work.done, f"Measuring the speed of {at.metric}", at.metric_done, at.metric_total)

    for part in filter(None, (spread[::2], spread[1::2])):
        began = time.monotonic()
        dataset = _dataset({key: unknown[key] for key in part})
        [result] = score_dataset(dataset, [metric], cache, watch, chunk=size, keep=keep)
        seconds, scored = seconds + result.seconds, scored + result.new
        if result.failed:
            return _Sample(seconds, 0.0)
        rate = (time.monotonic() - began) / len(part)
    return _Sample(seconds, rate * (len(keys) - scored))


def _dataset(items: Mapping[str, Item]) -> Dataset:
    return Dataset(
        tuple(Segment("", key, item.source, item.references) for key, item in items.items()),
        tuple(Output("noised", "", key, item.hypothesis) for key, item in items.items()),
    )
