"""BERT-diverge (He et al. 2023, Table 16): words are replaced one by one with what a language model expects, and the meaning
drifts."""

from __future__ import annotations

from functools import lru_cache
from math import exp
from random import Random
from threading import Lock
from typing import TYPE_CHECKING

from core.perturbations.base import Edits, NoiseContext
from core.text.edits import Edit, Refused
from core.text.words import words

if TYPE_CHECKING:
    from core.perturbations.candidates import Proposer

TOP = 10
CHAINS = 256
"""Texts whose replacements are cached per seed: a stronger level continues where the weaker one stopped."""


class Chain:
    """The words of one text, replaced in random order as far as requested. Each replacement is sampled from the `TOP` most
    likely words in the current text, by their renormalised probabilities."""

    def __init__(self, text: str, seed: int, model: Proposer) -> None:
        self.model, self.random = model, Random(seed)
        self.spans = words(text)
        ends = [0, *(end for _, end in self.spans)]
        starts = [*(start for start, _ in self.spans), len(text)]
        self.gaps = [text[end:start] for end, start in zip(ends, starts, strict=True)]
        self.now = [text[start:end] for start, end in self.spans]
        self.order = list(range(len(self.spans)))
        self.random.shuffle(self.order)
        self.edits: list[Edit | None] = []  # one per place tried, None if the model has no word
        self._lock = Lock()

    def first(self, count: int) -> list[Edit]:
        """Return the replacements at the first `count` places of the order, as edits of the original."""
        with self._lock:
            while len(self.edits) < count:
                self.edits.append(self._next(self.order[len(self.edits)]))
            return [edit for edit in self.edits[:count] if edit]

    def _next(self, at: int) -> Edit | None:
        from core.perturbations.candidates import WordPlace

        before = "".join(gap + word for gap, word in zip(self.gaps[: at + 1], [*self.now[:at], ""], strict=True))
        after = "".join(word + gap for word, gap in zip(["", *self.now[at + 1 :]], self.gaps[at + 1 :], strict=True))
        word = self.now[at]
        proposals = self.model.expected([WordPlace(before + word + after, len(before), len(before) + len(word))], TOP)[
            0
        ]
        if not proposals:
            return None
        best = max(w.score for w in proposals)
        (new,) = self.random.choices([w.text for w in proposals], [exp(w.score - best) for w in proposals])
        self.now[at] = new
        return Edit(*self.spans[at], new)


@lru_cache(maxsize=CHAINS)
def _chain(text: str, seed: int, model: Proposer) -> Chain:
    return Chain(text, seed, model)


def diverge(text: str, strength: float, random: Random, context: NoiseContext) -> Edits:
    count = len(words(text))
    if not count:
        return Refused("no word in the text")
    from core.perturbations import candidates

    model = candidates.proposer()
    if reason := model.refuses(text):
        return Refused(reason)
    chain = _chain(text, random.getrandbits(64), model)
    return chain.first(max(1, round(min(strength, 1.0) * count)))


def model() -> str:
    """Return the model that proposes the words, with its revision. Raises UserError."""
    from core.perturbations import candidates

    return candidates.name_with_revision(candidates.proposer_checkpoint())
