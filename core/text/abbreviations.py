"""Detect points that do not end a sentence: after titles and other abbreviations, initials, acronyms and ordinals of several languages.

The lists ignore case; the case of the word decides between them. If an abbreviation is also an ordinary word that can end a sentence in
some language, it counts as one only because of its capital, a following number or the word before it.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from core.text.words import is_unspaced

_LISTS: dict[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
ALWAYS, TITLES, ALSO_WORDS, BEFORE_SMALL, MAY_END, NAMES, BEFORE_NUMBERS, MONTHS, STARTERS = (
    frozenset(_LISTS[name].split()) for name in (
        "always", "titles", "also-words", "before-small", "may-end", "names", "before-numbers", "months", "starters",
    )
)  # fmt: skip
AFTER = {
    "al": frozenset({"et"}),
    "dra": frozenset({"a", "da", "la", "una"}),
    "hab": frozenset({"dr"}),
    "sig": frozenset({"al", "dal", "del", "il", "un"}),
}
"""Lower-case abbreviations only after these words."""

_WORD = re.compile(r"[^\W_][^\s(\[{„“”«»\"]*$")
_NEXT = re.compile(r"[\s\"'“”„«»‘’(\[¿¡]*([^\W_]+(?:['’-][^\W_]+)*)")
_ACRONYM = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]{1,2}")
_LETTER = re.compile(r"(?<!\w)[^\W\d_]\.\s?$")
_BEFORE = re.compile(r"([^\W\d_]+)\.?\s$")
_NUMERAL = re.compile(r"\d{1,3}|[ivxlc]{1,6}|[a-z]", re.IGNORECASE)


def ends_no_sentence(text: str, start: int, end: int, sentence: int, small: bool = False) -> bool:
    """Return whether the point in `text[start:end]` (with closing characters) belongs to an abbreviation, initial or ordinal.

    `sentence` is the start of the sentence; `small` means that the whole text has no capitals. Only a single point directly after a word
    and before a blank can be one.
    """
    if end - start != 1 or start == 0 or end >= len(text):
        return False
    before, after = _WORD.search(text[max(sentence, start - 24) : start]), _NEXT.match(text, end)
    if before is None or after is None or is_unspaced(before[0][-1]):
        return False
    word, following = before[0], after[1]
    if inside := [i for i, char in enumerate(word) if is_unspaced(char)]:
        word = word[inside[-1] + 1 :]
    at, initial = start - len(word), len(following) == 1 and text[after.end() : after.end() + 1] == "."
    begins_text = text[sentence:start].strip() == word and not text[:sentence].strip(" ")
    if _NUMERAL.fullmatch(word) and (begins_text or at == 0 or text[at - 1] in "\n\r\u2028\u2029"):
        return True
    if word.isdecimal():
        return len(word) <= 2 and following.casefold() in MONTHS
    begins = following[0].isupper() and following.casefold() in STARTERS and not initial
    continues = following[0].islower() and not small
    bare, whole = word.casefold(), len(word) == 1 or not word.isupper()
    if _is_title(word, begins, small) and (whole or text[sentence:start].isupper()):
        return True
    if (
        bare in AFTER
        and (left := _BEFORE.search(text, max(sentence, at - 24), at))
        and left[1].casefold() in AFTER[bare]
    ):
        return not begins
    number = following[0].isdecimal()
    if (bare in BEFORE_NUMBERS and number) or (bare in BEFORE_SMALL and (number or continues)):
        return True
    if bare in MAY_END and (bare not in NAMES or small or word[0].isupper()):
        return not begins
    if len(word) == 1:
        return not begins and _is_letter(text, start, initial or continues)
    return not begins and bool(_ACRONYM.fullmatch(word))


def _is_title(word: str, begins: bool, small: bool) -> bool:
    bare = word.casefold()
    if bare in ALSO_WORDS:
        return word.istitle() and not begins
    return bare in ALWAYS or (bare in TITLES and (small or word[0].isupper()))


def _is_letter(text: str, start: int, continues: bool) -> bool:
    """Return whether a letter is an initial (a capital), or a lower-case letter next to others (z. B., u. a.) or before a continuation."""
    word = text[start - 1]
    if word.isupper():
        before = text[max(0, start - 24) : start - 1].split()
        return not (word == "I" and before and before[-1].islower())
    return word.lower() != word.upper() and (continues or bool(_LETTER.search(text, max(0, start - 6), start - 1)))
