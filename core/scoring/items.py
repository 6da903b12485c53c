"""Score items that belong to no dataset, in memory, and system-level metrics."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from core.data import Dataset, Item, Output, Segment, Value, grouped
from core.errors import UserError
from core.metrics.base import Metric, MetricSpec
from core.metrics.embedding import mauve
from core.metrics.embedding.distances import encoder
from core.progress import Progress, no_progress
from core.scoring.dataset import for_dataset, score_dataset
from core.scoring.values import InMemoryScores, OnScoring, ScoreCache
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


METRICS: tuple[str, ...] = ("mauve",)


class SetScore(NamedTuple):
    """The value of one system, and the signature of computation and texts."""

    system: str
    value: Value
    signature: str


def set_scores(dataset: Dataset, progress: Progress = no_progress) -> list[SetScore]:
    """Return MAUVE of every system, in dataset order: its outputs compared with the references of the same segments.

    Empty texts and outputs of segments without references are left out. Each distinct text is encoded once. Raises UserError
    if the package, an encoder, or references are missing.
    """
    sides = {system: _sides(dataset, system) for system in dataset.systems}
    if not any(references for _, references in sides.values()):
        raise UserError(
            "MAUVE needs references, but the dataset has none",
            hint="Add references, or use one system's outputs as references",
        )
    signatures = {
        system: mauve.sign(f"{len(outputs)}+{len(references)}-{_digest(outputs, references)}")
        for system, (outputs, references) in sides.items()
    }
    progress(0.0)
    texts = list(dict.fromkeys(text for side in sides.values() for item_texts in side for text in item_texts))
    vectors = encoder().embed(texts, lambda _: progress(0.0)).vectors
    at = {text: i for i, text in enumerate(texts)}
    out = []
    for done, (system, (outputs, references)) in enumerate(sides.items()):
        progress(done / len(sides))
        value = mauve.mauve(vectors[[at[t] for t in outputs]], vectors[[at[t] for t in references]])
        out.append(SetScore(system, value, signatures[system]))
    return out


def _sides(dataset: Dataset, system: str) -> tuple[list[str], list[str]]:
    segments = dataset.segment_of()
    pairs = [(o.text, segments[o.key.segment].references) for o in dataset.outputs if o.system == system]
    outputs = [text for text, references in pairs if text.strip() and any(r.strip() for r in references)]
    return outputs, [r for _, references in pairs for r in references if r.strip()]


def _digest(*sides: Sequence[str]) -> str:
    lines = "\1".join("\0".join(sorted(texts)) for texts in sides)
    return hashlib.sha256(lines.encode("utf-8", "surrogatepass")).hexdigest()[:8]
