"""Evidence from a rater's agreement with the others (scores, preferences, error spans), and from copied answers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, median, stdev
from typing import NamedTuple

import numpy as np
from scipy.stats import binomtest, norm
from scipy.stats import t as student

from core.campaigns.submitted import (
    LIMITS,
    ByRater,
    OutputPlace,
    QualityEvidence,
    Signal,
    UnitJudgement,
    answers,
    format_p,
    interval_text,
    of_kind,
    percent,
    spans_of,
)
from core.data import Span, grouped
from core.stats.bootstrap import wilson
from core.stats.correlation.kernel import spearman
from core.stats.raters.span_agreement import By, match_spans, on_one_text
from core.stats.significance.system_comparison import holm

Z95 = 1.959964
PRIOR = 1.0
"""How many raters the mean of an output's system counts for, where the others' answers to an output are averaged."""
Given = Mapping[str, Mapping[OutputPlace, float]]


class _Agreeing(NamedTuple):
    """An agreement on a scale on which it is about normal, with its standard error there."""

    value: float | None
    z: float
    error: float
    n: int


def agreement(units: ByRater) -> dict[str, QualityEvidence]:
    """Return Spearman's ρ of each rater's answers with those of the others on the same outputs.

    The others' answers are standardised by rater and averaged, with the mean of the system as one answer more, so that few raters per
    output suffice. Their weight is their own agreement in a first pass (at least 0), so that careless raters hardly count.
    p-values are of the permutation distribution of ρ, by its t approximation, and of Fisher's z against the median of the raters who agree better than chance.
    Strong if ρ is significantly negative, or if it is both not better than chance and significantly below the median. Weak if it
    is not better than chance and below the median without Holm's correction, or significantly below the median but better than chance.
    """
    by_rater = {rater: _standardised(_answers(own)) for rater, own in _numbered(units).items()}
    first = _correlations(by_rater, dict.fromkeys(by_rater, 1.0))
    correlations = _correlations(by_rater, {r: max(0.0, c.value or 0.0) for r, c in first.items()})
    names = [r for r, c in correlations.items() if c.value is not None]
    inverted = dict(zip(names, holm([_p_negative(correlations[r]) for r in names]), strict=True))
    typical = _better_than_chance(correlations)
    evidence = {}
    for rater, (c, less, adjusted) in _below_median(correlations, typical).items():
        if c.value is None:
            text = f"Agreement cannot be computed from {c.n} outputs that others rated too."
            evidence[rater] = QualityEvidence("agreement", "none", text, n=c.n)
            continue
        opposite, chance = (inverted[rater] or 0.0) <= LIMITS.level, 1 - _p_negative(c) > 0.05
        signal = "strong" if opposite else _signal(less, adjusted, chance)
        say = "opposite to" if opposite else "not better than chance with" if chance else "with"
        low, high = (math.tanh(c.z + side * Z95 * c.error) for side in (-1, 1))
        p = (inverted[rater] or 0.0) if opposite else adjusted
        text = (
            f"Agrees {say} the other raters: ρ {c.value:.2f} (95 % CI {low:.2f} to {high:.2f}) on {c.n} outputs; "
            f"median of those who agree better than chance {_middle(rater, typical):.2f}, p {format_p(p)} after Holm's correction."
        )
        evidence[rater] = QualityEvidence("agreement", signal, text, c.value, low, high, c.n, p)
    return evidence


def span_agreement_with_others(units: ByRater) -> dict[str, QualityEvidence]:
    """Return the mean F1 (over characters) of each rater's error spans with those of the others on the same outputs.

    Outputs that both call free of errors are left out. Strong if the mean is significantly below the median rater (Holm) and at most a third
    of it; weak without the correction.
    """
    values: dict[str, list[float]] = {rater: [] for rater in units}
    items = [u for own in units.values() for u in of_kind(own, "item")]
    for of in grouped((u.unit.name, u) for u in items if "spans" in u.labels.asks).values():
        for judgement in of:
            for system in judgement.unit.systems:
                own = spans_of(judgement.labels, system)
                gaps = [_f1(own, spans_of(o.labels, system)) for o in of if o.rater != judgement.rater]
                known = [f for f in gaps if f is not None]
                values[judgement.rater] += [fmean(known)] if known else []
    mean_f1 = {r: _mean(v) for r, v in values.items()}
    evidence = {}
    for rater, (c, less, adjusted) in _below_median(mean_f1, mean_f1).items():
        if c.value is None:
            text = f"Too few outputs in which somebody marked errors: {c.n}."
            evidence[rater] = QualityEvidence("span agreement", "none", text, n=c.n)
            continue
        middle = _middle(rater, mean_f1)
        signal = _signal(less, adjusted, c.value <= middle / 3)
        low, high = max(0.0, c.z - Z95 * c.error), min(1.0, c.z + Z95 * c.error)
        text = (
            f"Error spans agree with the others' with F1 {c.value:.2f} (95 % CI {low:.2f} to {high:.2f}) on {c.n} outputs; median "
            f"of the others {middle:.2f}, p {format_p(adjusted)} after Holm's correction."
        )
        evidence[rater] = QualityEvidence("span agreement", signal, text, c.value, low, high, c.n, adjusted)
    return evidence


def _signal(less: float, adjusted: float, far: bool) -> Signal:
    """Return the signal of an agreement below the median: `far` says that the difference is also large."""
    if adjusted <= LIMITS.level:
        return "strong" if far else "weak"
    return "weak" if far and less <= LIMITS.level else "none"


def _numbered(units: ByRater) -> ByRater:
    return {rater: of_kind(own, "item") for rater, own in units.items()}


def _answers(units: Sequence[UnitJudgement]) -> dict[OutputPlace, float]:
    return {place: value for u in units for place, value in answers(u).items()}


def _standardised(own_answers: Mapping[OutputPlace, float]) -> dict[OutputPlace, float]:
    values = np.array(list(own_answers.values()))
    spread = float(values.std()) if len(values) else 0.0
    return {k: (v - float(values.mean())) / spread if spread > 1e-12 else 0.0 for k, v in own_answers.items()}


def _correlations(by_rater: Given, weights: Mapping[str, float]) -> dict[str, _Agreeing]:
    sums: dict[OutputPlace, float] = {}
    mass: dict[OutputPlace, float] = {}
    for rater, own_answers in by_rater.items():
        for place, value in own_answers.items():
            sums[place] = sums.get(place, 0.0) + weights[rater] * value
            mass[place] = mass.get(place, 0.0) + weights[rater]
    systems = {rater: _by_system(own_answers) for rater, own_answers in by_rater.items()}
    names = sorted({name for of in systems.values() for name in of})
    totals = {s: sum(weights[r] * of.get(s, (0.0, 0))[0] for r, of in systems.items()) for s in names}
    counts = {s: sum(weights[r] * of.get(s, (0.0, 0))[1] for r, of in systems.items()) for s in names}
    out = {}
    for rater, own_answers in by_rater.items():
        w, own, rest = weights[rater], list[float](), list[float]()
        level = {}
        for s in names:
            total, count = systems[rater].get(s, (0.0, 0))
            left = counts[s] - w * count
            level[s] = (totals[s] - w * total) / left if left > 1e-9 else 0.0
        for place, value in own_answers.items():
            others = mass[place] - w
            if others > 1e-9:
                expected = level[place.system] - level.get(place.against, 0.0)
                own.append(value)
                rest.append((sums[place] - w * value + PRIOR * expected) / (others + PRIOR))
        known = len(own) >= max(4, LIMITS.fewest) and len(set(own)) > 1 and len(set(rest)) > 1
        rho = float(spearman(np.array(rest), np.array(own))) if known else None
        r = min(max(rho or 0.0, -0.999), 0.999)
        error = math.sqrt((1 + r * r / 2) / (len(own) - 3)) if known else math.inf
        out[rater] = _Agreeing(rho, math.atanh(r), error, len(own))
    return out


def _by_system(own_answers: Mapping[OutputPlace, float]) -> dict[str, tuple[float, int]]:
    """Return sum and number of a rater's answers by system; of preferences, also those for the other system, with the sign changed."""
    sums: dict[str, tuple[float, int]] = {}
    for place, value in own_answers.items():
        for system, signed in ((place.system, value), (place.against, -value)):
            if system:
                total, count = sums.get(system, (0.0, 0))
                sums[system] = total + signed, count + 1
    return sums


