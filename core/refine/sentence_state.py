"""Prepare outputs for refinement: score them against their conditions, choose one and detect non-translations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

import torch
from torch import Tensor

from core.models.architectures.packed import DecoderRow
from core.models.architectures.seq2seq import Array, EncodedText, Ids, Seq2SeqScorer
from core.refine.candidate_pool import Places
from core.refine.detokenize import Detokenizer, Owners
from core.refine.non_translation import why_not_a_translation
from core.refine.options import Options
from core.refine.result import EditStep, Variant

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
        there, near = self._whole([read[c.row] for _, _, c in pairs], [h.ids for _, h, _ in pairs])
        plain = [t.score for t in there]
        near_back = near
        if self.backward:
            lead = tuple(self.scorer.starts[1:])
            outputs = dict.fromkeys((*lead, *h.ids) for _, h, _ in pairs)
            turned = dict(zip(outputs, self.scorer.read([list(k) for k in outputs]), strict=True))
            back, near_back = self._whole([turned[*lead, *h.ids] for _, h, _ in pairs], [c.ids for _, _, c in pairs])
            plain = [
                b.score if self.variant == "recall" else (p.score + b.score) / 2
                for p, b in zip(there, back, strict=True)
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
            text = ScoredText(there[i].ids, there[i].logps, there[i].hidden.clone(), there[i].past.clone(), plain[i])
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
