"""Finite clauses of a sentence: the verb that carries tense, and the clause to negate first."""

from __future__ import annotations

from typing import NamedTuple

from core.english.analysis import ParsedText
from core.english.dictionary import BE, DO, HAVE, MODALS, STEMS, base_form, forms, pos_tags
from core.english.entity_kinds import SAY
from core.english.word_lists import word_set

FINITE = ("VBZ", "VBP", "VBD", "MD")
SUBJECTS = ("nsubj", "nsubjpass", "csubj", "csubjpass", "expl")
_STEMS = frozenset({*STEMS, "ai"})
_HELPERS = BE | HAVE | DO | MODALS | _STEMS | frozenset("to ought get gets got getting need dare 've".split())
_PRESENT_OR_PAST = frozenset("is are am was were".split())
_SUBORDINATE = frozenset({"advcl", "relcl", "acl", "csubj", "pcomp"})
SUBORDINATE = 10
"""Lowest `rank` of a clause that depends on another and is not asserted by the sentence."""


class Clause(NamedTuple):
    """`verb` is the full verb or copula, `carrier` the word that carries tense (the same word or its first auxiliary), `form`
    the tag of the carrier, IMP for an imperative."""

    verb: int
    carrier: int
    form: str


def clauses(r: ParsedText, span: tuple[int, int]) -> list[Clause]:
    """Return the finite clauses of a sentence: main clause, clauses joined to it, reported clauses, subordinate clauses."""
    sentence_clauses = [clause for i in range(*span) if (clause := _clause(r, i, span))]
    return sorted(sentence_clauses, key=lambda c: (rank(r, c.verb), c.verb))


def stated(r: ParsedText, span: tuple[int, int], sentence_clauses: list[Clause]) -> list[Clause] | None:
    """Return the clauses that the sentence asserts. None if it starts with a question word without being a question, or if its
    root is not the verb of a clause (unless the root is a parse error next to a certain past form)."""
    main = [clause for clause in sentence_clauses if rank(r, clause.verb) < SUBORDINATE]
    first = next((i for i in range(*span) if r.low(i)[0].isalnum() and r.low(i) not in ("so", "and", "but")), span[0])
    if r.low(first) in _ASKING and r.low(span[1] - 1) != "?":
        return None
    roots = [i for i in range(*span) if r.words[i].head == i]
    rooted = any(clause.verb in roots for clause in sentence_clauses) or any(
        r.tag(i) == "VB" or r.low(i - 1) in _NOBODY for i in roots
    )
    mistaken = not any(r.tag(i).startswith("VB") for i in roots) and main and _certain_past(r, main[0].verb)
    return main if rooted or mistaken else None


_NOBODY = frozenset("nobody nothing none nowhere".split())
_ASKING = frozenset("who what how why whether which whose".split())


def subjects(r: ParsedText, verb: int) -> list[int]:
    return r.children(verb, *SUBJECTS)


def clause_of(r: ParsedText, i: int, sentence_clauses: list[Clause]) -> Clause | None:
    """Return the clause that word i belongs to."""
    verbs = {c.verb: c for c in sentence_clauses}
    while i not in verbs:
        if r.words[i].head == i:
            return None
        i = r.words[i].head
    return verbs[i]


def rank(r: ParsedText, verb: int) -> int:
    """Return 0 for the verb of the main clause, more for each step down; at least SUBORDINATE for clauses the main clause does
    not assert and for reporting tags (*he said*)."""
    out = SUBORDINATE if is_tag(r, verb) or _hangs(r, verb) else 0
    while r.words[verb].head != verb:
        role = r.words[verb].role
        verb = r.words[verb].head
        if not (role in ("ccomp", "parataxis") and is_tag(r, verb)):
            out += {"conj": 1, "ccomp": 2, "parataxis": 2}.get(role, SUBORDINATE if role in _SUBORDINATE else 3)
    return out


def _hangs(r: ParsedText, verb: int) -> bool:
    """Return whether the clause contains a word that makes it subordinate, whatever its role: *before he joined*, *who were
    there*."""
    marks = [r.low(j) for j in r.children(verb, "mark") if j < verb]
    asked = [
        j for j in r.children(verb, "nsubj", "nsubjpass", "advmod") if j < verb and r.tag(j) in ("WP", "WDT", "WRB")
    ]
    question = r.low(r.places[verb][1] - 1) == "?"
    headless = r.words[verb].role == "conj" and r.words[r.words[verb].head].role == "ROOT"
    return any(low != "that" or headless for low in marks) or (
        not question and any(not r.starts_sentence(j) for j in asked)
    )


def is_tag(r: ParsedText, verb: int) -> bool:
    """Return whether a reporting verb follows or interrupts what is said, after punctuation: *they are late , police said .*
    Any verb qualifies whose clause comes first: *“It is late”, they mocked.*"""
    word = r.words[verb]
    if not word.tag.startswith("VB"):
        return False
    start = r.places[verb][0]
    own = [j for k in subjects(r, verb) for j in r.below(k)]
    first = min([verb, *(j for j in own if j < verb)])
    if first <= start + 1 or r.words[first - 1].text[-1].isalnum():
        return False
    if word.low not in _SAY and not any(j < verb for j in r.children(verb, "ccomp")):
        return False
    return not any(j > verb for j in r.children(verb, "ccomp", "dobj")) and r.low(verb + 1) not in ("that", ":")


_CLOSING = ("''", '"', "”", "'", "’", "»")
_SAY = SAY | frozenset(
    "report reports reported say explained explains announced stated states according writes".split()
)


