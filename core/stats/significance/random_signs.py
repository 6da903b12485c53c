"""Random signs for permutation tests: −1 swaps the two paired values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from core.stats.correlation.pairs import Floats

CELLS_AT_ONCE = 2_000_000


def random_signs(n: int, seed: int, draws: int, cells: int = 0) -> Iterator[Floats]:
    """Yield `draws` vectors of n signs, each ±1 with probability ½, in blocks of shape (some, n).

    The block size is limited by `CELLS_AT_ONCE` at `cells` numbers per draw (default n).
    """
    rng = np.random.default_rng(seed)
    step = max(1, CELLS_AT_ONCE // max(1, n, cells))
    for start in range(0, draws, step):
        bits = rng.integers(0, 2, (min(step, draws - start), n), dtype=np.int8)
        yield 2.0 * bits.astype(np.float64) - 1.0
