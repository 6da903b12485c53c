"""Verbs in their dictionary form: "went" becomes "go". English."""

from __future__ import annotations

from random import Random

from core.stress.base import Edit, Outcome, Refused
from core.stress.english import Parsed, lemmas, parse, tagger
from core.stress.noise.base import SHARES, Beside, Noise, edited, some
from core.stress.phrases import NOT

_INFLECTED = ("VBD", "VBZ", "VBN", "VBG")


def _lemmatize(text: str, strength: float, random: Random, beside: Beside) -> Outcome:
    parsed = parse(text)
    if isinstance(parsed, Refused):
        return parsed
    edits = [edit for i in range(parsed.n) if (edit := _lemma(parsed, i))]
    return edited(text, some(edits, strength, random), "no verb in another form than its dictionary's")


def _lemma(p: Parsed, i: int) -> Edit | None:
    """Auxiliaries count as verbs, modals do not. A form of `be` stays before n't, where "be" could not stand."""
    low, word = p.low(i), p.word(i)
    if not (p.tag(i) in _INFLECTED or low in ("are", "am")) or not low.isalpha():
        return None
    if word != low and not word.isupper() and not p.opens(i):
        return None
    new = next((lemma for lemma in lemmas(low, "VERB") if lemma != low), "")
    if not new or (new == "be" and p.low(i + 1) in NOT and p.tokens[i + 1].start == p.tokens[i].end):
        return None
    return p.replace(i, new)


VERBS = Noise(
    name="verb-lemmatization",
    family="lemmatization",
    label="Verb lemmatization",
    aspect="fluency",
    paper="He et al. 2023, Table 16",
    help="A share of the inflected verbs, auxiliaries among them, falls back to its dictionary form. English",
    make=_lemmatize,
    levels=SHARES,
    models=tagger,
)
