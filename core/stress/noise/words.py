"""Which words of a text are verbs or common nouns for certain, and in which form."""

from __future__ import annotations

from functools import lru_cache

from core.stress.english import forms, inflect, lemmas, may
from core.stress.noise import name_words as given
from core.stress.noise.case import uncased
from core.stress.noise.grammar import Reading
from core.stress.phrases import BE, DO, HAVE, NOT, PREPOSITIONS

NOT_NOUNS = frozenset(
    """something anything everything nothing someone anyone everyone somebody anybody everybody nobody none one ones who whom
    percent cent per lot lots other others another each same own self selves such much many more most less least few several
    first second third fourth fifth sixth seventh eighth ninth tenth last next half quarter quarters thirds fourths fifths
    zero two three four five six seven eight nine ten eleven twelve hundred thousand million billion trillion dozen
    hundreds thousands millions billions dozens tens number couple bit kind kinds sort sorts type types plenty majority rest
    amount variety series pair home today tomorrow yesterday tonight north south east west way ways front spite behalf sake
    favour favor order addition terms lieu midst regard respect accordance am pm mr mrs ms dr st vs thanks please sir madam
    okay ok hello yes no oh well best worst better early late dead while ago like round past due ahead
    board stake hostage ups downs worth hall fame famer case fact course result instance example part account means deal rather left right back top bottom close""".split()
)
"""Numbers, pronouns, quantities and adverbs that are tagged as nouns, and nouns that are nothing without the words beside them."""
_NOT_VERBS = frozenset(
    """given based compared related let used need dare ought gonna gotta going supposed thank thanks please born lest united""".split()
)
_LIKE_PREPOSITIONS = frozenset(
    """including according following concerning regarding considering excluding excepting depending pending barring
    notwithstanding owing providing provided assuming granted""".split()
)
"""Forms of verbs that are prepositions or conjunctions, or may be."""
_LINKING = frozenset(
    "get gets got getting feel feels felt seem seems seemed look looks looked become becomes became".split()
)
_FEELINGS = frozenset(
    """delighted thrilled shocked stunned devastated inspired embarrassed frustrated heartbroken horrified outraged overjoyed
    saddened shaken surprised terrified upset""".split()
)
_PASSIVES = frozenset("used expected done".split())
"""Participles that the dictionary has as adjectives too, but that are verbs after a form of *be*."""
_NAMES = frozenset({"PERSON", "ORG", "GPE", "LOC", "FAC", "NORP", "PRODUCT", "EVENT", "WORK_OF_ART", "LAW", "LANGUAGE"})
_NO_VERB_ROLES = frozenset({"amod", "prep", "mark", "compound", "prt", "case", "det", "punct", "nmod", "poss"})
_NO_NOUN_ROLES = frozenset(
    {"amod", "advmod", "aux", "auxpass", "mark", "prep", "prt", "cc", "det", "intj", "neg", "quantmod"}
)
_PLURAL = frozenset("people police men women children cattle".split())


def is_verb(r: Reading, i: int) -> bool:
    """True for a verb, auxiliary or full: both taggers agree, and it is neither an adjective (*are disappointed*, *raging fires*) nor
    a preposition (*including*)."""
    word = r.words[i]
    if not word.tag.startswith("VB") or not word.low.isalpha() or word.role in _NO_VERB_ROLES or r.glued(i):
        return False
    if word.low in BE | HAVE | DO:
        return True
    if word.low in _LIKE_PREPOSITIONS or word.entity in _NAMES or _is_adjective(r, i):
        return False
    known = may(word.low)
    joined = word.role == "conj" and r.tag(word.head)[:2] in ("VB", "MD")
    if word.tag == "VBZ" and "NOUN" in known and not joined:
        if not r.opens(i) and not r.children(i, "nsubj", "nsubjpass", "csubj", "expl"):
            return False
    return bool(forms(word.low, "VERB", (word.tag,))) and (word.second.startswith("VB") or known <= {"VERB", "AUX"})