def _p_negative(c: _Agreeing) -> float:
    """Return the one-sided p of a correlation this low if there is none."""
    r = min(max(c.value or 0.0, -1 + 1e-12), 1 - 1e-12)
    return float(student.cdf(r * math.sqrt((c.n - 2) / (1 - r * r)), c.n - 2))


def _better_than_chance(correlations: Mapping[str, _Agreeing]) -> dict[str, _Agreeing]:
    """Return the raters who agree better than chance, with whom the rest is compared; all, if they are fewer than three."""
    better = {r: c for r, c in correlations.items() if c.value is not None and 1 - _p_negative(c) <= 0.05}
    return better if len(better) >= 3 else dict(correlations)


def _below_median(
    correlations: Mapping[str, _Agreeing], typical: Mapping[str, _Agreeing]
) -> dict[str, tuple[_Agreeing, float, float]]:
    """Return per rater the agreement, and the one-sided p that it lies below the median of the other `typical` raters, without and with Holm's correction.

    The standard error is that of the rater, or the spread of the better half of the others if it is larger (careful raters
    differ too): 1.4826 times the median distance to the median. Without two others, p is 1.
    """
    plain: dict[str, float] = {}
    for rater, c in correlations.items():
        others = [o.z for r, o in typical.items() if r != rater and o.value is not None]
        if c.value is None or len(others) < 2:
            continue
        centre = median(others)
        spread = 1.4826 * median([z - centre for z in others if z >= centre])
        plain[rater] = float(norm.cdf((c.z - centre) / max(c.error, spread, 1e-9)))
    adjusted = dict(zip(plain, holm(list(plain.values())), strict=True))
    return {
        rater: (c, plain.get(rater, 1.0), adjusted.get(rater) or (0.0 if rater in plain else 1.0))
        for rater, c in correlations.items()
    }


