"""Agreement between the annotators of a project: scores, positions of error spans, severities, and the largest disputes.

Only submitted labels count. Output and source are compared as one text, the source after the output, so that marked
omissions count too. A non-translation is a Major error over the whole output. Outputs on which one or both raters found no
error are included.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np

from core.data import SEVERITIES, OutputKey, RatedOutput, Side, Span
from core.mqm.label_columns import LabelColumns
from core.mqm.rated_by_output import RatedByOutput, RaterRow
from core.mqm.schemes import Scheme
from core.mqm.schemes import scheme as scheme_of
from core.mqm.scores import rater_penalty, with_text
from core.ports.store import Store
from core.progress import Progress, no_progress, report_parts
from core.services.projects.texts import StoredTexts
from core.stats.bootstrap import Interval
from core.stats.correlation.correlation import Statistic
from core.stats.correlation.pairs import Ints
from core.stats.raters.rater_agreement import Disagreement, Ratings, disagreement, krippendorff_alpha, rater_pairs
from core.stats.raters.span_agreement import (
    By,
    SpanAgreement,
    SpanLabel,
    SpanTotals,
    match_spans,
    on_one_text,
    severity_confusion,
)

MATCHES: Mapping[str, tuple[By, ...]] = {
    "place": (),
    "severity": ("severity",),
    "category": ("category",),
    "both": ("severity", "category"),
}
"""What else must be equal where two error spans overlap."""
UNMARKED = "not marked"
RELIABLE, TENTATIVE = 0.8, 0.667
MOST_COMPARISONS = 50_000
"""Above this number, the spans of a sample of outputs are compared."""
MOST_DISPUTES = 300
"""A server keeps the agreement of many projects, so each has few disputes."""


class PairRow(NamedTuple):
    """Agreement of two raters. `outputs` is the number of outputs whose spans were compared. `spans` has the keys of `MATCHES`.

    `confusion`, shape (4, 4), counts characters by the severity of the first (row) and second rater (column): `SEVERITIES`,
    then not marked. The last cell (marked by neither) is always 0.
    """

    first: str
    second: str
    outputs: int
    tau: Statistic
    spans: Mapping[str, SpanAgreement]
    confusion: Ints


class Dispute(NamedTuple):
    """An output that at least two raters rated differently, with each rater's errors and MQM score."""

    key: OutputKey
    disagreement: Disagreement
    raters: tuple[tuple[str, tuple[Span, ...], float], ...]


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of all raters. `spans` and `confusion` cover all pairs; `confusion` counts every pair in both directions.

    `outputs` have at least one rater, `twice` at least two, and spans were compared on the `compared` ones; `disputes` are the worst of `n_disputes`, worst first. `signature` belongs to `alpha`.
    """

    raters: tuple[RaterRow, ...]
    alpha: Interval
    pairs: tuple[PairRow, ...]
    spans: Mapping[str, SpanAgreement]
    confusion: Ints
    outputs: int
    twice: int
    compared: int
    disputes: tuple[Dispute, ...]
    n_disputes: int
    signature: str

    def between(self, first: str, second: str) -> PairRow:
        """Return the pair, in either order."""
        return next(p for p in self.pairs if {p.first, p.second} == {first, second})


def agreement(
    store: Store, project_id: int, labels: LabelColumns, scheme: str = "google", *, seed: int = 0, draws: int = 1000,
    progress: Progress = no_progress,
) -> Agreement:  # fmt: skip
    """Return the agreement over submitted labels of the project.

    With more than `MOST_COMPARISONS` pairs of labels to compare, spans are compared, and disputes found, in a random sample of segments;
    α, τ-b and the rows of raters always cover all labels. `progress` is called for each segment that is compared. Raises `UserError` for an unknown scheme,
    or a severity it does not have.
    """
    weights, index = scheme_of(scheme), store.projects.index(project_id)
    progress(0.0)
    in_project, _, _ = labels.cells(index, labels.rated_rows)
    by_output = RatedByOutput(labels, labels.rated_rows[in_project])
    raters, segments, scores = by_output.table(weights)
    table = Ratings(raters, tuple(range(scores.shape[1])), scores)
    alpha = krippendorff_alpha(scores, seed=seed, segments=segments, draws=draws)
    taus = {(p.first, p.second): p.tau for p in rater_pairs(table)}
    n_raters = (~np.isnan(scores)).sum(0)
    rows = np.array([index.row[key] for key in segments], dtype=np.int64)
    keys = [index.segments[row] for row in _sample(rows, n_raters * (n_raters - 1) // 2, seed)]
    compared = _Compared(taus, weights)
    stored = StoredTexts(store.projects, project_id, len(index.systems))
    for segment, texts in report_parts(stored.each(keys), lambda _: 1, len(keys), progress):
        for system, text in texts.items():
            compared.add(by_output.get(OutputKey(system, *segment.key), []), text, segment.source or "")
    pairs = compared.pairs()
    return Agreement(
        by_output.rater_rows(weights),
        alpha,
        pairs,
        compared.spans(),
        sum((p.confusion + p.confusion.T for p in pairs), np.zeros((4, 4), dtype=np.int64)),
        len(by_output),
        int((n_raters > 1).sum()),
        compared.n_outputs,
        compared.disputes(),
        compared.n_disputes,
        f"alpha|level:interval|draws:{draws}|seed:{seed}|{weights.signature()}",
    )


def _sample(rows: Ints, comparisons: Ints, seed: int) -> list[int]:
    """Return the rows of segments with comparisons, in their order: all, or as many drawn at random as have `MOST_COMPARISONS`.

    `rows` and `comparisons` have an entry for each output.
    """
    distinct_rows, of = np.unique(rows, return_inverse=True)
    counts = np.bincount(of, comparisons, minlength=len(distinct_rows))
    distinct_rows, counts = distinct_rows[counts > 0], counts[counts > 0]
    if counts.sum() <= MOST_COMPARISONS:
        return [int(i) for i in distinct_rows]
    order = np.random.default_rng(seed).permutation(len(distinct_rows))
    enough = int(np.searchsorted(np.cumsum(counts[order]), MOST_COMPARISONS)) + 1
    return [int(i) for i in np.sort(distinct_rows[order[:enough]])]


class _Compared:
    """Comparisons of error spans, added output by output."""

    def __init__(self, taus: Mapping[tuple[str, str], Statistic], weights: Scheme) -> None:
        self._taus, self._weights = taus, weights
        self._totals = {pair: {name: SpanTotals() for name in MATCHES} for pair in taus}
        self._confusions = {pair: np.zeros((4, 4), dtype=np.int64) for pair in taus}
        self._disputes: list[Dispute] = []
        self.n_outputs = self.n_disputes = 0

    def add(self, rated: Sequence[RatedOutput], text: str, source: str) -> None:
        """Compare the labels of an output, if it has those of several raters."""
        if len(rated) < 2:
            return
        rated, length = [with_text(r, text) for r in rated], len(text) + len(source)
        marks = {r.rater: on_one_text(r.errors, len(text)) for r in rated}
        self.n_outputs += 1
        for a, b in combinations(marks, 2):
            first, second = (a, b) if (a, b) in self._taus else (b, a)
            for name, by in MATCHES.items():
                self._totals[first, second][name].add(match_spans(marks[first], marks[second], length, by))
            self._confusions[first, second] += _confusion(marks[first], marks[second], length)
        scores = [0.0 - rater_penalty(r.errors, self._weights) for r in rated]
        difference = disagreement(scores, list(marks.values()), length)
        if difference.value:
            each = zip(rated, scores, strict=True)
            self.n_disputes += 1
            self._disputes.append(Dispute(rated[0].key, difference, tuple((r.rater, r.errors, s) for r, s in each)))

    def pairs(self) -> tuple[PairRow, ...]:
        rows = []
        for pair, of in self._totals.items():
            spans = {name: totals.agreement() for name, totals in of.items()}
            rows.append(PairRow(*pair, spans["place"].texts, self._taus[pair], spans, self._confusions[pair]))
        return tuple(rows)

    def spans(self) -> dict[str, SpanAgreement]:
        """Return the agreement over all pairs."""
        totals_by_match = {name: SpanTotals() for name in MATCHES}
        for of in self._totals.values():
            for name, totals in of.items():
                totals_by_match[name].add_all(totals)
        return {name: totals.agreement() for name, totals in totals_by_match.items()}

    def disputes(self) -> tuple[Dispute, ...]:
        """Return the `MOST_DISPUTES` worst disputes, worst first; ties are in the order of the project."""
        return tuple(sorted(self._disputes, key=lambda d: -(d.disagreement.value or 0.0))[:MOST_DISPUTES])


def _confusion(first: Sequence[SpanLabel], second: Sequence[SpanLabel], length: int) -> Ints:
    """Return `severity_confusion`, extended by a row and column of characters that only one rater marked."""
    crossed = np.zeros((4, 4), dtype=np.int64)
    if first or second:
        both = severity_confusion(first, second, length)
        crossed[:3, :3] = both
        crossed[:3, 3] = np.diag(severity_confusion(first, first, length)) - both.sum(1)
        crossed[3, :3] = np.diag(severity_confusion(second, second, length)) - both.sum(0)
    return crossed


class MarkedPiece(NamedTuple):
    """A piece of text, its worst severity ("" for none), and the numbers (from 1) of the errors that cover it.

    A piece without text is a marked position.
    """

    text: str
    severity: str
    marks: tuple[int, ...]


def stretches(text: str, errors: Sequence[Span], side: Side = "output") -> tuple[MarkedPiece, ...]:
    """Split the text where an error on this side begins or ends; the joined pieces are `text`."""
    mine = [(n, e) for n, e in enumerate(errors, start=1) if e.side == side]
    points = [(n, e) for n, e in mine if e.start == e.end]
    cuts = sorted({0, len(text), *(at for _, e in mine for at in (e.start, e.end))})
    pieces: list[MarkedPiece] = []
    for start, end in pairwise([*cuts, len(text)]):
        pieces += [_stretch("", [(n, e)]) for n, e in points if e.start == start]
        if text[start:end]:
            pieces.append(_stretch(text[start:end], [(n, e) for n, e in mine if e.start <= start and end <= e.end]))
    return tuple(pieces)


def _stretch(text: str, marks: Sequence[tuple[int, Span]]) -> MarkedPiece:
    ranks = [SEVERITIES.index(e.severity) for _, e in marks if e.severity in SEVERITIES]
    return MarkedPiece(text, SEVERITIES[min(ranks)] if ranks else "", tuple(n for n, _ in marks))


READINGS = (
    "The annotators agree no more than by chance.",
    "The annotators agree more than by chance, but not enough to rely on a single annotator: average several.",
    "The annotators agree well enough for tentative conclusions.",
    "The annotators agree well: from now on, one annotator per output is enough for scores.",
)


def reading(alpha: Interval) -> str:
    """Return an interpretation of α by Krippendorff's limits (2004): reliable from .8, tentative from .667."""
    if alpha.value is None:
        return f"There is no α: {alpha.reason}."
    said = READINGS[_grade(alpha.value)]
    if alpha.low is not None and alpha.high is not None and _grade(alpha.low) != _grade(alpha.high):
        said = f"Let two annotators label more outputs, as the interval is wide. So far: {said[0].lower()}{said[1:]}"
    return said


def _grade(value: float) -> int:
    """Return the index of the interpretation in `READINGS`."""
    return sum(value >= limit for limit in (1e-12, TENTATIVE, RELIABLE))
