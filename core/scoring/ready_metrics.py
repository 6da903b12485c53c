"""Metrics made ready for a job: for all outputs of a project, without holding its texts, and in several processes.

Some signatures name the scripts that occur in a project. They are decided by a few example outputs, which one pass over the texts finds.
Metrics with weights (idf) are fitted with passes over the texts. String metrics score in several processes; their values and signatures do
not change.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from core.data import Item, SegmentKey, Value
from core.errors import UserError
from core.metrics import registry
from core.metrics.base import Metric
from core.processes.pool import Pool
from core.progress import Progress

Stream = Callable[[], Iterator[list[tuple[int, SegmentKey, Item]]]]
"""Returns all outputs of a project in parts, with their ids; outputs of a segment follow each other."""


class AllTexts(Collection[tuple[SegmentKey, Item]]):
    """All outputs of a project, read again for each pass; outputs of a segment follow each other."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[tuple[SegmentKey, Item]]:
        return ((segment, item) for part in self._stream() for _, segment, item in part)

    def __len__(self) -> int:
        return sum(map(len, self._stream()))

    def __contains__(self, text: object) -> bool:
        return any(text == one for one in self)


class _Examples:
    """The outputs that decide the signature of a metric: those that change the signature of the ones before.

    That is enough because signatures depend on which scripts occur, and not on how often. An output is also kept if it is the first
    one with or without a source, or with or without references.
    """

    def __init__(self, sign: Callable[[Sequence[Item]], str]) -> None:
        self._sign = sign
        self.items: dict[int, Item] = {}
        self._kinds = set[tuple[bool, bool]]()
        self._signature = sign([])

    def add(self, part: Sequence[tuple[int, Item]]) -> None:
        for number, item in part:
            kind = (item.source is None, bool(item.references))
            if kind not in self._kinds:
                self._kinds.add(kind)
                self._keep(number, item)
        self._search(part)

    def _keep(self, number: int, item: Item) -> None:
        self.items[number] = item
        self._signature = self._sign(list(self.items.values()))

    def _search(self, part: Sequence[tuple[int, Item]]) -> None:
        if self._sign([*self.items.values(), *(item for _, item in part)]) == self._signature:
            return
        if len(part) == 1:
            self._keep(*part[0])
            return
        middle = len(part) // 2
        self._search(part[:middle])
        self._search(part[middle:])


def depends_on_texts(metric: Metric) -> bool:
    """Return whether the metric must be fitted, or its signature depends on the texts."""
    return metric.fit is not None or metric.signature_for is not None


def examples_of(metrics: Sequence[Metric], stream: Stream) -> list[tuple[int, ...]]:
    """Return the ids of the outputs that decide the signature of each metric, with one pass over the texts for all of them."""
    all_examples = [
        _Examples(metric.signature_for) if metric.signature_for and not metric.fit else None for metric in metrics
    ]
    if any(all_examples):
        for part in stream():
            numbered = [(number, item) for number, _, item in part]
            for examples in all_examples:
                if examples is not None:
                    examples.add(numbered)
    return [() if examples is None else tuple(examples.items) for examples in all_examples]


def for_project(metric: Metric, stream: Stream, examples: Iterable[Item]) -> Metric:
    """Return the metric as `Metric.for_outputs` does for all outputs of a project, given the texts of its `examples_of`."""
    if metric.fit is not None:
        return metric.for_outputs(AllTexts(stream))
    if metric.signature_for is None:
        return metric
    sign, few = metric.signature_for, list(examples)
    return replace(metric, signature=lambda: sign(few), signature_for=None)


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
