"""Finite clauses of a sentence: which verb carries tense, and which clause comes first when a sentence is negated."""

from __future__ import annotations

from typing import NamedTuple

from core.stress.english import forms, may
from core.stress.noise.grammar import Reading
from core.stress.noise.name_words import SAY
from core.stress.noise.words import base_form
from core.stress.phrases import BE, DO, HAVE, MODALS

FINITE = ("VBZ", "VBP", "VBD", "MD")
SUBJECTS = ("nsubj", "nsubjpass", "csubj", "csubjpass", "expl")
_STEMS = frozenset("ca wo sha ai".split())
_HELPERS = BE | HAVE | DO | MODALS | _STEMS | frozenset("to ought get gets got getting need dare 've".split())
_SUBORDINATE = frozenset({"advcl", "relcl", "acl", "csubj", "pcomp"})
SUBORDINATE = 10
"""The `rank` of a clause that hangs on another, and does not state what the sentence does."""


class Clause(NamedTuple):
    """`verb` is the full verb or copula, `carrier` the word that carries tense (the same word, or its first auxiliary), `form` the
    tag of the carrier, IMP for an imperative."""

    verb: int
    carrier: int
    form: str


def clauses(r: Reading, span: tuple[int, int]) -> list[Clause]:
    """The finite clauses of a sentence: the main clause first, those joined to it, what it reports, then subordinate ones."""
    found = [clause for i in range(*span) if (clause := _clause(r, i, span))]
    return sorted(found, key=lambda c: (rank(r, c.verb), c.verb))


def subjects(r: Reading, verb: int) -> list[int]:
    return r.children(verb, *SUBJECTS)


def clause_of(r: Reading, i: int, found: list[Clause]) -> Clause | None:
    """The clause that word i belongs to."""
    verbs = {c.verb: c for c in found}
    while i not in verbs:
        if r.words[i].head == i:
            return None
        i = r.words[i].head
    return verbs[i]


def rank(r: Reading, verb: int) -> int:
    """0 for the verb of the main clause, more for each step down; SUBORDINATE or more for clauses that the main clause does not state,
    and for a tag that tells who says it (*he said*)."""
    out = SUBORDINATE if is_tag(r, verb) or _hangs(r, verb) else 0
    while r.words[verb].head != verb:
        role = r.words[verb].role
        verb = r.words[verb].head
        if not (role in ("ccomp", "parataxis") and is_tag(r, verb)):
            out += {"conj": 1, "ccomp": 2, "parataxis": 2}.get(role, SUBORDINATE if role in _SUBORDINATE else 3)
    return out


def _hangs(r: Reading, verb: int) -> bool:
    """True for a clause with a word that hangs it on another, whatever its role: *before he joined*, *who were there*."""
    marks = [r.low(j) for j in r.children(verb, "mark") if j < verb]
    asked = [
        j for j in r.children(verb, "nsubj", "nsubjpass", "advmod") if j < verb and r.tag(j) in ("WP", "WDT", "WRB")
    ]
    question = r.low(r.places[verb][1] - 1) == "?"
    return any(low != "that" for low in marks) or (not question and any(not r.opens(j) for j in asked))


def is_tag(r: Reading, verb: int) -> bool:
    """True for a verb of saying whose clause stands behind what is said, or inside it, after a sign: *they are late , police said .*
    Any verb without an object may be one after a quotation: *“It is late”, they mocked.*"""
    word = r.words[verb]
    if not word.tag.startswith("VB"):
        return False
    start = r.places[verb][0]
    own = [j for k in subjects(r, verb) for j in r.below(k)]
    first = min([verb, *(j for j in own if j < verb)])
    if first <= start + 1 or r.words[first - 1].text[-1].isalnum():
        return False
    quoted = any(r.words[j].text in _CLOSING for j in (first - 1, first - 2))
    if word.low not in _SAY and not (quoted and r.children(verb, "ccomp")):
        return False
    return not any(j > verb for j in r.children(verb, "ccomp", "dobj")) and r.low(verb + 1) not in ("that", ":")


_CLOSING = ("''", '"', "”", "'", "’", "»")
_SAY = SAY | frozenset(
    "report reports reported say explained explains announced stated states according writes".split()
)


def _clause(r: Reading, i: int, span: tuple[int, int]) -> Clause | None:
    word = r.words[i]
    if _certain_past(r, i):
        return Clause(i, i, "VBD")
    if word.role in ("aux", "auxpass", "amod", "compound", "neg") or not (word.text[0].isalpha() or word.low in BE):
        return None
    helpers = [j for j in r.children(i, "aux", "auxpass") if j < i and r.low(j) in _HELPERS]
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
    if form:
        return Clause(i, i, form)
    return _imperative(r, i, span)


