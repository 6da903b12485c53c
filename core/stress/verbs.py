"""Verb mismatch: one full verb gives way to another of the same form and frame, an opposite where one is known.

A verb is replaced only in a frame that the new one shares: with a plain object, in the passive, without any object, before
`to` and a verb, before `that`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from random import Random

from core.stress import lists
from core.stress.base import Edit, Outcome, Perturbation, Refused
from core.stress.english import Parsed, english, forms, inflect
from core.stress.phrases import BE, HAVE, OBJECT_STARTS, bare_infinitive, finite, lemma, participle, skip_adverbs

_AFTER_PASSIVE = frozenset(
    ". , ; : ) by in on at during because when after before and last this from since until across over under twice again ! ?".split()
) | {""}
_AFTER_INTRANSITIVE = frozenset(". , ; : ) in on at during because when after before and last by ! ?".split()) | {""}
_CLAUSE_ENDS = frozenset(", . ; : ! ? ( ) – —".split())
_SAID = frozenset("that the he she they it we i his her their there this these those".split())


@cache
def frames() -> dict[str, tuple[tuple[str, ...], dict[str, str]]]:
    """Replacements and opposites by frame."""
    written: dict[str, tuple[Sequence[str], str]] = {
        "object": (lists.TRANSITIVE, lists.TRANSITIVE_OPPOSITES),
        "none": (lists.INTRANSITIVE, f"{lists.INTRANSITIVE_OPPOSITES}|{lists.SCALE_OPPOSITES}"),
        "to": (lists.TO_VERBS, lists.TO_OPPOSITES),
        "that": (lists.THAT_VERBS, lists.THAT_OPPOSITES),
    }
    return {frame: (tuple(words), lists.pairs(opposites)) for frame, (words, opposites) in written.items()}


def certain_form(p: Parsed, i: int) -> str:
    """The inflection the verb at i certainly stands in, or ""."""
    tag, low = p.tag(i), p.low(i)
    if p.word(i) != low or low in BE | HAVE:
        return ""
    if tag.startswith("VB") and participle(p, i):
        if low.endswith("ing"):
            return "VBG"
        return "VBN" if forms(low, "VERB", ("VBN",)) else ""
    if tag in ("VB", "VBP") and bare_infinitive(p, i):
        return "VB"
    if tag == "VBG" and p.low(i - 1) in ("by", "of", "for", "without", "from", "about", "after", "before", "at", "in"):
        return "VBG"
    return finite(p, i)


def _frame(p: Parsed, i: int, form: str) -> str:
    after = p.low(i + 1)
    passive = form == "VBN" and _last_auxiliary(p, i) in BE
    if passive:
        return "object" if after in _AFTER_PASSIVE else ""
    if after == "to" and p.tag(i + 2) == "VB":
        return "to"
    if after == "that" or (after in _SAID and _clause(p, i + 1)):
        return "that"
    if (
        after in OBJECT_STARTS
        or p.tag(i + 1) in ("NNS", "NNP", "CD")
        or (p.tag(i + 1) == "JJ" and p.tag(i + 2) in ("NN", "NNS"))
    ):
        return "object"
    return "none" if after in _AFTER_INTRANSITIVE else ""


def _last_auxiliary(p: Parsed, i: int) -> str:
    j = skip_adverbs(p, i - 1, -1)
    while p.low(j) in ("not", "n't"):
        j = skip_adverbs(p, j - 1, -1)
    return p.low(j)


def _clause(p: Parsed, i: int) -> bool:
    """True where a nominative pronoun and a verb follow: what is said, not an object."""
    if p.low(i) in ("he", "she", "they", "we", "i", "there"):
        return True
    return any(p.low(j) in BE | HAVE or p.tag(j) == "MD" for j in range(i + 1, min(i + 5, p.n)))


def _leans(p: Parsed, i: int, base: str) -> bool:
    """True where something after the object belongs to this verb alone: turn it `into`, keep him `from` going, encourage us `to` go."""
    for j in range(i + 1, min(i + 12, p.n)):
        if p.low(j) in _CLAUSE_ENDS:
            return False
        if p.low(j) == "into" or (p.low(j) == "from" and p.tag(j + 1) == "VBG"):
            return True
        if (
            base in ("encourage", "discourage", "challenge", "force", "allow")
            and p.low(j) == "to"
            and p.tag(j + 1) == "VB"
        ):
            return True
    return False


def _mismatch(p: Parsed, random: Random) -> Outcome | list[Edit]:
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
        words, opposites = frames()[frame]
        if frame == "object" and _leans(p, i, base):
            continue
        if base in opposites:
            known.append((i, inflect(opposites[base], form)))
        elif base in words or (frame == "object" and base in lists.PLAIN_TRANSITIVE):
            others.append((i, inflect(random.choice([w for w in words if w != base]), form)))
    known, others = [k for k in known if k[1]], [o for o in others if o[1]]
    if not known and not others:
        return Refused("no verb in a frame that another could fill")
    i, new = random.choice(known or others)
    return [p.replace(i, new)]


VERB = Perturbation(
    name="verb",
    family="verbs",
    phenomenon="Mismatch, verb",
    kind="adequacy",
    paper="Chen and Eger 2023, §3; Chen et al. 2021",
    help="One verb becomes another of the same form and frame: its opposite where one is known",
    change=english(_mismatch),
    code="word_VB",
    version=2,
)
