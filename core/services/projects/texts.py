"""The texts of a project, read from storage when a page or a service needs them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from threading import Lock
from typing import Protocol

from core.data import Dataset, Item, OutputKey, Segment, SegmentKey

HELD = 64
"""Segments whose texts are held: those that one page reads again and again."""
SEARCHES, FOUND = 16, 300_000
"""Searches that are held, and the segments that they found together."""
AT_ONCE = 500
"""Segments that are read with one query."""

SegmentTexts = tuple[Segment, Mapping[str, str]]
"""A segment and the texts of its outputs by system."""


class ProjectTextReader(Protocol):
    """The part of `core.ports.projects.Projects` that reads texts."""

    def texts(self, project_id: int, segments: Sequence[SegmentKey], *, outputs: bool = True) -> Dataset: ...
    def search(self, project_id: int, phrase: str) -> list[SegmentKey]: ...


class StoredTexts:
    """The texts of one version of a project. Safe to share between threads."""

    def __init__(self, reader: ProjectTextReader, project_id: int) -> None:
        self._reader, self._project_id, self._lock = reader, project_id, Lock()
        self._held: OrderedDict[SegmentKey, SegmentTexts] = OrderedDict()
        self._found: OrderedDict[str, list[SegmentKey]] = OrderedDict()

    def segment(self, key: SegmentKey) -> SegmentTexts:
        """Return one segment. Raises KeyError if there is none."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
        found = {segment.key: (segment, texts) for segment, texts in self.each([key])}[key]
        with self._lock:
            self._held[key] = found
            if len(self._held) > HELD:
                self._held.popitem(last=False)
        return found

    def each(self, keys: Iterable[SegmentKey]) -> Iterator[SegmentTexts]:
        """Yield these segments, some at once in document order; those that do not exist are left out."""
        left = iter(dict.fromkeys(keys))
        while part := list(islice(left, AT_ONCE)):
            data = self._reader.texts(self._project_id, part)
            for segment, outputs in zip(data.segments, data.outputs_of().values(), strict=True):
                yield segment, {o.system: o.text for o in outputs}

    def segments(self, keys: Sequence[SegmentKey]) -> dict[SegmentKey, Segment]:
        """Return these segments in document order, without their outputs; those that do not exist are left out."""
        return {s.key: s for s in self._reader.texts(self._project_id, keys, outputs=False).segments}

    def dataset(self, keys: Sequence[SegmentKey]) -> Dataset:
        """Return these segments in document order; those that do not exist are left out."""
        return self._reader.texts(self._project_id, keys)

    def items(self, keys: Collection[OutputKey]) -> dict[OutputKey, Item]:
        """Return what a metric is given of these outputs, in the order of `keys`; those that do not exist are left out."""
        found = {segment.key: (segment, texts) for segment, texts in self.each(key.segment for key in keys)}
        return {
            key: Item(segment.source, texts[key.system], segment.references)
            for key in keys
            for segment, texts in [found[key.segment]] * (key.segment in found)
            if key.system in texts
        }

    def outputs(self, keys: Collection[OutputKey]) -> dict[OutputKey, str]:
        return {key: item.hypothesis for key, item in self.items(keys).items()}

    def search(self, phrase: str) -> list[SegmentKey]:
        """Return the segments with the phrase in a text or name (`core.ports.projects.Projects.search`)."""
        with self._lock:
            if phrase in self._found:
                return self._found[phrase]
        found = self._reader.search(self._project_id, phrase)
        with self._lock:
            self._found[phrase] = found
            while len(self._found) > SEARCHES or (len(self._found) > 1 and sum(map(len, self._found.values())) > FOUND):
                self._found.popitem(last=False)
        return found
