"""Whether a judge may replace an annotator: the rules, as they stand in docs/judge_card.md and on the screen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from scipy.special import ndtri

from core.formatting import format_count
from core.judges.annotator_test import (
    ALPHA,
    FEWEST_ANNOTATORS,
    FEWEST_ITEMS,
    PASSING,
    AnnotatorResult,
    AnnotatorTest,
    thresholds,
)
from core.stats.bootstrap import Interval

Kind = Literal["may", "not", "few", "untested"]
FEWEST_OUTPUTS = 100
"""Outputs from which a CI that includes 0 counts as evidence that a judge is no better than a constant answer (our decision)."""
POWER = 0.8
RULES = (
    f"Too few labels: fewer than {FEWEST_ANNOTATORS} annotators who each share {FEWEST_ITEMS} outputs with the judge and another annotator.",
    "Not: the judge gave no readable answer for more than half of the outputs.",
    f"Not: the 95 % CI of κ (scores: τ-b) does not lie above 0, so the judge is not shown to be better than a constant answer. With fewer than {FEWEST_OUTPUTS} outputs: too few labels.",
    f"May replace an annotator: ω ≥ {PASSING:g} in the alternative annotator test, also clustered by document, and a constant answer does not pass it.",
    f"Otherwise not, if the judge loses by more than ε against more than half of the annotators (p < {ALPHA:g}, clustered by document); else too few labels.",
)


class CardVerdict(NamedTuple):
    """`more`: labels (of one annotator for one output) that are missing, if known. `constant`: not shown to be better than a constant answer."""

    kind: Kind
    why: str
    more: int | None = None
    constant: bool = False


def verdict(
    test: AnnotatorTest, clustered: AnnotatorTest, constant: AnnotatorTest, agreement: Interval, outputs: int, unanswered: float,
    n_annotators: int,
) -> CardVerdict:  # fmt: skip
    """Apply `RULES` in their order. `agreement` is κ or τ-b with its CI on `outputs` outputs; `unanswered` is a share."""
    items: dict[str, int] = {}
    for row in test.rows:
        items[row.annotator] = max(items.get(row.annotator, 0), row.items)
    best = sorted(items.values(), reverse=True)[:FEWEST_ANNOTATORS]
    lacking = sum(max(0, FEWEST_ITEMS - n) for n in [*best, *[0] * (FEWEST_ANNOTATORS - len(best))])
    not_better = agreement.low is None or agreement.low <= 0
    if lacking:
        enough = sum(n >= FEWEST_ITEMS for n in items.values())
        return CardVerdict("few", f"{enough} of {FEWEST_ANNOTATORS} annotators share {FEWEST_ITEMS} outputs with the judge and another annotator", lacking, not_better)  # fmt: skip
    if unanswered > 0.5:
        return CardVerdict("not", "no readable answer for more than half of the outputs", None, not_better)
    if not_better:
        why = "not shown to be better than a constant answer"
        if outputs < FEWEST_OUTPUTS:
            return CardVerdict("few", why, (FEWEST_OUTPUTS - outputs) * n_annotators, True)
        return CardVerdict("not", why, None, True)
    if test.passes and clustered.passes:
        if not constant.passes:
            return CardVerdict("may", "passes the test, and a constant answer does not")
        return CardVerdict(
            "few", "a constant answer passes the test too: too few outputs of the rarer classes are labelled"
        )
    if clustered.omega is None:
        return CardVerdict("few", "all labelled outputs are in one document")
    losing = sum(r.p is not None and r.p > 1 - ALPHA for r in clustered.rows)
    if 2 * losing > len(clustered.rows):
        return CardVerdict(
            "not", f"loses by more than ε against {losing} of {format_count(len(test.rows), 'annotator')}"
        )
    why = f"ω = {_two(min(test.omega or 0.0, clustered.omega))}"
    return CardVerdict("few", why, missing_labels(clustered.rows, test.epsilon))


def missing_labels(rows: Sequence[AnnotatorResult], epsilon: float) -> int | None:
    """Return the labels with which half of the tests would reject in 80 % of all samples, at the strictest threshold, if differences and standard errors stay.

    n·((z_{1−α′} + z_{.8})·SE/(ε − d̄))² items per annotator (our decision); None if too few annotators differ by less than ε.
    """
    z = float(ndtri(1 - thresholds(len(rows))[0]) + ndtri(POWER))
    needs = []
    for r in rows:
        if r.difference is None or r.sd is None or r.difference >= epsilon:
            continue
        error = r.sd / math.sqrt(r.items)
        if r.test == "t" and r.statistic and math.isfinite(r.statistic):
            error = (r.difference - epsilon) / r.statistic
        needs.append(max(1, math.ceil(r.items * (z * error / (epsilon - r.difference)) ** 2) - r.items))
    half = math.ceil(PASSING * len(rows))
    return sum(sorted(needs)[:half]) if len(needs) >= half else None


def verdict_sentence(label: str, verdicts: Sequence[tuple[str, CardVerdict]]) -> str:
    """Return the verdicts of all questions as one sentence, and a second one that names where a constant answer is as good."""
    groups = []
    for kind, words in (("may", "may replace an annotator for {}"), ("not", "not for {}"), ("few", "too few labels to say for {}"), ("untested", "not tested for {}")):  # fmt: skip
        named = [q + (f" ({v.more:,} more)" if v.more else "") for q, v in verdicts if v.kind == kind]
        if named:
            groups.append(words.format(_listed(named)))
    text = f"{label}: {'; '.join(groups) or 'nothing can be compared'}."
    if same := [q for q, v in verdicts if v.constant]:
        text += f" It is not shown to be better than a constant answer for {_listed(same)}."
    return text


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _two(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
