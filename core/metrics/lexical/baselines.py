"""Trivial baselines such as output length, called sentinel metrics by Perrella et al. 2024.

A metric is useful only if it agrees with human scores clearly better than these. They are cheap functions over items,
computed on demand and never stored. Higher counts as better for all of them, so their agreement reads like a metric's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

from core.data import Item
from core.signature import content_key, signature
from core.text.words import words

GRAM = 4
NO_SOURCE = "an output has no source"
Values = list[float | None]


class TrivialBaseline(NamedTuple):
    """A baseline; `score(items, seed)` returns one number per item, or None if undefined (for the reason `undefined`)."""

    name: str
    label: str
    help: str
    score: Callable[[Sequence[Item], int], Values]
    seeded: bool = False
    undefined: str = ""

    def signature(self, seed: int) -> str:
        return signature(f"sentinel:{self.name}", {"v": 1} | ({"seed": seed} if self.seeded else {}))


def shortness(items: Sequence[Item]) -> list[float]:
    """Return minus the number of Unicode code points, ≤ 0. MQM sums grow with length, which favours short outputs."""
    return [0.0 - len(item.hypothesis) for item in items]


def shortness_in_words(items: Sequence[Item]) -> list[float]:
    """Return minus the number of words, ≤ 0. In scripts written without spaces, each character counts as a word."""
    return [0.0 - len(words(item.hypothesis)) for item in items]


def no_repetition(items: Sequence[Item]) -> list[float]:
    """Return minus the share of word 4-grams that repeat an earlier one, in [−1, 0]; 0 for fewer than four words."""
    return [0.0 - _share_repeated(_grams(item.hypothesis)) for item in items]


def copying(items: Sequence[Item]) -> Values:
    """Return the share of the output's word 4-grams that occur in the source, in [0, 1].

    0 for fewer than four words, None without a source.
    """
    return [None if item.source is None else _share_in(_grams(item.hypothesis), _grams(item.source)) for item in items]


def random_score(items: Sequence[Item], seed: int) -> list[float]:
    """Return a number in [0, 1) derived from the seed and the item's texts: equal texts get equal numbers."""
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


BASELINES: tuple[TrivialBaseline, ...] = (
    TrivialBaseline("shortness", "Shortness", "minus the output's length in characters", lambda items, _: [*shortness(items)]),
    TrivialBaseline(
        "shortness-words", "Shortness in words", "minus the output's length in words",
        lambda items, _: [*shortness_in_words(items)],
    ),
    TrivialBaseline(
        "no-repetition", "No repetition", "minus the share of repeated word 4-grams of the output",
        lambda items, _: [*no_repetition(items)],
    ),
    TrivialBaseline(
        "copying", "Copying the source", "share of the output's word 4-grams that occur in the source",
        lambda items, _: copying(items), undefined=NO_SOURCE,
    ),
    TrivialBaseline(
        "random", "Random", "a random number, derived from the seed and the texts",
        lambda items, seed: [*random_score(items, seed)], seeded=True,
    ),
)  # fmt: skip
