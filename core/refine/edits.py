"""What a refinement edited in an output: as error spans, and beside the error spans of raters.

What BARTScore++ edited is what it considers wrong. Edits are compared with raters by characters. The model's characters are those of the
output that are missing from the refined text, word by word (`core.text.edits`): an edit inside a word counts the whole word, because raters
mark words. An insertion has no characters. A rater's characters are the union of the Major and Minor spans in the output; a non-translation
is the whole text. White space is ignored, because it is arbitrary whether a span includes it. A comparison is one output and one rater.
Counts of several comparisons are summed before division. So a rater who found no error lowers precision, and the precision of an output is
the mean over its raters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from os.path import commonprefix
from typing import Literal, NamedTuple

from core.data import Span
from core.refine.result import Refinement
from core.spans.layers import LayerSpan, Spans
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


class _EditedPart(NamedTuple):
    """A part of the output that the refined text lacks, and what it has in its place. Where words were only inserted, the part is empty."""

    start: int
    end: int
    old: str
    new: str


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


def edited(text: str, refined: str) -> Characters:
    """Return the offsets of characters of `text` that are missing from the refined text."""
    return _visible(text, (i for part in _parts(text, refined) for i in range(part.start, part.end)))


def marked(text: str, spans: Iterable[Span], severities: Sequence[str] = COUNTED) -> Characters:
    """Return the offsets of characters of `text` in one rater's output spans with one of the severities."""
    return _visible(
        text,
        (i for s in spans if s.side == "output" and s.severity in severities for i in range(s.start, s.end)),
    )


def _visible(text: str, places: Iterable[int]) -> Characters:
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
    parts = list(_parts(text, refined))
    model = {i for part in parts for i in range(part.start, part.end)}
    inserted = {part.start: part.new for part in parts if not part.old}
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


MAJOR_GAIN = 0.25
"""The median gain on the sample project, whose raters call half of their errors Major. Another model may need another limit."""
NON_TRANSLATION = "Non-translation!"


def edit_spans(text: str, refinement: Refinement) -> Spans:
    """Return the error spans of an output from its refinement. Their categories are edit/delete, edit/insert and edit/substitute.

    A span is a part of the output that the refined text lacks; where words were only inserted, it is empty and lies at that place. Its gain is
    the rise of the BARTScore (mean log probability per token) in the rounds that edited there; a round that edited in several spans counts in
    equal parts. Our decision: a span is Major if its gain is at least `MAJOR_GAIN`, else Minor. An output that fails the non-translation test
    is one Major span over the whole text.
    """
    if refinement.non_translation:
        return (LayerSpan(Span("output", 0, len(text), text, "Major", NON_TRANSLATION)),)
    parts = list(_parts(text, refinement.refined))
    gains = [0.0] * len(parts)
    for (first, last), gain in _rounds(text, refinement):
        touched = [i for i, part in enumerate(parts) if part.start <= last and first <= part.end]
        if not touched and parts:
            touched = [min(range(len(parts)), key=lambda i: min(abs(parts[i].start - last), abs(first - parts[i].end)))]
        for i in touched:
            gains[i] += gain / len(touched)
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
