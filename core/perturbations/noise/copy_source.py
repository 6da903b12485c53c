"""Copy-source test (He et al. 2023, appendix D): the source is used as the output."""

from __future__ import annotations

from random import Random

from core.perturbations.noise.base import Noise, NoiseContext, NoiseLevel
from core.text.edits import Edit, Outcome, Refused, changed


def _copied(text: str, strength: float, random: Random, context: NoiseContext) -> Outcome:
    source = context.source or ""
    if not source.strip():
        return Refused("the source text is empty")
    if source == text:
        return Refused("the text equals its source")
    return changed(text, [Edit(0, len(text), source)])


COPY = Noise(
    name="copy-source",
    label="Copy of the source",
    aspect="special",
    help="Replaces the output with the unchanged source text.",
    make=_copied,
    levels=(NoiseLevel(1, "copy"),),
    graded=False,
    seeded=False,
    needs=frozenset({"source"}),
)
