"""Detect–correct: refine outputs step by step towards their references (Lu et al. 2023, section 3.2; METHODS section 1).

Each round finds the token with the lowest log p(y_t | y_<t, r) and tries insertions, deletions and substitutions there. It
keeps the edit with the highest BARTScore under the chosen variant, and stops when no edit improves the score.
The published code differs from the paper in three places (docs/bartscore.md); this module follows the paper.

Many sentences are refined at once. Each text is encoded once, states before an edit are reused, candidates that cannot win
are dropped (`core.refine.sentence_state`), and the scores of the chosen edit are reused in the next round. Results are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import torch

from core.models import parallel
from core.models.architectures.seq2seq import Array, EncodedText, Seq2SeqScorer
from core.progress import Cancelled, Progress, no_progress
from core.refine.prompts import questions
from core.refine.result import Options, Refinement, Token, Variant
from core.refine.rounds import RoundRunner
from core.refine.sentence_state import PreparedOutput, SentencePreparer, SentenceState

POOL = {"cpu": 2000, "cuda": 16_000}
"""Maximum number of tokens refined together. On a GPU, a pass takes about as long for few tokens as for many."""
OUTPUTS_PER_THREAD = 4
"""Minimum number of outputs per thread. With fewer, all threads share the passes of one engine."""
UNEVEN = 1.5
"""Maximum size of the largest part, as a multiple of the mean."""


class Task(NamedTuple):
    """An output and its conditions: its references, or its source alone under `faithfulness`."""

    hypothesis: str
    conditions: tuple[str, ...]


def refine(
    scorer: Seq2SeqScorer,
    hypothesis: str,
    conditions: Sequence[str],
    variant: Variant,
    options: Options = Options(),  # noqa: B008  (frozen)
) -> Refinement:
    """Refine one output; see `refine_all`."""
    return refine_all(scorer, [Task(hypothesis, tuple(conditions))], variant, options)[0]


def refine_all(
    scorer: Seq2SeqScorer,
    tasks: Sequence[Task],
    variant: Variant,
    options: Options = Options(),  # noqa: B008  (frozen)
    progress: Progress = no_progress,
) -> list[Refinement]:
    """Refine outputs towards their references (under `faithfulness`, towards their source), in the order given.

    With several references, the one with the best plain BARTScore is used throughout. Scores are ≤ 0, higher is better, and
    do not depend on the other outputs in the batch. A text longer than the model's limit is cut at the end, and
    `truncated` is set. `progress` is called at least once per
    round, or about ten times per second with several threads. It may raise `Cancelled`.
    Raises ValueError for a task without a condition.
    """
    if any(not task.conditions for task in tasks):
        raise ValueError("refine needs at least one reference (or the source)")
    parts = _parts(tasks, parallel.passes(scorer.device))
    if len(parts) < 2:
        with torch.inference_mode():
            return _Engine(scorer, variant, options, progress).all(tasks)

    def refined(part: Sequence[int], progress: Progress) -> list[Refinement]:
        return _Engine(scorer, variant, options, progress, len(parts)).all([tasks[i] for i in part])

    refined_parts = parallel.side_by_side(parts, refined, scorer.device, progress)
    with suppress(Cancelled):  # the work is complete, so keep its result
        progress(1.0)
    by_task = {i: r for part, some in zip(parts, refined_parts, strict=True) for i, r in zip(part, some, strict=True)}
    return [by_task[i] for i in range(len(tasks))]


def _parts(tasks: Sequence[Task], count: int) -> list[list[int]]:
    """Return the indices of the tasks in `count` parts of similar size, or in one.

    Outputs with the same conditions stay together. Tasks that are few, or that cannot be divided evenly, are one part: then all threads
    share its passes.
    """
    by_conditions: dict[tuple[str, ...], list[int]] = {}
    for i, task in enumerate(tasks):
        by_conditions.setdefault(task.conditions, []).append(i)

    def size(group: Sequence[int]) -> int:
        return sum(len(tasks[i].hypothesis) + sum(map(len, tasks[i].conditions)) for i in group)

    if len(tasks) < count * OUTPUTS_PER_THREAD:
        return [list(range(len(tasks)))]
    parts: list[list[int]] = [[] for _ in range(count)]
    sizes = [0] * count
    for group in sorted(by_conditions.values(), key=size, reverse=True):
        k = sizes.index(min(sizes))
        parts[k] += group
        sizes[k] += size(group)
    return parts if max(sizes) * count <= UNEVEN * sum(sizes) else [list(range(len(tasks)))]


def tokens(text: str, encoded: EncodedText, logps: Array, first: int) -> tuple[Token, ...]:
    """Return the sub-words of `text` with their log probabilities, without `<s>` and with `</s>` at the end."""
    inner = [
        Token(text[start:end], start, end, float(logp))
        for (start, end), logp in zip(encoded.offsets[first:-1], logps[first:-1], strict=True)
    ]
    return (*inner, Token("", len(text), len(text), float(logps[-1])))


class _Engine:
    def __init__(
        self, scorer: Seq2SeqScorer, variant: Variant, options: Options, progress: Progress, engines: int = 1
    ) -> None:
        self.scorer, self.variant, self.options, self.progress = scorer, variant, options, progress
        self.pool, self.engines = POOL[scorer.device.type] // engines, engines
        if scorer.device.type == "cuda":  # by the size of the model: its keys and values are kept
            self.pool = min(self.pool, scorer.budget.tokens)
        self.done, self.total = 0, 0

    def _report(self) -> None:
        self.progress(self.done / self.total)

    def all(self, tasks: Sequence[Task]) -> list[Refinement]:
        self.total = len(tasks)
        side = "source" if self.variant == "faithfulness" else "target"
        texts = {t for task in tasks for t in task.conditions}
        conditions = {t: self.scorer.encode(t, side) for t in texts}  # type: ignore[arg-type]
        entries = [
            PreparedOutput(i, t.hypothesis, self.scorer.encode(t.hypothesis), [conditions[c] for c in t.conditions])
            for i, t in enumerate(tasks)
        ]
        sizes = [len(e.hypothesis.ids) + sum(len(c.ids) for c in e.conditions) for e in entries]
        waiting = sorted(range(len(tasks)), key=lambda i: (sizes[i], tasks[i].conditions), reverse=True)
        out: list[Refinement | None] = [None] * len(tasks)
        active: list[SentenceState] = []
        preparer = SentencePreparer(self.scorer, self.variant, self.options)
        rounds = RoundRunner(self.scorer, self.variant, self.options, self._report, self.engines)
        while waiting or active:
            self._report()
            room = self.pool - sum(sizes[s.task] for s in active)
            if waiting and (not active or room > self.pool // 2):
                block: list[int] = []
                while waiting and (not (block or active) or room > sizes[waiting[-1]]):
                    block.append(waiting.pop())
                    room -= sizes[block[-1]]
                active += preparer.prepare([entries[i] for i in block])
            finished = [s for s in active if s.why or len(s.steps) >= s.rounds]
            going = [s for s in active if not (s.why or len(s.steps) >= s.rounds)]
            finished += rounds.run(going)
            for sentence, scores in zip(finished, self._scores(finished, tasks), strict=True):
                out[sentence.task] = self._result(sentence, tasks[sentence.task], scores)
            self.done += len(finished)
            active = [s for s in active if s not in finished]
        with suppress(Cancelled):  # the work is complete, so keep its result
            self.progress(1.0)
        return [r for r in out if r is not None]

    def _scores(self, sentences: Sequence[SentenceState], tasks: Sequence[Task]) -> list[DistanceScores]:
        """Return the BARTScores of output, refined text and condition, with prompts if the options have any."""
        if not self.options.prompts or not sentences:
            return [DistanceScores(s.first.score, s.now.score, s.itself) for s in sentences]
        return prompted_scores(
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
            lambda _: self._report(),
        )

    def _result(self, s: SentenceState, task: Task, scores: DistanceScores) -> Refinement:
        refined = s.steps[-1].text if s.steps else task.hypothesis
        return Refinement(
            variant=self.variant,
            condition=-1 if self.variant == "faithfulness" else s.chosen,
            non_translation=bool(s.why),
            why_non_translation=s.why,
            refined=refined,
            score_hyp=scores.hypothesis,
            score_refined=scores.refined,
            score_ref=scores.reference,
            tokens=tokens(task.hypothesis, s.hypothesis, s.first.logps, self.scorer.first),
            steps=tuple(s.steps),
            truncated=s.hypothesis.truncated or s.condition.truncated or scores.truncated,
            refined_ids=self._ids_if_other(s, refined),
        )

    def _ids_if_other(self, s: SentenceState, refined: str) -> tuple[int, ...]:
        """Return the scored tokens of an edited text if reading it gives others. With prompts, the text itself is scored."""
        if not s.steps or self.options.prompts:
            return ()
        scored = tuple(s.now.ids)
        return scored if tuple(self.scorer.encode(refined).ids) != scored else ()


class DistanceScores(NamedTuple):
    """BARTS(y, r), BARTS(y*, r) and BARTS(r, r); `truncated` if a text with its prompt was cut."""

    hypothesis: float
    refined: float
    reference: float
    truncated: bool = False


def prompted_scores(
    scorer: Seq2SeqScorer, texts: Sequence[tuple[str, str, str]], variant: Variant, options: Options, progress: Progress
) -> list[DistanceScores]:
    """Return the scores with prompts of each (output, refined text, condition). ≤ 0, higher is better."""
    asked = [
        question
        for *outputs, condition in texts
        for text in (*outputs, condition)
        for prompt in options.prompts
        for question in questions(condition, text, prompt, variant, options.side)
    ]
    answers = scorer.means(asked, progress)
    values = np.array([f.value for f in answers]).reshape(len(texts), 3, -1).mean(axis=2)
    cut = np.array([f.truncated for f in answers]).reshape(len(texts), -1)
    return [DistanceScores(y, z, r, bool(of.any())) for (y, z, r), of in zip(values.tolist(), cut, strict=True)]
