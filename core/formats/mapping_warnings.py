"""Warnings about a column mapping that do not block the import."""

from __future__ import annotations

from collections.abc import Iterator

from core.errors import Problem
from core.formats.column_facts import (
    FACTS,
    GENERIC,
    IDS,
    OUTPUTS,
    REFERENCES,
    SYSTEMS,
    ColumnFacts,
    facts_of,
    has_name_of_a_score,
    numbers_outputs,
    role_by_words,
)
from core.formats.columns import JUDGED, guessed
from core.formats.given_roles import role_in
from core.formats.mapping import ColumnMapping
from core.formats.parsing.cells import FileTable
from core.formats.parsing.numbers import looks_like_a_number
from core.formats.problems import shown
from core.formats.role_names import is_human_name, words_of
from core.formatting import format_count

_LONG_TEXT = 40
_HUMAN = REFERENCES | {"human", "post", "postedit"}
_LANGUAGE = 2
_ROLES = {
    "document": "the document", "segment": "the segment ID", "source": "the source", "system": "a system", "output": "the output",
    "reference": "a reference", "human": "a human score", "metric": "an external score",
}  # fmt: skip


def mapping_warnings(table: FileTable, mapping: ColumnMapping) -> tuple[Problem, ...]:
    """Return warnings on a mapping, judged by the names and the first 1000 rows."""
    if len(table.rows) < 2:
        return ()
    facts = facts_of(table)
    warnings = (
        *_no_header(facts),
        *_guessed_from_cells(table, mapping),
        *_same_texts(mapping, facts),
        *_segments(mapping, facts),
        *_repeated(mapping, facts),
        *_scores(mapping, facts),
        *_systems(mapping, facts),
        *_unused(mapping, facts),
    )
    return tuple(Problem(table.name, 1, *doubt) for doubt in warnings)


Doubt = tuple[str, str, str, str]


def _no_header(facts: dict[str, ColumnFacts]) -> Iterator[Doubt]:
    if number := next((c for c in facts if looks_like_a_number(c) and facts[c].is_number), None):
        todo = "If the first line is a row, write the names of the columns above it"
        yield number, "a number as the name of a column of numbers", "names of columns in the first line", todo


def _guessed_from_cells(table: FileTable, mapping: ColumnMapping) -> Iterator[Doubt]:
    guess = guessed(table)
    for column in guess.by_content:
        role = role_of(mapping, column)
        if role == role_of(guess.mapping, column):
            got = f"{role}, {JUDGED}" if role else f"not used, {JUDGED}: {guess.reasons[column]}"
            yield column, got, "a name that says what the column holds", "Check the role of this column above"


def role_of(mapping: ColumnMapping, column: str) -> str:
    """Return the role of a column for a message, or ""."""
    return _ROLES.get(role_in(mapping, column), "")


def _same_texts(mapping: ColumnMapping, facts: dict[str, ColumnFacts]) -> Iterator[Doubt]:
    texts = [c for c in (mapping.source, *mapping.references) if c is not None]
    for i, column in enumerate(texts):
        cells = facts[column].cells
        if facts[column].distinct == 1 and len(cells) > 2 and cells[0]:
            yield (
                column,
                f"the same text in all rows: {shown(cells[0])}",
                "a text for each segment",
                "Check its role above",
            )
        if twin := next((c for c in texts[:i] if facts[c].cells == cells), None):
            yield column, f"the same texts as in {twin}", "other texts", "Use one of the two columns"
    outputs = (mapping.output,) if mapping.layout == "long" else mapping.systems
    for column in filter(None, outputs):
        for text in texts:
            pairs = list(zip(facts[column].cells, facts[text].cells, strict=True))
            if 10 * sum(a == b != "" for a, b in pairs) >= 9 * len(pairs):
                yield (
                    column,
                    f"the same texts as in {text}",
                    "outputs of a system",
                    "Check the roles of both columns above",
                )


def _segments(mapping: ColumnMapping, facts: dict[str, ColumnFacts]) -> Iterator[Doubt]:
    if mapping.layout == "wide" or mapping.system is None or mapping.segment is None:
        return
    systems, ids = facts[mapping.system], facts[mapping.segment]
    outputs = facts[mapping.output] if mapping.output else ids
    if systems.distinct > 1 and (ids.distinct == len(ids.cells) or numbers_outputs(ids, systems, outputs)):
        todo = "If it numbers the rows, choose Not used for it: the rows of each system are then matched by their order"
        each = "row" if ids.distinct == len(ids.cells) else "output"
        yield mapping.segment, f"another segment ID in each {each}", "the same ID for all systems of a segment", todo
    if systems.distinct == len(systems.cells) and len(systems.cells) > 4:
        yield mapping.system, "another system in each row", "names that repeat", "Check the role of this column above"


