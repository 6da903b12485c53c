"""Named entities of English text with their kind, if model, lists, titles and context agree on it.

An entity is a run of capitalised words tagged as a name. Excluded are days, months, holidays, nationalities, numbers,
headlines, words in capitals for emphasis (*click HERE*), words of lower-case sentences, and names that a lower-case word
continues (*Manchester city*).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from core.english import entity_kinds
from core.english.analysis import CLITICS, ParsedText
from core.english.certain_words import strange, uncased
from core.english.dictionary import STOP_WORDS, pos_tags
from core.english.entity_kinds import EntityKind, kind_of


class Entity(NamedTuple):
    """Words `start`..`end`-1. `words` identify it, in lower case without titles; `kind` is "" if uncertain; `label` is the
    model's; `modifier` if it belongs to a noun that follows (the Boston office)."""

    start: int
    end: int
    words: tuple[str, ...]
    kind: EntityKind
    label: str
    modifier: bool


@lru_cache(maxsize=2048)
def entities(r: ParsedText) -> tuple[Entity, ...]:
    """Return all entities in order. Part of a longer name in the text (Merkel, Angela Merkel) has the kind of the longer one."""
    titled = {i for span in r.sentences if _headline(r, span) for i in range(*span)}
    recognised: list[Entity] = []
    i = 0
    while i < len(r.words):
        end = i if i in titled or uncased(r, i) else _run(r, i)
        if end == i:
            i += 1
            continue
        if entity := _entity(r, i, end):
            recognised.append(entity)
        i = end
    longest = longer(recognised)
    return tuple(_alone(r, _like_longest(e, longest[e.words])) for e in recognised)


def _alone(r: ParsedText, e: Entity) -> Entity:
    """Return the entity, without the kind person if it is a family: the Richards."""
    family = e.kind == "person" and e.end - e.start == 1 and r.low(e.start - 1) == "the"
    return e._replace(kind="") if family else e


def _like_longest(entity: Entity, longest: Entity) -> Entity:
    """Return the entity with the kind of its longest mention; no kind if the two contradict each other."""
    if longest.words == entity.words or not longest.kind:
        return entity
    return entity._replace(kind=longest.kind if entity.kind in ("", longest.kind) else "")


def longer(recognised: Sequence[Entity]) -> dict[tuple[str, ...], Entity]:
    """Map the words of each entity to the longest entity that contains or is abbreviated by them; the first of several."""
    first: dict[tuple[str, ...], Entity] = {}
    for entity in recognised:
        if entity.words not in first or (entity.kind and not first[entity.words].kind):
            first[entity.words] = entity
    by_length = sorted(first.values(), key=lambda e: len(e.words), reverse=True)
    sets = [(frozenset(e.words), e) for e in by_length]
    nearest = {
        entity.words: next(
            other
            for words, other in sets
            if words.issuperset(entity.words) or _short(entity, other) or _misspelt(entity, other)
        )
        for entity in by_length
    }
    return {words: nearest[other.words] for words, other in nearest.items()}


def _short(entity: Entity, other: Entity) -> bool:
    return len(entity.words) == 1 and len(other.words) > 1 and entity.words[0] == "".join(w[0] for w in other.words)


def _misspelt(entity: Entity, other: Entity) -> bool:
    """Return whether the two are spellings of one name, or of a word of it: Nathan Hughes, Nathen Hughes; Cambiasson, Esteban
    Cambiasso."""
    from rapidfuzz.distance import OSA

    if len(entity.words) == len(other.words) > 1:
        near = [OSA.distance(*pair, score_cutoff=2) <= 2 for pair in zip(entity.words, other.words, strict=True)]
        return all(near) and all(a[0] == b[0] for a, b in zip(entity.words, other.words, strict=True))
    one = " ".join(entity.words)
    spellings = (" ".join(other.words), *(other.words if len(entity.words) == 1 else ()))
    return any(min(len(one), len(two)) > 4 and OSA.distance(one, two, score_cutoff=1) <= 1 for two in spellings)


