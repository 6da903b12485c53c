"""Simulated raters: careful, careless, copying and adversarial ones, as functions from texts and true errors to answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Literal, NamedTuple

from core.data import Severity, Span
from core.ports.labels import Ask, ErrorSpan, OutputLabels, SegmentLabels
from core.text.words import words

Habit = Literal["careful", "careless", "same", "copycat", "adversarial"]
"""`careless` answers at random, `same` always gives nearly the same answer."""
UNSPECIFIED = "Accuracy/Mistranslation"
POINTS = {"Major": 14.0, "Minor": 5.0}
LONG, LONG_POINTS = 4, 28.0
"""A wrong stretch of this many words costs more: the meaning of the output is lost."""
WORDS_PER_SECOND = {"careful": 2.5, "careless": 5.0, "same": 6.0, "copycat": 4.0, "adversarial": 3.0}


class BotOutput(NamedTuple):
    """A simulated output and its true errors."""

    text: str
    errors: tuple[Span, ...] = ()


class BotAnswer(NamedTuple):
    """Spans and score of each system's output, and () or the preferred system (None for equally good)."""

    spans: Mapping[str, tuple[Span, ...]]
    scores: Mapping[str, float]
    preference: tuple[str | None, ...] = ()


class BotRater(NamedTuple):
    """`skill` is how well errors are found (0 is usual), `bias` is added to scores, `noise` is the standard deviation of scores."""

    habit: Habit
    skill: float = 0.0
    bias: float = 0.0
    noise: float = 8.0
    speed: float = 2.5


Shown = Mapping[str, BotOutput]


def bot_rater(habit: Habit, rng: Random) -> BotRater:
    speed = WORDS_PER_SECOND[habit] * math.exp(rng.gauss(0, 0.3))
    return BotRater(habit, rng.gauss(0, 0.06), rng.gauss(0, 8), rng.uniform(5, 12), speed)


def answer(rater: BotRater, shown: Shown, rng: Random, others: Sequence[BotAnswer] = ()) -> BotAnswer:
    """Return a rater's answer to the outputs shown. `others` are the answers that other people gave to the unit before."""
    if rater.habit == "copycat":
        return copied(shown, rng, others)
    return _MODELS[rater.habit](rater, shown, rng)


def careful(rater: BotRater, shown: Shown, rng: Random) -> BotAnswer:
    """Find most errors, with uncertain boundaries and severities, and score by what was found, with bias and noise."""
    spans = {system: _found(rater, output, rng) for system, output in shown.items()}
    quality = {system: 95 - sum(_points(s) for s in of) for system, of in spans.items()}
    return _answer(rater, spans, quality, rng)


def careless(rater: BotRater, shown: Shown, rng: Random) -> BotAnswer:
    """Mark random words and give random scores."""
    spans = {system: _random_spans(output.text, rng, rng.choice((0, 1, 1, 2))) for system, output in shown.items()}
    scores = {system: float(min(100, max(0, round(rng.gauss(70, 18))))) for system in shown}
    return BotAnswer(spans, scores, _preference({s: rng.random() for s in shown}, 0.0))


def same(rater: BotRater, shown: Shown, rng: Random) -> BotAnswer:
    """Nearly always mark the first word, score 80 and prefer the first output."""
    spans, scores = {}, {}
    for system, output in shown.items():
        usual = rng.random() < 0.95
        first = words(output.text)[0]
        spans[system] = (_span(output.text, *first, "Minor"),) if usual else ()
        scores[system] = 80.0 if usual else float(rng.randint(60, 95))
    return BotAnswer(spans, scores, (next(iter(shown)),) if rng.random() < 0.95 else (None,))


def adversarial(rater: BotRater, shown: Shown, rng: Random) -> BotAnswer:
    """Answer the opposite of a careful rater: good outputs get errors and low scores, bad ones none and high scores."""
    seen = careful(rater, shown, rng)
    spans = {
        system: () if seen.spans[system] else _random_spans(output.text, rng, 2, "Major")
        for system, output in shown.items()
    }
    scores = {system: 100 - score for system, score in seen.scores.items()}
    turned = tuple(next((s for s in shown if s != winner), None) if winner else None for winner in seen.preference)
    return BotAnswer(spans, scores, turned)


