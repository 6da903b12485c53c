"""Subject–verb disagreement: a finite verb takes the wrong number (Chen and Eger 2023, §3; Sai et al. 2021)."""

from __future__ import annotations

from random import Random

from core.english.parsing import TaggedText, english, inflect
from core.english.phrases import MODALS, bare_infinitive, finite, lemma
from core.english.word_groups import opposites
from core.perturbations.base import Perturbation
from core.text.edits import Edit, Outcome, Refused

SWAPS = opposites("is = are|was = were|has = have|does = do")
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
"""Words before `of` and a noun that can take a singular or plural verb."""
_ENDS = frozenset(', ; : – — ( ) “ ” "'.split())
_SINGULAR = frozenset("is was has does".split())
_WISHES = frozenset("if wish though as whether lest".split())


def _disagree(p: TaggedText, random: Random) -> Outcome | list[Edit]:
    """Change every form of `be`, `have` and `do` that certainly agrees, as published; else one full verb."""
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
    return Refused("no verb certainly agrees with a subject in number")


def _agrees(p: TaggedText, i: int) -> bool:
    low = p.low(i)
    if low in ("have", "do") and (bare_infinitive(p, i) or p.tag(i) == "VB" and i == 0 or not _subject(p, i)):
        return False
    if low in ("was", "were") and set(p.lows(p.sentence(i)[0], i)) & _WISHES:
        return False
    beside = {p.low(i - 1), p.low(i + 1)} if p.low(i + 1) in ("you", "i") else {p.low(i - 1)}
    if beside & (_COLLECTIVE | MODALS | {"to", "let", "there"}) or i == 0:
        return False
    return not _doubtful(p, i, singular=low in _SINGULAR)


def _doubtful(p: TaggedText, i: int, *, singular: bool) -> bool:
    """Return whether the subject of the verb at i may have either number: a group or an amount `of` something, parts joined by
    `and` or `or`, a plural treated as one thing, a name that looks plural, a bracket right before the verb."""
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


def _is_finite(p: TaggedText, i: int) -> bool:
    return p.low(i) in SWAPS or p.tag(i) in ("VBD", "VBZ", "VBP", "MD")


def _one(p: TaggedText, i: int) -> bool:
    if p.low(i) in ("i", "it", "he", "she", "this", "that", "each", "every", "one", "everyone", "a", "an", "news"):
        return True
    return p.tag(i) in ("NN", "NNP")


def _many(p: TaggedText, i: int) -> bool:
    return p.tag(i) in ("NNS", "NNPS", "CD") or p.low(i) in ("i", "you", "we", "they", "these", "those", "them", "both")


def _subject(p: TaggedText, i: int) -> bool:
    """Return whether a plural noun or pronoun stands right before `have` or `do`, adverbs aside."""
    j = i - 1
    while p.tag(j) == "RB":
        j -= 1
    return p.low(j) in ("i", "you", "we", "they") or p.tag(j) in ("NNS", "NNPS")


AGREEMENT = Perturbation(
    name="agreement",
    phenomenon="Subject–verb disagreement",
    kind="fluency",
    help="Every form of be, have and do (or one full verb if there is none) disagrees with its subject in number",
    change=english(_disagree),
    version=3,
)
