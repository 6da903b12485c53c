"""The filter of the Compare page: `mqm<-5 system:A category:fluency chrf<30 "two words"`; all parts must hold.

A score with a comparison and the fields of `FIELDS` are conditions on single outputs; a minus before a field excludes. All other
words are one phrase, searched in the texts and names of a segment. Quotes keep spaces, colons and comparisons together.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from core.columns import Mask
from core.data import SEVERITIES
from core.errors import UserError
from core.mqm.label_columns import ErrorKind
from core.services.projects.view import Column, View
from core.text.fold import fold

FIELDS = ("system", "doc", "segment", "category", "severity", "annotator")
OF_ERRORS = ("category", "severity", "annotator")
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt, "=": operator.eq,
}  # fmt: skip
QUOTE = "Put a text with such signs into quotes to search for it"
_PART = re.compile(r'(?:"[^"]*"|\S)+')
_AROUND = re.compile(r'("[^"]*")|\s*(<=|>=|<|>|=)\s*')
_SCORE = re.compile(r'^("[^"]+"|[^<>="]+)(<=|>=|<|>|=)(.*)$')
_FIELD = re.compile(r"^(-?)([A-Za-z]+):(.+)$", re.DOTALL)


class ScoreTerm(NamedTuple):
    name: str
    comparison: str
    value: float


class FieldTerm(NamedTuple):
    field: str
    value: str
    excluded: bool


class OutputFilter(NamedTuple):
    """A parsed filter; `phrase` is folded."""

    phrase: str = ""
    scores: tuple[ScoreTerm, ...] = ()
    fields: tuple[FieldTerm, ...] = ()


def parse(text: str) -> OutputFilter:
    """Return the parts of a filter. Raises `UserError` for an unknown field or severity, or a comparison without a number."""
    words: list[str] = []
    scores: list[ScoreTerm] = []
    fields: list[FieldTerm] = []
    for part in _PART.findall(_AROUND.sub(lambda m: m[1] or m[2], text)):
        if score := _SCORE.match(part):
            scores.append(ScoreTerm(_bare(score[1]), score[2], _number(part, score[3])))
        elif (field := _FIELD.match(part)) and not part.startswith('"'):
            fields.append(_field(part, field[2].casefold(), _bare(field[3]), excluded=bool(field[1])))
        else:
            words.append(_bare(part))
    return OutputFilter(fold(" ".join(words).strip()), tuple(scores), tuple(fields))


def matching(view: View, found: OutputFilter, lam: float) -> Mask:
    """Return which outputs match, shape (n_segments, n_systems); a phrase alone also matches segments without outputs.

    Raises `UserError` for an unknown score, system, document or segment.
    """
    keep = view.present.copy() if found.scores or found.fields else np.ones_like(view.present)
    if found.phrase:
        rows = np.zeros(len(view.segments), dtype=bool)
        rows[[view.row[key] for key in view.texts.search(found.phrase) if key in view.row]] = True
        keep &= rows[:, None]
    for name, comparison, value in found.scores:
        keep &= COMPARISONS[comparison](view.values(column_of(view, name).name, lam), value)  # no value: no match
    for term in found.fields:
        if term.field not in OF_ERRORS:
            keep &= _place(view, term) != term.excluded
        elif term.excluded:
            keep &= ~_labelled(view, [term])
    if asked := [t for t in found.fields if t.field in OF_ERRORS and not t.excluded]:
        keep &= _labelled(view, asked)
    return keep


def column_of(view: View, name: str) -> Column:
    """Return the column that a filter means: by name or label, without regard to case, spaces, hyphens and brackets."""
    for column in view.columns:
        label = column.label.removesuffix(f" ({column.origin})")
        if _squeezed(name) in map(_squeezed, (label, column.label, column.metric, column.name)):
            return column
    there = ", ".join(dict.fromkeys(_handle(c) for c in view.columns)) or "no scores: compute some first"
    raise UserError("the filter names an unknown score", got=f"“{name}”", expected=there, hint=QUOTE)


def _handle(column: Column) -> str:
    label = column.label.removesuffix(f" ({column.origin})")
    return f'"{label}"' if " " in label else label


def _squeezed(name: str) -> str:
    return re.sub(r"[\s_-]", "", fold(name))


def _bare(text: str) -> str:
    return text.replace('"', "") if text.count('"') % 2 == 0 else text


def _number(part: str, text: str) -> float:
    try:
        return float(text.replace("\u2212", "-"))
    except ValueError:
        raise UserError(
            "the filter compares with something that is not a number", got=f"“{part}”", expected="for example mqm<-5", hint=QUOTE
        ) from None  # fmt: skip


def _field(part: str, name: str, value: str, *, excluded: bool) -> FieldTerm:
    if name not in FIELDS:
        raise UserError("the filter has an unknown field", got=f"“{part}”", expected=", ".join(FIELDS), hint=QUOTE)
    severities = [severity.casefold() for severity in SEVERITIES]
    if name == "severity" and value.casefold() not in severities:
        raise UserError("the filter names an unknown severity", got=f"“{value}”", expected=", ".join(severities))
    return FieldTerm(name, fold(value), excluded)


def _place(view: View, term: FieldTerm) -> Mask:
    """Return which cells are of this system, document or segment."""
    if term.field == "system":
        found = np.array([fold(name) == term.value for name in view.systems], dtype=bool)[None, :]
    else:
        at = 0 if term.field == "doc" else 1
        found = np.array([fold(key[at]) == term.value for key in view.segments], dtype=bool)[:, None]
    if not found.any():
        name = {"doc": "document"}.get(term.field, term.field)
        raise UserError(
            f"the filter names an unknown {name}",
            got=f"“{term.value}”",
            hint="Names are complete, and in quotes if they have spaces",
        )
    return np.broadcast_to(found, view.present.shape)


def _labelled(view: View, terms: Sequence[FieldTerm]) -> Mask:
    """Return the outputs with an error that fulfils all terms; an annotator alone asks for outputs the annotator rated."""
    if view.rated is None:
        return np.zeros(view.present.shape, dtype=bool)
    of_rater = [t.value for t in terms if t.field == "annotator"]
    of_error = [t for t in terms if t.field != "annotator"]

    def rater(name: str) -> bool:
        return all(fold(name) == value for value in of_rater)

    def error(kind: ErrorKind) -> bool:
        return all(_has(kind, term) for term in of_error)

    return view.rated.having(view.index, rater, error if of_error else None)


def _has(kind: ErrorKind, term: FieldTerm) -> bool:
    _, severity, category = kind
    return term.value in fold(category) if term.field == "category" else fold(severity) == term.value
