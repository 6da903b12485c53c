"""Texts with one marked stretch, as Google's MQM files hold them: find the plain text, and the place of the mark."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

TAG = re.compile(r"</?v>", re.IGNORECASE)
BREAKING = re.compile("[\x00\t\n\r\ud800-\udfff]")
"""What no cell of the plain form can hold."""
MOST_TAGS = 20


class Cell(NamedTuple):
    """What a row shows of a text. `literal`: the row marks nothing here, so any `<v>` in it belongs to the text.
    `exact`: the text was given beside the plain columns."""

    shown: str
    literal: bool = False
    exact: bool = False


class Place(NamedTuple):
    """Where a mark stands, in code points of the plain text; `odd` says what was unusual about it."""

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
    """The cell on one line, without tabs: what other tools may be shown."""
    return BREAKING.sub(lambda m: " " if m[0] in "\t\n\r\0" else "\ufffd", cell)


def plain_text(cells: Sequence[Cell]) -> str:
    """The text that the rows of one output (or of one source) all show, each perhaps with its own mark.

    A row that marks nothing settles it. Else the marks are taken out; where a row has more than one pair, the text
    that results from taking out one pair of each row, if rows that differ agree on one. In doubt the majority wins.
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


def place(shown: str, text: str) -> Place | None:
    """The place in `text` that `shown` marks; None when it marks nothing or is not this text with a mark."""
    if shown == text:
        return None
    for left, where in _one_pair_out(shown):
        if left == text:
            return where
    tags = list(TAG.finditer(shown))
    for tag in tags[:MOST_TAGS]:
        if shown[: tag.start()] + shown[tag.end() :] == text:
            closing = tag[0].startswith("</")
            at = tag.start()
            return Place(0, at, "a </v> without its <v>") if closing else Place(at, len(text), "a <v> without its </v>")
    if tags and bare(shown) == text:
        return Place(
            len(bare(shown[: tags[0].start()])), len(bare(shown[: tags[-1].start()])), "several marks in one row"
        )
    return None


def nearest(shown: str, text: str) -> Place | None:
    """Where the marked words of a drifted row stand in `text`, if they stand there: the occurrence nearest to the mark."""
    tags = list(TAG.finditer(shown))
    if not tags:
        return None
    start = len(bare(shown[: tags[0].start()]))
    words = bare(shown[tags[0].end() : tags[-1].start()]) if len(tags) > 1 else ""
    found = [m.start() for m in re.finditer(re.escape(words), text)] if words else []
    if not found:
        return None
    at = min(found, key=lambda i: abs(i - start))
    return Place(at, at + len(words))


def _one_pair_out(shown: str) -> list[tuple[str, Place]]:
    """Every text that is left when one `<v>` and a `</v>` after it are taken out, with the place they marked."""
    tags = list(TAG.finditer(shown))[:MOST_TAGS]
    found = []
    for i, opening in enumerate(tags):
        for closing in tags[i + 1 :]:
            if closing[0].startswith("</") and not opening[0].startswith("</"):
                words = shown[opening.end() : closing.start()]
                left = shown[: opening.start()] + words + shown[closing.end() :]
                found.append((left, Place(opening.start(), opening.start() + len(words))))
    return found
