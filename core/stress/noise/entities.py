"""Named entities that become generic, and named entities that change places."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from core.stress import lists
from core.stress.base import Edit, Outcome, Refused
from core.stress.english import may
from core.stress.noise import name_words as given
from core.stress.noise.base import Beside, Noise, edited, some
from core.stress.noise.grammar import Reading, read, reader
from core.stress.noise.kinds import acts, head, sport
from core.stress.noise.name_words import DIRECTIONS, TITLES, Kind
from core.stress.noise.named import Entity, entities, longer
from core.stress.noise.pairs import pairs
from core.stress.noise.sentences import LEVELS

_GENERIC: dict[Kind, str] = {"person": "a person", "place": "a place", "organisation": "an organisation"}
_TIMES = frozenset(lists.TIMES) | frozenset(lists.SEASONS) | {"morning", "season", "today", "yesterday", "tomorrow"}


def _generic(text: str, strength: float, random: Random, around: Beside) -> Outcome:
    r = read(text)
    if isinstance(r, Refused):
        return r
    places = [
        (start, e)
        for e in entities(r)
        if e.kind and not e.modifier and _stands(r, e) and (start := _phrase(r, e)) is not None
    ]
    chosen = some(places, strength, random)
    edits = [
        Edit(r.words[start].start, r.words[e.end - 1].end, _capital(r, start, _GENERIC[e.kind])) for start, e in chosen
    ]
    return edited(text, edits, "no name that a phrase could stand for")


_WHERE = frozenset(
    """in near at across around outside inside throughout within through over into from to towards toward about along
    above beyond""".split()
)
_GOING = frozenset(
    "visit visits visited visiting leave leaves left leaving flee flees fled fleeing reach reached entered".split()
)
_PARTS = frozenset(
    "front coast border borders north south east west outskirts centre center capital streets parts part edge".split()
)
_CALLED = frozenset("named called dubbed nicknamed titled entitled known as".split())
_TOLD = frozenset(
    """according loss lost lose losing defeat compared belong belongs belonged due owed response opposed ties allied victory win reply interest faith trust belief
    confidence believe believes believed""".split()
)


def _stands(r: Reading, entity: Entity) -> bool:
    """True where a phrase for its kind can stand: not after a verb of naming, and for a place only where the sentence says *where*."""
    start = entity.start
    if r.low(start - 1) in _CALLED:
        return False
    if entity.kind != "place":
        return True
    last = r.words[entity.end - 1]
    if last.role == "nsubj" and r.words[last.head].low in given.NO_ACTS:
        return True
    if acts(r, start, entity.end):
        return False
    before = start - 1
    while before > r.places[start][0] and (r.tag(before) in ("DT", "JJ") or r.words[before].text in DIRECTIONS):
        before -= 1
    if r.low(before) == "of":
        return r.low(before - 1) in _PARTS
    if r.low(before) in ("to", "from", "over", "about"):
        told = {r.low(before - 1), r.words[r.words[before].head].low} & _TOLD
        return not told and r.tag(before - 1) != "JJ" and not sport(r) and r.low(entity.end) != "'s"
    if r.low(before) == "in" and r.low(before - 1) in _TOLD:
        return False
    if r.low(before) == ",":
        return r.words[before - 1].entity in ("GPE", "LOC", "FAC")
    return r.low(before) in _WHERE | _GOING


def _phrase(r: Reading, entity: Entity) -> int | None:
    """The first word of the noun phrase an entity ends: with its determiner, its adjectives, and the noun that tells its kind
    (the Chelsea striker Smith); None where something stands before it that `a person` cannot follow."""
    start = entity.start
    titled = r.low(start) in TITLES
    if r.adjoins(start) and (
        head(r, start - 1) == entity.kind or (r.low(start - 1) in TITLES and entity.kind == "person")
    ):
        start -= 1
        titled = True
    inside = range(entity.start - 1, entity.end)
    while titled and _belongs(r, start, inside) and r.tag(start - 1) in ("NN", "JJ", "NNP", "NNPS"):
        start -= 1
        inside = range(start, entity.end)
    while _belongs(r, start, inside) and (r.tag(start - 1) == "JJ" or r.words[start - 1].text in DIRECTIONS):
        start -= 1
    if start < entity.start and r.low(start) == "old":
        return None
    if r.adjoins(start) and r.tag(start - 1) in ("DT", "PRP$"):
        start -= 1
    if start != entity.start and r.glued(start):
        return None
    if r.low(start - 1) in ('"', "“", "``") and r.tag(start - 2) in ("DT", "PRP$"):
        return None
    before = r.tag(start - 1)
    if (r.adjoins(start) and (before == "NNS" or "-" in (r.low(start - 2), r.low(start - 1)))) or r.low(
        start - 1
    ) == ")":
        return None
    if before in ("POS", "HYPH") or (r.low(start - 1) == "'s" and before != "VBZ"):
        return None
    if not r.adjoins(start) or r.places[start - 1] != r.places[start]:
        return start
    noun = (
        before in ("NN", "NNP", "NNPS")
        and r.low(start - 1) not in _TIMES
        and r.words[start - 1].entity not in ("DATE", "TIME")
    )
    return (
        None
        if noun or before in ("CD", "JJR", "JJS", "VBN", "VBG") and r.words[start - 1].head == entity.end - 1
        else start
    )


def _belongs(r: Reading, start: int, inside: range) -> bool:
    """True where the word before depends on one of the phrase."""
    return r.adjoins(start) and (r.words[start - 1].head in inside or r.words[start - 1].text in DIRECTIONS)


def _capital(r: Reading, i: int, new: str) -> str:
    """With the capital that opens a sentence, where word i does."""
    return new[:1].upper() + new[1:] if r.opens(i) and r.words[i].text[:1].isupper() else new


def _switch(text: str, strength: float, random: Random, around: Beside) -> Outcome:
    r = read(text)
    if isinstance(r, Refused):
        return r
    found = entities(r)
    longest = longer(found)
    sorts = {e: _sort(r, e) for e in found}

    def made(group: list[Entity], kind: Kind) -> list[tuple[Entity, Entity]]:
        alike = [e for e in group if sorts[e] == kind]
        return pairs(
            _apart(alike, longest) if kind == "person" else alike, lambda e: _known_by(longest[e.words]), random
        )

    whole = [e for e in found if not e.modifier and not _titled(r, e)]
    bare = [e for e in found if _bare(r, e)]
    pairs_made = [pair for kind in _GENERIC for pair in made(whole, kind) or made(bare, kind)]
    edits: list[Edit] = []
    for pair in some(pairs_made, strength, random):
        for here, there in (pair, pair[::-1]):
            start, other = _article(r, here), _article(r, there)
            new = text[r.words[other].start : r.words[there.end - 1].end]
            if r.opens(other) and other < there.start:
                new = new[:1].lower() + new[1:]
            edits.append(Edit(r.words[start].start, r.words[here.end - 1].end, _capital(r, start, new)))
    return edited(text, edits, "fewer than two different names of one certain kind")


def _sort(r: Reading, e: Entity) -> Kind:
    """The kind by which a name is exchanged: its own, or what its words are known to name, whatever they stand for there (England,
    Liverpool)."""
    whole = " ".join(r.words[i].text for i in range(e.start, e.end))
    if e.kind or e.label in ("EVENT", "WORK_OF_ART", "PRODUCT", "LAW", "NORP"):
        return e.kind
    if whole in given.TEAMS | given.LONG_TEAMS | given.FAMOUS:
        return "organisation"
    if whole in given.PLACES | given.MORE_PLACES | given.LONG_PLACES:
        return "place" if e.label != "PERSON" else ""
    strange = not any(may(r.low(i)) for i in range(e.start, e.end))
    between = strange and e.label in ("GPE", "LOC", "FAC", "") and not sport(r) and _between(r, e)
    return "place" if between else ""


def _titled(r: Reading, e: Entity) -> bool:
    """True for a name after a title of which it has but the last word: Defense {Minister Gen Nakatani}."""
    return r.low(e.start) in TITLES and r.adjoins(e.start) and r.words[e.start - 1].text.istitle()


def _known_by(e: Entity) -> str:
    """The name in lower case; one of several names of the same: barca, juve."""
    name = " ".join(e.words)
    return given.ALIASES.get(name, name)


def _between(r: Reading, e: Entity) -> bool:
    """True for either name of *between Bremen and Trieste*, two names of one word, one of which the model takes for a place."""
    first = e.start if r.low(e.start - 1) == "between" else e.start - 2
    if e.end - e.start > 1 or r.low(first - 1) != "between" or r.low(first + 1) != "and" or first + 2 >= len(r.words):
        return False
    return "GPE" in (r.words[first].entity, r.words[first + 2].entity)


def _bare(r: Reading, e: Entity) -> bool:
    """True for a name that stands without *the* wherever it stands, in front of a noun as well: Chelsea, not US."""
    if _titled(r, e) or r.words[e.end - 1].text.isupper() or "." in r.words[e.end - 1].text:
        return False
    if not e.modifier:
        return r.low(e.start - 1) != "the"
    known = given.TEAMS | given.LONG_TEAMS | given.PLACES | given.MORE_PLACES | given.LONG_PLACES
    noun = r.adjoins(e.end) and r.tag(e.end) in ("NN", "NNS") and r.words[e.end].text.islower()
    return noun and " ".join(r.words[i].text for i in range(e.start, e.end)) in known - {
        "United States",
        "United Kingdom",
    }


def _apart(found: list[Entity], longest: Mapping[tuple[str, ...], Entity]) -> list[Entity]:
    """Persons without first names that stand alone beside what may be their surnames: Serena and Williams may be one person."""
    alone = [e for e in found if len(longest[e.words].words) == 1]
    first = {e.words for e in alone if e.words[0].capitalize() in given.FIRST_NAMES}
    return [e for e in found if e.words not in first] if any(e.words not in first for e in alone) else found


def _article(r: Reading, entity: Entity) -> int:
    """The number of a `the` right before an entity, which it takes along; else its own first."""
    the = r.low(entity.start - 1) == "the" and r.adjoins(entity.start) and not entity.modifier
    return entity.start - 1 if the else entity.start


GENERIC = Noise(
    name="generic-entity",
    family="entities",
    label="Generic named entity",
    aspect="consistency",
    paper="He et al. 2023, Table 16",
    help="Random names become “a person”, “a place” or “an organisation”; articles and titles go with them. A name whose kind is not "
    "certain stays. Strength: the share of the names of a certain kind",
    make=_generic,
    levels=LEVELS,
    version=3,
    models=reader,
)
SWITCHING = Noise(
    name="entity-switching",
    family="entities",
    label="Named entity switching",
    aspect="consistency",
    paper="He et al. 2023, Table 16",
    help="Random pairs of different names change places, both persons, both places or both organisations for certain. Strength: the share of the pairs "
    "there can be",
    make=_switch,
    levels=LEVELS,
    switching=True,
    version=3,
    models=reader,
)