def _is_adjective(r: Reading, i: int) -> bool:
    """True for a participle that may be an adjective, in front of a bare noun, after a name (*Elvis inspired*), or a state after *be*,
    or a noun (*between sharing and economy*)."""
    word, before = r.words[i], i - 1
    while r.tag(before) == "RB" or r.low(before) in NOT:
        before -= 1
    helped = bool(r.children(i, "aux", "auxpass"))
    if word.tag in ("VBG", "VBN") and r.tag(i + 1) in ("NN", "NNS", "JJ") and not helped:
        return True
    if word.tag == "VBG" and not helped and (_is_gerund(r, i) or "ADJ" in may(word.low)):
        return True
    if word.low == "missing" and not r.children(i, "dobj"):
        return True
    if word.low == "left" and word.tag == "VBN" and r.tag(before) in ("NN", "NNS"):
        return True
    if word.tag == "VBD" and word.role in ("advcl", "acl") and not r.children(i, "nsubj", "nsubjpass", "expl"):
        return True
    if word.tag != "VBN" or word.low in _PASSIVES or r.low(i + 1) == "by":
        return False
    return r.low(before) in BE | _LINKING and (word.low in _FEELINGS or "ADJ" in may(word.low))


def _is_gerund(r: Reading, i: int) -> bool:
    """True for a form in -ing that stands as a noun does: *the distorting of*, *limp tackling*, *between sharing and economy*."""
    if r.tag(i - 1) in ("DT", "JJ", "CD") or r.children(i, "det", "amod", "compound"):
        return True
    return r.words[i].role in ("pcomp", "pobj") and len(r.children(i)) == len(r.children(i, "cc", "conj"))


def is_full_verb(r: Reading, i: int) -> bool:
    """True for a verb that another of its form can change places with: no auxiliary."""
    word = r.words[i]
    if word.low in BE | HAVE | DO | _NOT_VERBS or word.role in ("aux", "auxpass") or not is_verb(r, i):
        return False
    if word.tag in ("VBD", "VBN", "VBG") and r.tag(i + 1)[:2] in ("NN", "JJ"):
        return r.tag(i - 1) not in ("DT", "JJ", "PRP$", "POS", "CD") and r.low(i - 1) != "as"
    return True


def is_noun(r: Reading, i: int) -> bool:
    """True for a common noun: both taggers agree, the dictionary has it in this number, its role is a noun's, it is no name in a
    sentence in lower case, no first part of a compound (*history channel*) and no last word of an event (*World Cup finals*), and where
    it may be another part of speech the word before it settles that it is none."""
    word = r.words[i]
    if word.tag not in ("NN", "NNS") or word.second not in ("NN", "NNS") or uncased(r, i):
        return False
    if word.low in NOT_NOUNS | given.TIMES or word.role in _NO_NOUN_ROLES or word.entity in _NAMES or r.opens(i):
        return False
    known = may(word.low)
    if "NOUN" not in known or number(word.low) != word.tag or _hyphenated(r, i):
        return False
    if r.tag(i + 1).startswith("NN") or r.low(i + 1) == "old":
        return False
    if word.low in given.EVENTS and r.tag(i - 1).startswith("NNP"):
        return False
    if known == {"NOUN"}:
        return True
    settled = r.tag(i - 1) in _BEFORE_NOUNS or (r.low(i - 1) in PREPOSITIONS and "ADJ" not in known)
    return settled and (word.role != "ROOT" or bool(r.children(i, "det", "poss", "amod")))


_BEFORE_NOUNS = ("DT", "PRP$", "POS", "JJ", "JJR", "JJS", "CD")


def _hyphenated(r: Reading, i: int) -> bool:
    """True for a part of a compound whose hyphen stands between blanks: *cover - ups*."""
    return "-" in (r.low(i - 1), r.low(i + 1))


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
    found = sorted({lemma for lemma, _ in forms(low, "VERB", (tag,)) if "-" not in lemma})
    if len(found) > 1:
        found = [lemma for lemma in found if lemma != low and not low.startswith(lemma)] or found
    return found[0] if len(found) == 1 else ""


_BASES = {
    "is": "be", "are": "be", "am": "be", "was": "be", "were": "be", "been": "be", "being": "be", "has": "have", "had": "have",
    "having": "have", "does": "do", "did": "do", "done": "do", "doing": "do", "found": "find", "saw": "see", "felt": "feel",
    "left": "leave", "fell": "fall", "wound": "wind", "lay": "lie", "bore": "bear", "bound": "bind", "ground": "grind",
    "shot": "shoot", "put": "put", "hung": "hang", "dying": "die", "lying": "lie", "tying": "tie", "led": "lead", "rose": "rise",
}  # fmt: skip
