"""Random numbers and display orders that depend only on a seed and on their purpose."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from random import Random
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

V = TypeVar("V")
_WORD = 2**64 - 1


def seeded(*what: object) -> Random:
    """Return a generator for a purpose, such as `seeded(design.seed, "checks", participant_id)`."""
    return Random("\x1f".join(map(str, what)))


def shuffled(values: Iterable[V], rng: Random) -> list[V]:
    """Return the values in random order. Only `Random.random` is used, whose numbers are the same in all versions of Python."""
    rest = list(values)
    for i in range(len(rest) - 1, 0, -1):
        j = int(rng.random() * (i + 1))
        rest[i], rest[j] = rest[j], rest[i]
    return rest


def arrival_times(
    seed: int, keys: NDArray[np.int64], counts: NDArray[np.int64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return for each key the time of event number `counts` (from 0) of a Poisson process of rate `weights`.

    Taking events in the order of time draws keys at random ∝ weight, step by step, among those that are left. The times of a key
    depend on the seed, the key and the weight only, not on when they are computed.
    """
    times = np.zeros(len(keys))
    base = _mixed(keys.astype(np.uint64) ^ _seed_word(seed))
    for number in range(int(counts.max(initial=-1)) + 1):
        uniform = (_mixed(base + np.uint64(number)) >> np.uint64(11)) * 2.0**-53
        times += np.where(counts >= number, -np.log1p(-uniform), 0.0)
    return times / weights


@lru_cache(maxsize=1024)
def _seed_word(seed: int) -> np.uint64:
    return np.uint64(_mixed(np.array([seed & _WORD], np.uint64))[0])


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return 64 well-mixed bits per word: the finalizer of SplitMix64 (Steele, Lea & Flood 2014)."""
    z = words + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def display_order(systems: tuple[str, ...], n: int, seed: int) -> tuple[str, ...]:
    """Return the order in which assignment number `n` (from 0) of a unit with these systems shows them.

    The orders are the rows of a Williams design (Williams 1949) with randomly labelled systems. After any number of assignments,
    the counts of system × position differ by at most 1. After each 2m assignments of m systems, each system has come directly
    after each other one equally often. Rows are shuffled within each m assignments, so that the place of a segment in its block
    does not decide which system comes first.
    """
    if len(systems) < 2:
        return systems
    rows = _williams(tuple(sorted(systems)), seed)
    cycle, place = divmod(n, len(systems))
    square = rows[: len(systems)] if cycle % 2 == 0 else rows[-len(systems) :]
    return square[_row_order(tuple(sorted(systems)), seed, cycle)[place]]


@lru_cache(maxsize=4096)
def _row_order(systems: tuple[str, ...], seed: int, cycle: int) -> tuple[int, ...]:
    return tuple(shuffled(range(len(systems)), seeded(seed, "rows", cycle, *systems)))


@lru_cache(maxsize=1024)
def _williams(systems: tuple[str, ...], seed: int) -> tuple[tuple[str, ...], ...]:
    """Return the m rows of the design if m is even, else 2m: a Latin square and its mirror image."""
    m = len(systems)
    labels = shuffled(systems, seeded(seed, "labels", *systems))
    first = [(i + 1) // 2 if i % 2 else (m - i // 2) % m for i in range(m)]
    square = [tuple(labels[(place + row) % m] for place in first) for row in range(m)]
    return tuple(square) if m % 2 == 0 else (*square, *(row[::-1] for row in square))
