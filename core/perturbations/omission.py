"""Omission: delete a phrase or clause whose removal leaves a grammatical sentence (Chen and Eger 2023, §3; Sai et al. 2021).

The published suite drops 1–20 % of the words at arbitrary positions. Here only optional parts are deleted, so that the metric
is tested on lost content rather than on broken grammar.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from core.english.parsing import TaggedText, article, cased, english, pos_tags
from core.english.phrases import BE, DETERMINERS, HAVE, MODALS, NEGATIVE, participle
from core.perturbations.adjectives import attributive, is_adjective
from core.perturbations.base import Perturbation
from core.text.edits import Edit, Outcome, Refused

MOST = 0.4
"""Maximum share of the words that are deleted."""
_OPENERS = frozenset(
    "in on at during after before since by for with from under over within throughout despite until across amid".split()
)
_TAILS = frozenset("because although though while whereas unless after before since until when".split())
_RELATIVES = frozenset("which who whom whose where".split())
_TIME_NOUNS = frozenset(
    """year month week day night morning afternoon evening weekend summer winter spring autumn decade century monday tuesday
    wednesday thursday friday saturday sunday years months weeks days decades centuries january february april june july august
    september october november december""".split()
)
_BEFORE_TAIL = frozenset("just even only not n't and or but is was that ever long years times shortly soon".split())
_BEFORE_TIME = frozenset("in on of for by the since until from to than during early late after before 's".split())
_SAYINGS = frozenset(
    (
        "after all|in fact|of course|for example|for instance|at least|in short|at last|in addition|in turn|in general"
        "|in particular|in other|in contrast|by contrast|as such|on average"
    ).split("|")
)
"""Phrases that only link a sentence to the one before; deleting them loses no information."""
_KEPT = frozenset(
    """same other only such own first last next very former alleged fake false so-called few many several most more less
    least certain late early best worst better worse second third main whole possible likely potential would-be half nuclear fourth fifth sixth seventh eighth ninth tenth
    past new united prime""".split()
)
"""Adjectives without which the phrase would change or lose its meaning."""
_ADVERBS_KEPT = frozenset(
    "only early daily family friendly likely unlikely hardly barely rarely scarcely nearly exactly july italy reply supply apply rely".split()
)


class TokenRange(NamedTuple):
    """Tokens start..end-1, which can be deleted."""

    start: int
    end: int


def _omit(p: TaggedText, random: Random) -> Outcome | list[Edit]:
    words = sum(t.low[0].isalnum() for t in p.tokens)
    found = [q for q in _pieces(p) if 0 < sum(p.low(i)[0].isalnum() for i in range(*q)) <= MOST * words]
    if not found:
        return Refused(f"no optional phrase of at most {MOST:.0%} of the words")
    longer = [q for q in found if q.end - q.start > 2]
    return _dropped(p, random.choice(longer or found))


def _pieces(p: TaggedText) -> Iterator[TokenRange]:
    for i in range(p.n):
        start, end = p.sentence(i)
        low = p.low(i)
        if low == "(":
            yield from _bracket(p, i, end)
        elif i == start and low in _OPENERS and p.word(i)[:1].isupper():
            yield from _fronted(p, i, end)
        elif low == "," and p.low(i + 1) in _RELATIVES:
            yield from _relative(p, i, end)
        elif low in _TAILS and i > start + 3:
            yield from _tail(p, i, start, end)
        elif low in ("last", "this", "next", "on", "in", "during", "since") and i > start + 2:
            yield from _when(p, i)
        elif is_adjective(p, i) and low not in _KEPT and attributive(p, i) and p.tag(i) == "JJ":
            yield from _adjective(p, i)
        elif low.endswith("ly") and p.tag(i) == "RB" and low not in _ADVERBS_KEPT and p.word(i) == low:
            yield from _adverb(p, i)


def _bracket(p: TaggedText, i: int, end: int) -> Iterator[TokenRange]:
    for j in range(i + 1, end):
        if p.low(j) == ")":
            if i > 0 and not p.opens(i) and "(" not in p.lows(i + 1, j):
                yield TokenRange(i, j + 1)
            return


def _finite(p: TaggedText, start: int, end: int) -> bool:
    return any(p.low(j) in BE | HAVE | MODALS or p.tag(j) in ("VBD", "VBZ", "VBP") for j in range(start, end))


def _fronted(p: TaggedText, i: int, end: int) -> Iterator[TokenRange]:
    """Yield a prepositional phrase before the first comma (`In recent years, …`), unless a list or clause may continue."""
    commas = [j for j in range(i, end) if p.low(j) == ","]
    if not commas or f"{p.low(i)} {p.low(i + 1)}" in _SAYINGS:
        return
    stop = commas[0]
    if not 2 <= stop - i <= 9 or not _finite(p, stop + 1, end):
        return
    if _finite(p, i, stop) and p.low(i) not in ("after", "before", "since", "until"):
        return
    follows = p.low(stop + 1)
    starts = DETERMINERS | {"i", "he", "she", "it", "we", "they", "there", "you"}
    if p.tag(stop - 1) == "NNP" and p.tag(stop + 1) == "NNP":
        return
    if follows in starts or p.tag(stop + 1) in ("NNP", "NNS", "NNPS", "PRP"):
        rest = commas[1] if len(commas) > 1 else end
        if _finite(p, stop + 1, rest):
            yield TokenRange(i, stop + 1)


def _relative(p: TaggedText, i: int, end: int) -> Iterator[TokenRange]:
    """Yield `, which …` up to the next comma if a finite verb follows it, or to the end of the sentence."""
    commas = [j for j in range(i + 1, end) if p.low(j) in (",", ";", ":", "–", "—")]
    if set(p.lows(i, end)) & {'"', "“", "”", "``", "''", "'", "‘", "’", "(", ")"}:
        return
    if not commas:
        if p.low(end - 1) in (".", "!"):
            yield TokenRange(i, end - 1)
    elif len(commas) == 1 and p.low(commas[0]) == "," and _finite(p, i + 2, commas[0]):
        after = commas[0] + 1
        if p.low(after) in BE | HAVE | MODALS or p.tag(after) in ("VBD", "VBZ"):
            yield TokenRange(i, after)


def _tail(p: TaggedText, i: int, start: int, end: int) -> Iterator[TokenRange]:
    """Yield a subordinate clause at the end of the sentence."""
    if p.low(end - 1) not in (".", "!") or not _finite(p, i + 2, end) or not _finite(p, start, i):
        return
    if set(p.lows(start, end)) & {'"', "“", "”", "``", "''", "'", "‘", "’", "(", ")", ";", ":", "–", "—"}:
        return
    before = i - 1 if p.low(i - 1) == "," else i
    if p.low(before - 1) in _BEFORE_TAIL:
        return
    if p.tag(i - 1) in ("IN", "TO", "DT", "MD", "WRB", "RB", "RBR", "CD") or any(
        w in p.lows(i, end) for w in (",", "and", "but")
    ):
        return
    timed = p.low(i) in ("when", "since", "until", "before", "after", "while") and p.low(before) != ","
    if not timed or not _NEEDING & set(p.lows(start, i)):
        yield TokenRange(before, end - 1)


_NEEDING = NEGATIVE | frozenset("so too such only first time day know remember it".split())
"""Words before a clause of time that may depend on it (`remember when`, `the first time when`, a negation)."""


def _when(p: TaggedText, i: int) -> Iterator[TokenRange]:
    """Yield `last year`, `on Tuesday` or `in 2010` at the end of its sentence."""
    low, stop = p.low(i), ""
    if low in ("last", "this", "next"):
        stop = p.low(i + 1) if p.low(i + 1) in _TIME_NOUNS and not p.low(i + 1).endswith("days") else ""
        if p.low(i - 1) in _BEFORE_TIME:
            stop = ""
    elif low == "on":
        stop = p.low(i + 1) if p.low(i + 1) in _TIME_NOUNS and p.word(i + 1)[:1].isupper() else ""
    elif low in ("in", "since", "during"):
        stop = p.low(i + 1) if p.low(i + 1).isdigit() and len(p.low(i + 1)) == 4 else ""
    if p.tag(i - 1) in ("VBN", "VBD") and (p.low(i - 2) == "," or (p.tag(i - 1) == "VBN" and not participle(p, i - 1))):
        return  # `, founded in 1945` and `a house built in 1945` need their year
    if stop and p.low(i + 2) == "." and p.low(i - 1) not in _BEFORE_DATE:
        yield TokenRange(i, i + 2)


_BEFORE_DATE = BE | frozenset("and or , - but later earlier early late again only that not born".split())


def _adjective(p: TaggedText, i: int) -> Iterator[TokenRange]:
    before = p.low(i - 1)
    massy = p.low(i + 2) != "to" and p.tag(i + 1) == "NN" and before in ("a", "an") and p.low(i + 1) in _MASSY
    if before in _POSSESSIVES | {"the", "a", "an"} and "VERB" not in pos_tags(p.low(i)) and not massy:
        yield TokenRange(i, i + 1)


_POSSESSIVES = frozenset("my your his her its our their".split())


_MASSY = frozenset(
    "way time manner fashion number amount degree level sense share range extent interest understanding role part".split()
)


def _adverb(p: TaggedText, i: int) -> Iterator[TokenRange]:
    """Yield an adverb right before a participle, full verb or adjective."""
    if p.tag(i + 1) in ("VBN", "VBD", "VBG", "JJ", "VB") and p.low(i - 1) in BE | HAVE | MODALS:
        yield TokenRange(i, i + 1)


def _dropped(p: TaggedText, piece: TokenRange) -> list[Edit]:
    start, end = piece
    edits = [p.drop(start, end)]
    if p.opens(start) and end < p.n:
        first, following = p.tokens[start], p.tokens[end]
        edits = [Edit(first.start, following.start + 1, cased(following.text[:1], first.text[:1]))]
    elif p.low(start - 1) in ("a", "an"):
        edits += p.article(start, p.low(end)) if article(p.low(end)) != p.low(start - 1) else []
    return edits


OMISSION = Perturbation(
    name="omission",
    phenomenon="Omission",
    kind="adequacy",
    help="Deletes a clause, phrase or modifier: at most 40 % of the words, leaving a grammatical sentence",
    change=english(_omit),
    version=3,
)
