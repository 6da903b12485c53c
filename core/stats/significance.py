"""What a significance test returns, and Holm's correction when there are several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

Alternative = Literal["two-sided", "greater"]
ROUNDING = 1e-12


class Comparison(NamedTuple):
    """`difference` is the first minus the second; `p` is two-sided unless asked otherwise. `p` None: undefined, with the
    reason. `n` counts what was compared (segments, outputs), `draws` the random draws that `p` rests on."""

    difference: float | None
    p: float | None
    reason: str = ""
    n: int = 0
    draws: int = 0


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's (1979) adjusted p-values, in the order given: reject those ≤ α, and the chance of any false rejection is ≤ α.

    The i-th smallest of m becomes the largest of min(1, (m − k + 1)·p_k) over k ≤ i. Undefined tests (None) stay so and
    are not counted in m.
    """
    known = [i for i, p in enumerate(p_values) if p is not None]
    values = np.array([p_values[i] for i in known], dtype=np.float64)
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError("p-values lie between 0 and 1")
    order = np.argsort(values, kind="stable")
    raised = np.minimum(1.0, values[order] * np.arange(len(values), 0, -1))
    adjusted: list[float | None] = [None] * len(p_values)
    for place, value in zip(order, np.maximum.accumulate(raised), strict=True):
        adjusted[known[int(place)]] = float(value)
    return adjusted
