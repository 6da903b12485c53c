"""Candidate edits of one sentence in one round, with upper bounds on their scores.

Log probabilities are ≤ 0, so the sum over the tokens scored so far bounds a candidate's precision, and 0 bounds its recall.
`core.models.architectures.seq2seq.Seq2SeqScorer.bounds` tightens both bounds before full scores are computed. A candidate is
dropped when its bound is below the best score found, so the result is that of an exhaustive search.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from torch import Tensor

from core.models.architectures.seq2seq import Array, Ids
from core.refine.result import Edit, Variant

Places = npt.NDArray[np.bool_]


@dataclass(slots=True, eq=False)
class EditCandidate:
    """A text after one edit at token `at`.

    `head` holds the known log probabilities: those of the unchanged tokens before `at` and that of the token at `at`.
    `precision` and `recall` are upper bounds until `settled`.
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
    back_logps: Array | None = None  # upper bounds of the reference's log probabilities, exact where not `open`
    open: Places | None = None

    def score(self, variant: Variant) -> float:
        """Return BARTScore under the variant, or its upper bound. ≤ 0, higher is better."""
        if variant in ("precision", "faithfulness"):
            return self.precision
        return self.recall if variant == "recall" else (self.precision + self.recall) / 2

    @property
    def unscored(self) -> int:
        """Return the number of tokens that still have to be scored."""
        return len(self.ids) - self.at - 1

    @property
    def tail(self) -> Ids:
        """Return the target tokens that still have to be scored."""
        return self.ids[self.at + 1 :]

    @property
    def fed(self) -> Ids:
        """Return the new decoder inputs, one per token of the tail."""
        return self.ids[self.at : -1]


def edit_candidates(
    ids: Ids,
    logps: Array,
    at: int,
    near: Sequence[tuple[int, float]],
    after: float,
    edits: Sequence[Edit],
) -> list[EditCandidate]:
    """Return all insertions, deletions and substitutions at `at`; only insertions at the end (`</s>`).

    `near` holds candidate tokens with their log probabilities at `at`; the present token is not substituted by itself.
    `after` is the log probability of the following token at `at`, used for deletion.
    """
    before, rest = ids[:at], ids[at:]
    made: list[tuple[Edit, int | None, Ids, float]] = []
    if "insert" in edits:
        made += [("insert", token, [*before, token, *rest], logp) for token, logp in near]
    if len(rest) > 1:
        if "delete" in edits:
            made.append(("delete", None, [*before, *rest[1:]], after))
        if "substitute" in edits:
            made += [("substitute", t, [*before, t, *rest[1:]], logp) for t, logp in near if t != rest[0]]
    heads = np.empty((len(made), at + 1))
    heads[:, :at], heads[:, at] = logps[:at], [logp for *_, logp in made]
    return [
        EditCandidate(edit, token, new, at, head, known / len(new))
        for (edit, token, new, _), head, known in zip(made, heads, heads.sum(axis=1).tolist(), strict=True)
    ]


class CandidatePool:
    """The candidates of one round. `best` is the score to beat; it starts as the score of the unedited text.

    Bounds and exact scores come from different batches, so differences below `slack` are ignored.
    """

    def __init__(self, entered: list[EditCandidate], keep: float, variant: Variant, slack: float) -> None:
        self.candidates, self.best, self.variant, self.slack = entered, keep, variant, slack
        self.winner: EditCandidate | None = None

    def most_promising(self, width: int, known: Callable[[EditCandidate], bool]) -> list[EditCandidate]:
        """Return the `width` unsettled candidates with the highest bounds that can win and for which `known` is true."""
        alive = [c for c in self.candidates if not c.settled and known(c) and self.can_win(c)]
        return sorted(alive, key=lambda c: -c.score(self.variant))[:width]

    def can_win(self, candidate: EditCandidate) -> bool:
        """Return whether the candidate's bound reaches the best score."""
        return candidate.score(self.variant) >= self.best - self.slack

    def settle(self, candidate: EditCandidate) -> None:
        """Record an exact score. On equal scores, the earlier candidate wins."""
        candidate.settled = True
        score = candidate.score(self.variant)
        if not math.isfinite(score):
            return
        if score > self.best:
            self.best, self.winner = score, candidate
        elif (
            score == self.best and self.winner and self.candidates.index(candidate) < self.candidates.index(self.winner)
        ):
            self.winner = candidate
