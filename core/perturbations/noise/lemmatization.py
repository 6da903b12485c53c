"""Verbs in their dictionary form: "went" becomes "go". English."""

from __future__ import annotations

from random import Random

from core.english.grammar import ParsedText, parser_name
from core.english.phrases import NOT
from core.english.sure_words import base_form, is_verb
from core.perturbations.noise.base import SHARES, Noise, english, sample_share
from core.text.edits import Edit

_INFLECTED = ("VBD", "VBZ", "VBN", "VBG", "VBP")


def _lemmatize(r: ParsedText, strength: float, random: Random) -> list[Edit]:
    return sample_share([edit for i in range(len(r.words)) if (edit := _lemma(r, i))], strength, random)


def _lemma(r: ParsedText, i: int) -> Edit | None:
    """Return the edit for word i. Auxiliaries count as verbs, modals do not. A form of `be` stays before n't."""
    word = r.words[i]
    if word.tag not in _INFLECTED or not is_verb(r, i):
        return None
    if word.text != word.low and not word.text.isupper() and not r.opens(i):
        return None
    new = base_form(word.low, word.tag)
    if new in ("", word.low) or (new == "be" and r.low(i + 1) in NOT and r.words[i + 1].start == word.end):
        return None
    return r.replace(i, new)


VERBS = Noise(
    name="verb-lemmatization",
    label="Verb lemmatization",
    aspect="fluency",
    help="Replaces a share of the inflected verbs, including auxiliaries, with their dictionary form. English only",
    make=english(_lemmatize, "no inflected verb in the text"),
    levels=SHARES,
    version=3,
    models=parser_name,
)
