"""Character overlap between the model's edits and the raters' error spans.

The model's characters are those of the output that are missing from the refined text, word by word (`core.text.edits`):
an edit inside a word counts the whole word, because raters mark words. An insertion has no characters. A rater's characters
are the union of the Major and Minor spans in the output; a non-translation is the whole text. White space is ignored,
because it is arbitrary whether a span includes it.

A comparison is one output and one rater. Counts of several comparisons are summed before division. So a rater who found
no error lowers precision, and the precision of an output is the mean over its raters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from core.data import Span
from core.text.edits import diff

COUNTED = ("Minor", "Major")  # ascending severity
Characters = frozenset[int]


class CharacterCounts(NamedTuple):
    """Numbers of characters: both edited and marked, edited by the model, marked by the rater."""

    both: int
    model: int
    human: int


class Overlap(NamedTuple):
    """precision = both / model, recall = both / human, F = 2·both / (model + human), all in [0, 1], higher is better.

    Without a comparison, an edit or an error span, all three are None, `status` is "undefined" and `reason` says why.
    """

    status: Literal["ok", "undefined"]
    reason: str
    precision: float | None
    recall: float | None
    f: float | None
    counts: CharacterCounts
    comparisons: int


class Layer(NamedTuple):
    """A piece of the output: edited or not, its worst severity ("" for none) and the number of raters who marked it.

    `inserted` is the text that the model inserted before this piece.
    """

    text: str
    edited: bool
    severity: str
    raters: int
    inserted: str = ""


def edited(text: str, refined: str) -> Characters:
    """Return the offsets of characters of `text` that are missing from the refined text."""
    out, at = set[int](), 0
    for piece in diff(text, refined):
        if piece.kind == "delete":
            out.update(range(at, at + len(piece.text)))
        at += len(piece.text) if piece.kind != "insert" else 0
    return _seen(text, out)


def marked(text: str, spans: Iterable[Span], severities: Sequence[str] = COUNTED) -> Characters:
    """Return the offsets of characters of `text` in one rater's output spans with one of the severities."""
    return _seen(
        text,
        (i for s in spans if s.side == "output" and s.severity in severities for i in range(s.start, s.end)),
    )


def _seen(text: str, places: Iterable[int]) -> Characters:
    return frozenset(i for i in places if not text[i].isspace())


def count_characters(model: Characters, human: Characters) -> CharacterCounts:
    """Return the counts of one comparison."""
    return CharacterCounts(len(model & human), len(model), len(human))


def agreement(comparisons: Sequence[CharacterCounts]) -> Overlap:
    """Return precision, recall and F from the summed counts of all comparisons."""
    both, model, human = (sum(c[i] for c in comparisons) for i in range(3))
    counts, n = CharacterCounts(both, model, human), len(comparisons)
    missing = [w for w, mask in (("the model removed nothing", model), ("no rater marked an error", human)) if not mask]
    if not comparisons or missing:
        return Overlap(
            "undefined", " and ".join(missing) if n else "it has not been rated yet", None, None, None, counts, n
        )
    return Overlap("ok", "", both / model, both / human, 2 * both / (model + human), counts, n)


def layers(text: str, refined: str, raters: Sequence[Iterable[Span]]) -> tuple[Layer, ...]:
    """Return the output split where an edit or error span begins or ends; the joined texts are `text`.

    White space is shown as it was marked.
    """
    at, before, model, inserted = 0, "", set[int](), dict[int, str]()
    for kind, words in diff(text, refined):
        if kind == "insert" and before != "delete":
            inserted[at] = words
        if kind == "delete":
            model.update(range(at, at + len(words)))
        at += len(words) if kind != "insert" else 0
        before = kind
    severity, by = [""] * len(text), [0] * len(text)
    for spans in raters:
        mine: dict[int, str] = {}
        for span in spans:
            if span.side == "output" and span.severity in COUNTED:
                for i in range(span.start, span.end):
                    mine[i] = max(mine.get(i, ""), span.severity, key=("", *COUNTED).index)
        for i, of_span in mine.items():
            severity[i] = max(severity[i], of_span, key=("", *COUNTED).index)
            by[i] += 1
    states = [(i in model, severity[i], by[i]) for i in range(len(text))]
    cuts = [i for i in range(len(text)) if i == 0 or states[i] != states[i - 1] or i in inserted]
    out = [Layer(text[a:b], *states[a], inserted.get(a, "")) for a, b in pairwise([*cuts, len(text)])]
    return (*out, Layer("", False, "", 0, inserted[len(text)])) if len(text) in inserted else tuple(out)
