"""Small words gone: articles, prepositions, stop-words. English.

Nothing else changes: where the first word of a sentence goes, the next one keeps its small letter.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from random import Random

from core.stress.base import Edit, Outcome, Refused
from core.stress.english import Parsed, parse, tagger
from core.stress.noise.base import SHARES, Beside, Noise, edited, some

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
_CLAUSES = frozenset("after as before for like since till until".split())
_BY_TAG = frozenset("about across along around by down in like off on out over round through up".split())
"""Also particles, or a verb: prepositions only where the tagger says so. Others are, too, before an article or a possessive."""
_NAMES = frozenset({"may", "will"})
_NOMINATIVE = frozenset("i he she we they there".split())


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


def removing(places: Callable[[Parsed], list[Span]], lacking: str) -> Callable[[str, float, Random, Beside], Outcome]:
    """A noise that takes away a share of the places found in parsed English."""

    def make(text: str, strength: float, random: Random, beside: Beside) -> Outcome:
        parsed = parse(text)
        if isinstance(parsed, Refused):
            return parsed
        return edited(text, without(text, some(places(parsed), strength, random)), lacking)

    return make


def _small(p: Parsed, i: int) -> bool:
    """True unless a capital makes a name or a letter of the word: US, May, vitamin A."""
    word, low = p.word(i), p.low(i)
    if word[0] == low[0] or low in ("the", "an", "i"):
        return True
    if len(word) > 1 and word.isupper():
        return not any(c.islower() for c in p.text)
    if low in _NAMES and p.word(i + 1)[:1].isupper():
        return False
    starts = i == 0 or not _one_line(p.text[p.tokens[i - 1].end : p.tokens[i].start])
    return (starts or p.opens(i)) and not p.tag(i).startswith("NNP")


def _articles(p: Parsed) -> list[Span]:
    return [(t.start, t.end) for i, t in enumerate(p.tokens) if t.low in ARTICLE_WORDS and _small(p, i)]


def _prepositions(p: Parsed) -> list[Span]:
    """Not the `to` of an infinitive, the particle of a verb, or what opens a clause."""
    out = []
    for i, token in enumerate(p.tokens):
        low, after = token.low, p.tag(i + 1)
        if low not in PREPOSITION_WORDS or not _small(p, i):
            continue
        if p.tag(i) not in ("IN", "TO") and (low in _BY_TAG or after not in ("DT", "PRP$")):
            continue
        infinitive = low == "to" and (after == "VB" or (after.startswith("RB") and p.tag(i + 2) == "VB"))
        clause = low in _CLAUSES and p.low(i + 1) in _NOMINATIVE
        if not infinitive and not clause:
            out.append((token.start, token.end))
    return out


def _stop_words(p: Parsed) -> list[Span]:
    """A contraction goes whole, where all of it is small words: not the 's of a name."""
    out: list[Span] = []
    i = 0
    while i < p.n:
        end = i + 1
        while end < p.n and p.tokens[end].start == p.tokens[end - 1].end and _hangs_on(p, end):
            end += 1
        if p.low(i) not in _CLITICS and _small(p, i) and all(low in STOP_WORDS for low in p.lows(i, end)):
            out.append((p.tokens[i].start, p.tokens[end - 1].end))
        i = end
    return out


def _hangs_on(p: Parsed, i: int) -> bool:
    return p.low(i) in _CLITICS or (p.low(i) == "not" and p.low(i - 1) == "can")


ARTICLES = Noise(
    name="article-removal",
    family="removal",
    label="Article removal",
    aspect="fluency",
    paper="He et al. 2023, Table 16",
    help="A share of the articles (the, a, an) goes. English",
    make=removing(_articles, "no article in it"),
    levels=SHARES,
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
    models=tagger,
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
    models=tagger,
)