def _headline(r: ParsedText, span: tuple[int, int]) -> bool:
    """Return whether a sentence is in title case or capitals, so that its capitals mean nothing."""
    letters = [r.words[i].text for i in range(*span) if r.words[i].text[0].isalpha() and r.low(i) not in CLITICS]
    capital = [word for word in letters if word[0].isupper()]
    content = [word for word in letters if word.lower() not in STOP_WORDS]
    if len(letters) >= 3 and sum(word.isupper() and len(word) > 1 for word in letters) > len(letters) / 2:
        return True
    return len(letters) >= 5 and len(capital) > 0.7 * len(letters) and all(word[0].isupper() for word in content)


def _run(r: ParsedText, i: int) -> int:
    """Return the end of the name that starts at i; i if there is none."""
    for end in range(min(i + 4, r.places[i][1]), i + 1, -1):
        if r.written(i, end) in entity_kinds.LONG_PLACES | entity_kinds.LONG_TEAMS:
            return end
    if not _part(r, i):
        return i
    end, last = i + 1, r.places[i][1]
    while end < last and r.adjoins(end):
        if _part(r, end):
            end += 1
        elif end + 1 < last and _joins(r, end) and r.adjoins(end + 1) and _part(r, end + 1):
            end += 2
        else:
            break
    return end


def _joins(r: ParsedText, i: int) -> bool:
    """Return whether word i can join parts of a name: `of` only after a common noun (University of Texas, not Smith of Texas)."""
    word = r.words[i]
    return word.text in entity_kinds.JOINERS and (word.low != "of" or "NOUN" in pos_tags(r.low(i - 1)))


def _part(r: ParsedText, i: int) -> bool:
    """Return whether word i is part of a name."""
    word = r.words[i]
    low = word.low
    if (
        not word.text[:1].isupper()
        or low in entity_kinds.TIMES
        or low in entity_kinds.NO_NAMES
        or r.glued(i)
        or '"' in word.text
    ):
        return False
    if len(word.text) == 1 or low in CLITICS or word.entity in ("DATE", "TIME", "LANGUAGE", "ORDINAL", "CARDINAL"):
        return False
    if word.entity == "NORP" and low not in _persons(r):
        return False
    if word.text in entity_kinds.KNOWN and not pos_tags(low):
        return True
    if word.text.isupper():
        return _initials(r, i)
    if not r.starts_sentence(i):
        return word.tag.startswith("NNP") or bool(word.entity and not r.sure(i))
    if low in STOP_WORDS or (word.tag == "IN" and word.text not in entity_kinds.KNOWN | entity_kinds.FIRST_NAMES):
        return False
    following = r.word(i + 1)[:1].isupper() and r.adjoins(i + 1)
    if following and word.text in entity_kinds.FIRST_NAMES | entity_kinds.ALSO_FIRST:
        return True
    unknown = not pos_tags(low)
    if word.entity and (
        unknown or (following and r.words[i + 1].entity == word.entity and not r.words[i + 1].starts_entity)
    ):
        return True
    return (
        low in entity_kinds.TITLES and following
        if not unknown
        else (word.tag.startswith("NNP") or word.text in r.inner_words)
    )


@lru_cache(maxsize=2048)
def _persons(r: ParsedText) -> frozenset[str]:
    """Return the words of person names in the text."""
    return frozenset(word.low for word in r.words if word.entity == "PERSON" and not pos_tags(word.low))


def _initials(r: ParsedText, i: int) -> bool:
    """Return whether an abbreviation is a name: known, or not in the dictionary and not in a run of capitals."""
    word = r.words[i]
    if word.text in entity_kinds.KNOWN:
        return True
    around = (r.word(i - 1), r.word(i + 1))
    shouted = any(text.isupper() and len(text) > 1 and text not in entity_kinds.KNOWN for text in around)
    plain = pos_tags(word.low) or word.low in STOP_WORDS
    return not shouted and not plain and len(word.text) >= 2 and word.tag.startswith("NNP") and bool(word.entity)


