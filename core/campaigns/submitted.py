"""What verdicts on raters are based on: submitted units, thresholds, and the evidence found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from core.data import Span
from core.ports.campaigns import CampaignUnit, UnitKind
from core.ports.labels import SegmentLabels
from core.stats.bootstrap import Interval

EvidenceKind = Literal[
    "checks", "suggestions", "repeats", "speed", "same answer", "same span", "copying", "agreement", "span agreement"
]
Signal = Literal["none", "weak", "strong"]
QualityAdvice = Literal["unknown", "fine", "look", "exclude?"]
PENALTIES: Mapping[str, float] = {"Major": 5.0, "Minor": 1.0}
UNUSABLE = 25.0


class OutputPlace(NamedTuple):
    """An output of a unit, by a system; of a preference, the output that is compared with that of `against`."""

    unit: str
    system: str
    against: str = ""


class WrongSuggestion(NamedTuple):
    """A planted wrong suggestion that a rater was shown in the output of a system, and whether it was accepted, as it was or edited."""

    system: str
    span: Span
    accepted: bool


class UnitJudgement(NamedTuple):
    """What one rater has said of a unit of a campaign, submitted or not.

    `began` and `ended` are the times of the first and last action, `submitted` is that of the first submission. Without a
    `participant_id` it is an adjudicator's decision; it replaces the raters' labels. `excluded` says that the labels of the participant do not count at
    present. `words` is the number of words to be read, of the source and the outputs shown; 0 if they were not counted. `wrong` are the planted wrong
    suggestions, if they were looked up.
    """

    rater: str
    unit: CampaignUnit
    labels: SegmentLabels
    began: datetime
    ended: datetime
    participant_id: int | None = None
    submitted: datetime | None = None
    excluded: bool = False
    words: int = 0
    wrong: tuple[WrongSuggestion, ...] = ()

    @property
    def is_decision(self) -> bool:
        return self.participant_id is None

    @property
    def counts(self) -> bool:
        """Return whether the labels are part of the results, unless a decision replaces them."""
        labels = self.labels
        return self.unit.kind == "item" and labels.submitted and not labels.declined and not self.excluded


@dataclass(frozen=True, slots=True)
class QualityThresholds:
    """When evidence counts as a signal. Intervals are at 95 %, and `level` is that of tests after Holm's correction over raters.

    `checks_passed` is the share of attention checks that a careful rater passes at least. `score_drop` is how much lower, in
    points, the score of a broken output must be. `words_per_second` is the fastest plausible reading. `same_answer` is the share of
    one answer that is suspicious. `close_score` is the difference of two scores, in points, and `close_spans` the F1 of error spans
    from which two answers count as nearly identical. `repeat_difference` is in points. `fewest` is the smallest number of units,
    `fewest_checks` of checks and `fewest_repeats` of repeats that is evaluated.
    """

    level: float = 0.05
    checks_passed: float = 0.7
    score_drop: float = 5.0
    words_per_second: float = 10.0
    same_answer: float = 0.9
    same_span: float = 0.5
    close_score: float = 2.0
    close_spans: float = 0.75
    repeat_difference: float = 25.0
    fewest: int = 10
    fewest_checks: int = 3
    fewest_repeats: int = 3


LIMITS = QualityThresholds()

ByRater = Mapping[str, Sequence[UnitJudgement]]


class QualityEvidence(NamedTuple):
    """One number about a rater: `text` says it in a sentence; `low` and `high` are its 95 % interval, `p` is after Holm's correction.

    Without enough cases, `value` is None and `text` says why. `value` is a share in [0, 1], words per second,
    points, or a correlation in [−1, 1].
    """

    kind: EvidenceKind
    signal: Signal
    text: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    p: float | None = None


class RaterVerdict(NamedTuple):
    """ "unknown": no evidence has a value. "fine": nothing beyond one weak signal. "look": one strong or two weak signals. "exclude?": a strong
    signal and another one."""

    rater: str
    verdict: QualityAdvice
    evidence: tuple[QualityEvidence, ...]

    @property
    def signals(self) -> tuple[QualityEvidence, ...]:
        """Return the evidence that counts, strongest first."""
        return tuple(sorted((e for e in self.evidence if e.signal != "none"), key=lambda e: e.signal != "strong"))


def spans_of(labels: SegmentLabels, system: str) -> tuple[Span, ...]:
    return tuple(m.span for m in labels.of(system).marks)


def penalty(labels: SegmentLabels, system: str) -> float:
    """Return the penalty of an output: 5 per Major and 1 per Minor error, 25 for an unusable output."""
    if labels.of(system).verdict == "non_translation":
        return UNUSABLE
    return sum(PENALTIES.get(s.severity, 0.0) for s in spans_of(labels, system))


def answers(judgement: UnitJudgement) -> dict[OutputPlace, float]:
    """Return the number a rater gave each output, higher is better: its score; without scores, minus its penalty.

    A preference is one number for the pair: 1 if the first system (in the order of their names) is better, −1 if the second is, 0
    if both are equally good.
    """
    labels = judgement.labels
    if labels.declined:
        return {}
    if "preference" in labels.asks:
        if not labels.preference:
            return {}
        winner, pair = labels.preference[0], sorted(judgement.unit.systems)
        return {OutputPlace(judgement.unit.name, *pair): 0.0 if winner is None else 1.0 if winner == pair[0] else -1.0}
    if "score" in labels.asks:
        scores = {s: labels.of(s).score for s in judgement.unit.systems}
        return {OutputPlace(judgement.unit.name, s): score for s, score in scores.items() if score is not None}
    return {OutputPlace(judgement.unit.name, s): -penalty(labels, s) for s in judgement.unit.systems}


def of_kind(units: Sequence[UnitJudgement], *kinds: UnitKind) -> list[UnitJudgement]:
    """Return the units of these kinds that were not declined."""
    return [u for u in units if u.unit.kind in kinds and not u.labels.declined]


def percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f} %"


def interval_text(share: Interval) -> str:
    return f"95 % CI {percent(share.low)} to {percent(share.high)}"


def format_p(p: float) -> str:
    return "< .001" if p < 0.001 else f"= {p:.3f}".replace("0.", ".", 1)
