"""Score string metrics in several processes; their values and signatures do not change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from core.data import Item, Value
from core.errors import UserError
from core.metrics import registry
from core.metrics.base import Metric
from core.processes.pool import Pool
from core.progress import Progress

BATCH = 32
"""Items per part. Outputs of a segment that follow each other stay together, up to four times as many."""
START_SECONDS = 1.0
"""About the processor time that a process needs to start. Work that takes less than this is done without."""


@contextmanager
def pooled(metrics: Sequence[Metric], workers: int, *, after: float = 0.0) -> Iterator[list[Metric]]:
    """Yield the metrics; those without a model score in `workers` processes, which end with the block or with this process.

    The processes start when the metrics have taken `after` seconds of this process, which goes on scoring until one is ready.
    Only registry metrics whose values do not depend on the other outputs in the batch use the processes.
    """
    if workers < 2 or not any(map(_fit, metrics)):
        yield list(metrics)
        return
    with Pool(workers) as pool:
        if not after:
            pool.start(_score)
        yield [replace(m, score=_PooledScore(m.spec.name, pool, after)) if _fit(m) else m for m in metrics]


def _fit(metric: Metric) -> bool:
    if metric.spec.needs_model or metric.fit is not None:
        return False
    try:
        return registry.load_metric(metric.spec.name).score is metric.score
    except UserError:
        return False


class _PooledScore:
    """Score items in the pool, in order."""

    def __init__(self, name: str, pool: Pool, after: float) -> None:
        self.name, self.pool, self.after = name, pool, after

    def __call__(self, items: Sequence[Item], progress: Progress) -> list[Value]:
        parts, most = _parts(items), 1 - 1 / max(1, len(items))
        scored = self.pool.map(
            _score,
            [(self.name, part) for part in parts],
            sizes=list(map(len, parts)),
            progress=lambda share: progress(min(share, most)),
            after=self.after,
        )
        return [value for values in scored for value in values]


def _parts(items: Sequence[Item]) -> list[Sequence[Item]]:
    """Divide items into parts of at least `BATCH`, so that a segment's references are read in one process."""
    cuts = [0]
    for k in range(1, len(items)):
        size = k - cuts[-1]
        if size >= 4 * BATCH or (size >= BATCH and items[k].references != items[k - 1].references):
            cuts.append(k)
    return [items[start:end] for start, end in zip(cuts, [*cuts[1:], len(items)], strict=True)] if items else []


def _score(name: str, items: Sequence[Item], progress: Progress) -> list[Value]:
    return registry.load_metric(name).score(items, progress)