def _entity(r: ParsedText, start: int, end: int) -> Entity | None:
    words = tuple(r.low(i) for i in range(start, end) if r.low(i) not in entity_kinds.TITLES)
    if not words:
        return None
    single = r.words[end - 1]
    if (
        len(words) == 1
        and single.text not in entity_kinds.KNOWN
        and (_no_name(single.low) or single.low in entity_kinds.PLACE_FIRST)
    ):
        return None
    before = r.word(start - 1)
    if (
        r.low(end) in ("no", "no.", "&", "$", "€", "£")
        or (r.tag(end) == "CD" and r.adjoins(end))
        or before == "&"
        or (before[:1].isupper() and before.isupper() and r.adjoins(start))
    ):
        return None
    label = _label(r, start, end)
    if _cut_off(r, start, end) or (not label and not _known(r, start, end)):
        return None
    return Entity(start, end, words, kind_of(r, start, end, label), label, _noun_follows(r, end))


def _cut_off(r: ParsedText, start: int, end: int) -> bool:
    """Return whether the run is likely part of a longer name: Scarlett O-Hara, Fresh Prince of Bel-Air, Manchester city, Gone
    with the Wind."""
    last, before, following = r.words[end - 1], r.low(start - 1), r.low(end)
    capital_before, after = r.word(start - 1)[:1].isupper(), r.word(end + 1)
    if (
        _goes_on(r, end)
        or _expedition(r, start)
        or _went_before(r, start)
        or (last.low in ("university", "college") and following == "at" and after.istitle())
        or (len(last.text) == 2 and last.text.endswith("."))
        or (before == "(" and following == ")" and after[:1].isupper())
        or (before == "and" and last.low in entity_kinds.ORGANISATION_WORDS and r.word(start - 2).istitle())
        or (following == "and" and after.istitle() and "NOUN" in pos_tags(r.low(end + 1)))
        or (r.adjoins(start) and capital_before and (before in _BEGINNING or r.glued(start - 1)))
        or (r.adjoins(end) and r.word(end)[:1].isupper())
    ):
        return True
    if start and _inside(r, start) and r.words[start - 1].entity:
        if (
            capital_before
            and before not in ("the", *entity_kinds.TITLES)
            or (start >= 2 and before in ("and", "of", "for"))
        ):
            return True
    at = end + 1 + (r.low(end + 1) == "the")
    if not r.adjoins(end) or following not in ("of", "with", "and", "for", "on") or not r.word(at)[:1].isupper():
        return False
    one = bool(r.words[end].entity) and not r.words[at].starts_entity
    named = following == "of" and r.low(at) not in _CALENDAR
    return one or named or (following in ("with", "and") and r.low(end + 1) == "the")


def _goes_on(r: ParsedText, end: int) -> bool:
    """Return whether a lower-case word (Mesut ozil, Manchester city) or a bracket (Hold Tight (Want Some)) continues the name."""
    if end < len(r.words) and r.low(end) == "(" and r.text[r.words[end].start + 1 :][:1].isupper():
        return r.words[end - 1].entity in ("WORK_OF_ART", "PRODUCT", "EVENT", "LAW")
    if not r.adjoins(end) or r.places[end] != r.places[end - 1]:
        return False
    word, capital = r.words[end], r.word(end + 1)[:1].isupper()
    if len(word.text) <= 3 and word.text == word.low and capital and r.low(end + 1) in entity_kinds.JOINERS:
        return True
    organisation = r.low(end - 1) in entity_kinds.ORGANISATION_WORDS
    if word.low == "for" and capital and organisation and "NOUN" in pos_tags(r.low(end + 1)):
        return True
    return strange(r, end) or (
        word.text == word.low and word.low in entity_kinds.CLUB_LAST - {"bears", "lions", "tigers"}
    )


def _went_before(r: ParsedText, start: int) -> bool:
    """Return whether the name starts before its first recognised word: Go Shiina, Tour de Yorkshire, fc Tokyo."""
    if not r.adjoins(start) or r.places[start] != r.places[start - 1]:
        return False
    before = r.words[start - 1]
    if r.low(start) in entity_kinds.JOINERS and before.text == before.low and len(before.text) <= 3:
        return True
    if before.low in ("fc", "afc", "ac", "fk", "sc", "nazi", "soviet", "communist", "imperial"):
        return True
    if before.low in entity_kinds.JOINERS - {"of"} and start >= 2 and r.adjoins(start - 1):
        return r.words[start - 2].text[:1].isupper()
    is_group = before.entity == "NORP" or _no_name(before.low)
    plain = before.low in entity_kinds.TITLES | entity_kinds.DIRECTIONS | STOP_WORDS | entity_kinds.TIMES or is_group
    return before.text.istitle() and not r.starts_sentence(start - 1) and not plain


