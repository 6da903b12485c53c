"""Adjective mismatch: one adjective is replaced by another of the same degree, by an antonym if one is known
(Chen and Eger 2023, §3; Chen et al. 2021)."""

from __future__ import annotations

from random import Random

from core.english import word_groups
from core.english.parsing import TaggedText, english, pos_tags
from core.english.phrases import BE
from core.perturbations.base import Perturbation
from core.text.edits import Edit, Outcome, Refused

NEVER = frozenset(
    """many few much more most less least other same such own last next first second third several certain various whole
    former latter able due far past present future entire very only single double total main prime real vice ex half
    enough little worth then so-called alleged fellow further additional particular respective mere sheer utter
    involved responsible like unlike near close left right prior subsequent previous following based known said
    one two three concerned aware afraid live high long great early late good best better average just total social spare
    chief general special human united federal major minor middle key top sole outright overall daily annual
    monthly weekly yearly mid senior junior common private public open general""".split()
)
"""Replaced only by their antonym, if any: they quantify, order, or belong to a fixed phrase."""
_SET = frozenset(
    """high-school prime-minister real-estate good-bye long-term short-term open-source common-sense private-equity
    general-election public-opinion white-house long-time good-luck best-friend early-morning dead-end fast-food
    hot-dog light-year old-age new-year large-scale high-court low-income minor-league major-league cold-war hard-drive
    early-stages wide-range wide-variety great-deal long-way short-time long-time good-deal foreign-minister foreign-policy foreign-affairs
    international-community public-health public-sector private-sector primary-school secondary-school high-street
    primary-election dark-matter common-law early-twenties late-twenties""".split()
)
_COMPLEMENTS = frozenset("to of that with from by for at about in on than as if enough whether".split())
_FRANK = frozenset("sure clear fair frank honest precise exact certain blunt specific".split())
"""After `to be` at the start of a sentence or between commas, these comment on the statement: to be sure."""
_FIXED = frozenset("as least best first last in at of".split())
_AFTER_PREDICATIVE = frozenset('. , ; : ! ? and but because ) " ”'.split()) | {""}


def attributive(p: TaggedText, i: int) -> bool:
    """Return whether an adjective stands before its noun, after a determiner, preposition, verb or another adjective."""
    if p.tag(i + 1) not in ("NN", "NNS") or f"{p.low(i)}-{p.low(i + 1)}" in _SET:
        return False
    return p.tag(i - 1) in ("DT", "PRP$", "IN", "JJ", "VB", "VBD", "VBZ", "VBP", "VBG", "CD", "RB", "TO", "CC", "")


def predicative(p: TaggedText, i: int) -> bool:
    """Return whether an adjective follows a form of `be` and ends its clause."""
    before = i - 1
    while p.low(before) in ("very", "so", "too", "quite", "not", "n't", "also", "still", "more", "less"):
        before -= 1
    return p.low(before) in BE and p.low(i + 1) in _AFTER_PREDICATIVE


def is_adjective(p: TaggedText, i: int) -> bool:
    low = p.low(i)
    listed = not pos_tags(low) or "ADJ" in pos_tags(low)
    return p.tag(i) in ("JJ", "JJR", "JJS") and p.word(i) == low and low.isalpha() and listed


def _mismatch(p: TaggedText, random: Random) -> Outcome | list[Edit]:
    known: list[tuple[int, str]] = []
    others: list[tuple[int, str]] = []
    taken = set(p.lows(0, p.n))
    for i in range(p.n):
        if not is_adjective(p, i):
            continue
        low, before, after = p.low(i), attributive(p, i), predicative(p, i)
        if p.low(i - 2) == "to" and p.low(i - 1) == "be" and low in _FRANK:
            continue
        if low in ("male", "female") and p.tag(i - 1) == "JJ":
            continue
        if low in word_groups.ADJECTIVE_OPPOSITES and (before or after) and p.low(i - 1) not in _FIXED - {"of", "in"}:
            known.append((i, word_groups.ADJECTIVE_OPPOSITES[low]))
        elif low in NEVER or p.tag(i) != "JJ" or "ADJ" not in pos_tags(low) or low.endswith("ed"):
            continue
        elif before or (after and p.low(i - 1) not in ("more", "less")):
            words = word_groups.ADJECTIVES if before else word_groups.PREDICATES
            others.append((i, random.choice([w for w in words if w not in taken and w != low])))
    if not known and not others:
        return Refused("no adjective can be replaced with certainty")
    i, new = random.choice(known or others)
    return [p.replace(i, new), *p.article(i, new)]


ADJECTIVE = Perturbation(
    name="adjective",
    phenomenon="Mismatch, adjective",
    kind="adequacy",
    help="One adjective becomes another of the same degree: its antonym if one is known",
    change=english(_mismatch),
    version=2,
)
