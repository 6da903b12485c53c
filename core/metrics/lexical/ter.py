"""The edits of TER (Snover et al. 2006), equal to those of sacreBLEU's TER, in a small part of its time.

TER counts the insertions, deletions, substitutions and shifts of words that turn an output into a reference. sacreBLEU tries up to
1,000 shifts per pair and fills a matrix of Python objects for each. Here a shift is skipped if a lower bound shows that it cannot be
the best one, the edit distance after a shift is computed by compiled code, and the alignment comes from bit vectors.

sacreBLEU computes only a band of each matrix, so that its edit distance may exceed the true one if the texts are long and differ much.
`TerReference._matrix` gives its values.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

MAX_SHIFT_SIZE, MAX_SHIFT_DISTANCE, BEAM_WIDTH, MAX_TRIED = 10, 50, 25, 1000
"""Limits of sacreBLEU's search (`sacrebleu.metrics.lib_ter`): words per shift, words between a word and its place in the reference,
half the width of the band, and shifts tried per pair."""
OTHER = "\0"
"""Stands for words that the reference does not have."""


class _Row(NamedTuple):
    """The cells of a matrix row in the band: reference positions `low` to `high` − 1; bit 0 is for position `first`, at least 1.

    A bit of `equal` is set where the distance is that of the cell diagonally above, one of `more` where it is one more than that above.
    """

    low: int
    high: int
    first: int
    equal: int
    more: int


class _Alignment(NamedTuple):
    """For each reference word, the output word it is aligned with or that comes before it (−1: none), and the numbers of output words and
    of reference words before each position that are edited."""

    places: list[int]
    edited: list[int]
    edited_reference: list[int]


class TerReference:
    """A reference, as words, that outputs are compared with."""

    def __init__(self, words: Sequence[str]) -> None:
        self._codes = {word: chr(k) for k, word in enumerate(dict.fromkeys(words), 1)}
        self._text = "".join([self._codes[word] for word in words])
        self._places: dict[str, list[int]] = {}
        for place, code in enumerate(self._text):
            self._places.setdefault(code, []).append(place)
        self._masks = {code: sum(1 << place for place in places) for code, places in self._places.items()}

    def __len__(self) -> int:
        return len(self._text)

    def edits(self, words: Sequence[str]) -> int:
        """Return the number of edits, including shifts, that turn an output into the reference."""
        if not words or not self._text:
            return len(words) + len(self._text)
        from rapidfuzz.distance import Levenshtein

        text = "".join([self._codes.get(word, OTHER) for word in words])
        shared = sum(min(n, len(self._places[code])) for code, n in Counter(text).items() if code in self._places)
        fewest = max(len(text), len(self._text)) - shared  # in whatever order the words are
        distance = self._banded(text, Levenshtein.distance(text, self._text))
        shifts = tried = 0
        while distance > fewest:
            shifted, saved, tried = self._best_shift(text, distance, fewest, tried)
            if tried >= MAX_TRIED or not saved:
                break
            text, distance, shifts = shifted, distance - saved, shifts + 1
        return shifts + distance

    def _banded(self, text: str, true_distance: int) -> int:
        """Return sacreBLEU's edit distance. It is the true one if all shortest ways to it are in the band."""
        n, m = len(text), len(self._text)
        if m < BEAM_WIDTH or true_distance + abs(n - m) < 2 * BEAM_WIDTH - 3:
            return true_distance
        return self._matrix(text)[0]

    def _best_shift(self, text: str, distance: int, fewest: int, tried: int) -> tuple[str, int, int]:
        """Return the output after the shift that saves most edits, the edits that it saves (0 if none does), and the shifts tried so far.

        Among equal shifts, the longest one is chosen, then the first one in the output, then the one to the first place.
        """
        from rapidfuzz.distance import Levenshtein

        n, m, reference = len(text), len(self._text), self._text
        aligned, edited, edited_reference = self._alignment(text)
        true_distance = Levenshtein.distance(text, reference)
        shifted, saved, rank = text, 0, (MAX_SHIFT_SIZE + 1, 0, 0)
        for start, code in enumerate(text):
            for place in self._places.get(code, ()):
                if abs(place - start) > MAX_SHIFT_DISTANCE:
                    continue
                longest = min(MAX_SHIFT_SIZE, n - start, m - place)
                length = 0
                while length < longest and text[start + length] == reference[place + length]:
                    length += 1
                    if (
                        edited[start + length] == edited[start]
                        or edited_reference[place + length] == edited_reference[place]
                        or start <= aligned[place] < start + length
                    ):
                        continue
                    target = -1
                    for before in range(place - 1, place + length):
                        previous, target = target, aligned[before] + 1 if before >= 0 else 0
                        if target == previous:
                            continue
                        tried += 1
                        own = (length, -start, -target)
                        most = distance - saved - (own <= rank)
                        passed = target - start - (length if target > start + length else 0)
                        if most < fewest or true_distance - 2 * min(length, abs(passed)) > most:
                            continue
                        candidate = _shift(text, start, length, target)
                        remaining = Levenshtein.distance(candidate, reference, score_cutoff=most)
                        if remaining <= most and (remaining := self._banded(candidate, remaining)) <= most:
                            shifted, saved, rank = candidate, distance - remaining, own
                    if tried >= MAX_TRIED:
                        return shifted, saved, tried
        return shifted, saved, tried

    def _matrix(self, text: str) -> tuple[int, list[_Row]]:
        """Return sacreBLEU's edit distance, and the rows of its matrix: one per output word, after that of the empty output.

        Differences of neighbouring cells are kept as bits (Hyyrö 2003, A bit-vector algorithm for computing Levenshtein and Damerau edit
        distances). A cell beside the band counts as one more than its neighbour in the band or above it, and no word matches from there,
        so that no shortest way in the band leaves it.
        """
        n, m = len(text), len(self._text)
        ratio = m / n
        width = math.ceil(ratio / 2 + BEAM_WIDTH) if ratio / 2 > BEAM_WIDTH else BEAM_WIDTH
        rising, falling = (1 << m) - 1, 0  # from the reference position before
        before = _Row(0, m + 1, 1, 0, 0)
        rows, base = [before], 0  # the distance at the position before the first bit
        for i, code in enumerate(text, 1):
            middle = math.floor(i * ratio)
            low, high = max(0, middle - width), min(m + 1, middle + width) if i < n else m + 1
            first = max(1, low)
            if moved := first - before.first:
                gone = (1 << moved) - 1
                base += (rising & gone).bit_count() - (falling & gone).bit_count()
                rising, falling = rising >> moved, falling >> moved
            band = (1 << (high - first)) - 1
            matches = (self._masks.get(code, 0) >> (first - 1)) & band
            if high > before.high:
                known = (1 << (before.high - first)) - 1
                rising, falling = (rising & known) | (band ^ known), falling & known
                matches &= 2 * known + 1
            else:
                rising, falling = rising & band, falling & band
            if first <= before.low:
                matches &= ~1
            equal = ((((matches & rising) + rising) ^ rising) | matches | falling) & band
            more, less = falling | (band & ~(equal | rising)), equal & rising
            rows.append(before := _Row(low, high, first, equal, more))
            more, less = (more << 1) | 1, less << 1
            rising, falling = (less | ~(equal | more)) & band, more & equal
            base += 1
        return base + rising.bit_count() - falling.bit_count(), rows

    def _alignment(self, text: str) -> _Alignment:
        """Return the alignment that sacreBLEU reads from its matrix: from the end, it prefers substitutions, then deletions."""
        _, rows = self._matrix(text)
        i, j = len(text), len(self._text)
        places, edited, edited_reference = [-1] * j, [0] * (i + 1), [0] * (j + 1)
        while i and j:
            row, above = rows[i], rows[i - 1]
            bit = 1 << (j - row.first)
            diagonal = above.low < j <= above.high
            same = text[i - 1] == self._text[j - 1]
            if diagonal and (same or not row.equal & bit):
                places[j - 1] = i - 1
                if not same:
                    edited[i] = edited_reference[j] = 1
                i, j = i - 1, j - 1
            elif above.low <= j < above.high and row.more & bit:
                edited[i] = 1
                i -= 1
            else:
                places[j - 1] = i - 1
                edited_reference[j] = 1
                j -= 1
        edited[1 : i + 1] = [1] * i
        edited_reference[1 : j + 1] = [1] * j
        return _Alignment(places, list(accumulate(edited)), list(accumulate(edited_reference)))


def _shift(text: str, start: int, length: int, target: int) -> str:
    """Return the text with `length` words from `start` moved to `target`, which is a position in the text as it was."""
    end, words = start + length, text[start : start + length]
    if target < start:
        return text[:target] + words + text[target:start] + text[end:]
    if target > end:
        return text[:start] + text[end:target] + words + text[target:]
    return text[:start] + text[end : length + target] + words + text[length + target :]
