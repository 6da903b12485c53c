"""Subject–verb disagreement: a finite verb takes the number its subject does not have."""

from __future__ import annotations

from random import Random

from core.stress.base import Edit, Outcome, Perturbation, Refused
from core.stress.english import Parsed, english, inflect
from core.stress.phrases import MODALS, bare_infinitive, finite, lemma

SWAPS = {
    "is": "are",
    "are": "is",
    "was": "were",
    "were": "was",
    "has": "have",
    "have": "has",
    "does": "do",
    "do": "does",
}
_COLLECTIVE = frozenset(
    """team police family government staff crowd couple number none majority data media committee band group public
    company firm half any either neither rest lot each percent % audience army minority people who which that
    party club board council press personnel""".split()
)
_AMOUNTS = _COLLECTIVE | frozenset(
    """range numbers total variety lots most some all host series handful string set pair plenty bulk percentage
    proportion share part quarter third two-thirds three-quarters fraction more dozen dozens hundreds thousands millions
    committee panel class bunch array combination mix mixture kind kinds type types sort sorts generation array cent""".split()
)
"""What before `of` and a noun may take either number."""
_ENDS = frozenset(', ; : – — ( ) “ ” "'.split())
_SINGULAR = frozenset("is was has does".split())
_WISHES = frozenset("if wish though as whether lest".split())


def _disagree(p: Parsed, random: Random) -> Outcome | list[Edit]:
    """Every `be`, `have` and `do` that certainly agrees, as published; else one full verb."""
    edits = [p.replace(i, SWAPS[p.low(i)]) for i in range(p.n) if p.low(i) in SWAPS and _agrees(p, i)]
    if edits:
        return edits
    verbs = [
        (i, tag)
        for i in range(p.n)
        if (tag := finite(p, i)) in ("VBZ", "VBP")
        and p.low(i - 1) not in _COLLECTIVE
        and not _doubtful(p, i, singular=tag == "VBZ")
    ]
    random.shuffle(verbs)
    for i, tag in verbs:
        base = lemma(p.low(i))
        new = inflect(base, "VBP" if tag == "VBZ" else "VBZ") if base else ""
        if new and new != p.low(i):
            return [p.replace(i, new)]
    return Refused("no verb that certainly agrees with a subject in number")


def _agrees(p: Parsed, i: int) -> bool:
    low = p.low(i)
    if low in ("have", "do") and (bare_infinitive(p, i) or p.tag(i) == "VB" and i == 0 or not _subject(p, i)):
        return False
    if low in ("was", "were") and set(p.lows(p.sentence(i)[0], i)) & _WISHES:
        return False
    beside = {p.low(i - 1), p.low(i + 1)} if p.low(i + 1) in ("you", "i") else {p.low(i - 1)}
    if beside & (_COLLECTIVE | MODALS | {"to", "let", "there"}) or i == 0:
        return False
    return not _doubtful(p, i, singular=low in _SINGULAR)


def _doubtful(p: Parsed, i: int, *, singular: bool) -> bool:
    """True where the subject of the verb at i may be of either number: a group or an amount `of` something, things joined by
    `and` or `or`, a plural taken as one thing, a name that looks like a plural, a bracket right before the verb."""
    start = p.sentence(i)[0]
    if p.low(i - 1) in (_ENDS | {"states", "nations"}) - {","}:
        return True
    first = last = i
    while first > start and (p.low(first - 1) not in _ENDS or p.low(i - 1) == ","):
        first -= 1
    if any(p.low(j) in _AMOUNTS and p.low(j + 1) == "of" or p.low(j) in ("than", "what") for j in range(first, i)):
        return True
    while last > first and not _is_finite(p, last - 1):
        last -= 1
    subject = range(last, i)
    if any(p.low(j) in ("or", "nor", "either", "neither") for j in subject):
        return True
    joined = [j for j in subject if p.low(j) == "and" and p.tag(j - 1)[:2] in ("NN", "PR")]
    if joined and (singular or p.tag(joined[-1] + 1) in ("NN", "NNS")):
        return True
    nouns = [j for j in subject if p.tag(j)[:2] in ("NN", "PR", "DT", "CD")]
    if singular:
        return bool(nouns) and not any(_one(p, j) for j in nouns)
    return bool(nouns) and not joined and not any(_many(p, j) for j in nouns)


def _is_finite(p: Parsed, i: int) -> bool:
    return p.low(i) in SWAPS or p.tag(i) in ("VBD", "VBZ", "VBP", "MD")


def _one(p: Parsed, i: int) -> bool:
    if p.low(i) in ("i", "it", "he", "she", "this", "that", "each", "every", "one", "everyone", "a", "an", "news"):
        return True
    return p.tag(i) in ("NN", "NNP")


def _many(p: Parsed, i: int) -> bool:
    return p.tag(i) in ("NNS", "NNPS", "CD") or p.low(i) in ("i", "you", "we", "they", "these", "those", "them", "both")


def _subject(p: Parsed, i: int) -> bool:
    """A plural or a pronoun right before `have` or `do`, adverbs apart."""
    j = i - 1
    while p.tag(j) == "RB":
        j -= 1
    return p.low(j) in ("i", "you", "we", "they") or p.tag(j) in ("NNS", "NNPS")


AGREEMENT = Perturbation(
    name="agreement",
    family="agreement",
    phenomenon="Subject–verb disagreement",
    kind="fluency",
    paper="Chen and Eger 2023, §3; Sai et al. 2021",
    help="Every form of be, have and do (or else one full verb) takes the number its subject does not have",
    change=english(_disagree),
    code="subject_verb_dis",
    version=2,
)
