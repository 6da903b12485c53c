"""Find the places of quotes in a text. Language models quote the errors they report; a label needs offsets.

The order is our decision (after the code of arXiv 2603.19921, which takes the first of several hits):

1. exact;
2. folded: equal in NFC and without case, with one kind of quotation mark, dash and space, without zero-width characters, and without
   quotation marks or an ellipsis that were put around the quote. Positions go through a map, as folding changes lengths ("İ" becomes two
   code points);
3. fuzzy: quotes of `FUZZY_LENGTH` to `LONGEST_FUZZY` characters; the similarity 2·LCS/(|quote| + |place|) of the folded texts is at least
   `SIMILARITY`, and every other place is less similar by at least `AHEAD`. Such a place begins and ends with whole words where the quote
   does; text without spaces between words has places at every character.

Several hits: those inside the context of the quote; else k equal quotes belong to k hits in their order (not for fuzzy ones); else the
quote is ambiguous, and nothing is guessed. No place cuts a grapheme cluster.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from rapidfuzz import fuzz
from rapidfuzz.distance import LCSseq

from core.data import Side, Span, grouped
from core.spans.layers import LayerSpan
from core.text.words import grapheme_starts

Outcome = Literal["exact", "folded", "fuzzy", "ambiguous", "wrong_side", "not_found", "empty"]
OUTCOMES: dict[Outcome, str] = {
    "exact": "found exactly",
    "folded": "found with other case, quotation marks, dashes or spaces",
    "fuzzy": "found with small differences",
    "ambiguous": "quote found in several places",
    "wrong_side": "quote found only in the text on the other side",
    "not_found": "quote not found",
    "empty": "quote empty",
}
"""The words for each outcome. The first three have a span."""
Place = tuple[int, int]

FUZZY_LENGTH, LONGEST_FUZZY = 4, 500
"""Characters of quotes that are searched in the third step; the time for longer ones grows with the square of their length."""
SIMILARITY = 0.85
AHEAD = 0.10
END, SIMILAR_ENDS = 6, 0.65
"""The share of the first and of the last characters of a fuzzy quote that its place must have; otherwise its borders would be a guess."""
MOST_PLACES = 50
"""Further fuzzy places of one quote are not listed."""

_MARKS = "\"'`´‘’‚‛“”„‟‹›«»′″〝〞〟＂＇「」『』｢｣"
_DASHES = "‐‑‒–—―−⁃﹘﹣－"
_INVISIBLE = frozenset("\u00ad\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff")  # fmt: skip
_FOLDED = str.maketrans(dict.fromkeys(_MARKS, "'") | dict.fromkeys(_DASHES, "-") | dict.fromkeys(_INVISIBLE, ""))
_AROUND = ("'", "…", "...", "..", "[", "]", " ")


class Quote(NamedTuple):
    """An error as a model reports it: the text it quotes, and what it says of it.

    `side` is where the quote was taken from; None: the output, but the source for an omission. `context` is a longer quote around it.
    """

    text: str
    severity: str
    category: str
    side: Side | None = None
    context: str = ""
    confidence: float | None = None
    note: str = ""


class Placed(NamedTuple):
    """A quote with its place. `span` is None unless the outcome is exact, folded or fuzzy.

    `places` has the place of the span, or all candidates of an ambiguous quote, in the text in which it was searched. `wrong_side`: the
    quote was searched in one text and occurs in the other one only.
    """

    quote: Quote
    outcome: Outcome
    span: LayerSpan | None
    places: tuple[Place, ...]


class _Hits(NamedTuple):
    """Where a quote occurs, and by which step it was found."""

    outcome: Outcome
    places: tuple[Place, ...]


def place_quotes(quotes: Sequence[Quote], output: str, source: str | None) -> list[Placed]:
    """Return the quotes with their places in the output or the source, in their order."""
    texts = {"output": QuotedText(output), "source": QuotedText(source or "")}
    sides = [quote.side or ("source" if "omission" in quote.category.casefold() else "output") for quote in quotes]
    hits = [_narrowed(quote, texts[side]) for quote, side in zip(quotes, sides, strict=True)]
    several = grouped(
        ((side, of.places), i)
        for i, (side, of) in enumerate(zip(sides, hits, strict=True))
        if len(of.places) > 1 and of.outcome != "fuzzy"
    )
    for (_, places), same in several.items():
        if len(same) == len(places):
            for i, place in zip(same, places, strict=True):
                hits[i] = hits[i]._replace(places=(place,))
    other: dict[Side, Side] = {"output": "source", "source": "output"}
    placed = []
    for quote, side, (outcome, places) in zip(quotes, sides, hits, strict=True):
        if len(places) == 1:
            start, end = places[0]
            span = Span(side, start, end, texts[side].text[start:end], quote.severity, quote.category, quote.note)
            placed.append(Placed(quote, outcome, LayerSpan(span, quote.confidence), places))
            continue
        if places:
            outcome = "ambiguous"
        elif outcome == "not_found" and texts[other[side]].find(quote.text).places:
            outcome = "wrong_side"
        placed.append(Placed(quote, outcome, None, places))
    return placed


def _narrowed(quote: Quote, text: QuotedText) -> _Hits:
    """Return the hits of a quote, and if there are several, those inside its context, if it has any."""
    hits = text.find(quote.text)
    if len(hits.places) > 1 and quote.context:
        contexts = text.find(quote.context).places
        inside = tuple(p for p in hits.places if any(start <= p[0] and p[1] <= end for start, end in contexts))
        return hits._replace(places=inside or hits.places)
    return hits


@lru_cache(maxsize=1 << 14)
def _fold(cluster: str) -> str:
    """Return a grapheme cluster in its folded form: one space for each kind of space, nothing for zero-width characters."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", cluster).casefold()).translate(_FOLDED)
    return " " if folded.isspace() else folded


