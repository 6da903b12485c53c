"""Where the model's edits and people's marks fall on the same characters of an output.

The model's characters are those of the output that the refined text no longer has, word by word (`core.text.diff`): an
edit inside a word counts the whole word, since people mark words. An insertion marks no character. A rater's characters
are the union of the Major and Minor spans on the output's side; a verdict of non-translation is the whole text. White
space counts on neither side, for whether a blank belongs to a mark is chance.

A comparison is one output and one rater. Several comparisons (more raters, more outputs) are counted together: the
characters of all are summed before anything is divided. So a rater who found nothing counts against the model's edits too,
and precision is the mean over raters of an output.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from core.data import Span
from core.text.diff import diff

COUNTED = ("Minor", "Major")  # the graver last
Characters = frozenset[int]


class Counts(NamedTuple):
    """Characters of one comparison: in both layers, edited by the model, marked by the rater."""

    both: int
    model: int
    human: int


class Overlap(NamedTuple):
    """precision = both / model, recall = both / human, F = their harmonic mean = 2·both / (model + human), all in [0, 1].

    Without a comparison, an edit or a mark the three are None, `status` is "undefined" and `reason` says which is missing.
    """

    status: Literal["ok", "undefined"]
    reason: str
    precision: float | None
    recall: float | None
    f: float | None
    counts: Counts
    comparisons: int


class Layer(NamedTuple):
    """A stretch of the output where nothing changes: edited or not, the gravest mark ("" for none), by how many raters.

    `inserted` is what the model put before this stretch in place of nothing.
    """

    text: str
    edited: bool
    severity: str
    raters: int
    inserted: str = ""


def edited(text: str, refined: str) -> Characters:
    """Code points of `text` that the refined text no longer has."""
    out, at = set[int](), 0
    for piece in diff(text, refined):
        if piece.kind == "delete":
            out.update(range(at, at + len(piece.text)))
        at += len(piece.text) if piece.kind != "insert" else 0
    return _seen(text, out)


def marked(text: str, spans: Iterable[Span], severities: Sequence[str] = COUNTED) -> Characters:
    """Code points of `text` that one rater marked, on the output's side and with one of the severities."""
    return _seen(
        text,
        (i for s in spans if s.side == "output" and s.severity in severities for i in range(s.start, s.end)),
    )


def _seen(text: str, places: Iterable[int]) -> Characters:
    return frozenset(i for i in places if not text[i].isspace())


def compared(model: Characters, human: Characters) -> Counts:
    return Counts(len(model & human), len(model), len(human))


def agreement(comparisons: Sequence[Counts]) -> Overlap:
    """Precision, recall and F of the characters of all comparisons together."""
    both, model, human = (sum(c[i] for c in comparisons) for i in range(3))
    counts, n = Counts(both, model, human), len(comparisons)
    missing = [
        w for w, there in (("the model took nothing away", model), ("nobody marked an error", human)) if not there
    ]
    if not comparisons or missing:
        return Overlap(
            "undefined", " and ".join(missing) if n else "nobody has rated it yet", None, None, None, counts, n
        )
    return Overlap("ok", "", both / model, both / human, 2 * both / (model + human), counts, n)


def layers(text: str, refined: str, raters: Sequence[Iterable[Span]]) -> tuple[Layer, ...]:
    """The output cut where a layer begins or ends; the texts joined give `text`. White space is drawn as it was marked."""
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
