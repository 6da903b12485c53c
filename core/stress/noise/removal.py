"""Small words gone: articles, prepositions, stop-words. English.

Nothing else changes: where the first word of a sentence goes, the next one keeps its small letter.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from random import Random

from core.stress.base import Edit, Outcome, Refused
from core.stress.noise.base import SHARES, Beside, Noise, edited, some
from core.stress.noise.grammar import Reading, read, reader

Span = tuple[int, int]

ARTICLE_WORDS = frozenset({"the", "a", "an"})
PREPOSITION_WORDS = frozenset(
    """about above across after against along alongside amid amidst among amongst around as at atop before behind below
    beneath beside besides between beyond by concerning despite down during except for from in inside into like near of off
    on onto opposite out outside over past per regarding round since through throughout till to toward towards under
    underneath unlike until up upon versus via with within without""".split()
)
STOP_WORDS = (
    ARTICLE_WORDS
    | PREPOSITION_WORDS
    | frozenset(
        """all another any both each either enough every few less many more most much neither no other own same several some
    such that these this those what whatever which whichever whose
    he her hers herself him himself his i it its itself me mine my myself one oneself our ours ourselves she their theirs
    them themselves they us we who whoever whom you your yours yourself yourselves
    anybody anyone anything everybody everyone everything nobody none nothing somebody someone something
    although and because but if lest nor once or so than though unless when whenever where whereas wherever whether while yet
    am are be been being can could did do does doing done had has have having is may might must ought shall should was were
    will would ca sha wo n't not 's 're 've 'll 'd 'm
    again also already even ever here how just only quite rather still then there too very why""".split()
    )
)
"""Words of the closed classes of English: determiners, pronouns, conjunctions, auxiliaries, prepositions, `not`, and the
commonest adverbs of place, time and degree. `ca`, `sha`, `wo` are what `n't` leaves."""

_CLITICS = frozenset("n't 's 're 've 'll 'd 'm".split())
_NAMES = frozenset({"may", "will"})
_DOUBLE = frozenset(
    "like may might must will can could mine round past own opposite inside outside down near over".split()
)
"""Small words that can also be nouns, adjectives or full verbs."""


def without(text: str, spans: Sequence[Span]) -> list[Edit]:
    """The spans (in order, apart) go, each with the white space on one side of it, so that no two spaces meet and no word is
    glued to another. Line breaks stay."""
    runs: list[Span] = []
    for start, end in spans:
        if runs and _one_line(text[runs[-1][1] : start]):
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((start, end))
    return [_without(text, start, end) for start, end in runs]


def _without(text: str, start: int, end: int) -> Edit:
    left, right = start, end
    while left > 0 and text[left - 1].isspace():
        left -= 1
    while right < len(text) and text[right].isspace():
        right += 1
    word_before = left > 0 and _wordlike(text[left - 1])
    word_after = right < len(text) and _wordlike(text[right])
    if 0 < left < start and _one_line(text[left:start]):
        return Edit(start if right == end and word_before and word_after else left, end, "")
    glued = left == start and word_before
    return Edit(start, right if _one_line(text[end:right]) and not glued else end, "")


def _one_line(gap: str) -> bool:
    """True for nothing, and for white space without a line break."""
    return not gap.strip() and gap.splitlines() in ([], [gap])


def _wordlike(char: str) -> bool:
    return unicodedata.category(char)[0] in "LNM"


def removing(places: Callable[[Reading], list[Span]], lacking: str) -> Callable[[str, float, Random, Beside], Outcome]:
    """A noise that takes away a share of the places found in English that was read."""

    def make(text: str, strength: float, random: Random, beside: Beside) -> Outcome:
        reading = read(text)
        if isinstance(reading, Refused):
            return reading
        return edited(text, without(text, some(places(reading), strength, random)), lacking)

    return make


def _small(r: Reading, i: int) -> bool:
    """True unless a capital makes a name or a letter of the word: US, May, vitamin A."""
    word = r.words[i]
    if r.glued(i):
        return False
    if word.text[0] == word.low[0] or word.low in ("the", "an", "i"):
        return True
    if len(word.text) > 1 and word.text.isupper():
        return not any(c.islower() for c in r.text)
    if word.low in _NAMES and r.words[i + 1 :] and r.words[i + 1].text[:1].isupper():
        return False
    starts = i == 0 or not _one_line(r.text[r.words[i - 1].end : word.start])
    return (starts or r.opens(i)) and not word.tag.startswith("NNP")


def _articles(r: Reading) -> list[Span]:
    return [(w.start, w.end) for i, w in enumerate(r.words) if w.low in ARTICLE_WORDS and _small(r, i)]


_ROLES = ("prep", "agent", "dative", "conj", "pcomp", "ROOT", "dep")


def _prepositions(r: Reading) -> list[Span]:
    """Not the `to` of an infinitive, the particle of a verb, or what opens a clause."""
    return [
        (w.start, w.end)
        for i, w in enumerate(r.words)
        if w.low in PREPOSITION_WORDS and w.tag == "IN" and w.role in _ROLES and _small(r, i)
    ]


def _stop_words(r: Reading) -> list[Span]:
    """A contraction goes whole, where all of it is small words: not the 's of a name."""
    out: list[Span] = []
    i, n = 0, len(r.words)
    while i < n:
        end = i + 1
        while end < n and r.words[end].start == r.words[end - 1].end and _hangs_on(r, end):
            end += 1
        group = [w.low for w in r.words[i:end]]
        if r.low(i) not in _CLITICS and _small(r, i) and not _content(r, i) and STOP_WORDS.issuperset(group):
            out.append((r.words[i].start, r.words[end - 1].end))
        i = end
    return out


def _content(r: Reading, i: int) -> bool:
    """True for a word that is a noun, a name or a full verb here: a round of golf, they like it, his will."""
    word = r.words[i]
    if word.low not in _DOUBLE:
        return False
    return word.tag[:2] in ("NN", "JJ", "VB", "CD") and word.second[:2] in ("NN", "JJ", "VB", "CD") + (
        ("MD", "IN") if word.tag[:2] in ("NN", "VB") else ()
    )


def _hangs_on(r: Reading, i: int) -> bool:
    return r.low(i) in _CLITICS or (r.low(i) == "not" and r.low(i - 1) == "can")


ARTICLES = Noise(
    name="article-removal",
    family="removal",
    label="Article removal",
    aspect="fluency",
    paper="He et al. 2023, Table 16",
    help="A share of the articles (the, a, an) goes. English",
    make=removing(_articles, "no article in it"),
    levels=SHARES,
    version=2,
    models=reader,
)

PREPOSITIONS = Noise(
    name="preposition-removal",
    family="removal",
    label="Preposition removal",
    aspect="fluency",
    paper="He et al. 2023, Table 16",
    help="A share of the prepositions goes; the “to” of an infinitive stays. English",
    make=removing(_prepositions, "no preposition in it"),
    levels=SHARES,
    version=2,
    models=reader,
)

STOPWORDS = Noise(
    name="stopword-removal",
    family="removal",
    label="Stop-word removal",
    aspect="fluency",
    paper="He et al. 2023, Table 16",
    help="A share of the small words goes: articles, pronouns, prepositions, conjunctions, auxiliaries, not. English",
    make=removing(_stop_words, "no stop-word in it"),
    levels=SHARES,
    version=2,
    models=reader,
)
