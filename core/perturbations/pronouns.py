"""Pronoun errors (Chen and Eger 2023, §3): each personal pronoun is replaced by another of the same case, and its verb agrees with
the new number.

`you` and `it` stay: the case of `you` is often ambiguous, and `it` is often impersonal. A person is replaced by the same other
person throughout the text.
"""

from __future__ import annotations

from random import Random

from core.english.parsing import TaggedText, english, inflect, pos_tags
from core.english.phrases import MODALS, lemma, skip_adverbs
from core.perturbations.base import Perturbation
from core.text.edits import Edit, Outcome, Refused

_CASES = ("subject", "object", "possessive", "own", "self")
_PARADIGM = {
    "i": ("I", "me", "my", "mine", "myself"),
    "he": ("he", "him", "his", "his", "himself"),
    "she": ("she", "her", "her", "hers", "herself"),
    "we": ("we", "us", "our", "ours", "ourselves"),
    "they": ("they", "them", "their", "theirs", "themselves"),
}
_FORMS: dict[str, list[tuple[str, str]]] = {}
for _person, _words in _PARADIGM.items():
    for _case, _word in zip(_CASES, _words, strict=True):
        _FORMS.setdefault(_word.lower(), []).append((_person, _case))

_CHOICES = {
    "he": ("she", "they", "she"),
    "she": ("he", "they", "he"),
    "they": ("we", "he", "she"),
    "we": ("they",),
    "i": ("we", "they"),
}
"""Replacements for each person. The first usually needs no new verb form and serves as a fallback."""
_SINGULAR = {"are": "is", "were": "was", "have": "has", "do": "does", "'re": "'s", "'ve": "'s"}
_PLURAL = {"is": "are", "was": "were", "has": "have", "does": "do", "'s": "'re"}
_FIRST = {"am": "are", "was": "were", "'m": "'re"}
_TOGETHER = frozenset("both all each together another among between".split())


def _pronouns(p: TaggedText, random: Random) -> Outcome | list[Edit]:
    found = [(i, reading) for i in range(p.n) if (reading := _reading(p, i))]
    if any(person == "we" and _appositive(p, i + 1) for i, (person, _) in found):
        return Refused("“we” or “us” stands before the name of a group")
    if not found:
        return Refused("no personal pronoun other than you and it")
    if any(case == "possessive" and p.low(i + 1) == "way" for i, (_, case) in found):
        return Refused("a possessive before “way” depends on its subject")
    edits: list[Edit] = []
    for person in dict.fromkeys(person for _, (person, _) in found):
        places = [(i, case) for i, (own, case) in found if own == person]
        if not any(case == "subject" for _, case in places):
            places = [(i, case) for i, case in places if case != "self"]
        made = _swapped(p, places, person, random)
        if made is None:
            return Refused(f"the verb of “{_PARADIGM[person][0]}” might not agree with another person")
        edits += made
    return edits


def _appositive(p: TaggedText, i: int) -> bool:
    """Return whether token i names the group after `we` or `us`: we Europeans, us voters."""
    low = p.low(i)
    group = p.tag(i) in ("NNS", "NNPS") or (low.endswith("s") and (p.tag(i) == "NNP" or pos_tags(low) == {"NOUN"}))
    return group and p.low(i - 1) in ("we", "us")


def _reading(p: TaggedText, i: int) -> tuple[str, str] | None:
    """Return person and case of the pronoun at i."""
    low = p.low(i)
    readings = _FORMS.get(low)
    if not readings or (low == "us" and p.word(i) != "us") or (low == "mine" and p.low(i - 1) != "of"):
        return None
    numeral = p.word(i) == "i" and p.low(i + 1) in (".", ")")
    if low == "i" and (numeral or p.low(i + 1) in ("/", "-", "i") or p.tag(i - 1) == "NNP"):
        return None
    if low == "her":
        tag = p.tag(i + 1)
        owned = tag[:2] in ("NN", "JJ", "CD") or p.low(i + 1) == "own" or tag in ("VBG", "VBN", "RB")
        return "she", "possessive" if owned else "object"
    if low == "his":
        return "he", "own" if p.tag(i + 1) in (".", ",", "CC", "IN", "VBZ", "VBD", "MD", "") else "possessive"
    return readings[0]


def _swapped(p: TaggedText, places: list[tuple[int, str]], person: str, random: Random) -> list[Edit] | None:
    options = list(_CHOICES[person])
    first = random.choice(options)
    several = person == "they" and any(_several(p, i) for i, _ in places)
    for target in dict.fromkeys((first, *options)):
        if several and target in ("he", "she"):
            continue
        edits: list[Edit] = []
        for i, case in places:
            edits.append(_placed(p, i, _PARADIGM[target][_CASES.index(case)]))
            verb = _agreeing(p, i, person, target) if case == "subject" else []
            if verb is None:
                break
            edits += verb
        else:
            return edits
    return None


