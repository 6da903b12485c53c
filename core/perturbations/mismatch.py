"""Mismatch: an adjective, noun or verb is replaced by another of its form, by an antonym if one is known (Chen and Eger 2023, §3; Chen
et al. 2021).

A new verb must share the frame of the old one: with a plain object, passive, without an object, before `to` and a verb, or before
`that`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from random import Random

from core.english import word_groups
from core.english.analysis import ParsedText
from core.english.certain_words import NounPhrase, is_full_verb, noun_phrase
from core.english.clauses import subjects
from core.english.dictionary import BE, base_form, inflect, noun_base, pos_tags
from core.english.word_groups import IDEAS, MASS, NOUN_OPPOSITES, PERSONS, SEASONS, THINGS, TIMES
from core.perturbations.base import Perturbation, english
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
_FRANK = frozenset("sure clear fair frank honest precise exact certain blunt specific".split())
"""After `to be` at the start of a sentence or between commas, these comment on the statement: to be sure."""
_FIXED = frozenset("as least best first last in at of".split())
_AFTER_PREDICATIVE = frozenset('. , ; : ! ? and but because ) " ”'.split()) | {""}


def is_adjective(r: ParsedText, i: int) -> bool:
    """Return whether word i is certainly an adjective in lower case."""
    word = r.words[i]
    listed = not pos_tags(word.low) or "ADJ" in pos_tags(word.low)
    plain = word.text == word.low and word.low.isalpha() and not r.glued(i)
    return word.tag in ("JJ", "JJR", "JJS") and plain and listed and r.sure(i) and not word.entity


def attributive(r: ParsedText, i: int) -> bool:
    """Return whether an adjective stands right before the noun or compound that it describes."""
    head = r.words[i].head
    if r.role(i) != "amod" or not i < head <= i + 2 or r.tag(head) not in ("NN", "NNS") or r.words[head].entity:
        return False
    between = all(r.adjoins(j + 1) and r.role(j) in ("compound", "amod") for j in range(i, head))
    return between and not r.glued(i + 1) and f"{r.low(i)}-{r.low(i + 1)}" not in _SET


def predicative(r: ParsedText, i: int) -> bool:
    """Return whether an adjective follows a form of `be` and ends its clause."""
    before = i - 1
    while r.low(before) in ("very", "so", "too", "quite", "not", "n't", "also", "still", "more", "less"):
        before -= 1
    ends = r.low(before) in BE and r.low(i + 1) in _AFTER_PREDICATIVE
    return ends and r.role(i) == "acomp" and {r.role(j) for j in r.children(i)} <= {"advmod"}


def _change_adjective(r: ParsedText, random: Random) -> Outcome | list[Edit]:
    known: list[tuple[int, str]] = []
    others: list[tuple[int, str]] = []
    taken = {word.low for word in r.words}
    for i in range(len(r.words)):
        if not is_adjective(r, i) or (r.low(i - 2) == "to" and r.low(i - 1) == "be" and r.low(i) in _FRANK):
            continue
        low, before, after = r.low(i), attributive(r, i), predicative(r, i)
        if low in word_groups.ADJECTIVE_OPPOSITES and (before or after) and r.low(i - 1) not in _FIXED - {"of", "in"}:
            known.append((i, word_groups.ADJECTIVE_OPPOSITES[low]))
        elif low in NEVER or r.tag(i) != "JJ" or "ADJ" not in pos_tags(low) or low.endswith("ed"):
            continue
        elif before or (after and r.low(i - 1) not in ("more", "less")):
            words = word_groups.ADJECTIVES if before else word_groups.PREDICATES
            others.append((i, random.choice([w for w in words if w not in taken and w != low])))
    if not known and not others:
        return Refused("no adjective can be replaced with certainty")
    i, new = random.choice(known or others)
    return [r.replace(i, new), *r.article(i, new)]


ADJECTIVE = Perturbation(
    name="adjective",
    phenomenon="Mismatch, adjective",
    kind="adequacy",
    help="One adjective becomes another of the same degree: its antonym if one is known",
    change=english(_change_adjective),
    version=3,
)


_PERSONAL = ("ator", "ist", "ician", "eer", "man", "woman", "gee", "makers", "zen", "person", "leader")
_AFTER_KEPT_NOUN = frozenset("that to whether".split())


@cache
def kinds() -> dict[str, Sequence[str]]:
    """Return the word list of each listed noun."""
    return {word: kind for kind in (*word_groups.KINDS, TIMES, SEASONS, MASS) for word in kind}


def _fitting(r: ParsedText, phrase: NounPhrase, random: Random) -> str:
    """Return an inflected replacement for the head of a phrase; "" if none certainly fits."""
    base, before, after = noun_base(r.low(phrase.head)), r.low(phrase.start - 1), r.low(phrase.head + 1)
    if after in _AFTER_KEPT_NOUN or (phrase.plural and after == "'s") or r.children(phrase.head, "acl", "ccomp"):
        return ""
    tag = "NNS" if phrase.plural else "NN"
    if opposite := NOUN_OPPOSITES.get(base):
        new = inflect(opposite, tag)
        return new if not phrase.plural or new != opposite else ""
    kind = kinds().get(base)
    if not phrase.plural and not phrase.determiner and (kind is not MASS or before in ("", "in", "on", "at", "by")):
        return ""
    if kind is None:
        if base == "person" or base.endswith(_PERSONAL) or after in ("who", "whose", "whom"):
            kind = PERSONS
        elif before in ("last", "next", "this", "every") or after == "ago" or r.words[phrase.head].entity:
            return ""
        elif phrase.determiner in ("each", "every", "some", "any", "no", "all") or phrase.counted:
            kind = (*PERSONS, *THINGS) if phrase.plural else ()
        else:
            kind = IDEAS
    if not kind or (kind is MASS and phrase.determiner in ("a", "an")):
        return ""
    taken = {word.low for word in r.words}
    words = [w for w in kind if w != base and w not in taken and inflect(w, "NNS") not in taken]
    return inflect(random.choice(words), tag) if words else ""


def _change_noun(r: ParsedText, random: Random) -> Outcome | list[Edit]:
    known: list[tuple[int, str]] = []
    others: list[tuple[int, str]] = []
    for i in range(len(r.words)):
        phrase = noun_phrase(r, i)
        new = _fitting(r, phrase, random) if phrase else ""
        if new and new != r.low(i):
            (known if noun_base(r.low(i)) in NOUN_OPPOSITES else others).append((i, new))
    if not known and not others:
        return Refused("no common noun can be replaced with certainty")
    i, new = random.choice(known or others)
    return [r.replace(i, new), *r.article(i, new)]


NOUN = Perturbation(
    name="noun",
    phenomenon="Mismatch, noun",
    kind="adequacy",
    help="One noun becomes another of the same number and kind: its antonym if one is known",
    change=english(_change_noun),
    version=4,
)


_ADJUNCTS = frozenset("in on at during because when after before since until by last this twice again".split())
"""Words that can open an adjunct after any verb."""
_COMPLEMENTS = ("dobj", "dative", "xcomp", "ccomp", "oprd", "prt", "acomp", "attr", "agent")

_FRAMES: dict[str, tuple[Sequence[str], dict[str, str]]] = {
    "object": (word_groups.TRANSITIVE, word_groups.TRANSITIVE_OPPOSITES),
    "none": (word_groups.INTRANSITIVE, word_groups.INTRANSITIVE_OPPOSITES | word_groups.SCALE_OPPOSITES),
    "to": (word_groups.TO_VERBS, word_groups.TO_OPPOSITES),
    "that": (word_groups.THAT_VERBS, word_groups.THAT_OPPOSITES),
}
"""Replacements and antonyms by frame."""


def _certain_form(r: ParsedText, i: int) -> str:
    """Return the inflection tag of the full verb at i if tag and syntax agree on it, else ""."""
    tag, low = r.tag(i), r.low(i)
    if (
        r.word(i) != low
        or not r.sure(i)
        or not is_full_verb(r, i)
        or r.tag(i - 1) == "RP"
        or r.low(i - 1) in ("down", "up")
    ):
        return ""
    helped = bool(r.children(i, "aux", "auxpass"))
    if tag == "VBN":
        return tag if helped else ""
    if tag == "VBG":
        return tag if helped or r.role(i) == "pcomp" else ""
    if tag == "VB":
        return tag if helped else ""
    return tag if not helped and (subjects(r, i) or r.role(i) == "conj") else ""


def _frame(r: ParsedText, i: int) -> str:
    """Return what the verb takes; "" if it is something else, or uncertain."""
    complements = [r.role(j) for j in r.children(i, *_COMPLEMENTS)]
    leaning = [r.low(j) for j in r.children(i, "prep") if r.low(j) not in _ADJUNCTS]
    following = r.low(i + 1)
    plain = not following[:1].isalnum() or following in _ADJUNCTS or following == "and"
    if r.children(i, "auxpass"):
        return "object" if not leaning and set(complements) <= {"agent"} and plain else ""
    if complements == ["xcomp"]:
        return "to" if following == "to" and r.tag(i + 2) == "VB" else ""
    if complements == ["ccomp"]:
        clause = r.children(i, "ccomp")[0]
        return "that" if i < clause and min(r.below(clause)) == i + 1 and subjects(r, clause) else ""
    if complements == ["dobj"] and not leaning:
        noun = r.children(i, "dobj")[0]
        return "object" if noun > i and following != "that" and min(r.below(noun)) == i + 1 else ""
    return "none" if not complements and not leaning and plain else ""


def _change_verb(r: ParsedText, random: Random) -> Outcome | list[Edit]:
    known: list[tuple[int, str]] = []
    others: list[tuple[int, str]] = []
    for i in range(len(r.words)):
        form = _certain_form(r, i)
        frame = _frame(r, i) if form else ""
        base = base_form(r.low(i), form) if frame else ""
        if not base:
            continue
        words, opposites = _FRAMES[frame]
        if base in opposites:
            known.append((i, inflect(opposites[base], form)))
        elif base in words or (frame == "object" and base in word_groups.PLAIN_TRANSITIVE):
            others.append((i, inflect(random.choice([w for w in words if w not in word_groups.alike(base)]), form)))
    known, others = [k for k in known if k[1]], [o for o in others if o[1]]
    if not known and not others:
        return Refused("no verb can be replaced by another of the same frame")
    i, new = random.choice(known or others)
    return [r.replace(i, new)]


VERB = Perturbation(
    name="verb",
    phenomenon="Mismatch, verb",
    kind="adequacy",
    help="One verb becomes another of the same form and frame: its antonym if one is known",
    change=english(_change_verb),
    version=4,
)
