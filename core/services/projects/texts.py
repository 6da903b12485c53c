"""The texts of a project, read from storage when a page or a service needs them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from threading import Lock
from typing import Protocol

from core.data import Dataset, Item, Output, OutputKey, Segment, SegmentKey

HELD, HELD_CHARACTERS = 64, 8_000_000
"""At most this many segments, and characters in them, are held."""
PER_OUTPUT = 100
"""Characters added per output for the memory of its objects."""
SEARCHES, SEARCHED_SEGMENTS = 16, 300_000
"""At most this many searches, and segments found by them, are held."""
AT_ONCE, OUTPUTS_AT_ONCE = 500, 5_000
"""A query reads at most this many segments and outputs, but always at least one whole segment."""
FEW_OUTPUTS, WANTED = 400, 0.25
"""A query that reads more than `FEW_OUTPUTS` outputs must want at least the share `WANTED` of them."""

SegmentTexts = tuple[Segment, Mapping[str, str]]
"""A segment and the texts of its outputs by system."""


class ProjectTextReader(Protocol):
    """The part of `core.ports.projects.Projects` that reads texts."""

    def texts(
        self, project_id: int, segments: Sequence[SegmentKey], systems: Collection[str] | None = None
    ) -> Dataset: ...
    def search(self, project_id: int, phrase: str) -> list[SegmentKey]: ...


class StoredTexts:
    """The texts of one version of a project with `n_systems` systems. Safe to share between threads."""

    def __init__(self, reader: ProjectTextReader, project_id: int, n_systems: int) -> None:
        self._reader, self._project_id, self._lock = reader, project_id, Lock()
        self._at_once = min(AT_ONCE, max(1, OUTPUTS_AT_ONCE // max(1, n_systems)))
        self._held: OrderedDict[SegmentKey, tuple[SegmentTexts, int]] = OrderedDict()
        self._held_characters = 0
        self._searches: OrderedDict[str, list[SegmentKey]] = OrderedDict()

    def segment(self, key: SegmentKey) -> SegmentTexts:
        """Return one segment. Raises KeyError if there is none."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key][0]
        segment_texts = {segment.key: (segment, texts) for segment, texts in self.each([key])}[key]
        with self._lock:
            self._hold(key, segment_texts)
        return segment_texts

    def _hold(self, key: SegmentKey, segment_texts: SegmentTexts) -> None:
        if key in self._held:  # another thread has read it meanwhile
            return
        segment, texts = segment_texts
        characters = len(segment.source or "") + sum(map(len, segment.references))
        characters += sum(len(text) + PER_OUTPUT for text in texts.values())
        self._held[key] = segment_texts, characters
        self._held_characters += characters
        while len(self._held) > 1 and (len(self._held) > HELD or self._held_characters > HELD_CHARACTERS):
            self._held_characters -= self._held.popitem(last=False)[1][1]

    def each(self, keys: Iterable[SegmentKey]) -> Iterator[SegmentTexts]:
        """Yield these segments, some at once in document order; those that do not exist are left out."""
        left = iter(dict.fromkeys(keys))
        while part := list(islice(left, self._at_once)):
            data = self._reader.texts(self._project_id, part)
            for segment, outputs in zip(data.segments, data.outputs_of().values(), strict=True):
                yield segment, {o.system: o.text for o in outputs}

    def each_without_outputs(self, keys: Iterable[SegmentKey]) -> Iterator[Segment]:
        """Yield these segments, some at once in document order; those that do not exist are left out."""
        left = iter(dict.fromkeys(keys))
        while part := list(islice(left, AT_ONCE)):
            yield from self._reader.texts(self._project_id, part, ()).segments

    def segments(self, keys: Sequence[SegmentKey]) -> dict[SegmentKey, Segment]:
        """Return these segments in document order, without outputs; those that do not exist are left out."""
        return {s.key: s for s in self._reader.texts(self._project_id, keys, ()).segments}

    def dataset(self, keys: Sequence[SegmentKey]) -> Dataset:
        """Return these segments in document order; those that do not exist are left out."""
        return self._reader.texts(self._project_id, keys)

    def item_parts(self, keys: Iterable[OutputKey]) -> Iterator[dict[OutputKey, Item]]:
        """Yield the inputs of a metric for these outputs, in parts in the order of `keys`.

        Outputs that do not exist are left out. One query reads a part, at most `OUTPUTS_AT_ONCE` outputs. Order the
        keys by segment: that needs the fewest queries.
        """
        for part in _parts([key] for key in keys):
            segments = list(dict.fromkeys(key.segment for key in part))
            data = self._reader.texts(self._project_id, segments, {key.system for key in part})
            of, texts = data.segment_of(), {o.key: o.text for o in data.outputs}
            yield {
                key: Item(of[key.segment].source, texts[key], of[key.segment].references)
                for key in part
                if key in texts
            }

    def items(self, keys: Iterable[OutputKey]) -> dict[OutputKey, Item]:
        """Return the inputs of a metric for these outputs, in the order of `keys`; missing outputs are left out."""
        return {key: item for part in self.item_parts(keys) for key, item in part.items()}

    def outputs(self, keys: Iterable[OutputKey]) -> dict[OutputKey, str]:
        return {key: item.hypothesis for part in self.item_parts(keys) for key, item in part.items()}

    def search(self, phrase: str) -> list[SegmentKey]:
        """Return the segments with the phrase in a text or name (`core.ports.projects.Projects.search`)."""
        with self._lock:
            if phrase in self._searches:
                return self._searches[phrase]
        keys = self._reader.search(self._project_id, phrase)
        with self._lock:
            self._searches[phrase] = keys
            while len(self._searches) > SEARCHES or (
                len(self._searches) > 1 and sum(map(len, self._searches.values())) > SEARCHED_SEGMENTS
            ):
                self._searches.popitem(last=False)
        return keys


