"""Sentences that are negated, each at one verb, by the rules of `core.stress.negation`."""

from __future__ import annotations

from random import Random

from core.stress.base import Outcome, Refused
from core.stress.english import Parsed, parse, tagger
from core.stress.negation import negations
from core.stress.noise.base import Beside, Noise, edited, some
from core.stress.noise.sentences import LEVELS


def _negate(text: str, strength: float, random: Random, beside: Beside) -> Outcome:
    p = parse(text)
    if isinstance(p, Refused):
        return p
    ways = [random.choice(found) for start, end in _sentences(p) if (found := negations(p, start, end))]
    edits = [edit for way in some(ways, strength, random) for edit in way]
    return edited(text, edits, "no sentence that can be negated for certain, and denies nothing yet")


def _sentences(p: Parsed) -> list[tuple[int, int]]:
    out, i = [], 0
    while i < p.n:
        out.append(p.sentence(i))
        i = out[-1][1]
    return out


NEGATION = Noise(
    name="negated-sentences",
    family="negated",
    label="Negation",
    aspect="consistency",
    paper="He et al. 2023, Table 16",
    help="Random sentences are negated, each at one verb, of the main clause where it can be; never one that denies anything "
    "already. Strength: the share of the sentences that can be negated",
    make=_negate,
    levels=LEVELS,
    models=tagger,
)