def _repeated(mapping: ColumnMapping, facts: dict[str, ColumnFacts]) -> Iterator[Doubt]:
    """Rows without IDs that repeat all texts of another row, as in a table with one row per segment and metric."""
    outputs = (mapping.system, mapping.output, *mapping.systems)
    segment = (mapping.source, *mapping.references)
    if mapping.segment or mapping.document or mapping.human() or not any(outputs) or not any(segment):
        return  # rows with human scores rate an output again
    texts = [column for column in (*segment, *outputs) if column is not None]
    rows = list(zip(*(facts[column].cells for column in texts), strict=True))
    repeated = len(rows) - len(set(rows))
    if 5 * repeated >= len(rows):
        todo = "Each row becomes a segment: keep one row per segment (those of one metric), or name a column with segment IDs"
        yield (
            texts[0],
            f"{format_count(repeated, 'row')} with the texts of another row",
            "another segment in each row",
            todo,
        )


def unread_scores(table: FileTable, mapping: ColumnMapping) -> list[str]:
    """Return the columns with the name of a score whose cells are not numbers, so that they are not used."""
    used = mapping.columns()
    return [
        column
        for column, values in facts_of(table).items()
        if column not in used and values.kind in ("text", "texts", "other")
        if has_name_of_a_score(column) and values.length <= _LONG_TEXT
    ]


def _scores(mapping: ColumnMapping, facts: dict[str, ColumnFacts]) -> Iterator[Doubt]:
    text = mapping.segment or mapping.source or next(iter(mapping.references), None)
    for column, *_ in mapping.human():
        values = facts[column]
        whole = all(cell.lstrip("-").isdigit() for cell in values.cells if cell)
        named = bool(IDS.intersection(words_of(column)[-1:]))
        counts = whole and values.distinct == len(values.cells) > 9 and _steps(values)
        fixed = whole and text is not None and _stands_for(values, facts[text])
        if named or counts or fixed:
            yield (
                column,
                "whole numbers that look like IDs",
                "scores",
                "Choose Not used, Segment ID or Document ID for it",
            )


def _stands_for(values: ColumnFacts, text: ColumnFacts) -> bool:
    repeats = 3 < text.distinct < len(text.cells)
    return repeats and values.distinct == text.distinct and values.is_function_of(text)


def _steps(values: ColumnFacts) -> bool:
    numbers = [int(cell) for cell in values.cells]
    return numbers == sorted(numbers)


def _systems(mapping: ColumnMapping, facts: dict[str, ColumnFacts]) -> Iterator[Doubt]:
    if mapping.layout == "wide":
        for column in mapping.systems:
            words = set(words_of(column))
            code = bool(words) and all(len(word) == _LANGUAGE for word in words) and not column.isupper()
            label = bool(words) and words <= GENERIC | FACTS and not words & (OUTPUTS | SYSTEMS)
            if code or label or words & _HUMAN:
                yield (
                    column,
                    "a system of this name",
                    "the name of a system",
                    "Check its role: Source, Reference or Not used?",
                )
        return
    if mapping.system is None or mapping.references:
        return
    for name in dict.fromkeys(facts[mapping.system].cells):
        if is_human_name(name):
            todo = "After the import, “Add references” on Projects uses its outputs as references"
            yield mapping.system, f"the system {shown(name)}, and no reference", "a column with references", todo


def _unused(mapping: ColumnMapping, facts: dict[str, ColumnFacts]) -> Iterator[Doubt]:
    used = mapping.columns()
    for column, values in facts.items():
        role = role_by_words(column, values.kind)
        if column not in used and values.kind == "other" and role != "unused":
            todo = "Write each value in a column of its own if it is a text or a score"
            yield column, "several values in a cell, which are not used", "one text or number per cell", todo
            continue
        if column in used or (values.distinct < 2 and not has_name_of_a_score(column)) or role in ("rater", "unused"):
            continue
        if role == "system" and mapping.system is None:
            todo = "Check “Each row is” above"
            yield column, "a column that is named after systems and not used", "one row per output", todo
        elif values.is_text and has_name_of_a_score(column):
            got = (
                f"a column named like a score that is not used; a cell is {shown(next(filter(None, values.cells), ''))}"
            )
            yield (
                column,
                got,
                "numbers in most cells",
                "Write the scores as numbers, and leave cells without a score empty",
            )
        elif values.is_text and values.length > _LONG_TEXT:
            got = f"a column of texts ({format_count(values.distinct, 'different text')}) that is not used"
            yield column, got, "a source, reference or output", "Choose its role above if it has one"
        elif values.is_number and mapping.layout == "wide" and role == "":
            todo = "If it is a score of one system, name it SYSTEM_SCORE (A_quality) or choose its role above; else upload a table with one row per output"
            yield column, "a column of numbers that is not used", "numbers whose name says their system", todo
