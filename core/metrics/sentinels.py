"""Sentinels: scores that know nothing of quality. A metric that does not agree with people clearly better than these has shown nothing.

Each is a plain function over items, cheap enough to be computed when it is looked at and never stored. Higher is "better"
for all of them, so that agreement with people reads as it does for a metric (Perrella et al. 2024 call for such guards).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

from core.data import Item
from core.signature import content_key, signature
from core.text.words import words

GRAM = 4
NO_SOURCE = "an output has no source to copy from"
Values = list[float | None]


class Sentinel(NamedTuple):
    """`score(items, seed)` gives one number an item, None where it is undefined (`undefined` says why)."""

    name: str
    label: str
    help: str
    score: Callable[[Sequence[Item], int], Values]
    seeded: bool = False
    undefined: str = ""

    def signature(self, seed: int) -> str:
        return signature(f"sentinel:{self.name}", {"v": 1} | ({"seed": seed} if self.seeded else {}))


def shortness(items: Sequence[Item]) -> list[float]:
    """Minus the number of Unicode code points, ≤ 0: MQM sums grow with length, so a short output looks good."""
    return [0.0 - len(item.hypothesis) for item in items]


def shortness_in_words(items: Sequence[Item]) -> list[float]:
    """Minus the number of words, ≤ 0; a character counts as one in scripts written without spaces."""
    return [0.0 - len(words(item.hypothesis)) for item in items]


def no_repetition(items: Sequence[Item]) -> list[float]:
    """Minus the share of word 4-grams that have stood in the output before, in [−1, 0]; fewer than four words repeat none."""
    return [0.0 - _share_repeated(_grams(item.hypothesis)) for item in items]


def copying(items: Sequence[Item]) -> Values:
    """The share of the output's word 4-grams that also stand in the source, in [0, 1]; fewer than four words copy none.

    None without a source.
    """
    return [None if item.source is None else _share_in(_grams(item.hypothesis), _grams(item.source)) for item in items]


def random_score(items: Sequence[Item], seed: int) -> list[float]:
    """A number in [0, 1) drawn from the seed and the item's texts: the same in any order and for equal texts."""
    return [_drawn(f"{seed}\n{content_key(*item)}") for item in items]


def _grams(text: str) -> list[tuple[str, ...]]:
    found = [text[start:end].casefold() for start, end in words(text)]
    return [tuple(found[i : i + GRAM]) for i in range(len(found) - GRAM + 1)]


def _share_repeated(grams: Sequence[tuple[str, ...]]) -> float:
    return 1 - len(set(grams)) / len(grams) if grams else 0.0


def _share_in(grams: Sequence[tuple[str, ...]], source: Sequence[tuple[str, ...]]) -> float:
    there = set(source)
    return sum(gram in there for gram in grams) / len(grams) if grams else 0.0


def _drawn(text: str) -> float:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return (int.from_bytes(digest[:8], "big") >> 11) / 2**53


SENTINELS: tuple[Sentinel, ...] = (
    Sentinel("shortness", "Shortness", "minus the output's length in characters", lambda items, _: [*shortness(items)]),
    Sentinel(
        "shortness-words", "Shortness in words", "minus the output's length in words",
        lambda items, _: [*shortness_in_words(items)],
    ),
    Sentinel(
        "no-repetition", "No repetition", "minus the share of repeated word 4-grams of the output",
        lambda items, _: [*no_repetition(items)],
    ),
    Sentinel(
        "copying", "Copying the source", "share of the output's word 4-grams that stand in the source",
        lambda items, _: copying(items), undefined=NO_SOURCE,
    ),
    Sentinel(
        "random", "Random", "a number drawn from the seed and the texts",
        lambda items, seed: [*random_score(items, seed)], seeded=True,
    ),
)  # fmt: skip
