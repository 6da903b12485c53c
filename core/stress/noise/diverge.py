"""BERT-diverge (He et al. 2023, Table 16): words give way one by one to what a language model expects, and the meaning drifts off."""

from __future__ import annotations

from functools import lru_cache
from math import exp
from random import Random
from threading import Lock
from typing import TYPE_CHECKING

from core.stress.base import Edit, Outcome, Refused
from core.stress.noise.base import Beside, Level, Noise, edited
from core.text.words import words

if TYPE_CHECKING:
    from core.stress.candidates import Proposer

TOP = 10
CHAINS = 256
"""Texts under one seed whose replacements are remembered: a stronger level goes on where the weaker one stopped."""


class Chain:
    """The words of one text replaced in a random order, as far as anybody asked for; each is sampled from the `TOP` words that the
    model expects in the text as it then stands, by their probabilities among these."""

    def __init__(self, text: str, seed: int, model: Proposer) -> None:
        self.model, self.random = model, Random(seed)
        self.spans = words(text)
        ends = [0, *(end for _, end in self.spans)]
        starts = [*(start for start, _ in self.spans), len(text)]
        self.gaps = [text[end:start] for end, start in zip(ends, starts, strict=True)]
        self.now = [text[start:end] for start, end in self.spans]
        self.order = list(range(len(self.spans)))
        self.random.shuffle(self.order)
        self.edits: list[Edit | None] = []  # one for each place tried, None where the model has no word
        self._lock = Lock()

    def first(self, count: int) -> list[Edit]:
        """The replacements at the first `count` places of the order, as edits of the original."""
        with self._lock:
            while len(self.edits) < count:
                self.edits.append(self._next(self.order[len(self.edits)]))
            return [edit for edit in self.edits[:count] if edit]

    def _next(self, at: int) -> Edit | None:
        from core.stress.candidates import Place

        before = "".join(gap + word for gap, word in zip(self.gaps[: at + 1], [*self.now[:at], ""], strict=True))
        after = "".join(word + gap for word, gap in zip(["", *self.now[at + 1 :]], self.gaps[at + 1 :], strict=True))
        word = self.now[at]
        found = self.model.expected([Place(before + word + after, len(before), len(before) + len(word))], TOP)[0]
        if not found:
            return None
        best = max(w.score for w in found)
        (new,) = self.random.choices([w.text for w in found], [exp(w.score - best) for w in found])
        self.now[at] = new
        return Edit(*self.spans[at], new)


@lru_cache(maxsize=CHAINS)
def _chain(text: str, seed: int, model: Proposer) -> Chain:
    return Chain(text, seed, model)


def _diverged(text: str, strength: float, random: Random, beside: Beside) -> Outcome:
    count = len(words(text))
    if not count:
        return Refused("no word in it")
    from core.stress import candidates

    model = candidates.proposer()
    if reason := model.refuses(text):
        return Refused(reason)
    chain = _chain(text, random.getrandbits(64), model)
    return edited(
        text, chain.first(max(1, round(min(strength, 1.0) * count))), "the model expects no other word anywhere"
    )


def models() -> str:
    """The model whose words they are, with its revision. Raises UserError."""
    from core.stress import candidates

    return candidates.named(candidates.expecting())


DIVERGE = Noise(
    name="diverge",
    family="diverge",
    label="BERT-diverge",
    aspect="consistency",
    paper="He et al. 2023, Table 16",
    help="Words in random order give way, one by one, to one of the ten that a language model expects there: the masked one (role mlm), after "
    "which the text stays fluent and drifts from what it said; or the scorer where there is none, which reads English alone and less well.",
    make=_diverged,
    levels=tuple(Level(s, f"{s:.0%}") for s in (0.1, 0.2, 0.3, 0.4, 0.5)),
    models=models,
    loads_model=True,
)
