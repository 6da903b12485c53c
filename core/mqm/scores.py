"""MQM scores (Freitag et al. 2021, section 3.3): penalties summed per rater and averaged over the raters of an output."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from core.data import OutputKey, RatedOutput, SegmentKey, Span
from core.mqm.schemes import Scheme
from core.mqm.typology import is_non_translation
from core.ports.labels import OutputLabels, SegmentLabels

DECIMALS = 12
"""Scores are rounded to this many decimals, so that 5 + 0.1 + 0.1 equals 5.2 in any order."""
NON_TRANSLATION_ROW = "Non-translation!"
"""The spelling in Google's files, which mt-metrics-eval expects."""


class SegmentScore(NamedTuple):
    """MQM score of an output, ≤ 0, higher is better: minus the mean penalty over `n_raters` raters."""

    system: str
    doc_id: str
    segment_id: str
    score: float
    n_raters: int

    @property
    def key(self) -> OutputKey:
        return OutputKey(self.system, self.doc_id, self.segment_id)


class SystemScore(NamedTuple):
    """MQM score of a system, ≤ 0, higher is better: the mean of its segment scores, by `n_raters` raters in all."""

    system: str
    score: float
    n_segments: int
    n_raters: int


def rater_penalty(errors: Iterable[Span], scheme: Scheme) -> float:
    """Return the penalty of one rater's errors on one output, ≥ 0; 0 without errors.

    A non-translation replaces the other errors if the scheme has a weight for it.
    Raises `UserError` for a severity unknown to the scheme.
    """
    all_errors = tuple(errors)
    whole = [e for e in all_errors if is_non_translation(e.category)]
    if whole and scheme.non_translation is not None:
        return scheme.non_translation
    return math.fsum(scheme.weight(e.severity, e.category) for e in all_errors)


def segment_scores(rated: Iterable[RatedOutput], scheme: Scheme) -> list[SegmentScore]:
    """Return one score per rated output, in the order of first appearance. Several entries of a rater are merged."""
    errors: dict[OutputKey, dict[str, list[Span]]] = {}
    for r in rated:
        errors.setdefault(r.key, {}).setdefault(r.rater, []).extend(r.errors)
    scores = []
    for key, by_rater in errors.items():
        penalty = math.fsum(rater_penalty(e, scheme) for e in by_rater.values()) / len(by_rater)
        scores.append(SegmentScore(*key, 0.0 - round(penalty, DECIMALS), len(by_rater)))
    return scores


def system_scores(rated: Sequence[RatedOutput], scheme: Scheme) -> list[SystemScore]:
    """Return the mean segment score of each system, best first; ties are sorted by name."""
    by_system: dict[str, list[float]] = {}
    for s in segment_scores(rated, scheme):
        by_system.setdefault(s.system, []).append(s.score)
    raters: dict[str, set[str]] = {}
    for r in rated:
        raters.setdefault(r.key.system, set()).add(r.rater)
    means = [mean_of_system(name, v, len(raters[name])) for name, v in by_system.items()]
    return sorted(means, key=lambda s: (-s.score, s.system))


def mean_of_system(name: str, scores: Sequence[float], n_raters: int) -> SystemScore:
    return SystemScore(name, round(math.fsum(scores) / len(scores), DECIMALS), len(scores), n_raters)


def rated_outputs(
    labels: Mapping[tuple[str, SegmentKey], SegmentLabels],
    texts: Mapping[OutputKey, str] | None = None,
) -> list[RatedOutput]:
    """Return the labels as rated outputs, without outputs that have neither an error span nor a verdict.

    An output with a score needs neither: without spans it has no error. Labels that are not submitted are left out, and segments whose protocol
    asks for no spans or which the rater could not judge. With `texts`, a non-translation covers its whole text.
    """
    rated = []
    for (rater, segment), of_segment in labels.items():
        for system, of_output in of_segment.outputs.items():
            if counts_as_rated(system, of_segment):
                key = OutputKey(system, *segment)
                rated.append(RatedOutput(key, rater, errors_of(of_output, (texts or {}).get(key, ""))))
    return rated


def counts_as_rated(system: str, segment: SegmentLabels) -> bool:
    """Return whether the labels of a system's output in these labels of its segment are those of a rated output (`rated_outputs`)."""
    if not segment.submits(system) or segment.declined or "spans" not in segment.asks:
        return False
    labels = segment.of(system)
    return labels.complete or ("score" in segment.asks and labels.score is not None)


def with_text(rated: RatedOutput, text: str) -> RatedOutput:
    """Return the labels with the `text` of the output filled in: a non-translation covers all of it."""
    if NO_TEXT not in rated.errors:
        return rated
    return rated._replace(errors=tuple(_whole(text) if error == NO_TEXT else error for error in rated.errors))


def errors_of(labels: OutputLabels, text: str = "") -> tuple[Span, ...]:
    """Return the errors of one output; the verdict non-translation is one error over the whole `text`."""
    if labels.verdict == "non_translation":
        return (_whole(text),)
    return tuple(m.span for m in labels.marks)


def _whole(text: str) -> Span:
    return Span("output", 0, len(text), text, "Major", NON_TRANSLATION_ROW)


NO_TEXT = _whole("")
"""The error of a non-translation whose text was not read."""
