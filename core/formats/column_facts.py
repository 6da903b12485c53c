"""What the names and the first cells of a table's columns say about their roles, and which system a column of scores belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, NamedTuple

from core.formats.external import looks_like_a_metric, lower_is_better
from core.formats.mapping import SystemScoreColumn
from core.formats.parsing.cells import Cell, FileTable
from core.formats.parsing.numbers import is_absent, looks_like_a_number, means_a_number, stands_for_no_number
from core.formats.role_names import is_human_name, words_of

LOOK = 1000
"""Rows whose cells are looked at."""

IDS = frozenset("id ids idx index key uid guid nr no num number".split())
SYSTEMS = frozenset("system systems sys model method engine generator submission".split())
DOCUMENTS = frozenset("doc document article story page file dialogue dialog".split())
SEGMENTS = frozenset("segment seg sentence sent line item example instance sample row unit input source src".split())
NUMBERED = frozenset("segment seg sentence sent line item example instance sample".split())
"""Names of numbers that are IDs of segments."""
RATERS = frozenset("rater raters annotator annotators worker judge evaluator user assessor turker participant".split())
REFERENCES = frozenset("ref refs reference references gold golden truth highlights ht".split())
OUTPUTS = frozenset(
    "output outputs out hyp hypothesis summary summ translation mt prediction pred predicted generated generation candidate "
    "response decoded completion claim summaries translations predictions hypotheses generations candidates responses completions".split()
)
SOURCES = frozenset(
    "source src input article document doc dialogue dialog conversation mr meaning representation context passage story post "
    "transcript original question triples".split()
)
SCORES = frozenset(
    "score scores rating ratings mean avg average likert da mqm esa human judgement judgment fluency adequacy quality "
    "overall coherence consistency relevance informativeness naturalness".split()
)
FACTS = frozenset(
    "title headline url link date time timestamp lang language lp pair domain topic genre split dataset task year comment comments "
    "note notes metadata meta batch campaign seed prompt status reason category severity error errors label labels".split()
)
TEXTS = frozenset("text texts txt string raw full body content plain clean tokenized detokenized".split())
_KEYS = IDS - {"no", "num", "number"}
_TIMES = frozenset("time times timestamp date duration seconds minutes start end lead".split())
_EFFORTS = frozenset("time times seconds minutes".split())
"""Words of times that may measure quality, as the time of post-editing does."""
GENERIC = IDS | SYSTEMS | DOCUMENTS | SEGMENTS | REFERENCES | OUTPUTS | SOURCES | TEXTS
"""Words that are no name of a system."""

_NAMELESS = re.compile(
    r"(unnamed: ?\d+(_level_\d+)?|column \d+|__index_level_\d+__|level_\d+|index|\.\.\.\d+|row[. _]?names?)?(\.\d+)?",
    re.IGNORECASE,
)
_FEW = 9

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+|\d+")
_SCALE = re.compile(r"[\[(]\s*-?\d+\s*(?:[-–…/]|to|\.\.)\s*\d+\s*[\])]")
"""The scale of a score, such as (1-5), whose numbers are no systems."""
_USUAL = GENERIC | {"answer", "answers", "reply", "replies"}
_SEPARATORS = " _-.:;,/|#"
_UNNAMED = "score"

Kind = Literal["number", "mixed", "text", "texts", "empty", "other"]


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """The kind of a column ("mixed": numbers and some other cells; "texts": lists of texts), its first cells ("" where empty), how many of them differ, and their
    mean length in characters."""

    kind: Kind
    cells: tuple[str, ...]
    distinct: int
    length: float

    @property
    def is_number(self) -> bool:
        return self.kind in ("number", "mixed")

    @property
    def is_text(self) -> bool:
        return self.kind in ("text", "texts")

    @property
    def is_code(self) -> bool:
        """Whether the cells are short and without blanks, as IDs are."""
        return self.kind in ("number", "text") and self.length <= 40 and not any(" " in cell for cell in self.cells)

    def is_function_of(self, other: ColumnFacts) -> bool:
        """Return whether equal cells of `other` always stand beside equal cells here."""
        return len(set(zip(other.cells, self.cells, strict=True))) == other.distinct


def has_name_of_a_score(name: str) -> bool:
    """Return whether a column has the name of a human score (adequacy, DA, rating …) or of a metric."""
    words = set(words_of(name))
    return bool(words & SCORES) or words == {"human"} or looks_like_a_metric(name)


def is_named_like_a_time(name: str) -> bool:
    """Return whether numbers of this name say when or how long somebody worked (start_time, lead_time, seconds)."""
    words = set(words_of(name))
    return bool(words & (_TIMES - _EFFORTS) or (words and words <= _TIMES)) and not has_name_of_a_score(name)


def is_named_like_an_id(name: str) -> bool:
    """Return whether numbers of this name are IDs (id, annotation_id)."""
    return words_of(name)[-1:] != () and words_of(name)[-1] in _KEYS and not has_name_of_a_score(name)


def is_nameless(name: str) -> bool:
    """Return whether a program has named a column, because it had no name: the index of pandas or R, an empty header cell."""
    return _NAMELESS.fullmatch(name.strip()) is not None


def counts_rows(name: str, facts: ColumnFacts) -> bool:
    """Return whether the numbers of a column are whole and follow each other, in any order, and its name is not that of a score."""
    if facts.kind != "number" or has_name_of_a_score(name) or not facts.distinct == len(facts.cells) > _FEW:
        return False
    if not all(cell.strip().isdecimal() for cell in facts.cells):
        return False
    numbers = [int(cell) for cell in facts.cells]
    return max(numbers) - min(numbers) == len(numbers) - 1


def differ_in_number(names: Iterable[str]) -> set[str]:
    """Return the names that differ only in a number or letter, as those of raters' scores: `annotator_1`, `annotator_2`; `rater A`, `rater B`."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        words = tuple(word for word in words_of(name) if len(word) > 1)
        if words and words[-1] not in IDS:
            alike.setdefault(words, []).append(name)
    return {name for group in alike.values() if len(group) > 1 for name in group}