def _several(p: TaggedText, i: int) -> bool:
    """Return whether the pronoun must refer to several persons: `one of them`, or `between`, `all`, `each` in the sentence."""
    return p.low(i - 1) == "of" or bool(_TOGETHER & p.sentence_words(i))


def _placed(p: TaggedText, i: int, new: str) -> Edit:
    token, old = p.tokens[i], p.word(i)
    if len(old) > 1 and old.isupper():
        return p.replace(i, new)
    capital = old[:1].isupper() and (old != "I" or p.opens(i))
    return Edit(token.start, token.end, new[:1].upper() + new[1:] if capital else new)


def _agreeing(p: TaggedText, i: int, person: str, target: str) -> list[Edit] | None:
    """Return the edits that make the verb of the subject at i agree; None if the verb form is uncertain."""
    singular, plural = person in ("he", "she"), target in ("we", "they")
    if person == "i":
        return _first_person(p, i)
    if singular and not plural or person in ("we", "they") and plural:
        return []
    if p.low(i - 1) in ("and", "or") or p.low(i + 1) in ("and", "or", ","):
        return None
    if p.tag(i - 1)[:2] in ("VB", "MD") and p.low(i - 1) in (*_SINGULAR, *_PLURAL, *MODALS):
        return None
    j = skip_adverbs(p, i + 1)
    low, tag = p.low(j), p.tag(j)
    table = _PLURAL if singular else _SINGULAR
    if low == "'s" and p.tag(j + 1) in ("VBN", "VBD"):
        return None
    if low in table:
        if low in _BEING and _counted(p, j, singular=singular):
            return None
        return [p.replace(j, table[low])] if not _joined(p, j) else None
    if "as" in p.lows(j + 1, j + 4) and any(p.tag(k) == ("NN" if singular else "NNS") for k in range(j + 2, j + 7)):
        return None
    if low in MODALS or low in ("had", "did", "'d"):
        return []
    if tag == "VBD" or (tag == "VBN" and not inflect(low, "VBZ")):
        return [] if not _joined(p, j) else None
    if singular and tag in ("VBZ", "NNS"):
        base = _base(low)
        return [p.replace(j, base)] if base and not _joined(p, j) else None
    if not singular and tag in ("VBP", "VB"):
        new = inflect(low, "VBZ")
        return [p.replace(j, new)] if new and not _joined(p, j) else None
    return None


_BEING = frozenset("is are was were 's 're".split())


def _counted(p: TaggedText, verb: int, *, singular: bool) -> bool:
    """Return whether the complement of the verb has the number of the subject: `he is a teacher`, `they are teachers`."""
    for j in range(verb + 1, min(verb + 6, p.n)):
        if p.low(j) in (",", ".", ";", "in", "on", "at", "to", "by", "for", "with") or p.tag(j) in ("VBG", "VBN"):
            return False
        if singular and p.tag(j) in ("NN", "NNP", "DT", "PRP$") or not singular and p.tag(j) in ("NNS", "CD"):
            return True
    return False


def _base(low: str) -> str:
    base = lemma(low)
    return base if base and inflect(base, "VBZ") == low else ""


def _joined(p: TaggedText, verb: int) -> bool:
    """Return whether a second verb may share the subject: `and`, `or` or `but` with a present-tense verb soon after it."""
    for j in range(verb + 1, p.sentence(verb)[1]):
        if p.low(j) in ("and", "or", "but"):
            k = skip_adverbs(p, j + 1)
            if p.tag(k) in ("VBZ", "VBP", "VB") or p.low(k) in (*_SINGULAR, *_PLURAL):
                return True
    return False


def _first_person(p: TaggedText, i: int) -> list[Edit] | None:
    if p.low(i - 1) in ("and", "or") or p.low(i + 1) in ("and", "or"):
        return None
    edits = [p.replace(j, _FIRST[p.low(j)]) for j in (i - 1, skip_adverbs(p, i + 1)) if p.low(j) in _FIRST]
    return edits[:1] if len(edits) < 2 else None


PRONOUN = Perturbation(
    name="pronoun",
    phenomenon="Pronoun error",
    kind="adequacy",
    help="Every personal pronoun except you and it becomes another of the same case, and the verb agrees with it",
    change=english(_pronouns),
    version=4,
)
