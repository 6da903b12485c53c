"""Detect–correct: refine an output step by step towards its reference (Lu et al. 2023, section 3.2; METHODS section 1).

Each round takes the token with the lowest log p(y_t | y_<t, r), tries to insert, delete and substitute there, and keeps
the edit with the highest BARTScore under the chosen variant, or stops when none is better than leaving it alone.
The published code departs from the paper in three places (docs/bartscore.md); this follows the paper.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from core.models.seq2seq import Condition, Encoded, Ids, Seq2SeqScorer
from core.refine.non_translation import why_not_a_translation
from core.refine.result import Edit, Refinement, Step, Token, Variant

TOP_K = 10
TIE = 1e-6
"""Two scores nearer than this are equal: the same text scored in different batches may differ in the last digits."""


AT_ONCE = 7
"""Candidates whose recall is computed together, best precision first."""


class Candidate(NamedTuple):
    edit: Edit
    token: int | None
    ids: Ids


class Scored(NamedTuple):
    """A text with the log probabilities of its tokens given the condition, and its BARTScore under the variant."""

    ids: Ids
    logps: np.ndarray
    score: float


def refine(scorer: Seq2SeqScorer, hypothesis: str, conditions: Sequence[str], variant: Variant) -> Refinement:
    """Analyse one output against its references (or against its source alone, under `faithfulness`).

    Of several references the one with the best plain BARTScore is used for everything. Scores are ≤ 0, higher is better.
    Raises ValueError without a condition. A text over the model's length is cut at the end and `truncated` says so.
    """
    if not conditions:
        raise ValueError("refine needs at least one reference (or the source)")
    encoded = scorer.encode(hypothesis)
    analyses = [Analysis(scorer, scorer.encode(text), variant) for text in conditions]
    plain = [a.score(encoded.ids) for a in analyses]
    chosen = max(range(len(analyses)), key=lambda i: plain[i].score)
    analysis, first = analyses[chosen], plain[chosen]
    best = analysis.score(analysis.encoded.ids)
    inner = slice(1, -1)
    why = why_not_a_translation(
        encoded.ids[inner],
        analysis.encoded.ids[inner],
        first.logps[inner],
        float(first.logps.mean()),
        float(best.logps.mean()),
        by_overlap=variant != "faithfulness",
    )
    last, steps = (first, ()) if why else analysis.correct(first)
    return Refinement(
        variant=variant,
        condition=-1 if variant == "faithfulness" else chosen,
        non_translation=bool(why),
        why_non_translation=why,
        refined=scorer.decode(last.ids) if steps else hypothesis,
        score_hyp=first.score,
        score_refined=last.score,
        score_ref=best.score,
        tokens=tokens(hypothesis, encoded, first.logps),
        steps=steps,
        truncated=encoded.truncated or analysis.encoded.truncated,
    )


def tokens(text: str, encoded: Encoded, logps: np.ndarray) -> tuple[Token, ...]:
    """The sub-words of `text` with their log probabilities; `<s>` is left out, `</s>` stands at the end."""
    inner = [
        Token(text[start:end], start, end, float(logp))
        for (start, end), logp in zip(encoded.offsets[1:-1], logps[1:-1], strict=True)
    ]
    return (*inner, Token("", len(text), len(text), float(logps[-1])))


class Analysis:
    """Everything scored against one conditioning text, which is encoded once."""

    def __init__(self, scorer: Seq2SeqScorer, encoded: Encoded, variant: Variant) -> None:
        self.scorer, self.encoded, self.variant = scorer, encoded, variant
        self.condition: Condition = scorer.condition(encoded.ids)

    def score(self, ids: Ids) -> Scored:
        logps = self.scorer.given(self.condition, [ids])[0]
        return Scored(ids, logps, self._combine(float(logps.mean()), [ids])[0])

    def correct(self, current: Scored) -> tuple[Scored, tuple[Step, ...]]:
        """Rounds of detect and correct, at most half as many as the hypothesis has tokens (rounded up)."""
        steps: list[Step] = []
        for _ in range(math.ceil(0.5 * (len(current.ids) - 2))):
            done = self.round(current)
            if done is None:
                break
            current, step = done
            steps.append(step)
        return current, tuple(steps)

    def round(self, current: Scored) -> tuple[Scored, Step] | None:
        """One round; None when leaving the text as it is scores at least as well as every edit."""
        position = 1 + int(np.argmin(current.logps[1:]))
        alternatives = self.scorer.alternatives(self.condition, current.ids, position, TOP_K)
        full = len(current.ids) >= self.scorer.limit
        options = candidates(current.ids, position, [token for token, _ in alternatives], insert=not full)
        if not options:
            return None
        scored = self._score_candidates(current, options, position)
        best = max(range(len(options)), key=lambda i: scored[i].score)
        if scored[best].score <= current.score + TIE:
            return None
        old, new = current.ids[position], options[best].token
        decode = self.scorer.decode
        step = Step(
            position=position - 1,
            edit=options[best].edit,
            old=decode([old]),
            new="" if new is None else decode([new]),
            before=current.score,
            after=scored[best].score,
            alternatives=tuple((decode([token]), math.exp(logp)) for token, logp in alternatives),
            text=decode(options[best].ids),
        )
        return scored[best], step

    def _score_candidates(self, current: Scored, options: Sequence[Candidate], position: int) -> list[Scored]:
        rest = self.scorer.given(self.condition, [c.ids for c in options], skip=position)
        logps = [np.concatenate([current.logps[:position], r]) for r in rest]
        precision = [float(p.mean()) for p in logps]
        if self.variant in ("precision", "faithfulness"):
            scores = precision
        elif self.variant == "recall":
            scores = self._recall([c.ids for c in options])
        else:
            scores = self._f_of_those_that_can_win([c.ids for c in options], precision, current.score)
        return [Scored(c.ids, p, s) for c, p, s in zip(options, logps, scores, strict=True)]

    def _f_of_those_that_can_win(self, texts: list[Ids], precision: list[float], best: float) -> list[float]:
        """F by text, −∞ for one that cannot beat the best: recall is ≤ 0, so F ≤ precision / 2."""
        scores = [-math.inf] * len(texts)
        order = sorted(range(len(texts)), key=lambda i: -precision[i])
        for first in range(0, len(order), AT_ONCE):
            rows = [i for i in order[first : first + AT_ONCE] if precision[i] / 2 >= best]
            for i, recall in zip(rows, self._recall([texts[i] for i in rows]), strict=True):
                scores[i] = (precision[i] + recall) / 2
                best = max(best, scores[i])
        return scores

    def _combine(self, precision: float, texts: list[Ids]) -> list[float]:
        if self.variant in ("precision", "faithfulness"):
            return [precision]
        recall = self._recall(texts)[0]
        return [recall if self.variant == "recall" else (precision + recall) / 2]

    def _recall(self, texts: list[Ids]) -> list[float]:
        return [float(p.mean()) for p in self.scorer.pairs(texts, [self.encoded.ids] * len(texts))]


def candidates(ids: Ids, position: int, tokens: Sequence[int], *, insert: bool = True) -> list[Candidate]:
    """Insert, delete and substitute at `position`; at `</s>` only insertion. The token that is there is no substitute."""
    before, after = ids[:position], ids[position:]
    out = [Candidate("insert", w, [*before, w, *after]) for w in tokens] if insert else []
    if len(after) > 1:
        out.append(Candidate("delete", None, [*before, *after[1:]]))
        out += [Candidate("substitute", w, [*before, w, *after[1:]]) for w in tokens if w != after[0]]
    return out
