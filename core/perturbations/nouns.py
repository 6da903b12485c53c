"""Noun mismatch: one noun is replaced by another of the same number and kind, by an antonym if one is known
(Chen and Eger 2023, §3; Chen et al. 2021)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from random import Random

from core.english import word_groups
from core.english.parsing import TaggedText, english, inflect, lemmas
from core.english.phrases import NounPhrase, noun_phrase
from core.english.word_groups import IDEAS, MASS, NOUN_OPPOSITES, PERSONS, SEASONS, THINGS, TIMES
from core.perturbations.base import Perturbation
from core.text.edits import Edit, Outcome, Refused

NEVER = frozenset(
    """lot number kind sort type couple rest majority variety series range amount pair bit part half fact way course
    case end order addition time times means place thing things reason sense matter one ones deal percent per cent
    share degree level favor favour front top side middle instance example term terms view account average
    hundreds thousands millions billions dozens tens dollars euros pounds miles kilometres kilometers metres meters feet
    inches tons degrees today tomorrow yesterday tonight morning afternoon moment while minute minutes hour
    hours second seconds season home hand piece plenty lots others something anything nothing everything someone anyone
    everyone doubt regard respect terms behalf accordance attempt ability effort efforts right rights need decision
    plan opportunity chance desire willingness tendency refusal failure claim belief idea hope news police
    past future present kinds sorts types sake wake midst light age ages period times spite run row event process
    majority minority group total quarter quarters bulk plus a.m. p.m. sum billion million thousand hundred starter parts contrary vein handle mend verge brink extent purpose""".split()
)
_PERSONAL = ("ator", "ist", "ician", "eer", "man", "woman", "gee", "makers", "zen", "person", "leader")
_COMPLEMENTS = frozenset("that to whether".split())


@cache
def kinds() -> dict[str, Sequence[str]]:
    """Return the word list of each listed noun."""
    return {word: kind for kind in (*word_groups.KINDS, TIMES, SEASONS, MASS) for word in kind}


def fitting(p: TaggedText, phrase: NounPhrase, random: Random) -> str:
    """Return an inflected replacement for the head of a phrase; "" if none certainly fits."""
    low = p.low(phrase.head)
    base = "person" if low == "people" else (lemmas(low, "NOUN") or ("",))[0]
    if not base or low in NEVER or base in NEVER or p.low(phrase.head + 1) in _COMPLEMENTS:
        return ""
    tag = "NNS" if phrase.plural else "NN"
    if opposite := NOUN_OPPOSITES.get(base):
        new = inflect(opposite, tag)
        return new if not phrase.plural or new != opposite else ""
    kind = kinds().get(base)
    bare = not phrase.plural and not phrase.determiner
    if bare and (kind is not MASS or p.low(phrase.start - 1) in ("", "in", "on", "at", "by")):
        return ""
    if kind is None:
        if base == "person" or base.endswith(_PERSONAL) or p.low(phrase.head + 1) in ("who", "whose", "whom"):
            kind = PERSONS
        elif p.low(phrase.start - 1) in ("last", "next", "this", "every") or p.low(phrase.head + 1) == "ago":
            return ""
        elif phrase.determiner in ("each", "every", "some", "any", "no", "all") or _quantified(p, phrase):
            kind = (*PERSONS, *THINGS) if phrase.plural else ()
        else:
            kind = IDEAS
    if not kind or (kind is MASS and phrase.determiner in ("a", "an")):
        return ""
    taken = set(p.lows(0, p.n))
    words = [w for w in kind if w != base and w not in taken and inflect(w, "NNS") not in taken]
    return inflect(random.choice(words), tag) if words else ""


def _quantified(p: TaggedText, phrase: NounPhrase) -> bool:
    return any(
        p.tag(i) == "CD" or p.low(i) in ("many", "few", "much", "several") for i in range(phrase.start, phrase.head)
    )


def _mismatch(p: TaggedText, random: Random) -> Outcome | list[Edit]:
    known: list[tuple[int, str]] = []
    others: list[tuple[int, str]] = []
    for i in range(p.n):
        phrase = noun_phrase(p, i)
        if phrase is None:
            continue
        new = fitting(p, phrase, random)
        if new and new != p.low(i):
            (known if (lemmas(p.low(i), "NOUN") or ("",))[0] in NOUN_OPPOSITES else others).append((i, new))
    if not known and not others:
        return Refused("no common noun can be replaced with certainty")
    i, new = random.choice(known or others)
    return [p.replace(i, new), *p.article(i, new)]


NOUN = Perturbation(
    name="noun",
    phenomenon="Mismatch, noun",
    kind="adequacy",
    help="One noun becomes another of the same number and kind: its antonym if one is known",
    change=english(_mismatch),
    version=3,
)
