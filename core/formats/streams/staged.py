"""A checked import on disk: its counts, its content in parts, and its summary for a preview."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from core.data import Dataset, ExternalScores, HumanScore, Output, OutputKey, Segment, SegmentKey, Value, grouped
from core.errors import UserError
from core.formats.external import no_score
from core.formats.parsing.cells import FilePlace
from core.formats.problems import Collector, shown_segment
from core.formats.streams.stage import Stage, batched
from core.formatting import format_count, isolated
from core.ports.files import ImportPart, StagedMetric


class DatasetCounts(NamedTuple):
    """What a preview says of the texts of an import. `references` are the fewest and the most of a segment, `without` the number of
    segments without a reference and without a source, `systems` the number of outputs by system."""

    segments: int
    references: tuple[int, int]
    without: tuple[int, int]
    systems: Mapping[str, int]
    empty_outputs: int
    human_scores: tuple[str, ...] = ()

    @property
    def outputs(self) -> int:
        return sum(self.systems.values())


def counts_of(dataset: Dataset) -> DatasetCounts:
    sizes = {len(s.references) for s in dataset.segments}
    return DatasetCounts(
        len(dataset.segments),
        (min(sizes, default=0), max(sizes, default=0)),
        (sum(not s.references for s in dataset.segments), sum(s.source is None for s in dataset.segments)),
        Counter(o.system for o in dataset.outputs),
        sum(not o.text for o in dataset.outputs),
        tuple(dict.fromkeys(h.name for h in dataset.human_scores)),
    )


def dataset_summary(of: DatasetCounts) -> str:
    """Return the size of a dataset, such as `412 segments × 5 systems, 2 references, 1 human score`."""
    fewest, most = of.references
    references = f"{fewest}–{most} references" if most != fewest else format_count(most, "reference")
    references = references if most else "no references"
    parts = [f"{format_count(of.segments, 'segment')} × {format_count(len(of.systems), 'system')}", references]
    if of.human_scores:
        parts.append(format_count(len(of.human_scores), "human score"))
    return ", ".join(parts)


def notes_on(of: DatasetCounts) -> tuple[str, ...]:
    """Return notes on missing references, sources and outputs and on empty outputs, none of which prevent an import."""
    notes = []
    n = of.segments
    for what, without in zip(("reference", "source"), of.without, strict=True):
        if without == n:
            notes.append(f"No segment has a {what}; metrics that need one cannot be computed.")
        elif without:
            notes.append(
                f"{without} of {format_count(n, 'segment')} have no {what}; metrics that need one leave them out."
            )
    for system, count in of.systems.items():
        if count < n:
            notes.append(f"{isolated(system)} has outputs for {count} of {format_count(n, 'segment')}.")
    if empty := of.empty_outputs:
        notes.append(f"{format_count(empty, 'output')} {'is' if empty == 1 else 'are'} empty.")
    return tuple(notes)


AT_ONCE = 2000
CHARACTERS = 4_000_000
"""Most characters of a part, unless one segment has more."""


class KnownOutputs(Protocol):
    """The outputs and segments of a project, to which scores and references in files without outputs belong."""

    @property
    def systems(self) -> tuple[str, ...]: ...
    def present(self, keys: Collection[OutputKey]) -> set[OutputKey]:
        """Return those of the keys that the project has."""
        ...

    def segments(self) -> Collection[SegmentKey]:
        """Return the segments of the project."""
        ...


class KnownTexts:
    """The outputs of a dataset in memory."""

    def __init__(self, texts: Dataset) -> None:
        self.systems, self._keys = texts.systems, {o.key for o in texts.outputs}
        self._segments = {s.key for s in texts.segments}

    def present(self, keys: Collection[OutputKey]) -> set[OutputKey]:
        return self._keys.intersection(keys)

    def segments(self) -> Collection[SegmentKey]:
        return self._segments


class _Rows:
    """The rows of a query that begin with an output's number, taken by segment."""

    def __init__(self, stage: Stage, query: str) -> None:
        self._rows, self._split = stage.query(query), stage.split
        self._next: Any = next(self._rows, None)

    def of(self, segment: int) -> list[tuple[str, Any]]:
        """Return the system of each row of the next segment, and the row."""
        rows = []
        while self._next is not None and (at := self._split(self._next[0]))[0] == segment:
            rows.append((at[1], self._next))
            self._next = next(self._rows, None)
        return rows


