"""Which words of a text are verbs or common nouns for certain, and in which form."""

from __future__ import annotations

from functools import lru_cache

from core.stress.english import forms, inflect, lemmas, may
from core.stress.noise.grammar import Reading
from core.stress.phrases import BE, DO, HAVE

NOT_NOUNS = frozenset(
    """something anything everything nothing someone anyone everyone somebody anybody everybody nobody none one ones who whom
    percent cent per lot lots other others another each same own self selves such much many more most less least few several
    first second third fourth fifth sixth seventh eighth ninth tenth last next half quarter quarters thirds fourths fifths
    zero two three four five six seven eight nine ten eleven twelve hundred thousand million billion trillion dozen
    hundreds thousands millions billions dozens tens number couple bit kind kinds sort sorts type types plenty majority rest
    amount variety series pair home today tomorrow yesterday tonight north south east west way ways front spite behalf sake
    favour favor order addition terms lieu midst regard respect accordance am pm mr mrs ms dr st vs thanks please sir madam
    okay ok hello yes no oh well best worst better early late dead while ago like round past due ahead
    case fact course result instance example part account means deal rather left right back top bottom close""".split()
)
"""Numbers, pronouns, quantities and adverbs that are tagged as nouns, and nouns that are nothing without the words beside them."""
_NOT_VERBS = frozenset(
    """including according following concerning regarding considering excluding given based compared depending pending
    related let used need dare ought gonna gotta going supposed thank thanks please born lest""".split()
)
_NAMES = frozenset({"PERSON", "ORG", "GPE", "LOC", "FAC", "NORP", "PRODUCT", "EVENT", "WORK_OF_ART", "LAW", "LANGUAGE"})
_NO_VERB_ROLES = frozenset({"amod", "prep", "mark", "compound", "prt", "case", "det", "punct", "nmod", "poss"})
_NO_NOUN_ROLES = frozenset(
    {"amod", "advmod", "aux", "auxpass", "mark", "prep", "prt", "cc", "det", "intj", "neg", "quantmod"}
)
_PLURAL = frozenset("people police men women children cattle".split())


def is_verb(r: Reading, i: int) -> bool:
    """True for a verb, auxiliary or full: both taggers agree, and it is neither an adjective nor a preposition (*including*)."""
    word = r.words[i]
    if not word.tag.startswith("VB") or not word.low.isalpha() or word.role in _NO_VERB_ROLES or r.glued(i):
        return False
    if word.low in BE | HAVE | DO:
        return True
    if word.low in ("including", "according", "following", "concerning", "regarding") or word.entity in _NAMES:
        return False
    known = may(word.low)
    return bool(forms(word.low, "VERB", (word.tag,))) and (word.second.startswith("VB") or known <= {"VERB", "AUX"})


def is_full_verb(r: Reading, i: int) -> bool:
    """True for a verb that another of its form can change places with: no auxiliary, no participle before a noun."""
    word = r.words[i]
    if word.low in BE | HAVE | DO | _NOT_VERBS or word.role in ("aux", "auxpass") or not is_verb(r, i):
        return False
    if word.tag in ("VBD", "VBN", "VBG") and r.tag(i + 1)[:2] in ("NN", "JJ"):
        return r.tag(i - 1) not in ("DT", "JJ", "PRP$", "POS", "CD") and r.low(i - 1) != "as"
    return True


def is_noun(r: Reading, i: int) -> bool:
    """True for a common noun: both taggers agree, the dictionary has it in this number, and its role is a noun's."""
    word = r.words[i]
    if word.tag not in ("NN", "NNS") or word.low in NOT_NOUNS or word.role in _NO_NOUN_ROLES or word.entity in _NAMES:
        return False
    if "NOUN" not in may(word.low) or number(word.low) != word.tag:
        return False
    only = may(word.low) == {"NOUN"}
    if word.second not in ("NN", "NNS") and not (only and (word.second.startswith("NNP") or r.opens(i))):
        return False
    return only or word.role != "ROOT" or bool(r.children(i, "det", "poss", "amod"))


@lru_cache(maxsize=65536)
def number(low: str) -> str:
    """NN or NNS for a noun by the dictionary, "" where it is neither."""
    if low in _PLURAL:
        return "NNS"
    found = lemmas(low, "NOUN")
    if low in found:
        return "NN"
    return "NNS" if any(inflect(lemma, "NNS") == low for lemma in found) else ""


@lru_cache(maxsize=65536)
def base_form(low: str, tag: str) -> str:
    """The dictionary form of a verb under this tag; "" where there is none, or more than one."""
    if low in _BASES:
        return _BASES[low]
    found = sorted({lemma for lemma, _ in forms(low, "VERB", (tag,))})
    if len(found) > 1:
        found = [lemma for lemma in found if lemma != low and not low.startswith(lemma)] or found
    return found[0] if len(found) == 1 else ""


_BASES = {
    "is": "be", "are": "be", "am": "be", "was": "be", "were": "be", "been": "be", "being": "be", "has": "have", "had": "have",
    "having": "have", "does": "do", "did": "do", "done": "do", "doing": "do", "found": "find", "saw": "see", "felt": "feel",
    "left": "leave", "fell": "fall", "wound": "wind", "lay": "lie", "bore": "bear", "bound": "bind", "ground": "grind",
    "shot": "shoot", "put": "put", "hung": "hang", "dying": "die", "lying": "lie", "tying": "tie", "led": "lead", "rose": "rise",
}  # fmt: skip
