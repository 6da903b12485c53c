"""Named entities that become generic, and named entities that change places."""

from __future__ import annotations

from random import Random

from core.stress import lists
from core.stress.base import Edit, Outcome, Refused
from core.stress.english import Parsed, parse, tagger
from core.stress.noise.base import Beside, Noise, edited, some
from core.stress.noise.named import Entity, beside, direction, entities, head, longer, opens, tag
from core.stress.noise.pairs import like_pairs
from core.stress.noise.sentences import LEVELS

_GENERIC = {"person": "a person", "place": "a place", "organisation": "an organisation", "": "something"}
_TIMES = frozenset(lists.TIMES) | frozenset(lists.SEASONS) | {"morning", "season", "today", "yesterday", "tomorrow"}


def _generic(text: str, strength: float, random: Random, around: Beside) -> Outcome:
    p = parse(text)
    if isinstance(p, Refused):
        return p
    places = [(start, e) for e in entities(p) if not e.modifier and (start := _phrase(p, e)) is not None]
    chosen = some(places, strength, random)
    edits = [
        Edit(p.tokens[start].start, p.tokens[e.end - 1].end, _capital(p, start, _GENERIC[e.kind]))
        for start, e in chosen
    ]
    return edited(text, edits, "no name that a phrase could stand for")


def _phrase(p: Parsed, entity: Entity) -> int | None:
    """The first token of the noun phrase an entity ends: with its determiner, its adjectives, and the noun that tells its kind
    (the Chelsea striker Smith); None where something stands before it that `a person` cannot follow."""
    start = entity.start
    if entity.kind and _adjoins(p, start) and head(p, start - 1) == entity.kind:
        start -= 1
        while _adjoins(p, start) and tag(p, start - 1) in ("NN", "JJ", "NNP", "NNPS"):
            start -= 1
    while _adjoins(p, start) and (p.tag(start - 1) == "JJ" or direction(p, start - 1)):
        start -= 1
    if _adjoins(p, start) and tag(p, start - 1) in ("DT", "PRP$"):
        start -= 1
    before = tag(p, start - 1)
    if before == "POS" and p.low(start - 1) != "'":
        return None
    if not _adjoins(p, start):
        return start
    noun = before == "NN" and p.low(start - 1) not in _TIMES
    return None if noun or before in ("CD", "NNS", "JJR", "JJS") else start


def _adjoins(p: Parsed, start: int) -> bool:
    return beside(p, start - 1, start) and p.low(start - 1)[0].isalnum()


def _capital(p: Parsed, i: int, new: str) -> str:
    """With the capital that opens a sentence, where token i does."""
    return new[:1].upper() + new[1:] if opens(p, i) and p.word(i)[:1].isupper() else new


def _switch(text: str, strength: float, random: Random, around: Beside) -> Outcome:
    p = parse(text)
    if isinstance(p, Refused):
        return p
    found = entities(p)
    longest = longer(found)
    made = like_pairs(
        found, lambda e: longest[e.words].words, (lambda e: (e.kind, e.modifier), lambda e: e.kind), random
    )
    edits: list[Edit] = []
    for pair in some(made, strength, random):
        whole = not any(e.modifier for e in pair)
        for here, there in (pair, pair[::-1]):
            start, other = (_article(p, e) if whole else e.start for e in (here, there))
            new = text[p.tokens[other].start : p.tokens[there.end - 1].end]
            if opens(p, other) and other < there.start:
                new = new[:1].lower() + new[1:]
            edits.append(Edit(p.tokens[start].start, p.tokens[here.end - 1].end, _capital(p, start, new)))
    return edited(text, edits, "fewer than two different names")


def _article(p: Parsed, entity: Entity) -> int:
    """The token of a `the` right before an entity, which it takes along; else its own first."""
    return entity.start - 1 if p.low(entity.start - 1) == "the" and _adjoins(p, entity.start) else entity.start


GENERIC = Noise(
    name="generic-entity",
    family="entities",
    label="Generic named entity",
    aspect="consistency",
    paper="He et al. 2023, Table 16",
    help="Random names become “a person”, “a place”, “an organisation”, or “something” where the kind is unknown; articles and "
    "titles go with them. Strength: the share of the names",
    make=_generic,
    levels=LEVELS,
    models=tagger,
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
    models=tagger,
)