class StagedImport:
    """`core.ports.files.ImportSource` over a stage that a `Builder` has filled."""

    def __init__(
        self, stage: Stage, metrics: Sequence[StagedMetric], known: KnownOutputs | None = None, notes: Sequence[str] = (),
        holds_means: bool = False, as_references: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.stage, self.metrics, self.holds_means = stage, tuple(metrics), holds_means
        self._known, self._notes, self.as_references = known, tuple(notes), tuple(as_references)
        self.n_outputs, self.n_segments = stage.n_outputs, stage.n_segments

    def with_references(self, systems: Sequence[str]) -> StagedImport:
        """Return the import with the outputs of these systems as additional references. Raises `UserError` if one has no texts."""
        query = f"SELECT DISTINCT code % {self.stage.SYSTEMS} FROM outputs WHERE TRIM(text) <> ''"
        with_text = {self.stage.split(code)[1] for (code,) in self.stage.query(query)}
        for system in systems:
            if system not in with_text:
                raise without_text(system)
        return StagedImport(self.stage, self.metrics, self._known, self._notes, self.holds_means, systems)

    @property
    def n_rows(self) -> int:
        counts = ("SELECT COUNT(*) FROM scores", "SELECT SUM(n_refs) FROM segments")
        return self.n_outputs + self.stage.n_segments + sum(map(self._number, counts))

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems in the order of their first output."""
        return tuple(self.counts().systems)

    def _number(self, query: str) -> int:
        ((n,),) = self.stage.query(query)
        return n or 0

    def has_scores(self) -> bool:
        return bool(self._number("SELECT EXISTS(SELECT 1 FROM scores WHERE value IS NOT NULL)"))

    def n_human_scores(self) -> int:
        return self._number("SELECT COUNT(*) FROM scores WHERE kind < 0")

    def n_metric_scores(self) -> int:
        """Return the number of external scores that are not missing."""
        return self._number("SELECT COUNT(*) FROM scores WHERE kind >= 0 AND value IS NOT NULL")

    def counts(self) -> DatasetCounts:
        """Return the counts of the texts; systems are in the order of their first output in segment order."""
        by_code = (
            f"SELECT code % {self.stage.SYSTEMS}, COUNT(*), MIN(code / {self.stage.SYSTEMS}) FROM outputs GROUP BY 1"
        )
        by_system = [(self.stage.split(system)[1], n, first) for system, n, first in self.stage.query(by_code)]
        by_system.sort(key=lambda row: (row[2], self.stage.ranks[row[0]]))
        query = "SELECT MIN(n_refs), MAX(n_refs), SUM(n_refs = 0), SUM(source IS NULL) FROM segments"
        ((fewest, most, no_reference, no_source),) = self.stage.query(query)
        kinds = self.stage.query("SELECT kind FROM scores WHERE kind < 0 GROUP BY kind ORDER BY MIN(id)")
        if self.as_references:
            sizes = Counter(len(segment.references) for part in self.parts() for segment in part.texts.segments)
            fewest, most, no_reference = min(sizes, default=0), max(sizes, default=0), sizes[0]
        return DatasetCounts(
            self.stage.n_segments, (fewest or 0, most or 0), (no_reference or 0, no_source or 0),
            {system: n for system, n, _ in by_system},
            self._number("SELECT COUNT(*) FROM outputs WHERE text = ''"), tuple(self._name(kind) for (kind,) in kinds),
        )  # fmt: skip

    def notes(self) -> tuple[str, ...]:
        """Return notes on the import that are not problems."""
        missing = []
        for number, metric in enumerate(self.metrics):
            empty = f"FROM scores WHERE value IS NULL AND kind = {number}"
            without = sum(1 for _ in self._without_output(self.stage.query(f"SELECT code, kind, file, line {empty}")))
            if n := self._number(f"SELECT COUNT(*) {empty}") - without:
                missing.append(f"{metric.name}: {format_count(n, 'output')} without a score.")
        return (*(notes_on(self.counts()) if self.n_outputs else ()), *self._notes, *missing)

    def documents(self) -> set[str]:
        return {doc for (doc,) in self.stage.query("SELECT DISTINCT doc FROM segments")}

    def check_segments(self, problems: Collector) -> None:
        """Add a problem for each segment with references that the project does not have."""
        known = self._known.segments() if self._known else ()
        query = "SELECT doc, segment, refs_file, refs_line FROM segments WHERE n_refs > 0 ORDER BY id"
        for doc, name, file, line in self.stage.query(query):
            if (key := SegmentKey(doc, name)) not in known:
                place, got = self.stage.place(file, line), f"{shown_segment(key)}, which the project does not have"
                todo = "Give the segments the IDs of the project, or choose another project"
                problems.add(place.file, place.line, "", got, "a segment of the project", todo)

    def without_output(self) -> Iterator[tuple[OutputKey, str, FilePlace]]:
        """Yield the scores whose output is neither in the files nor known: its key, the name of the score, and its place."""
        query = (
            "SELECT s.code, s.kind, s.file, s.line FROM scores s LEFT JOIN outputs o ON o.code = s.code "
            "WHERE o.code IS NULL AND s.value IS NOT NULL ORDER BY MAX(s.kind, -1), s.id"
        )
        return self._without_output(self.stage.query(query))

    def _without_output(self, rows: Iterator[tuple[int, int, int, int]]) -> Iterator[tuple[OutputKey, str, FilePlace]]:
        for some in batched(rows, AT_ONCE):
            keys = self.stage.keys([row[0] for row in some])
            with_output = self._present(list(keys.values()))
            for code, kind, file, line in some:
                if keys[code] not in with_output:
                    yield keys[code], self._name(kind), self.stage.place(file, line)

    def _name(self, kind: int) -> str:
        """Return the name of a kind of scores (`Stage.scores`)."""
        return self.metrics[kind].name if kind >= 0 else self.stage.human_names[-1 - kind]

    def _present(self, keys: Collection[OutputKey]) -> set[OutputKey]:
        ours = self.stage.present(keys)
        return ours | (self._known.present([key for key in keys if key not in ours]) if self._known else set())

    def parts(self, rows: Callable[[], int] = lambda: AT_ONCE) -> Iterator[ImportPart]:
        """Yield the segments with their outputs and scores, in the order of the import."""
        outputs = _Rows(self.stage, "SELECT code, text FROM outputs ORDER BY code")
        scores = _Rows(self.stage, "SELECT code, kind, value, file, line FROM scores ORDER BY code, id")
        part, target_rows, n, characters = _Part(len(self.metrics)), rows(), 0, 0
        for number, doc, name, source, references in self.stage.query(
            "SELECT id, doc, segment, source, refs FROM segments ORDER BY id"
        ):
            segment = Segment(doc, name, source, tuple(json.loads(references)))
            of_segment = outputs.of(number)
            scores_of_segment = scores.of(number)
            n += 1 + len(of_segment) + len(segment.references) + len(scores_of_segment)
            characters += len(source or "") + len(references) + sum(len(row[1]) for _, row in of_segment)
            part.segments.append(segment)
            of_segment.sort(key=lambda row: self.stage.ranks[row[0]])
            part.outputs += [Output(system, doc, name, row[1]) for system, row in of_segment]
            ranks = {system: rank for rank, (system, _) in enumerate(of_segment)}
            human = [row for row in scores_of_segment if row[1][1] < 0]
            human.sort(key=lambda row: ranks.get(row[0], math.inf))
            part.scores += [HumanScore(system, doc, name, self._name(row[1]), row[2]) for system, row in human]
            for system, (_, kind, value, file, line) in scores_of_segment:
                if kind < 0:
                    continue
                key = OutputKey(system, doc, name)
                if value is None and system not in ranks:
                    part.doubtful[key].append(kind)
                missing = None if value is not None else no_score(self.stage.place(file, line).file)
                part.external[kind][key] = missing or Value(value)
            if n >= target_rows or characters >= CHARACTERS:
                yield part.done(self._known, self.as_references)
                part, target_rows, n, characters = _Part(len(self.metrics)), rows(), 0, 0
        if part.segments:
            yield part.done(self._known, self.as_references)

    def n_scored(self) -> int:
        """Return the number of outputs with a human or an external score."""
        return self._number("SELECT COUNT(DISTINCT code) FROM scores")

    def beginning(self, rows: int) -> tuple[Dataset, tuple[ExternalScores, ...]]:
        """Return the first part, of about so many rows."""
        part = next(self.parts(lambda: rows), ImportPart(Dataset((), ()), ({},) * len(self.metrics)))
        with_metrics = zip(self.metrics, part.external, strict=True)
        return part.texts, tuple(ExternalScores(*metric, values) for metric, values in with_metrics)

    def sample(self, outputs: int = AT_ONCE) -> Dataset:
        """Return about so many outputs with their segments, spread over the import; all if there are not more."""
        if self.n_outputs <= outputs:
            return self.dataset()
        chosen = _Part(0)
        for number in range(1, self.stage.n_segments + 1, max(1, self.n_outputs // outputs)):
            ((doc, name, source, references),) = self.stage.query(
                "SELECT doc, segment, source, refs FROM segments WHERE id = ?", number
            )
            chosen.segments.append(Segment(doc, name, source, tuple(json.loads(references))))
            first = number * self.stage.SYSTEMS
            rows = self.stage.query(
                "SELECT code, text FROM outputs WHERE code BETWEEN ? AND ?", first, first + self.stage.SYSTEMS - 1
            )
            chosen.outputs += [Output(self.stage.split(code)[1], doc, name, text) for code, text in rows]
        return chosen.done(None, ()).texts

    def dataset(self) -> Dataset:
        """Return all of the import in memory, without external scores."""
        parts = [part.texts for part in self.parts()]
        return Dataset(
            tuple(s for part in parts for s in part.segments),
            tuple(o for part in parts for o in part.outputs),
            tuple(h for part in parts for h in part.human_scores),
        )

    def external(self) -> tuple[ExternalScores, ...]:
        """Return all external scores in memory."""
        values: tuple[dict[OutputKey, Value], ...] = tuple({} for _ in self.metrics)
        for part in self.parts() if self.metrics else ():
            for whole, some in zip(values, part.external, strict=True):
                whole.update(some)
        return tuple(ExternalScores(*metric, scores) for metric, scores in zip(self.metrics, values, strict=True))


class _Part:
    """A part that is being collected. `doubtful` are missing scores, which are left out where there is no output."""

    def __init__(self, metrics: int) -> None:
        self.segments, self.outputs, self.scores = list[Segment](), list[Output](), list[HumanScore]()
        self.external: tuple[dict[OutputKey, Value], ...] = tuple({} for _ in range(metrics))
        self.doubtful: dict[OutputKey, list[int]] = defaultdict(list)

    def done(self, known: KnownOutputs | None, as_references: Sequence[str]) -> ImportPart:
        with_output = known.present(self.doubtful.keys()) if known and self.doubtful else set()
        for key, metrics in self.doubtful.items():
            for metric in metrics if key not in with_output else ():
                del self.external[metric][key]
        texts = Dataset(tuple(self.segments), tuple(self.outputs), tuple(self.scores))
        return ImportPart(with_references(texts, as_references), self.external)


def with_references(dataset: Dataset, systems: Sequence[str]) -> Dataset:
    """Return the dataset with the outputs of these systems, if they have text, as additional references."""
    if not systems:
        return dataset
    written = grouped((o.key.segment, o) for o in dataset.outputs if o.system in systems and o.text.strip())

    def with_more(segment: Segment) -> Segment:
        more = sorted(written.get(segment.key, ()), key=lambda output: systems.index(output.system))
        return replace(segment, references=tuple(dict.fromkeys((*segment.references, *(o.text for o in more)))))

    return replace(dataset, segments=tuple(map(with_more, dataset.segments)))


def without_text(system: str) -> UserError:
    return UserError("this system has no outputs with text", where=f"system “{system}”", hint="Choose another")
