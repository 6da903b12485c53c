"""Score items that belong to no dataset, in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from core.data import Dataset, Item, Output, Segment, Value, grouped
from core.metrics.base import Metric, MetricSpec
from core.scoring.cache import InMemoryScores, ScoreCache
from core.scoring.dataset import for_dataset, score_dataset
from core.scoring.progress import OnScoring
from core.signature import content_key


class ScoredItems(NamedTuple):
    """One metric's values for items, in order."""

    spec: MetricSpec
    signature: str
    values: list[Value]


def score_items(
    items: Sequence[Item],
    metrics: Sequence[Metric],
    on_scoring: OnScoring | None = None,
    scores: ScoreCache | None = None,
    *,
    workers: int = 1,
) -> list[ScoredItems]:
    """Score items that belong to no dataset with every metric; equal items are scored once.

    Items with the same source and references count as outputs of one segment. Existing values in `scores` are reused, new
    ones are added to it. `workers` is that of `score_dataset`. Raises `Cancelled` when `on_scoring` does.
    """
    texts_of = grouped(((item.source, item.references), item.hypothesis) for item in dict.fromkeys(items))
    segments = tuple(Segment("", str(i), *anchor) for i, anchor in enumerate(texts_of))
    outputs = (Output(str(k), "", str(i), t) for i, texts in enumerate(texts_of.values()) for k, t in enumerate(texts))
    dataset = Dataset(segments, tuple(outputs))
    cache = InMemoryScores() if scores is None else scores
    metrics, keys = [for_dataset(metric, dataset) for metric in metrics], [content_key(*item) for item in items]
    scored = list[ScoredItems]()
    for metric, done in zip(metrics, score_dataset(dataset, metrics, cache, on_scoring, workers=workers), strict=True):
        values = cache.values(done.signature, keys)
        scored.append(ScoredItems(metric.spec, done.signature, [values[key] for key in keys]))
    return scored