def copied(shown: Shown, rng: Random, others: Sequence[BotAnswer]) -> BotAnswer:
    """Copy somebody's answer with small changes; answer at random if nobody has answered yet."""
    if not others:
        return careless(BotRater("copycat"), shown, rng)
    model = rng.choice(others)
    spans = {}
    for system, output in shown.items():
        kept = [_moved(output.text, s, rng) if rng.random() < 0.1 else s for s in model.spans[system]]
        spans[system] = tuple(kept[:-1] if len(kept) > 1 and rng.random() < 0.1 else kept)
    scores = {s: float(min(100, max(0, v + rng.randint(-2, 2)))) for s, v in model.scores.items()}
    changed = rng.random() < 0.04
    return BotAnswer(spans, scores, (rng.choice([*shown, None]),) if changed else model.preference)


def labels_of(given: BotAnswer, asks: Sequence[Ask], seconds: float) -> SegmentLabels:
    """Return an answer as submitted labels; only what the protocol asks for."""
    outputs = {}
    for system, spans in given.spans.items():
        marks = tuple(ErrorSpan(str(i), s) for i, s in enumerate(spans)) if "spans" in asks else ()
        score = given.scores[system] if "score" in asks else None
        outputs[system] = OutputLabels(marks, None if marks or "spans" not in asks else "no_error", score)
    return SegmentLabels(
        outputs if "preference" not in asks else {}, True, tuple(given.spans), asks=tuple(asks), seconds=seconds,
        preference=given.preference if "preference" in asks else (),
    )  # fmt: skip


_MODELS: Mapping[Habit, Callable[[BotRater, Shown, Random], BotAnswer]] = {
    "careful": careful,
    "careless": careless,
    "same": same,
    "adversarial": adversarial,
}


def _points(span: Span) -> float:
    return LONG_POINTS if len(span.quote.split()) >= LONG else POINTS[span.severity]


def _answer(rater: BotRater, spans: dict[str, tuple[Span, ...]], quality: dict[str, float], rng: Random) -> BotAnswer:
    noisy = {s: q + rng.gauss(0, rater.noise) for s, q in quality.items()}
    scores = {s: float(min(100, max(0, round(q + rater.bias)))) for s, q in noisy.items()}
    return BotAnswer(spans, scores, _preference(noisy, 3.0))


def _preference(quality: Mapping[str, float], tie: float) -> tuple[str | None, ...]:
    ranked = sorted(quality, key=lambda s: -quality[s])
    if len(ranked) < 2:
        return ()
    return (ranked[0] if quality[ranked[0]] - quality[ranked[1]] > tie else None,)


def _found(rater: BotRater, output: BotOutput, rng: Random) -> tuple[Span, ...]:
    found = []
    for error in output.errors:
        chance = (0.88 if error.severity == "Major" else 0.65) + rater.skill
        if len(error.quote.split()) >= LONG:
            chance = 0.97
        if rng.random() >= chance:
            continue
        severity: Severity = "Minor" if (error.severity == "Minor") == (rng.random() < 0.85) else "Major"
        moved = _moved(output.text, error, rng) if rng.random() < 0.3 else error
        found.append(moved.__class__(moved.side, moved.start, moved.end, moved.quote, severity, moved.category))
    if rng.random() < 0.15:
        found += _random_spans(output.text, rng, 1, "Minor")
    return tuple({(s.start, s.end): s for s in found}.values())


def _moved(text: str, span: Span, rng: Random) -> Span:
    """Return the span with one word more or less at its end."""
    ends = sorted({end for _, end in words(text) if end > span.start} | {span.end})
    at = min(max(ends.index(span.end) + rng.choice((-1, 1)), 0), len(ends) - 1)
    return _span(text, span.start, ends[at], span.severity)


def _random_spans(text: str, rng: Random, count: int, severity: Severity | None = None) -> tuple[Span, ...]:
    found, made = words(text), {}
    for _ in range(count):
        i = rng.randrange(len(found))
        j = min(len(found) - 1, i + rng.randint(0, 2))
        made[i, j] = _span(text, found[i][0], found[j][1], severity or rng.choice(("Major", "Minor")))
    return tuple(made.values())


def _span(text: str, start: int, end: int, severity: str) -> Span:
    return Span("output", start, end, text[start:end], severity, UNSPECIFIED)
