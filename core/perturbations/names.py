"""Name errors (Chen and Eger 2023, §3; Ribeiro et al. 2020).

One name is replaced by another of its kind (man, woman, surname, country, city, organisation) at every mention.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from random import Random

from core.english import name_lists as known
from core.english.parsing import TaggedText, english
from core.perturbations.base import Perturbation
from core.text.edits import Edit, Outcome, Refused

_AMBIGUOUS = frozenset(
    "Virginia Austin Jordan Jean Jan Madison Christian Jersey Sofia Santiago Lima Niger Reading Florence".split()
)
_BEFORE_SURNAME = frozenset("W. F. J. H. D. K. B. M. C. de van von der al".split())
_CONJOINING = frozenset("& - – of".split())


@cache
def _kinds() -> dict[str, tuple[str, ...]]:
    """Return the list each name belongs to. Names in several lists are left out: only their context can tell the kind."""
    table: dict[str, tuple[str, ...]] = {}
    double: set[str] = set()
    for group in (known.MEN, known.WOMEN, known.COUNTRIES, known.CITIES, known.ORGANISATIONS):
        for name in dict.fromkeys(group):
            if name in table:
                double.add(name)
            table[name] = tuple(dict.fromkeys(group))
    return {name: kind for name, kind in table.items() if name not in double | _AMBIGUOUS}


@cache
def _first_names() -> frozenset[str]:
    return frozenset((*known.MEN, *known.WOMEN))


def _name(p: TaggedText, random: Random) -> Outcome | list[Edit]:
    found: dict[str, Sequence[str]] = {}
    for i in range(p.n):
        word = p.word(i)
        named = word[:1].isupper() and (not word.isupper() or word in known.ORGANISATIONS)
        if named and word not in found and (kind := _kind(p, i)):
            found[word] = kind
    if not found:
        return Refused("no name of a known kind, alone or after a first name or title")
    old = random.choice(sorted(found))
    taken = {t.text for t in p.tokens}
    new = random.choice([n for n in found[old] if n not in taken])
    return [e for i in range(p.n) if p.word(i) == old for e in (p.replace(i, new), *p.article(i, new))]


def _kind(p: TaggedText, i: int) -> Sequence[str]:
    """Return the list of replacements for the name at i; empty if it may be part of a longer name."""
    word, before, after = p.word(i), p.word(i - 1), p.word(i + 1)
    owning = after in ("'", "’") and word.endswith("s")
    if owning or after in _CONJOINING or before in ("&", "-", "–", "’", "'") or glued(p, i):
        return ()
    proper_before = before[:1].isupper() and i > 0 and not p.opens(i - 1) or before in _first_names()
    proper_after = after[:1].isupper() and after[:1].isalpha()
    if word in known.MEN or word in known.WOMEN:
        person = proper_after or p.low(i - 1) in known.TITLES or word in _kinds()
        if person and not (proper_before and p.low(i - 1) not in known.TITLES):
            return _kinds().get(word) or (known.MEN if word in known.MEN else known.WOMEN)
    surname = word.isalpha() and p.tag(i).startswith("NNP")
    if (before in _first_names() or before in _BEFORE_SURNAME and p.word(i - 2) in _first_names()) and not proper_after:
        return known.SURNAMES if surname else ()
    if p.low(i - 1) in known.TITLES and not proper_after and before[:1].isupper():
        return known.SURNAMES if surname and word not in _kinds() else ()
    if p.low(i - 2) in known.TITLES and proper_before and not proper_after and before.isalpha() and word.isalpha():
        return known.SURNAMES if word not in _kinds() else ()
    if proper_before or proper_after or (word in _first_names()):
        return ()
    return _kinds().get(word, ())


def glued(p: TaggedText, i: int) -> bool:
    """Return whether the token is part of a longer written unit: Berlin–Rome, @Berlin."""
    token = p.tokens[i]
    around = p.text[token.start - 1 : token.start] + p.text[token.end : token.end + 1]
    return any(c.isalnum() or c in "-–@#/" for c in around)


NAME = Perturbation(
    name="name",
    phenomenon="Name error",
    kind="adequacy",
    help="One name of a person, country, city or organisation becomes another of its kind at every mention",
    change=english(_name),
    version=2,
)
