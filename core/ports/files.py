"""Imports and exports of any size, in parts."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, Protocol

from core.data import Dataset, ExternalScores, OutputKey, SegmentKey, SourceFile, Value, grouped
from core.errors import Problem
from core.ports.rules import read_project


class Exports(Protocol):
    """Each part is some whole segments, in document order. Data that is stored meanwhile may be in later parts."""

    @read_project
    def texts(self, project_id: int) -> Iterator[Dataset]:
        """Yield the segments with their outputs and human scores. Raises `UserError` for an unknown project."""
        ...

    @read_project
    def keys(self, project_id: int) -> Iterator[Sequence[OutputKey]]: ...  # of the outputs

    @read_project
    def scores(self, project_id: int, signature: str) -> Iterator[Sequence[tuple[OutputKey, Value]]]:
        """Yield the values under a signature, without `detail`, in the order of the outputs."""
        ...

    @read_project
    def n_references(self, project_id: int) -> int: ...  # of all segments

    @read_project
    def most_references(self, project_id: int) -> int: ...  # of a segment


class StagedMetric(NamedTuple):
    """An external metric of an import: its name, direction and files."""

    name: str
    higher_is_better: bool
    files: tuple[SourceFile, ...]


class ImportPart(NamedTuple):
    """Some segments of an import with their outputs and human scores, and the external scores of each metric in the same order.

    Outputs and scores may also be of segments that only the project has: `unlisted`.
    """

    texts: Dataset
    external: tuple[Mapping[OutputKey, Value], ...] = ()
    unlisted: tuple[SegmentKey, ...] = ()

    @property
    def rows(self) -> int:
        texts = len(self.texts.segments) + len(self.texts.outputs) + len(self.texts.human_scores)
        return texts + sum(map(len, self.external)) + sum(len(s.references) for s in self.texts.segments)

    @property
    def keys(self) -> list[SegmentKey]:
        """The segments of the part, listed or not."""
        return [*dict.fromkeys(s.key for s in self.texts.segments), *self.unlisted]


class ImportSource(Protocol):
    """The checked content of files. `parts` may be called many times; each segment is in one part, in the order of the import."""

    @property
    def n_rows(self) -> int: ...
    @property
    def metrics(self) -> Sequence[StagedMetric]: ...
    def parts(self, rows: Callable[[], int]) -> Iterator[ImportPart]:
        """Yield parts of about as many rows as `rows` says before each of them."""
        ...


class DatasetImport:
    """A dataset in memory, with external scores, as the source of an import."""

    def __init__(self, dataset: Dataset, external: Sequence[ExternalScores] = ()) -> None:
        external = [scores for scores in external if scores.values]
        self._whole = ImportPart(dataset, tuple(scores.values for scores in external))
        self.metrics = tuple(StagedMetric(s.name, s.higher_is_better, s.files) for s in external)
        self.systems, self.n_segments, self.n_rows = dataset.systems, len(dataset.segments), self._whole.rows

    def sample(self) -> Dataset:
        return self._whole.texts

    def parts(self, rows: Callable[[], int]) -> Iterator[ImportPart]:
        """Yield the dataset as it is if it has no more rows, otherwise parts of some segments each."""
        texts = self._whole.texts
        segments = grouped((s.key, s) for s in texts.segments)
        outputs = grouped((o.key.segment, o) for o in texts.outputs)
        scores = grouped((SegmentKey(h.doc_id, h.segment_id), h) for h in texts.human_scores)
        external = [grouped((key.segment, (key, v)) for key, v in values.items()) for values in self._whole.external]
        left = deque(dict.fromkeys(chain(segments, outputs, scores, *external)))
        if self.n_rows <= rows():
            yield self._whole._replace(unlisted=tuple(key for key in left if key not in segments))
            return
        while left:
            keys, n, most = list[SegmentKey](), 0, rows()
            while left and n < most:
                keys.append(key := left.popleft())
                n += len(outputs.get(key, ())) + len(scores.get(key, ())) + sum(len(of.get(key, ())) for of in external)
                n += sum(1 + len(s.references) for s in segments.get(key, ()))
            part = Dataset(
                tuple(segment for key in keys for segment in segments.get(key, ())),
                tuple(output for key in keys for output in outputs.get(key, ())),
                tuple(score for key in keys for score in scores.get(key, ())),
            )
            values = tuple(dict(pair for key in keys for pair in of.get(key, ())) for of in external)
            yield ImportPart(part, values, tuple(key for key in keys if key not in segments))


class ImportReport(NamedTuple):
    """Counts of new rows, and of `unchanged` rows that were already stored."""

    segments: int
    outputs: int
    references: int
    human_scores: int
    unchanged: int
    sources: int = 0  # segments that had no source and now have one
    labelled: int = 0  # outputs with new labels, counted per rater
    metric_scores: int = 0  # new external scores
    judgements: int = 0  # new numbers of raters


class ImportComparison(NamedTuple):
    """What an import would change in a project, everything that contradicts what is stored, and the metrics whose stored scores differ."""

    report: ImportReport
    problems: tuple[Problem, ...] = ()
    clashes: tuple[str, ...] = ()
