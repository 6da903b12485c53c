"""Words that are certainly verbs or common nouns, their noun phrases, and sentences whose case marks no names."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from core.english import entity_kinds
from core.english.analysis import CLITICS, ParsedText
from core.english.dictionary import (
    BE,
    DO,
    HAVE,
    NOT,
    PREPOSITION_WORDS,
    STOP_WORDS,
    forms,
    noun_base,
    noun_number,
    pos_tags,
)
from core.english.word_lists import TIMES, word_set


def uncased(r: ParsedText, i: int) -> bool:
    """Return whether word i is in a lower-case sentence, in which names cannot be told from other words.

    Such a sentence has no capital except the first and contains a word that is in no dictionary. If the text contains a known
    name in lower case, or no capital inside any sentence, all its sentences without inner capitals count.
    """
    return r.places[i] in _uncased(r)


@lru_cache(maxsize=2048)
def _uncased(r: ParsedText) -> frozenset[tuple[int, int]]:
    """Return the lower-case sentences."""
    plain = [span for span in r.sentences if not any(_capital(r, i) for i in range(*span))]
    lower = [span for span in plain if any(strange(r, i) for i in range(*span))]
    known = any(_name(r, i) for span in plain for i in range(*span))
    return frozenset(plain if known or (lower and len(plain) == len(r.sentences)) else lower)


def _capital(r: ParsedText, i: int) -> bool:
    """Return whether word i is capitalised without starting its sentence or a quotation; single letters do not count."""
    return len(r.words[i].text) > 1 and r.words[i].text[0].isupper() and not r.starts_sentence(i)


def _name(r: ParsedText, i: int) -> bool:
    """Return whether word i is a known name, day, month or *I* in lower case, and not a common word."""
    word = r.words[i]
    if word.text == "i":
        return r.low(i + 1) not in (".", ")")
    return word.text == word.low and word.low in _NAMES and not pos_tags(word.low) and not r.glued(i)


def strange(r: ParsedText, i: int) -> bool:
    """Return whether word i is in lower case and in no dictionary."""
    word = r.words[i]
    known = word.low in STOP_WORDS | _COMMON or word.low in CLITICS or bool(pos_tags(word.low))
    return len(word.text) > 2 and word.text.isalpha() and word.text == word.low and not known and not r.glued(i)


_CALENDAR = entity_kinds.TIMES - set("spring summer autumn winter christmas easter halloween am pm".split())
_NAMES = (
    frozenset(name.lower() for name in entity_kinds.KNOWN | entity_kinds.FIRST_NAMES if len(name) > 3)
    | _CALENDAR
    | entity_kinds.PEOPLES
) - {"saints"}
_COMMON = frozenset(TIMES) | word_set("common-words")
"""Common English words missing from the inflection dictionary."""


NOT_NOUNS = word_set("never-nouns")
"""Numbers, pronouns, quantities and adverbs that are tagged as nouns, and nouns whose meaning depends on the words around them."""
_NOT_VERBS = frozenset(
    """given based compared related let used need dare ought gonna gotta going supposed thank thanks please born lest united""".split()
)
_LIKE_PREPOSITIONS = word_set("verbs-like-prepositions")
"""Verb forms that are, or may be, prepositions or conjunctions."""
_LINKING = frozenset(
    "get gets got getting feel feels felt seem seems seemed look looks looked become becomes became".split()
)
_FEELINGS = word_set("feelings")
_PASSIVES = frozenset("used expected done".split())
"""Participles that the dictionary also lists as adjectives, but that are verbs after a form of *be*."""
_NAME_LABELS = frozenset(
    {"PERSON", "ORG", "GPE", "LOC", "FAC", "NORP", "PRODUCT", "EVENT", "WORK_OF_ART", "LAW", "LANGUAGE"}
)
_NO_VERB_ROLES = frozenset(
    {"amod", "prep", "mark", "compound", "prt", "case", "det", "punct", "nmod", "poss", "dobj", "dative", "appos"}
)
_NO_NOUN_ROLES = frozenset(
    {"amod", "advmod", "aux", "auxpass", "mark", "prep", "prt", "cc", "det", "intj", "neg", "quantmod"}
)


def is_verb(r: ParsedText, i: int) -> bool:
    """Return whether word i is certainly a verb or auxiliary: the tag is certain, and it is neither an adjective (*are
    disappointed*, *raging fires*) nor a preposition (*including*)."""
    word = r.words[i]
    if not word.tag.startswith("VB") or not word.low.isalpha() or word.role in _NO_VERB_ROLES or r.glued(i):
        return False
    if word.low in BE | HAVE | DO:
        return True
    if word.low in _LIKE_PREPOSITIONS or word.low == "united" or word.entity in _NAME_LABELS or _is_adjective(r, i):
        return False
    known = pos_tags(word.low)
    joined = word.role == "conj" and r.tag(word.head)[:2] in ("VB", "MD")
    if word.tag == "VBZ" and "NOUN" in known and not joined:
        if not r.starts_sentence(i) and not r.children(i, "nsubj", "nsubjpass", "csubj", "expl"):
            return False
        if r.tag(i - 1) == "NN" and r.adjoins(i) and i - 1 not in r.children(i, "nsubj", "nsubjpass"):
            return False
        second = i > 0 and r.starts_sentence(i - 1) and not pos_tags(r.low(i - 1))
        if second and uncased(r, i) and not r.children(i, "dobj", "ccomp", "xcomp"):
            return False
    return bool(forms(word.low, (word.tag,))) and (r.sure(i) or known <= {"VERB", "AUX"})


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
    """Return whether the form may be an adjective before a name or a noun."""
    word, following = r.words[i], i + 1
    if not r.adjoins(following):
        return False
    noun = r.tag(following) in ("NN", "NNS") or (r.tag(following) in _NOUN_LIKE and not r.sure(following))
    if word.tag in ("VBG", "VBN"):
        return noun or r.tag(following) == "JJ"
    if word.tag != "VBD" or not noun or not forms(word.low, ("VBN",)):
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
    """Return whether word i is certainly a common noun: the tag is certain, the dictionary has it in this number, and its role
    fits. Excluded are lower-case sentences, first parts of compounds (*history channel*), last words of events (*World Cup
    finals*), and ambiguous words unless the word before decides."""
    word = r.words[i]
    if word.tag not in ("NN", "NNS") or not r.sure(i) or uncased(r, i):
        return False
    if (
        {word.low, noun_base(word.low)} & (NOT_NOUNS | entity_kinds.TIMES)
        or word.role in _NO_NOUN_ROLES
        or word.entity in _NAME_LABELS
        or r.starts_sentence(i)
    ):
        return False
    known = pos_tags(word.low)
    if "NOUN" not in known or noun_number(word.low) != word.tag or _hyphenated(r, i):
        return False
    if r.tag(i + 1).startswith("NN") or r.low(i + 1) == "old" or _compound(r, i, known):
        return False
    if word.low in entity_kinds.EVENTS and r.tag(i - 1).startswith("NNP"):
        return False
    if known == {"NOUN"}:
        return True
    settled = r.tag(i - 1) in _BEFORE_NOUNS or (r.low(i - 1) in PREPOSITION_WORDS and "ADJ" not in known)
    return settled and (word.role != "ROOT" or bool(r.children(i, "det", "poss", "amod")))


_BEFORE_NOUNS = ("DT", "PRP$", "POS", "JJ", "JJR", "JJS", "CD")


def _compound(r: ParsedText, i: int, known: frozenset[str]) -> bool:
    """Return whether word i starts a compound: *a sell out*, *tsunami warning*, *a British record 8th medal*."""
    if not r.adjoins(i + 1):
        return False
    if "VERB" in known and r.low(i + 1) in ("out", "up", "off", "down", "over", "back"):
        return True
    if r.tag(i + 1) == "VBG" and not r.sure(i + 1):
        return True
    return r.tag(i + 1) in ("JJ", "CD") and (r.tag(i + 2).startswith("NN") or r.tag(i + 2) == "JJ")


def _hyphenated(r: ParsedText, i: int) -> bool:
    """Return whether word i is part of a compound with a spaced hyphen: *cover - ups*."""
    return "-" in (r.low(i - 1), r.low(i + 1))


class NounPhrase(NamedTuple):
    """`head` is a common noun, `start` the first word, `determiner` an article or the like in lower case, `'s` for a possessive
    name or noun, or "", `counted` whether a numeral or quantifier stands before the noun."""

    start: int
    head: int
    determiner: str
    plural: bool
    counted: bool


def noun_phrase(r: ParsedText, head: int) -> NounPhrase | None:
    """Return the phrase that ends with the common noun `head`, without what follows it; None if its parts are uncertain."""
    word = r.words[head]
    if not is_noun(r, head) or word.text != word.low or r.glued(head) or r.children(head, "conj", "cc", "appos"):
        return None
    before = [j for child in r.children(head) if child < head for j in r.below(child)]
    start = min(before, default=head)
    if sorted(before) != list(range(start, head)) or any(not r.adjoins(j) for j in range(start + 1, head + 1)):
        return None
    owner = r.children(head, "poss")
    own = [j for j in r.children(head, "det", "poss") if r.tag(j) in ("DT", "PRP$")]
    determiner = r.low(own[0]) if own else "'s" if owner else ""
    counted = any(r.tag(j) == "CD" or r.low(j) in _QUANTIFIERS for j in r.children(head))
    return NounPhrase(start, head, determiner, word.tag == "NNS", counted)


_QUANTIFIERS = frozenset("many few fewer much several more most less all both some any no".split())
