"""Tutorials: compare a rater's answer with the known right answer, and explain the difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from core.campaigns.attention_checks import overlapping
from core.campaigns.design import TutorialItem
from core.data import OutputKey, Span
from core.ports.labels import OutputLabels

FeedbackKind = Literal["found", "missed", "extra", "severity", "score"]
NEUTRAL = "Neutral"


class Remark(NamedTuple):
    """A sentence with `{names}`, and their values, so that the page can show it in another language."""

    template: str
    values: Mapping[str, str | Remark] = {}

    def __str__(self) -> str:
        return self.template.format(**{name: str(value) for name, value in self.values.items()})

    def parts(self) -> list[Any]:
        """Return [template, values], where a value may be such a pair itself."""
        return [
            self.template, {k: v.parts() if isinstance(v, Remark) else v for k, v in self.values.items()}
        ]  # fmt: skip


class TutorialFeedback(NamedTuple):
    """One remark on an answer. `span` is the right error span, or the rater's own for "extra" and "severity"; None for the score."""

    kind: FeedbackKind
    remark: Remark
    span: Span | None = None

    @property
    def text(self) -> str:
        return str(self.remark)


class TutorialResult(NamedTuple):
    """The remarks on an answer, and its mark in [0, 1], higher is better."""

    feedback: tuple[TutorialFeedback, ...]
    mark: float
    right: bool
    explanation: str = ""


def tutorial_result(item: TutorialItem, labels: OutputLabels, *, asks: Sequence[str] = ("spans",)) -> TutorialResult:
    """Compare an answer with the right one.

    The mark is the mean of its parts, those of `asks`. Error spans: 2·found/(right spans + own spans), where a right span that is
    overlapped counts 1, with another severity ½; 1 if there are none on both sides. Score: 1 in the expected range, otherwise 1 less
    the distance from it divided by 25, at least 0. A remark of severity Neutral is neither right nor wrong. `right` says that there
    is nothing to correct.
    """
    feedback: list[TutorialFeedback] = []
    parts: list[float] = []
    if "spans" in asks:
        spans, part = _spans(item.errors, [m.span for m in labels.marks])
        feedback += spans
        parts.append(part)
    if "score" in asks and item.score is not None:
        score, part = _score(item.score, labels.score)
        feedback += score
        parts.append(part)
    mark = sum(parts) / len(parts) if parts else 1.0
    return TutorialResult(tuple(feedback), mark, all(f.kind == "found" for f in feedback), item.feedback)


def tutorial_mark(results: Sequence[TutorialResult]) -> float:
    """Return the mean mark of the items, in [0, 1]; 1 without items."""
    return sum(r.mark for r in results) / len(results) if results else 1.0


def tutorial_to_json(item: TutorialItem) -> dict[str, Any]:
    """Return the right answer as plain values, for the details of its unit."""
    return {
        "system": item.key.system,
        "errors": [
            {"side": s.side, "start": s.start, "end": s.end, "quote": s.quote, "severity": s.severity,
             "category": s.category, "note": s.note}
            for s in item.errors
        ],
        "score": None if item.score is None else list(item.score),
        "feedback": item.feedback,
    }  # fmt: skip


def tutorial_from_json(details: Mapping[str, Any], doc_id: str, segment_id: str) -> TutorialItem:
    """Return the right answer of a unit's details."""
    score = details.get("score")
    return TutorialItem(
        OutputKey(details["system"], doc_id, segment_id),
        tuple(Span(**s) for s in details["errors"]),
        None if score is None else (float(score[0]), float(score[1])),
        details.get("feedback", ""),
    )


def _spans(right: Sequence[Span], own: Sequence[Span]) -> tuple[list[TutorialFeedback], float]:
    expected = [s for s in right if s.severity != NEUTRAL]
    marked = [s for s in own if s.severity != NEUTRAL]
    feedback, credit = list[TutorialFeedback](), 0.0
    for span in expected:
        hits = [o for o in marked if _meet(span, o)]
        if not hits:
            feedback.append(TutorialFeedback("missed", Remark("You missed {what}.", {"what": _named(span)}), span))
        elif any(o.severity == span.severity for o in hits):
            credit += 1
            feedback.append(TutorialFeedback("found", Remark("You found {what}.", {"what": _named(span)}), span))
        else:
            credit += 0.5
            parts: dict[str, str | Remark] = {"what": _named(span), "right": span.severity, "yours": hits[0].severity}
            remark = Remark("You found {what}, but its severity is {right}, not {yours}.", parts)
            feedback.append(TutorialFeedback("severity", remark, hits[0]))
    extra = [o for o in marked if not any(_meet(s, o) for s in right)]
    feedback += [TutorialFeedback("extra", Remark("No error: {what}.", {"what": _named(o)}), o) for o in extra]
    total = len(expected) + len(expected) + len(extra)
    return feedback, 2 * credit / total if total else 1.0


def _meet(right: Span, own: Span) -> bool:
    return right.side == own.side and overlapping((right.start, right.end), (own.start, own.end))


def _named(span: Span) -> Remark:
    if not span.quote.strip():
        return Remark("an omission")
    quote = span.quote if len(span.quote) <= 60 else f"{span.quote[:57]}…"
    return Remark("“{quote}” in the source" if span.side == "source" else "“{quote}”", {"quote": quote})


def _score(expected: tuple[float, float], own: float | None) -> tuple[list[TutorialFeedback], float]:
    low, high = expected
    good = {"low": f"{low:g}", "high": f"{high:g}"}
    if own is None:
        return [TutorialFeedback("score", Remark("Set a score. A good one lies between {low} and {high}.", good))], 0.0
    if low <= own <= high:
        return [], 1.0
    far = low - own if own < low else own - high
    below = "Your score of {score} is too low. A good one lies between {low} and {high}."
    above = "Your score of {score} is too high. A good one lies between {low} and {high}."
    remark = Remark(below if own < low else above, good | {"score": f"{own:g}"})
    return [TutorialFeedback("score", remark)], max(0.0, 1 - far / 25)
