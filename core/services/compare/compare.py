"""Data of the Compare page at any λ: filters, ordered segments, system means, scatter points, rows of score files.

A score with a comparison and the fields of `FIELDS` are conditions on single outputs; a minus before a field excludes. All other
words are one phrase, searched in the texts and names of a segment. Quotes keep spaces, colons and comparisons together.
"""

from __future__ import annotations

import operator
import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from core.columns import Array, Mask
from core.data import SEVERITIES, Score, SegmentKey, Value
from core.errors import UserError
from core.mqm.label_columns import ErrorKind
from core.services.projects.view import Column, View
from core.signature import format_exact
from core.stats.bootstrap import mean_interval
from core.text.words import fold

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


def parse_filter(text: str) -> OutputFilter:
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


def matching(view: View, output_filter: OutputFilter, lam: float) -> Mask:
    """Return which outputs match, shape (n_segments, n_systems); a phrase alone also matches segments without outputs.

    Raises `UserError` for an unknown score, system, document or segment.
    """
    keep = view.present.copy() if output_filter.scores or output_filter.fields else np.ones_like(view.present)
    if output_filter.phrase:
        rows = np.zeros(len(view.segments), dtype=bool)
        rows[[view.row[key] for key in view.texts.search(output_filter.phrase) if key in view.row]] = True
        keep &= rows[:, None]
    for name, comparison, value in output_filter.scores:
        keep &= COMPARISONS[comparison](view.values(column_of(view, name).name, lam), value)  # no value: no match
    for term in output_filter.fields:
        if term.field not in OF_ERRORS:
            keep &= _place(view, term) != term.excluded
        elif term.excluded:
            keep &= ~_labelled(view, [term])
    if asked := [t for t in output_filter.fields if t.field in OF_ERRORS and not t.excluded]:
        keep &= _labelled(view, asked)
    return keep


def column_of(view: View, name: str) -> Column:
    """Return the column that a filter means: by name or label, without regard to case, spaces, hyphens and brackets."""
    for column in view.columns:
        label = column.label.removesuffix(f" ({column.origin})")
        if _squeezed(name) in map(_squeezed, (label, column.label, column.metric, column.name)):
            return column
    known_columns = ", ".join(dict.fromkeys(_handle(c) for c in view.columns)) or "no scores: compute some first"
    raise UserError("the filter names an unknown score", got=f"“{name}”", expected=known_columns, hint=QUOTE)


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
        mask = np.array([fold(name) == term.value for name in view.systems], dtype=bool)[None, :]
    else:
        at = 0 if term.field == "doc" else 1
        mask = np.array([fold(key[at]) == term.value for key in view.segments], dtype=bool)[:, None]
    if not mask.any():
        name = {"doc": "document"}.get(term.field, term.field)
        raise UserError(
            f"the filter names an unknown {name}",
            got=f"“{term.value}”",
            hint="Names are complete, and in quotes if they have spaces",
        )
    return np.broadcast_to(mask, view.present.shape)


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


Order = npt.NDArray[np.intp]
Sort = Literal["document", "metric", "disagreement"]
NOT_SCORED = "not scored"
SEED = 12345


class Query(NamedTuple):
    """A filter (`core.services.compare.compare`) and order of segments.

    Empty `systems` or `documents` mean all; `system` "" means the mean of those shown.
    """

    search: str = ""
    systems: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    sort: Sort = "document"
    metric: str = ""
    second: str = ""
    system: str = ""
    descending: bool = False


class Mean(NamedTuple):
    """A system's mean of one metric over `n` outputs, with its 95 % CI (`mean_interval`); None with a `reason` if undefined."""

    system: str
    mean: float | None
    low: float | None
    high: float | None
    n: int
    reason: str = ""


class ScatterPoint(NamedTuple):
    """One output of a scatter plot: its values under two metrics."""

    system: str
    doc_id: str
    segment_id: str
    x: float
    y: float


def signature_at(column: Column, lam: float) -> str:
    """Return the column's signature; that of a refinement contains λ."""
    return with_lambda(column.signature, lam) if column.refinement else column.signature


def hint_at(column: Column, lam: float) -> str:
    """Return direction, explanation and signature of a column, one per line."""
    return "\n".join(p for p in (column.direction, column.help, signature_at(column, lam)) if p)


def with_lambda(signature: str, lam: float) -> str:
    """Return a signature with this λ in place of its own; one without λ stays as it is."""
    return "|".join(f"lambda:{format_exact(lam)}" if p.startswith("lambda:") else p for p in signature.split("|"))


def row_mean(values: Array) -> Array:
    """Return the mean of each row without NaN; NaN for an empty row."""
    n = (~np.isnan(values)).sum(axis=1)
    return np.where(n > 0, np.nansum(values, axis=1) / np.maximum(n, 1), np.nan)


def ranks(values: Array, higher_is_better: bool) -> Array:
    """Return ranks within the project in [0, 1], 1 is best; ties share their mean rank; NaN without a value."""
    out = np.full(values.shape, np.nan)
    defined = ~np.isnan(values)
    if (n := int(defined.sum())) > 0:
        order = rankdata(values[defined] if higher_is_better else -values[defined])
        out[defined] = (order - 1) / (n - 1) if n > 1 else 0.5
    return out


def disagreement(view: View, first: str, second: str, lam: float) -> Array:
    """Return |rank under one metric − rank under the other| of each output both have scored, in [0, 1]."""
    a, b = view.values(first, lam), view.values(second, lam)
    missing = np.isnan(a) | np.isnan(b)
    x = ranks(np.where(missing, np.nan, a), view.column(first).higher_is_better)
    return np.asarray(np.abs(x - ranks(np.where(missing, np.nan, b), view.column(second).higher_is_better)))


