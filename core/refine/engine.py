"""Detect–correct: refine outputs step by step towards their references (Lu et al. 2023, section 3.2; METHODS section 1).

Each round takes the token with the lowest log p(y_t | y_<t, r), tries to insert, delete and substitute there, and keeps
the edit with the highest BARTScore under the chosen variant, or stops when none is better than leaving it alone.
The published code departs from the paper in three places (docs/bartscore.md); this follows the paper.

Many sentences are refined at once. A text that is read is read once; what stands before an edit is never computed again;
candidates that cannot win are dropped (`core.refine.contest`); the scores of the chosen one are carried into the next
round. Nothing is approximated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from core.models.budget import bytes_for
from core.models.packed import Row
from core.models.seq2seq import Array, Encoded, Ids, Seq2SeqScorer
from core.refine.contest import Candidate, Contest, candidates
from core.refine.non_translation import why_not_a_translation
from core.refine.options import Options
from core.refine.prompted import Three, prompted
from core.refine.result import Refinement, Step, Token, Variant
from core.refine.written import Owners, Writer, owners_after

TIE = 1e-6
"""Two scores nearer than this are equal: the same text scored in different batches may differ in the last digits."""

NEAR = 64
"""Likely tokens a position gives to the part of the vocabulary that bounds are computed with."""

FIRST, TOGETHER = 4, 64
"""Candidates of a sentence that are computed first, and those of all sentences together that keep a processor busy."""


class Task(NamedTuple):
    """An output and the texts it may be analysed against: its references, or its source alone under `faithfulness`."""

    hypothesis: str
    conditions: tuple[str, ...]


class Stopped(Exception):  # noqa: N818  (an outcome, not an error)
    """`progress` said no."""


def refine(
    scorer: Seq2SeqScorer,
    hypothesis: str,
    conditions: Sequence[str],
    variant: Variant,
    options: Options = Options(),  # noqa: B008  (frozen)
) -> Refinement:
    """Analyse one output: see `refine_all`."""
    return refine_all(scorer, [Task(hypothesis, tuple(conditions))], variant, options)[0]


def refine_all(
    scorer: Seq2SeqScorer,
    tasks: Sequence[Task],
    variant: Variant,
    options: Options = Options(),  # noqa: B008  (frozen)
    progress: Callable[[int], bool] = lambda done: True,
) -> list[Refinement]:
    """Analyse outputs against their references (or against their source alone, under `faithfulness`), in the order given.

    Of several references the one with the best plain BARTScore is used for everything. Scores are ≤ 0, higher is better;
    they do not depend on which outputs are analysed together. A text over the model's length is cut at the end and
    `truncated` says so. `progress` hears how many are done, at least once a round; `Stopped` is raised when it says no.
    Raises ValueError for a task without a condition.
    """
    if any(not task.conditions for task in tasks):
        raise ValueError("refine needs at least one reference (or the source)")
    with torch.inference_mode():
        return _Engine(scorer, variant, options, progress).all(tasks)


def tokens(text: str, encoded: Encoded, logps: Array, first: int) -> tuple[Token, ...]:
    """The sub-words of `text` with their log probabilities; `<s>` is left out, `</s>` stands at the end."""
    inner = [
        Token(text[start:end], start, end, float(logp))
        for (start, end), logp in zip(encoded.offsets[first:-1], logps[first:-1], strict=True)
    ]
    return (*inner, Token("", len(text), len(text), float(logps[-1])))


@dataclass(slots=True, eq=False)
class Text:
    """A text given its condition: what the decoder keeps of it, and the log probabilities of its tokens."""

    ids: Ids
    logps: Array
    hidden: Tensor
    past: Tensor
    score: float


@dataclass(slots=True, eq=False)
class Sentence:
    """A task on its way: `condition` is the text chosen, `read` what the decoder attends to of it."""

    task: int
    hypothesis: Encoded
    condition: Encoded
    chosen: int
    read: Tensor
    first: Text
    itself: float
    near: Tensor  # tokens that bounds of precision are computed with
    near_back: Tensor  # the same for recall
    writer: Writer
    owners: Owners
    why: str = ""
    rounds: int = 0
    now: Text = field(init=False)
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.now = self.first


class Turn(NamedTuple):
    """A sentence in a round: where it is worst, what is likely there, and the contest of its candidates."""

    sentence: Sentence
    at: int
    near: list[tuple[int, float]]
    contest: Contest


class _Engine:
    def __init__(
        self, scorer: Seq2SeqScorer, variant: Variant, options: Options, progress: Callable[[int], bool]
    ) -> None:
        self.scorer, self.variant, self.options, self.progress = scorer, variant, options, progress
        self.forward = variant != "recall"
        self.backward = variant in ("recall", "f")
        self.kept = len(scorer.starts)  # inputs before the first token of a target is fed
        self.done = 0
        self.held = 0  # bytes of keys and values that candidates of this round keep

    def _hear(self) -> None:
        if not self.progress(self.done):
            raise Stopped

    # ── the whole ────────────────────────────────────────────────────────────────────────────────────────────────────

    def all(self, tasks: Sequence[Task]) -> list[Refinement]:
        side = "source" if self.variant == "faithfulness" else "target"
        texts = {t for task in tasks for t in task.conditions}
        conditions = {t: self.scorer.encode(t, side) for t in texts}  # type: ignore[arg-type]
        hypotheses = [self.scorer.encode(task.hypothesis) for task in tasks]
        sizes = [
            len(h.ids) + sum(len(conditions[c].ids) for c in t.conditions)
            for h, t in zip(hypotheses, tasks, strict=True)
        ]
        waiting = sorted(range(len(tasks)), key=lambda i: (sizes[i], tasks[i].conditions), reverse=True)
        out: list[Refinement | None] = [None] * len(tasks)
        active: list[Sentence] = []
        while waiting or active:
            self._hear()
            room = POOL - sum(sizes[s.task] for s in active)
            if waiting and (not active or room > POOL // 2):
                block: list[int] = []
                while waiting and (not (block or active) or room > sizes[waiting[-1]]):
                    block.append(waiting.pop())
                    room -= sizes[block[-1]]
                given = [(i, hypotheses[i], [conditions[c] for c in tasks[i].conditions]) for i in block]
                active += self._begin(given, tasks)
            finished = [s for s in active if s.why or len(s.steps) >= s.rounds]
            going = [s for s in active if not (s.why or len(s.steps) >= s.rounds)]
            finished += self._round(going)
            for sentence, scores in zip(finished, self._scores(finished, tasks), strict=True):
                out[sentence.task] = self._result(sentence, tasks[sentence.task], scores)
            self.done += len(finished)
            stopped = set(map(id, finished))
            active = [s for s in active if id(s) not in stopped]
        self.progress(self.done)
        return [r for r in out if r is not None]

    def _begin(self, block: Sequence[tuple[int, Encoded, list[Encoded]]], tasks: Sequence[Task]) -> list[Sentence]:
        """Score every output against every condition of its own, and choose among the conditions."""
        pairs = [(n, h, c) for n, (_, h, cs) in enumerate(block) for c in cs]
        distinct = {(*c.lead, *c.ids): c for _, _, c in pairs}
        read = dict(zip(distinct, self.scorer.read([list(k) for k in distinct]), strict=True))

        def of(c: Encoded) -> Tensor:
            return read[*c.lead, *c.ids]

        there, near = self._whole([of(c) for _, _, c in pairs], [h.ids for _, h, _ in pairs])
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
        chosen = {(*pairs[i][2].lead, *pairs[i][2].ids): pairs[i][2] for i in best}
        selves, _ = self._whole([read[k] for k in chosen], [c.ids for c in chosen.values()], near=0)
        itself = dict(zip(chosen, (t.score for t in selves), strict=True))
        out, at = [], 0
        for i, (task, hypothesis, conditions) in zip(best, block, strict=True):
            condition = pairs[i][2]
            text = Text(there[i].ids, there[i].logps, there[i].hidden.clone(), there[i].past.clone(), plain[i])
            key = (*condition.lead, *condition.ids)
            more = torch.as_tensor([*hypothesis.ids, *condition.ids], device=self.scorer.device)
            sentence = Sentence(
                task,
                hypothesis,
                condition,
                i - at,
                of(condition),
                text,
                itself[key],
                torch.unique(torch.cat([near[i].flatten(), more])),
                torch.unique(torch.cat([near_back[i].flatten(), more])),
                Writer(self.scorer, tasks[task].hypothesis, hypothesis),
                tuple(range(len(hypothesis.ids))),
            )
            at += len(conditions)
            sentence.why = self._why(sentence)
            inner = len(hypothesis.ids) - self.scorer.first - 1
            sentence.rounds = math.ceil(inner / 2) if self.options.rounds is None else self.options.rounds
            out.append(sentence)
        return out

    def _whole(self, read: Sequence[Tensor], texts: Sequence[Ids], near: int = NEAR) -> tuple[list[Text], list[Tensor]]:
        """Texts from their first token on, each with likely tokens at every position."""
        scorer, skip = self.scorer, self.kept - 1
        run = scorer.run([Row(r, None, 0, scorer.inputs(t)) for r, t in zip(read, texts, strict=True)])
        targets = [i for t in texts for i in (*[0] * skip, *t)]
        if near:
            flat, ids, _ = scorer.likely(run.hidden, targets, near)
        else:
            flat, ids = scorer.logps(run.hidden, targets), run.hidden.new_zeros((len(targets), 0), dtype=torch.long)
        out, likely, at = [], [], 0
        for text in texts:
            end = at + skip + len(text)
            logps = flat[at + skip : end]
            out.append(Text(text, logps, run.hidden[at:end], run.past[:, :, at:end], float(logps.mean())))
            likely.append(ids[at + skip : end])
            at = end
        return out, likely

    def _why(self, sentence: Sentence) -> str:
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

    # ── one round ────────────────────────────────────────────────────────────────────────────────────────────────────

    def _round(self, sentences: Sequence[Sentence]) -> list[Sentence]:
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
        if not hidden:
            return
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

    # ── what comes out ───────────────────────────────────────────────────────────────────────────────────────────────

    def _scores(self, sentences: Sequence[Sentence], tasks: Sequence[Task]) -> list[Three]:
        """BARTScore of the output, of the refined text and of the condition itself, prompted where prompts are asked for."""
        if not self.options.prompts or not sentences:
            return [Three(s.first.score, s.now.score, s.itself) for s in sentences]
        return prompted(
            self.scorer,
            [
                (
                    tasks[s.task].hypothesis,
                    s.steps[-1].text if s.steps else tasks[s.task].hypothesis,
                    tasks[s.task].conditions[s.chosen],
                )
                for s in sentences
            ],
            self.variant,
            self.options,
            lambda done: self._hear(),
        )

    def _result(self, s: Sentence, task: Task, scores: Three) -> Refinement:
        return Refinement(
            variant=self.variant,
            condition=-1 if self.variant == "faithfulness" else s.chosen,
            non_translation=bool(s.why),
            why_non_translation=s.why,
            refined=s.steps[-1].text if s.steps else task.hypothesis,
            score_hyp=scores.hypothesis,
            score_refined=scores.refined,
            score_ref=scores.reference,
            tokens=tokens(task.hypothesis, s.hypothesis, s.first.logps, self.scorer.first),
            steps=tuple(s.steps),
            truncated=s.hypothesis.truncated or s.condition.truncated or scores.truncated,
        )


def _cut(flat: Array, sizes: Sequence[int]) -> list[Array]:
    return np.split(flat, np.cumsum(sizes)[:-1])


ALL = 1 << 30
POOL = 2000
"""Tokens of the texts that are under way together."""
