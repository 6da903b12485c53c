"""Full verbs that change places, and common nouns that do; each keeps its spelling."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random

from core.stress.base import Edit, Outcome, Refused
from core.stress.english import Parsed, forms, lemmas, may, parse, tagger
from core.stress.names import glued
from core.stress.noise.base import SHARES, Beside, Noise, edited, some
from core.stress.noise.named import opens, tag
from core.stress.noise.pairs import like_pairs
from core.stress.phrases import BE, DO, HAVE, MODALS
from core.stress.verbs import certain_form

_AUXILIARY = BE | HAVE | DO | MODALS | frozenset("going gonna gotta let need dare ought according".split())
_PRONOUNS = frozenset(
    """something anything everything nothing someone anyone everyone somebody anybody everybody nobody none one ones
    who whom percent cent lot lots""".split()
)
"""Pronouns the tagger takes for nouns, and nouns that are nothing without what stands beside them."""
_COARSE = {"VBN": "VBD", "VBP": "VB"}
_LEFT_OF_NOUN = ("DT", "JJ", "PRP$", "POS", "CD")


def _verb(p: Parsed, i: int) -> bool:
    form, low = p.tag(i), p.low(i)
    if low in _AUXILIARY or not form.startswith("VB") or not forms(low, "VERB", (form,)):
        return False
    if form in ("VBD", "VBN", "VBG"):
        noun_follows = p.tag(i + 1)[:2] in ("NN", "JJ")
        return not (noun_follows and (p.tag(i - 1) in _LEFT_OF_NOUN or p.low(i - 1) == "as"))
    return may(low) == {"VERB"} or bool(certain_form(p, i))


def _noun(p: Parsed, i: int) -> bool:
    low = p.low(i)
    return tag(p, i) in ("NN", "NNS") and "NOUN" in may(low) and low not in _PRONOUNS


def _word(p: Parsed, i: int, names: frozenset[str]) -> bool:
    """True for a word by itself in small letters, or with the capital that opens a sentence and is not a name's."""
    word = p.word(i)
    small = word.islower() or (opens(p, i) and word[1:].islower() and word not in names)
    return len(word) > 1 and word.isalpha() and small and not glued(p, i)


def _names(p: Parsed) -> frozenset[str]:
    return frozenset(p.word(i) for i in range(p.n) if not opens(p, i))


def _switch(
    fits: Callable[[Parsed, int], bool],
    part: str,
    lacking: str,
    text: str,
    strength: float,
    random: Random,
    beside: Beside,
) -> Outcome:
    p = parse(text)
    if isinstance(p, Refused):
        return p
    names = _names(p)
    places = [i for i in range(p.n) if _word(p, i, names) and fits(p, i)]
    found = like_pairs(
        places,
        lambda i: (lemmas(p.low(i), part) or (p.low(i),))[0],
        (partial(tag, p), lambda i: _COARSE.get(p.tag(i), p.tag(i))),
        random,
    )
    chosen = some(found, strength, random)
    return edited(text, [_put(p, i, p.low(j)) for pair in chosen for i, j in (pair, pair[::-1])], lacking)


def _put(p: Parsed, i: int, low: str) -> Edit:
    token = p.tokens[i]
    return Edit(token.start, token.end, low.capitalize() if token.text[0].isupper() else low)


VERBS = Noise(
    name="verb-switching",
    family="parts",
    label="Verb switching",
    aspect="consistency",
    paper="He et al. 2023, Table 16",
    help="Random pairs of different full verbs change places, of the same form where there are any; auxiliaries stay. Strength: the "
    "share of the pairs there can be",
    make=partial(_switch, _verb, "VERB", "fewer than two different full verbs"),
    levels=SHARES,
    switching=True,
    models=tagger,
)
NOUNS = Noise(
    name="noun-switching",
    family="parts",
    label="Noun switching",
    aspect="consistency",
    paper="He et al. 2023, Table 16",
    help="Random pairs of different common nouns change places, of the same number where there are any. Strength: the share of the "
    "pairs there can be",
    make=partial(_switch, _noun, "NOUN", "fewer than two different common nouns"),
    levels=SHARES,
    switching=True,
    models=tagger,
)
