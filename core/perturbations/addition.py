"""Addition: a noun is joined to an existing noun (Chen and Eger 2023, §3), or a fact is added that the original does not state."""

from __future__ import annotations

from random import Random

from core.english.analysis import ParsedText
from core.english.certain_words import NounPhrase, noun_phrase
from core.english.dictionary import BE, MODALS, POSSESSIVES, article, inflect, noun_base
from core.english.word_groups import IDEAS, MASS, PERSONS, SEASONS, TIMES
from core.perturbations.base import Perturbation, english
from core.perturbations.mismatch import kinds
from core.text.edits import Edit, Outcome, Refused

_STOPS = frozenset(
    '. , ; : ) ! ? " ” in on at of from for with during since by under over after before against within across among through'.split()
) | {""}
_APPOSED = frozenset("the a an which who whose whom where".split())
"""Words that start an apposition or relative clause after a comma."""
FACTS: tuple[str, ...] = (
    "in the presence of several witnesses", "for the second time", "on a rainy afternoon", "with the help of two neighbours",
    "while a band was playing nearby", "despite the cold weather", "in front of a large audience", "after a long discussion",
    "at the request of a lawyer", "to the surprise of many", "as a photographer later confirmed", "for the first time in ten years",
    "with an unusually large budget", "in a small town near the coast", "at the suggestion of an old friend",
    "after two months of preparation", "to the delight of the public", "under the supervision of an expert",
)  # fmt: skip
"""Adjuncts that can end any statement."""


def _add_noun(r: ParsedText, random: Random) -> Outcome | list[Edit]:
    phrases = [phrase for i in range(len(r.words)) if (phrase := noun_phrase(r, i)) and _loose(r, phrase)]
    random.shuffle(phrases)
    for phrase in phrases:
        if new := _companion(r, phrase, random):
            return [r.after(phrase.head, f" and {new}")]
    return Refused("no noun to which another can be joined with certainty")


def _loose(r: ParsedText, phrase: NounPhrase) -> bool:
    """Return whether the phrase is the object of a preposition or verb and nothing depends on its number."""
    head, governor = phrase.head, r.words[phrase.head].head
    if r.role(head) not in ("pobj", "dobj") or governor > head or r.low(head + 1) not in _STOPS:
        return False
    if r.low(head + 1) == "," and (r.tag(head + 2) in ("NNP", "NNPS") or r.low(head + 2) in _APPOSED):
        return False
    if r.low(head + 2) in ("and", "or", r.low(head)) or set(r.lows(phrase.start - 6, phrase.start)) & {
        "between",
        "both",
        "either",
    }:
        return False
    if r.role(head) == "dobj" and not phrase.determiner:
        return False
    return r.low(governor) != "as" and phrase.determiner in ("", "the", "a", "an", *POSSESSIVES) and not phrase.counted


def _companion(r: ParsedText, phrase: NounPhrase, random: Random) -> str:
    determiner, base = phrase.determiner, noun_base(r.low(phrase.head))
    kind = kinds().get(base)
    if kind in (TIMES, SEASONS):
        return ""
    if not phrase.plural and not determiner:
        if kind is not MASS or r.low(phrase.start - 1) in ("in", "on", "at", "by"):
            return ""
    elif kind is None or kind is MASS:
        kind = PERSONS if base == "person" else IDEAS
    taken = {word.low for word in r.words}
    words = [w for w in kind if w not in taken and inflect(w, "NNS") not in taken]
    new = inflect(random.choice(words), "NNS" if phrase.plural else "NN")
    if determiner in ("a", "an"):
        return f"{article(new)} {new}"
    return f"{determiner} {new}" if determiner and not phrase.plural else new


def _add_fact(r: ParsedText, random: Random) -> Outcome | list[Edit]:
    """Add a fact before the full stop of the last sentence."""
    last = len(r.words) - 1
    start, _ = r.places[last]
    if r.low(last) != "." or last - start < 4 or r.word(start)[:1].islower():
        return Refused("no statement that ends with a full stop")
    words = set(r.lows(start, last))
    if words & {'"', "“", "”", "``", "''", "'", "‘", "’", "(", ")", ":", ";", "–", "—", "-", "..."}:
        return Refused("quotation marks, brackets or dashes make the end of the statement uncertain")
    root = next((i for i in range(start, last) if r.role(i) == "ROOT"), start)
    past = [i for i in (root, *r.children(root, "aux", "auxpass")) if r.tag(i) == "VBD"]
    if words & (MODALS | {"if"}) or not past:
        return Refused("no statement in the past tense to which a circumstance can be added")
    if not r.low(last - 1).isalpha() or r.tag(last - 1) in ("IN", "TO", "DT", "MD") or r.low(last - 1) in BE:
        return Refused("the statement ends incompletely")
    fitting = [f for f in FACTS if not set(f.split()) & words & {"time", "despite", "band", "town"}]
    return [r.after(last - 1, f", {random.choice(fitting)}")]


NOUN = Perturbation(
    name="addition",
    phenomenon="Addition",
    kind="adequacy",
    help="Joins a noun to an existing noun with “and”",
    change=english(_add_noun),
    version=4,
)

FACT = Perturbation(
    name="added-fact",
    phenomenon="Added fact",
    kind="adequacy",
    help="Adds a circumstance that the original does not state",
    change=english(_add_fact),
    version=2,
)
