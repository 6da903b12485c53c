"""Verbs in their dictionary form: "went" becomes "go". English."""

from __future__ import annotations

from random import Random

from core.stress.base import Edit, Outcome, Refused
from core.stress.noise.base import SHARES, Beside, Noise, edited, some
from core.stress.noise.grammar import Reading, read, reader
from core.stress.noise.words import base_form, is_verb
from core.stress.phrases import NOT

_INFLECTED = ("VBD", "VBZ", "VBN", "VBG", "VBP")


def _lemmatize(text: str, strength: float, random: Random, beside: Beside) -> Outcome:
    reading = read(text)
    if isinstance(reading, Refused):
        return reading
    edits = [edit for i in range(len(reading.words)) if (edit := _lemma(reading, i))]
    return edited(text, some(edits, strength, random), "no verb in another form than its dictionary's")


def _lemma(r: Reading, i: int) -> Edit | None:
    """Auxiliaries count as verbs, modals do not. A form of `be` stays before n't, where "be" could not stand."""
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
    family="lemmatization",
    label="Verb lemmatization",
    aspect="fluency",
    paper="He et al. 2023, Table 16",
    help="A share of the inflected verbs, auxiliaries among them, falls back to its dictionary form. English",
    make=_lemmatize,
    levels=SHARES,
    version=3,
    models=reader,
)
