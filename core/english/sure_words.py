"""Words that are certainly verbs or common nouns, and their forms."""

from __future__ import annotations

from functools import lru_cache

from core.english import entity_cues as cues
from core.english.grammar import ParsedText
from core.english.lower_case import uncased
from core.english.parsing import forms, inflect, lemmas, pos_tags
from core.english.phrases import BE, DO, HAVE, NOT, PREPOSITIONS

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
"""Numbers, pronouns, quantities and adverbs that are tagged as nouns, and nouns that depend on the words around them."""
_NOT_VERBS = frozenset(
    """given based compared related let used need dare ought gonna gotta going supposed thank thanks please born lest united""".split()
)
_LIKE_PREPOSITIONS = frozenset(
    """including according following concerning regarding considering excluding excepting depending pending barring
    notwithstanding owing providing provided assuming granted""".split()
)
"""Verb forms that are, or may be, prepositions or conjunctions."""
_LINKING = frozenset(
    "get gets got getting feel feels felt seem seems seemed look looks looked become becomes became".split()
)
_FEELINGS = frozenset(
    """delighted thrilled shocked stunned devastated inspired embarrassed frustrated heartbroken horrified outraged overjoyed
    saddened shaken surprised terrified upset""".split()
)
_PASSIVES = frozenset("used expected done".split())
"""Participles that the dictionary also lists as adjectives, but that are verbs after a form of *be*."""
_NAMES = frozenset({"PERSON", "ORG", "GPE", "LOC", "FAC", "NORP", "PRODUCT", "EVENT", "WORK_OF_ART", "LAW", "LANGUAGE"})
_NO_VERB_ROLES = frozenset(
    {"amod", "prep", "mark", "compound", "prt", "case", "det", "punct", "nmod", "poss", "dobj", "dative", "appos"}
)
_NO_NOUN_ROLES = frozenset(
    {"amod", "advmod", "aux", "auxpass", "mark", "prep", "prt", "cc", "det", "intj", "neg", "quantmod"}
)
_PLURAL = frozenset("people police men women children cattle".split())


def is_verb(r: ParsedText, i: int) -> bool:
    """Return whether word i is certainly a verb or auxiliary: both taggers agree, and it is neither an adjective (*are
    disappointed*, *raging fires*) nor a preposition (*including*)."""
    word = r.words[i]
    if not word.tag.startswith("VB") or not word.low.isalpha() or word.role in _NO_VERB_ROLES or r.glued(i):
        return False
    if word.low in BE | HAVE | DO:
        return True
    if word.low in _LIKE_PREPOSITIONS or word.low == "united" or word.entity in _NAMES or _is_adjective(r, i):
        return False
    known = pos_tags(word.low)
    joined = word.role == "conj" and r.tag(word.head)[:2] in ("VB", "MD")
    if word.tag == "VBZ" and "NOUN" in known and not joined:
        if not r.opens(i) and not r.children(i, "nsubj", "nsubjpass", "csubj", "expl"):
            return False
        second = i > 0 and r.opens(i - 1) and not pos_tags(r.low(i - 1))
        if second and uncased(r, i) and not r.children(i, "dobj", "ccomp", "xcomp"):
            return False
    return bool(forms(word.low, (word.tag,))) and (word.second.startswith("VB") or known <= {"VERB", "AUX"})


def _is_adjective(r: ParsedText, i: int) -> bool:
    """Return whether a verb form may be an adjective (before a bare noun, after a name (*Elvis inspired*), a state after *be*)
    or a noun (*between sharing and economy*)."""
    word, before = r.words[i], i - 1
    while r.tag(before) == "RB" or r.low(before) in (*NOT, "all", "both"):
        before -= 1
    helped = bool(r.children(i, "aux", "auxpass"))
    if word.tag in ("VBG", "VBN") and (r.tag(i - 1) == "POS" or r.low(i - 1) == "s"):
        return True
    if not helped and _before_noun(r, i):
        return True
    if word.tag == "VBD" and r.tag(i - 1) in ("VBD", "VBZ") and not r.children(i, "nsubj", "nsubjpass"):
        return True
    state = word.role == "ROOT" or (word.role == "acl" and "ADJ" in pos_tags(word.low))
    if word.tag == "VBN" and not helped and state:
        return r.low(i + 1) != "by"
    if word.tag == "VBG" and not helped and (_is_gerund(r, i) or "ADJ" in pos_tags(word.low)):
        return True
    if word.low == "missing" and not r.children(i, "dobj"):
        return True
    if word.low == "left" and word.tag == "VBN" and r.tag(before) in ("NN", "NNS"):
        return True
    if word.tag == "VBD" and word.role in ("advcl", "acl") and not r.children(i, "nsubj", "nsubjpass", "expl"):
        return True
    if word.tag != "VBN" or word.low in _PASSIVES or r.low(i + 1) == "by":
        return False
    return r.low(before) in _LINKING or (r.low(before) in BE and (word.low in _FEELINGS or "ADJ" in pos_tags(word.low)))


