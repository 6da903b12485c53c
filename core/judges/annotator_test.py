"""The alternative annotator test: may a judge replace an annotator? (Calderon et al. 2025, arXiv 2501.10970)

Labels are numbers: classes 0, 1, … or scores. `judge` has the shape (…, n), `human` (…, n_annotators, n); NaN marks a missing label.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import stdtr
from scipy.stats import false_discovery_control, wilcoxon

from core.columns import Mask
from core.stats.correlation.correlation import group_ids
from core.stats.correlation.pairs import Floats, Ints, ratio

Labels = Literal["classes", "scores"]
EPSILONS = {"experts": 0.2, "trained annotators": 0.15, "crowd workers": 0.1}
"""The paper's ε: what a judge may lose against each kind of annotator, because it costs less."""
CURVE = tuple(round(0.01 * k, 2) for k in range(31))
"""The values of ε for which ω is shown."""
ALPHA = 0.05
PASSING = 0.5
FEWEST_ANNOTATORS, FEWEST_ITEMS, FEWEST_DOCUMENTS = 3, 30, 10
SLACK = 1e-9
"""Mean squared errors that differ by less than this share are equal."""


class Wins(NamedTuple):
    """W_f and W_h of each annotator and item, shape (…, n_annotators, n), 1 or 0; NaN where the pair is not compared.

    `judge_score` and `human_score` are S: the mean match with each of the other annotators, or minus the root mean square difference from them.
    """

    judge: Floats
    human: Floats
    judge_score: Floats
    human_score: Floats


class AnnotatorResult(NamedTuple):
    """One annotator against the judge in one domain.

    `judge_wins` is ρ_j = mean W_f and `human_wins` mean W_h; ties count for both. `difference` is mean(W_h − W_f), `sd` its standard deviation with n − 1.
    `p` is one-sided, for difference ≥ ε; `threshold` is that of Benjamini and Yekutieli at its rank. None, with a reason, if not tested.
    """

    annotator: str
    domain: str
    items: int
    documents: int
    judge_wins: float | None
    human_wins: float | None
    difference: float | None
    sd: float | None
    statistic: float | None
    p: float | None
    threshold: float | None
    rejected: bool
    test: Literal["t", "Wilcoxon"]
    reason: str = ""


class AnnotatorTest(NamedTuple):
    """`omega` is the share of annotators against whom the judge is not worse by ε or more, `rho` the mean of ρ_j; None without a test."""

    rows: tuple[AnnotatorResult, ...]
    epsilon: float
    omega: float | None
    rho: float | None

    @property
    def passes(self) -> bool:
        return self.omega is not None and self.omega >= PASSING


def wins(judge: Floats, human: Floats, labels: Labels) -> Wins:
    """Compare the judge and each annotator with the same remaining annotators, not with their majority (§3 of the paper).

    An item counts for an annotator who labelled it if another one did too. A missing label of the judge loses.
    """
    n_annotators = human.shape[-2]
    judge = np.broadcast_to(judge, (*human.shape[:-2], human.shape[-1]))
    scores: list[list[Floats]] = [[], []]
    for j in range(n_annotators):
        others = np.delete(human, j, axis=-2)
        present = ~np.isnan(others)
        count = present.sum(-2)
        compared = ~np.isnan(human[..., j, :]) & (count > 0)
        for side, own in zip(scores, (judge, human[..., j, :]), strict=True):
            own = own[..., None, :]
            if labels == "classes":
                total = (present & (own == others)).sum(-2).astype(np.float64)
            else:
                total = np.where(present, (own - others) ** 2, 0.0).sum(-2)
            side.append(np.where(compared, ratio(total, count.astype(np.float64)), np.nan))
    of_judge, of_human = (np.stack(side, axis=-2) for side in scores)
    no_answer = np.isnan(judge)[..., None, :] & ~np.isnan(of_human)
    if labels == "scores":
        of_judge, of_human = -of_judge, -of_human
    of_judge = np.where(no_answer, -np.inf, of_judge)
    with np.errstate(invalid="ignore"):
        gap = np.where(no_answer, -np.inf, of_judge - of_human)
        slack = SLACK * np.fmax(np.abs(np.where(no_answer, 0.0, of_judge)), np.abs(of_human))
        missing = np.isnan(of_human)
        won = np.where(missing, np.nan, gap >= -slack), np.where(missing, np.nan, gap <= slack)
        if labels == "scores":
            of_judge, of_human = -np.sqrt(-of_judge), -np.sqrt(-of_human)
    return Wins(*won, of_judge, of_human)


