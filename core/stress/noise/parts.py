"""Full verbs of one form that change places, and common nouns that do; each keeps its spelling."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from random import Random

from core.stress.base import Edit, Outcome, Refused
from core.stress.english import forms, lemmas
from core.stress.noise.base import SHARES, Beside, Noise, edited, some
from core.stress.noise.grammar import Reading, read, reader
from core.stress.noise.pairs import like_pairs
from core.stress.noise.words import is_full_verb, is_noun


def _word(r: Reading, i: int, names: frozenset[str]) -> bool:
    """True for a word by itself in small letters, or with the capital that opens a sentence and is not a name's."""
    word = r.words[i].text
    small = word.islower() or (r.opens(i) and word[1:].islower() and word not in names)
    return len(word) > 1 and word.isalpha() and small and not r.glued(i)


def _names(r: Reading) -> frozenset[str]:
    return frozenset(word.text for i, word in enumerate(r.words) if not r.opens(i))


def _verb_form(r: Reading, i: int) -> str:
    """The form of a verb: VB for VBP too, ED where past tense and participle are spelled alike (*scored*), "" where it is not certain
    (*beat* may be any of these)."""
    tag, there = r.tag(i), {tag for _, tag in forms(r.low(i), "VERB", ("VB", "VBD", "VBN"))}
    infinitive = r.low(i - 1) == "to" and r.low(i - 2) not in ("thanks", "due", "according", "owing")
    if r.low(i - 1) == "to" and not infinitive:
        return ""
    if "VB" in there and len(there) > 1:
        return "VB" if r.tag(i - 1) == "MD" or infinitive else ""
    if tag in ("VBD", "VBN"):
        return "ED" if {"VBD", "VBN"} <= there else tag
    return "VB" if tag == "VBP" else tag


def _tense(r: Reading, i: int) -> Hashable:
    """Past tense or participle where both taggers and the words around agree on it; what no other verb has where they do not."""
    tag, helped = r.tag(i), bool(r.children(i, "aux", "auxpass"))
    past = tag == "VBD" and not helped and (r.children(i, "nsubj") or r.words[i].role == "conj")
    sure = past or (tag == "VBN" and helped)
    return tag if sure and r.words[i].second == tag else i


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
    names, verbs = _names(r), part == "VERB"
    places = [
        i for i in range(len(r.words)) if _word(r, i, names) and fits(r, i) and not (verbs and not _verb_form(r, i))
    ]
    found = like_pairs(
        places,
        lambda i: _meaning(r.low(i), part),
        (lambda i: _verb_form(r, i), lambda i: _tense(r, i)) if verbs else (r.tag,),
        random,
        only=verbs,
    )
    chosen = some(found, strength, random)
    return edited(text, [_put(r, i, r.low(j)) for pair in chosen for i, j in (pair, pair[::-1])], lacking)


def _meaning(low: str, part: str) -> str:
    """The dictionary form of a word, or one for all that may mean the same."""
    lemma = (lemmas(low, part) or (low,))[0]
    return _SAME.get(lemma, lemma)


_SAME = {
    word: group.split()[0]
    for group in """game match|expert pundit specialist|kid child|mother mum mom|father dad|manager boss coach|car vehicle|film movie
|photo picture image photograph|ship boat vessel|man guy|team side club squad|contract deal|jail prison|crash accident collision
|plane aircraft jet airplane|win victory|defeat loss|footage video clip|job role post|fan supporter|killing murder|attack assault
|passenger guest|cop policeman|battle war|house home property|scheme plan|study research inquiry investigation probe|delivery service
|sum amount|money cash|illness disease|area region|rival opponent|employee worker|competition tournament contest|person people|administration government
|injury wound|company firm|talk negotiation discussion|shot strike effort|physician doctor|show programme program series""".split(
        "|"
    )
    for word in group.split()
}
"""Nouns that may mean the same, by the first of their group."""


def _put(r: Reading, i: int, low: str) -> Edit:
    word = r.words[i]
    return Edit(word.start, word.end, low.capitalize() if word.text[0].isupper() else low)


VERBS = Noise(
    name="verb-switching",
    family="parts",
    label="Verb switching",
    aspect="consistency",
    paper="He et al. 2023, Table 16",
    help="Random pairs of different full verbs of one form change places; auxiliaries stay. Strength: the share of the pairs there can be",
    make=partial(_switch, is_full_verb, "VERB", "fewer than two different full verbs of one form"),
    levels=SHARES,
    switching=True,
    version=3,
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
    version=3,
    models=reader,
)
