"""Indexes and views of data sets that are in no store."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from core.columns import ProjectIndex, ScoreColumn
from core.data import Dataset, OutputKey, SegmentKey, Value
from core.metrics.base import MetricSpec
from core.ports.scores import ScoredBy
from core.services.projects.texts import StoredTexts
from core.services.projects.view import View, build
from core.text.words import fold


def index_of(data: Dataset) -> ProjectIndex:
    """Return the index of a data set; its version is that of the object."""
    segments, systems = tuple(s.key for s in data.segments), data.systems
    lengths = np.full((len(segments), len(systems)), -1, dtype=np.int32)
    row = {key: i for i, key in enumerate(segments)}
    for output in data.outputs:
        lengths[row[output.key.segment], systems.index(output.system)] = len(output.text)
    return ProjectIndex(segments, systems, lengths, f"memory:{id(data)}")


class DatasetTexts:
    """Reads and searches the texts of one data set, for `StoredTexts`."""

    def __init__(self, data: Dataset) -> None:
        self.data = data

    def texts(self, project_id: int, segments: Sequence[SegmentKey], systems: Collection[str] | None = None) -> Dataset:
        keys, outputs = set(segments), self.data.outputs_of()
        wanted = tuple(s for s in self.data.segments if s.key in keys)
        return Dataset(
            wanted, tuple(o for s in wanted for o in outputs[s.key] if systems is None or o.system in systems)
        )

    def search(self, project_id: int, phrase: str) -> list[SegmentKey]:
        outputs = self.data.outputs_of()
        return [
            s.key
            for s in self.data.segments
            if any(fold(phrase) in fold(t) for t in (s.source or "", *s.references, *(o.text for o in outputs[s.key])))
        ]


def view_of(
    data: Dataset,
    scored: Sequence[ScoredBy],
    tables: Mapping[str, Mapping[OutputKey, Value]],
    specs: Mapping[str, MetricSpec],
) -> View:
    """Return the view of a data set with these values per signature."""
    index = index_of(data)
    columns = {signature: ScoreColumn.of(index, values) for signature, values in tables.items()}
    human = tuple(dict.fromkeys(h.name for h in data.human_scores))
    for name in human:
        values = {OutputKey(*h[:3]): Value(h.value) for h in data.human_scores if h.name == name}
        columns[f"human|{name}"] = ScoreColumn.of(index, values)

    def read(entry: ScoredBy | str) -> ScoreColumn:
        return columns[f"human|{entry}" if isinstance(entry, str) else entry.signature]

    return build(index, StoredTexts(DatasetTexts(data), 0, len(index.systems)), scored, human, read, specs)
