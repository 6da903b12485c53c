"""The copy-source test (He et al. 2023, appendix D): the source handed in as the output."""

from __future__ import annotations

from random import Random

from core.stress.base import Outcome, Refused, changed
from core.stress.noise.base import Beside, Edit, Level, Noise


def _copied(text: str, strength: float, random: Random, beside: Beside) -> Outcome:
    source = beside.source or ""
    if not source.strip():
        return Refused("the source text is empty")
    if source == text:
        return Refused("the text is its source already")
    return changed(text, [Edit(0, len(text), source)])


COPY = Noise(
    name="copy-source",
    family="copy_source",
    label="Copy of the source",
    aspect="special",
    paper="He et al. 2023, appendix D",
    help="The output gives way to the source text as it stands.",
    make=_copied,
    levels=(Level(1, "copy"),),
    graded=False,
    seeded=False,
    needs=frozenset({"source"}),
)
