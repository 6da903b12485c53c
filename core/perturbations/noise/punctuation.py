"""Punctuation replaced with other signs of the same script."""

from __future__ import annotations

from random import Random

from core.perturbations.noise.base import SHARES, Noise, NoiseContext, edited, sample_share
from core.text.edits import Edit, Outcome
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
