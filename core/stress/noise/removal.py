"""Small words gone: articles, prepositions, stop-words. English.

Nothing else changes: where the first word of a sentence goes, the next one keeps its small letter.
"""

from __future__ import annotations

import re
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
    """like may might must will can could mine round past own opposite inside outside down near over till even why how being
    then""".split()
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
    return [
        (w.start, w.end) for i, w in enumerate(r.words) if w.low in ARTICLE_WORDS and _small(r, i) and _is_article(r, i)
    ]


def _is_article(r: Reading, i: int) -> bool:
    """False for the letter of a name (A & E, Serie A) and a slip for another word: what follows an article opens no new phrase."""
    if r.low(i - 1) in ("&", *_LETTERED) or r.tag(i + 1) in _AFTER_NO_ARTICLE or not r.low(i + 1):
        return False
    around = (r.words[i - 1].text[0], r.words[i + 1].text[0]) if i else ("", "")
    if r.words[i].text == "a" and all(c.isupper() for c in around):  # Whisky a Go Go
        return False
    return r.low(i + 1)[0].isalnum() or r.low(i + 1) in _OPENING


_LETTERED = frozenset("serie ligue vitamin hepatitis grade plan group type category class".split())
_AFTER_NO_ARTICLE = ("IN", "TO", "MD", "CC", "VBZ", "VBP", "VBD", "WDT", "WP", "PRP", "PRP$", "POS", "EX")
_OPENING = frozenset(("'", "''", "``", "`", '"', "“", "‘", "$", "£", "€", "#", "(", "["))


def _prepositions(r: Reading) -> list[Span]:
    """Those with an object: not the `to` of an infinitive, the particle of a verb, or what opens a clause."""
    return [
        (w.start, w.end)
        for i, w in enumerate(r.words)
        if w.low in PREPOSITION_WORDS and w.tag == "IN" and w.role in _ROLES and _small(r, i) and _is_preposition(r, i)
    ]


_ROLES = ("prep", "agent", "dative", "conj", "pcomp", "ROOT", "dep")
_CLAUSAL = frozenset("as for before after until till since than like except".split())
_FINITE = ("VBD", "VBZ", "VBP", "MD")
_PARTICLES = frozenset("up down off out over along across around round through about in on by past under".split())
_PHRASAL = frozenset(
    """put puts putting take takes took taken taking carry carries carried carrying turn turns turned turning bring brings brought
    bringing hand hands handed handing give gives gave given giving pass passes passed passing try tries tried trying switch switches
    switched switching win wins won winning knock knocks knocked knocking cash keep keeps kept keeping pull pulls pulled pulling
    lay lays laid laying move moves moved moving send sends sent sending""".split()
)
"""Verbs that take a particle before their object: put on weight, take over a club."""


def _is_preposition(r: Reading, i: int) -> bool:
    low, objects = r.low(i), [j for j in r.children(i, "pobj", "pcomp") if j > i]
    if not objects or _inches(r, i) or _ages(r, i) or _approximate(r, i) or (low == "per" and r.low(i + 1) == "cent"):
        return False
    if low in _CLAUSAL and _opens_clause(r, i, objects[0]):
        return False
    if low == "as" and any(r.low(j) in ("as", "so", "such", "same") for j in range(i - 6, i)):
        return False
    if low in ("up", "down", "off", "out") and (r.low(i + 1) in PREPOSITION_WORDS or r.tag(i - 1)[:2] == "VB"):
        return low == "out" and r.low(i + 1) == "of"
    return not (low in _PARTICLES and r.low(i - 1) in _PHRASAL)


def _opens_clause(r: Reading, i: int, noun: int) -> bool:
    """True where the object is rather the subject of a verb: for while it rained, as the man was known."""
    if (
        r.tag(i + 1) in ("IN", "WRB", "EX")
        or r.low(i + 1) in ("i", "he", "she", "we", "they", "it")
        or r.tag(noun)[:2] == "VB"
    ):
        return r.tag(noun) != "VBG"
    after = max(r.below(noun)) + 1
    while r.tag(after) == "RB":
        after += 1
    return r.tag(after) in _FINITE


def _ages(r: Reading, i: int) -> bool:
    """True for the under of under 21s."""
    return r.low(i) in ("under", "over") and bool(re.fullmatch(r"\d+s", r.low(i + 1)))


_APPROXIMATE = frozenset("about around over under near above below".split())


def _approximate(r: Reading, i: int) -> bool:
    """True for about 30, around £5, over RMB 400."""
    return r.low(i) in _APPROXIMATE and (r.tag(i + 1) in ("CD", "$", "#") or r.low(i + 2)[:1].isdigit())


