"""Find the system that a column of scores belongs to, in tables with one column per system, by the names of the columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from core.formats.column_facts import GENERIC, RATERS, has_name_of_a_score
from core.formats.external import looks_like_a_metric, lower_is_better
from core.formats.mapping import SystemScoreColumn
from core.formats.role_names import words_of

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+|\d+")
_SCALE = re.compile(r"[\[(]\s*-?\d+\s*(?:[-–…/]|to|\.\.)\s*\d+\s*[\])]")
"""The scale of a score, such as (1-5), whose numbers are no systems."""
_USUAL = GENERIC | {"answer", "answers", "reply", "replies"}
_SEPARATORS = " _-.:;,/|#"
_UNNAMED = "score"


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
