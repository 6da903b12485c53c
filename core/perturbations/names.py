"""Names: one is replaced by another of its kind (man, woman, surname, country, city, organisation) at every mention (Chen and Eger 2023,
§3; Ribeiro et al. 2020); names are swapped, or give way to generic phrases (He et al. 2023, Table 16)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random

from core.english import entity_kinds as kinds
from core.english.analysis import ParsedText
from core.english.dictionary import pos_tags
from core.english.entity_kinds import EntityKind, acts, head, sport
from core.english.entity_recognition import Entity, entities, longer
from core.english.word_lists import SEASONS, TIMES, word_set
from core.perturbations.base import Edits, NoiseContext, pairs, sample_share
from core.text.edits import Edit

_AMBIGUOUS = frozenset(
    "Virginia Austin Jordan Jean Jan Madison Christian Jersey Sofia Santiago Lima Niger Reading Florence".split()
)
_BEFORE_SURNAME = frozenset("W. F. J. H. D. K. B. M. C. de van von der al".split())
_CONJOINING = frozenset("& - – of al de van von bin".split())


_LISTS = tuple(
    (label, tuple(dict.fromkeys(names)))
    for label, lists in (
        ("PERSON", (kinds.MEN, kinds.WOMEN)),
        ("GPE", (kinds.COUNTRIES, kinds.CITIES)),
        ("ORG", (kinds.ORGANISATIONS,)),
    )
    for names in lists
)
"""Lists of names, and the label by which the model confirms a name of each."""
_LABELS = {names[0]: label for label, names in _LISTS}
_TIMES_LISTED = Counter(name for _, names in _LISTS for name in names)
_KINDS = {name: names for _, names in _LISTS for name in names if _TIMES_LISTED[name] == 1 and name not in _AMBIGUOUS}
"""The list each name belongs to. Names in several lists are left out: only their context can tell the kind."""
_FIRST_NAMES = frozenset((*kinds.MEN, *kinds.WOMEN))


def rename(r: ParsedText, random: Random) -> Edits:
    replacements: dict[str, Sequence[str]] = {}
    for i, word in enumerate(r.words):
        named = word.text[:1].isupper() and (not word.text.isupper() or word.text in kinds.ORGANISATIONS)
        if (
            named
            and word.text not in replacements
            and (kind := _kind(r, i))
            and word.entity == _LABELS.get(kind[0], "PERSON")
        ):
            replacements[word.text] = kind
    if not replacements:
        return []
    old = random.choice(sorted(replacements))
    taken = {word.text for word in r.words}
    new = random.choice([name for name in replacements[old] if name not in taken])
    places = [i for i, word in enumerate(r.words) if word.text == old]
    return [edit for i in places for edit in (r.replace(i, new), *r.article(i, new))]


def _kind(r: ParsedText, i: int) -> Sequence[str]:
    """Return the list of replacements for the name at i; empty if it may be part of a longer name."""
    word, before, after = r.word(i), r.word(i - 1), r.word(i + 1)
    owning = after in ("'", "’") and word.endswith("s")
    if owning or after in _CONJOINING or before in ("&", "-", "–", "’", "'") or r.glued(i):
        return ()
    proper_before = before[:1].isupper() and i > 0 and not r.starts_sentence(i - 1) or before in _FIRST_NAMES
    proper_after = after[:1].isupper() and after[:1].isalpha()
    if word in _FIRST_NAMES:
        person = proper_after or r.low(i - 1) in kinds.PLAIN_TITLES or word in _KINDS
        if person and not (proper_before and r.low(i - 1) not in kinds.PLAIN_TITLES):
            return _KINDS.get(word) or (kinds.MEN if word in kinds.MEN else kinds.WOMEN)
    surname = word.isalpha() and r.tag(i).startswith("NNP")
    if (before in _FIRST_NAMES or before in _BEFORE_SURNAME and r.word(i - 2) in _FIRST_NAMES) and not proper_after:
        return kinds.SURNAMES if surname else ()
    if r.low(i - 1) in kinds.PLAIN_TITLES and not proper_after and before[:1].isupper():
        return kinds.SURNAMES if surname and word not in _KINDS else ()
    titled = r.low(i - 2) in kinds.PLAIN_TITLES and proper_before and before.isalpha() and word.isalpha()
    if titled and not proper_after:
        return kinds.SURNAMES if word not in _KINDS else ()
    if proper_before or proper_after or (word in _FIRST_NAMES):
        return ()
    return _KINDS.get(word, ())


_GENERIC: dict[EntityKind, str] = {"person": "a person", "place": "a place", "organisation": "an organisation"}
_TIMES = {*TIMES, *SEASONS, "morning", "season", "today", "yesterday", "tomorrow"}


def make_generic(r: ParsedText, strength: float, random: Random, context: NoiseContext) -> Edits:
    places = [
        (start, e)
        for e in entities(r)
        if e.kind and not e.modifier and _stands(r, e) and (start := _phrase(r, e)) is not None
    ]
    return [
        Edit(r.words[start].start, r.words[e.end - 1].end, _capitalised(r, start, _GENERIC[e.kind]))
        for start, e in sample_share(places, strength, random)
    ]


_WHERE = word_set("locative-prepositions")
_GOING = word_set("verbs-of-going")
_PARTS = word_set("parts-of-places")
_CALLED = frozenset("named called dubbed nicknamed titled entitled known as".split())
_TOLD = word_set("words-before-no-place")


def _stands(r: ParsedText, entity: Entity) -> bool:
    """Return whether a generic phrase fits: not after a verb of naming, and for a place only in a locative context."""
    start = entity.start
    if r.low(start - 1) in _CALLED:
        return False
    if entity.kind != "place":
        return True
    last = r.words[entity.end - 1]
    if last.role == "nsubj" and r.words[last.head].low in kinds.NO_ACTS:
        return True
    if acts(r, start, entity.end):
        return False
    before = start - 1
    while before > r.places[start][0] and (r.tag(before) in ("DT", "JJ") or r.words[before].text in kinds.DIRECTIONS):
        before -= 1
    if r.low(before) == "of":
        return r.low(before - 1) in _PARTS
    if r.low(before) in ("to", "from", "over", "about"):
        naming_verbs = {r.low(before - 1), r.words[r.words[before].head].low} & _TOLD
        return not naming_verbs and r.tag(before - 1) != "JJ" and not sport(r) and r.low(entity.end) != "'s"
    if r.low(before) == "in" and r.low(before - 1) in _TOLD:
        return False
    if r.low(before) == "," and r.low(entity.end) == "," and r.tag(entity.end + 1) in ("NN", "NNS"):
        return False
    if r.low(before) == ",":
        return r.words[before - 1].entity in ("GPE", "LOC", "FAC")
    return r.low(before) in _WHERE | _GOING


def _phrase(r: ParsedText, entity: Entity) -> int | None:
    """Return the first word of the noun phrase that the entity ends, including determiner, adjectives and the noun that gives
    its kind (the Chelsea striker Smith). None if what precedes does not allow `a person`."""
    start = entity.start
    titled = r.low(start) in kinds.TITLES
    if r.low(entity.end) in ("'s", "'") and r.word(entity.end + 1)[:1].isupper():
        return None
    if r.adjoins(start) and (
        head(r, start - 1) == entity.kind or (r.low(start - 1) in kinds.TITLES and entity.kind == "person")
    ):
        start -= 1
        titled = True
    inside = range(entity.start - 1, entity.end)
    while titled and _belongs(r, start, inside) and r.tag(start - 1) in ("NN", "JJ", "NNP", "NNPS"):
        start -= 1
        inside = range(start, entity.end)
    while _belongs(r, start, inside) and (r.tag(start - 1) == "JJ" or r.words[start - 1].text in kinds.DIRECTIONS):
        start -= 1
    if start < entity.start and (r.low(start) == "old" or _ends_list(r, start)):
        return None
    swallowed = start < entity.start and "VERB" in pos_tags(r.low(start)) and r.tag(start) == "NN"
    if swallowed and r.low(start) not in kinds.ROLES and r.tag(start - 1) not in ("DT", "JJ", "PRP$", "POS"):
        return None
    if r.adjoins(start) and r.tag(start - 1) in ("DT", "PRP$"):
        start -= 1
    if start != entity.start and r.glued(start):
        return None
    if r.low(start - 1) in ('"', "“", "``") and r.tag(start - 2) in ("DT", "PRP$"):
        return None
    before = r.tag(start - 1)
    if r.adjoins(start) and (before in ("JJ", "DT", "PRP$") or r.low(start - 1) in kinds.ROLES):
        return None
    if r.low(start - 1) == ")" or (
        r.adjoins(start) and (before == "NNS" or "-" in (r.low(start - 2), r.low(start - 1)))
    ):
        return None
    if before in ("POS", "HYPH") or (r.low(start - 1) == "'s" and before != "VBZ"):
        return None
    if not r.adjoins(start) or r.places[start - 1] != r.places[start]:
        return start
    time = r.low(start - 1) in _TIMES or r.words[start - 1].entity in ("DATE", "TIME")
    measured = before in ("CD", "JJR", "JJS", "VBN", "VBG") and r.words[start - 1].head == entity.end - 1
    return None if measured or (before in ("NN", "NNP", "NNPS") and not time) else start


def _ends_list(r: ParsedText, start: int) -> bool:
    """Return whether the word is the last of several adjectives: *tall, boyish Smith*."""
    return r.low(start - 1) in (",", "and") and r.tag(start - 2) == "JJ"


def _belongs(r: ParsedText, start: int, inside: range) -> bool:
    """Return whether the word before depends on a word of the phrase."""
    return r.adjoins(start) and (r.words[start - 1].head in inside or r.words[start - 1].text in kinds.DIRECTIONS)


def _capitalised(r: ParsedText, i: int, new: str) -> str:
    """Return the phrase, capitalised if word i starts a sentence."""
    return new[:1].upper() + new[1:] if r.starts_sentence(i) and r.words[i].text[:1].isupper() else new


def switch_names(r: ParsedText, strength: float, random: Random, context: NoiseContext) -> Edits:
    recognised = entities(r)
    longest = longer(recognised)
    sorts = {e: _sort(r, e) for e in recognised}

    def made(group: list[Entity], kind: EntityKind) -> list[tuple[Entity, Entity]]:
        alike = [e for e in group if sorts[e] == kind]
        alike = _apart(alike, longest) if kind == "person" else alike
        return pairs(alike, lambda e: _known_by(longest[e.words]), random)

    whole = [e for e in recognised if not e.modifier and not _titled(r, e)]
    bare = [e for e in recognised if _bare(r, e)]
    pairs_made = [pair for kind in _GENERIC for pair in made(whole, kind) or made(bare, kind)]
    edits: list[Edit] = []
    for pair in sample_share(pairs_made, strength, random):
        for replaced, replacement in (pair, pair[::-1]):
            start, other = _article(r, replaced), _article(r, replacement)
            new = r.text[r.words[other].start : r.words[replacement.end - 1].end]
            if r.starts_sentence(other) and other < replacement.start:
                new = new[:1].lower() + new[1:]
            edits.append(Edit(r.words[start].start, r.words[replaced.end - 1].end, _capitalised(r, start, new)))
    return edits


def _sort(r: ParsedText, e: Entity) -> EntityKind:
    """Return the kind by which a name is swapped: its own, or the usual kind of its words (England, Liverpool)."""
    whole = r.written(e.start, e.end)
    if e.kind or e.label in ("EVENT", "WORK_OF_ART", "PRODUCT", "LAW", "NORP"):
        return e.kind
    if whole in (kinds.TEAMS | kinds.LONG_TEAMS | kinds.FAMOUS) - kinds.MEDIA:
        return "organisation"
    if whole in kinds.PLACES | kinds.LONG_PLACES:
        return "place" if e.label != "PERSON" else ""
    strange = not any(pos_tags(r.low(i)) for i in range(e.start, e.end))
    between = strange and e.label in ("GPE", "LOC", "FAC", "") and not sport(r) and _between(r, e)
    return "place" if between else ""


def _titled(r: ParsedText, e: Entity) -> bool:
    """Return whether the name includes only the last word of a title: Defense {Minister Gen Nakatani}."""
    return r.low(e.start) in kinds.TITLES and r.adjoins(e.start) and r.words[e.start - 1].text.istitle()


def _known_by(e: Entity) -> str:
    """Return the name in lower case, normalised if it has several forms: barca, juve."""
    name = " ".join(e.words)
    return kinds.ALIASES.get(name, name)


def _between(r: ParsedText, e: Entity) -> bool:
    """Return whether the name is part of *between Bremen and Trieste*, with two one-word names of which one is tagged as a
    place."""
    first = e.start if r.low(e.start - 1) == "between" else e.start - 2
    if e.end - e.start > 1 or r.low(first - 1) != "between" or r.low(first + 1) != "and" or first + 2 >= len(r.words):
        return False
    return "GPE" in (r.words[first].entity, r.words[first + 2].entity)


def _bare(r: ParsedText, e: Entity) -> bool:
    """Return whether the name never takes *the*, not even before a noun: Chelsea, not US."""
    if _titled(r, e) or r.words[e.end - 1].text.isupper() or "." in r.words[e.end - 1].text:
        return False
    if not e.modifier:
        return r.low(e.start - 1) != "the"
    known = kinds.TEAMS | kinds.LONG_TEAMS | kinds.PLACES | kinds.LONG_PLACES
    noun = r.adjoins(e.end) and r.tag(e.end) in ("NN", "NNS") and r.words[e.end].text.islower()
    return noun and r.written(e.start, e.end) in known - {"United States", "United Kingdom"}


def _apart(recognised: list[Entity], longest: Mapping[tuple[str, ...], Entity]) -> list[Entity]:
    """Drop lone first names if lone surnames occur too: Serena and Williams may be the same person."""
    alone = [e for e in recognised if len(longest[e.words].words) == 1]
    first = {e.words for e in alone if e.words[0].capitalize() in kinds.FIRST_NAMES}
    return [e for e in recognised if e.words not in first] if any(e.words not in first for e in alone) else recognised


def _article(r: ParsedText, entity: Entity) -> int:
    """Return the index of a `the` right before the entity, which moves with it; else the entity's first word."""
    the = r.low(entity.start - 1) == "the" and r.adjoins(entity.start) and not entity.modifier
    return entity.start - 1 if the else entity.start
