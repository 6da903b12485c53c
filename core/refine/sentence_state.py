"""The state of one sentence during a refinement, the pool of its candidate edits, and non-translations.

Log probabilities are ≤ 0, so the sum over the tokens scored so far bounds a candidate's precision, and 0 bounds its recall.
`core.models.architectures.seq2seq.Seq2SeqScorer.bounds` tightens both bounds before full scores are computed. A candidate is
dropped when its bound is below the best score found, so the result is that of an exhaustive search.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from core.models.architectures.packed import DecoderRow
from core.models.architectures.seq2seq import Array, EncodedText, Ids, Seq2SeqScorer
from core.refine.result import Edit, EditStep, Options, Variant
from core.signature import format_exact

Owners = tuple[int | None, ...]
"""For each token of an edited text, its index in the original text; None for an inserted token."""


class Detokenizer:
    """Return edited versions of `text` as strings.

    Tokens of a byte-level tokenizer decode to the exact text. Other tokenizers (SentencePiece) normalise and lose
    unknown characters. With these, an original token stands for the characters from the end of the previous token to
    its own end, and only new tokens are decoded.
    """

    def __init__(self, scorer: Seq2SeqScorer, text: str, encoded: EncodedText) -> None:
        self.scorer, self.text, self.encoded = scorer, text, encoded
        self.spelled = scorer.decode(encoded.ids) == text

    def detokenize(self, ids: Ids, owners: Owners) -> str:
        if self.spelled:
            return self.scorer.decode(ids)
        out, last = "", len(self.encoded.ids) - 1
        for place, (token, owner) in enumerate(zip(ids, owners, strict=True)):
            if owner is None:
                out += self._spell(ids[:place], token) if out else self._spell([], token).lstrip()
            elif owner == last:
                out += self.text[self._end(last - 1) :] if not self.encoded.truncated else ""
            elif owner >= self.scorer.first:
                out += self.text[self._end(owner - 1) : self._end(owner)]
        return out

    def _end(self, token: int) -> int:
        """Return the end offset of an original token, 0 before the first."""
        return self.encoded.offsets[token][1] if token >= self.scorer.first else 0

    def _spell(self, before: Sequence[int], token: int) -> str:
        """Return the text of a new token, with a leading space if it begins a word."""
        known = self.scorer.decode(before[-1:])
        return self.scorer.decode([*before[-1:], token])[len(known) :]


def owners_after(owners: Owners, at: int, edit: str) -> Owners:
    """Return the owners after a token at `at` was inserted, deleted or substituted."""
    new: Owners = () if edit == "delete" else (None,)
    return (*owners[:at], *new, *owners[at + (edit != "insert") :])


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


LONG = 10
"""Minimum number of tokens for the overlap test; shorter outputs use the probability test."""


def why_not_a_translation(
    hypothesis: Sequence[int],
    reference: Sequence[int],
    logps: np.ndarray,
    score_hyp: float,
    score_ref: float,
    options: Options = Options(),  # noqa: B008  (frozen)
) -> str:
    """Return why the hypothesis is not a translation, or "" if it passes the test.

    `hypothesis` and `reference` are token ids without special tokens, `logps` the log probabilities of the hypothesis
    tokens given the reference; the scores are BARTS(y|r) and BARTS(r|r). `options` set the test and its threshold. An empty
    hypothesis fails unless the tests are off.
    """
    if options.non_translation == "off":
        return ""
    if not hypothesis:
        return "the output is empty"
    if options.non_translation == "overlap" and len(hypothesis) >= LONG:
        share = token_overlap(hypothesis, reference)
        small = share <= options.overlap
        return (
            f"token overlap with the reference is {share:.2f} (limit {format_exact(options.overlap)})" if small else ""
        )
    threshold = (score_hyp + score_ref) / 2
    low = float(np.mean(logps < threshold))
    return (
        f"{low:.0%} of its tokens have a log probability below {threshold:.2f} (limit {options.share:.0%})"
        if low >= options.share
        else ""
    )


def token_overlap(first: Collection[int], second: Collection[int]) -> float:
    """Return |A ∩ B| / |A ∪ B| of two sets of token ids, in [0, 1]; 1 if both are empty."""
    a, b = set(first), set(second)
    return len(a & b) / len(a | b) if a | b else 1.0


NEAR = 64
"""Likely tokens per position that form the part of the vocabulary used for bounds."""


@dataclass(slots=True, eq=False)
class ScoredText:
    """A text given its condition: decoder states, log probabilities of its tokens, and score."""

    ids: Ids
    logps: Array
    hidden: Tensor
    past: Tensor
    score: float


@dataclass(slots=True, eq=False)
class SentenceState:
    """A sentence during refinement: `condition` is the chosen text, `read` its encoder states."""

    task: int
    hypothesis: EncodedText
    condition: EncodedText
    chosen: int
    read: Tensor
    first: ScoredText
    itself: float
    near: Tensor  # tokens used for the bounds of precision
    near_back: Tensor  # the same for recall
    detokenizer: Detokenizer
    owners: Owners
    why: str = ""
    rounds: int = 0
    now: ScoredText = field(init=False)
    steps: list[EditStep] = field(default_factory=list)
    seen: set[tuple[int, ...]] = field(default_factory=set)  # texts that an earlier round compared
    loose: Places | None = None  # tokens of the condition with the loosest bounds of recall

    def __post_init__(self) -> None:
        self.now = self.first


class PreparedOutput(NamedTuple):
    """An output with its task number and its encoded conditions."""

    task: int
    text: str
    hypothesis: EncodedText
    conditions: list[EncodedText]


class SentencePreparer:
    """Turns encoded outputs into sentences ready for refinement."""

    def __init__(self, scorer: Seq2SeqScorer, variant: Variant, options: Options) -> None:
        self.scorer, self.variant, self.options = scorer, variant, options
        self.backward = variant in ("recall", "f")

    def prepare(self, block: Sequence[PreparedOutput]) -> list[SentenceState]:
        """Score each output against each of its conditions and choose the best condition."""
        pairs = [(n, e.hypothesis, c) for n, e in enumerate(block) for c in e.conditions]
        distinct = dict.fromkeys(c.row for _, _, c in pairs)
        read = dict(zip(distinct, self.scorer.read([list(row) for row in distinct]), strict=True))
        forward, near = self._whole([read[c.row] for _, _, c in pairs], [h.ids for _, h, _ in pairs])
        plain = [t.score for t in forward]
        near_back = near
        if self.backward:
            lead = tuple(self.scorer.starts[1:])
            outputs = dict.fromkeys((*lead, *h.ids) for _, h, _ in pairs)
            turned = dict(zip(outputs, self.scorer.read([list(k) for k in outputs]), strict=True))
            back, near_back = self._whole([turned[*lead, *h.ids] for _, h, _ in pairs], [c.ids for _, _, c in pairs])
            plain = [
                b.score if self.variant == "recall" else (p.score + b.score) / 2
                for p, b in zip(forward, back, strict=True)
            ]
        best = [
            max(rows, key=lambda i: plain[i])
            for rows in (list(g) for _, g in groupby(range(len(pairs)), key=lambda i: pairs[i][0]))
        ]
        chosen = {pairs[i][2].row: pairs[i][2] for i in best}
        selves, _ = self._whole([read[k] for k in chosen], [c.ids for c in chosen.values()], near=0)
        itself = dict(zip(chosen, (t.score for t in selves), strict=True))
        out, at = [], 0
        for i, (task, output, hypothesis, conditions) in zip(best, block, strict=True):
            condition = pairs[i][2]
            text = ScoredText(
                forward[i].ids, forward[i].logps, forward[i].hidden.clone(), forward[i].past.clone(), plain[i]
            )
            more = torch.as_tensor([*hypothesis.ids, *condition.ids], device=self.scorer.device)
            sentence = SentenceState(
                task,
                hypothesis,
                condition,
                i - at,
                read[condition.row],
                text,
                itself[condition.row],
                torch.unique(torch.cat([near[i].flatten(), more])),
                torch.unique(torch.cat([near_back[i].flatten(), more])),
                Detokenizer(self.scorer, output, hypothesis),
                tuple(range(len(hypothesis.ids))),
            )
            at += len(conditions)
            sentence.why = self._why(sentence)
            inner = len(hypothesis.ids) - self.scorer.first - 1
            sentence.rounds = math.ceil(inner / 2) if self.options.rounds is None else self.options.rounds
            out.append(sentence)
        return out

    def _whole(
        self, read: Sequence[Tensor], texts: Sequence[Ids], near: int = NEAR
    ) -> tuple[list[ScoredText], list[Tensor]]:
        """Score whole texts; return them with the likely tokens at each position."""
        scorer, skip = self.scorer, len(self.scorer.starts) - 1
        run = scorer.run([DecoderRow(r, None, 0, scorer.inputs(t)) for r, t in zip(read, texts, strict=True)])
        targets = [i for t in texts for i in (*[0] * skip, *t)]
        flat, ids, _ = scorer.likely(run.hidden, targets, near)
        out, likely, at = [], [], 0
        for text in texts:
            end = at + skip + len(text)
            logps = flat[at + skip : end]
            out.append(ScoredText(text, logps, run.hidden[at:end], run.past[:, :, at:end], float(logps.mean())))
            likely.append(ids[at + skip : end])
            at = end
        return out, likely

    def _why(self, sentence: SentenceState) -> str:
        first, ids = self.scorer.first, sentence.hypothesis.ids
        text = sentence.first
        return why_not_a_translation(
            ids[first:-1],
            sentence.condition.ids[first:-1],
            text.logps[first:-1],
            float(text.logps.mean()),
            sentence.itself,
            self.options if self.variant != "faithfulness" else self.options.without_overlap(),
        )
