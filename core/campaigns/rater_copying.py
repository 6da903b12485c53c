"""Evidence of copied answers: those that are nearly identical to an earlier answer of somebody else."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median

from scipy.stats import binomtest

from core.campaigns.submitted import (
    ByRater,
    QualityEvidence,
    QualityThresholds,
    Signal,
    UnitJudgement,
    format_p,
    of_kind,
    percent,
    spans_of,
)
from core.data import grouped
from core.stats.raters.span_agreement import match_spans
from core.stats.significance.comparisons import holm

Compared = dict[str, list[tuple[int, int]]]


def copying(units: ByRater, limits: QualityThresholds) -> dict[str, QualityEvidence]:
    """Return the share of answers that are nearly identical to an earlier answer of somebody else.

    It is compared with the share expected from the median of the other raters: a one-sided binomial test with Holm's correction.
    Strong if it is significant and at least half way from the expected share to 1, weak if it is only significant. Only the later one of two identical answers counts, so
    the rater who was copied is not accused.
    """
    compared, partners = _identical(units, limits)
    names = [r for r, found in compared.items() if len(found) >= limits.fewest]
    bases = {r: _base(r, compared, names) for r in names}
    counts = {r: (sum(same > 0 for same, _ in found), len(found)) for r, found in compared.items()}
    p_values = [float(binomtest(*counts[r], bases[r], "greater").pvalue) for r in names]
    adjusted = dict(zip(names, holm(p_values), strict=True))
    evidence = {}
    for rater in units:
        k, n = counts[rater]
        if rater not in adjusted or len(names) < 3:
            text = f"Too few answers that somebody else gave earlier: {n}."
            evidence[rater] = QualityEvidence("copying", "none", text, n=n)
            continue
        p, base, interval = adjusted[rater] or 0.0, bases[rater], binomtest(k, n).proportion_ci(method="wilson")
        far = k / n >= base + (1 - base) / 2
        signal: Signal = "none"
        if p <= limits.level:
            signal = "strong" if far else "weak"
        whom = partners[rater]
        most = f"; most often {max(whom, key=lambda r: (whom[r], r))}" if whom and signal != "none" else ""
        text = (
            f"{k} of {n} answers ({percent(k / n)}, 95 % CI {percent(interval.low)} to {percent(interval.high)}) are nearly identical "
            f"to an earlier one of somebody else; expected {percent(base)}, p {format_p(p)} after Holm's correction{most}."
        )
        evidence[rater] = QualityEvidence(
            "copying", signal, text, k / n, float(interval.low), float(interval.high), n, p
        )
    return evidence


def _base(rater: str, compared: Compared, names: Sequence[str]) -> float:
    """Return the expected share of a rater who copies nobody.

    q is the median share of the others' pairs of answers that are nearly identical, with one identical and one different pair more
    than there are. Among m earlier answers, at least one is identical with probability 1 − (1 − q)^m if they are independent.
    """
    own = compared[rater]
    shares = [sum(same for same, _ in of) / sum(m for _, m in of) for r in names if r != rater and (of := compared[r])]
    pairs = sum(m for _, m in own)
    q = (median(shares or [0.0]) * pairs + 1) / (pairs + 2)
    return fmean(1 - (1 - q) ** m for _, m in own)


def _identical(units: ByRater, limits: QualityThresholds) -> tuple[Compared, dict[str, dict[str, int]]]:
    """Return per rater and answer how many of how many earlier answers are nearly identical, and per rater with whom."""
    compared: Compared = {r: [] for r in units}
    partners: dict[str, dict[str, int]] = {r: {} for r in units}
    for of in grouped((u.unit.name, u) for found in units.values() for u in of_kind(found, "item")).values():
        for judgement in of:
            before = [o for o in of if o.rater != judgement.rater and _earlier(o, judgement)]
            places = [""] if "preference" in judgement.labels.asks else judgement.unit.systems
            for system in places:
                known = [(o.rater, same) for o in before if (same := _same(o, judgement, system, limits)) is not None]
                if known:
                    compared[judgement.rater].append((sum(same for _, same in known), len(known)))
                for other in (r for r, same in known if same):
                    partners[judgement.rater][other] = partners[judgement.rater].get(other, 0) + 1
    return compared, partners


def _earlier(other: UnitJudgement, judgement: UnitJudgement) -> bool:
    """Return whether the other answer came first. Without times, both count."""
    return other.submitted is None or judgement.submitted is None or other.submitted < judgement.submitted


def _same(a: UnitJudgement, b: UnitJudgement, system: str, limits: QualityThresholds) -> bool | None:
    """Return whether two answers are nearly identical; None if they say nothing: perfect or without errors for both."""
    asks = b.labels.asks
    if "preference" in asks:
        return a.labels.preference == b.labels.preference
    one, two = a.labels.of(system), b.labels.of(system)
    close = True
    if "score" in asks:
        if one.score is None or two.score is None:
            return None
        if "spans" not in asks and one.score == two.score and one.score in (0, 100):
            return None
        close = abs(one.score - two.score) <= limits.close_score
    if "spans" not in asks:
        return close
    first, second = spans_of(a.labels, system), spans_of(b.labels, system)
    if not first and not second:
        return None
    shared = total = 0
    for side in ("output", "source"):
        ours, theirs = ([s for s in of if s.side == side] for of in (first, second))
        match = match_spans(ours, theirs, max((s.end for s in [*ours, *theirs]), default=0), ("severity",))
        shared, total = shared + match.shared, total + match.first + match.second
    return close and total > 0 and 2 * shared / total >= limits.close_spans