def numbers_outputs(ids: ColumnFacts, systems: ColumnFacts, outputs: ColumnFacts) -> bool:
    """Return whether each ID stands beside one system and one output, in one or several rows, and there are more IDs than systems."""
    both = set(zip(ids.cells, systems.cells, outputs.cells, strict=True))
    return 1 < systems.distinct < ids.distinct == len(both)


def facts_of(table: FileTable) -> dict[str, ColumnFacts]:
    """Return the facts of every column."""
    facts: dict[str, ColumnFacts] = {}
    for i, column in enumerate(table.columns):
        cells = tuple(_text(row.cells[i]) for row in islice(table.rows, LOOK))
        filled = [cell for cell in cells if cell]
        length = sum(map(len, filled)) / max(1, len(filled))
        kind = kind_of_cells(column, (row.cells[i] for row in table.rows))
        facts.setdefault(column, ColumnFacts(kind, cells, len(set(cells)), length))
    return facts


def role_by_words(name: str, kind: Kind) -> str:
    """Return the role that the words of a name suggest, "unused" for facts about a row, or "" if they say nothing.

    Roles: rater, document, segment, system, source, references, "perhaps references" (the word in a longer name), human (a weak sign of a reference), output, "system output" (a strong
    sign of an output), target (an output beside systems, else a reference) and text. Columns of numbers are IDs, unused, or "".
    """
    words = words_of(name)
    if len(words) > 1 and words[0] in ("input", "answer"):  # as Mechanical Turk names columns
        words = words[1:]
    word_set = set(words)
    code = bool(words) and words[-1] in IDS
    if word_set & RATERS and not word_set & SCORES:
        return "rater"
    number = kind in ("number", "mixed")
    if (word_set & FACTS and word_set <= FACTS | GENERIC) or (number and is_named_like_a_time(name)):
        return "unused"
    if number and word_set and word_set <= NUMBERED:
        return "segment"
    if number and (not code or word_set & SCORES):
        return ""
    if code or number:
        kinds = (("system", SYSTEMS), ("document", DOCUMENTS), ("segment", SEGMENTS))
        return next((role for role, known in kinds if word_set & known), "segment")
    if word_set & SYSTEMS and (words[-1] in SYSTEMS or word_set <= SYSTEMS | {"name"}):
        return "system"
    if (word_set & SYSTEMS and word_set & (OUTPUTS | REFERENCES | TEXTS)) or (
        word_set & {"generated"} and word_set <= GENERIC
    ):
        return "system output"
    if word_set & REFERENCES:
        return "references" if is_human_name(name) else "perhaps references"
    if "human" in word_set and word_set <= GENERIC | {"human"}:
        return "human"
    if word_set & OUTPUTS:
        return "output"
    if word_set & {"target", "tgt"} and word_set <= GENERIC | {"target", "tgt"}:
        return "target"
    if word_set & SOURCES and all(word in GENERIC or len(word) == 2 for word in words):
        return "source"
    return "text" if word_set and word_set <= TEXTS else ""


def _text(cell: Cell) -> str:
    return cell if isinstance(cell, str) else "\n".join(cell) if isinstance(cell, tuple) else ""


