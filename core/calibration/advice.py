"""Whether a fitted λ is worth more than λ = 1: what a report recommends, and why."""

from __future__ import annotations

from typing import NamedTuple

from core.stats.correlation import FEWEST_GROUPS, too_few_groups

EVEN = 1.0
"""λ that weighs both distances alike: recommended unless another is shown to be better."""


class Advice(NamedTuple):
    """The λ to use, None where nothing can be said, and the reason in one or two sentences.

    `gain` is the agreement at the best λ less that at λ = 1, `gain_ci` its 95 % bootstrap interval.
    """

    lam: float | None
    gain: float | None
    gain_ci: tuple[float, float] | None
    why: str


def advice(
    lam: float,
    agreement: float,
    at_one: float | None,
    gain_ci: tuple[float, float] | None,
    groups: tuple[int, int] | None = None,
) -> Advice:
    """Recommend `lam` where its gain over λ = 1 is shown, else λ = 1. `groups`: in how many segments, of all, agreement is defined."""
    gain = None if at_one is None else agreement - at_one
    if groups is not None and too_few_groups(*groups):
        why = (
            f"Agreement is defined in {groups[0]} of {groups[1]} segments; fewer than {FEWEST_GROUPS}, or less than half of "
            "them, are too few to choose λ. Use λ = 1."
        )
        return Advice(EVEN, gain, gain_ci, why)
    if gain is None:
        return Advice(None, None, None, "Agreement is undefined at λ = 1, so that there is no gain to judge.")
    if gain_ci is None:
        return Advice(None, gain, None, "There is no interval of the gain over λ = 1, so that no λ is recommended.")
    low, high = gain_ci
    said = f"The gain over λ = 1 is {signed(gain)}, 95 % CI {signed(low)} to {signed(high)}"
    if low > 0:
        return Advice(lam, gain, gain_ci, f"{said}: the best λ is recommended.")
    return Advice(EVEN, gain, gain_ci, f"{said}: the curve is flat within its noise. Use λ = 1.")


def signed(value: float) -> str:
    """Four decimals: .0012, −.0003."""
    text = f"{abs(value):.4f}".removeprefix("0")
    return f"−{text}" if value < 0 and float(text) else text
