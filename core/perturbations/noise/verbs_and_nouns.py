"""Verbs in their dictionary form ("went" becomes "go"); verbs of the same form, or common nouns, swapped, each with its spelling. English."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from random import Random

from core.english.analysis import ParsedText, parser_name
from core.english.certain_words import is_full_verb, is_noun, is_verb
from core.english.dictionary import NOT, base_form, forms, lemmas
from core.perturbations.noise.base import SHARES, Noise, english, like_pairs, sample_share
from core.text.edits import Edit

_INFLECTED = ("VBD", "VBZ", "VBN", "VBG", "VBP")


def _lemmatize(r: ParsedText, strength: float, random: Random) -> list[Edit]:
    return sample_share([edit for i in range(len(r.words)) if (edit := _lemma(r, i))], strength, random)


def _lemma(r: ParsedText, i: int) -> Edit | None:
    """Return the edit for word i. Auxiliaries count as verbs, modals do not. A form of `be` stays before n't."""
    word = r.words[i]
    if word.tag not in _INFLECTED or not is_verb(r, i):
        return None
    if word.text != word.low and not word.text.isupper() and not r.starts_sentence(i):
        return None
    new = base_form(word.low, word.tag)
    if new in ("", word.low) or (new == "be" and r.low(i + 1) in NOT and r.words[i + 1].start == word.end):
        return None
    return r.replace(i, new)


LEMMAS = Noise(
    name="verb-lemmatization",
    label="Verb lemmatization",
    aspect="fluency",
    help="Replaces a share of the inflected verbs, including auxiliaries, with their dictionary form. English only",
    make=english(_lemmatize, "no inflected verb in the text"),
    levels=SHARES,
    version=4,
    models=parser_name,
)


def _word(r: ParsedText, i: int, names: frozenset[str]) -> bool:
    """Return whether word i stands alone in lower case, or with a capital that only starts its sentence."""
    word = r.words[i].text
    small = word.islower() or (r.starts_sentence(i) and word[1:].islower() and word not in names)
    return len(word) > 1 and word.isalpha() and small and not r.glued(i)


def _names(r: ParsedText) -> frozenset[str]:
    return frozenset(word.text for i, word in enumerate(r.words) if not r.starts_sentence(i))


def _verb_form(r: ParsedText, i: int) -> str:
    """Return the form of a verb: VB also for VBP, ED if past tense and participle are spelled alike (*scored*), "" if it is not
    certain (*beat* may be any of these)."""
    tag, readings = r.tag(i), {tag for _, tag in forms(r.low(i), ("VB", "VBD", "VBN"))}
    infinitive = r.low(i - 1) == "to" and r.low(i - 2) not in ("thanks", "due", "according", "owing")
    if r.low(i - 1) == "to" and not infinitive:
        return ""
    if "VB" in readings and len(readings) > 1:
        return "VB" if r.tag(i - 1) == "MD" or infinitive else ""
    if tag in ("VBD", "VBN"):
        return "ED" if {"VBD", "VBN"} <= readings else tag
    return "VB" if tag == "VBP" else tag


def _tense(r: ParsedText, i: int) -> Hashable:
    """Return past tense or participle if tag and context are certain, else a key that matches no other verb."""
    tag, helped = r.tag(i), bool(r.children(i, "aux", "auxpass"))
    past = tag == "VBD" and not helped and (r.children(i, "nsubj") or r.words[i].role == "conj")
    sure = past or (tag == "VBN" and helped)
    return tag if sure and r.sure(i) else i


def _switch(
    fits: Callable[[ParsedText, int], bool], part: str, r: ParsedText, strength: float, random: Random
) -> list[Edit]:
    names, verbs = _names(r), part == "VERB"
    places = [
        i for i in range(len(r.words)) if _word(r, i, names) and fits(r, i) and not (verbs and not _verb_form(r, i))
    ]
    likes = (partial(_verb_form, r), partial(_tense, r)) if verbs else (r.tag,)
    word_pairs = like_pairs(places, lambda i: _meaning(r.low(i), part), likes, random, only=verbs)
    chosen = sample_share(word_pairs, strength, random)
    return [_put(r, i, r.low(j)) for pair in chosen for i, j in (pair, pair[::-1])]


def _meaning(low: str, part: str) -> str:
    """Return the dictionary form of a word, or a shared form for words that may mean the same."""
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
"""Nouns that may mean the same, mapped to the first of their group."""


def _put(r: ParsedText, i: int, low: str) -> Edit:
    word = r.words[i]
    return Edit(word.start, word.end, low.capitalize() if word.text[0].isupper() else low)


VERBS = Noise(
    name="verb-switching",
    label="Verb switching",
    aspect="consistency",
    help="Swaps random pairs of different full verbs of the same form; auxiliaries stay. Strength: the share of all possible pairs",
    make=english(partial(_switch, is_full_verb, "VERB"), "fewer than two different full verbs of one form"),
    levels=SHARES,
    switching=True,
    version=4,
    models=parser_name,
)
NOUNS = Noise(
    name="noun-switching",
    label="Noun switching",
    aspect="consistency",
    help="Swaps random pairs of different common nouns, of the same number if possible. Strength: the share of all possible pairs",
    make=english(partial(_switch, is_noun, "NOUN"), "fewer than two different common nouns"),
    levels=SHARES,
    switching=True,
    version=4,
    models=parser_name,
)
