"""Named entities of English text, with their kind as far as lists, titles and neighbours tell: rules, no model.

An entity is a run of capitalised words the tagger takes for names. Days, months, feasts, nationalities and numbers are none.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from core.stress import known_names as known
from core.stress.english import Parsed, lemmas, may
from core.stress.names import glued
from core.stress.noise import name_words as given
from core.stress.noise.name_words import Kind as Kind


class Entity(NamedTuple):
    """Tokens `start`..`end`-1. `words` are what it is known by, without titles, in lower case; `modifier` where a noun follows
    that it belongs to (the Boston office)."""

    start: int
    end: int
    words: tuple[str, ...]
    kind: Kind
    modifier: bool


@lru_cache(maxsize=512)
def entities(p: Parsed) -> tuple[Entity, ...]:
    """All of them in order; one that is a part of a longer name of the text (Merkel, Angela Merkel) is of its kind."""
    names = frozenset(p.word(i) for i in range(p.n) if not opens(p, i))
    found: list[Entity] = []
    i = 0
    while i < p.n:
        end = _run(p, i, names)
        if end == i:
            i += 1
            continue
        if entity := _entity(p, i, end):
            found.append(entity)
        i = end
    longest = longer(found)
    return tuple(e if e.kind else e._replace(kind=longest[e.words].kind) for e in found)


def longer(found: Sequence[Entity]) -> dict[tuple[str, ...], Entity]:
    """The longest entity that has all the words of one, or that it abbreviates, by its words; the first of several."""
    first: dict[tuple[str, ...], Entity] = {}
    for entity in found:
        if entity.words not in first or (entity.kind and not first[entity.words].kind):
            first[entity.words] = entity
    by_length = sorted(first.values(), key=lambda e: len(e.words), reverse=True)
    sets = [(frozenset(e.words), e) for e in by_length]
    return {
        entity.words: next(other for words, other in sets if words.issuperset(entity.words) or _short(entity, other))
        for entity in by_length
    }


def _short(entity: Entity, other: Entity) -> bool:
    return len(entity.words) == 1 and len(other.words) > 1 and entity.words[0] == "".join(w[0] for w in other.words)


def head(p: Parsed, i: int) -> Kind:
    """The kind of entity that a common noun in front of its name tells of (striker, city, club); "" for any other word."""
    low = p.low(i)
    if tag(p, i) != "NN" or p.word(i) != low or low in given.NO_ROLES:
        return ""
    return given.HEADS.get(low) or ("person" if low.endswith(given.ROLE_ENDINGS) else "")


def tag(p: Parsed, i: int) -> str:
    """The tag, but for words in small letters between names: to the tagger they are names, too."""
    if p.tag(i).startswith("NNP") and p.word(i).islower():
        return "NN" if p.low(i) in lemmas(p.low(i), "NOUN") else "NNS"
    return p.tag(i)


def direction(p: Parsed, i: int) -> bool:
    return p.word(i) in given.DIRECTIONS


def opens(p: Parsed, i: int) -> bool:
    """True for the first word of a sentence, a closing quotation mark before it or not."""
    return p.opens(i) or (p.low(i - 1) in given.CLOSING and p.low(i - 2) in (".", "!", "?"))


def beside(p: Parsed, left: int, right: int) -> bool:
    """True where nothing but a space stands between two neighbouring tokens of the text."""
    return 0 <= left and right < p.n and p.text[p.tokens[left].end : p.tokens[right].start] in ("", " ", "\u00a0")


def _run(p: Parsed, i: int, names: frozenset[str]) -> int:
    """One past the last token of the name that begins at i; i where none does."""
    if not _part(p, i, names):
        return i
    end = i + 1
    while beside(p, end - 1, end):
        if _part(p, end, names):
            end += 1
        elif _joins(p, end) and beside(p, end, end + 1) and _part(p, end + 1, names):
            end += 2
        else:
            break
    return end


def _joins(p: Parsed, i: int) -> bool:
    """True for a small word inside names: `of` only after a common noun (University of Texas, not Smith of Texas)."""
    return p.word(i) in given.JOINERS and (p.low(i) != "of" or "NOUN" in may(p.low(i - 1)))


def _part(p: Parsed, i: int, names: frozenset[str]) -> bool:
    word, low, part = p.word(i), p.low(i), p.tag(i)
    if not word[:1].isupper() or low in given.TIMES or glued(p, i) or (len(word) == 1 and not part.startswith("NNP")):
        return False
    if any(piece[:1].islower() for piece in word.split("-")[1:]):
        return False
    strange = not may(low) and part not in given.NEVER
    if opens(p, i):
        if _capital_follows(p, i):
            return part.startswith("NNP") or strange or word in names | given.ALSO_FIRST
        return (part.startswith("NNP") and (not may(low) or word in given.KNOWN)) or (
            part.startswith("NN") and word in names
        )
    return part.startswith("NN") or strange or (part in ("JJ", "VBG", "VBN", "VB") and _capital_follows(p, i))


def _capital_follows(p: Parsed, i: int) -> bool:
    return p.tag(i + 1).startswith("NNP") and p.word(i + 1)[:1].isupper() and beside(p, i, i + 1)


def _entity(p: Parsed, start: int, end: int) -> Entity | None:
    words = tuple(p.low(i) for i in range(start, end) if p.low(i) not in given.TITLES)
    if not words:
        return None
    if len(words) == 1 and p.word(end - 1) not in given.KNOWN and _no_name(words[0]):
        return None
    if p.word(start - 1)[:1].isupper() and glued(p, start - 1):
        return None
    joined = beside(p, end - 1, end)
    if joined and (p.tag(end) == "CD" or p.low(end) in ("no", "no.")):
        return None
    return Entity(start, end, words, _kind(p, start, end), joined and _noun_follows(p, end))


def _no_name(low: str) -> bool:
    """True for what is capitalised and no name by itself: Internet, Japanese, Olympic."""
    return (
        low in given.NO_NAMES | given.PEOPLES
        or "ADJ" in may(low)
        or (len(low) > 4 and low.endswith(given.PEOPLE_ENDINGS))
    )


def _noun_follows(p: Parsed, end: int) -> bool:
    low = p.low(end)
    if tag(p, end) in ("NN", "NNS") or ("-" in low and low[0].isalpha()):
        return True
    return p.tag(end) == "JJ" and tag(p, end + 1) in ("NN", "NNS")


def _kind(p: Parsed, start: int, end: int) -> Kind:
    written = [p.word(i) for i in range(start, end)]
    lows = p.lows(start, end)
    first, last = lows[0], lows[-1]
    if first in given.TITLES or (p.low(start - 1) in given.TITLES and beside(p, start - 1, start)):
        return "person"
    if beside(p, start - 1, start) and (told := head(p, start - 1)):
        return told
    if beside(p, start - 1, start) and direction(p, start - 1):
        return "place"
    if last in given.EVENTS:
        return ""
    if last in given.ORGANISATION_WORDS or (first in given.ORGANISATION_WORDS and "of" in lows) or "&" in lows:
        return "organisation"
    if len(written) > 1 and written[-1] in known.SURNAMES and last not in given.PLACE_LAST:
        return "person"
    if last in given.PLACE_LAST or (first in given.PLACE_LAST | {"isle", "gulf"} and "of" in lows):
        return "place"
    if len(lows) > 2 and any(word in known.MEN or word in known.WOMEN for word in written[1:-1]):
        return "person"
    if len(lows) > 1 and first in given.PLACE_FIRST:
        return "place"
    if len(written) > 1 and written[0] in given.ALSO_FIRST:
        return "person"
    if (written[0] in known.MEN or written[0] in known.WOMEN) and (
        len(written) > 1 or written[0] not in given.PLACES | given.MORE_PLACES
    ):
        return "person"
    if written[-1] in given.PLACES | given.MORE_PLACES:
        return "" if given.JOINERS & set(lows) else "place"
    if any(word in known.ORGANISATIONS for word in written):
        return "organisation"
    if len(written) == 1 and written[0].isupper() and 2 <= len(written[0]) <= 6:
        return "organisation"
    article = p.low(start - 1) == "the"
    if _person_beside(p, start, end) and not article:
        return "person"
    if p.low(start - 1) in ("in", "near", "at") and len(written) == 1:
        return "place"
    strange = len(first) > 1 and not may(first) and first not in ("la", "el", "le") and written[0] not in given.PLACES
    return "person" if len(written) in (2, 3) and strange and not article else ""


def _person_beside(p: Parsed, start: int, end: int) -> bool:
    aged = p.low(end) == "," and p.tag(end + 1) == "CD" and p.low(end + 2) in (",", ".") and len(p.low(end + 1)) <= 2
    return (
        aged or p.low(end) in given.SAY | {"who", "whose"} or (p.low(end) == "," and p.low(end + 1) in ("who", "whose"))
    )
