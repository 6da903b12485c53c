"""One round for one sentence: the candidates of an edit, and upper bounds that tell which of them can still win.

Log probabilities are ≤ 0, so the sum over the tokens known so far bounds a candidate's precision, and 0 its recall;
`core.models.seq2seq.Seq2SeqScorer.bounds` narrows both before anything is computed in full. A candidate whose bound is
below the best score found is dropped: the edit that is chosen is the one an exhaustive search would choose.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from core.models.seq2seq import Array, Ids
from core.refine.result import Edit, Variant


@dataclass(slots=True, eq=False)
class Candidate:
    """A text that differs by one edit from position `at` on.

    `head` are the log probabilities known beforehand: those of the tokens before `at`, which the edit does not touch, and
    that of the token at `at`. `precision` and `recall` are upper bounds until `settled`.
    """

    edit: Edit
    token: int | None
    ids: Ids
    at: int
    head: Array
    precision: float
    recall: float = 0.0
    settled: bool = False
    logps: Array | None = None
    hidden: Tensor | None = None  # of the tokens after `at`
    past: Tensor | None = None
    back: Tensor | None = None  # hidden states of the reference given this text

    def score(self, variant: Variant) -> float:
        """BARTScore under the variant, or its upper bound. ≤ 0, higher is better."""
        if variant in ("precision", "faithfulness"):
            return self.precision
        return self.recall if variant == "recall" else (self.precision + self.recall) / 2

    @property
    def tail(self) -> Ids:
        """The targets that are not known beforehand."""
        return self.ids[self.at + 1 :]

    @property
    def fed(self) -> Ids:
        """Decoder inputs that are not known beforehand, one for each token of the tail."""
        return self.ids[self.at : -1]


def candidates(
    ids: Ids,
    logps: Array,
    at: int,
    near: Sequence[tuple[int, float]],
    after: float,
    edits: Sequence[Edit],
) -> list[Candidate]:
    """Insert, delete and substitute at `at`; at the end (`</s>`) only insertion. The token that is there is no substitute.

    `near` are tokens with their log probabilities at `at`, `after` is that of the token that follows, were it there.
    """
    before, rest = ids[:at], ids[at:]
    out: list[Candidate] = []

    def add(edit: Edit, token: int | None, new: Ids, logp: float) -> None:
        head = np.append(logps[:at], logp)
        out.append(Candidate(edit, token, new, at, head, float(head.sum()) / len(new)))

    if "insert" in edits:
        for token, logp in near:
            add("insert", token, [*before, token, *rest], logp)
    if len(rest) > 1:
        if "delete" in edits:
            add("delete", None, [*before, *rest[1:]], after)
        if "substitute" in edits:
            for token, logp in near:
                if token != rest[0]:
                    add("substitute", token, [*before, token, *rest[1:]], logp)
    return out


class Contest:
    """The candidates of one round; `best` is the score to beat, at first that of leaving the text as it is.

    Bounds and exact scores are computed in different batches: a difference below `slack` says nothing.
    """

    def __init__(self, entered: list[Candidate], keep: float, variant: Variant, slack: float) -> None:
        self.entered, self.best, self.variant, self.slack = entered, keep, variant, slack
        self.winner: Candidate | None = None

    def open(self, width: int, known: Callable[[Candidate], bool]) -> list[Candidate]:
        """Of the candidates that may still win, are not settled and for which `known` holds, those with the best bounds."""
        alive = [c for c in self.entered if not c.settled and known(c) and self.alive(c)]
        return sorted(alive, key=lambda c: -c.score(self.variant))[:width]

    def alive(self, candidate: Candidate) -> bool:
        return candidate.score(self.variant) >= self.best - self.slack

    def settle(self, candidate: Candidate) -> None:
        """Take note of an exact score; of equal scores the candidate entered first wins."""
        candidate.settled = True
        score = candidate.score(self.variant)
        if not math.isfinite(score):
            return
        if score > self.best:
            self.best, self.winner = score, candidate
        elif score == self.best and self.winner and self.entered.index(candidate) < self.entered.index(self.winner):
            self.winner = candidate