def kind_of_cells(name: str, cells: Iterable[Cell]) -> Kind:
    """Return the kind of a column, judged by its name and its first `LOOK` filled cells.

    It is "mixed" if some cells are no numbers: at most one in five, or at most half if the column has the name of a score. Cells such as
    80% or 4,5 are meant as numbers. A column whose name suggests texts is never "mixed".
    """
    numbers = markers = others = 0
    mixed = False
    for cell in cells:
        if cell is None or (isinstance(cell, str) and is_absent(cell)):
            continue
        if isinstance(cell, tuple):
            return "texts"
        if not isinstance(cell, str):
            return "other"
        if looks_like_a_number(cell):
            numbers += 1
        elif means_a_number(cell):
            numbers, mixed = numbers + 1, True
        elif stands_for_no_number(cell):
            markers += 1
        else:
            others += 1
        if numbers + markers + others >= LOOK:
            break
    if not (markers or others or mixed):
        return "number" if numbers else "empty"
    named = has_name_of_a_score(name)
    if not named and role_by_words(name, "text"):
        return "text"
    return "mixed" if numbers and others <= (numbers if named else numbers / 4) else "text"


# The system that a column of scores belongs to, in tables with one column per system, by the names of the columns.


class _Part(NamedTuple):
    """A word or number in a name, in lower case, and its place."""

    text: str
    start: int
    end: int


def score_of_system(column: str, systems: Sequence[str]) -> SystemScoreColumn | None:
    """Return the system and the score that the name of a column says: `sys1_quality`, `Quality (sys1)`, `bart_score` beside `bart_output`,
    `rating2` beside `output2`. None if it says no system, or several. A score with the name of a metric is an external score."""
    parts = _parts(_SCALE.sub(lambda match: " " * len(match[0]), column))
    if column.isalnum() and looks_like_a_metric(column):
        return None  # BARTScore is no score of BART
    for form in _forms(systems):
        places = [(system, *place) for system, name in form.items() for place in _places(column, parts, name)]
        longest = max((end - start for _, start, end in places), default=0)
        places = [place for place in places if place[2] - place[1] == longest]
        if len(places) == 1:
            ((system, start, end),) = places
            name = _without(column, start, end)
            return SystemScoreColumn(
                column, system, name, not lower_is_better(name) if looks_like_a_metric(name) else None
            )
        if places:
            return None
    return None


def scores_of_systems(columns: Iterable[str], systems: Sequence[str]) -> tuple[SystemScoreColumn, ...]:
    """Return the columns of numbers that are scores of one system each.

    A number that only one of several systems has needs the usual name of a score. Numbers of annotators are no scores, and of two columns
    with the same score of a system the first is returned.
    """
    groups: dict[str, dict[str, SystemScoreColumn]] = {}
    for column in columns:
        score = score_of_system(column, systems)
        if score and not (RATERS.issuperset(words := words_of(score.name)) and words and score.name[-1].isalpha()):
            groups.setdefault(score.name.casefold(), {}).setdefault(score.system, score)
    return tuple(
        score._replace(name=next(iter(group.values())).name)
        for group in groups.values()
        for score in group.values()
        if len(group) > 1 or has_name_of_a_score(score.name)
    )


def _parts(name: str) -> list[_Part]:
    return [_Part(match[0].casefold(), *match.span()) for match in _PART.finditer(name)]


def _forms(systems: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield how each system may be written: as its column, then without usual words at its end (`_output`), at its beginning (`output_`),
    and both."""
    parts = {system: [part.text for part in _parts(system)] for system in systems}
    for at_start, at_end in ((False, False), (False, True), (True, False), (True, True)):
        names = {system: _stripped(words, at_start, at_end) for system, words in parts.items()}
        if all(names.values()) and len(set(names.values())) == len(names):
            yield names


def _stripped(words: Sequence[str], at_start: bool, at_end: bool) -> str:
    first, last = 0, len(words)
    while at_start and first < last and words[first] in _USUAL:
        first += 1
    while at_end and first < last and words[last - 1] in _USUAL:
        last -= 1
    return "".join(words[first:last] or words)


def _places(column: str, parts: Sequence[_Part], name: str) -> Iterator[tuple[int, int]]:
    """Yield where a name stands in that of a column as words of their own: GPT-4 does not in GPT-4o."""
    for i, (_, start, _) in enumerate(parts):
        apart = not i or parts[i - 1].end < start or column[start].isdigit() or column[start].isupper()
        joined = ""
        for part in parts[i:] if apart else ():
            joined += part.text
            if joined == name and not (
                column[part.end : part.end + 1].isdigit() or column[part.end : part.end + 1].islower()
            ):
                yield start, part.end
            if len(joined) >= len(name):
                break


def _without(column: str, start: int, end: int) -> str:
    """Return the name of a column without that of its system and the separators or brackets around it."""
    rest = (column[:start].rstrip(_SEPARATORS + "([{").lstrip(), column[end:].lstrip(_SEPARATORS + ")]}").rstrip())
    return ("_" if "_" in column else " ").join(filter(None, rest)) or _UNNAMED