def _middle(rater: str, correlations: Mapping[str, _Agreeing]) -> float:
    return median([c.value for r, c in correlations.items() if r != rater and c.value is not None] or [0.0])


def _mean(values: Sequence[float]) -> _Agreeing:
    if len(values) < max(2, LIMITS.fewest):
        return _Agreeing(None, 0.0, math.inf, len(values))
    mean = fmean(values)
    return _Agreeing(mean, mean, max(stdev(values), 0.1) / math.sqrt(len(values)), len(values))


def _f1(one: Sequence[Span], two: Sequence[Span], by: Sequence[By] = ()) -> float | None:
    """Return F1 over characters of output and source together; None if nobody has marked a character."""
    length = max((s.end for s in (*one, *two) if s.side == "output"), default=0)
    first, second = on_one_text(one, length), on_one_text(two, length)
    match = match_spans(first, second, max((s.end for s in (*first, *second)), default=0), by)
    total = match.first + match.second
    return 2 * match.shared / total if total else None


Compared = dict[str, list[tuple[int, int]]]


def copying(units: ByRater) -> dict[str, QualityEvidence]:
    """Return the share of answers that are nearly identical to an earlier answer of somebody else.

    It is compared with the share expected from the median of the other raters: a one-sided binomial test with Holm's correction.
    Strong if it is significant and at least half way from the expected share to 1, weak if it is only significant. Only the later one of two identical answers counts, so
    the rater who was copied is not accused.
    """
    compared, partners = _identical(units)
    names = [r for r, comparisons in compared.items() if len(comparisons) >= LIMITS.fewest]
    bases = {r: _base(r, compared, names) for r in names}
    counts = {r: (sum(same > 0 for same, _ in comparisons), len(comparisons)) for r, comparisons in compared.items()}
    p_values = [float(binomtest(*counts[r], bases[r], "greater").pvalue) for r in names]
    adjusted = dict(zip(names, holm(p_values), strict=True))
    evidence = {}
    for rater in units:
        k, n = counts[rater]
        if rater not in adjusted or len(names) < 3:
            text = f"Too few answers that somebody else gave earlier: {n}."
            evidence[rater] = QualityEvidence("copying", "none", text, n=n)
            continue
        p, base, share = adjusted[rater] or 0.0, bases[rater], wilson(k, n)
        far = k / n >= base + (1 - base) / 2
        signal: Signal = "none"
        if p <= LIMITS.level:
            signal = "strong" if far else "weak"
        whom = partners[rater]
        most = f"; most often {max(whom, key=lambda r: (whom[r], r))}" if whom and signal != "none" else ""
        text = (
            f"{k} of {n} answers ({percent(k / n)}, {interval_text(share)}) are nearly identical "
            f"to an earlier one of somebody else; expected {percent(base)}, p {format_p(p)} after Holm's correction{most}."
        )
        evidence[rater] = QualityEvidence("copying", signal, text, k / n, share.low, share.high, n, p)
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


def _identical(units: ByRater) -> tuple[Compared, dict[str, dict[str, int]]]:
    """Return per rater and answer how many of how many earlier answers are nearly identical, and per rater with whom."""
    compared: Compared = {r: [] for r in units}
    partners: dict[str, dict[str, int]] = {r: {} for r in units}
    for of in grouped((u.unit.name, u) for own_units in units.values() for u in of_kind(own_units, "item")).values():
        for judgement in of:
            before = [o for o in of if o.rater != judgement.rater and _earlier(o, judgement)]
            places = [""] if "preference" in judgement.labels.asks else judgement.unit.systems
            for system in places:
                known = [(o.rater, same) for o in before if (same := _same(o, judgement, system)) is not None]
                if known:
                    compared[judgement.rater].append((sum(same for _, same in known), len(known)))
                for other in (r for r, same in known if same):
                    partners[judgement.rater][other] = partners[judgement.rater].get(other, 0) + 1
    return compared, partners


def _earlier(other: UnitJudgement, judgement: UnitJudgement) -> bool:
    """Return whether the other answer came first. Without times, both count."""
    return other.submitted is None or judgement.submitted is None or other.submitted < judgement.submitted


def _same(a: UnitJudgement, b: UnitJudgement, system: str) -> bool | None:
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
        close = abs(one.score - two.score) <= LIMITS.close_score
    if "spans" not in asks:
        return close
    first, second = spans_of(a.labels, system), spans_of(b.labels, system)
    if not first and not second:
        return None
    return close and (_f1(first, second, ("severity",)) or 0.0) >= LIMITS.close_spans
