"""Sentences whose letter case does not mark names: system outputs in lower case except for the first word (*Mesut ozil plays
for arsenal*)."""

from __future__ import annotations

from functools import lru_cache

from core.english import entity_cues as cues
from core.english import word_groups
from core.english.analysis import CLITICS, ParsedText
from core.english.dictionary import pos_tags
from core.english.small_words import STOP_WORDS


def uncased(r: ParsedText, i: int) -> bool:
    """Return whether word i is in a lower-case sentence, in which names cannot be told from other words.

    Such a sentence has no capital except the first and contains a word that is in no dictionary. If the text contains a known
    name in lower case, or no capital inside any sentence, all its sentences without inner capitals count.
    """
    return r.places[i] in _uncased(r)


@lru_cache(maxsize=2048)
def _uncased(r: ParsedText) -> frozenset[tuple[int, int]]:
    """Return the lower-case sentences."""
    plain = [span for span in r.sentences if not any(_capital(r, i) for i in range(*span))]
    lower = [span for span in plain if any(strange(r, i) for i in range(*span))]
    known = any(_name(r, i) for span in plain for i in range(*span))
    return frozenset(plain if known or (lower and len(plain) == len(r.sentences)) else lower)


def _capital(r: ParsedText, i: int) -> bool:
    """Return whether word i is capitalised without starting its sentence or a quotation; single letters do not count."""
    return len(r.words[i].text) > 1 and r.words[i].text[0].isupper() and not r.opens(i)


def _name(r: ParsedText, i: int) -> bool:
    """Return whether word i is a known name, day, month or *I* in lower case, and not a common word."""
    word = r.words[i]
    if word.text == "i":
        return r.low(i + 1) not in (".", ")")
    return word.text == word.low and word.low in _NAMES and not pos_tags(word.low) and not r.glued(i)


def strange(r: ParsedText, i: int) -> bool:
    """Return whether word i is in lower case and in no dictionary."""
    word = r.words[i]
    known = word.low in STOP_WORDS | _COMMON or word.low in CLITICS or bool(pos_tags(word.low))
    return len(word.text) > 2 and word.text.isalpha() and word.text == word.low and not known and not r.glued(i)


_CALENDAR = cues.TIMES - {"spring", "summer", "autumn", "winter", "christmas", "easter", "halloween", "am", "pm"}
_NAMES = (
    frozenset(name.lower() for name in cues.KNOWN | cues.FIRST_NAMES if len(name) > 3) | _CALENDAR | cues.PEOPLES
) - {"saints"}
_COMMON = frozenset(word_groups.TIMES) | frozenset(
    """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen
    twenty thirty forty fifty sixty seventy eighty ninety sixth eighth cannot website websites app apps online etc mph euro euros
    northern southern eastern western midfielder winger playmaker flanker billionaire selfie selfies iphone smartphone smartphones
    gameplay soundtrack transgender iconic underway cafe ivf bundesliga detector winless signage sitcom manhunt shisha taser
    midweek""".split()
)  # fmt: skip
"""Common English words missing from the inflection dictionary."""
