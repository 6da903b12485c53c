"""Is a name a person's, a place's or an organisation's? Only where two kinds of evidence agree; "" otherwise."""

from __future__ import annotations

from core.stress import known_names as known
from core.stress.english import may
from core.stress.noise import name_words as given
from core.stress.noise.grammar import Reading
from core.stress.noise.name_words import Kind

_PLACE_LABELS = ("GPE", "LOC", "FAC")
_WHERE = frozenset("in near across around outside inside throughout within through".split())
_SETTLEMENTS = frozenset("town city village suburb province state county district region island".split())
_TO = frozenset("from to into at over towards toward".split())


def kind_of(r: Reading, start: int, end: int, label: str) -> Kind:
    """The kind of the name in words start..end-1, which the model gives this label."""
    written = [r.words[i].text for i in range(start, end)]
    lows = [r.low(i) for i in range(start, end)]
    whole = " ".join(written)
    if r.low(start - 1) in ("a", "an", "née", "nee") or (whole in given.MEDIA and not acts(r, start, end)):
        return ""
    if r.words[end - 1].tag == "NNPS" and whole not in given.LONG_PLACES | given.LONG_TEAMS | given.TEAMS:
        return ""
    if lows[-1] in given.EVENTS or label in ("EVENT", "WORK_OF_ART", "PRODUCT", "LAW", "NORP", "LANGUAGE"):
        return "organisation" if whole in given.LONG_TEAMS else ""
    if whole in given.LONG_PLACES:
        return "place"
    if whole in given.LONG_TEAMS or whole in given.FAMOUS | frozenset(known.ORGANISATIONS):
        return "organisation"
    if r.low(start - 1) == "of" and r.low(start - 2) in _SETTLEMENTS:
        return "place"
    return (
        _person(r, start, end, written, lows, label)
        or _organisation(r, start, written, lows, label)
        or _place(r, start, end, written, lows, label)
    )


def _person(r: Reading, start: int, end: int, written: list[str], lows: list[str], label: str) -> Kind:
    bare = [word for word, low in zip(written, lows, strict=True) if low not in given.TITLES]
    placed = bare and bare[-1] in given.PLACES | given.MORE_PLACES | given.TEAMS and bare[0] not in given.FIRST_NAMES
    if placed or _thing(bare, lows) or r.low(start - 1) == "the":
        return ""
    if len(bare) < len(written) and lows[0] in given.TITLES and label in ("PERSON", "", "ORG"):
        return "person"
    first, several = bare[0], len(bare) > 1
    if several and first in given.FIRST_NAMES | given.ALSO_FIRST:
        sure = label in ("PERSON", "") or (label in ("ORG", "GPE", "LOC") and first not in given.DOUBLE_FIRST)
        return "person" if sure and len(bare) <= 4 else ""
    if r.adjoins(start) and head(r, start - 1) == "person" and label in ("PERSON", "", "ORG"):
        return "person" if several or (label == "PERSON" and not may(lows[-1])) else ""
    if label == "ORG" and not several and first in given.FIRST_NAMES - given.DOUBLE_FIRST and _lives(r, start, end):
        return "person"
    if label != "PERSON":
        return ""
    strange = [not may(word.lower()) for word in bare]
    if (
        several
        and len(bare) <= 4
        and strange[0]
        and (strange[-1] or bare[-1] in known.SURNAMES)
        and r.tag(end - 1) == "NNP"
        and r.low(start - 1) not in _WHERE
        and _lives(r, start, end)
    ):
        return "person"
    if not several and strange[0] and written[0] not in given.TEAMS:
        aged = r.low(end) == "," and r.tag(end + 1) == "CD" and len(r.low(end + 1)) <= 2
        speaks = r.low(end) in given.SAY | {"who", "whose"} or r.low(start - 1) in ("said", "says")
        named = first in given.FIRST_NAMES or first in known.SURNAMES
        return "person" if aged or speaks or named else ""
    return ""


def _lives(r: Reading, start: int, end: int) -> bool:
    """True for the subject of an active verb, the owner of something, or what stands beside a noun or an age in commas."""
    last = r.words[end - 1]
    active = last.role == "nsubj" and r.words[last.head].tag.startswith("VB")
    return (
        active
        or last.role in ("appos", "poss")
        or r.low(end) in ("(", "'s", "who")
        or r.low(end) == ","
        and r.tag(end + 1) in ("CD", "DT", "WP")
    )