def output_parts(reader: ProjectTextReader, project_id: int, keys: Iterable[OutputKey]) -> Iterator[Dataset]:
    """Yield these outputs with their segments, in parts as small as those of `StoredTexts.item_parts`.

    Outputs of a segment must follow each other in `keys`. Each part has whole segments in document order, with their outputs in the
    order of the project. Outputs that do not exist are left out.
    """
    for part in _parts(list(of_segment) for _, of_segment in groupby(keys, lambda key: key.segment)):
        part_keys, segments = set(part), list(dict.fromkeys(key.segment for key in part))
        dataset = reader.texts(project_id, segments, systems={key.system for key in part})
        yield Dataset(dataset.segments, tuple(o for o in dataset.outputs if o.key in part_keys))


def joined(parts: Iterable[Dataset]) -> Dataset:
    """Return the segments and outputs of all parts, without human scores."""
    segments, outputs = list[Segment](), list[Output]()
    for part in parts:
        segments += part.segments
        outputs += part.outputs
    return Dataset(tuple(segments), tuple(outputs))


def _parts(groups: Iterable[Sequence[OutputKey]]) -> Iterator[list[OutputKey]]:
    """Yield the keys in parts, without splitting a group.

    One query per part reads all its systems in all its segments, so a part has few unwanted outputs.
    """
    part: list[OutputKey] = []
    segments, systems = set[SegmentKey](), set[str]()
    for group in groups:
        segments.update(key.segment for key in group)
        systems.update(key.system for key in group)
        read = len(segments) * len(systems)
        most = min(OUTPUTS_AT_ONCE, max(FEW_OUTPUTS, (len(part) + len(group)) / WANTED))
        if part and (len(segments) > AT_ONCE or read > most):
            yield part
            part, segments, systems = [], {key.segment for key in group}, {key.system for key in group}
        part += group
    if part:
        yield part