class _Folded:
    """The folded form of a text with the places of its pieces. A piece is what one grapheme cluster becomes."""

    def __init__(self, text: str) -> None:
        borders = [*grapheme_starts(text), len(text)]
        pieces: list[str] = []
        self.starts: dict[int, int] = {}
        """Where a piece begins in the folded text: where its cluster begins in the text."""
        self.ends: dict[int, int] = {}
        at, previous = 0, " "
        for start, end in pairwise(borders):
            piece = _fold(text[start:end])
            if not piece or piece == previous == " ":
                continue
            pieces.append(piece)
            self.starts[at] = start
            at += len(piece)
            self.ends[at] = end
            previous = piece
        self.text = "".join(pieces)

    def place(self, start: int, end: int) -> Place | None:
        """Return the place in the text, or None if a piece is cut."""
        if start in self.starts and end in self.ends:
            return self.starts[start], self.ends[end]
        return None

    @cached_property
    def word_starts(self) -> list[int]:
        """Return where a piece begins that does not continue a word with spaces around it."""
        return [i for i in self.starts if not self._inside_word(i)]

    @cached_property
    def word_ends(self) -> list[int]:
        return [i for i in self.ends if not self._inside_word(i)]

    def _inside_word(self, i: int) -> bool:
        return 0 < i < len(self.text) and _spaced(self.text[i - 1]) and _spaced(self.text[i])


@lru_cache(maxsize=1 << 14)
def _spaced(char: str) -> bool:
    """Return whether a character belongs to words that are written with spaces between them."""
    if char.isascii():
        return char.isalnum()
    code = ord(char)
    unspaced = 0x0E00 <= code <= 0x0EFF or 0x1000 <= code <= 0x109F or 0x1780 <= code <= 0x17FF
    unspaced = unspaced or 0x2E80 <= code <= 0xA4CF or 0xF900 <= code <= 0xFAFF or code >= 0x20000
    return not unspaced and unicodedata.category(char)[0] in "LMN"


