"""Noun phrases and verbs in tagged English, recognised by their neighbours. Uncertain cases yield nothing."""

from __future__ import annotations

from typing import NamedTuple

from core.english.parsing import TaggedText, forms, lemmas, pos_tags

BE = frozenset("is are was were am 's 're 'm be been being".split())
HAVE = frozenset("has have had 've having".split())
DO = frozenset("do does did".split())
DO_FORMS = {"VBZ": "does", "VBP": "do", "VBD": "did"}
STEMS = {"ca": "can", "wo": "will", "sha": "shall"}
"""Modals that lose a letter before `n't`."""
MODALS = frozenset("can could will would shall should may might must 'll 'd ca wo sha".split())
NOT = frozenset("not n't".split())
NEGATIVE = NOT | frozenset(
    "no never nothing nobody none neither nor nowhere hardly scarcely barely without seldom rarely cannot".split()
)
DETERMINERS = frozenset(
    "the a an this that these those my your his her its our their every each some any no another both all".split()
)
NOMINATIVE = frozenset("i he she we they".split())
OBJECT_STARTS = frozenset(
    "the a an this these those my your his her its our their him them me us it every each some another".split()
)
PREPOSITIONS = frozenset(
    """of in on at for with by from into about against among under over through during within across behind near
    towards toward upon despite via amid beyond along around onto inside outside above below""".split()
)
_NOUNS = ("NN", "NNS")
_INSIDE = ("JJ", "JJR", "JJS", "NN", "NNS", "CD", "NNP", "VBG", "VBN", "POS")


class NounPhrase(NamedTuple):
    """`head` is a common noun, `start` the first token, `determiner` in lower case or "", `plural` by the tag."""

    start: int
    head: int
    determiner: str
    plural: bool


def noun_phrase(p: TaggedText, head: int) -> NounPhrase | None:
    """Return the phrase that ends with the common noun `head`; None if that word may be something else."""
    tag, low = p.tag(head), p.low(head)
    if tag not in _NOUNS or not low.isalpha() or p.word(head) != low or "NOUN" not in pos_tags(low):
        return None
    if p.tag(head + 1).startswith(("NN", "POS")) or p.low(head + 1) in ("'s", "'", "’", "-"):
        return None
    if tag == "NNS" and forms(low, ("VBZ",)) and _takes_object(p, head + 1):
        return None
    start = head
    while p.tag(start - 1) in _INSIDE and p.low(start - 1) not in (",", "not", "alone", *DETERMINERS):
        start -= 1
    determiner = ""
    if p.low(start - 1) in DETERMINERS and (p.low(start - 1) != "that" or p.tag(start - 1) != "IN"):
        start -= 1
        determiner = p.low(start)
    inner = [p.tag(i) for i in range(start + bool(determiner), head)]
    if "VERB" in pos_tags(low) and not determiner and not (inner and inner[-1] in ("JJ", "CD")):
        return None
    if "VERB" in pos_tags(low) and inner and inner[-1] in ("NN", "NNS", "NNP"):
        return None
    if any(t in ("VBG", "VBN") for t in inner) and not determiner:
        return None
    plural = tag == "NNS"
    if plural != _is_plural(low):
        return None
    if determiner in ("a", "an", "this", "that", "every", "each", "another") and plural:
        return None
    if determiner in ("these", "those", "both", "all") and not plural:
        return None
    return NounPhrase(start, head, determiner, plural)


def _takes_object(p: TaggedText, i: int) -> bool:
    """Return whether an object starts at i, so that the word before may be a verb (`the US alone imports 1.5 million barrels`)."""
    return p.tag(i) in ("DT", "CD", "PRP", "PRP$", "JJ", "$") or p.low(i) in OBJECT_STARTS | {"$", "€", "£"}


def _is_plural(low: str) -> bool:
    return low in ("people", "men", "women", "children") or (low.endswith("s") and low not in lemmas(low, "NOUN"))


def governed(p: TaggedText, phrase: NounPhrase) -> bool:
    """Return whether the phrase is the object of a plain preposition: nothing agrees with it."""
    return p.low(phrase.start - 1) in PREPOSITIONS


def is_object(p: TaggedText, phrase: NounPhrase) -> bool:
    """Return whether the phrase directly follows an unambiguous transitive verb."""
    i = phrase.start - 1
    return bool(phrase.determiner) and p.tag(i) in ("VB", "VBD", "VBZ", "VBP", "VBG") and p.low(i) not in BE | HAVE | DO