def _expedition(r: ParsedText, start: int) -> bool:
    """Return whether a capitalised common noun and a preposition or *and* precede: the Second Dutch Expedition to Indonesia."""
    if not (2 <= start and r.adjoins(start) and r.adjoins(start - 1)):
        return False
    at = start - 1 - (r.low(start - 1) == "the")
    if r.low(at) not in ("of", "to", "for", "and", "on", "in", "with", "the") or at < 1 or r.starts_sentence(at - 1):
        return False
    noun, whole = r.words[at - 1], r.written(max(0, at - 2), at)
    return (
        noun.text.istitle()
        and "NOUN" in pos_tags(noun.low)
        and whole not in entity_kinds.LONG_PLACES | entity_kinds.LONG_TEAMS
    )


_BEGINNING = frozenset("new old north south east west los las san santa st st. mount great upper lower".split())
_CALENDAR = entity_kinds.TIMES | {"the"}


def _known(r: ParsedText, start: int, end: int) -> bool:
    """Return whether a word of the run is a known name or title, tagged as an entity, or in no dictionary."""
    return any(
        word.entity
        or word.text in entity_kinds.KNOWN | entity_kinds.FIRST_NAMES
        or word.low in entity_kinds.TITLES
        or not pos_tags(word.low)
        for word in r.words[start:end]
    )


def _label(r: ParsedText, start: int, end: int) -> str:
    """Return the model's label of exactly these words, ignoring a title, article or possessive; "" if its span differs."""
    first = start
    while first < end - 1 and r.low(first) in entity_kinds.TITLES and not r.words[first].entity:
        first += 1
    labels = {r.words[i].entity for i in range(first, end)}
    if len(labels) != 1 or any(r.words[i].starts_entity for i in range(first + 1, end)):
        return ""
    before_in = first and _inside(r, first) and r.low(first - 1) not in ("the", *entity_kinds.TITLES)
    after_in = end < len(r.words) and _inside(r, end) and r.low(end) not in CLITICS
    return "" if before_in or after_in else next(iter(labels))


def _inside(r: ParsedText, i: int) -> bool:
    """Return whether word i belongs to an entity that the model starts before it."""
    return bool(r.words[i].entity) and not r.words[i].starts_entity


def _no_name(low: str) -> bool:
    """Return whether the word is capitalised without being a name itself: Japanese, Olympic."""
    return (
        low in entity_kinds.PEOPLES
        or "ADJ" in pos_tags(low)
        or (len(low) > 4 and low.endswith(entity_kinds.PEOPLE_ENDINGS))
    )


def _noun_follows(r: ParsedText, end: int) -> bool:
    """Return whether the name belongs to a noun after it: the Boston office, a Harvard-educated man."""
    if r.word(end) in ("", "-", "–"):
        return end < len(r.words)
    if not r.adjoins(end):
        return False
    word = r.words[end]
    if word.tag in ("NN", "NNS", "NNP", "NNPS", "CD") or word.text[0].isdigit():
        return True
    last = r.words[end - 1]
    if last.role in ("compound", "nmod", "amod") and last.head >= end and word.low not in CLITICS:
        return True
    if word.low in ("last", "next", "this", "that", "every", "each"):
        return False
    after = r.low(end + 1)
    if word.tag == "JJ" or (
        after.endswith(entity_kinds.ROLE_ENDINGS) and "NOUN" in pos_tags(after) and r.tag(end + 1) == "NN"
    ):
        return True
    attribute = word.tag in ("JJ", "VBN", "VBG", "RB") and word.role in ("amod", "compound", "npadvmod")
    return attribute and r.tag(end + 1) in ("NN", "NNS", "JJ", "HYPH")
