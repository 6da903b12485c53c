"""Attention checks: outputs of the project with a planted error whose place and severity are known.

In English outputs the errors are those of `core.perturbations`: negation, wrong number, wrong name, omission. In every language a
sentence of another document is added, or a stretch of words is replaced by one of another document, as in the quality checks of
direct assessment (Graham et al. 2014). All are clear errors of meaning, so their severity is Major.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, Literal, NamedTuple

from core.data import Span
from core.perturbations.registry import load_perturbation
from core.text.edits import Change, Edit, apply
from core.text.languages import language
from core.text.sentences import movable_sentences
from core.text.words import is_unspaced, words

PlantedKind = Literal["negation", "number", "name", "omission", "addition", "replacement", "jumble"]
CATEGORIES: Mapping[PlantedKind, str] = {
    "negation": "Accuracy/Mistranslation",
    "number": "Accuracy/Mistranslation",
    "name": "Accuracy/Mistranslation",
    "omission": "Accuracy/Omission",
    "addition": "Accuracy/Addition",
    "replacement": "Accuracy/Mistranslation",
    "jumble": "Fluency/Grammar",
}
ENGLISH: tuple[PlantedKind, ...] = ("negation", "number", "name", "omission")
"""Errors that are visible only in comparison with the source."""
ANY_LANGUAGE: tuple[PlantedKind, ...] = ("addition", "replacement")
SEVERITY = "Major"
LEFT_OUT = 4
"""An omission leaves out at least this many words. Without a single adjective, an output may be as good as before."""
SHORTEST = 4
"""In shorter texts, and with shorter sentences of other documents, the error would not be clear."""
TRIES = 8


class PlantedError(NamedTuple):
    """An output with a planted error. `spans` lie in `text`, the changed text, in their order, and quote what was changed.

    What was left out has an empty span: only its place is known.
    """

    kind: PlantedKind
    text: str
    spans: tuple[Span, ...]

    def found_by(self, marked: Sequence[Span]) -> bool:
        """Return whether an error span overlaps a planted one. An omission is also found by any error span in the source, and by
        one that contains or touches its place."""
        return any(
            self.kind == "omission"
            if span.side == "source"
            else any(overlapping((p.start, p.end), (span.start, span.end)) for p in self.spans)
            for span in marked
        )


class AttentionCheck(NamedTuple):
    """What the details of a check unit hold. `broken` names the system whose output has the planted error.

    `clean` names the system that shows the unchanged text on the same screen, and `unit` the unit that shows it on another one.
    Each is "" if there is none.
    """

    planted: PlantedError
    broken: str
    clean: str = ""
    unit: str = ""


def overlapping(place: tuple[int, int], other: tuple[int, int]) -> bool:
    """Return whether two ranges share a character. An empty range overlaps those that contain or touch it (at one character
    distance, for the space beside it)."""
    (a, b), (c, d) = place, other
    if a == b:
        return c - 1 <= a <= d + 1
    return c - 1 <= a and b <= d + 1 if c == d else a < d and c < b


def planted(output_text: str, source: str | None, rng: Random, others: Sequence[str] = ()) -> PlantedError | None:
    """Return the output with one planted error of a random kind, or None if none is certain to be clear.

    `others` are outputs of other documents in the same language.
    Without a source, only kinds are used that readers notice in the output alone. With neither of the preferred kinds, a stretch of
    words is shuffled. The result depends on the arguments and the state of `rng` only.
    """
    english = language(output_text) == "English"
    first: list[PlantedKind] = [*(ENGLISH if english else ("omission",))] if source else []
    kinds = [*first, *ANY_LANGUAGE] if others else first
    rng.shuffle(kinds)
    for kind in [*kinds, "jumble"]:
        edits = _WAYS[kind](output_text, rng, others) if kind in _WAYS else _perturbed(kind, output_text, rng)
        if kind == "omission" and not edits and english:
            edits = _perturbed(kind, output_text, rng)
        if edits:
            changed = apply(output_text, edits)
            if changed.strip() and changed != output_text:
                return PlantedError(kind, changed, _spans(output_text, changed, edits, CATEGORIES[kind]))
    return None


def check_to_json(check: AttentionCheck) -> dict[str, Any]:
    """Return the check as plain values, for the details of its unit."""
    spans = [
        {"start": s.start, "end": s.end, "quote": s.quote, "severity": s.severity, "category": s.category}
        for s in check.planted.spans
    ]
    return {
        "planted": {"kind": check.planted.kind, "text": check.planted.text, "spans": spans},
        "broken": check.broken,
        "clean": check.clean,
        "unit": check.unit,
    }


def check_from_json(details: Mapping[str, Any]) -> AttentionCheck:
    """Return the check of a unit's details."""
    made = details["planted"]
    spans = tuple(Span("output", **span) for span in made["spans"])
    return AttentionCheck(
        PlantedError(made["kind"], made["text"], spans),
        details["broken"],
        details.get("clean", ""),
        details.get("unit", ""),
    )


def stretch_length(n_words: int) -> int:
    """Return how many of `n_words` words are replaced, about a quarter: as in WMT (Bojar et al. 2016, section 3.2)."""
    for most, length in ((1, 1), (5, 2), (8, 3), (15, 4), (20, 5)):
        if n_words <= most:
            return length
    return n_words // 4