def _inches(r: Reading, i: int) -> bool:
    """True for the unit behind a number: 5.9 in)."""
    if r.low(i) != "in" or not r.low(i - 1)[-1:].isdigit():
        return False
    return not r.low(i + 1)[:1].isalnum() or r.low(i + 1) in (
        "by",
        "x",
        "of",
        "tall",
        "long",
        "wide",
        "high",
        "deep",
        "thick",
    )


def _stop_words(r: Reading) -> list[Span]:
    """A contraction goes whole, also where blanks tear it, if all of it is small words: not the 's of a name or a possessor."""
    out: list[Span] = []
    i, n = 0, len(r.words)
    while i < n:
        end = i + 1
        while end < n and _hangs_on(r, end):
            end += 1
        if r.low(i) == "no" and r.low(end) == "one" and end == i + 1:
            end += 1
        group = [w.low for w in r.words[i:end]]
        possessor = any(r.tag(j) == "POS" for j in range(i, end)) and r.low(i) not in _SUBJECTS
        if (
            STOP_WORDS.issuperset(group)
            and r.low(i) not in _CLITICS
            and not possessor
            and _small(r, i)
            and not _content(r, i)
        ):
            out.append((r.words[i].start, r.words[end - 1].end))
        i = end
    return out


_SUBJECTS = frozenset("i he she it we they you who that there here what where how when why this".split())
"""Words that `'s` never makes possessors."""


def _content(r: Reading, i: int) -> bool:
    """True for a word that is, or may be, a noun, a name, an adjective, a number or a full verb here: a round of golf, they like
    it, his will, number one. Have, do and be are small words in all their uses."""
    word, low, before, after = r.words[i], r.low(i), r.low(i - 1), r.low(i + 1)
    if low in _DOUBLE and any(tag[:2] in ("NN", "JJ", "VB", "CD") for tag in (word.tag, word.second)):
        return True
    if _inches(r, i) or _ages(r, i):
        return True
    match low:
        case "a" | "an" | "the":
            return not _is_article(r, i)
        case "one" | "same":
            return True
        case "only":
            return r.tag(i - 1) in ("DT", "PRP$", "POS")
        case "while":
            return word.tag[:2] == "NN" or r.tag(i - 1) in ("DT", "JJ")
        case "still":
            return word.tag[:2] in ("NN", "JJ", "VB") or before in _UNMOVED
        case "i":
            return word.text == "I" and r.tag(i - 1)[:2] == "NN" and r.words[i - 1].text[0].isupper() and r.adjoins(i)
        case "us":
            return not (r.tag(i - 1)[:2] == "VB" or before in _BEFORE_US) or r.tag(i + 1)[:2] in ("NN", "JJ")
        case "am":
            return before[-1:].isdigit()
        case "no":
            return after[:1].isdigit() or (after == "." and r.low(i + 2)[:1].isdigit())
        case "may":
            return before[-1:].isdigit() or after[:1].isdigit() or before in PREPOSITION_WORDS
        case "ca" | "sha" | "wo":
            return after not in ("n't", "not")
    return False


_UNMOVED = frozenset(
    """very stand stands stood standing stay stays stayed staying sit sits sat sitting hold holds held keep keeps kept keeping lie
    lies lay lying remain remains remained perfectly so""".split()
)
_BEFORE_US = frozenset("of for to with let all both between about from on at by than and".split())


def _hangs_on(r: Reading, i: int) -> bool:
    """True for the clitic of a contraction, glued or behind a blank."""
    gap = r.text[r.words[i - 1].end : r.words[i].start]
    if r.low(i) == "not":
        return not gap and r.low(i - 1) == "can"
    return r.low(i) in _CLITICS and gap in ("", " ", "\xa0") and r.words[i - 1].text[-1].isalnum()


ARTICLES = Noise(
    name="article-removal",
    family="removal",
    label="Article removal",
    aspect="fluency",
    paper="He et al. 2023, Table 16",
    help="A share of the articles (the, a, an) goes. English",
    make=removing(_articles, "no article in it"),
    levels=SHARES,
    version=3,
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
    version=3,
    models=reader,
)

STOPWORDS = Noise(
    name="stopword-removal",
    family="removal",
    label="Stop-word removal",
    aspect="fluency",
    paper="He et al. 2023, Table 16",
    help="A share of the small words goes: articles, pronouns, prepositions, conjunctions, have, do and be in all uses, modals, not. English",
    make=removing(_stop_words, "no stop-word in it"),
    levels=SHARES,
    version=3,
    models=reader,
)
