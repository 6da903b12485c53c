"""What is recommended: numbers of outputs and raters (BARTScore++, Appendix B), and the fitted λ, if its gain over λ = 1 is significant."""

from __future__ import annotations

from typing import NamedTuple

from core.formatting import format_number
from core.stats.correlation.correlation import FEWEST_GROUPS, too_few_groups

EVEN = 1.0
"""The λ that weighs both distances equally: the default recommendation."""
ENOUGH_OUTPUTS = 100
ENOUGH_RATERS = 2


def enough_outputs(available: int | None) -> int:
    """Return the recommended number of outputs, or all `available` ones of a project with fewer. None: unknown."""
    return ENOUGH_OUTPUTS if available is None else min(ENOUGH_OUTPUTS, available)


class Advice(NamedTuple):
    """The recommended λ, or None, with the reason in one or two sentences.

    `gain` is the agreement at the best λ minus that at λ = 1, `gain_ci` its 95 % bootstrap interval.
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
    """Recommend `lam` if the interval of its gain over λ = 1 is above 0, else λ = 1.

    `groups`: the number of segments in which agreement is defined, and of all segments.
    """
    gain = None if at_one is None else agreement - at_one
    if groups is not None and too_few_groups(*groups):
        why = (
            f"Agreement is defined in {groups[0]} of {groups[1]} segments. At least {FEWEST_GROUPS}, and half of all, "
            "are needed to choose λ. Use λ = 1."
        )
        return Advice(EVEN, gain, gain_ci, why)
    if gain is None:
        return Advice(None, None, None, "Agreement is undefined at λ = 1, so the gain cannot be computed.")
    if gain_ci is None:
        return Advice(None, gain, None, "The gain over λ = 1 has no confidence interval, so no λ is recommended.")
    low, high = gain_ci
    said = f"The gain in agreement over λ = 1 is {format_number(gain, 4)}, 95 % CI {format_number(low, 4)} to {format_number(high, 4)}"
    if low > 0:
        return Advice(lam, gain, gain_ci, f"{said}: the best λ is recommended.")
    return Advice(EVEN, gain, gain_ci, f"{said}: not significantly better, so it may be chance. Use λ = 1.")
