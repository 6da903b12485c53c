"""Build one import from tables: keys must be unique, and repeated texts must agree."""

from __future__ import annotations

from collections.abc import Iterator

from core.data import Dataset, OutputKey
from core.errors import Problem
from core.formats.external import MetricScores, named, number_in, other_score
from core.formats.mapping import ColumnMapping, MetricColumn
from core.formats.parsing.cells import (
    CellReader,
    FilePlace,
    FileTable,
    Meter,
    TableRow,
    characters_in,
    too_much,
)
from core.formats.parsing.numbers import is_absent
from core.formats.problems import Collector, OddTexts, shown
from core.formats.streams.row_numbers import RatedTexts, RowCounts, texts_of
from core.formats.streams.stage import Stage, StagedSegment
from core.formats.streams.staged import KnownOutputs, KnownTexts, StagedImport
from core.formatting import format_count
from core.progress import Progress, no_progress
from core.settings import load_limits
from core.stats.means import decimal_mean

ROWS = 2000
CELLS = 20_000
CHARACTERS = 2_000_000
"""Most rows, cells and characters of a batch, which is checked in memory."""


_KeyedRow = tuple[TableRow, OutputKey | None, tuple[Problem, ...]]
"""A row, its key, and the problems of its key, which is None if it is incomplete."""


