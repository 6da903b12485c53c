"""Detect–correct: refine outputs step by step towards their references (Lu et al. 2023, section 3.2; METHODS section 1).

Each round takes the token with the lowest log p(y_t | y_<t, r), tries to insert, delete and substitute there, and keeps
the edit with the highest BARTScore under the chosen variant, or stops when none is better than leaving it alone.
The published code departs from the paper in three places (docs/bartscore.md); this follows the paper.

Many sentences are refined at once. A text that is read is read once; what stands before an edit is never computed again;
candidates that cannot win are dropped (`core.refine.contest`); the scores of the chosen one are carried into the next
round. Nothing is approximated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch

from core.models.seq2seq import Array, Encoded, Seq2SeqScorer
from core.refine.opening import Entry, Opening, Sentence
from core.refine.options import Options
from core.refine.prompted import Three, prompted
from core.refine.result import Refinement, Token, Variant
from core.refine.rounds import Rounds

POOL = 2000
"""Tokens of the texts that are under way together."""


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


class _Engine:
    def __init__(
        self, scorer: Seq2SeqScorer, variant: Variant, options: Options, progress: Callable[[int], bool]
    ) -> None:
        self.scorer, self.variant, self.options, self.progress = scorer, variant, options, progress
        self.done = 0

    def _hear(self) -> None:
        if not self.progress(self.done):
            raise Stopped

    def all(self, tasks: Sequence[Task]) -> list[Refinement]:
        side = "source" if self.variant == "faithfulness" else "target"
        texts = {t for task in tasks for t in task.conditions}
        conditions = {t: self.scorer.encode(t, side) for t in texts}  # type: ignore[arg-type]
        entries = [
            Entry(i, t.hypothesis, self.scorer.encode(t.hypothesis), [conditions[c] for c in t.conditions])
            for i, t in enumerate(tasks)
        ]
        sizes = [len(e.hypothesis.ids) + sum(len(c.ids) for c in e.conditions) for e in entries]
        waiting = sorted(range(len(tasks)), key=lambda i: (sizes[i], tasks[i].conditions), reverse=True)
        out: list[Refinement | None] = [None] * len(tasks)
        active: list[Sentence] = []
        opening = Opening(self.scorer, self.variant, self.options)
        rounds = Rounds(self.scorer, self.variant, self.options, self._hear)
        while waiting or active:
            self._hear()
            room = POOL - sum(sizes[s.task] for s in active)
            if waiting and (not active or room > POOL // 2):
                block: list[int] = []
                while waiting and (not (block or active) or room > sizes[waiting[-1]]):
                    block.append(waiting.pop())
                    room -= sizes[block[-1]]
                active += opening.begin([entries[i] for i in block])
            finished = [s for s in active if s.why or len(s.steps) >= s.rounds]
            going = [s for s in active if not (s.why or len(s.steps) >= s.rounds)]
            finished += rounds.play(going)
            for sentence, scores in zip(finished, self._scores(finished, tasks), strict=True):
                out[sentence.task] = self._result(sentence, tasks[sentence.task], scores)
            self.done += len(finished)
            stopped = set(map(id, finished))
            active = [s for s in active if id(s) not in stopped]
        self.progress(self.done)
        return [r for r in out if r is not None]

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