def _certain_past(r: Reading, i: int) -> bool:
    """True for a word that is nothing but the past form of a full verb, whatever the parser makes of its sentence: *took*, *swam*."""
    word = r.words[i]
    if "VBD" not in (word.tag, word.second) or may(word.low) != {"VERB"} or word.low in BE | HAVE | DO or r.glued(i):
        return False
    past = forms(word.low, "VERB", ("VBD",)) and not forms(word.low, "VERB", ("VBN", "VB"))
    return bool(past) and not any(j < i for j in r.children(i, "aux", "auxpass") if r.low(j) in _HELPERS)


def _form(r: Reading, i: int) -> str:
    """VBZ, VBP or VBD for a finite full verb, "" for any other word."""
    word = r.words[i]
    if (word.entity in ("PERSON", "ORG", "GPE") and word.text[0].isupper()) or word.low == "united":
        return ""
    has_subject = any(j < i for j in r.children(i, "nsubj", "expl", "csubj", "aux"))
    if word.tag == "VBN" and has_subject and word.second == "VBD" and not r.children(i, "nsubjpass", "agent"):
        form = "VBD"
    elif word.tag == "VB" and word.role == "ROOT" and has_subject:
        form = "VBP"
    else:
        form = word.tag if word.tag in FINITE else ""
    if not form or not forms(word.low, "VERB", (form,)):
        return ""
    if form == "VBD" and forms(word.low, "VERB", ("VBN",)) and not _past(r, i, has_subject):
        return ""
    if has_subject or word.role == "conj" or form in ("VBZ", "VBD"):
        return form
    return form if subjects(r, i) else ""


def _past(r: Reading, i: int, has_subject: bool) -> bool:
    """False where a form that may be past or participle is likely a participle: *a group believed to be …*, *speed camera found in …*."""
    if r.children(i, "agent") or r.low(i + 1) == "by" or (r.low(i) in _THOUGHT and r.low(i + 1) == "to"):
        return False
    objects = r.children(i, "dobj", "ccomp", "xcomp", "dative")
    if r.low(i) in _HAPPENS_TO and not objects and not any(r.tag(j) == "PRP" for j in r.children(i, *SUBJECTS)):
        return False
    if r.low(i - 1) == "," and r.low(i + 1) == ",":
        return False
    if r.children(i, "dobj", "ccomp", "dative", "prt"):
        return has_subject or r.words[i].role == "conj" or r.opens(i)
    if not has_subject:
        return r.words[i].role == "conj"
    subject = max(j for j in r.children(i, *SUBJECTS, "aux") if j < i)
    common = r.tag(subject) == "NN" or (
        r.tag(subject) == "NNP" and r.opens(subject) and "NOUN" in may(r.low(subject)) and not r.words[subject].entity
    )
    return not common or any(j != subject for j in r.children(subject, "det", "poss", "nummod", "relcl", "prep"))


_THOUGHT = frozenset(
    "believed thought said alleged reported expected known considered understood meant supposed".split()
)

_HAPPENS_TO = frozenset(
    """fired sacked dismissed arrested charged jailed sentenced convicted killed murdered shot stabbed injured wounded hurt
    hit struck found held released rescued freed banned suspended accused named linked caught rushed forced taken seen
    spotted filmed captured posted published released unveiled announced praised criticised criticized cleared handed
    appointed signed sold bought offered expected scheduled""".split()
)
"""What a headline without its auxiliary tells was done to its subject: *coach fired on Wednesday*."""


def _imperative(r: Reading, i: int, span: tuple[int, int]) -> Clause | None:
    """A plain form without a subject that opens a sentence or a quotation, *please* and adverbs apart."""
    word = r.words[i]
    if word.tag not in ("VB", "VBP") or word.role not in ("ROOT", "ccomp", "parataxis", "dep") or subjects(r, i):
        return None
    if not forms(word.low, "VERB", ("VB",)) or word.low in ("thank", "please", "let", "thanks"):
        return None
    at = i
    while (
        at > span[0]
        and not r.opens(at)
        and (r.low(at - 1) in ("please", "just", "then") or r.low(at - 1) in (",", ":"))
    ):
        at -= 1
    closed = at > span[0] + 1 and r.words[at - 1].text in _CLOSING and r.words[at - 2].text in (",", ".", "!", "?")
    return Clause(i, i, "IMP") if r.opens(at) and not closed else None


def base(r: Reading, clause: Clause) -> str:
    """The plain form of a full verb; "" where it is not certain."""
    low = r.low(clause.verb)
    return low if clause.form in ("VBP", "IMP") else base_form(low, clause.form)
