"""Disjoint pairs of places of a text, for the noises that exchange what stands there."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


def pairs(places: Sequence[T], key: Callable[[T], Hashable], random: Random) -> list[tuple[T, T]]:
    """As many disjoint pairs of places with different keys as there can be, at random.

    With n places, m of them of the most frequent key: min(n // 2, n - m) pairs.
    """
    shuffled = list(places)
    random.shuffle(shuffled)
    groups: dict[Hashable, list[T]] = {}
    for place in shuffled:
        groups.setdefault(key(place), []).append(place)
    largest_first = sorted(groups.values(), key=len, reverse=True)
    ordered = [place for group in largest_first for place in group]
    half = (len(ordered) + 1) // 2
    return [(a, b) for a, b in zip(ordered, ordered[half:], strict=False) if key(a) != key(b)]


def like_pairs(
    places: Sequence[T],
    key: Callable[[T], Hashable],
    likes: Sequence[Callable[[T], Hashable]],
    random: Random,
    *,
    only: bool = False,
) -> list[tuple[T, T]]:
    """Disjoint pairs of different keys: of places alike by the first of `likes`, of those left alike by the next, and so on.

    Where no two are alike: of any, or none where `only` those alike may pair."""
    made: list[tuple[T, T]] = []
    left = list(range(len(places)))
    for like in likes:
        for kind in dict.fromkeys(like(places[i]) for i in left):
            alike = [i for i in left if like(places[i]) == kind]
            found = pairs(alike, lambda i: key(places[i]), random)
            taken = {i for pair in found for i in pair}
            left = [i for i in left if i not in taken]
            made += [(places[a], places[b]) for a, b in found]
    return made or ([] if only else pairs(places, key, random))
