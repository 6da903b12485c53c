"""Trivial baselines such as output length, called sentinel metrics by Perrella et al. 2024.

A metric is useful only if it agrees with human scores clearly better than these. They are cheap functions over items,
computed on demand and never stored. Higher counts as better for all of them, so their agreement reads like a metric's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from core.data import Item
from core.signature import content_key, signature
from core.text.words import words

Array = npt.NDArray[np.float64]
GRAM = 4
NO_SOURCE = "an output has no source"


class TrivialBaseline(NamedTuple):
    """A baseline; `of(item, seed)` returns its number for one item, or None if undefined (for the reason `undefined`)."""

    name: str
    label: str
    help: str
    of: Callable[[Item, int], float | None]
    seeded: bool = False
    undefined: str = ""

    def signature(self, seed: int) -> str:
        return signature(f"sentinel:{self.name}", {"v": 1} | ({"seed": seed} if self.seeded else {}))


def shortness(item: Item, _: int = 0) -> float:
    """Return minus the number of Unicode code points, ≤ 0. MQM sums grow with length, which favours short outputs."""
    return 0.0 - len(item.hypothesis)


def shortness_in_words(item: Item, _: int = 0) -> float:
    """Return minus the number of words, ≤ 0. In scripts written without spaces, each character counts as a word."""
    return 0.0 - len(_words(item.hypothesis))


def no_repetition(item: Item, _: int = 0) -> float:
    """Return minus the share of word 4-grams that repeat an earlier one, in [−1, 0]; 0 for fewer than four words."""
    grams = _grams(item.hypothesis)
    return 0.0 - (1 - len(set(grams)) / len(grams)) if grams else 0.0


def copying(item: Item, _: int = 0) -> float | None:
    """Return the share of the output's word 4-grams that occur in the source, in [0, 1].

    0 for fewer than four words, None without a source.
    """
    if item.source is None:
        return None
    grams, of_source = _grams(item.hypothesis), set(_grams(item.source))
    return sum(gram in of_source for gram in grams) / len(grams) if grams else 0.0


def random_score(item: Item, seed: int) -> float:
    """Return a number in [0, 1) derived from the seed and the item's texts: equal texts get equal numbers."""
    digest = hashlib.sha256(f"{seed}\n{content_key(*item)}".encode("utf-8", "surrogatepass")).digest()
    return (int.from_bytes(digest[:8], "big") >> 11) / 2**53


@lru_cache(maxsize=64)
def _words(text: str) -> list[str]:
    """Return the case-folded words; kept because three baselines need them, and outputs of a segment share its source."""
    return [text[start:end].casefold() for start, end in words(text)]


def _grams(text: str) -> list[tuple[str, ...]]:
    tokens = _words(text)
    return [tuple(tokens[i : i + GRAM]) for i in range(len(tokens) - GRAM + 1)]


BASELINES: tuple[TrivialBaseline, ...] = (
    TrivialBaseline("shortness", "Shortness", "the shorter the output in characters, the better", shortness),
    TrivialBaseline("shortness-words", "Shortness in words", "the shorter the output in words, the better", shortness_in_words),
    TrivialBaseline(
        "no-repetition", "No repetition", "the fewer four-word sequences an output repeats, the better", no_repetition,
    ),
    TrivialBaseline(
        "copying", "Copying the source", "the more four-word sequences of the output occur in the source, the better", copying,
        undefined=NO_SOURCE,
    ),
    TrivialBaseline(
        "random", "Random", "a random number", random_score, seeded=True
    ),
)  # fmt: skip


def baseline_scores(items: Iterable[Item], seed: int) -> dict[str, Array]:
    """Return the numbers of the items by the name of each baseline, NaN where one is undefined. Items are read one by one."""
    row = np.dtype((np.float64, len(BASELINES)))
    numbers = (tuple(np.nan if (v := b.of(item, seed)) is None else v for b in BASELINES) for item in items)
    table = np.fromiter(numbers, dtype=row).view(np.float64).reshape(-1, len(BASELINES))
    return {b.name: table[:, k].copy() for k, b in enumerate(BASELINES)}
