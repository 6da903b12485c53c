"""Which tokens of a model are whole words: read from how its tokenizer writes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from core.stress.english import cased
from core.text.words import units

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Ids = npt.NDArray[np.int64]
SPACE = ("Ġ", "▁")
"""How a byte-level and a SentencePiece vocabulary mark a token that stands after white space."""
INSIDE = "##"
"""How a WordPiece vocabulary marks one that goes on with a word."""


class Word(NamedTuple):
    """A candidate; `score` compares those of one place: its log probability up to a constant, or its cosine in [−1, 1]."""

    text: str
    score: float


class Vocabulary:
    """The tokens of a tokenizer that are one whole word; `words` gives their texts by id.

    Where the vocabulary marks white space, a token without the mark is a whole word only if it is one with the mark as well, in some
    letter case: other such tokens are the insides of words. `uncased`: the tokenizer knows no capitals.
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
        """Those that can stand after white space, ascending."""
        return np.array(sorted(self._spaced), dtype=np.int64)

    @cached_property
    def joined(self) -> Ids:
        """Those that can stand where no white space goes before, ascending."""
        if not self.marked:
            return self.spaced
        whole = {self.words[i].casefold() for i in self._spaced}
        return np.array(
            [i for i, w in self.words.items() if i not in self._spaced and w.casefold() in whole], dtype=np.int64
        )

    def at(self, *, spaced: bool, first: bool) -> Ids:
        """The tokens that can stand after white space (`spaced`), at the beginning of a text (`first`), or after a sign."""
        return self.spaced if (spaced and not first) or (first and self.marks_first) else self.joined

    def goes_on(self, i: int) -> bool:
        """True for a token that is more of the word before it."""
        return i in self._inner

    def chosen(self, old: str, ids: Iterable[int], scores: Sequence[float], k: int) -> list[Word]:
        """The first k of these words that differ from `old`, and from each other, by more than letter case; without capitals of
        their own they take those of `old`."""
        taken, out = {old.casefold()}, list[Word]()
        for i, score in zip(ids, scores, strict=True):
            word = self.words[i]
            if word.casefold() not in taken and len(out) < k:
                taken.add(word.casefold())
                out.append(Word(cased(word, old) if self.uncased else word, score))
        return out


def is_word(text: str) -> bool:
    """True for one word, of letters or digits, and nothing else."""
    found = units(text)
    return len(found) == 1 and found[0].is_word and found[0].end == len(text) and text[0].isalnum()
