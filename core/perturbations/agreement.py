"""Subject–verb disagreement: a finite verb takes the wrong number (Chen and Eger 2023, §3; Sai et al. 2021)."""

from __future__ import annotations

from random import Random

from core.english.analysis import ParsedText
from core.english.certain_words import is_full_verb
from core.english.clauses import subjects
from core.english.dictionary import base_form, inflect, noun_base, noun_number
from core.english.entity_kinds import sport
from core.english.word_groups import opposites
from core.perturbations.base import Perturbation, english
from core.text.edits import Edit, Outcome, Refused

SWAPS = opposites("is = are|was = were|has = have|does = do")
_EITHER = frozenset(
    """team police family government staff crowd couple number none majority data media committee band group public
    company firm half any neither rest lot percent cent audience army minority people party club board council press
    personnel range total variety host series handful string set pair plenty bulk percentage proportion share part quarter
    fraction dozen panel class bunch array combination mix mixture kind type sort generation side squad crew""".split()
)
"""Groups and amounts, whose verb may be singular or plural."""
_SINGULAR = frozenset("he she it this that everyone everybody someone somebody".split())
_PLURAL = frozenset("you we they these those".split())
_WISHES = frozenset("if wish though as whether lest".split())


def _disagree(r: ParsedText, random: Random) -> Outcome | list[Edit]:
    """Change every form of `be`, `have` and `do` that certainly agrees, as published; else one full verb."""
    words = range(len(r.words))
    edits = [r.replace(i, SWAPS[r.low(i)]) for i in words if r.low(i) in SWAPS and _agrees(r, i)]
    if edits:
        return edits
    verbs = [i for i in words if r.tag(i) in ("VBZ", "VBP") and is_full_verb(r, i) and _agrees(r, i)]
    random.shuffle(verbs)
    for i in verbs:
        base = base_form(r.low(i), r.tag(i))
        new = inflect(base, "VBP" if r.tag(i) == "VBZ" else "VBZ") if base else ""
        if new and new != r.low(i):
            return [r.replace(i, new)]
    return Refused("no verb certainly agrees with a subject in number")


def _agrees(r: ParsedText, i: int) -> bool:
    """Return whether the finite verb i has a single subject before it that certainly has the number of the verb."""
    low, tag = r.low(i), r.tag(i)
    if tag not in ("VBZ", "VBP", "VBD") or not r.sure(i) or r.glued(i):
        return False
    if low in ("was", "were") and set(r.lows(r.places[i][0], i)) & _WISHES:
        return False
    verb = r.words[i].head if r.role(i) in ("aux", "auxpass") else i
    while r.role(verb) == "conj" and not subjects(r, verb):
        verb = r.words[verb].head
    subject = subjects(r, verb)
    if len(subject) != 1 or r.role(subject[0]) not in ("nsubj", "nsubjpass") or subject[0] > i:
        return False
    plural = low == "were" or (tag == "VBP" and low != "am")
    if r.low(subject[0]) == "i":
        return low in ("was", "have", "do") or (tag == "VBP" and low not in SWAPS)
    return _number(r, subject[0]) == ("NNS" if plural else "NN")


def _number(r: ParsedText, i: int) -> str:
    """Return NN or NNS for a subject of certain number, else ""."""
    word = r.words[i]
    if r.children(i, "conj"):
        return "NNS" if [r.low(j) for j in r.children(i, "cc")] == ["and"] and not r.children(i, "preconj") else ""
    if word.low in _SINGULAR | _PLURAL and word.tag in ("PRP", "DT"):
        return "NN" if word.low in _SINGULAR else "NNS"
    if word.tag == "NNP" and not word.low.endswith("s"):
        return "NN" if word.entity == "PERSON" or (word.entity == "GPE" and not sport(r)) else ""
    if word.tag not in ("NN", "NNS") or not r.sure(i) or noun_number(word.low) != word.tag or r.children(i, "nummod"):
        return ""
    group = {word.low, noun_base(word.low)} & _EITHER or any(
        r.low(j) in ("or", "nor", "either", "neither") for j in r.below(i)
    )
    return "" if group else word.tag


AGREEMENT = Perturbation(
    name="agreement",
    phenomenon="Subject–verb disagreement",
    kind="fluency",
    help="Every form of be, have and do (or one full verb if there is none) disagrees with its subject in number",
    change=english(_disagree),
    version=4,
)
