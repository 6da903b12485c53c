"""Error spans from a stored refinement: what BARTScore++ edited is what it considers wrong.

A span is a part of the output that the refined text lacks, word by word (`core.text.edits.diff`); where words were only inserted, it is
empty and lies at that place. Its gain is the rise of the BARTScore (mean log probability per token) in the rounds that edited there; a
round that edited in several spans counts in equal parts. Our decision: a span is Major if its gain is at least `MAJOR_GAIN`, else Minor.
An output that fails the non-translation test is one Major span over the whole text.
"""

from __future__ import annotations

from collections.abc import Iterator
from os.path import commonprefix
from typing import NamedTuple

from core.data import Span
from core.refine.result import Refinement
from core.spans.layers import LayerSpan, Spans
from core.text.edits import diff

MAJOR_GAIN = 0.25
"""The median gain on the sample project, whose raters call half of their errors Major. Another model may need another limit."""
NON_TRANSLATION = "Non-translation!"


class _EditedPart(NamedTuple):
    """A part of the output, and what the refined text has in its place."""

    start: int
    end: int
    old: str
    new: str


def edit_spans(text: str, refinement: Refinement) -> Spans:
    """Return the error spans of an output from its refinement. Their categories are edit/delete, edit/insert and edit/substitute."""
    if refinement.non_translation:
        return (LayerSpan(Span("output", 0, len(text), text, "Major", NON_TRANSLATION)),)
    parts = list(_parts(text, refinement.refined))
    gains = [0.0] * len(parts)
    for (first, last), gain in _rounds(text, refinement):
        here = [i for i, part in enumerate(parts) if part.start <= last and first <= part.end]
        if not here and parts:
            here = [min(range(len(parts)), key=lambda i: min(abs(parts[i].start - last), abs(first - parts[i].end)))]
        for i in here:
            gains[i] += gain / len(here)
    spans = []
    for part, gain in zip(parts, gains, strict=True):
        kind = "insert" if not part.old else "substitute" if part.new else "delete"
        note = f"refined to “{part.new.strip()}”; " if part.new else ""
        severity = "Major" if gain >= MAJOR_GAIN else "Minor"
        spans.append(
            LayerSpan(
                Span("output", part.start, part.end, part.old, severity, f"edit/{kind}", f"{note}gain {gain:.3f}")
            )
        )
    return tuple(spans)


def _parts(text: str, refined: str) -> Iterator[_EditedPart]:
    at, pieces = 0, diff(text, refined)
    for i, (kind, piece) in enumerate(pieces):
        following = pieces[i + 1] if i + 1 < len(pieces) else None
        if kind == "delete":
            new = following.text if following and following.kind == "insert" else ""
            yield _EditedPart(at, at + len(piece), piece, new)
        elif kind == "insert" and (i == 0 or pieces[i - 1].kind != "delete"):
            yield _EditedPart(at, at, "", piece)
        at += len(piece) if kind != "insert" else 0


def _rounds(text: str, refinement: Refinement) -> Iterator[tuple[tuple[int, int], float]]:
    """Yield for each round the part of the output that it edited, and its gain. Earlier rounds may have moved that part."""
    before, places = text, list(range(len(text) + 1))
    for step in refinement.steps:
        after = step.text
        head = len(commonprefix([before, after]))
        tail = len(commonprefix([before[head:][::-1], after[head:][::-1]]))
        end = len(before) - tail
        yield (places[head], places[end]), step.after - step.before
        places = [*places[:head], *[places[head]] * (len(after) - tail - head), *places[end:]]
        before = after