def _spans(before: str, after: str, edits: Sequence[Edit], category: str) -> tuple[Span, ...]:
    spans, shift = [], 0
    for edit in edits:
        old, new = before[edit.start : edit.end], edit.new
        head = _same_spaces(old, new)
        tail = _same_spaces(old[head:][::-1], new[head:][::-1])
        start, end = edit.start + shift + head, edit.start + shift + len(new) - tail
        if old[head : len(old) - tail].strip() == "":  # nothing but an insertion: its spaces are not the error
            start += len(after[start:end]) - len(after[start:end].lstrip())
            end -= len(after[start:end]) - len(after[start:end].rstrip())
        spans.append(Span("output", start, end, after[start:end], SEVERITY, category))
        shift += len(new) - len(old)
    return tuple(spans)


def _same_spaces(a: str, b: str) -> int:
    """Return how many spaces both texts start with."""
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n] and a[n].isspace():
        n += 1
    return n


def _perturbed(kind: PlantedKind, text: str, rng: Random) -> Sequence[Edit]:
    for _ in range(TRIES):
        made = load_perturbation(kind).perturb(text, rng.getrandbits(32))
        if not isinstance(made, Change):
            return ()
        lost = sum(len(words(text[e.start : e.end])) - len(words(e.new)) for e in made.edits)
        if kind != "omission" or lost >= LEFT_OUT:
            return made.edits
    return ()


def _sentence_left_out(text: str, rng: Random, others: Sequence[str]) -> Sequence[Edit]:
    spans = [span for span in movable_sentences(text) if len(words(text[slice(*span)])) >= LEFT_OUT]
    if len(spans) < 2:
        return ()
    start, end = rng.choice(spans)
    if not text[:start].strip():
        end += len(text[end:]) - len(text[end:].lstrip())
    return (Edit(len(text[:start].rstrip()), end, ""),)


def _sentence_added(text: str, rng: Random, others: Sequence[str]) -> Sequence[Edit]:
    ends = [end for _, end in movable_sentences(text)]
    own = len(words(text))
    if own < SHORTEST or not ends:
        return ()
    for _ in range(TRIES):
        other = rng.choice(others)
        spans = [s for s in movable_sentences(other) if SHORTEST <= len(words(other[slice(*s)])) <= max(12, own)]
        if not spans:
            continue
        sentence = other[slice(*rng.choice(spans))]
        if sentence in text or "\n" in sentence or 2 * _shared(sentence, text) > len(words(sentence)):
            continue
        at = rng.choice(ends)
        return (Edit(at, at, sentence if is_unspaced(text[words(text)[-1][0]]) else f" {sentence}"),)
    return ()


def _stretch(text: str, rng: Random, length: int) -> tuple[int, int] | None:
    """Return a random stretch of words on one line, neither the first nor the last word of a longer text."""
    word_spans = words(text)
    inner = int(len(word_spans) > length + 2)
    starts = range(inner, len(word_spans) - length - inner + 1)
    stretches = [(word_spans[i][0], word_spans[i + length - 1][1]) for i in starts]
    stretches = [(a, b) for a, b in stretches if "\n" not in text[a:b]]
    return rng.choice(stretches) if stretches else None


def _stretch_replaced(text: str, rng: Random, others: Sequence[str]) -> Sequence[Edit]:
    n = len(words(text))
    if n < SHORTEST:
        return ()
    for _ in range(TRIES):
        other, length = rng.choice(others), stretch_length(n)
        place, taken = _stretch(text, rng, length), _stretch(other, rng, length)
        if place is None or taken is None:
            continue
        old, new = text[slice(*place)], other[slice(*taken)]
        (a, b), (c, d) = _ends(old), _ends(new)
        if a != c and b != d and 2 * _shared(new, text) <= length:
            return (Edit(*place, new),)
    return ()


def _stretch_shuffled(text: str, rng: Random, others: Sequence[str]) -> Sequence[Edit]:
    word_spans = words(text)
    length = max(SHORTEST, len(word_spans) // 2)
    for _ in range(TRIES if len(word_spans) >= length + 2 else 0):
        place = _stretch(text, rng, length)
        if place is None:
            return ()
        old = [text[a:b] for a, b in word_spans if place[0] <= a and b <= place[1]]
        new = rng.sample(old, len(old))
        moved = sum(a.casefold() != b.casefold() for a, b in zip(old, new, strict=True))
        if old[0].casefold() != new[0].casefold() and old[-1].casefold() != new[-1].casefold() and 2 * moved > len(old):
            return (Edit(*place, ("" if is_unspaced(old[0][0]) else " ").join(new)),)
    return ()


def _ends(text: str) -> tuple[str, str]:
    word_spans = words(text)
    return text[slice(*word_spans[0])].casefold(), text[slice(*word_spans[-1])].casefold()


def _shared(new: str, text: str) -> int:
    """Return how many words of `new` occur in `text`, in any letter case."""
    text_words = {text[a:b].casefold() for a, b in words(text)}
    return sum(new[a:b].casefold() in text_words for a, b in words(new))


_WAYS: Mapping[PlantedKind, Callable[[str, Random, Sequence[str]], Sequence[Edit]]] = {
    "omission": _sentence_left_out,
    "addition": _sentence_added,
    "replacement": _stretch_replaced,
    "jumble": _stretch_shuffled,
}
