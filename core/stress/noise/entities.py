"""Named entities that become generic, and named entities that change places."""

from __future__ import annotations

from random import Random

from core.stress import lists
from core.stress.base import Edit, Outcome, Refused
from core.stress.noise.base import Beside, Noise, edited, some
from core.stress.noise.grammar import Reading, read, reader
from core.stress.noise.kinds import head
from core.stress.noise.name_words import DIRECTIONS, TITLES, Kind
from core.stress.noise.named import Entity, entities, longer
from core.stress.noise.pairs import like_pairs
from core.stress.noise.sentences import LEVELS

_GENERIC: dict[Kind, str] = {"person": "a person", "place": "a place", "organisation": "an organisation"}
_TIMES = frozenset(lists.TIMES) | frozenset(lists.SEASONS) | {"morning", "season", "today", "yesterday", "tomorrow"}


def _generic(text: str, strength: float, random: Random, around: Beside) -> Outcome:
    r = read(text)
    if isinstance(r, Refused):
        return r
    places = [(start, e) for e in entities(r) if e.kind and not e.modifier and (start := _phrase(r, e)) is not None]
    chosen = some(places, strength, random)
    edits = [
        Edit(r.words[start].start, r.words[e.end - 1].end, _capital(r, start, _GENERIC[e.kind])) for start, e in chosen
    ]
    return edited(text, edits, "no name that a phrase could stand for")


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
    if r.adjoins(start) and r.tag(start - 1) in ("DT", "PRP$"):
        start -= 1
    if start != entity.start and r.glued(start):
        return None
    before = r.tag(start - 1)
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
        if noun or before in ("CD", "NNS", "JJR", "JJS", "VBN", "VBG") and r.words[start - 1].head == entity.end - 1
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
    made = like_pairs(
        found,
        lambda e: longest[e.words].words,
        (lambda e: (e.kind or e.label, e.modifier), lambda e: e.kind or e.label),
        random,
    )
    edits: list[Edit] = []
    for pair in some(made, strength, random):
        whole = not any(e.modifier for e in pair)
        for here, there in (pair, pair[::-1]):
            start, other = (_article(r, e) if whole else e.start for e in (here, there))
            new = text[r.words[other].start : r.words[there.end - 1].end]
            if r.opens(other) and other < there.start:
                new = new[:1].lower() + new[1:]
            edits.append(Edit(r.words[start].start, r.words[here.end - 1].end, _capital(r, start, new)))
    return edited(text, edits, "fewer than two different names")


def _article(r: Reading, entity: Entity) -> int:
    """The number of a `the` right before an entity, which it takes along; else its own first."""
    return entity.start - 1 if r.low(entity.start - 1) == "the" and r.adjoins(entity.start) else entity.start


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
    version=2,
    models=reader,
)
SWITCHING = Noise(
    name="entity-switching",
    family="entities",
    label="Named entity switching",
    aspect="consistency",
    paper="He et al. 2023, Table 16",
    help="Random pairs of different names change places, of the same kind where there are any. Strength: the share of the pairs "
    "there can be",
    make=_switch,
    levels=LEVELS,
    switching=True,
    version=2,
    models=reader,
)
