"""Classify a name as person, place or organisation if two kinds of evidence agree, else ""."""

from __future__ import annotations

from itertools import pairwise

from core.english import entity_cues as cues
from core.english.analysis import ParsedText
from core.english.dictionary import pos_tags
from core.english.entity_cues import EntityKind

_PLACE_LABELS = ("GPE", "LOC", "FAC")
_WHERE = frozenset("in near across around outside inside throughout within through".split())
_SETTLEMENTS = frozenset("town city village suburb province state county district region island".split())
_HE_OR_SHE = frozenset("he she his her him".split())
_TO = frozenset("from to into at over towards toward".split())


def kind_of(r: ParsedText, start: int, end: int, label: str) -> EntityKind:
    """Return the kind of the name in words start..end-1, given its label from the model."""
    written, lows = [word.text for word in r.words[start:end]], [word.low for word in r.words[start:end]]
    whole = " ".join(written)
    if r.low(start - 1) in ("a", "an", "née", "nee") or (whole in cues.MEDIA and not acts(r, start, end)):
        return ""
    if r.words[end - 1].tag == "NNPS" and whole not in cues.LONG_PLACES | cues.LONG_TEAMS | cues.TEAMS:
        return ""
    if lows[-1] in cues.EVENTS or label in ("EVENT", "WORK_OF_ART", "PRODUCT", "LAW", "NORP", "LANGUAGE"):
        return "organisation" if whole in cues.LONG_TEAMS else ""
    if whole in cues.LONG_PLACES:
        return "place"
    if whole in cues.LONG_TEAMS or whole in cues.FAMOUS | frozenset(cues.ORGANISATIONS):
        return "organisation"
    if r.low(start - 1) == "of" and r.low(start - 2) in _SETTLEMENTS:
        return "place"
    return (
        _person(r, start, end, written, lows, label)
        or _organisation(r, start, written, lows, label)
        or _place(r, start, end, written, lows, label)
    )


def _person(r: ParsedText, start: int, end: int, written: list[str], lows: list[str], label: str) -> EntityKind:
    bare = [word for word, low in zip(written, lows, strict=True) if low not in cues.TITLES]
    placed = bare and bare[-1] in cues.PLACES | cues.TEAMS and bare[0] not in cues.FIRST_NAMES
    if placed or _thing(bare, lows) or r.low(start - 1) == "the":
        return ""
    if len(bare) < len(written) and lows[0] in cues.TITLES and label in ("PERSON", "", "ORG"):
        return "person"
    first, several = bare[0], len(bare) > 1
    if several and first in cues.FIRST_NAMES | cues.ALSO_FIRST:
        sure = label in ("PERSON", "") or (label in ("ORG", "GPE", "LOC") and first not in cues.DOUBLE_FIRST)
        return "person" if sure and len(bare) <= 4 else ""
    if r.adjoins(start) and head(r, start - 1) == "person" and label in ("PERSON", "", "ORG"):
        return "person" if several or (label == "PERSON" and not pos_tags(lows[-1])) else ""
    if label == "ORG" and not several and first in cues.FIRST_NAMES - cues.DOUBLE_FIRST and _lives(r, end):
        return "person"
    if label != "PERSON":
        return ""
    strange = [not pos_tags(word.lower()) for word in bare]
    surname = (strange[-1] or bare[-1] in cues.SURNAMES) and r.tag(end - 1) == "NNP"
    full = several and len(bare) <= 4 and strange[0] and surname
    if full and r.low(start - 1) not in _WHERE and _lives(r, end):
        return "person"
    if not several and strange[0] and written[0] not in cues.TEAMS:
        aged = r.low(end) == "," and r.tag(end + 1) == "CD" and len(r.low(end + 1)) <= 2
        speaks = r.low(end) in cues.SAY | {"who", "whose"} or r.low(start - 1) in ("said", "says")
        named = first in cues.FIRST_NAMES or first in cues.SURNAMES
        return "person" if aged or speaks or named else ""
    return ""


def _lives(r: ParsedText, end: int) -> bool:
    """Return whether the name is the subject of a reporting verb, or precedes *who* or an age in commas. In a text with *he* or
    *she*, also whether it is the subject of any active verb, a possessor, or an apposition."""
    last = r.words[end - 1]
    subject = last.role == "nsubj" and r.words[last.head].tag.startswith("VB")
    if (subject and r.words[last.head].low in cues.SAY) or r.low(end) == "who":
        return True
    if r.low(end) == "," and r.tag(end + 1) in ("CD", "WP"):
        return True
    told = any(word.low in _HE_OR_SHE for word in r.words)
    beside = r.low(end) in ("(", "'s") or (r.low(end) == "," and r.tag(end + 1) == "DT")
    return told and (subject or last.role in ("appos", "poss") or beside)


