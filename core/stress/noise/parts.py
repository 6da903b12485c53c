"""Full verbs that change places, and common nouns that do; each keeps its spelling."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random

from core.stress.base import Edit, Outcome, Refused
from core.stress.english import lemmas
from core.stress.noise.base import SHARES, Beside, Noise, edited, some
from core.stress.noise.grammar import Reading, read, reader
from core.stress.noise.pairs import like_pairs
from core.stress.noise.words import is_full_verb, is_noun

_COARSE = {"VBN": "VBD", "VBP": "VB"}


def _word(r: Reading, i: int, names: frozenset[str]) -> bool:
    """True for a word by itself in small letters, or with the capital that opens a sentence and is not a name's."""
    word = r.words[i].text
    small = word.islower() or (r.opens(i) and word[1:].islower() and word not in names)
    return len(word) > 1 and word.isalpha() and small and not r.glued(i)


def _names(r: Reading) -> frozenset[str]:
    return frozenset(word.text for i, word in enumerate(r.words) if not r.opens(i))


def _switch(
    fits: Callable[[Reading, int], bool],
    part: str,
    lacking: str,
    text: str,
    strength: float,
    random: Random,
    beside: Beside,
) -> Outcome:
    r = read(text)
    if isinstance(r, Refused):
        return r
    names = _names(r)
    places = [i for i in range(len(r.words)) if _word(r, i, names) and fits(r, i)]
    found = like_pairs(
        places,
        lambda i: (lemmas(r.low(i), part) or (r.low(i),))[0],
        (r.tag, lambda i: _COARSE.get(r.tag(i), r.tag(i))),
        random,
    )
    chosen = some(found, strength, random)
    return edited(text, [_put(r, i, r.low(j)) for pair in chosen for i, j in (pair, pair[::-1])], lacking)


def _put(r: Reading, i: int, low: str) -> Edit:
    word = r.words[i]
    return Edit(word.start, word.end, low.capitalize() if word.text[0].isupper() else low)


VERBS = Noise(
    name="verb-switching",
    family="parts",
    label="Verb switching",
    aspect="consistency",
    paper="He et al. 2023, Table 16",
    help="Random pairs of different full verbs change places, of the same form where there are any; auxiliaries stay. Strength: the "
    "share of the pairs there can be",
    make=partial(_switch, is_full_verb, "VERB", "fewer than two different full verbs"),
    levels=SHARES,
    switching=True,
    version=2,
    models=reader,
)
NOUNS = Noise(
    name="noun-switching",
    family="parts",
    label="Noun switching",
    aspect="consistency",
    paper="He et al. 2023, Table 16",
    help="Random pairs of different common nouns change places, of the same number where there are any. Strength: the share of the "
    "pairs there can be",
    make=partial(_switch, is_noun, "NOUN", "fewer than two different common nouns"),
    levels=SHARES,
    switching=True,
    version=2,
    models=reader,
)