class Means(NamedTuple):
    """Mean, standard deviation, standard error, number of items and of documents of each row."""

    mean: Floats
    sd: Floats
    error: Floats
    items: Ints
    documents: Ints


def clustered_means(differences: Floats, documents: Ints | None = None) -> Means:
    """Return the means of rows of W_h − W_f, shape (…, n), NaN left out.

    The standard error is that of independent documents: G/(G − 1)·Σ_g(Σ_{i∈g} (d_i − d̄))²/n², which is s²/n if each item is a document.
    """
    present = ~np.isnan(differences)
    n = present.sum(-1)
    mean = ratio(np.nansum(differences, -1), n)
    residual = np.where(present, differences - mean[..., None], 0.0)
    squares = (residual**2).sum(-1)
    sums, groups = residual, n
    if documents is not None:
        order = np.argsort(documents, kind="stable")
        starts = np.flatnonzero(np.diff(documents[order], prepend=-1))
        sums = np.add.reduceat(residual[..., order], starts, axis=-1)
        groups = np.logical_or.reduceat(present[..., order], starts, axis=-1).sum(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.sqrt(np.where(groups > 1, groups / (groups - 1.0), np.nan) * (sums**2).sum(-1)) / n
        sd = np.sqrt(squares / np.where(n > 1, n - 1.0, np.nan))
    return Means(mean, sd, error, n, groups)


def t_test(means: Means, epsilon: float) -> tuple[Floats, Floats]:
    """Return t and the one-sided p for mean ≥ ε, with G − 1 degrees of freedom. Without any variance p is 0 below ε and 1 from ε on."""
    gap = means.mean - epsilon
    with np.errstate(invalid="ignore", divide="ignore"):
        t = np.where(means.error > 0, gap / means.error, np.where(gap < 0, -np.inf, np.inf))
    t = np.where(np.isnan(means.error) | np.isnan(gap), np.nan, t)
    p = np.where(np.isnan(t), np.nan, stdtr(np.maximum(means.documents - 1.0, 1.0), t))
    return t, p


def annotator_test(
    compared: Wins, names: Sequence[str], epsilon: float, *, domains: Sequence[Hashable] = (), documents: Sequence[Hashable] = (),
) -> AnnotatorTest:  # fmt: skip
    """Test each annotator, in each domain, with one correction (Benjamini and Yekutieli, q = .05) over all p.

    `domains` and `documents` name those of the items. With `documents`, the t-test is clustered by document (our addition). Without, fewer
    than 30 items are tested by Wilcoxon's signed ranks, as in the paper.
    """
    ids = group_ids(documents) if len(documents) else None
    of_domain = group_ids(domains) if len(domains) else np.zeros(compared.judge.shape[-1], dtype=np.int64)
    labels = [str(d) for d in dict.fromkeys(domains)] or [""]
    rows = [
        _row(compared, j, name, label, of_domain == k, ids, epsilon)
        for k, label in enumerate(labels)
        for j, name in enumerate(names)
    ]
    tested = [i for i, row in enumerate(rows) if row.p is not None]
    if not tested:
        return AnnotatorTest(tuple(rows), epsilon, None, None)
    p = [row.p or 0.0 for row in rows if row.p is not None]
    adjusted = false_discovery_control(p, method="by")
    limits = thresholds(len(p))
    ranks = np.argsort(np.argsort(p, kind="stable"))
    for at, rank, low in zip(tested, ranks.tolist(), adjusted.tolist(), strict=True):
        rows[at] = rows[at]._replace(threshold=limits[rank], rejected=low <= ALPHA)
    rho = float(np.mean([row.judge_wins for row in rows if row.p is not None]))
    return AnnotatorTest(tuple(rows), epsilon, sum(row.rejected for row in rows) / len(tested), rho)


def thresholds(n: int) -> list[float]:
    """Return k·.05/(n·Σ_{i≤n} 1/i) for k = 1 … n (Benjamini and Yekutieli 2001): all p up to the last one at or below its own are rejected."""
    return [k * ALPHA / (n * sum(1 / i for i in range(1, n + 1))) for k in range(1, n + 1)]


def _row(
    compared: Wins, j: int, name: str, domain: str, inside: Mask, documents: Ints | None, epsilon: float
) -> AnnotatorResult:
    judge, human = compared.judge[j], compared.human[j]
    at = np.flatnonzero(inside & ~np.isnan(judge))
    test: Literal["t", "Wilcoxon"] = "Wilcoxon" if documents is None and len(at) < FEWEST_ITEMS else "t"
    if len(at) < 2:
        reason = f"{name} shares {len(at)} labelled outputs with the judge and another annotator; 2 are needed"
        return AnnotatorResult(
            name, domain, len(at), len(at), None, None, None, None, None, None, None, False, test, reason
        )
    d = human[at] - judge[at]
    means = clustered_means(d, None if documents is None else documents[at])
    if test == "Wilcoxon":
        statistic, p = _wilcoxon(d - epsilon)
    else:
        statistic, p = (float(v) for v in t_test(means, epsilon))
    known = not math.isnan(p)
    return AnnotatorResult(
        name, domain, len(at), int(means.documents), float(judge[at].mean()), float(human[at].mean()), float(means.mean), float(means.sd),
        statistic if known else None, p if known else None, None, False, test,
        "" if known else "all items are in one document, so no clustered test is possible",
    )  # fmt: skip


def _wilcoxon(gaps: Floats) -> tuple[float, float]:
    if not (gaps != 0).any():
        return 0.0, 1.0
    result: Any = wilcoxon(gaps, alternative="less", method="asymptotic")  # type: ignore[call-overload]  # the stub lacks it
    return float(result.statistic), float(result.pvalue)


def curve(compared: Wins, names: Sequence[str], *, domains: Sequence[Hashable] = ()) -> list[float | None]:
    """Return ω at each ε of `CURVE`."""
    return [annotator_test(compared, names, e, domains=domains).omega for e in CURVE]


def constant_wins(human: Floats, labels: Labels) -> tuple[float, Wins]:
    """Return the constant answer with the highest ρ, and its wins: the best class, or the mean of all scores."""
    known = human[~np.isnan(human)]
    answers = [float(known.mean())] if labels == "scores" else np.unique(known).tolist()
    of_answer = {a: wins(np.full(human.shape[-1], a), human, labels) for a in answers}
    best = max(of_answer, key=lambda a: float(np.nansum(of_answer[a].judge)))
    return best, of_answer[best]


def assumptions(test: AnnotatorTest, n_documents: int) -> list[str]:
    """Return which assumptions of the test the labels do not meet, one sentence each."""
    enough = {row.annotator for row in test.rows if row.items >= FEWEST_ITEMS}
    problems = []
    if len(enough) < FEWEST_ANNOTATORS:
        problems.append(
            f"{len(enough)} of at least {FEWEST_ANNOTATORS} annotators share {FEWEST_ITEMS} or more outputs with the judge and another "
            "annotator (50 to 100 are advised)."
        )
    if small := [row for row in test.rows if row.test == "Wilcoxon" and row.p is not None]:
        whose = ", ".join(f"{r.annotator}{f' in {r.domain}' if r.domain else ''} ({r.items})" for r in small)
        problems.append(f"Fewer than {FEWEST_ITEMS} outputs, so tested by Wilcoxon's signed ranks: {whose}.")
    if n_documents < FEWEST_DOCUMENTS:
        problems.append(
            f"The outputs come from {n_documents} documents; a test clustered by document needs at least {FEWEST_DOCUMENTS} (30 are advised)."
        )
    return problems
