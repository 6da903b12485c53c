"""Locate the pieces of a tokenizer without offsets in the text."""

from __future__ import annotations

from collections.abc import Sequence


def aligned(text: str, pieces: Sequence[str]) -> list[tuple[int, int]]:
    """Return the code points [start, end) of each piece; white space belongs to the following piece.

    A piece that is not found (an unknown or normalised character) covers the text between its neighbours. The last piece
    (`</s>`) is empty, at the end of the text.
    """
    starts: list[int | None] = []
    ends: list[int | None] = []
    at = 0
    for piece in pieces[:-1]:
        word = piece.strip()
        start = text.find(word, at) if word else -1
        if word and start >= 0 and (not text[at:start].strip() or start - at <= LOST):
            starts.append(at if not text[at:start].strip() else None if start == at else start)
            at = start + len(word)
            ends.append(at)
        else:
            starts.append(None)
            ends.append(None)
    return [*_filled(len(text), starts, ends), (len(text), len(text))]


LOST = 8  # most code points that unknown pieces may cover


def _filled(length: int, starts: list[int | None], ends: list[int | None]) -> list[tuple[int, int]]:
    """Fill unknown positions: from the end of the previous piece to the start of the next known one."""
    out: list[tuple[int, int]] = []
    at = 0
    for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
        begin = at if start is None else start
        if end is None:
            end = next((s for s in starts[i:] if s is not None), length) if i + 1 < len(starts) else length
        out.append((begin, max(begin, end)))
        at = max(begin, end)
    return out
