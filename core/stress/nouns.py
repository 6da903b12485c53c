"""Noun mismatch: one noun gives way to another of the same number and kind, an opposite where one is known."""

from __future__ import annotations

from functools import cache
from random import Random

from core.stress import lists
from core.stress.base import Edit, Outcome, Perturbation, Refused
from core.stress.english import Parsed, english, inflect, lemmas
from core.stress.phrases import NounPhrase, noun_phrase

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
def opposites() -> dict[str, str]:
    return lists.pairs(lists.NOUN_OPPOSITES)


@cache
def kinds() -> dict[str, tuple[str, ...]]:
    """The list a noun stands in, by the noun."""
    return {
        word: kind
        for kind in (*lists.KINDS, tuple(lists.TIMES), tuple(lists.SEASONS), tuple(lists.MASS))
        for word in kind
    }


def fitting(p: Parsed, phrase: NounPhrase, random: Random) -> str:
    """Another noun, inflected, for the head of a phrase; "" where none is sure to fit."""
    low = p.low(phrase.head)
    base = "person" if low == "people" else (lemmas(low, "NOUN") or ("",))[0]
    if not base or low in NEVER or base in NEVER or p.low(phrase.head + 1) in _COMPLEMENTS:
        return ""
    tag = "NNS" if phrase.plural else "NN"
    if base in opposites():
        new = inflect(opposites()[base], tag)
        return new if not phrase.plural or new != opposites()[base] else ""
    kind = kinds().get(base)
    bare = not phrase.plural and not phrase.determiner
    if bare and (kind is None or kind[0] != lists.MASS[0] or p.low(phrase.start - 1) in ("", "in", "on", "at", "by")):
        return ""
    if kind is None:
        if base == "person" or base.endswith(_PERSONAL) or p.low(phrase.head + 1) in ("who", "whose", "whom"):
            kind = tuple(lists.PERSONS)
        elif p.low(phrase.start - 1) in ("last", "next", "this", "every") or p.low(phrase.head + 1) == "ago":
            return ""
        elif phrase.determiner in ("each", "every", "some", "any", "no", "all") or _quantified(p, phrase):
            kind = (*lists.PERSONS, *lists.THINGS) if phrase.plural else ()
        else:
            kind = tuple(lists.IDEAS)
    if not kind or (kind[0] == lists.MASS[0] and phrase.determiner in ("a", "an")):
        return ""
    taken = set(p.lows(0, p.n))
    words = [w for w in kind if w != base and w not in taken and inflect(w, "NNS") not in taken]
    return inflect(random.choice(words), tag) if words else ""


def _quantified(p: Parsed, phrase: NounPhrase) -> bool:
    return any(
        p.tag(i) == "CD" or p.low(i) in ("many", "few", "much", "several") for i in range(phrase.start, phrase.head)
    )


def _mismatch(p: Parsed, random: Random) -> Outcome | list[Edit]:
    known: list[tuple[int, str]] = []
    others: list[tuple[int, str]] = []
    for i in range(p.n):
        phrase = noun_phrase(p, i)
        if phrase is None:
            continue
        new = fitting(p, phrase, random)
        if new and new != p.low(i):
            (known if (lemmas(p.low(i), "NOUN") or ("",))[0] in opposites() else others).append((i, new))
    if not known and not others:
        return Refused("no common noun that another could replace")
    i, new = random.choice(known or others)
    return [p.replace(i, new), *p.article(i, new)]


NOUN = Perturbation(
    name="noun",
    family="nouns",
    phenomenon="Mismatch, noun",
    kind="adequacy",
    paper="Chen and Eger 2023, §3; Chen et al. 2021",
    help="One noun becomes another of the same number and kind: its opposite where one is known",
    change=english(_mismatch),
    code="word_NN",
    version=2,
)