class Builder:
    """Collect tables and build one import, or report every problem. `add` raises `ImportProblems` for more outputs than the row limit.

    A key occurs once per table. Tables may repeat a text under the same key, but different texts under one key are a problem; a table
    may have fewer references of a segment than another. Scores may belong to the outputs of `known` instead of those in the tables.

    Rows are checked in batches against a `Stage` on disk, so that memory does not grow with the tables.
    """

    def __init__(self, known: Dataset | KnownOutputs | None = None) -> None:
        self.problems, self._most, self.stage = Collector(), load_limits().rows, Stage()
        self._known = KnownTexts(known) if isinstance(known, Dataset) else known
        self._metrics = MetricScores(self.problems, self.stage)
        self._counts = RowCounts(self.stage)
        self._notes: list[str] = []
        self._n_new = 0
        self._systems = set[str]()
        self._odd, self._of_systems = OddTexts(), False
        self._references_only = False
        self._stopped = False  # a table was not read to its end
        self.holds_means = False  # human scores that are means of several ratings

    @property
    def holds_outputs(self) -> bool:
        return bool(self._n_new)

    def add(
        self, table: FileTable, mapping: ColumnMapping, progress: Progress = no_progress
    ) -> None:  # fmt: skip
        """Add a table. Problems are collected.

        `progress` is called with the share of the rows, then of the human scores that have been averaged. Raises `ImportProblems` for
        exceeded limits; the stage is dropped then.
        """
        if not self._mapping_fits(table, mapping):
            return
        self._references_only |= mapping.references_only
        for metric in mapping.external():
            self._metrics.column(table.name, metric, table.sha256)
        try:
            self._add_rows(table, mapping, progress)
        except BaseException:
            self._stopped = True
            self.stage.drop()
            self.stage.end_table()
            raise

    def _add_rows(self, table: FileTable, mapping: ColumnMapping, progress: Progress) -> None:
        reader, long = CellReader(table, self.problems), mapping.layout == "long"
        outputs = [c for c in ([mapping.output] if long else mapping.systems) if c is not None]
        metrics = [("", metric, self._metrics.number(metric)) for metric in mapping.metrics if long]
        for score in mapping.system_scores if not long else ():
            if score.higher_is_better is not None:
                metric = MetricColumn(score.column, score.name, score.higher_is_better)
                metrics.append((score.system, metric, self._metrics.number(metric)))
        stage, again, absent, rated_again, done = self.stage, 0, 0, 0, 0
        self._odd = OddTexts()
        meter = Meter(table.name)
        for batch in self._batches(table, mapping):
            keys = [key for _, key, _ in batch if key is not None]
            self._systems.update((key.system for key in keys) if long else outputs)
            meter.systems(len(self._systems), mapping.system or "")
            of_outputs = keys if long else [OutputKey(c, *k.segment) for k in keys for c in outputs]
            stage.load(keys, of_outputs)
            if metrics:
                stage.load_scores(of_outputs, metrics=True)
            for row, key, problems in batch:
                if problems:
                    self.problems.extend(problems)
                if key is None:
                    continue
                if key in stage.first and self._rates_again(reader, row, key, mapping):
                    rated_again += 1
                    self._segment(reader, row, key, mapping)
                    self._ratings(reader, row, key, mapping)
                    continue
                if key in stage.first:
                    what = ", ".join(filter(None, (key.system, f"segment {named(key.segment)}")))
                    todo = "Remove one of the two rows, or map the column that distinguishes them"
                    got = f"{what} again, as in line {stage.first[key]}"
                    reader.problem(row, "", got, "each key once", todo)
                    continue
                stage.first[key] = row.line
                self._segment(reader, row, key, mapping)
                for column in outputs:
                    text = reader.text(row, column)
                    absent += long and text is None
                    output = key if long else OutputKey(column, key.doc_id, key.segment_id)
                    again += text is not None and self._output(reader, row, output, text, column)
                self._ratings(reader, row, key, mapping)
                for system, metric, number in metrics:
                    output = OutputKey(system, *key.segment) if system else key
                    self._metrics.score(reader.place(row), output, metric, number, reader.text(row, metric.column))
            stage.keep()
            done += len(batch)
            progress(done / max(1, len(table.rows)) / 2)
        self._means(reader.file, progress, one_each=not rated_again)
        stage.end_table()
        if rated_again:
            self.holds_means = True
            self._notes.append(
                f"{table.name}: outputs are rated several times ({format_count(rated_again, 'further row')}); the mean of each output is "
                "imported. If the file has a column with the annotator, “Import labels” keeps the annotators apart."
            )
        if absent:
            self._notes.append(f"{table.name}: {format_count(absent, 'row')} without an output.")
        self._notes += self._odd.notes(table.name)
        if mapping.scores_only and mapping.segment is None and self._counts.one_each(table.name):
            todo = "Scores of whole systems cannot be imported. Write one row per output, with the ID of its segment"
            self.problems.add(table.name, 0, "", "one row per system, without segment IDs", "scores of outputs", todo)
            self._of_systems = True
        if again:
            self._notes.append(
                f"{table.name}: {format_count(again, 'output')} already in another file, with the same text."
            )

    def _mapping_fits(self, table: FileTable, mapping: ColumnMapping) -> bool:
        long = mapping.layout == "long"
        have = f"the columns {', '.join(table.columns)}"
        missing = [c for c in dict.fromkeys(mapping.columns()) if c not in table.columns]
        faults = [(c, have, f"a column {c}", "Map another column") for c in missing]
        faults += [(c, "the column in two roles", "one role per column", "Map another column") for c in mapping.twice()]
        if long and mapping.output is None and not mapping.scores_only:
            faults.append(("", have, "a column with outputs", "Say which column holds them"))
        if not long and not (mapping.systems or mapping.references or mapping.source):
            todo = "Say which columns hold outputs; a cell of theirs has one text"
            faults.append(("", have, "a column with outputs, or one for each system", todo))
        if long and mapping.system is None and not mapping.system_name:
            faults.append(("", "no system", "a column with systems, or one name", "Name the system"))
        faults += _system_score_faults(mapping) if not long else []
        for fault in faults:
            self.problems.add(table.name, 1, *fault)
        return not faults

    def _batches(self, table: FileTable, mapping: ColumnMapping) -> Iterator[list[_KeyedRow]]:
        batch: list[_KeyedRow] = []
        cells = characters = 0
        for keyed in self._keys(table, mapping):
            batch.append(keyed)
            cells += len(keyed[0].cells)
            characters += characters_in(keyed[0].cells)
            if len(batch) >= ROWS or cells >= CELLS or characters >= CHARACTERS:
                yield batch
                batch, cells, characters = [], 0, 0
        yield batch

    def _keys(self, table: FileTable, mapping: ColumnMapping) -> Iterator[_KeyedRow]:
        """Yield each row with its key (system "" in the wide layout)."""
        long = mapping.layout == "long"
        row_problems = Collector()
        reader = CellReader(table, row_problems)
        by_text = RatedTexts.of(self.stage, reader, table, mapping)
        for row in table.rows:
            if row_problems:
                row_problems = reader.problems = Collector()
            document = reader.text(row, mapping.document) or ""
            system = mapping.system_name if long else ""
            if long and mapping.system is not None:
                system = reader.needed(row, mapping.system, "the name of a system")
                if not system:
                    yield row, None, row_problems.closed()
                    continue
            if mapping.segment is not None:
                segment = reader.needed(row, mapping.segment, "a segment id")
            elif by_text is not None:
                segment = by_text.number(texts_of(reader, row, mapping))
            else:
                segment = str(self._counts.next(reader.file, system, document))
            key = OutputKey(system, document, segment) if segment else None
            yield row, key, row_problems.closed() if row_problems else ()

    def _segment(self, reader: CellReader, row: TableRow, output: OutputKey, mapping: ColumnMapping) -> None:
        source = reader.text(row, mapping.source) or None
        references = reader.references(row, mapping.references)
        old = self.stage.segments.get(output[1:])  # type: ignore[call-overload]  # a tuple equals its key
        if old is not None and source == old.source and references == old.references:
            return
        place, key = reader.place(row), output.segment
        if old is None:
            self.stage.segments[key] = StagedSegment(0, source, place, references, place)
            self._odd.take("sources", source or "")
            for text in references:
                self._odd.take("references", text)
            return
        if old.source is None and source is not None:
            old.source, old.source_at, old.changed = source, place, True
        elif source is not None and source != old.source:
            what = f"another source for segment {named(key)} than in {old.source_at.seen_from(place.file)}: {shown(source)}"
            todo = "A segment has one source: correct it, or give the segments different ids"
            reader.problem(row, mapping.source or "", what, shown(old.source or ""), todo)
        if references == old.references:
            return
        new, before, same_file = set(references), set(old.references), old.references_at.file == place.file
        if new > before and not (before and same_file):
            old.references, old.references_at, old.changed = references, place, True
        elif not new <= before or (same_file and references):
            where = old.references_at.seen_from(place.file)
            what = f"other references for segment {named(key)} than in {where}: {shown(' · '.join(references))}"
            todo = "The rows of a segment share its references: correct them, or give the segments different ids"
            reader.problem(row, ", ".join(mapping.references), what, shown(" · ".join(old.references)), todo)

    def _output(self, reader: CellReader, row: TableRow, key: OutputKey, text: str, column: str) -> bool:
        """Add an output; return True if another table already has it with the same text."""
        outputs = self.stage.outputs
        if key not in outputs:
            if self._n_new >= self._most:
                raise too_much(reader.file, row.line, "rows", self._most)
            self._n_new += 1
            outputs[key] = (text, reader.place(row))
            self._odd.take("outputs", text)
            return False
        before, place = outputs[key]
        if before != text:
            where = place.seen_from(reader.file)
            what = f"another output of {key.system} for segment {named(key.segment)} than in {where}: {shown(text)}"
            todo = "Give the systems different names, or remove one of the two"
            reader.problem(row, column, what, shown(before), todo)
        return before == text

    def _rates_again(self, reader: CellReader, row: TableRow, key: OutputKey, mapping: ColumnMapping) -> bool:
        """Return whether a row repeats a key with the same output, so that it holds further ratings."""
        if not mapping.human() or mapping.external():
            return False
        outputs = {OutputKey(column, *key.segment): column for column in mapping.systems}
        if mapping.layout == "long":
            outputs = {} if mapping.output is None else {key: mapping.output}
        earlier = {output: self.stage.outputs.get(output, (None,))[0] for output in outputs}
        return any(text is not None for text in earlier.values()) and all(
            earlier[output] == reader.cell(row, column) for output, column in outputs.items()
        )

    def _ratings(self, reader: CellReader, row: TableRow, key: OutputKey, mapping: ColumnMapping) -> None:
        for column, system, name, _ in mapping.human():
            place = reader.place(row)
            text = reader.text(row, column)
            if text is None or is_absent(text):
                continue
            value = number_in(text, place, column, self.problems)
            if value is not None:
                output = OutputKey(system, *key.segment) if system else key
                self.stage.ratings.append((output, name, value, row.line))

    def _means(self, file: str, progress: Progress, *, one_each: bool) -> None:
        """Add the scores of a table, whose outputs may have several ratings."""
        ((ratings,),) = self.stage.query("SELECT COUNT(*) FROM ratings")
        done = 0
        for batch in self.stage.rated(one_each=one_each, size=ROWS):
            keys = self.stage.keys([code for code, *_ in batch])
            self.stage.load_segments(keys.values())
            self.stage.load_scores(keys.values())
            for code, column, values, line in batch:
                value = decimal_mean(values)
                self._score(keys[code], column, value, FilePlace(file, line))
                done += len(values)
            self.stage.keep()
            progress((1 + done / ratings) / 2)

    def _score(self, key: OutputKey, column: str, value: float, place: FilePlace) -> None:
        old, at = self.stage.scores.setdefault((key, self.stage.human_kind(column)), (value, place))
        if old is not None and old != value:
            other_score(key, column, value, place, old, at, self.problems)

    def staged(self) -> StagedImport:
        """Return the import: segments in the order of the files, outputs in segment order. Raises `ImportProblems`."""
        if not self._stopped:
            self._counts.check(self.problems)
            self._check_ids()
        staged_import = StagedImport(self.stage, self._metrics.metrics(), self._known, self._notes, self.holds_means)
        if self._known and self._references_only:
            staged_import.check_segments(self.problems)
        scored = not self._stopped and not self._of_systems and self._check_scored(staged_import)
        belongs = self._known and (scored or self._references_only)
        if not self.holds_outputs and not belongs and not self.problems:
            self.problems.add(
                "", 0, "", "no outputs", "the outputs of at least one system", "Say which columns hold outputs"
            )
        self.problems.check()
        return staged_import

    def _check_ids(self) -> None:
        """Add a problem if IDs of segments are written in two ways, `1.0` and `1`, as pandas and spreadsheets do."""
        pairs = (
            "SELECT a.segment, b.segment, a.refs_file, a.refs_line FROM segments a JOIN segments b ON b.doc = a.doc "
            "AND b.segment = CAST(CAST(a.segment AS INTEGER) AS TEXT) WHERE b.segment <> a.segment "
            "AND (a.segment GLOB '[0-9]*.0' OR a.segment GLOB '0[0-9]*') AND a.segment NOT GLOB '*[^0-9.]*' ORDER BY a.id"
        )
        double_ids = list(self.stage.query(pairs))
        if double_ids:
            first, second, file, line = double_ids[0]
            place, what = self.stage.place(file, line), f"segment {shown(first)} beside segment {shown(second)}"
            more = f", and {format_count(len(double_ids) - 1, 'more ID')} of this kind" if len(double_ids) > 1 else ""
            todo = "Write the IDs alike in all rows (pandas writes 1.0 where an ID is missing, spreadsheets drop zeros)"
            self.problems.add(place.file, place.line, "", what + more, "each ID written in one way", todo)

    def _check_scored(self, staged_import: StagedImport) -> bool:
        """Check that every score belongs to an output; return whether there are any scores."""
        systems = self._known.systems if self._known else ()
        unknown_systems: dict[str, FilePlace] = {}
        for key, name, place in staged_import.without_output():
            if systems and key.system not in systems:
                unknown_systems.setdefault(key.system, place)
                continue
            what = f"a score of {key.system} for segment {named(key.segment)}, which has no output"
            self.problems.add(
                place.file, place.line, name, what, "an output", "Upload the output as well, or remove the score"
            )
        for system, place in unknown_systems.items():
            expected = ", ".join(map(shown, systems))
            todo = "Give the systems the same names in both, or choose other outputs"
            self.problems.add(place.file, place.line, "", f"a system named {shown(system)}", expected, todo)
        return staged_import.has_scores()


def _system_score_faults(mapping: ColumnMapping) -> list[tuple[str, str, str, str]]:
    """Return the problems of the columns with scores of one system: column, found, expected, what to do."""
    faults: list[tuple[str, str, str, str]] = []
    taken: dict[tuple[str, str, bool], str] = {}
    directions: dict[str, bool] = {}
    for column, system, name, higher in mapping.system_scores:
        if system not in mapping.systems:
            got = f"a score of {shown(system)}, whose outputs are not used"
            faults.append((column, got, "a score of a system", "Choose another role for one of the two columns"))
        if not name and higher is None:
            faults.append((column, "no name for the human score", "a name", "Type a name"))
        first = taken.setdefault((system, name, higher is None), column)
        if first != column:
            got = f"a second score {shown(name)} of {shown(system)}"
            faults.append((column, got, f"one of this name; {first} has it", "Give the two scores different names"))
        if higher is not None and directions.setdefault(name, higher) != higher:
            got = f"another direction of {shown(name)} than for other systems"
            faults.append((column, got, "one direction per metric", "Choose the same for all systems"))
    return faults
