"""The order of several outputs on the screen, balanced over a campaign."""

from __future__ import annotations

from functools import lru_cache

from core.campaigns.seeded import seeded, shuffled


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
