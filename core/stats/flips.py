"""Random signs: which of two paired values is taken for the one and which for the other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from core.stats.pairs import Floats

CELLS_AT_ONCE = 2_000_000


def sign_flips(n: int, seed: int, draws: int, cells: int = 0) -> Iterator[Floats]:
    """`draws` vectors of n signs, each ±1 with probability ½, in blocks of shape (some, n).

    A block is as high as `CELLS_AT_ONCE` allows when one draw needs `cells` numbers (n unless said).
    """
    rng = np.random.default_rng(seed)
    step = max(1, CELLS_AT_ONCE // max(1, n, cells))
    for start in range(0, draws, step):
        bits = rng.integers(0, 2, (min(step, draws - start), n), dtype=np.int8)
        yield 2.0 * bits.astype(np.float64) - 1.0