def skip_adverbs(p: TaggedText, i: int, step: int = 1) -> int:
    """Return the next position from i without a plain adverb."""
    while p.tag(i) in ("RB", "RBR") and p.low(i) not in NEGATIVE and (p.low(i).endswith("ly") or p.low(i) in ADVERBS):
        i += step
    return i


ADVERBS = frozenset(
    "also always often still already now then soon again ever just even sometimes usually far ago once".split()
)


def bare_infinitive(p: TaggedText, i: int) -> bool:
    """Return whether the verb at i depends on a modal, `to`, `do` or similar, and so is not finite."""
    j = skip_adverbs(p, i - 1, -1)
    if p.low(j) in NOT:
        j = skip_adverbs(p, j - 1, -1)
    if p.low(j) in MODALS | DO | {"to", "let", "help", "make", "makes", "made", "see", "saw"}:
        return True
    if p.tag(j) in ("PRP", "NN", "NNS", "NNP"):
        k = j - 1
        while p.tag(k) in ("DT", "JJ", "PRP$", "NN", "NNP", "NNS"):
            k -= 1
        return p.low(k) in MODALS | DO | {"let", "help", "make", "makes", "made", "see", "saw", "helped"}
    return False


def participle(p: TaggedText, i: int) -> bool:
    """Return whether a form of `be` or `have` precedes word i, adverbs aside, so that it is a participle."""
    j = skip_adverbs(p, i - 1, -1)
    while p.low(j) in NOT:
        j = skip_adverbs(p, j - 1, -1)
    if p.tag(j) == "PRP" and p.low(j - 1) in BE | HAVE:
        return True
    return p.low(j) in BE | HAVE | {"get", "gets", "got", "getting"}


def finite(p: TaggedText, i: int) -> str:
    """Return VBZ, VBP or VBD for a full verb at i that is certainly finite, else "".

    Certain means: it follows a nominative pronoun (or a noun, if an object with a determiner follows), adverbs aside, or it is
    a past form that cannot be a participle (`went`).
    """
    tag, low = p.tag(i), p.low(i)
    if tag not in ("VBZ", "VBP", "VBD", "VBN", "VB", "NNS") or not low.isalpha() or p.word(i) != low:
        return ""
    if low in BE | HAVE | DO | MODALS or "VERB" not in pos_tags(low):
        return ""
    if bare_infinitive(p, i) or participle(p, i):
        return ""
    j = skip_adverbs(p, i - 1, -1)
    subject, before = p.low(j), p.tag(j)
    past = tag in ("VBD", "VBN")
    pronoun = subject in NOMINATIVE or (subject == "who" and tag != "VB")
    follows = p.low(i + 1) in OBJECT_STARTS | {"that", "to"} or p.low(i + 1) in PREPOSITIONS
    if tag in ("VBZ", "NNS"):
        if low in lemmas(low, "VERB"):
            return ""
        thing = subject in ("it", "this", "that") and tag == "VBZ"
        if thing or subject in ("he", "she", "who", "everyone", "everybody"):
            return "VBZ"
        sure = "NOUN" not in pos_tags(low)
        return "VBZ" if tag == "VBZ" and before in ("NN", "NNP") and sure and follows else ""
    if past:
        if not forms(low, ("VBD",)):
            return ""
        if pronoun:
            return "VBD"
        if before not in ("NN", "NNS", "NNP", "NNPS") and subject not in ("it", "this", "which", "that"):
            return ""
        unlike = not forms(low, ("VBN",))
        return "VBD" if (unlike or p.low(i + 1) in OBJECT_STARTS) and p.low(i + 1) != "by" else ""
    if low not in lemmas(low, "VERB"):
        return ""
    if subject in ("we", "they", "i") and p.low(j - 1) not in MODALS | DO:
        return "VBP"
    return "VBP" if before == "NNS" and tag == "VBP" and (pos_tags(low) <= {"VERB", "ADV"}) and follows else ""


def lemma(low: str) -> str:
    """Return the only verb a form can belong to; "" if there are several (`found`, `lay`)."""
    found = lemmas(low, "VERB")
    return found[0] if len(found) == 1 else _USUAL.get(low, "")


_USUAL = {"found": "find", "saw": "see", "felt": "feel", "left": "leave", "fell": "fall", "wound": "wind"}