def _before_noun(r: ParsedText, i: int) -> bool:
    """Return whether the form may be an adjective before a name, or before a noun according to either tagger."""
    word, following = r.words[i], i + 1
    if not r.adjoins(following):
        return False
    tags = {r.tag(following), r.words[following].second}
    if word.tag in ("VBG", "VBN"):
        return bool(r.tag(following) in ("NN", "NNS", "JJ") or (tags & {"NN", "NNS"} and tags <= _NOUN_LIKE))
    if word.tag != "VBD" or not tags & {"NN", "NNS"} or not forms(word.low, ("VBN",)):
        return False
    named = r.tag(i - 1) == "NNP" and r.low(i - 2) in ("a", "an")
    joined = word.role == "conj" and r.tag(word.head).startswith("VB")
    return named or (not joined and not r.children(i, "nsubj", "nsubjpass", "expl"))


_NOUN_LIKE = frozenset("NN NNS NNP NNPS JJ VBG".split())


def _is_gerund(r: ParsedText, i: int) -> bool:
    """Return whether a form in -ing is used as a noun: *the distorting of*, *limp tackling*, *between sharing and economy*."""
    if r.tag(i - 1) in ("DT", "JJ", "CD") or r.children(i, "det", "amod", "compound"):
        return True
    return r.words[i].role in ("pcomp", "pobj") and len(r.children(i)) == len(r.children(i, "cc", "conj"))


def is_full_verb(r: ParsedText, i: int) -> bool:
    """Return whether word i is a full verb that can be swapped with another of its form."""
    word = r.words[i]
    if word.low in BE | HAVE | DO | _NOT_VERBS or word.role in ("aux", "auxpass") or not is_verb(r, i):
        return False
    if word.tag in ("VBD", "VBN", "VBG") and r.tag(i + 1)[:2] in ("NN", "JJ"):
        return r.tag(i - 1) not in ("DT", "JJ", "PRP$", "POS", "CD") and r.low(i - 1) != "as"
    return True


def is_noun(r: ParsedText, i: int) -> bool:
    """Return whether word i is certainly a common noun: both taggers agree, the dictionary has it in this number, and its role
    fits. Excluded are lower-case sentences, first parts of compounds (*history channel*), last words of events (*World Cup
    finals*), and ambiguous words unless the word before decides."""
    word = r.words[i]
    if word.tag not in ("NN", "NNS") or word.second not in ("NN", "NNS") or uncased(r, i):
        return False
    if word.low in NOT_NOUNS | cues.TIMES or word.role in _NO_NOUN_ROLES or word.entity in _NAMES or r.opens(i):
        return False
    known = pos_tags(word.low)
    if "NOUN" not in known or number(word.low) != word.tag or _hyphenated(r, i):
        return False
    if r.tag(i + 1).startswith("NN") or r.low(i + 1) == "old" or _compound(r, i, known):
        return False
    if word.low in cues.EVENTS and r.tag(i - 1).startswith("NNP"):
        return False
    if known == {"NOUN"}:
        return True
    settled = r.tag(i - 1) in _BEFORE_NOUNS or (r.low(i - 1) in PREPOSITIONS and "ADJ" not in known)
    return settled and (word.role != "ROOT" or bool(r.children(i, "det", "poss", "amod")))


_BEFORE_NOUNS = ("DT", "PRP$", "POS", "JJ", "JJR", "JJS", "CD")


def _compound(r: ParsedText, i: int, known: frozenset[str]) -> bool:
    """Return whether word i starts a compound: *a sell out*, *tsunami warning*, *a British record 8th medal*."""
    if not r.adjoins(i + 1):
        return False
    if "VERB" in known and r.low(i + 1) in ("out", "up", "off", "down", "over", "back"):
        return True
    if r.tag(i + 1) == "VBG" and r.words[i + 1].second == "NN":
        return True
    return r.tag(i + 1) in ("JJ", "CD") and (r.tag(i + 2).startswith("NN") or r.tag(i + 2) == "JJ")


def _hyphenated(r: ParsedText, i: int) -> bool:
    """Return whether word i is part of a compound with a spaced hyphen: *cover - ups*."""
    return "-" in (r.low(i - 1), r.low(i + 1))


@lru_cache(maxsize=65536)
def number(low: str) -> str:
    """Return NN or NNS for a noun in the dictionary, else ""."""
    if low in _PLURAL:
        return "NNS"
    found = lemmas(low, "NOUN")
    if low in found:
        return "NN"
    return "NNS" if any(inflect(lemma, "NNS") == low for lemma in found) else ""


@lru_cache(maxsize=65536)
def base_form(low: str, tag: str) -> str:
    """Return the dictionary form of a verb under this tag; "" if there is none or several."""
    if low in _BASES:
        return _BASES[low]
    found = sorted({lemma for lemma, _ in forms(low, (tag,)) if "-" not in lemma})
    if len(found) > 1:
        found = [lemma for lemma in found if lemma != low and not low.startswith(lemma)] or found
    return found[0] if len(found) == 1 else ""


_BASES = {
    "is": "be", "are": "be", "am": "be", "was": "be", "were": "be", "been": "be", "being": "be", "has": "have", "had": "have",
    "having": "have", "does": "do", "did": "do", "done": "do", "doing": "do", "found": "find", "saw": "see", "felt": "feel",
    "left": "leave", "fell": "fall", "wound": "wind", "lay": "lie", "bore": "bear", "bound": "bind", "ground": "grind",
    "shot": "shoot", "put": "put", "hung": "hang", "dying": "die", "lying": "lie", "tying": "tie", "led": "lead", "rose": "rise",
}  # fmt: skip
