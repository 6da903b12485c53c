"""Indexes, columns and views of datasets in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from core.columns import ProjectIndex, ScoreColumn
from core.data import Dataset, OutputKey, SegmentKey, Value
from core.metrics.base import MetricSpec
from core.ports.scores import ScoredBy
from core.services.projects.texts import StoredTexts
from core.services.projects.view import View, build
from core.text.fold import fold


def index_of(data: Dataset) -> ProjectIndex:
    """The index of a dataset; its version is that of the object."""
    segments, systems = tuple(s.key for s in data.segments), data.systems
    lengths = np.full((len(segments), len(systems)), -1, dtype=np.int32)
    row = {key: i for i, key in enumerate(segments)}
    for output in data.outputs:
        lengths[row[output.key.segment], systems.index(output.system)] = len(output.text)
    return ProjectIndex(segments, systems, lengths, f"memory:{id(data)}")


def texts_of(data: Dataset, wanted: Sequence[SegmentKey], systems: Collection[str] | None = None) -> Dataset:
    """The texts of some segments, with all outputs or those of some systems."""
    keys, outputs = set(wanted), data.outputs_of()
    segments = tuple(s for s in data.segments if s.key in keys)
    some = (o for s in segments for o in outputs[s.key] if systems is None or o.system in systems)
    return Dataset(segments, tuple(some))


def found_in(data: Dataset, phrase: str) -> list[SegmentKey]:
    """The segments with a phrase."""
    outputs = data.outputs_of()
    return [
        s.key
        for s in data.segments
        if any(
            fold(phrase) in fold(text)
            for text in (s.source or "", *s.references, s.doc_id, s.segment_id, *(o.text for o in outputs[s.key]))
        )
    ]


def human_column(data: Dataset, name: str) -> ScoreColumn:
    values = {OutputKey(*h[:3]): Value(h.value) for h in data.human_scores if h.name == name}
    return ScoreColumn.of(index_of(data), values)


class DatasetTexts:
    """The part of `core.ports.projects.Projects` that reads texts, over one dataset."""

    def __init__(self, data: Dataset) -> None:
        self.data = data

    def texts(self, project_id: int, segments: Sequence[SegmentKey], systems: Collection[str] | None = None) -> Dataset:
        return texts_of(self.data, segments, systems)

    def search(self, project_id: int, phrase: str) -> list[SegmentKey]:
        return found_in(self.data, phrase)


def view_of(
    data: Dataset,
    scored: Sequence[ScoredBy],
    tables: Mapping[str, Mapping[OutputKey, Value]],
    specs: Mapping[str, MetricSpec],
) -> View:
    """The view of a dataset with these values by signature."""
    index = index_of(data)
    columns = {signature: ScoreColumn.of(index, values) for signature, values in tables.items()}
    columns |= {f"human|{h.name}": human_column(data, h.name) for h in data.human_scores}

    def read(entry: ScoredBy | str) -> ScoreColumn:
        return columns[f"human|{entry}" if isinstance(entry, str) else entry.signature]

    human = tuple(dict.fromkeys(h.name for h in data.human_scores))
    return build(index, StoredTexts(DatasetTexts(data), 0, len(index.systems)), scored, human, read, specs)
