"""Is a text English? A simple check that prefers to refuse: letters, then the small words of eight languages."""

from __future__ import annotations

from collections.abc import Sequence

SHORTEST = 4
"""Shorter texts hold too few small words to tell by them: the letters alone decide."""

_ENGLISH = frozenset(
    """the of and to is are was were that this these those with for from it he she they his her their its by has have
    had not but or which who what when will would can could should been be as at an if than then there we you your our
    my i them him into about after before over more most other some all no do does did on""".split()
)
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
    """True where nine letters in ten are ASCII and, from `SHORTEST` words on, English has more of the small words than the
    other languages have together, and at least one in twenty words. `low`: the tokens in lower case."""
    words = [w for w in low if w[0].isalpha()]
    letters = sum(c.isalpha() for w in words for c in w)
    if not letters or sum(c.isascii() and c.isalpha() for w in words for c in w) < 0.9 * letters:
        return False
    if len(words) < SHORTEST:
        return True
    english = sum(w in _ENGLISH for w in words)
    other = sum(w in _OTHER and w not in _ENGLISH for w in words)
    return english > other and english * 20 >= len(words)