def _thing(bare: list[str], lows: list[str]) -> bool:
    """True for what has a word of places, organisations, clubs or events in it, or a small word that joins things."""
    last = lows[-1]
    words = given.PLACE_LAST | given.ORGANISATION_WORDS | given.CLUB_LAST | given.EVENTS
    whole = " ".join(bare)
    placed = len(bare) == 1 and bare[0] in given.PLACES | given.MORE_PLACES | given.TEAMS
    return (
        last in words
        or "&" in lows
        or "of" in lows
        or whole in given.TEAMS
        or placed
        or any(word.isupper() for word in bare)
    )


def _organisation(r: Reading, start: int, written: list[str], lows: list[str], label: str) -> Kind:
    last, several = lows[-1], len(lows) > 1
    if label == "PERSON" and " ".join(written) not in given.TEAMS:
        return ""
    if several and last in given.HOUSES:
        return "organisation" if acts(r, start, start + len(lows)) else ""
    if several and last in given.ORGANISATION_WORDS:
        return "organisation"
    if several and lows[0] in given.ORGANISATION_WORDS and lows[1] == "of":
        return "organisation"
    if several and last in given.CLUB_LAST and label in ("ORG", "") and sport(r) and r.low(start - 1) not in _WHERE:
        return "organisation"
    word = written[0]
    if (
        not several
        and word.isupper()
        and 2 < len(word) <= 6
        and label == "ORG"
        and word not in given.PLACES | given.MORE_PLACES
    ):
        return "organisation" if acts(r, start, start + 1) else ""
    if r.adjoins(start) and head(r, start - 1) == "organisation" and label in ("ORG", ""):
        return "organisation"
    team = not several and word in given.TEAMS and sport(r)
    return "organisation" if team and r.low(start - 1) not in _WHERE | _TO | {"of"} else ""


def _place(r: Reading, start: int, end: int, written: list[str], lows: list[str], label: str) -> Kind:
    if label in ("PERSON", "ORG") and lows[-1] not in given.PLACE_LAST:
        return ""
    whole, before = " ".join(written), r.low(start - 1)
    if before == "the":
        before = r.low(start - 2)
    owns = r.low(end) in ("'s", "'")
    team = whole in given.TEAMS or (whole in given.PLACES | given.MORE_PLACES and sport(r))
    located = (before in _WHERE | _TO and not owns) or r.low(start - 1) in given.DIRECTIONS
    if team:
        return "place" if located and label in _PLACE_LABELS and whole not in given.TEAMS else ""
    if whole in given.PLACES | given.MORE_PLACES:
        return "place" if label in (*_PLACE_LABELS, "") else ""
    if len(lows) > 1 and lows[-1] in given.PLACE_LAST and label != "PERSON":
        return "place" if lows[-1] not in given.CLUB_LAST or not sport(r) or located else ""
    if len(lows) == 1 and may(lows[0]):
        return ""
    if label in _PLACE_LABELS and (
        (before in _WHERE and not owns) or r.low(start - 1) in given.DIRECTIONS or _after_place(r, start)
    ):
        return "place"
    return ""


def _after_place(r: Reading, start: int) -> bool:
    """True after a known place and a comma: Bristol, Horfield."""
    return start >= 2 and r.low(start - 1) == "," and r.words[start - 2].text in given.PLACES | given.MORE_PLACES


def acts(r: Reading, start: int, end: int) -> bool:
    """True for the subject of a verb of saying or doing, and for an agent: the zoo plans to sue, said the FBI, told by Russia."""
    last = r.words[end - 1]
    if r.low(start - 1 - (r.low(start - 1) == "the")) == "by":
        return True
    return (
        last.role == "nsubj" and r.words[last.head].tag.startswith("VB") and r.words[last.head].low not in given.NO_ACTS
    )


def sport(r: Reading) -> bool:
    return any(word.low in given.SPORT for word in r.words)


def head(r: Reading, i: int) -> Kind:
    """The kind of entity that a common noun in front of its name tells of (striker, firm); "" for any other word."""
    low = r.low(i)
    if r.tag(i) != "NN" or r.words[i].text != low or low in given.NO_ROLES:
        return ""
    return given.HEADS.get(low) or ("person" if low.endswith(given.ROLE_ENDINGS) and "NOUN" in may(low) else "")
