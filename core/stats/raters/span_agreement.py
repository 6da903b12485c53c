"""Agreement of two raters' error spans: F1 over characters, and the severities of characters both marked.

Spans are half-open [start, end) in code points of one text; those of a source text are compared separately. If spans of one
rater overlap, a character counts once per different label.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from core.data import SEVERITIES, Span
from core.errors import UserError
from core.stats.correlation.correlation import Statistic
from core.stats.correlation.pairs import Ints

By = Literal["severity", "category"]
Label = tuple[str, ...]
Found = Literal["both", "one_empty", "both_empty"]
NOTHING = "both raters found no errors"
NO_CHARACTERS = "both raters marked only empty spans"


class SpanLabel(NamedTuple):
    """A span without quote and note. It is empty if `start == end`."""

    start: int
    end: int
    severity: str
    category: str


SpanLike = Span | SpanLabel


def on_one_text(spans: Iterable[Span], length: int) -> list[SpanLabel]:
    """Return error spans of an output of `length` characters and its source as spans of one text: the source after the output."""
    by = {"output": 0, "source": length}
    return [SpanLabel(s.start + by[s.side], s.end + by[s.side], s.severity, s.category) for s in spans]


class SpanMatch(NamedTuple):
    """Labelled characters of two raters on one text: `first`, `second` and both (`shared`); `presence`: which have any spans."""

    first: int
    second: int
    shared: int
    presence: Found

    @property
    def f1(self) -> Statistic:
        """Return 2·shared/(first + second) in [0, 1], higher is better: the harmonic mean of precision and recall.

        It is 0 if only one rater has spans. Undefined if neither has (this agreement is counted separately), or if both have
        only empty spans.
        """
        if self.presence == "both_empty":
            return Statistic(None, NOTHING)
        if self.presence == "one_empty":
            return Statistic(0.0)
        total = self.first + self.second
        return Statistic(2 * self.shared / total, "", total) if total else Statistic(None, NO_CHARACTERS)


class SpanAgreement(NamedTuple):
    """F1 over many texts: `micro` from summed characters, `macro` as the mean F1 of texts where it is defined.

    `both_empty` and `one_empty` count texts for which both raters, or only one, have no spans. (texts − one_empty)/texts is
    the agreement on whether a text has any error.
    """

    micro: Statistic
    macro: Statistic
    texts: int
    both_empty: int
    one_empty: int


def match_spans(first: Sequence[SpanLike], second: Sequence[SpanLike], length: int, by: Sequence[By] = ()) -> SpanMatch:
    """Compare two raters' spans of a text of `length` characters. `by` lists labels that must also match."""
    of_first, of_second = _labelled(first, length, by), _labelled(second, length, by)
    shared = sum(int((where & of_second[label]).sum()) for label, where in of_first.items() if label in of_second)
    sizes = [sum(int(where.sum()) for where in labelled.values()) for labelled in (of_first, of_second)]
    empty = (not first) + (not second)
    presence: Found = "both" if not empty else "one_empty" if empty == 1 else "both_empty"
    return SpanMatch(sizes[0], sizes[1], shared, presence)


def span_agreement(matches: Iterable[SpanMatch]) -> SpanAgreement:
    """Return micro and macro F1 of the matches, with the conventions of `SpanMatch.f1`; undefined if no text has one."""
    totals = SpanTotals()
    for match in matches:
        totals.add(match)
    return totals.agreement()


class SpanTotals:
    """The sums over matches from which `span_agreement` is computed, so that matches need not be kept in memory."""

    def __init__(self) -> None:
        self._n = self._characters = self._shared = self._defined = 0
        self._f1 = 0.0
        self._found: dict[Found, int] = {"both": 0, "one_empty": 0, "both_empty": 0}

    def add(self, match: SpanMatch) -> None:
        self._n += 1
        self._characters += match.first + match.second
        self._shared += match.shared
        self._found[match.presence] += 1
        if (f1 := match.f1.value) is not None:
            self._defined += 1
            self._f1 += f1

    def add_all(self, other: SpanTotals) -> None:
        self._n += other._n
        self._characters += other._characters
        self._shared += other._shared
        self._defined += other._defined
        self._f1 += other._f1
        for presence, n in other._found.items():
            self._found[presence] += n

    def agreement(self) -> SpanAgreement:
        n, characters, defined = self._n, self._characters, self._defined
        reason = "there are no texts" if not n else NOTHING if self._found["both_empty"] == n else NO_CHARACTERS
        return SpanAgreement(
            Statistic(2 * self._shared / characters, "", characters) if characters else Statistic(None, reason),
            Statistic(
                self._f1 / defined if defined else None, "" if defined else reason, defined, defined, n - defined
            ),
            n,
            self._found["both_empty"],
            self._found["one_empty"],
        )


def severity_confusion(first: Sequence[SpanLike], second: Sequence[SpanLike], length: int) -> Ints:
    """Count characters marked by both raters, with severity i by the first and j by the second; sum over texts.

    `SEVERITIES` are in descending order: if a rater's spans overlap, the worst counts. Raises `UserError` for others.
    """
    rows, columns = _worst(first, length), _worst(second, length)
    both = (rows >= 0) & (columns >= 0)
    size = len(SEVERITIES)
    counts = np.bincount(rows[both] * size + columns[both], minlength=size * size)
    return counts.reshape(size, size).astype(np.int64)


def _labelled(spans: Sequence[SpanLike], length: int, by: Sequence[By]) -> dict[Label, npt.NDArray[np.bool_]]:
    masks: dict[Label, npt.NDArray[np.bool_]] = {}
    for span in spans:
        label = tuple(str(getattr(span, name)) for name in by)
        masks.setdefault(label, np.zeros(length, dtype=bool))[_inside(span, length)] = True
    return masks


def _worst(spans: Sequence[SpanLike], length: int) -> Ints:
    """Return the index of the worst severity of each character, −1 where it is not marked."""
    severity_index = np.full(length, len(SEVERITIES), dtype=np.int64)
    for span in spans:
        if span.severity not in SEVERITIES:
            raise UserError("there is no such severity", got=repr(span.severity), expected=", ".join(SEVERITIES))
        where = _inside(span, length)
        severity_index[where] = np.minimum(severity_index[where], SEVERITIES.index(span.severity))
    return np.where(severity_index == len(SEVERITIES), -1, severity_index)


def _inside(span: SpanLike, length: int) -> slice:
    if not 0 <= span.start <= span.end <= length:
        raise ValueError(f"span [{span.start}, {span.end}) does not lie in a text of {length} characters")
    return slice(span.start, span.end)
