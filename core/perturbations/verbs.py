"""Verb mismatch: one full verb is replaced by another of the same form and frame, by an antonym if one is known
(Chen and Eger 2023, §3; Chen et al. 2021).

The new verb must share the frame of the old one: with a plain object, passive, without an object, before `to` and a verb, or
before `that`.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from core.english import word_groups
from core.english.parsing import TaggedText, english, forms, inflect
from core.english.phrases import BE, HAVE, OBJECT_STARTS, bare_infinitive, finite, lemma, participle, skip_adverbs
from core.perturbations.base import Perturbation
from core.text.edits import Edit, Outcome, Refused

_AFTER_PASSIVE = frozenset(
    ". , ; : ) by in on at during because when after before and last this from since until across over under twice again ! ?".split()
) | {""}
_AFTER_INTRANSITIVE = frozenset(". , ; : ) in on at during because when after before and last by ! ?".split()) | {""}
_CLAUSE_ENDS = frozenset(", . ; : ! ? ( ) – —".split())
_URGING = frozenset("encourage discourage challenge force allow".split())
_SAID = frozenset("that the he she they it we i his her their there this these those".split())


_FRAMES: dict[str, tuple[Sequence[str], dict[str, str]]] = {
    "object": (word_groups.TRANSITIVE, word_groups.TRANSITIVE_OPPOSITES),
    "none": (word_groups.INTRANSITIVE, word_groups.INTRANSITIVE_OPPOSITES | word_groups.SCALE_OPPOSITES),
    "to": (word_groups.TO_VERBS, word_groups.TO_OPPOSITES),
    "that": (word_groups.THAT_VERBS, word_groups.THAT_OPPOSITES),
}
"""Replacements and antonyms by frame."""


def certain_form(p: TaggedText, i: int) -> str:
    """Return the inflection tag of the verb at i if it is certain, else ""."""
    tag, low = p.tag(i), p.low(i)
    if p.word(i) != low or low in BE | HAVE:
        return ""
    if tag.startswith("VB") and participle(p, i):
        if low.endswith("ing"):
            return "VBG"
        return "VBN" if forms(low, ("VBN",)) else ""
    if tag in ("VB", "VBP") and bare_infinitive(p, i):
        return "VB"
    if tag == "VBG" and p.low(i - 1) in ("by", "of", "for", "without", "from", "about", "after", "before", "at", "in"):
        return "VBG"
    return finite(p, i)


def _frame(p: TaggedText, i: int, form: str) -> str:
    after = p.low(i + 1)
    if form == "VBN" and _last_auxiliary(p, i) in BE:
        return "object" if after in _AFTER_PASSIVE else ""
    if after == "to" and p.tag(i + 2) == "VB":
        return "to"
    if after == "that" or (after in _SAID and _clause(p, i + 1)):
        return "that"
    adjective = p.tag(i + 1) == "JJ" and p.tag(i + 2) in ("NN", "NNS")
    if adjective or after in OBJECT_STARTS or p.tag(i + 1) in ("NNS", "NNP", "CD"):
        return "object"
    return "none" if after in _AFTER_INTRANSITIVE else ""


def _last_auxiliary(p: TaggedText, i: int) -> str:
    j = skip_adverbs(p, i - 1, -1)
    while p.low(j) in ("not", "n't"):
        j = skip_adverbs(p, j - 1, -1)
    return p.low(j)


def _clause(p: TaggedText, i: int) -> bool:
    """Return whether a reported clause follows (a nominative pronoun and a verb) rather than an object."""
    if p.low(i) in ("he", "she", "they", "we", "i", "there"):
        return True
    return any(p.low(j) in BE | HAVE or p.tag(j) == "MD" for j in range(i + 1, min(i + 5, p.n)))


def _leans(p: TaggedText, i: int, base: str) -> bool:
    """Return whether something after the object depends on this verb: turn it `into`, keep him `from` going, encourage us `to`
    go."""
    for j in range(i + 1, min(i + 12, p.n)):
        if p.low(j) in _CLAUSE_ENDS:
            return False
        if p.low(j) == "into" or (p.low(j) == "from" and p.tag(j + 1) == "VBG"):
            return True
        if base in _URGING and p.low(j) == "to" and p.tag(j + 1) == "VB":
            return True
    return False


def _mismatch(p: TaggedText, random: Random) -> Outcome | list[Edit]:
    known: list[tuple[int, str]] = []
    others: list[tuple[int, str]] = []
    for i in range(p.n):
        if not p.tag(i).startswith(("VB", "NNS")):
            continue
        form = certain_form(p, i)
        frame = _frame(p, i, form) if form else ""
        base = lemma(p.low(i)) if frame else ""
        if not base:
            continue
        words, opposites = _FRAMES[frame]
        if frame == "object" and _leans(p, i, base):
            continue
        if base in opposites:
            known.append((i, inflect(opposites[base], form)))
        elif base in words or (frame == "object" and base in word_groups.PLAIN_TRANSITIVE):
            others.append((i, inflect(random.choice([w for w in words if w != base]), form)))
    known, others = [k for k in known if k[1]], [o for o in others if o[1]]
    if not known and not others:
        return Refused("no verb can be replaced by another of the same frame")
    i, new = random.choice(known or others)
    return [p.replace(i, new)]


VERB = Perturbation(
    name="verb",
    phenomenon="Mismatch, verb",
    kind="adequacy",
    help="One verb becomes another of the same form and frame: its antonym if one is known",
    change=english(_mismatch),
    version=3,
)
