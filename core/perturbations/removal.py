"""Deleted function words: articles, prepositions, stop words. English.

Nothing else changes: if the first word of a sentence is deleted, the next one stays in lower case.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from core.english.analysis import CLITICS, ParsedText
from core.english.dictionary import ARTICLE_WORDS, PREPOSITION_WORDS, STOP_WORDS, forms, pos_tags
from core.english.word_lists import word_set
from core.perturbations.base import Edits, NoiseContext, sample_share
from core.perturbations.sentences import one_line, without
from core.text.sentences import Span

_CLITICS = CLITICS - {"'"}
_NAMES = frozenset({"may", "will"})
_DOUBLE = word_set("ambiguous-function-words")
"""Function words that can also be nouns, adjectives or full verbs."""


def remove(
    places: Callable[[ParsedText], list[Span]], r: ParsedText, strength: float, random: Random, context: NoiseContext
) -> Edits:
    """Delete a share of the places."""
    return without(r.text, sample_share(places(r), strength, random))


def _small(r: ParsedText, i: int) -> bool:
    """Return whether word i is not a name or single letter, judging by its capital: US, May, vitamin A."""
    word = r.words[i]
    if r.glued(i):
        return False
    if word.text[0] == word.low[0] or word.low in ("the", "an", "i"):
        return True
    if len(word.text) > 1 and word.text.isupper():
        return not any(c.islower() for c in r.text)
    if word.low in _NAMES and r.words[i + 1 :] and r.words[i + 1].text[:1].isupper():
        return False
    starts = i == 0 or not one_line(r.text[r.words[i - 1].end : word.start])
    return (starts or r.starts_sentence(i)) and not word.tag.startswith("NNP")


def articles(r: ParsedText) -> list[Span]:
    return [
        (w.start, w.end) for i, w in enumerate(r.words) if w.low in ARTICLE_WORDS and _small(r, i) and _is_article(r, i)
    ]


def _is_article(r: ParsedText, i: int) -> bool:
    """Return False for a letter in a name (A & E, Serie A) and for typos, where no noun phrase follows."""
    if r.low(i - 1) in ("&", *_LETTERED) or r.tag(i + 1) in _AFTER_NO_ARTICLE or not r.low(i + 1):
        return False
    around = (r.words[i - 1].text[0], r.words[i + 1].text[0]) if i else ("", "")
    if r.words[i].text == "a" and all(c.isupper() for c in around):  # Whisky a Go Go
        return False
    return r.low(i + 1)[0].isalnum() or r.low(i + 1) in _OPENING


_LETTERED = frozenset("serie ligue vitamin hepatitis grade plan group type category class".split())
_AFTER_NO_ARTICLE = ("IN", "TO", "MD", "CC", "VBZ", "VBP", "VBD", "WDT", "WP", "PRP", "PRP$", "POS", "EX")
_OPENING = frozenset(("'", "''", "``", "`", '"', "“", "‘", "$", "£", "€", "#", "(", "["))


def prepositions(r: ParsedText) -> list[Span]:
    """Return prepositions with an object: not the `to` of an infinitive, particles, or conjunctions."""
    return [
        (w.start, w.end)
        for i, w in enumerate(r.words)
        if w.low in PREPOSITION_WORDS and w.tag == "IN" and w.role in _ROLES and _small(r, i) and _is_preposition(r, i)
    ]


_ROLES = ("prep", "agent", "dative", "conj", "pcomp", "ROOT", "dep")
_CLAUSAL = frozenset("as for before after until till since than like except".split())
_FINITE = ("VBD", "VBZ", "VBP", "MD")
_PARTICLES = frozenset("up down off out over along across around round through about in on by past under".split())
_PHRASAL = word_set("phrasal-verbs")
"""Verbs that take a particle before their object: put on weight, take over a club."""


def _is_preposition(r: ParsedText, i: int) -> bool:
    low, objects = r.low(i), [j for j in r.children(i, "pobj", "pcomp") if j > i]
    if not objects or _inches(r, i) or _ages(r, i) or _approximate(r, i) or (low == "per" and r.low(i + 1) == "cent"):
        return False
    adjective = r.tag(i - 1) == "JJ" or (r.low(i - 2) in ("a", "an") and "ADJ" in pos_tags(r.low(i - 1)))
    if (low == "off" and r.low(i - 1) in ("better", "worse", "well")) or (low == "like" and r.low(i - 1)[-2:] == "ly"):
        return False
    if low == "as" and adjective and r.low(i + 1) in ("a", "an") and r.adjoins(i):
        return False
    if low in _CLAUSAL and _opens_clause(r, i, objects[0]):
        return False
    if low == "as" and any(r.low(j) in ("as", "so", "such", "same") for j in range(i - 6, i)):
        return False
    if low in ("up", "down", "off", "out") and (r.low(i + 1) in PREPOSITION_WORDS or r.tag(i - 1)[:2] == "VB"):
        return low == "out" and r.low(i + 1) == "of"
    return not (low in _PARTICLES and r.low(i - 1) in _PHRASAL)


def _opens_clause(r: ParsedText, i: int, noun: int) -> bool:
    """Return whether the object is rather the subject of a verb: for while it rained, as the man was known."""
    subject = r.tag(i + 1) in ("IN", "WRB", "EX") or r.low(i + 1) in ("i", "he", "she", "we", "they", "it")
    if subject or r.tag(noun)[:2] == "VB":
        return r.tag(noun) != "VBG"
    if r.tag(i + 1) == "NN" and forms(r.low(i + 2), ("VBZ",)) and r.low(i + 3) in ("to", "from"):
        return True
    after = max(r.below(noun)) + 1
    while r.tag(after) == "RB":
        after += 1
    return r.tag(after) in _FINITE


def _ages(r: ParsedText, i: int) -> bool:
    """Return whether word i is the under of under 21s."""
    return r.low(i) in ("under", "over") and bool(re.fullmatch(r"\d+s", r.low(i + 1)))


_APPROXIMATE = frozenset("about around over under near above below".split())


def _approximate(r: ParsedText, i: int) -> bool:
    """Return whether word i qualifies a number: about 30, around £5, over RMB 400."""
    return r.low(i) in _APPROXIMATE and (r.tag(i + 1) in ("CD", "$", "#") or r.low(i + 2)[:1].isdigit())


def _inches(r: ParsedText, i: int) -> bool:
    """Return whether word i is a unit after a number: 5.9 in)."""
    if r.low(i) != "in" or not r.low(i - 1)[-1:].isdigit():
        return False
    return not r.low(i + 1)[:1].isalnum() or r.low(i + 1) in "by x of tall long wide high deep thick".split()


def stop_words(r: ParsedText) -> list[Span]:
    """Return stop words. A contraction, even if split by spaces, counts as one unit and only if all parts are stop words; the
    's of a name or possessor stays."""
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
        stop = STOP_WORDS.issuperset(group) and r.low(i) not in _CLITICS and not possessor
        if stop and _small(r, i) and not _content(r, i):
            out.append((r.words[i].start, r.words[end - 1].end))
        i = end
    return out


_SUBJECTS = frozenset("i he she it we they you who that there here what where how when why this".split())
"""Words after which `'s` is never possessive."""


def _content(r: ParsedText, i: int) -> bool:
    """Return whether the word may be a noun, name, adjective, number or full verb here: a round of golf, they like it, his
    will, number one. All uses of have, do and be count as function words."""
    word, low, before, after = r.words[i], r.low(i), r.low(i - 1), r.low(i + 1)
    if low in _DOUBLE and (word.tag[:2] in ("NN", "JJ", "VB", "CD") or not r.sure(i)):
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


_UNMOVED = word_set("before-still")
_BEFORE_US = frozenset("of for to with let all both between about from on at by than and".split())


def _hangs_on(r: ParsedText, i: int) -> bool:
    """Return whether word i is the clitic of a contraction, attached or after a space."""
    gap = r.text[r.words[i - 1].end : r.words[i].start]
    if r.low(i) == "not":
        return not gap and r.low(i - 1) == "can"
    return r.low(i) in _CLITICS and gap in ("", " ", "\xa0") and r.words[i - 1].text[-1].isalnum()
