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

from core.data import SEVERITIES, OutputKey, RatedOutput, SegmentKey, Side, Span, grouped
from core.mqm.log import SegmentLabels
from core.mqm.schemes import scheme as scheme_of
from core.mqm.scores import rated_outputs, rater_penalty
from core.mqm.typology import is_non_translation
from core.ports.labels import Event
from core.ports.store import Store
from core.services.labels import all_labels
from core.services.projects.texts import StoredTexts
from core.stats.bootstrap import Interval
from core.stats.correlation.correlation import Statistic
from core.stats.correlation.pairs import Ints
from core.stats.raters.disagreement import Disagreement, disagreement, worst_first
from core.stats.raters.rater_agreement import krippendorff_alpha, rater_pairs, ratings
from core.stats.raters.span_agreement import (
    By,
    SpanAgreement,
    SpanLabel,
    SpanMatch,
    match_spans,
    severity_confusion,
    span_agreement,
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
FROM_A_FILE = "import-"
"""Prefix of the ids of imported actions (`core.mqm.actions`), for which no time was recorded."""


class RaterRow(NamedTuple):
    """One rater's work: outputs of submitted segments, errors by severity (non-translations apart), mean MQM score (≤ 0).

    `seconds` is the time spent on the `timed` segments annotated here; None if all labels were imported.
    """

    rater: str
    outputs: int
    segments: int
    clean: int
    non_translations: int
    errors: Mapping[str, int]
    score: float
    seconds: float | None
    timed: int


class PairRow(NamedTuple):
    """Agreement of two raters on the `outputs` both rated. `spans` has the keys of `MATCHES`.

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

    `outputs` have at least one rater, `twice` at least two; `disputes` are ordered worst first. `signature` belongs to `alpha`.
    """

    raters: tuple[RaterRow, ...]
    alpha: Interval
    pairs: tuple[PairRow, ...]
    spans: Mapping[str, SpanAgreement]
    confusion: Ints
    outputs: int
    twice: int
    disputes: tuple[Dispute, ...]
    signature: str

    def between(self, first: str, second: str) -> PairRow:
        """Return the pair, in either order."""
        return next(p for p in self.pairs if {p.first, p.second} == {first, second})


def agreement(store: Store, project_id: int, scheme: str = "google", *, seed: int = 0, draws: int = 1000) -> Agreement:
    """Return the agreement over all submitted labels.

    Raises `UserError` for an unknown scheme, or a severity it does not have.
    """
    weights = scheme_of(scheme)
    events = store.labels.events(project_id)
    labels = all_labels.labels(store, project_id)
    stored = StoredTexts(store.projects, project_id, len(store.projects.get(project_id).systems))
    read = list(stored.each(segment for _, segment in labels))
    texts = {OutputKey(system, *s.key): text for s, of_system in read for system, text in of_system.items()}
    sources = {s.key: s.source or "" for s, _ in read}
    rated = [r for r in rated_outputs(labels, texts) if r.key in texts]
    scores = {(r.rater, r.key): 0.0 - rater_penalty(r.errors, weights) for r in rated}
    by_output = grouped((r.key, r) for r in rated)
    table = ratings((rater, key, score) for (rater, key), score in scores.items())
    segments = [key.segment for key in by_output]
    alpha = krippendorff_alpha(table.scores, seed=seed, segments=segments, draws=draws)
    compared = {key: _marks(of, len(texts[key])) for key, of in by_output.items() if len(of) > 1}
    lengths = {key: len(texts[key]) + len(sources[key.segment]) for key in compared}
    pairs, matches = _pairs(compared, lengths, {(p.first, p.second): p.tau for p in rater_pairs(table)})
    confusion = sum((p.confusion + p.confusion.T for p in pairs), np.zeros((4, 4), dtype=np.int64))
    found = {
        key: disagreement([scores[r.rater, key] for r in by_output[key]], list(marks.values()), lengths[key])
        for key, marks in compared.items()
    }
    disputes = [
        Dispute(key, found[key], tuple((r.rater, r.errors, scores[r.rater, key]) for r in by_output[key]))
        for key in worst_first(found)
    ]
    return Agreement(
        _rater_rows(table.raters, rated, scores, labels, events),
        alpha,
        pairs,
        {name: span_agreement(m) for name, m in matches.items()},
        confusion,
        len(by_output),
        len(compared),
        tuple(disputes),
        f"alpha|level:interval|draws:{draws}|seed:{seed}|{weights.signature()}",
    )


def _marks(rated: Sequence[RatedOutput], length: int) -> dict[str, list[SpanLabel]]:
    """Return each rater's marks; those on the source are moved by `length`, the length of the output."""

    def moved(error: Span) -> SpanLabel:
        by = length if error.side == "source" else 0
        return SpanLabel(error.start + by, error.end + by, error.severity, error.category)

    return {r.rater: list(map(moved, r.errors)) for r in rated}


def _pairs(
    compared: Mapping[OutputKey, Mapping[str, Sequence[SpanLabel]]],
    lengths: Mapping[OutputKey, int],
    taus: Mapping[tuple[str, str], Statistic],
) -> tuple[tuple[PairRow, ...], dict[str, list[SpanMatch]]]:
    matches: dict[tuple[str, str], dict[str, list[SpanMatch]]] = {pair: {name: [] for name in MATCHES} for pair in taus}
    confusions: dict[tuple[str, str], Ints] = {pair: np.zeros((4, 4), dtype=np.int64) for pair in taus}
    for key, marks in compared.items():
        for a, b in combinations(marks, 2):
            first, second = (a, b) if (a, b) in taus else (b, a)
            for name, by in MATCHES.items():
                matches[first, second][name].append(match_spans(marks[first], marks[second], lengths[key], by))
            confusions[first, second] += _confusion(marks[first], marks[second], lengths[key])
    rows = tuple(
        PairRow(*pair, len(m["place"]), taus[pair], {n: span_agreement(of) for n, of in m.items()}, confusions[pair])
        for pair, m in matches.items()
    )
    return rows, {name: [one for m in matches.values() for one in m[name]] for name in MATCHES}


def _confusion(first: Sequence[SpanLabel], second: Sequence[SpanLabel], length: int) -> Ints:
    """Return `severity_confusion`, extended by a row and column of characters that only one rater marked."""
    crossed = np.zeros((4, 4), dtype=np.int64)
    if first or second:
        both = severity_confusion(first, second, length)
        crossed[:3, :3] = both
        crossed[:3, 3] = np.diag(severity_confusion(first, first, length)) - both.sum(1)
        crossed[3, :3] = np.diag(severity_confusion(second, second, length)) - both.sum(0)
    return crossed


def _rater_rows(
    raters: Sequence[str],
    rated: Sequence[RatedOutput],
    scores: Mapping[tuple[str, OutputKey], float],
    labels: Mapping[tuple[str, SegmentKey], SegmentLabels],
    events: Sequence[Event],
) -> tuple[RaterRow, ...]:
    here = {(e.rater, e.segment) for e in events if e.action.kind != "open" and not e.action.id.startswith(FROM_A_FILE)}
    here |= labels.keys() - {(e.rater, e.segment) for e in events}  # labels of campaigns are never from a file
    rows = []
    for rater in raters:
        mine = [r for r in rated if r.rater == rater]
        segments = dict.fromkeys(r.key.segment for r in mine)
        timed = [labels[rater, s].seconds for s in segments if (rater, s) in here]
        whole = [r for r in mine if any(is_non_translation(e.category) for e in r.errors)]
        errors = [e for r in mine for e in r.errors if not is_non_translation(e.category)]
        rows.append(
            RaterRow(
                rater,
                len(mine),
                len(segments),
                sum(not r.errors for r in mine),
                len(whole),
                {severity: sum(e.severity == severity for e in errors) for severity in SEVERITIES},
                float(np.mean([scores[rater, r.key] for r in mine])),
                sum(timed) if timed else None,
                len(timed),
            )
        )
    return tuple(rows)


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
    found: list[MarkedPiece] = []
    for start, end in pairwise([*cuts, len(text)]):
        found += [_stretch("", [(n, e)]) for n, e in points if e.start == start]
        if text[start:end]:
            found.append(_stretch(text[start:end], [(n, e) for n, e in mine if e.start <= start and end <= e.end]))
    return tuple(found)


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
