"""Metrics whose signature or weights depend on all outputs of a project, without holding its texts.

Some signatures name the scripts that occur in a project. They are decided by a few example outputs, which one pass over the texts finds.
Metrics with weights (idf) are fitted with passes over the texts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from core.data import Item, SegmentKey
from core.metrics.base import Metric

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