def sort_key(view: View, query: Query, lam: float) -> Array | None:
    """Return one sort key per segment: a metric (of a system, or the mean), or the largest disagreement of its outputs.

    None for document order, or if a column no longer exists.
    """
    names = {c.name for c in view.columns}
    needed = {"metric": {query.metric}, "disagreement": {query.metric, query.second}}.get(query.sort)
    if needed is None or not needed <= names:
        return None
    at = view.at((query.system,) if query.system in view.systems else query.systems)
    if query.sort == "metric":
        return row_mean(view.values(query.metric, lam)[:, at])
    apart = disagreement(view, query.metric, query.second, lam)[:, at]
    return np.where(np.isnan(apart).all(axis=1), np.nan, np.nan_to_num(apart, nan=-1.0).max(axis=1, initial=-1.0))


def matching_outputs(view: View, query: Query, lam: float) -> Mask:
    """Return which outputs match the search and the choices, shape (n_segments, n_systems).

    Raises `UserError` if the search is no valid filter.
    """
    keep = matching(view, parse_filter(query.search), lam)
    if query.systems:
        keep &= view.present & np.isin(np.arange(len(view.systems)), view.at(query.systems))
    if query.documents:
        chosen = set(query.documents)
        keep &= np.array([key.doc_id in chosen for key in view.segments], dtype=bool)[:, None]
    return keep


def ordered(view: View, query: Query, lam: float) -> Order:
    """Return the indexes of the segments with a matching output, sorted; those without a value come last, ties in document order.

    Raises `UserError` if the search is no valid filter.
    """
    keep = matching_outputs(view, query, lam).any(axis=1)
    rows = np.flatnonzero(keep)
    key = sort_key(view, query, lam)
    if key is None:
        return rows[::-1] if query.descending else rows
    key = key[rows]
    missing = np.isnan(key)
    return rows[np.lexsort((np.where(missing, 0.0, -key if query.descending else key), missing))]


def worst_outputs(
    view: View, query: Query, lam: float, name: str, limit: int = 1000, *, best: bool = False
) -> tuple[list[tuple[int, int]], int]:
    """Return the matching outputs with a score of this name, worst first, and their number before the `limit`.

    An output is a pair of indexes (segment, system). Without a direction, low scores count as worse.
    """
    values = np.where(matching_outputs(view, query, lam), view.values(name, lam), np.nan)
    rising = view.column(name).higher_is_better != best
    defined = np.flatnonzero(~np.isnan(values))
    order = defined[np.argsort(values.flat[defined] * (1.0 if rising else -1.0), kind="stable")]
    rows, columns = np.unravel_index(order[:limit], values.shape)
    return list(zip(rows.tolist(), columns.tolist(), strict=True)), len(defined)


def means(view: View, name: str, lam: float, systems: Sequence[str] = (), rows: Order | None = None) -> list[Mean]:
    """Return system means with 95 % CIs (`mean_interval`) over segments (`rows`, or all); best first, undefined ones last."""
    values, out = view.values(name, lam), []
    values = values if rows is None else values[rows]
    for i in view.at(systems):
        interval = mean_interval(values[~np.isnan(values[:, i]), i], SEED)
        out.append(Mean(view.systems[i], interval.value, interval.low, interval.high, interval.n, interval.reason))
    sign = -1.0 if view.column(name).higher_is_better else 1.0
    return sorted(out, key=lambda m: (m.mean is None, sign * (m.mean or 0.0)))


def points(
    view: View, x: str, y: str, lam: float, rows: Order, systems: Sequence[str] = (), limit: int = 4000
) -> list[ScatterPoint]:
    """Return the outputs that both metrics have scored; above `limit`, a uniform, reproducible sample."""
    a, b, at = view.values(x, lam), view.values(y, lam), view.at(systems)
    part = np.ix_(rows, np.array(at, dtype=np.intp))
    both = np.argwhere(~(np.isnan(a[part]) | np.isnan(b[part])))
    if len(both) > limit:
        both = both[sorted(random.Random(0).sample(range(len(both)), limit))]
    return [
        ScatterPoint(*view.index.key((i, j)), float(a[i, j]), float(b[i, j]))
        for i, j in ((int(rows[k]), at[m]) for k, m in both.tolist())
    ]


def scores(view: View, lam: float, rows: Order, systems: Sequence[str] = ()) -> Iterator[Score]:
    """Yield the scores for a file, one row per output and metric; missing scores have a status and reason."""
    columns = [(c, signature_at(c, lam), view.table(c.name), view.values(c.name, lam)) for c in view.columns]
    for i in rows:
        for j in view.at(systems):
            if not view.present[i, j]:
                continue
            key = view.index.key((int(i), j))
            for c, signed, table, values in columns:
                v = table.at(int(i), j) or Value(None, "needs", NOT_SCORED)
                value = float(values[i, j]) if v.status == "ok" else v.value
                yield Score(*key, c.metric, signed, value, v.status, v.reason)


def blind_names(systems: Sequence[str], key: SegmentKey, seed: int) -> dict[str, str]:
    """Return the names Output A, B, C … of a segment's systems, shuffled for each segment; reproducible by `seed`."""
    shuffled = sorted(systems)
    random.Random(f"{seed}\n{key.doc_id}\n{key.segment_id}").shuffle(shuffled)
    return {s: f"Output {chr(65 + i) if i < 26 else i + 1}" for i, s in enumerate(shuffled)}
