"""Edits of a text, and the word-level difference of two texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from os.path import commonprefix
from typing import Literal, NamedTuple

from rapidfuzz.distance import LCSseq

from core.text.words import TextUnit, units


class Edit(NamedTuple):
    """Replace the code points `start:end` of the original with `new`; start == end for an insertion."""

    start: int
    end: int
    new: str


class Change(NamedTuple):
    """A perturbed text and its edits, ordered and without overlap, in offsets of the original."""

    text: str
    edits: tuple[Edit, ...]


class Refused(NamedTuple):
    """The reason why a text was not perturbed."""

    reason: str


Outcome = Change | Refused


def apply(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with the edits applied. Raises ValueError if they overlap, are out of order, or are out of range."""
    out, done = [], 0
    for start, end, new in edits:
        if not done <= start <= end <= len(text):
            raise ValueError(f"edit {start}:{end} after {done} in a text of {len(text)} characters")
        out += [text[done:start], new]
        done = end
    return "".join([*out, text[done:]])


def changed(text: str, edits: Iterable[Edit]) -> Outcome:
    """Return the change made by these edits, in any order. Edits that change nothing are dropped; refuse if none is
    left."""
    real = tuple(sorted(e for e in edits if text[e.start : e.end] != e.new))
    new = apply(text, real)
    return Change(new, real) if new != text else Refused("the text would stay the same")


class DiffPiece(NamedTuple):
    """A part of both texts (same), only the first (delete) or only the second (insert)."""

    kind: Literal["same", "delete", "insert"]
    text: str


@lru_cache(maxsize=512)
def diff(a: str, b: str) -> tuple[DiffPiece, ...]:
    """Return how `b` differs from `a`, word by word (character by character in scripts without spaces).

    The pieces "same" and "delete" join to `a`, "same" and "insert" to `b`; neighbours differ in kind, and a delete comes before the
    insert that replaces it. The kept words are a longest common subsequence (Hyyrö 2004); white space follows the words around it.
    """
    left, right = units(a), units(b)
    words_a, words_b = ([text[u.start : u.end] for u in spans] for text, spans in ((a, left), (b, right)))
    # the order of the two decides which of several longest subsequences is taken
    blocks = LCSseq.opcodes(words_b, words_a).as_matching_blocks()
    shared = [(block.b, block.a, block.size) for block in blocks if block.size]
    return tuple(_merged(_pieces(a, b, left, right, shared)))


def _pieces(
    a: str, b: str, left: Sequence[TextUnit], right: Sequence[TextUnit], shared: Sequence[tuple[int, int, int]]
) -> Iterator[DiffPiece]:
    """Yield the pieces; `shared` are runs of equal words: their first words in `a` and `b`, and their number."""
    done_a = done_b = 0
    for first, second, size in shared:
        same = a[left[first].start : left[first + size - 1].end]
        whole = same == b[right[second].start : right[second + size - 1].end]  # else the white space differs
        for i, j, n in [(first, second, size)] if whole else [(first + k, second + k, 1) for k in range(size)]:
            yield from _gap(a[done_a : left[i].start], b[done_b : right[j].start])
            done_a, done_b = left[i + n - 1].end, right[j + n - 1].end
            yield DiffPiece("same", a[left[i].start : done_a])
    yield from _gap(a[done_a:], b[done_b:])


def _gap(a: str, b: str) -> Iterator[DiffPiece]:
    """What stands between two shared words: shared white space at its ends, and the change in the middle."""
    space_a, space_b = a[: len(a) - len(a.lstrip())], b[: len(b) - len(b.lstrip())]
    head = len(commonprefix([space_a, space_b]))
    a, b, before = a[head:], b[head:], a[:head]
    space_a, space_b = a[len(a.rstrip()) :], b[len(b.rstrip()) :]
    tail = len(commonprefix([space_a[::-1], space_b[::-1]]))
    yield DiffPiece("same", before)
    yield DiffPiece("delete", a[: len(a) - tail])
    yield DiffPiece("insert", b[: len(b) - tail])
    yield DiffPiece("same", a[len(a) - tail :])


def _merged(pieces: Iterator[DiffPiece]) -> Iterator[DiffPiece]:
    for kind, run in groupby((piece for piece in pieces if piece.text), key=lambda piece: piece.kind):
        yield DiffPiece(kind, "".join(piece.text for piece in run))
