"""Dropped and repeated words, replaced punctuation, and truncation. Any script."""

from __future__ import annotations

import re
from bisect import bisect_left
from random import Random

from core.perturbations.noise.base import SHARES, TENTHS, Noise, NoiseContext, edited, sample_share
from core.perturbations.noise.removal import without
from core.perturbations.noise.sentences import sure_words, wholes
from core.text.edits import Edit, Outcome, Refused
from core.text.sentences import CLOSING, EITHER, FINAL, OPEN_ENDED
from core.text.words import is_unspaced, units

_WESTERN, _ARABIC, _INDIC, _WIDE = ",.?!:", "،.؟!:", ",।?!:", "，。？！："
"""Comma, full stop, question mark, exclamation mark and colon of each script."""
_PLACE = {sign: i for signs in (_WESTERN, _ARABIC, _INDIC, _WIDE, "、") for i, sign in enumerate(signs)}
_COMMA, _STOP = 0, 1
_SCRIPTS = (
    (_ARABIC, ((0x0600, 0x06FF), (0x0750, 0x077F), (0x08A0, 0x08FF), (0xFB50, 0xFDFF), (0xFE70, 0xFEFF))),
    (_INDIC, ((0x0900, 0x09FF),)),
)


def _noise(text: str, strength: float, random: Random, context: NoiseContext) -> Outcome:
    """Swap commas and full stops; replace each other sign with any other.

    Signs inside numbers, ellipses and times (3.5, ..., 12:30) do not count. The script is that of the letters before the sign.
    """
    edits, letter = [], ""
    for start, end, is_word in units(text):
        if is_word:
            letter = text[start]
        elif end == start + 1 and text[start] in _PLACE and not _inside(text, start):
            edits.append(Edit(start, end, _other(text[start], _signs(text[start], letter), random)))
    return edited(text, sample_share(edits, strength, random), "no , . ? ! or : in the text")


def _other(sign: str, signs: str, random: Random) -> str:
    place = _PLACE[sign]
    if place in (_COMMA, _STOP):
        return signs[_STOP if place == _COMMA else _COMMA]
    return random.choice([s for i, s in enumerate(signs) if i != place])


def _signs(sign: str, letter: str) -> str:
    if sign in _WIDE or sign == "、":
        return _WIDE
    code = ord(letter) if letter else 0
    return next((signs for signs, ranges in _SCRIPTS if any(a <= code <= b for a, b in ranges)), _WESTERN)


def _inside(text: str, i: int) -> bool:
    before, after = text[i - 1 : i], text[i + 1 : i + 2]
    if text[i] in (before, after):
        return True
    return before.isalnum() and after.isalnum() and not is_unspaced(after) and text[i] not in _WIDE + "、"


PUNCTUATION = Noise(
    name="noised-punctuation",
    label="Changed punctuation",
    aspect="fluency",
    help="Replaces a share of the signs , . ? ! : with another: commas and full stops with each other, the rest with any",
    make=_noise,
    levels=SHARES,
)


def _drop(text: str, strength: float, random: Random, context: NoiseContext) -> Outcome:
    """Drop words, but always keep one."""
    word_spans = sure_words(text)
    if len(word_spans) < 2:
        return Refused("only one word; nothing would be left" if word_spans else "no word in the text")
    return edited(text, without(text, sample_share(word_spans, min(strength, 1 - 1 / len(word_spans)), random)), "")


def _repeat(text: str, strength: float, random: Random, context: NoiseContext) -> Outcome:
    edits = []
    for start, end in sample_share(sure_words(text), strength, random):
        space = "" if is_unspaced(text[start]) else " "
        edits.append(Edit(end, end, space + text[start:end]))
    return edited(text, edits, "no word in the text")


DROP = Noise(
    name="token-drop",
    label="Token drop",
    aspect="fluency",
    help="Deletes a share of the words at random positions",
    make=_drop,
    levels=TENTHS,
    version=2,
)

REPEAT = Noise(
    name="repeated-token",
    label="Repeated token",
    aspect="fluency",
    help="Repeats a share of the words right after themselves",
    make=_repeat,
    levels=TENTHS,
    version=2,
)


_ENDING = re.compile(f"[{OPEN_ENDED}{FINAL}{CLOSING}{EITHER}]")


def _truncate(text: str, strength: float, random: Random, context: NoiseContext) -> Outcome:
    """Delete tokens (words and punctuation) at the end. The first word and the final punctuation stay, as in Table 16;
    punctuation that would end up before the final punctuation is deleted."""
    text_units = list(wholes(text))
    while text_units and not text_units[-1].is_word and _ENDING.match(text, text_units[-1].start):
        text_units.pop()
    words = [i for i, u in enumerate(text_units) if u.is_word]
    if len(words) < 2:
        return Refused("only one word; nothing would be left" if words else "no word in the text")
    kept = len(text_units) - max(1, round(strength * len(text_units)))
    last = words[max(0, bisect_left(words, kept) - 1)]
    return edited(text, [Edit(text_units[last].end, text_units[-1].end, "")], "")


TRUNCATION = Noise(
    name="truncation",
    label="Truncation",
    aspect="fluency",
    help="Deletes a share of the tokens at the end; final punctuation stays. Removes content as well as fluency",
    make=_truncate,
    levels=TENTHS,
    seeded=False,
    version=2,
)
