"""Agreement of subject and verb (Chen and Eger 2023, §3; Sai et al. 2021).

Disagreement: a finite verb takes the wrong number. Pronoun errors: each personal pronoun is replaced by another of the same case, and its
verb agrees with the new number. `you` and `it` stay: the case of `you` is often ambiguous, and `it` is often impersonal. A person is
replaced by the same other person throughout the text.
"""

from __future__ import annotations

from random import Random

from core.english.analysis import ParsedText
from core.english.certain_words import is_full_verb
from core.english.clauses import subjects
from core.english.dictionary import base_form, inflect, noun_base, noun_number
from core.english.entity_kinds import sport
from core.english.word_lists import opposites, word_set
from core.perturbations.base import Edits
from core.text.edits import Edit, Refused

SWAPS = opposites("is = are|was = were|has = have|does = do")
_EITHER = word_set("groups-and-amounts")
"""Groups and amounts, whose verb may be singular or plural."""
_SINGULAR = frozenset("he she it this that everyone everybody someone somebody".split())
_PLURAL = frozenset("you we they these those".split())
_WISHES = frozenset("if wish though as whether lest".split())


def disagree(r: ParsedText, random: Random) -> Edits:
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
    return []


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
_TO_SINGULAR = {"are": "is", "were": "was", "have": "has", "do": "does", "'re": "'s", "'ve": "'s"}
_TO_PLURAL = {"is": "are", "was": "were", "has": "have", "does": "do", "'s": "'re", "am": "are", "'m": "'re"}
_TOGETHER = frozenset("both all each together another among between".split())


def change_pronouns(r: ParsedText, random: Random) -> Edits:
    places = [(i, reading) for i in range(len(r.words)) if (reading := _reading(r, i))]
    if not places:
        return Refused("no personal pronoun other than you and it")
    if not all(r.sure(i) for i, _ in places):
        return Refused("the case of a pronoun is uncertain")
    if any(r.tag(i + 1)[:3] in ("NNS", "NNP") for i, (_, case) in places if case in ("subject", "object")):
        return Refused("“we” or “us” may stand before the name of a group")
    if any(case == "possessive" and r.low(i + 1) == "way" for i, (_, case) in places):
        return Refused("a possessive before “way” depends on its subject")
    edits: list[Edit] = []
    for person in dict.fromkeys(person for _, (person, _) in places):
        own = [(i, case) for i, (one, case) in places if one == person]
        if not any(case == "subject" for _, case in own):
            own = [(i, case) for i, case in own if case != "self"]
        made = _swapped(r, own, person, random)
        if made is None:
            return Refused(f"the verb of “{_PARADIGM[person][0]}” might not agree with another person")
        edits += made
    return edits


def _reading(r: ParsedText, i: int) -> tuple[str, str] | None:
    """Return person and case of the pronoun at i."""
    low, written = r.low(i), r.word(i)
    readings = _FORMS.get(low)
    if not readings or (low == "us" and written != "us") or (low == "mine" and r.low(i - 1) != "of"):
        return None
    if low == "i" and (written == "i" or r.tag(i) != "PRP" or r.low(i + 1) in ("/", "-", ".", ")")):
        return None
    if low == "her":
        return "she", "possessive" if r.tag(i) == "PRP$" else "object"
    if low == "his":
        return "he", "possessive" if r.role(i) == "poss" else "own"
    return readings[0]


def _swapped(r: ParsedText, places: list[tuple[int, str]], person: str, random: Random) -> list[Edit] | None:
    options = list(_CHOICES[person])
    first = random.choice(options)
    several = person == "they" and any(_several(r, i) for i, _ in places)
    for target in dict.fromkeys((first, *options)):
        if several and target in ("he", "she"):
            continue
        edits: list[Edit] = []
        for i, case in places:
            edits.append(_placed(r, i, _PARADIGM[target][_CASES.index(case)]))
            verb = _agreeing(r, i, person, target) if case == "subject" else []
            if verb is None:
                break
            edits += verb
        else:
            return edits
    return None


def _several(r: ParsedText, i: int) -> bool:
    """Return whether the pronoun must refer to several persons: `one of them`, or `between`, `all`, `each` in the sentence."""
    return r.low(i - 1) == "of" or bool(_TOGETHER & set(r.lows(*r.places[i])))


def _placed(r: ParsedText, i: int, new: str) -> Edit:
    word = r.words[i]
    if len(word.text) > 1 and word.text.isupper():
        return r.replace(i, new)
    capital = word.text[:1].isupper() and (word.text != "I" or r.starts_sentence(i))
    return Edit(word.start, word.end, new[:1].upper() + new[1:] if capital else new)


def _agreeing(r: ParsedText, i: int, person: str, target: str) -> list[Edit] | None:
    """Return the edits that make the verbs of the subject at i agree; None if a verb form is uncertain."""
    singular, plural = person in ("he", "she"), target in ("we", "they")
    if person != "i" and singular != plural:
        return []
    verb = r.words[i].head
    if r.role(i) not in ("nsubj", "nsubjpass") or r.children(i, "conj", "cc") or r.tag(verb)[:2] not in ("VB", "MD"):
        return None
    if singular == plural and any(r.low(j) == "as" for j in r.children(verb, "prep")):
        return None
    edits: list[Edit] = []
    verbs = [verb]
    while verbs:
        verb = verbs.pop()
        verbs += [j for j in r.children(verb, "conj") if not subjects(r, j)]
        made = _inflected(r, verb, plural=plural, first=person == "i")
        if made is None:
            return None
        edits += made
    return edits


def _inflected(r: ParsedText, verb: int, *, plural: bool, first: bool) -> list[Edit] | None:
    """Return the edits that change the number of a finite verb; none if it has none, None if it is uncertain."""
    carrier = (r.children(verb, "aux", "auxpass") or [verb])[0]
    low, tag = r.low(carrier), r.tag(carrier)
    if not r.sure(carrier) or (low == "'s" and r.tag(verb) in ("VBN", "VBD")):
        return None
    table = _TO_PLURAL if plural else _TO_SINGULAR
    if first:
        table = {form: table[form] for form in ("am", "was", "'m")}
        return [r.replace(carrier, table[low])] if low in table else []
    if low in table:
        return None if r.children(verb, "attr") else [r.replace(carrier, table[low])]
    if tag == "MD" or (
        tag in ("VBD", "VBN", "VBG", "VB") and (tag == "VBD" or carrier != verb or r.role(verb) == "conj")
    ):
        return []
    if tag not in ("VBZ", "VBP"):
        return None
    new = base_form(low, "VBZ") if plural else inflect(low, "VBZ")
    return [r.replace(carrier, new)] if new else None
