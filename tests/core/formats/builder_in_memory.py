"""A plain builder that holds everything in dictionaries, with which `core.formats.build` is compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from statistics import fmean

from core.data import Dataset, ExternalScores, HumanScore, Output, OutputKey, Segment, SegmentKey, SourceFile, Value
from core.formats.external import no_score
from core.formats.files import base_name
from core.formats.mapping import ColumnMapping, MetricColumn
from core.formats.metric_columns import named, number_in, other_score
from core.formats.notes import notes_on
from core.formats.parsing.cells import Cell, FilePlace, FileTable, TableRow
from core.formats.parsing.limits import limits, too_much
from core.formats.parsing.numbers import is_absent
from core.formats.problems import Collector, counted, shown
from core.formats.reader import CellReader


class MetricsInMemory:
    """Collect the score cells of one or several tables. Problems are added to `problems`, not raised."""

    def __init__(self, problems: Collector) -> None:
        self.problems = problems
        self._columns: dict[str, tuple[MetricColumn, str]] = {}
        self._files: dict[str, dict[SourceFile, None]] = {}
        self._given: dict[str, dict[OutputKey, tuple[Value, FilePlace]]] = {}

    def column(self, file: str, metric: MetricColumn, digest: str) -> None:
        """Add a column: a metric has one column per table, and the same direction in all tables."""
        first, where = self._columns.setdefault(metric.name, (metric, file))
        self._files.setdefault(metric.name, {})[SourceFile(base_name(file), digest, metric.column)] = None
        self._given.setdefault(metric.name, {})
        if where == file and first.column != metric.column:
            found = f"a second metric named {shown(metric.name)}"
            expected = f"one metric of this name; {first.column} has it"
            self.problems.add(file, 1, metric.column, found, expected, "Give the two metrics different names")
        elif first.higher_is_better != metric.higher_is_better:
            found = f"another direction of {shown(metric.name)} than in {where}"
            self.problems.add(file, 1, metric.column, found, "one direction per metric", "Choose the same for both")

    def score(self, here: FilePlace, key: OutputKey, metric: MetricColumn, text: str | None) -> None:
        """Add a cell; an empty cell becomes a missing score with a reason."""
        given = self._given[metric.name]
        if text is None or is_absent(text):
            given.setdefault(key, (no_score(here.file), here))
            return
        value = number_in(text, here, metric.column, self.problems)
        if value is None:
            return
        old, at = given.get(key, (None, here))
        if old is None or old.value is None:
            given[key] = Value(value), here
        elif old.value != value:
            other_score(key, metric.column, value, here, old.value, at, self.problems)

    def places(self) -> list[tuple[OutputKey, str, FilePlace]]:
        found = ((name, item) for name, given in self._given.items() for item in given.items())
        return [(key, name, place) for name, (key, (value, place)) in found if value.value is not None]

    def done(self, outputs: Collection[OutputKey]) -> tuple[ExternalScores, ...]:
        """Return the metrics with their values on these outputs."""
        return tuple(
            ExternalScores(
                name, metric.higher_is_better, tuple(self._files[name]),
                {key: value for key, (value, _) in self._given[name].items() if key in outputs},
            )
            for name, (metric, _) in self._columns.items()
        )  # fmt: skip


@dataclass(slots=True)
class _Segment:
    source: str | None
    source_at: FilePlace
    references: tuple[str, ...]
    references_at: FilePlace


def _texts(reader: CellReader, row: TableRow, mapping: ColumnMapping) -> tuple[Cell, ...]:
    return tuple(reader.cell(row, column) for column in (mapping.source, *mapping.references))


class BuilderInMemory:
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
        self._metrics = MetricsInMemory(self.problems)
        self._counts: dict[tuple[str, str, str], int] = {}
        self._notes: list[str] = []
        self.holds_means = False  # human scores that are means of several ratings

    @property
    def holds_outputs(self) -> bool:
        return bool(self._outputs)

    def add(self, table: FileTable, mapping: ColumnMapping, digest: str = "") -> None:
        """Add a table; `digest` is the SHA-256 of its file. Problems are collected."""
        if not self._mapping_fits(table, mapping):
            return
        for metric in mapping.metrics:
            self._metrics.column(table.name, metric, digest)
        reader, long = CellReader(table, self.problems), mapping.layout == "long"
        outputs = [c for c in ([mapping.output] if long else mapping.systems) if c is not None]
        first: dict[OutputKey, int] = {}
        ratings: dict[tuple[OutputKey, str], tuple[list[float], FilePlace]] = {}
        again = absent = rated_again = 0
        for row, key in self._keys(reader, mapping):
            if key in first and self._rates_again(reader, row, key, mapping):
                rated_again += 1
                self._segment(reader, row, key.segment, mapping)
                self._ratings(reader, row, key, mapping, ratings)
                continue
            if key in first:
                what = ", ".join(filter(None, (key.system, f"segment {named(key.segment)}")))
                todo = "Remove one of the two rows, or map the column that distinguishes them"
                reader.problem(row, "", f"{what} again, as in line {first[key]}", "each key once", todo)
                continue
            first[key] = row.line
            self._segment(reader, row, key.segment, mapping)
            for column in outputs:
                text = reader.text(row, column)
                absent += long and text is None
                output = key if long else OutputKey(column, key.doc_id, key.segment_id)
                again += text is not None and self._output(reader, row, output, text, column)
            self._ratings(reader, row, key, mapping, ratings)
            for metric in mapping.metrics if long else ():
                self._metrics.score(reader.place(row), key, metric, reader.text(row, metric.column))
        for (key, column), (values, place) in ratings.items():
            self._score(key, column, fmean(values) if len(values) > 1 else values[0], place)
        if rated_again:
            self.holds_means = True
            self._notes.append(
                f"{table.name}: outputs are rated several times ({counted(rated_again, 'further row')}); the mean of each output is "
                "imported. If the file has a column with the annotator, “Import labels” keeps the annotators apart."
            )
        if absent:
            self._notes.append(f"{table.name}: {counted(absent, 'row')} without an output.")
        if again:
            self._notes.append(f"{table.name}: {counted(again, 'output')} already in another file, with the same text.")

    def _mapping_fits(self, table: FileTable, mapping: ColumnMapping) -> bool:
        long = mapping.layout == "long"
        have = f"the columns {', '.join(table.columns)}"
        missing = [c for c in dict.fromkeys(mapping.columns()) if c not in table.columns]
        faults = [(c, have, f"a column {c}", "Map another column") for c in missing]
        faults += [(c, "the column in two roles", "one role per column", "Map another column") for c in mapping.twice()]
        if long and mapping.output is None and not mapping.scores_only:
            faults.append(("", have, "a column with outputs", "Say which column holds them"))
        if not long and not (mapping.systems or mapping.references or mapping.source):
            faults.append(("", have, "a column for each system", "Say which columns hold outputs"))
        if long and mapping.system is None and not mapping.system_name:
            faults.append(("", "no system", "a column with systems, or one name", "Name the system"))
        for fault in faults:
            self.problems.add(table.name, 1, *fault)
        return not faults

    def _keys(self, reader: CellReader, mapping: ColumnMapping) -> Iterator[tuple[TableRow, OutputKey]]:
        """Yield each row with its key (system "" in the wide layout); rows with an incomplete key are problems."""
        long = mapping.layout == "long"
        by_text = self._ids_of_rated_texts(reader, mapping)
        for row in reader.table.each():
            document = reader.text(row, mapping.document) or ""
            system = mapping.system_name if long else ""
            if long and mapping.system is not None:
                system = reader.needed(row, mapping.system, "the name of a system")
                if not system:
                    continue
            if mapping.segment is not None:
                segment = reader.needed(row, mapping.segment, "a segment id")
            elif by_text:
                segment = by_text[_texts(reader, row, mapping)]
            else:
                place = (reader.file, system, document)
                self._counts[place] = n = self._counts.get(place, 0) + 1
                segment = str(n)
            if segment:
                yield row, OutputKey(system, document, segment)

    def _ids_of_rated_texts(self, reader: CellReader, mapping: ColumnMapping) -> dict[tuple[Cell, ...], str]:
        """Return a number for each source with its references if rows have no IDs and every output stands in several rows, which
        therefore are several ratings of it; otherwise nothing, and rows are matched by their order."""
        identified = mapping.segment or mapping.document or not (mapping.source or mapping.references)
        if mapping.layout == "wide" or mapping.output is None or not mapping.human_scores or identified:
            return {}
        texts = [_texts(reader, row, mapping) for row in reader.table.each()]
        outputs = [(reader.cell(row, mapping.system), reader.cell(row, mapping.output)) for row in reader.table.each()]
        if min(Counter(zip(texts, outputs, strict=True)).values(), default=0) < 2:
            return {}
        return {text: str(i) for i, text in enumerate(dict.fromkeys(texts), start=1)}

    def _check_counts(self) -> None:
        """Check that every system has the same number of rows: without segment ids rows are matched by order."""
        longest: dict[str, tuple[int, str]] = {}
        for (file, system, document), n in self._counts.items():
            if n > longest.get(document, (0, ""))[0]:
                longest[document] = (n, system or file)
        for (file, system, document), n in self._counts.items():
            most, other = longest[document]
            if n != most:
                of, where = f" of {system}" if system else "", f" in document {document}" if document else ""
                todo = "Rows without segment ids are matched by order: add ids, or add the missing rows"
                self.problems.add(file, 0, "", counted(n, "row") + of + where, f"{most}, as {other} has", todo)

    def _segment(self, reader: CellReader, row: TableRow, key: SegmentKey, mapping: ColumnMapping) -> None:
        here = reader.place(row)
        source = reader.text(row, mapping.source) or None
        references = reader.references(row, mapping.references)
        old = self._segments.setdefault(key, _Segment(source, here, references, here))
        if old.source is None:
            old.source, old.source_at = source, here
        elif source is not None and source != old.source:
            what = (
                f"another source for segment {named(key)} than in {old.source_at.seen_from(here.file)}: {shown(source)}"
            )
            todo = "A segment has one source: correct it, or give the segments different ids"
            reader.problem(row, mapping.source or "", what, shown(old.source), todo)
        new, before, same_file = set(references), set(old.references), old.references_at.file == here.file
        if new > before and not (before and same_file):
            old.references, old.references_at = references, here
        elif not new <= before or (same_file and references and references != old.references):
            where = old.references_at.seen_from(here.file)
            what = f"other references for segment {named(key)} than in {where}: {shown(' · '.join(references))}"
            todo = "The rows of a segment share its references: correct them, or give the segments different ids"
            reader.problem(row, ", ".join(mapping.references), what, shown(" · ".join(old.references)), todo)

    def _output(self, reader: CellReader, row: TableRow, key: OutputKey, text: str, column: str) -> bool:
        """Add an output; return True if another table already has it with the same text."""
        if key not in self._outputs:
            if len(self._outputs) >= self._most:
                raise too_much(reader.file, row.line, "rows", self._most)
            self._outputs[key] = (text, reader.place(row))
            return False
        before, place = self._outputs[key]
        if before != text:
            where = place.seen_from(reader.file)
            what = f"another output of {key.system} for segment {named(key.segment)} than in {where}: {shown(text)}"
            todo = "Give the systems different names, or remove one of the two"
            reader.problem(row, column, what, shown(before), todo)
        return before == text

    def _rates_again(self, reader: CellReader, row: TableRow, key: OutputKey, mapping: ColumnMapping) -> bool:
        """Return whether a row repeats a key with the same output, so that it holds further ratings."""
        if mapping.layout == "wide" or mapping.output is None or not mapping.human_scores or mapping.metrics:
            return False
        there = self._outputs.get(key)
        return there is not None and there[0] == reader.cell(row, mapping.output)

    def _ratings(
        self, reader: CellReader, row: TableRow, key: OutputKey, mapping: ColumnMapping,
        ratings: dict[tuple[OutputKey, str], tuple[list[float], FilePlace]],
    ) -> None:  # fmt: skip
        here = reader.place(row)
        for column in mapping.human_scores if mapping.layout == "long" else ():
            text = reader.text(row, column)
            if text is None or is_absent(text):
                continue
            value = number_in(text, here, column, self.problems)
            if value is not None:
                ratings.setdefault((key, column), ([], here))[0].append(value)

    def _score(self, key: OutputKey, column: str, value: float, place: FilePlace) -> None:
        old = self._scores.setdefault((key, column), (value, place))
        if old[0] != value:
            other_score(key, column, value, place, *old, self.problems)

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
