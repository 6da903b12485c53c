"""Find the plain text and the position of the span in texts with `<v>…</v>`, as in Google's MQM files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

TAG = re.compile(r"</?v>", re.IGNORECASE)
BREAKING = re.compile("[\x00\t\n\r\ud800-\udfff]")
"""Characters that plain cells cannot contain."""
MOST_TAGS = 20


class MarkedCell(NamedTuple):
    """A text cell. If `literal`, the row has no span here, so any `<v>` belongs to the text. If `exact`, the text comes from the
    metadata."""

    shown: str
    literal: bool = False
    exact: bool = False


class MarkedRange(NamedTuple):
    """The position of a span in code points of the plain text; `odd` describes an irregularity."""

    start: int
    end: int
    odd: str = ""


def bare(shown: str) -> str:
    return TAG.sub("", shown)


def has_tag(shown: str) -> bool:
    return TAG.search(shown) is not None


def marked(text: str, start: int, end: int) -> str:
    return f"{text[:start]}<v>{text[start:end]}</v>{text[end:]}"


def readable(cell: str) -> str:
    """Return the cell on one line without tabs, for other tools."""
    return BREAKING.sub(lambda m: " " if m[0] in "\t\n\r\0" else "\ufffd", cell)


def plain_text(cells: Sequence[MarkedCell]) -> str:
    """Return the plain text of the rows of one output (or one source), each with or without a span.

    A row without a span decides. Otherwise the tags are removed. If a row has more than one pair of tags, one pair per row is removed
    such that the rows agree, if possible. In doubt the majority wins.
    """
    for trusted in ([c.shown for c in cells if c.exact], [c.shown for c in cells if c.literal]):
        if trusted:
            return Counter(trusted).most_common(1)[0][0]
    shown = list(dict.fromkeys(c.shown for c in cells))
    if len(shown) > 1 and any(len(TAG.findall(s)) > 2 for s in shown):
        common = set.intersection(*({text for text, _ in _one_pair_out(s)} for s in shown))
        if common:
            return min(common, key=lambda t: (len(TAG.findall(t)), t))
    return Counter(bare(c.shown) for c in cells).most_common(1)[0][0]


def place(shown: str, text: str) -> MarkedRange | None:
    """Return the span in `text` that `shown` marks; None if there is none or `shown` has another text."""
    if shown == text:
        return None
    for left, where in _one_pair_out(shown):
        if left == text:
            return where
    tags = list(TAG.finditer(shown))
    for tag in tags[:MOST_TAGS]:
        if shown[: tag.start()] + shown[tag.end() :] == text:
            if tag[0].startswith("</"):
                return MarkedRange(0, tag.start(), "a </v> without its <v>")
            return MarkedRange(tag.start(), len(text), "a <v> without its </v>")
    if tags and bare(shown) == text:
        start, end = (len(bare(shown[: tag.start()])) for tag in (tags[0], tags[-1]))
        return MarkedRange(start, end, "several marks in one row")
    return None


def nearest(shown: str, text: str) -> MarkedRange | None:
    """Return the occurrence in `text` of the marked words of a row with another text, the one nearest to the mark; None if there is none."""
    tags = list(TAG.finditer(shown))
    if not tags:
        return None
    start = len(bare(shown[: tags[0].start()]))
    words = bare(shown[tags[0].end() : tags[-1].start()]) if len(tags) > 1 else ""
    found = [m.start() for m in re.finditer(re.escape(words), text)] if words else []
    if not found:
        return None
    at = min(found, key=lambda i: abs(i - start))
    return MarkedRange(at, at + len(words))


def _one_pair_out(shown: str) -> list[tuple[str, MarkedRange]]:
    """Return every text that results from removing one `<v>` and a later `</v>`, with the span between them."""
    tags = list(TAG.finditer(shown))[:MOST_TAGS]
    found = []
    for i, opening in enumerate(tags):
        for closing in tags[i + 1 :]:
            if closing[0].startswith("</") and not opening[0].startswith("</"):
                words = shown[opening.end() : closing.start()]
                left = shown[: opening.start()] + words + shown[closing.end() :]
                found.append((left, MarkedRange(opening.start(), opening.start() + len(words))))
    return found
