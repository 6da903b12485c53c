"""Build one dataset from tables: keys must be unique, and repeated texts must agree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from core.data import Dataset, ExternalScores, HumanScore, Output, OutputKey, Segment, SegmentKey
from core.formats.mapping import ColumnMapping
from core.formats.metric_columns import MetricScores, named, number_in, other_score
from core.formats.notes import notes_on
from core.formats.parsing.cells import FilePlace, FileTable, TableRow
from core.formats.parsing.limits import limits, too_much
from core.formats.parsing.numbers import is_absent
from core.formats.problems import Collector, counted, shown
from core.formats.reader import CellReader


@dataclass(slots=True)
class _Segment:
    source: str | None
    source_at: FilePlace
    references: tuple[str, ...]
    references_at: FilePlace


class Builder:
    """Collect tables and build one dataset, or report every problem. `add` raises `ImportProblems` for more outputs than the row limit.

    A key occurs once per table. Tables may repeat a text under the same key, but different texts under one key are a problem; a table
    may have fewer references of a segment than another. Scores may belong to the outputs of `known` instead of those in the tables.
    """

    def __init__(self, known: Dataset | None = None) -> None:
        self.problems, self._most = Collector(), limits().rows
        self._known = {o.key for o in known.outputs} if known else set[OutputKey]()
        self._known_systems = known.systems if known else ()
        self._segments: dict[SegmentKey, _Segment] = {}
        self._outputs: dict[OutputKey, tuple[str, FilePlace]] = {}
        self._scores: dict[tuple[OutputKey, str], tuple[float, FilePlace]] = {}
        self._metrics = MetricScores(self.problems)
        self._counts: dict[tuple[str, str, str], int] = {}
        self._notes: list[str] = []

    @property
    def holds_outputs(self) -> bool:
        return bool(self._outputs)

    def add(self, table: FileTable, mapping: ColumnMapping, digest: str = "") -> None:
        """Add a table; `digest` is the SHA-256 of its file. Problems are collected."""
        if not self._mapping_fits(table, mapping):
            return
        for metric in mapping.metrics:
            self._metrics.column(table.name, metric, digest)
        reader = CellReader(table, self.problems)
        again = (
            self._add_long(table, mapping, reader)
            if mapping.layout == "long"
            else self._add_wide(table, mapping, reader)
        )
        if again:
            self._notes.append(f"{table.name}: {counted(again, 'output')} already in another file, with the same text.")
        if unused := [c for c in table.columns if c not in mapping.columns()]:
            self._notes.append(f"{table.name}: not used: {', '.join(unused)}.")

    def _mapping_fits(self, table: FileTable, mapping: ColumnMapping) -> bool:
        before = self.problems.total
        have = ", ".join(table.columns)
        for column in dict.fromkeys(mapping.columns()):
            if column not in table.columns:
                self.problems.add(
                    table.name, 1, column, f"the columns {have}", f"a column {column}", "Map another column"
                )
        for column in mapping.twice():
            self.problems.add(
                table.name, 1, column, "the column in two roles", "one role per column", "Map another column"
            )
        if mapping.layout == "long" and mapping.output is None and not mapping.scores_only:
            self.problems.add(
                table.name, 1, "", f"the columns {have}", "a column with outputs", "Say which column holds them"
            )
        if mapping.layout == "wide" and not (mapping.systems or mapping.references or mapping.source):
            self.problems.add(
                table.name, 1, "", f"the columns {have}", "a column for each system", "Say which columns hold outputs"
            )
        if mapping.layout == "long" and mapping.system is None and not mapping.system_name:
            self.problems.add(table.name, 1, "", "no system", "a column with systems, or one name", "Name the system")
        return self.problems.total == before

    def _keys(
        self, table: FileTable, mapping: ColumnMapping, reader: CellReader
    ) -> Iterator[tuple[TableRow, OutputKey]]:
        """Yield each row with its key (system "" in the wide layout); rows with an incomplete key are problems."""
        long = mapping.layout == "long"
        for row in table.rows:
            document = reader.text(row, mapping.document) or ""
            system: str | None = mapping.system_name if long else ""
            if long and mapping.system is not None:
                system = reader.text(row, mapping.system)
                if not system:
                    self._missing(table, row, mapping.system, "the name of a system")
                    continue
            segment = reader.text(row, mapping.segment)
            if mapping.segment is None:
                place = (table.name, system or "", document)
                self._counts[place] = n = self._counts.get(place, 0) + 1
                segment = str(n)
            elif not segment:
                self._missing(table, row, mapping.segment, "a segment id")
                continue
            yield row, OutputKey(system or "", document, segment or "")

    def _missing(self, table: FileTable, row: TableRow, column: str, expected: str) -> None:
        self.problems.add(table.name, row.line, column, "nothing", expected, "Fill it in, or remove the row")

    def _check_counts(self) -> None:
        """Check that every system has the same number of rows: without segment ids rows are matched by order."""
        longest: dict[str, tuple[int, str]] = {}
        for (file, system, document), n in self._counts.items():
            if n > longest.get(document, (0, ""))[0]:
                longest[document] = (n, system or file)
        for (file, system, document), n in self._counts.items():
            most, other = longest[document]
            if n != most:
                found = (
                    counted(n, "row")
                    + (f" of {system}" if system else "")
                    + (f" in document {document}" if document else "")
                )
                todo = "Rows without segment ids are matched by order: add ids, or add the missing rows"
                self.problems.add(file, 0, "", found, f"{most}, as {other} has", todo)

    def _add_long(self, table: FileTable, mapping: ColumnMapping, reader: CellReader) -> int:
        first: dict[OutputKey, int] = {}
        again = absent = 0
        for row, key in self._keys(table, mapping, reader):
            if key in first:
                self._twice(table, row, first[key], f"{key.system}, segment {named(key.segment)}")
                continue
            first[key] = row.line
            self._segment(table, row, key.segment, mapping, reader)
            if mapping.output is not None:
                text = reader.text(row, mapping.output)
                absent += text is None
                again += text is not None and self._output(table, row, key, text, mapping.output)
            for column in mapping.human_scores:
                self._score(table, row, key, column, reader.text(row, column))
            for metric in mapping.metrics:
                self._metrics.score(FilePlace(table.name, row.line), key, metric, reader.text(row, metric.column))
        if absent:
            self._notes.append(f"{table.name}: {counted(absent, 'row')} without an output.")
        return again

    def _add_wide(self, table: FileTable, mapping: ColumnMapping, reader: CellReader) -> int:
        first: dict[SegmentKey, int] = {}
        again = 0
        for row, (_, document, segment) in self._keys(table, mapping, reader):
            key = SegmentKey(document, segment)
            if key in first:
                self._twice(table, row, first[key], f"segment {named(key)}")
                continue
            first[key] = row.line
            self._segment(table, row, key, mapping, reader)
            for system in mapping.systems:
                text = reader.text(row, system)
                again += text is not None and self._output(table, row, OutputKey(system, *key), text, system)
        return again

    def _twice(self, table: FileTable, row: TableRow, first: int, what: str) -> None:
        todo = "Remove one of the two rows, or map the column that distinguishes them"
        self.problems.add(table.name, row.line, "", f"{what} again, as in line {first}", "each key once", todo)

    def _segment(
        self, table: FileTable, row: TableRow, key: SegmentKey, mapping: ColumnMapping, reader: CellReader
    ) -> None:
        here = FilePlace(table.name, row.line)
        source = reader.text(row, mapping.source) or None
        references = reader.references(row, mapping.references)
        old = self._segments.get(key)
        if old is None:
            self._segments[key] = _Segment(source, here, references, here)
            return
        if source is not None and old.source is not None and source != old.source:
            what = f"another source for segment {named(key)} than in {old.source_at.seen_from(table.name)}: {shown(source)}"
            todo = "A segment has one source: correct it, or give the segments different ids"
            self.problems.add(table.name, row.line, mapping.source or "", what, shown(old.source), todo)
        elif source is not None and old.source is None:
            old.source, old.source_at = source, here
        if not set(references) <= set(old.references):
            grows = set(old.references) <= set(references)
            if grows and (not old.references or old.references_at.file != table.name):
                old.references, old.references_at = references, here
                return
            self._other_references(table, row, key, references, old, mapping)
        elif references and references != old.references and old.references_at.file == table.name:
            self._other_references(table, row, key, references, old, mapping)

    def _other_references(
        self,
        table: FileTable,
        row: TableRow,
        key: SegmentKey,
        new: tuple[str, ...],
        old: _Segment,
        mapping: ColumnMapping,
    ) -> None:
        where = old.references_at.seen_from(table.name)
        what = f"other references for segment {named(key)} than in {where}: {shown(' · '.join(new))}"
        todo = "The rows of a segment share its references: correct them, or give the segments different ids"
        expected = shown(" · ".join(old.references))
        self.problems.add(table.name, row.line, ", ".join(mapping.references), what, expected, todo)

    def _output(self, table: FileTable, row: TableRow, key: OutputKey, text: str, column: str) -> bool:
        """Add an output; return True if another table already has it with the same text."""
        old = self._outputs.get(key)
        if old is None:
            if len(self._outputs) >= self._most:
                raise too_much(table.name, row.line, "rows", self._most)
            self._outputs[key] = (text, FilePlace(table.name, row.line))
            return False
        if old[0] == text:
            return True
        what = f"another output of {key.system} for segment {named(key.segment)} than in {old[1].seen_from(table.name)}"
        todo = "Give the systems different names, or remove one of the two"
        self.problems.add(table.name, row.line, column, f"{what}: {shown(text)}", shown(old[0]), todo)
        return False

    def _score(self, table: FileTable, row: TableRow, key: OutputKey, column: str, text: str | None) -> None:
        if text is None or is_absent(text):
            return
        here = FilePlace(table.name, row.line)
        value = number_in(text, here, column, self.problems)
        if value is None:
            return
        old = self._scores.setdefault((key, column), (value, here))
        if old[0] != value:
            other_score(key, column, value, here, *old, self.problems)

    def dataset(self) -> Dataset:
        """Return the dataset: segments in the order of the files, outputs in segment order. Raises `ImportProblems`."""
        self._check_counts()
        scored = [(key, name, place) for (key, name), (_, place) in self._scores.items()]
        scored += self._metrics.places()
        strangers: dict[str, FilePlace] = {}
        for key, name, place in scored:
            if key in self._outputs or key in self._known:
                continue
            if self._known_systems and key.system not in self._known_systems:
                strangers.setdefault(key.system, place)
                continue
            what = f"a score of {key.system} for segment {named(key.segment)}, which has no output"
            self.problems.add(
                place.file, place.line, name, what, "an output", "Upload the output as well, or remove the score"
            )
        for system, place in strangers.items():
            expected = ", ".join(map(shown, self._known_systems))
            todo = "Give the systems the same names in both, or choose other outputs"
            self.problems.add(place.file, place.line, "", f"a system named {shown(system)}", expected, todo)
        if not self._outputs and not (self._known and scored) and not self.problems:
            self.problems.add(
                "", 0, "", "no outputs", "the outputs of at least one system", "Say which columns hold outputs"
            )
        self.problems.check()
        systems = {name: i for i, name in enumerate(dict.fromkeys(k.system for k in self._outputs))}
        order = {key: i for i, key in enumerate(self._segments)}
        rank = {key: (order[key.segment], systems[key.system]) for key in self._outputs}
        outputs = sorted(self._outputs, key=rank.__getitem__)
        last = (len(order), 0)
        scores = sorted(self._scores, key=lambda pair: rank.get(pair[0], last))
        return Dataset(
            tuple(Segment(*key, s.source, s.references) for key, s in self._segments.items()),
            tuple(Output(*key, self._outputs[key][0]) for key in outputs),
            tuple(HumanScore(*key, name, self._scores[key, name][0]) for key, name in scores),
        )

    def external(self) -> tuple[ExternalScores, ...]:
        """Return the external scores; call it after `dataset` found no problem."""
        return self._metrics.done(self._outputs.keys() | self._known)

    def notes(self, dataset: Dataset) -> tuple[str, ...]:
        """Return notes on the import that are not problems."""
        missing = (
            f"{scores.name}: {counted(n, 'output')} without a score."
            for scores in self.external()
            if (n := sum(value.value is None for value in scores.values.values()))
        )
        return (*(notes_on(dataset) if dataset.outputs else ()), *self._notes, *missing)
