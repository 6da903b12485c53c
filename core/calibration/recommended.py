"""How many outputs and raters λ should be calibrated with (BARTScore++, Appendix B)."""

ENOUGH_OUTPUTS = 100
ENOUGH_RATERS = 2