def _clause(r: ParsedText, i: int, span: tuple[int, int]) -> Clause | None:
    word = r.words[i]
    if _certain_past(r, i):
        return Clause(i, i, "VBD")
    if word.role in ("aux", "auxpass", "amod", "compound", "neg") or not (word.text[0].isalpha() or word.low in BE):
        return None
    helpers = [j for j in r.children(i, "aux", "auxpass") if j < i and r.low(j) in _HELPERS]
    if (helpers and word.low in _PRESENT_OR_PAST) or any(r.tag(j) in ("VBD", "VBN") for j in subjects(r, i)):
        return None
    if helpers:
        first = r.words[helpers[0]]
        if first.low == "'s" and r.tag(helpers[0] - 1).startswith("NNP") and word.tag not in ("VBG", "VBN"):
            return None
        return Clause(i, helpers[0], first.tag) if first.tag in FINITE or first.low in _STEMS else None
    if word.low == "'s" and (word.tag != "VBZ" or not subjects(r, i)):
        return None
    if word.low in BE:
        return Clause(i, i, word.tag) if word.low not in ("be", "been", "being") else _imperative(r, i, span)
    if word.tag == "MD":
        return Clause(i, i, "MD")
    form = _form(r, i)
    return Clause(i, i, form) if form else _imperative(r, i, span)


def _certain_past(r: ParsedText, i: int) -> bool:
    """Return whether the word can only be the past form of a full verb, whatever its parse: *took*, *swam*."""
    word = r.words[i]
    full = pos_tags(word.low) == {"VERB"} and word.low not in BE | HAVE | DO
    if not full or (word.tag[:2] != "VB" and r.sure(i)) or r.glued(i):
        return False
    past = forms(word.low, ("VBD",)) and not forms(word.low, ("VBN", "VB"))
    return bool(past) and not any(j < i for j in r.children(i, "aux", "auxpass") if r.low(j) in _HELPERS)


def _form(r: ParsedText, i: int) -> str:
    """Return VBZ, VBP or VBD for a finite full verb, else ""."""
    word = r.words[i]
    if (word.entity in ("PERSON", "ORG", "GPE") and word.text[0].isupper()) or word.low == "united":
        return ""
    has_subject = any(j < i for j in r.children(i, "nsubj", "expl", "csubj", "aux"))
    if word.tag == "VBN" and has_subject and not r.sure(i) and not r.children(i, "nsubjpass", "agent"):
        form = "VBD"
    elif word.tag == "VB" and word.role == "ROOT" and has_subject:
        form = "VBP"
    else:
        form = word.tag if word.tag in FINITE else ""
    if not form or not forms(word.low, (form,)):
        return ""
    if form == "VBD" and forms(word.low, ("VBN",)) and not _past(r, i, has_subject):
        return ""
    if has_subject or word.role == "conj" or form in ("VBZ", "VBD"):
        return form
    return form if subjects(r, i) else ""


def _past(r: ParsedText, i: int, has_subject: bool) -> bool:
    """Return False if an ambiguous form is likely a participle: *a group believed to be …*, *speed camera found in …*."""
    if r.children(i, "agent") or r.low(i + 1) == "by" or (r.low(i) in _THOUGHT and r.low(i + 1) == "to"):
        return False
    objects = r.children(i, "dobj", "ccomp", "xcomp", "dative")
    plain = not objects or r.tag(i + 1) == "IN"
    if r.low(i) in _HAPPENS_TO and plain and not any(r.tag(j) == "PRP" for j in r.children(i, *SUBJECTS)):
        return False
    if r.low(i - 1) == "," and r.low(i + 1) == ",":
        return False
    if r.children(i, "dobj", "ccomp", "dative", "prt"):
        return has_subject or r.words[i].role == "conj" or r.starts_sentence(i)
    if not has_subject:
        return r.words[i].role == "conj"
    subject = max(j for j in r.children(i, *SUBJECTS, "aux") if j < i)
    opening = r.tag(subject) == "NNP" and r.starts_sentence(subject) and not r.words[subject].entity
    common = r.tag(subject) == "NN" or (opening and "NOUN" in pos_tags(r.low(subject)))
    return not common or any(j != subject for j in r.children(subject, "det", "poss", "nummod", "relcl", "prep"))


_THOUGHT = frozenset(
    "believed thought said alleged reported expected known considered understood meant supposed".split()
)

_HAPPENS_TO = word_set("passive-in-headlines")
"""In a headline without auxiliaries, these verbs are passive: *coach fired on Wednesday*."""


def _imperative(r: ParsedText, i: int, span: tuple[int, int]) -> Clause | None:
    """Return the clause of an imperative: a plain form without a subject at the start of a sentence or quotation, possibly
    after *please* or an adverb."""
    word = r.words[i]
    if word.tag not in ("VB", "VBP") or word.role not in ("ROOT", "ccomp", "parataxis", "dep") or subjects(r, i):
        return None
    if not forms(word.low, ("VB",)) or word.low in ("thank", "please", "let", "thanks"):
        return None
    at = i
    while at > span[0] and not r.starts_sentence(at) and r.low(at - 1) in ("please", "just", "then", ",", ":"):
        at -= 1
    closed = at > span[0] + 1 and r.words[at - 1].text in _CLOSING and r.words[at - 2].text in (",", ".", "!", "?")
    return Clause(i, i, "IMP") if r.starts_sentence(at) and not closed else None


def base(r: ParsedText, clause: Clause) -> str:
    """Return the plain form of a full verb; "" if it is not certain."""
    low = r.low(clause.verb)
    return low if clause.form in ("VBP", "IMP") else base_form(low, clause.form)
