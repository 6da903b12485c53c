"""Compute the word-level difference of two texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os.path import commonprefix
from typing import Literal, NamedTuple

from core.text.words import TextUnit, units


class DiffPiece(NamedTuple):
    """A part of both texts (same), only the first (delete) or only the second (insert)."""

    kind: Literal["same", "delete", "insert"]
    text: str


def diff(a: str, b: str) -> tuple[DiffPiece, ...]:
    """Return how `b` differs from `a`, word by word (character by character in scripts without spaces).

    The pieces "same" and "delete" join to `a`, "same" and "insert" to `b`; neighbours differ in kind, and a delete comes before the
    insert that replaces it. The kept words are a longest common subsequence (Hyyrö 2004); white space follows the words around it.
    """
    left, right = units(a), units(b)
    pairs = _common([a[u.start : u.end] for u in left], [b[u.start : u.end] for u in right])
    return tuple(_merged(_pieces(a, b, left, right, pairs)))


def _common(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Return index pairs of a longest common subsequence."""
    head = 0
    while head < min(len(a), len(b)) and a[head] == b[head]:
        head += 1
    tail = 0
    while tail < min(len(a), len(b)) - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    middle = _subsequence(a[head : len(a) - tail], b[head : len(b) - tail])
    return [
        *((i, i) for i in range(head)),
        *((i + head, j + head) for i, j in middle),
        *((len(a) - i, len(b) - i) for i in range(tail, 0, -1)),
    ]


def _subsequence(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Find the pairs with one row of the dynamic programming table per integer: bit j is 0 where b[j] lengthens the subsequence."""
    where: dict[str, int] = {}
    for j, word in enumerate(b):
        where[word] = where.get(word, 0) | 1 << j
    full = (1 << len(b)) - 1
    rows, row = [], full
    for word in a:
        hits = row & where.get(word, 0)
        row = ((row + hits) | (row - hits)) & full
        rows.append(row)
    pairs = []
    i, j = len(a), len(b)
    while i and j:
        if rows[i - 1] >> (j - 1) & 1:
            j -= 1
        elif i > 1 and not rows[i - 2] >> (j - 1) & 1:
            i -= 1
        else:
            i, j = i - 1, j - 1
            pairs.append((i, j))
    return pairs[::-1]


def _pieces(
    a: str, b: str, left: Sequence[TextUnit], right: Sequence[TextUnit], pairs: Sequence[tuple[int, int]]
) -> Iterator[DiffPiece]:
    done_a = done_b = 0
    for i, j in pairs:
        yield from _gap(a[done_a : left[i].start], b[done_b : right[j].start])
        yield DiffPiece("same", a[left[i].start : left[i].end])
        done_a, done_b = left[i].end, right[j].end
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
    last: DiffPiece | None = None
    for piece in pieces:
        if not piece.text:
            continue
        if last is not None and last.kind == piece.kind:
            last = DiffPiece(last.kind, last.text + piece.text)
            continue
        if last is not None:
            yield last
        last = piece
    if last is not None:
        yield last
