"""Addition: a noun is joined to an existing noun (Chen and Eger 2023, §3), or a fact is added that the original does not state."""

from __future__ import annotations

from random import Random

from core.english.parsing import TaggedText, article, english, inflect, lemmas
from core.english.phrases import BE, MODALS, NounPhrase, governed, is_object, noun_phrase
from core.english.word_groups import IDEAS, MASS, PERSONS, SEASONS, TIMES
from core.perturbations.base import Perturbation
from core.perturbations.nouns import NEVER, kinds
from core.text.edits import Edit, Outcome, Refused

_STOPS = frozenset(
    '. , ; : ) ! ? " ” in on at of from for with during since by under over after before against within across among through'.split()
) | {""}
_BEFORE = frozenset("between of and or , as".split())
_APPOSED = frozenset("the a an which who whose whom where".split())
"""Words that start an apposition or relative clause after a comma."""
_POSSESSIVE = frozenset("my your his her its our their".split())
FACTS: tuple[str, ...] = (
    "in the presence of several witnesses", "for the second time", "on a rainy afternoon", "with the help of two neighbours",
    "while a band was playing nearby", "despite the cold weather", "in front of a large audience", "after a long discussion",
    "at the request of a lawyer", "to the surprise of many", "as a photographer later confirmed", "for the first time in ten years",
    "with an unusually large budget", "in a small town near the coast", "at the suggestion of an old friend",
    "after two months of preparation", "to the delight of the public", "under the supervision of an expert",
)  # fmt: skip
"""Adjuncts that can end any statement."""


def _add_noun(p: TaggedText, random: Random) -> Outcome | list[Edit]:
    found = [ph for i in range(p.n) if (ph := noun_phrase(p, i)) and _loose(p, ph)]
    random.shuffle(found)
    for phrase in found:
        if new := _companion(p, phrase, random):
            return [p.after(phrase.head, f" and {new}")]
    return Refused("no noun to which another can be joined with certainty")


def _loose(p: TaggedText, phrase: NounPhrase) -> bool:
    """Return whether the phrase is the object of a preposition or verb and nothing depends on its number."""
    before, after = p.low(phrase.start - 1), p.low(phrase.head + 1)
    if after == "," and (p.tag(phrase.head + 2) in ("NNP", "NNPS") or p.low(phrase.head + 2) in _APPOSED):
        return False
    if not (governed(p, phrase) or is_object(p, phrase)) or after not in _STOPS or p.low(phrase.head) in NEVER:
        return False
    if p.low(phrase.start - 2) in ("between", "both", "either") or p.low(phrase.head + 2) in ("and", "or"):
        return False
    if set(p.lows(phrase.start - 6, phrase.start)) & {"between", "both", "either"}:
        return False
    return before not in ("between", "as") and phrase.determiner in ("", "the", "a", "an", *_POSSESSIVE)


def _companion(p: TaggedText, phrase: NounPhrase, random: Random) -> str:
    low, determiner = p.low(phrase.head), phrase.determiner
    base = "person" if low == "people" else (lemmas(low, "NOUN") or ("",))[0]
    kind = kinds().get(base)
    if kind in (TIMES, SEASONS) or any(p.tag(i) == "CD" for i in range(phrase.start, phrase.head)):
        return ""
    if not phrase.plural and not determiner:
        if kind is not MASS or p.low(phrase.start - 1) in ("in", "on", "at", "by"):
            return ""
    elif kind is None or kind is MASS:
        kind = PERSONS if base == "person" else IDEAS
    taken = set(p.lows(0, p.n))
    words = [w for w in kind if w not in taken and inflect(w, "NNS") not in taken]
    new = inflect(random.choice(words), "NNS" if phrase.plural else "NN")
    if determiner in ("a", "an"):
        return f"{article(new)} {new}"
    return f"{determiner} {new}" if determiner and not phrase.plural else new


def _add_fact(p: TaggedText, random: Random) -> Outcome | list[Edit]:
    """Add a fact before the full stop of the last sentence."""
    last = p.n - 1
    start, _ = p.sentence(last)
    if p.low(last) != "." or last - start < 4 or p.word(start)[:1].islower():
        return Refused("no statement that ends with a full stop")
    words = set(p.lows(start, last))
    if words & {'"', "“", "”", "``", "''", "'", "‘", "’", "(", ")", ":", ";", "–", "—", "-", "..."}:
        return Refused("quotation marks, brackets or dashes make the end of the statement uncertain")
    if words & (MODALS | {"if"}) or not any(
        p.low(i) in ("was", "were", "had") or p.tag(i) == "VBD" for i in range(start, last)
    ):
        return Refused("no statement in the past tense to which a circumstance can be added")
    if not p.low(last - 1).isalpha() or p.tag(last - 1) in ("IN", "TO", "DT", "MD") or p.low(last - 1) in BE:
        return Refused("the statement ends incompletely")
    fitting = [f for f in FACTS if not set(f.split()) & words & {"time", "despite", "band", "town"}]
    return [p.after(last - 1, f", {random.choice(fitting)}")]


NOUN = Perturbation(
    name="addition",
    phenomenon="Addition",
    kind="adequacy",
    help="Joins a noun to an existing noun with “and”",
    change=english(_add_noun),
    version=3,
)

FACT = Perturbation(
    name="added-fact",
    phenomenon="Added fact",
    kind="adequacy",
    help="Adds a circumstance that the original does not state",
    change=english(_add_fact),
)
