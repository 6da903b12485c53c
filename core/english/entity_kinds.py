"""Classify a name as person, place or organisation if two kinds of evidence agree, with the lists of names and cues."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

from core.english.analysis import ParsedText
from core.english.dictionary import pos_tags
from core.english.word_lists import PERSONS, listed, word_set

EntityKind = Literal["person", "place", "organisation", ""]

MEN, WOMEN, SURNAMES = listed("men"), listed("women"), listed("surnames")
COUNTRIES, CITIES, ORGANISATIONS = listed("countries"), listed("cities"), listed("organisations")
PLAIN_TITLES = word_set("plain-titles")
TIMES = word_set("calendar")
NO_NAMES = word_set("capitals-of-no-name")
TITLES = PLAIN_TITLES | word_set("more-titles")
ROLES = frozenset(PERSONS) | PLAIN_TITLES | word_set("more-roles")
PLACES = frozenset((*COUNTRIES, *CITIES, *listed("more-places")))
LONG_PLACES = word_set("long-places")
TEAMS = word_set("teams")
"""Clubs, most of which share their name with a place or common word: never certain to be a place."""
LONG_TEAMS = word_set("long-teams")
FAMOUS = word_set("famous")
KNOWN = PLACES | FAMOUS | TEAMS | frozenset((*MEN, *WOMEN, *SURNAMES, *ORGANISATIONS))
PLACE_FIRST = word_set("place-first")
PLACE_LAST = word_set("place-last")
CLUB_LAST = word_set("club-last")
"""Last words of club names; some also end names of places."""
ORGANISATION_WORDS = word_set("organisation-words")
FIRST_NAMES = frozenset((*MEN, *WOMEN, *listed("more-first-names")))
ALSO_FIRST = word_set("first-names-and-words")
"""First names that are also words: names if another capitalised word follows."""
DOUBLE_FIRST = word_set("first-names-and-places")
"""First names that also start names of places and companies."""
PEOPLES = frozenset(
    "welsh french dutch greek swiss german thai iraqi israeli pakistani saudi czech arab turk turkish".split()
)
PEOPLE_ENDINGS = ("ish", "ese", "ian", "ean", "ican")
EVENTS = word_set("events")
SAY = frozenset(
    "said says told tells added adds admitted admits claimed claims tweeted insisted insists revealed reveals wrote".split()
)
ALIASES = {
    short: whole
    for whole, names in {
        "barcelona": "barca|fc barcelona", "juventus": "juve", "tottenham": "spurs|tottenham hotspur", "manchester city": "man city|city",
        "manchester united": "man united|man utd|united", "inter": "inter milan", "us": "u.s.|usa|u.s.a.|united states|america",
        "uk": "u.k.|united kingdom|britain|great britain", "atletico": "atletico madrid", "isis": "islamic state|isil", "holland": "netherlands",
        "paris saint-germain": "psg", "bayern": "bayern munich", "west brom": "west bromwich albion|bromwich albion",
        "leicester": "leicester city", "hull": "hull city", "newcastle": "newcastle united",
    }.items()
    for short in names.split("|")
}  # fmt: skip
"""Short and alternative names mapped to one form, in lower case."""
MEDIA = frozenset("Twitter Facebook Instagram YouTube Snapchat WhatsApp Whatsapp LinkedIn Spotify MailOnline".split())
"""Companies whose names mostly stand for what they publish (on Facebook)."""
HOUSES = frozenset(
    "hospital zoo museum prison jail theatre theater church school hotel station airport centre center".split()
)
"""Last words of names of buildings, which are organisations when they act."""
NO_ACTS = word_set("verbs-without-agent")
"""Verbs whose subject need not be an agent."""
DIRECTIONS = frozenset("north south east west central northern southern eastern western inner outer downtown".split())
HEADS: dict[str, EntityKind] = {
    **dict.fromkeys(ROLES, "person"),
    **dict.fromkeys("company firm newspaper airline charity retailer broadcaster giant giants".split(), "organisation"),
    **dict.fromkeys("suburb".split(), "place"),
}
ROLE_ENDINGS = ("er", "or", "ist", "ian", "man", "woman")
NO_ROLES = word_set("nouns-in-er-of-things")
JOINERS = frozenset("of de van der la du bin al di da von dos del den ten & ibn el".split())
SPORT = word_set("sport")
"""Words of sports texts, in which the name of a city or country may be its team."""


_PLACE_LABELS = ("GPE", "LOC", "FAC")
_WHERE = frozenset("in near across around outside inside throughout within through".split())
_SETTLEMENTS = frozenset("town city village suburb province state county district region island".split())
_HE_OR_SHE = frozenset("he she his her him".split())
_TO = frozenset("from to into at over towards toward".split())


def kind_of(r: ParsedText, start: int, end: int, label: str) -> EntityKind:
    """Return the kind of the name in words start..end-1, given its label from the model."""
    written, lows = [word.text for word in r.words[start:end]], [word.low for word in r.words[start:end]]
    whole = " ".join(written)
    if r.low(start - 1) in ("a", "an", "née", "nee") or (whole in MEDIA and not acts(r, start, end)):
        return ""
    if r.words[end - 1].tag == "NNPS" and whole not in LONG_PLACES | LONG_TEAMS | TEAMS:
        return ""
    if lows[-1] in EVENTS or label in ("EVENT", "WORK_OF_ART", "PRODUCT", "LAW", "NORP", "LANGUAGE"):
        return "organisation" if whole in LONG_TEAMS else ""
    if whole in LONG_PLACES:
        return "place"
    if whole in LONG_TEAMS or whole in FAMOUS | frozenset(ORGANISATIONS):
        return "organisation"
    if r.low(start - 1) == "of" and r.low(start - 2) in _SETTLEMENTS:
        return "place"
    return (
        _person(r, start, end, written, lows, label)
        or _organisation(r, start, written, lows, label)
        or _place(r, start, end, written, lows, label)
    )


def _person(r: ParsedText, start: int, end: int, written: list[str], lows: list[str], label: str) -> EntityKind:
    bare = [word for word, low in zip(written, lows, strict=True) if low not in TITLES]
    placed = bare and bare[-1] in PLACES | TEAMS and bare[0] not in FIRST_NAMES
    if placed or _thing(bare, lows) or r.low(start - 1) == "the":
        return ""
    if len(bare) < len(written) and lows[0] in TITLES and label in ("PERSON", "", "ORG"):
        return "person"
    first, several = bare[0], len(bare) > 1
    if several and first in FIRST_NAMES | ALSO_FIRST:
        sure = label in ("PERSON", "") or (label in ("ORG", "GPE", "LOC") and first not in DOUBLE_FIRST)
        return "person" if sure and len(bare) <= 4 else ""
    if r.adjoins(start) and head(r, start - 1) == "person" and label in ("PERSON", "", "ORG"):
        return "person" if several or (label == "PERSON" and not pos_tags(lows[-1])) else ""
    if label == "ORG" and not several and first in FIRST_NAMES - DOUBLE_FIRST and _lives(r, end):
        return "person"
    if label != "PERSON":
        return ""
    strange = [not pos_tags(word.lower()) for word in bare]
    surname = (strange[-1] or bare[-1] in SURNAMES) and r.tag(end - 1) == "NNP"
    full = several and len(bare) <= 4 and strange[0] and surname
    if full and r.low(start - 1) not in _WHERE and _lives(r, end):
        return "person"
    if not several and strange[0] and written[0] not in TEAMS:
        aged = r.low(end) == "," and r.tag(end + 1) == "CD" and len(r.low(end + 1)) <= 2
        speaks = r.low(end) in SAY | {"who", "whose"} or r.low(start - 1) in ("said", "says")
        named = first in FIRST_NAMES or first in SURNAMES
        return "person" if aged or speaks or named else ""
    return ""


def _lives(r: ParsedText, end: int) -> bool:
    """Return whether the name is the subject of a reporting verb, or precedes *who* or an age in commas. In a text with *he* or
    *she*, also whether it is the subject of any active verb, a possessor, or an apposition."""
    last = r.words[end - 1]
    subject = last.role == "nsubj" and r.words[last.head].tag.startswith("VB")
    if (subject and r.words[last.head].low in SAY) or r.low(end) == "who":
        return True
    if r.low(end) == "," and r.tag(end + 1) in ("CD", "WP"):
        return True
    has_pronoun = any(word.low in _HE_OR_SHE for word in r.words)
    beside = r.low(end) in ("(", "'s") or (r.low(end) == "," and r.tag(end + 1) == "DT")
    return has_pronoun and (subject or last.role in ("appos", "poss") or beside)


def _thing(bare: list[str], lows: list[str]) -> bool:
    """Return whether the name contains a word of places, organisations, clubs or events, or a joining word."""
    last = lows[-1]
    words = PLACE_LAST | ORGANISATION_WORDS | CLUB_LAST | EVENTS
    whole = " ".join(bare)
    placed = len(bare) == 1 and bare[0] in PLACES | TEAMS
    joined = "&" in lows or "of" in lows
    return last in words or joined or whole in TEAMS or placed or any(word.isupper() for word in bare)


def _organisation(r: ParsedText, start: int, written: list[str], lows: list[str], label: str) -> EntityKind:
    last, several = lows[-1], len(lows) > 1
    if label == "PERSON" and " ".join(written) not in TEAMS:
        return ""
    if any(low in _SETTLEMENTS and after == "of" for low, after in pairwise(lows)):
        return ""
    if last == "studios" and r.low(start - 1) in _WHERE | {"at"}:
        return ""
    if several and last in HOUSES:
        return "organisation" if acts(r, start, start + len(lows)) else ""
    if several and last in ORGANISATION_WORDS:
        return "organisation"
    if several and lows[0] in ORGANISATION_WORDS and lows[1] == "of":
        return "organisation"
    if several and last in CLUB_LAST and label in ("ORG", "") and sport(r) and r.low(start - 1) not in _WHERE:
        return "organisation"
    word = written[0]
    if not several and word.isupper() and 2 < len(word) <= 6 and label == "ORG" and word not in PLACES:
        return "organisation" if acts(r, start, start + 1) else ""
    if r.adjoins(start) and head(r, start - 1) == "organisation" and label in ("ORG", ""):
        return "organisation"
    team = not several and word in TEAMS and sport(r)
    return "organisation" if team and r.low(start - 1) not in _WHERE | _TO | {"of"} else ""


def _place(r: ParsedText, start: int, end: int, written: list[str], lows: list[str], label: str) -> EntityKind:
    if label in ("PERSON", "ORG") and lows[-1] not in PLACE_LAST:
        return ""
    whole, before = " ".join(written), r.low(start - 1)
    if before == "the":
        before = r.low(start - 2)
    owns = r.low(end) in ("'s", "'")
    team = whole in TEAMS or (whole in PLACES and sport(r))
    located = (before in _WHERE | _TO and not owns) or r.low(start - 1) in DIRECTIONS
    if team:
        return "place" if located and label in _PLACE_LABELS and whole not in TEAMS else ""
    if whole in PLACES:
        return "place" if label in (*_PLACE_LABELS, "") else ""
    if len(lows) > 1 and lows[-1] in PLACE_LAST and label != "PERSON":
        return "place" if lows[-1] not in CLUB_LAST or not sport(r) or located else ""
    if pos_tags(lows[-1]) and (len(lows) == 1 or "NOUN" in pos_tags(lows[-1])):
        return ""
    placed = (before in _WHERE and not owns) or r.low(start - 1) in DIRECTIONS or _after_place(r, start)
    return "place" if label in _PLACE_LABELS and placed else ""


def _after_place(r: ParsedText, start: int) -> bool:
    """Return whether a known place and a comma precede: Bristol, Horfield."""
    return start >= 2 and r.low(start - 1) == "," and r.words[start - 2].text in PLACES


def acts(r: ParsedText, start: int, end: int) -> bool:
    """Return whether the name is the subject of a verb of saying or doing, or an agent: the zoo plans to sue, said the FBI,
    told by Russia."""
    last = r.words[end - 1]
    if r.low(start - 1 - (r.low(start - 1) == "the")) == "by":
        return True
    verb = r.words[last.head]
    return last.role == "nsubj" and verb.tag.startswith("VB") and verb.low not in NO_ACTS


def sport(r: ParsedText) -> bool:
    return any(word.low in SPORT for word in r.words)


def head(r: ParsedText, i: int) -> EntityKind:
    """Return the kind of entity that a common noun before a name indicates (striker, firm); "" for other words."""
    low = r.low(i)
    if r.tag(i) != "NN" or r.words[i].text != low or low in NO_ROLES:
        return ""
    return HEADS.get(low) or ("person" if low.endswith(ROLE_ENDINGS) and "NOUN" in pos_tags(low) else "")
