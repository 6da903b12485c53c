"""Evidence from one rater's own units, and verdicts on raters with the evidence for each.

A verdict never follows from one weak signal, and excludes nobody: managers decide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean, median

from scipy.stats import binomtest

from core.campaigns.attention_checks import AttentionCheck, check_from_json
from core.campaigns.rater_agreement import agreement, copying, span_agreement_with_others
from core.campaigns.submitted import (
    LIMITS,
    ByRater,
    EvidenceKind,
    OutputPlace,
    QualityAdvice,
    QualityEvidence,
    RaterVerdict,
    Signal,
    UnitJudgement,
    answers,
    interval_text,
    of_kind,
    percent,
    spans_of,
)
from core.data import grouped
from core.stats.bootstrap import Interval, wilson
from core.stats.raters.span_agreement import match_spans
from core.stats.significance.system_comparison import holm


def checks(units: ByRater) -> dict[str, QualityEvidence]:
    """Return the share of attention checks that each rater passed, compared with the share that the others passed.

    The others' share is (passed + 1)/(n + 2), and counts as at least the threshold. Strong if the rater's share lies below the
    threshold and a one-sided binomial test with Holm's correction is significant; weak if it is significant without the correction.
    """
    results = {
        rater: [r for u in of_kind(own, "check") if (r := check_passed(u, own)) is not None]
        for rater, own in units.items()
    }
    return _passed("checks", "Passed {} of {} attention checks", "attention checks", results)


def wrong_suggestions(units: ByRater) -> dict[str, QualityEvidence]:
    """Return the share of planted wrong suggestions that each rater rejected: attention checks, and tested like them."""
    results = {rater: [not wrong.accepted for u in own for wrong in u.wrong] for rater, own in units.items()}
    text = "Rejected {} of {} planted wrong suggestions"
    return _passed("suggestions", text, "planted wrong suggestions", results)


def _passed(
    kind: EvidenceKind, text: str, what: str, results: Mapping[str, Sequence[bool]]
) -> dict[str, QualityEvidence]:
    names = [rater for rater, passed in results.items() if len(passed) >= LIMITS.fewest_checks]
    bases = {rater: _base(rater, results) for rater in names}
    plain = {r: float(binomtest(sum(results[r]), len(results[r]), bases[r], "less").pvalue) for r in names}
    adjusted = dict(zip(names, holm(list(plain.values())), strict=True))
    evidence = {}
    for rater, passed in results.items():
        share = wilson(sum(passed), len(passed))
        if rater not in plain or share.value is None:
            evidence[rater] = QualityEvidence(kind, "none", f"Too few {what}: {len(passed)}.", n=len(passed))
            continue
        p, signal = adjusted[rater] or 0.0, _signal(plain[rater], adjusted[rater] or 0.0)
        said = (
            f"{text.format(sum(passed), share.n)} ({percent(share.value)}, {interval_text(share)}); expected: at least "
            f"{percent(LIMITS.checks_passed)}, the others pass {percent(bases[rater])}; "
            f"p {plain[rater]:.3f}, after Holm's correction {p:.3f}."
        )
        below = share.value < LIMITS.checks_passed
        evidence[rater] = QualityEvidence(
            kind, signal if below else "none", said, share.value, share.low, share.high, share.n, p
        )
    return evidence


def _signal(plain: float, adjusted: float) -> Signal:
    return "strong" if adjusted <= LIMITS.level else "weak" if plain <= LIMITS.level else "none"


def _base(rater: str, results: Mapping[str, Sequence[bool]]) -> float:
    others = [r for name, passed in results.items() if name != rater for r in passed]
    return max(LIMITS.checks_passed, (sum(others) + 1) / (len(others) + 2)) if others else LIMITS.checks_passed


def check_passed(judgement: UnitJudgement, units: Sequence[UnitJudgement]) -> bool | None:
    """Return whether an attention check is passed; None if it cannot be judged. `units` are all units of the rater.

    With error spans: one overlaps the planted error, or the output is called unusable. With preferences: the clean text is
    preferred. With scores: that of the broken output is clearly below that of the clean text. If the rater did not see the
    clean text, it must be below the rater's median.
    """
    check = check_from_json(judgement.unit.details)
    labels = judgement.labels
    if "spans" in labels.asks:
        unusable = labels.of(check.broken).verdict == "non_translation"
        return unusable or check.planted.found_by(spans_of(labels, check.broken))
    if "preference" in labels.asks:
        return bool(labels.preference) and labels.preference[0] not in (None, check.broken)
    score = labels.of(check.broken).score
    clean = _clean_score(judgement, check, units)
    if score is None:
        return None
    if clean is not None:
        return score <= clean - LIMITS.score_drop
    own = [v for u in of_kind(units, "item") for v in answers(u).values()]
    return score < median(own) if own else None


def _clean_score(judgement: UnitJudgement, check: AttentionCheck, units: Sequence[UnitJudgement]) -> float | None:
    if check.clean:
        return judgement.labels.of(check.clean).score
    same = [
        u
        for u in of_kind(units, "item")
        if (u.unit.name == check.unit if check.unit else u.unit.of == judgement.unit.of)
    ]
    return next((s for u in same if (s := u.labels.of(check.broken).score) is not None), None)


def repeats(units: Sequence[UnitJudgement]) -> QualityEvidence:
    """Return how far repeated answers lie apart: points of the score, the share of changed preferences, or 1 − F1 of error spans.

    At most weak: careful raters change their mind too.
    """
    first = {u.unit.name: u for u in of_kind(units, "item")}
    pairs = [(first[name], u) for u in of_kind(units, "repeat") if (name := u.unit.details.get("unit")) in first]
    gaps, asks = list[float](), pairs[0][1].labels.asks if pairs else ()
    for before, after in pairs:
        if "preference" in asks:
            gaps.append(float(before.labels.preference != after.labels.preference))
        elif "score" in asks:
            a, b = ({p.system: v for p, v in answers(u).items()} for u in (before, after))
            gaps += [abs(a[s] - b[s]) for s in a.keys() & b.keys()]
        else:
            f1 = [_f1(before, after, s) for s in after.unit.systems]
            gaps += [1 - f for f in f1 if f is not None]
    if len(gaps) < LIMITS.fewest_repeats:
        return QualityEvidence("repeats", "none", f"Too few repeated outputs: {len(gaps)}.", n=len(gaps))
    mean = fmean(gaps)
    if "preference" in asks:
        text, limit = f"Changed {percent(mean)} of {len(gaps)} repeated preferences.", 0.5
    elif "score" in asks:
        text, limit = f"Scores of {len(gaps)} repeated outputs differ by {mean:.0f} points.", LIMITS.repeat_difference
    else:
        text, limit = f"Error spans of {len(gaps)} repeated outputs agree with F1 {1 - mean:.2f}.", 0.9
    return QualityEvidence("repeats", "weak" if mean >= limit else "none", text, mean, n=len(gaps))


def _f1(before: UnitJudgement, after: UnitJudgement, system: str) -> float | None:
    one, two = ([s for s in spans_of(u.labels, system) if s.side == "output"] for u in (before, after))
    return match_spans(one, two, max((s.end for s in [*one, *two]), default=0)).f1.value


def speed(units: Sequence[UnitJudgement]) -> QualityEvidence:
    """Return the median reading speed in words per second. Strong if most units are read faster than is plausible."""
    speeds = [
        u.words / u.labels.seconds
        for u in of_kind(units, "item", "repeat", "check")
        if u.labels.seconds > 0 and u.words > 0
    ]
    if len(speeds) < LIMITS.fewest:
        return QualityEvidence("speed", "none", f"Too few units with a time: {len(speeds)}.", n=len(speeds))
    fast = sum(s > LIMITS.words_per_second for s in speeds)
    share, typical = wilson(fast, len(speeds)), median(speeds)
    text = (
        f"Reads {typical:.1f} words per second (median); {percent(share.value)} of {len(speeds)} units ({interval_text(share)}) "
        f"faster than {LIMITS.words_per_second:g}."
    )
    return QualityEvidence("speed", _above(share, 0.5), text, typical, n=len(speeds))


def same_answer(units: Sequence[UnitJudgement], others: Mapping[OutputPlace, Sequence[float]]) -> QualityEvidence:
    """Return the share of the rater's most frequent answer. For preferences: of the most frequent place on the screen.

    `others` has the answers of other raters by output. A share counts only if the others answer the same less often on the same
    outputs (their whole interval lies below it): many outputs may really be perfect.
    """
    items = of_kind(units, "item")
    by_place = {place: value for u in items for place, value in answers(u).items()}
    if len(by_place) < LIMITS.fewest:
        return QualityEvidence("same answer", "none", f"Too few answers: {len(by_place)}.", n=len(by_place))
    if "preference" in items[0].labels.asks:
        places = [_place(u) for u in items]
        what, times = Counter(places).most_common(1)[0]
        high: float | None = 1 / 2 if what != "equal" else 1 / 3
        named = {"0": "the first output", "1": "the second output", "equal": "“equally good”"}[what]
        share = wilson(times, len(places))
        theirs = ""
    else:
        value, times = Counter(by_place.values()).most_common(1)[0]
        share = wilson(times, len(by_place))
        compared = [v == value for place in by_place for v in others.get(place, ())]
        base = wilson(sum(compared), len(compared))
        high, named = base.high, f"the same value ({value:g})"
        theirs = f"; other raters on the same outputs: {percent(base.value)}"
    signal: Signal = "none"
    if share.low is not None and share.value is not None and high is not None and share.low > high:
        signal = "strong" if share.value >= LIMITS.same_answer else "weak" if share.low > 0.7 else "none"
    text = f"Gives {named} in {percent(share.value)} of {share.n} answers ({interval_text(share)}){theirs}."
    return QualityEvidence("same answer", signal, text, share.value, share.low, share.high, share.n)


def _place(judgement: UnitJudgement) -> str:
    winner = judgement.labels.preference[0] if judgement.labels.preference else None
    order = judgement.labels.order if winner in judgement.labels.order else judgement.unit.systems
    return "equal" if winner is None else str(order.index(winner))


def same_span(units: Sequence[UnitJudgement]) -> QualityEvidence:
    """Return the share of marked outputs with an error span at the most frequent place, such as always the first word."""
    marked = [
        {(s.start, s.end) for s in spans_of(u.labels, system) if s.side == "output"}
        for u in of_kind(units, "item")
        for system in u.unit.systems
    ]
    marked = [places for places in marked if places]
    if len(marked) < LIMITS.fewest:
        return QualityEvidence("same span", "none", f"Too few outputs with error spans: {len(marked)}.", n=len(marked))
    times = max(Counter(p for places in marked for p in places).values())
    share = wilson(times, len(marked))
    text = f"Marks the same place in {percent(share.value)} of {share.n} outputs with error spans."
    signal = _above(share, LIMITS.same_span)
    return QualityEvidence("same span", signal, text, share.value, share.low, share.high, share.n)


def _above(share: Interval, limit: float) -> Signal:
    """Return "strong" if the whole interval of a share lies above the limit, "weak" if the share does."""
    if share.low is not None and share.low > limit:
        return "strong"
    return "weak" if share.value is not None and share.value > limit else "none"


def verdicts(units: Sequence[UnitJudgement]) -> list[RaterVerdict]:
    """Return one verdict per rater, by name. The order of the units does not matter; tutorial items are ignored."""
    ordered = sorted(units, key=lambda u: (u.rater, u.unit.name))
    by_rater = grouped((u.rater, u) for u in ordered)
    answers_by_place = grouped(
        (place, (u.rater, value)) for u in of_kind(ordered, "item") for place, value in answers(u).items()
    )
    checked, copied = checks(by_rater), copying(by_rater)
    suggested = wrong_suggestions(by_rater)
    agreeing, spans = agreement(by_rater), span_agreement_with_others(by_rater)
    all_verdicts = []
    for rater, own in by_rater.items():
        evidence = (
            checked[rater],
            *([suggested[rater]] if any(u.wrong for u in ordered) else []),
            agreeing[rater],
            spans[rater],
            copied[rater],
            same_answer(own, _others(rater, answers_by_place)),
            same_span(own),
            speed(own),
            repeats(own),
        )
        all_verdicts.append(RaterVerdict(rater, advice(evidence), evidence))
    return all_verdicts


def advice(evidence: Sequence[QualityEvidence]) -> QualityAdvice:
    """Return "exclude?" for a strong signal and another one, "look" for one strong or two weak signals, otherwise "fine".

    "unknown" if there are too few cases for every kind of evidence.
    """
    if all(e.value is None for e in evidence):
        return "unknown"
    strong = sum(e.signal == "strong" for e in evidence)
    weak = sum(e.signal == "weak" for e in evidence)
    if strong and strong + weak > 1:
        return "exclude?"
    return "look" if strong or weak > 1 else "fine"


def _others(rater: str, answers_by_place: dict[OutputPlace, list[tuple[str, float]]]) -> dict[OutputPlace, list[float]]:
    return {place: [v for r, v in rater_values if r != rater] for place, rater_values in answers_by_place.items()}
