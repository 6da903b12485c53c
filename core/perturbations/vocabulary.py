"""Find the tokens of a tokenizer that are whole words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from core.english.dictionary import cased
from core.text.words import units

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Ids = npt.NDArray[np.int64]
SPACE = ("Ġ", "▁")
"""Marks of a token after white space in byte-level and SentencePiece vocabularies."""
INSIDE = "##"
"""Mark of a token that continues a word in a WordPiece vocabulary."""


class WordCandidate(NamedTuple):
    """A candidate. `score` ranks those of one place: log probability up to a constant, or cosine in [−1, 1]."""

    text: str
    score: float


class Vocabulary:
    """The tokens of a tokenizer that are one whole word; `words` gives their texts by id.

    If the vocabulary marks white space, an unmarked token is a whole word only if the same word also exists with the
    mark, in any letter case; others are parts of words. `uncased`: the tokenizer ignores capitals.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        size, special = len(tokenizer), set(tokenizer.all_special_ids)
        raw = [str(t) for t in tokenizer.convert_ids_to_tokens(list(range(size)))]
        shown = tokenizer.batch_decode([[i] for i in range(size)], clean_up_tokenization_spaces=False)
        self.marked = any(t.startswith(SPACE) for t in raw)
        self.uncased = tokenizer.tokenize("A") == tokenizer.tokenize("a")
        self.marks_first = bool(tokenizer.tokenize("a")) and str(tokenizer.tokenize("a")[0]).startswith(SPACE)
        self.words: dict[int, str] = {}
        self._spaced: set[int] = set()
        self._inner: set[int] = set()
        for i, (token, text) in enumerate(zip(raw, shown, strict=True)):
            if i not in special and not token.startswith(INSIDE) and is_word(text.strip()):
                self.words[i] = text.strip()
                if not self.marked or token.startswith(SPACE):
                    self._spaced.add(i)
            if token.startswith(INSIDE) or (self.marked and not token.startswith(SPACE) and text[:1].isalnum()):
                self._inner.add(i)

    @cached_property
    def spaced(self) -> Ids:
        """Ids that can follow white space, ascending."""
        return np.array(sorted(self._spaced), dtype=np.int64)

    @cached_property
    def joined(self) -> Ids:
        """Ids that can follow a character other than white space, ascending."""
        if not self.marked:
            return self.spaced
        whole = {self.words[i].casefold() for i in self._spaced}
        return np.array(
            [i for i, w in self.words.items() if i not in self._spaced and w.casefold() in whole], dtype=np.int64
        )

    def at(self, *, spaced: bool, first: bool) -> Ids:
        """Return the ids that can follow white space (`spaced`), start a text (`first`), or follow punctuation."""
        return self.spaced if (spaced and not first) or (first and self.marks_first) else self.joined

    def goes_on(self, i: int) -> bool:
        """Return whether the token continues the word before it."""
        return i in self._inner

    def chosen(self, old: str, ids: Iterable[int], scores: Sequence[float], k: int) -> list[WordCandidate]:
        """Return the first k words that differ from `old` and from each other by more than letter case. An uncased
        vocabulary takes the capitals of `old`."""
        taken, out = {old.casefold()}, list[WordCandidate]()
        for i, score in zip(ids, scores, strict=True):
            word = self.words[i]
            if word.casefold() not in taken and len(out) < k:
                taken.add(word.casefold())
                out.append(WordCandidate(cased(word, old) if self.uncased else word, score))
        return out


def is_word(text: str) -> bool:
    """Return whether the text is exactly one word of letters or digits."""
    found = units(text)
    return len(found) == 1 and found[0].is_word and found[0].end == len(text) and text[0].isalnum()
