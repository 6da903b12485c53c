"""Detect whether a text is English, refusing if in doubt: by letters, function words of eight languages, and the dictionary."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from core.english.dictionary import dictionary

SHORTEST = 4
"""Texts with fewer words are judged by their letters alone."""

_ENGLISH = frozenset(
    """the of and to is are was were that this these those with for from it he she they his her their its by has have
    had not but or which who what when will would can could should been be as at an if than then there we you your our
    my i them him into about after before over more most other some all no do does did on""".split()
)
_SHARED = frozenset("is was were as an am at on or over had her will do does did no we me".split())
"""English function words that are function words in another of the languages too."""
_UNSURE = frozenset("met den par per pour con dos ale w".split())
"""Function words of the other languages that are also English words or initials."""
_OTHER = frozenset(
    """der die das und ist nicht ein eine einen einem den dem des mit von zu auf für sich auch es wird sind wurde bei nach
    le la les et est une des du dans que qui pour pas sur avec au aux sont ce cette il elle ont
    el los las y en una del por con para se su al lo como más pero fue
    il di che è per un non sono della dei gli anche nel alla
    o os e do da em um uma não dos das com ao mais foi na
    de het een van niet dat zijn voor met ook aan werd
    och att som är på det av till inte jag ett har om
    w z na się nie jest że jak ale""".split()
)


def is_english(low: Sequence[str]) -> bool:
    """Return whether a text is English, given its lower-case tokens.

    At least 90 % of the letters must be ASCII. From `SHORTEST` words on, English function words must outnumber those of all
    other languages and make up at least 5 % of the words; ambiguous words count for the others only against ambiguous English
    ones. If no function word decides, all letters must be ASCII and half of the words English.
    """
    words = [w for w in low if w[0].isalpha()]
    letters = sum(c.isalpha() for w in words for c in w)
    if not letters or sum(c.isascii() and c.isalpha() for w in words for c in w) < 0.9 * letters:
        return False
    if len(words) < SHORTEST:
        return True
    english, shared = sum(w in _ENGLISH for w in words), sum(w in _SHARED for w in words)
    unsure, other = sum(w in _UNSURE for w in words), sum(w in _OTHER - _ENGLISH - _UNSURE for w in words)
    if max(english - unsure, english - shared) > other and english * 20 >= len(words):
        return True
    known = sum(w not in _SHARED | _UNSURE | {"in"} and is_english_word(w) for w in words)
    return not other and all(w.isascii() for w in words) and 2 * known >= len(words)


@lru_cache(maxsize=65536)
def is_english_word(low: str) -> bool:
    """Return whether a lower-case word is in lemminflect's dictionary or among the commonest function words."""
    return low in _ENGLISH or bool(dictionary().getAllLemmas(low))
