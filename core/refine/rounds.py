"""One round of detect–correct for many sentences at once; `core.refine.engine` describes the procedure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from core.models.architectures.packed import DecoderRow
from core.models.architectures.seq2seq import Array, Seq2SeqScorer
from core.models.loading import bytes_for
from core.refine.result import NOISE, EditStep, Options, Variant
from core.refine.sentence_state import (
    CandidatePool,
    EditCandidate,
    Places,
    ScoredText,
    SentenceState,
    edit_candidates,
    owners_after,
)

FIRST, TOGETHER = 4, 64
"""Minimum number of candidate edits per sentence that are scored first, and their total over all sentences."""

ALL = 1 << 30


def one_large_pass(device: torch.device) -> bool:
    """Return whether to run one large pass: True on a GPU.

    There, one product with the whole vocabulary is faster than bounds per text, and decoding a winner again is faster than keeping
    all keys and values.
    """
    return device.type == "cuda"


class SentenceRound(NamedTuple):
    """A sentence in one round: its worst token `at`, the likely tokens there, and the candidate edits."""

    sentence: SentenceState
    at: int
    near: list[tuple[int, float]]
    pool: CandidatePool


class RoundRunner:
    """Runs rounds. `report` is called before each batch and may raise `Cancelled`. `engines` of them share the memory."""

    def __init__(
        self, scorer: Seq2SeqScorer, variant: Variant, options: Options, report: Callable[[], None], engines: int = 1
    ) -> None:
        self.scorer, self.variant, self.options, self._report = scorer, variant, options, report
        self.memory = bytes_for(scorer.device) // engines
        self.forward = variant != "recall"
        self.backward = variant in ("recall", "f")
        self.kept = len(scorer.starts)  # decoder inputs before the first target token
        self.large = one_large_pass(scorer.device)
        self.held = 0  # bytes of keys and values kept by candidate edits of this round

    def run(self, sentences: Sequence[SentenceState]) -> list[SentenceState]:
        """Apply the best edit to each sentence; return the sentences that no edit improves."""
        if not sentences:
            return []
        self.held = 0
        turns = self._enter(sentences)
        for width in (max(FIRST, TOGETHER // len(turns)), ALL):
            asked = [(t, t.pool.most_promising(width, self._unknown)) for t in turns]
            self._advance([(t, c) for t, some in asked for c in sorted(some, key=lambda c: len(c.ids))])
            several = ALL if self.large else 1  # in large passes, known scores are exact
            while ready := [(t, c) for t in turns for c in t.pool.most_promising(several, self._known)]:
                self._compute_exact(ready)
                several *= 2
        won = [(t, t.pool.winner) for t in turns if t.pool.winner]
        self._complete(won)
        for turn, winner in won:
            self._accept(turn, winner)
        return [t.sentence for t in turns if not t.pool.winner]

    def _enter(self, sentences: Sequence[SentenceState]) -> list[SentenceRound]:
        first, skip = self.scorer.first, self.kept - 1
        places = [first + int(np.argmin(s.now.logps[first:])) for s in sentences]
        hidden = torch.stack([s.now.hidden[skip + t] for s, t in zip(sentences, places, strict=True)])
        following = [s.now.ids[min(t + 1, len(s.now.ids) - 1)] for s, t in zip(sentences, places, strict=True)]
        after, near, logps = self.scorer.likely(hidden, following, self.options.k)
        near, logps = near.cpu(), logps.cpu()
        out = []
        for i, (s, at) in enumerate(zip(sentences, places, strict=True)):
            likely = list(zip(near[i].tolist(), logps[i].tolist(), strict=True))
            full = len(s.now.ids) + skip >= self.scorer.limit
            edits = [e for e in self.options.edits if not (full and e == "insert")]
            made = edit_candidates(s.now.ids, s.now.logps, at, likely, float(after[i]), edits)
            texts = [tuple(c.ids) for c in made]  # those seen have lost to a text no better than this one
            entered = [c for c, text in zip(made, texts, strict=True) if text not in s.seen]
            s.seen.update(texts)
            out.append(
                SentenceRound(
                    s, at, likely, CandidatePool(entered, s.now.score + NOISE, self.variant, self.scorer.slack)
                )
            )
        return out

    def _known(self, c: EditCandidate) -> bool:
        return (c.hidden is not None or not self.forward) and (c.back is not None or not self.backward)

    def _unknown(self, c: EditCandidate) -> bool:
        return not self._known(c)

    def _advance(self, asked: Sequence[tuple[SentenceRound, EditCandidate]]) -> None:
        """Compute the missing hidden states of these candidates, skipping those that can no longer win."""
        if self.forward:
            self._decode([(t, c) for t, c in asked if c.hidden is None])
        if self.backward:
            self._score_recall([(t, c) for t, c in asked if c.back is None and t.pool.can_win(c)])

    def _row(self, turn: SentenceRound, c: EditCandidate) -> DecoderRow:
        return DecoderRow(turn.sentence.read, turn.sentence.now.past, self.kept + c.at, c.fed)

    def _decode(self, asked: Sequence[tuple[SentenceRound, EditCandidate]]) -> None:
        """Run the decoder over the new tokens of each candidate and tighten the bounds of precision; on a GPU, make them exact.

        Keys and values are kept while memory allows, but never on a GPU. A winner without them is decoded again.
        """
        nothing = self.scorer.parts.weight.new_empty((0, self.scorer.parts.weight.shape[1]))
        for _, c in asked:
            c.hidden = nothing
        some = [(t, c) for t, c in asked if c.unscored]
        kept = []
        for t, c in () if self.large else some:
            size = c.unscored * t.sentence.now.past[:, :, :1].nbytes
            kept.append(self.held + size <= self.memory)
            self.held += size * kept[-1]

        def work(piece: range) -> range:
            run = self.scorer.once([self._row(*some[i]) for i in piece], keep=not self.large)
            if self.large:
                self._exact_precision([some[i][1] for i in piece], run.hidden)
                return piece
            sizes = [some[i][1].unscored for i in piece]
            ends = np.cumsum(sizes).tolist()
            for i, size, end in zip(piece, sizes, ends, strict=True):
                c = some[i][1]
                c.hidden = run.hidden[end - size : end]
                c.past = run.past[:, :, end - size : end] if kept[i] else None
            for turn, group in groupby(zip(piece, sizes, ends, strict=True), key=lambda at: some[at[0]][0]):
                mine = list(group)
                first, last = mine[0][2] - mine[0][1], mine[-1][2]
                tails = [token for i, _, _ in mine for token in some[i][1].tail]
                bounds = self.scorer.bounds(run.hidden[first:last], tails, turn.sentence.near)
                for (i, _, _), values in zip(mine, _cut(bounds, [size for _, size, _ in mine]), strict=True):
                    c = some[i][1]
                    c.precision = min(c.precision, float(c.head.sum() + values.sum()) / len(c.ids))
            return piece

        self._spend([c.unscored for _, c in some], work)

    def _score_recall(self, asked: Sequence[tuple[SentenceRound, EditCandidate]]) -> None:
        """Encode each candidate, run the decoder over the reference and tighten the bounds of recall."""
        scorer, skip = self.scorer, self.kept - 1

        def work(piece: range) -> range:
            part = [asked[i] for i in piece]
            read = scorer.read([[*scorer.starts[1:], *c.ids] for _, c in part])
            pairs = zip(read, part, strict=True)
            hidden = scorer.once(
                [DecoderRow(r, None, 0, scorer.inputs(t.sentence.condition.ids)) for r, (t, _) in pairs], keep=False
            ).hidden
            if self.large:
                self._exact_references(part, hidden)
                return piece
            at = 0
            for turn, group in groupby(part, key=lambda tc: tc[0]):
                targets = turn.sentence.condition.ids
                mine, size = [c for _, c in group], skip + len(targets)
                block = hidden[at : at + size * len(mine)].view(len(mine), size, -1)[:, skip:]
                bounds = scorer.bounds(block.flatten(0, 1), targets * len(mine), turn.sentence.near_back)
                for c, states, values in zip(mine, block, bounds.reshape(len(mine), -1), strict=True):
                    c.back, c.back_logps, c.recall = states, values.copy(), min(c.recall, float(values.mean()))
                at += size * len(mine)
            return piece

        self._spend([max(len(c.ids), len(t.sentence.condition.ids)) + skip for t, c in asked], work)

    def _exact_references(self, part: Sequence[tuple[SentenceRound, EditCandidate]], hidden: Tensor) -> None:
        """Replace the bounds of recall by exact scores, given the states of the reference for each candidate."""
        skip = self.kept - 1
        targets = [[0] * skip + t.sentence.condition.ids for t, _ in part]
        flat = self.scorer.logps(hidden, [i for row in targets for i in row])
        nothing = hidden.new_empty((0, hidden.shape[1]))
        for (_, c), values in zip(part, _cut(flat, [len(row) for row in targets]), strict=True):
            c.back, c.back_logps, c.recall = nothing, values[skip:], float(values[skip:].mean())
            c.open = np.zeros(len(c.back_logps), bool)

    def _spend(self, sizes: Sequence[int], work: Callable[[range], range]) -> None:
        self._report()
        for _ in self.scorer.budget.each(sizes, lambda piece: [work(piece)]):
            self._report()

    def _complete(self, won: Sequence[tuple[SentenceRound, EditCandidate]]) -> None:
        """Compute what the next round needs of the winners and is missing."""
        bare = [(t, c) for t, c in won if c.unscored and c.past is None]
        if bare:
            run = self.scorer.run([self._row(t, c) for t, c in bare])
            sizes = [c.unscored for _, c in bare]
            for (_, c), hidden, past in zip(
                bare, torch.split(run.hidden, sizes), torch.split(run.past, sizes, dim=2), strict=True
            ):
                c.hidden, c.past = hidden, past
        self._exact(c for _, c in won if c.logps is None)

    def _compute_exact(self, ready: Sequence[tuple[SentenceRound, EditCandidate]]) -> None:
        """Replace the bounds of these candidates by exact scores: of recall first where its bounds are loosest."""
        if self.backward and not self.large:
            narrow = [(t, c) for t, c in ready if c.open is None and t.sentence.loose is not None]
            self._exact_back([(t, c, t.sentence.loose) for t, c in narrow if t.sentence.loose is not None])
            done = {id(c) for _, c in narrow}
            ready = [(t, c) for t, c in ready if id(c) not in done]
            self._exact_back(
                [(t, c, np.ones(len(t.sentence.condition.ids), bool) if c.open is None else c.open) for t, c in ready]
            )
        if self.forward:
            self._exact(c for _, c in ready if c.logps is None)
        for turn, c in ready:
            turn.pool.settle(c)

    def _exact_back(self, asked: Sequence[tuple[SentenceRound, EditCandidate, Places]]) -> None:
        """Replace the bounds at some places of the reference by exact log probabilities."""
        if not asked:
            return
        targets = [np.asarray(t.sentence.condition.ids)[places].tolist() for t, _, places in asked]
        states = torch.cat([c.back[torch.from_numpy(p).to(c.back.device)] for _, c, p in asked if c.back is not None])
        flat = self.scorer.logps(states, [i for row in targets for i in row])
        for (t, c, places), exact in zip(asked, _cut(flat, [len(row) for row in targets]), strict=True):
            assert c.back_logps is not None
            if t.sentence.loose is None:
                gap = c.back_logps - exact
                t.sentence.loose = gap > gap.mean()
            c.back_logps[places] = exact
            c.open = ~places
            c.recall = float(c.back_logps.mean())

    def _exact(self, ready: Iterable[EditCandidate]) -> None:
        mine = list(ready)
        hidden = [c.hidden for c in mine if c.hidden is not None]
        if hidden:
            self._exact_precision([c for c in mine if c.hidden is not None], torch.cat(hidden))
        for c in mine:
            if c.hidden is None:
                c.logps, c.precision = c.head, float(c.head.mean())

    def _exact_precision(self, some: Sequence[EditCandidate], hidden: Tensor) -> None:
        """Replace the bounds of precision by exact scores, given the states of the new tokens of all candidates."""
        flat = self.scorer.logps(hidden, [i for c in some for i in c.tail])
        for c, values in zip(some, _cut(flat, [c.unscored for c in some]), strict=True):
            c.logps = np.concatenate([c.head, values])
            c.precision = float(c.logps.sum()) / len(c.logps)

    def _accept(self, turn: SentenceRound, winner: EditCandidate) -> None:
        """Make the winner the sentence's current text and record the edit."""
        sentence, scorer = turn.sentence, self.scorer
        now, known = sentence.now, self.kept + winner.at
        hidden, past = now.hidden[:known], now.past[:, :, :known]
        if winner.past is not None and winner.hidden is not None:
            hidden, past = torch.cat([hidden, winner.hidden]), torch.cat([past, winner.past], dim=2)
        sentence.owners = owners_after(sentence.owners, turn.at, winner.edit)
        score = winner.score(self.variant)
        step = EditStep(
            position=turn.at - scorer.first,
            edit=winner.edit,
            old=scorer.piece(now.ids[turn.at]),
            new="" if winner.token is None else scorer.piece(winner.token),
            before=now.score,
            after=score,
            alternatives=tuple((scorer.piece(token), math.exp(logp)) for token, logp in turn.near),
            text=sentence.detokenizer.detokenize(winner.ids, sentence.owners),
        )
        sentence.steps.append(step)
        assert winner.logps is not None
        sentence.now = ScoredText(winner.ids, winner.logps, hidden, past, score)


def _cut(flat: Array, sizes: Sequence[int]) -> list[Array]:
    return np.split(flat, np.cumsum(sizes)[:-1])
