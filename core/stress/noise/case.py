"""Sentences whose letter case tells nothing of names: system outputs in lower case but for the first word (*Mesut ozil plays for arsenal*)."""

from __future__ import annotations

from functools import lru_cache

from core.stress import lists
from core.stress.english import may
from core.stress.noise import name_words as given
from core.stress.noise.grammar import CLITICS, Reading
from core.stress.noise.removal import STOP_WORDS


def uncased(r: Reading, i: int) -> bool:
    """True where word i stands in a sentence in lower case in which names cannot be told from other words.

    Such a sentence has no capital but the first one, and a word that is in no dictionary. A known name in lower case, or a text
    without any capital inside its sentences, makes all sentences of the text such that have no capital inside them.
    """
    return r.places[i] in _uncased(r)


@lru_cache(maxsize=2048)
def _uncased(r: Reading) -> frozenset[tuple[int, int]]:
    """The sentences in lower case."""
    plain = [span for span in r.sentences if not any(_capital(r, i) for i in range(*span))]
    lower = [span for span in plain if any(strange(r, i) for i in range(*span))]
    known = any(_name(r, i) for span in plain for i in range(*span))
    return frozenset(plain if known or (lower and len(plain) == len(r.sentences)) else lower)


def _capital(r: Reading, i: int) -> bool:
    """True for a capitalised word that does not open its sentence or a quotation; *I* and a letter alone do not count."""
    return len(r.words[i].text) > 1 and r.words[i].text[0].isupper() and not r.opens(i)


def _name(r: Reading, i: int) -> bool:
    """True for a known name, a day or month, or *I*, in lower case and no other word."""
    word = r.words[i]
    if word.text == "i":
        return r.low(i + 1) not in (".", ")")
    return word.text == word.low and word.low in _NAMES and not may(word.low) and not r.glued(i)


def strange(r: Reading, i: int) -> bool:
    """True for a word in lower case that is in no dictionary."""
    word = r.words[i]
    known = word.low in STOP_WORDS | _COMMON or word.low in CLITICS or bool(may(word.low))
    return len(word.text) > 2 and word.text.isalpha() and word.text == word.low and not known and not r.glued(i)


_CALENDAR = given.TIMES - {"spring", "summer", "autumn", "winter", "christmas", "easter", "halloween", "am", "pm"}
_NAMES = (
    frozenset(name.lower() for name in given.KNOWN | given.FIRST_NAMES if len(name) > 3) | _CALENDAR | given.PEOPLES
) - {"saints"}
_COMMON = frozenset(lists.TIMES) | frozenset(
    """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen
    twenty thirty forty fifty sixty seventy eighty ninety sixth eighth cannot website websites app apps online etc mph euro euros
    northern southern eastern western midfielder winger playmaker flanker billionaire selfie selfies iphone smartphone smartphones
    gameplay soundtrack transgender iconic underway cafe ivf bundesliga detector winless signage sitcom manhunt shisha taser
    midweek""".split()
)  # fmt: skip
"""Words of plain English that the dictionary of inflection lacks."""
