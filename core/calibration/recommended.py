"""How many outputs and raters λ should be calibrated with (BARTScore++, Appendix B)."""

ENOUGH_OUTPUTS = 100
ENOUGH_RATERS = 2


def enough_outputs(available: int | None) -> int:
    """Return the recommended number of outputs, or all `available` ones of a project with fewer. None: unknown."""
    return ENOUGH_OUTPUTS if available is None else min(ENOUGH_OUTPUTS, available)
