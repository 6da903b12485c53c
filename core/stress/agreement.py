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
_WISHES = frozenset("if wish though as whether lest".split())


def _disagree(p: Parsed, random: Random) -> Outcome | list[Edit]:
    """Every `be`, `have` and `do` that certainly agrees, as published; else one full verb."""
    edits = [p.replace(i, SWAPS[p.low(i)]) for i in range(p.n) if p.low(i) in SWAPS and _agrees(p, i)]
    if edits:
        return edits
    verbs = [(i, tag) for i in range(p.n) if (tag := finite(p, i)) in ("VBZ", "VBP") and p.low(i - 1) != "who"]
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
    return not beside & (_COLLECTIVE | MODALS | {"to", "let", "there"}) and i > 0


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
)
