"""Choose the segments of a campaign."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from random import Random
from typing import NamedTuple

from core.data import SegmentKey, grouped
from core.errors import UserError

Outline = Mapping[SegmentKey, tuple[str, ...]]
"""The systems that have an output, by segment, in document order."""


class DataCounts(NamedTuple):
    """Counts of what a campaign rates."""

    segments: int
    systems: int
    outputs: int
    documents: int


def sampled(keys: Iterable[SegmentKey], n: int, seed: int) -> tuple[SegmentKey, ...]:
    """Return `n` segments, or all if there are fewer, in their order: whole documents at random, so that annotators have context.

    The last document drawn is cut to consecutive segments from a random place. The same seed gives the same segments.
    """
    by_document = grouped((key.doc_id, key) for key in keys)
    rng, chosen = Random(seed), set[SegmentKey]()
    names = list(by_document)
    rng.shuffle(names)
    for name in names:
        mine, rest = by_document[name], n - len(chosen)
        if rest <= 0:
            break
        start = rng.randrange(len(mine) - rest + 1) if len(mine) > rest else 0
        chosen.update(mine[start : start + rest])
    return tuple(key for mine in by_document.values() for key in mine if key in chosen)


def of_documents(keys: Iterable[SegmentKey], documents: Collection[str]) -> tuple[SegmentKey, ...]:
    """Return the segments of these documents. Raises `UserError` if there are none."""
    found = tuple(key for key in keys if key.doc_id in documents)
    if not found:
        raise UserError("no document is chosen", hint="Choose documents, or choose all segments")
    return found


def counts(outline: Outline, systems: Collection[str], segments: Collection[SegmentKey]) -> DataCounts:
    """Return the counts of the outputs of these systems and segments; an empty collection means all."""
    only, wanted = set(segments), set(systems)
    found = {
        key: [name for name in of if not wanted or name in wanted] for key, of in outline.items() if not only or key in only
    }  # fmt: skip
    there = {key: of for key, of in found.items() if of}
    names = {name for of in there.values() for name in of}
    return DataCounts(len(there), len(names), sum(map(len, there.values())), len({key.doc_id for key in there}))
