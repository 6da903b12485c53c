"""One round of detect and correct, for many sentences at once (`core.refine.engine` tells the procedure).

What stands before an edit is never computed again; candidates that cannot win are dropped (`core.refine.contest`); the
scores of the chosen one are carried into the next round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
import torch

from core.models.budget import bytes_for
from core.models.packed import Row
from core.models.seq2seq import Array, Seq2SeqScorer
from core.refine.contest import Candidate, Contest, candidates
from core.refine.opening import Sentence, Text
from core.refine.options import Options
from core.refine.result import Step, Variant
from core.refine.written import owners_after

TIE = 1e-6
"""Two scores nearer than this are equal: the same text scored in different batches may differ in the last digits."""

FIRST, TOGETHER = 4, 64
"""Candidates of a sentence that are computed first, and those of all sentences together that keep a processor busy."""

ALL = 1 << 30


class Turn(NamedTuple):
    """A sentence in a round: where it is worst, what is likely there, and the contest of its candidates."""

    sentence: Sentence
    at: int
    near: list[tuple[int, float]]
    contest: Contest


class Rounds:
    """Plays rounds; `hear` is called before every piece of work and may raise."""

    def __init__(self, scorer: Seq2SeqScorer, variant: Variant, options: Options, hear: Callable[[], None]) -> None:
        self.scorer, self.variant, self.options, self._hear = scorer, variant, options, hear
        self.forward = variant != "recall"
        self.backward = variant in ("recall", "f")
        self.kept = len(scorer.starts)  # inputs before the first token of a target is fed
        self.held = 0  # bytes of keys and values that candidates of this round keep

    def play(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """Detect and correct once in every sentence; those that are left as they are come back."""
        if not sentences:
            return []
        self.held = 0
        turns = self._enter(sentences)
        for width in (max(FIRST, TOGETHER // len(turns)), ALL):
            asked = [(t, t.contest.open(width, self._unknown)) for t in turns]
            self._advance([(t, c) for t, some in asked for c in sorted(some, key=lambda c: len(c.ids))])
            several = 1
            while ready := [(t, c) for t in turns for c in t.contest.open(several, self._known)]:
                self._settle(ready)
                several *= 2
        won = [(t, t.contest.winner) for t in turns if t.contest.winner]
        self._complete(won)
        for turn, winner in won:
            self._accept(turn, winner)
        return [t.sentence for t in turns if not t.contest.winner]

    def _enter(self, sentences: Sequence[Sentence]) -> list[Turn]:
        first, skip = self.scorer.first, self.kept - 1
        places = [first + int(np.argmin(s.now.logps[first:])) for s in sentences]
        hidden = torch.stack([s.now.hidden[skip + t] for s, t in zip(sentences, places, strict=True)])
        following = [s.now.ids[min(t + 1, len(s.now.ids) - 1)] for s, t in zip(sentences, places, strict=True)]
        after, near, logps = self.scorer.likely(hidden, following, self.options.k)
        out = []
        for i, (s, at) in enumerate(zip(sentences, places, strict=True)):
            likely = list(zip(near[i].tolist(), logps[i].tolist(), strict=True))
            full = len(s.now.ids) + skip >= self.scorer.limit
            edits = [e for e in self.options.edits if not (full and e == "insert")]
            entered = candidates(s.now.ids, s.now.logps, at, likely, float(after[i]), edits)
            out.append(Turn(s, at, likely, Contest(entered, s.now.score + TIE, self.variant, self.scorer.slack)))
        return out

    def _known(self, c: Candidate) -> bool:
        return (c.hidden is not None or not self.forward) and (c.back is not None or not self.backward)

    def _unknown(self, c: Candidate) -> bool:
        return not self._known(c)

    def _advance(self, asked: Sequence[tuple[Turn, Candidate]]) -> None:
        """Compute what is missing of these candidates' hidden states; those that drop out on the way stay as they are."""
        if self.forward:
            self._decode([(t, c) for t, c in asked if c.hidden is None])
        if self.backward:
            self._turn_round([(t, c) for t, c in asked if c.back is None and t.contest.alive(c)])

    def _row(self, turn: Turn, c: Candidate) -> Row:
        return Row(turn.sentence.read, turn.sentence.now.past, self.kept + c.at, c.fed)

    def _decode(self, asked: Sequence[tuple[Turn, Candidate]]) -> None:
        """Run the decoder over what is new in each candidate, and narrow the bounds of precision.

        Keys and values are kept while there is room for them; a winner without them is run once more.
        """
        for _, c in asked:
            c.hidden = self.scorer.parts.weight.new_empty((0, self.scorer.parts.weight.shape[1]))
        some = [(t, c) for t, c in asked if c.fed]

        def work(piece: range) -> None:
            self._hear()
            part = [some[i] for i in piece]
            run = self.scorer.once([self._row(t, c) for t, c in part])
            keep = self.held + run.past.nbytes <= bytes_for(run.past.device)
            self.held += run.past.nbytes * keep
            at = 0
            for turn, group in groupby(part, key=lambda tc: tc[0]):
                mine = [c for _, c in group]
                size = sum(len(c.fed) for c in mine)
                tails = [i for c in mine for i in c.tail]
                bounds = self.scorer.bounds(run.hidden[at : at + size], tails, turn.sentence.near)
                for c, values in zip(mine, _cut(bounds, [len(c.fed) for c in mine]), strict=True):
                    c.hidden = run.hidden[at : at + len(c.fed)]
                    c.past = run.past[:, :, at : at + len(c.fed)] if keep else None
                    c.precision = min(c.precision, float(c.head.sum() + values.sum()) / len(c.ids))
                    at += len(c.fed)

        self.scorer.budget.spend([len(c.fed) for _, c in some], work)

    def _turn_round(self, asked: Sequence[tuple[Turn, Candidate]]) -> None:
        """Read each candidate and run the decoder over the reference, and narrow the bounds of recall."""
        scorer, skip = self.scorer, self.kept - 1

        def work(piece: range) -> None:
            self._hear()
            part = [asked[i] for i in piece]
            read = scorer.read([[*scorer.starts[1:], *c.ids] for _, c in part])
            given = zip(read, part, strict=True)
            hidden = scorer.once(
                [Row(r, None, 0, scorer.inputs(t.sentence.condition.ids)) for r, (t, _) in given]
            ).hidden
            at = 0
            for turn, group in groupby(part, key=lambda tc: tc[0]):
                targets = turn.sentence.condition.ids
                mine, size = [c for _, c in group], skip + len(targets)
                block = hidden[at : at + size * len(mine)].view(len(mine), size, -1)[:, skip:]
                bounds = scorer.bounds(block.flatten(0, 1), targets * len(mine), turn.sentence.near_back)
                for c, states, values in zip(mine, block, bounds.reshape(len(mine), -1), strict=True):
                    c.back, c.recall = states, min(c.recall, float(values.mean()))
                at += size * len(mine)

        scorer.budget.spend([len(c.ids) + len(t.sentence.condition.ids) for t, c in asked], work)

    def _complete(self, won: Sequence[tuple[Turn, Candidate]]) -> None:
        """What the next round needs of the winners and was not kept, or was never needed."""
        bare = [(t, c) for t, c in won if c.fed and c.past is None]
        if bare:
            run = self.scorer.run([self._row(t, c) for t, c in bare])
            sizes = [len(c.fed) for _, c in bare]
            for (_, c), hidden, past in zip(
                bare, torch.split(run.hidden, sizes), torch.split(run.past, sizes, dim=2), strict=True
            ):
                c.hidden, c.past = hidden, past
        self._exact(c for _, c in won if c.logps is None)

    def _settle(self, ready: Sequence[tuple[Turn, Candidate]]) -> None:
        """Replace the bounds of these candidates by exact scores."""
        if self.forward:
            self._exact(c for _, c in ready)
        if self.backward:
            states = torch.cat([c.back for _, c in ready if c.back is not None])
            targets = [t.sentence.condition.ids for t, _ in ready]
            flat = self.scorer.logps(states, [i for row in targets for i in row])
            for (_, c), part in zip(ready, _cut(flat, [len(row) for row in targets]), strict=True):
                c.recall = float(part.mean())
        for turn, c in ready:
            turn.contest.settle(c)

    def _exact(self, ready: Iterable[Candidate]) -> None:
        mine = list(ready)
        hidden = [c.hidden for c in mine if c.hidden is not None]
        parts: Iterator[Array] = iter(())
        if hidden:
            flat = self.scorer.logps(torch.cat(hidden), [i for c in mine if c.hidden is not None for i in c.tail])
            parts = iter(_cut(flat, [len(h) for h in hidden]))
        for c in mine:
            c.logps = np.concatenate([c.head, next(parts)]) if c.hidden is not None else c.head
            c.precision = float(c.logps.mean())

    def _accept(self, turn: Turn, winner: Candidate) -> None:
        """The winner is the sentence's text from now on."""
        sentence, scorer = turn.sentence, self.scorer
        now, known = sentence.now, self.kept + winner.at
        hidden, past = now.hidden[:known], now.past[:, :, :known]
        if winner.past is not None and winner.hidden is not None:
            hidden, past = torch.cat([hidden, winner.hidden]), torch.cat([past, winner.past], dim=2)
        sentence.owners = owners_after(sentence.owners, turn.at, winner.edit)
        score = winner.score(self.variant)
        step = Step(
            position=turn.at - scorer.first,
            edit=winner.edit,
            old=scorer.decode([now.ids[turn.at]]),
            new="" if winner.token is None else scorer.decode([winner.token]),
            before=now.score,
            after=score,
            alternatives=tuple((scorer.decode([token]), math.exp(logp)) for token, logp in turn.near),
            text=sentence.writer.write(winner.ids, sentence.owners),
        )
        sentence.steps.append(step)
        assert winner.logps is not None
        sentence.now = Text(winner.ids, winner.logps, hidden, past, score)


def _cut(flat: Array, sizes: Sequence[int]) -> list[Array]:
    return np.split(flat, np.cumsum(sizes)[:-1])
