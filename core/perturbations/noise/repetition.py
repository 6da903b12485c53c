"""Repetition test (He et al. 2023, appendix E): the end of the text is repeated."""

from __future__ import annotations

from random import Random

from core.perturbations.noise.base import Noise, NoiseContext, NoiseLevel
from core.text.edits import Edit, Outcome, Refused, changed
from core.text.words import is_unspaced, units

N = 4


def _repeated(text: str, strength: float, random: Random, context: NoiseContext) -> Outcome:
    last = units(text)[-N:]
    if len(last) < N:
        return Refused(f"fewer than {N} tokens")
    gram, end = text[last[0].start : last[-1].end], last[-1].end
    space = "" if is_unspaced(gram[0]) else " "
    return changed(text, [Edit(end, end, (space + gram) * int(strength))])


REPETITION = Noise(
    name="repetition",
    label="Repetition",
    aspect="special",
    help=f"Repeats the last {N} tokens, including punctuation, 10, 20 or 30 times.",
    make=_repeated,
    levels=tuple(NoiseLevel(k, f"Rep-{k}") for k in (10, 20, 30)),
    graded=False,
    seeded=False,
)