def _thing(bare: list[str], lows: list[str]) -> bool:
    """Return whether the name contains a word of places, organisations, clubs or events, or a joining word."""
    last = lows[-1]
    words = cues.PLACE_LAST | cues.ORGANISATION_WORDS | cues.CLUB_LAST | cues.EVENTS
    whole = " ".join(bare)
    placed = len(bare) == 1 and bare[0] in cues.PLACES | cues.TEAMS
    joined = "&" in lows or "of" in lows
    return last in words or joined or whole in cues.TEAMS or placed or any(word.isupper() for word in bare)


def _organisation(r: ParsedText, start: int, written: list[str], lows: list[str], label: str) -> EntityKind:
    last, several = lows[-1], len(lows) > 1
    if label == "PERSON" and " ".join(written) not in cues.TEAMS:
        return ""
    if any(low in _SETTLEMENTS and after == "of" for low, after in pairwise(lows)):
        return ""
    if last == "studios" and r.low(start - 1) in _WHERE | {"at"}:
        return ""
    if several and last in cues.HOUSES:
        return "organisation" if acts(r, start, start + len(lows)) else ""
    if several and last in cues.ORGANISATION_WORDS:
        return "organisation"
    if several and lows[0] in cues.ORGANISATION_WORDS and lows[1] == "of":
        return "organisation"
    if several and last in cues.CLUB_LAST and label in ("ORG", "") and sport(r) and r.low(start - 1) not in _WHERE:
        return "organisation"
    word = written[0]
    if not several and word.isupper() and 2 < len(word) <= 6 and label == "ORG" and word not in cues.PLACES:
        return "organisation" if acts(r, start, start + 1) else ""
    if r.adjoins(start) and head(r, start - 1) == "organisation" and label in ("ORG", ""):
        return "organisation"
    team = not several and word in cues.TEAMS and sport(r)
    return "organisation" if team and r.low(start - 1) not in _WHERE | _TO | {"of"} else ""


def _place(r: ParsedText, start: int, end: int, written: list[str], lows: list[str], label: str) -> EntityKind:
    if label in ("PERSON", "ORG") and lows[-1] not in cues.PLACE_LAST:
        return ""
    whole, before = " ".join(written), r.low(start - 1)
    if before == "the":
        before = r.low(start - 2)
    owns = r.low(end) in ("'s", "'")
    team = whole in cues.TEAMS or (whole in cues.PLACES and sport(r))
    located = (before in _WHERE | _TO and not owns) or r.low(start - 1) in cues.DIRECTIONS
    if team:
        return "place" if located and label in _PLACE_LABELS and whole not in cues.TEAMS else ""
    if whole in cues.PLACES:
        return "place" if label in (*_PLACE_LABELS, "") else ""
    if len(lows) > 1 and lows[-1] in cues.PLACE_LAST and label != "PERSON":
        return "place" if lows[-1] not in cues.CLUB_LAST or not sport(r) or located else ""
    if pos_tags(lows[-1]) and (len(lows) == 1 or "NOUN" in pos_tags(lows[-1])):
        return ""
    placed = (before in _WHERE and not owns) or r.low(start - 1) in cues.DIRECTIONS or _after_place(r, start)
    return "place" if label in _PLACE_LABELS and placed else ""


def _after_place(r: ParsedText, start: int) -> bool:
    """Return whether a known place and a comma precede: Bristol, Horfield."""
    return start >= 2 and r.low(start - 1) == "," and r.words[start - 2].text in cues.PLACES


def acts(r: ParsedText, start: int, end: int) -> bool:
    """Return whether the name is the subject of a verb of saying or doing, or an agent: the zoo plans to sue, said the FBI,
    told by Russia."""
    last = r.words[end - 1]
    if r.low(start - 1 - (r.low(start - 1) == "the")) == "by":
        return True
    verb = r.words[last.head]
    return last.role == "nsubj" and verb.tag.startswith("VB") and verb.low not in cues.NO_ACTS


def sport(r: ParsedText) -> bool:
    return any(word.low in cues.SPORT for word in r.words)


def head(r: ParsedText, i: int) -> EntityKind:
    """Return the kind of entity that a common noun before a name indicates (striker, firm); "" for other words."""
    low = r.low(i)
    if r.tag(i) != "NN" or r.words[i].text != low or low in cues.NO_ROLES:
        return ""
    return cues.HEADS.get(low) or ("person" if low.endswith(cues.ROLE_ENDINGS) and "NOUN" in pos_tags(low) else "")
