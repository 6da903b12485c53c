"""Disjoint pairs of places, for noises that swap what stands there."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


def pairs(places: Sequence[T], key: Callable[[T], Hashable], random: Random) -> list[tuple[T, T]]:
    """Return a random maximum set of disjoint pairs with different keys.

    With n places, m of them with the most frequent key: min(n // 2, n - m) pairs.
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
    """Return disjoint pairs with different keys: first of places alike by the first of `likes`, then of the rest by the next,
    and so on. If none are alike, pair any places, or none with `only`."""
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
