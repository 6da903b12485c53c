"""Locate the pieces of a tokenizer without offsets in the text, and split texts beyond the maximum length of a text-pair model into windows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from transformers import PreTrainedTokenizerBase

from core.errors import UserError


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


OVERLAP = 4
"""Adjacent windows share about one in `OVERLAP` of their tokens; windows start and end between words."""
SLACK = 6
"""Tokens left free, since a window may have a few more tokens by itself than within its text."""


class Reader:
    """Counts tokens and cuts texts; shares no state with the original tokenizer."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        from tokenizers import Tokenizer

        backend: Any = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None:
            raise UserError(
                "this tokenizer has no token offsets, so long texts cannot be split into windows",
                where=type(tokenizer).__name__,
                hint="Set the option long:cut",
            )
        self._inner = Tokenizer.from_str(backend.to_str())
        self._inner.no_truncation()
        self._inner.no_padding()
        self._inner.encode_special_tokens = True
        self.special = tokenizer.num_special_tokens_to_add(pair=True)

    def count(self, text: str) -> int:
        """Return the number of tokens of a text, without special tokens."""
        return len(self._inner.encode(text, add_special_tokens=False).ids)

    def pieces(self, first: str, second: str, limit: int) -> tuple[list[str], list[str]]:
        """Return windows of both texts, of which any two fit into `limit` tokens, or the texts themselves if they fit.

        The second text has priority for up to half of the room.
        """
        room = limit - self.special
        if len((first + second).encode("utf-8", "surrogatepass")) + SLACK <= room:
            return [first], [second]
        size = self.count(first)
        if size + self.count(second) <= room:
            return [first], [second]
        room -= SLACK
        seconds = self.windows(second, max(room // 2, room - size))
        return self.windows(first, room - max(map(self.count, seconds))), seconds

    def windows(self, text: str, size: int) -> list[str]:
        """Return the text if it has at most `size` tokens, otherwise evenly spaced windows that cover all of it."""
        places = self._inner.encode(text, add_special_tokens=False).offsets
        n, size = len(places), max(size, 2 * OVERLAP)
        if n <= size:
            return [text]
        overlap = size // OVERLAP
        count = math.ceil((n - overlap) / (size - overlap))
        starts = [i * (n - size) // (count - 1) for i in range(count)]
        windows = []
        for start in starts:
            last = start + size - 1
            a = _beginning(text, places, start, overlap // 2 - 1)
            b = len(text) if last == n - 1 else _end(text, places, last, overlap // 2 - 1)
            windows.append(text[a:b])
        return windows


def _beginning(text: str, places: list[tuple[int, int]], at: int, most: int) -> int:
    """Return the start of token `at`, or of one of the `most` tokens after it that starts a word."""
    if at == 0:
        return 0
    for start, _ in places[at : at + most + 1]:
        if text[start - 1].isspace() or text[start : start + 1].isspace():
            return start
    return places[at][0]


def _end(text: str, places: list[tuple[int, int]], at: int, most: int) -> int:
    """Return the end of token `at`, or of one of the `most` tokens before it that ends a word."""
    for back in range(max(0, most) + 1):
        end = places[at - back][1]
        if text[end : end + 1].isspace():
            return end
    return places[at][1]


@lru_cache(maxsize=2)
def reader(tokenizer: PreTrainedTokenizerBase) -> Reader:
    """Return the cached reader of a tokenizer. Raises UserError if it has no offsets."""
    return Reader(tokenizer)