class QuotedText:
    """A text in which quotes are searched; its folded form is made when it is first needed."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._known: dict[str, _Hits] = {}

    @cached_property
    def _folded(self) -> _Folded:
        return _Folded(self.text)

    @cached_property
    def _borders(self) -> frozenset[int]:
        return frozenset([*grapheme_starts(self.text), len(self.text)])

    def find(self, quote: str) -> _Hits:
        """Return the places of a quote by the first step that has any."""
        if quote not in self._known:
            self._known[quote] = self._find(quote)
        return self._known[quote]

    def _find(self, quote: str) -> _Hits:
        searched = _Folded(quote).text.strip()
        if not searched:
            return _Hits("empty", ())
        exact = [(at, at + len(quote)) for at in _occurrences(quote, self.text)]
        if exact := [place for place in exact if self._borders.issuperset(place)]:
            return _Hits("exact", tuple(exact))
        for form in dict.fromkeys((searched, _bare(searched))):
            folded = [self._folded.place(at, at + len(form)) for at in _occurrences(form, self._folded.text)]
            if places := tuple(place for place in folded if place):
                return _Hits("folded", places)
        fuzzy = self._fuzzy(_bare(searched) or searched)
        return _Hits("fuzzy", fuzzy) if fuzzy else _Hits("not_found", ())

    def _fuzzy(self, quote: str) -> tuple[Place, ...]:
        """Return the most similar place and all others that are less similar by less than `AHEAD`, in their order."""
        if not FUZZY_LENGTH <= len(quote) <= LONGEST_FUZZY:
            return ()
        best = _most_similar(quote, self._folded, 0, len(self._folded.text))
        if best is None or best[0] < SIMILARITY:
            return ()
        windows, parts = [best], [(0, best[1]), (best[2], len(self._folded.text))]
        while parts and len(windows) < MOST_PLACES:
            first, last = parts.pop()
            window = _most_similar(quote, self._folded, first, last)
            if window is not None and window[0] > best[0] - AHEAD:
                windows.append(window)
                parts += [(first, window[1]), (window[2], last)]
        return tuple(
            place for _, start, end in sorted(windows, key=lambda w: w[1]) if (place := self._folded.place(start, end))
        )


def _occurrences(quote: str, text: str) -> Iterator[int]:
    """Yield where the quote begins in the text, including places that overlap."""
    at = text.find(quote) if quote else -1
    while at >= 0:
        yield at
        at = text.find(quote, at + 1)


def _bare(quote: str) -> str:
    """Return a folded quote without the quotation marks, brackets and ellipses around it."""
    changed = True
    while changed:
        changed = False
        for part in _AROUND:
            shorter = quote.removeprefix(part).removesuffix(part)
            changed, quote = changed or shorter != quote, shorter
    return quote


def _most_similar(quote: str, text: _Folded, first: int, last: int) -> tuple[float, int, int] | None:
    """Return similarity, start and end of the part of `text[first:last]` that is most similar to the quote.

    The search starts from the best window of the length of the quote, and moves its two ends in turn to the border nearby at which
    3·LCS − |place| is largest. Similarity itself would cut a place in two where the quote lacks a word of it.
    """
    rough = fuzz.partial_ratio_alignment(quote, text.text[first:last]) if first < last else None
    if rough is None:
        return None
    start, end = first + rough.dest_start, first + rough.dest_end
    reach = len(quote) // 2 + 2
    starts = text.word_starts if _spaced(quote[0]) else text.starts
    ends = text.word_ends if _spaced(quote[-1]) else text.ends
    starts = [i for i in starts if first <= i < last and abs(i - start) <= reach and text.text[i] != " "]
    ends = [i for i in ends if first < i <= last and abs(i - end) <= reach and text.text[i - 1] != " "]
    best = None
    for _ in range(3):
        before = best
        end = max([_worth(quote, text.text, start, i) for i in ends if i > start], default=(0, start, end))[2]
        best = max([_worth(quote, text.text, i, end) for i in starts if i < end], default=None)
        if best is None or best == before:
            break
        start = best[1]
    if best is None:
        return None
    _, start, end = best
    if end not in ends or min(_similar_ends(quote, text.text[start:end])) < min(END, len(quote)) * SIMILAR_ENDS:
        return None
    return fuzz.ratio(quote, text.text[start:end]) / 100, start, end


def _worth(quote: str, text: str, start: int, end: int) -> tuple[int, int, int]:
    """Return 3·LCS − |place|, plus 2·LCS of the first and of the last `END` characters of both; and start and end of the place."""
    place = text[start:end]
    return 3 * LCSseq.similarity(quote, place) - len(place) + 2 * sum(_similar_ends(quote, place)), start, end


def _similar_ends(quote: str, place: str) -> tuple[int, int]:
    """Return the LCS of the first and of the last `END` characters."""
    return LCSseq.similarity(quote[:END], place[:END]), LCSseq.similarity(quote[-END:], place[-END:])


def folded(text: str) -> str:
    """Return a text in the form in which quotes are compared in the second step."""
    return _Folded(text).text
