"""Calibrate λ on human scores (Lu et al. 2023, Appendix B), with confidence intervals and cross-validation."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from core.calibration.bootstrap_draws import STEPS
from core.calibration.breakpoints import without_noise
from core.calibration.curve import CurvePoint, Plateau, omega
from core.calibration.lambda_search import SWEPT_PAIRS, ManyOutputs, all_pairs_value, best_of, curve_of
from core.calibration.presets import ENOUGH_OUTPUTS, ENOUGH_RATERS, Advice, LambdaPreset, advice, enough_outputs
from core.calibration.resampling import Band, CrossValidated, cross_validated, resampled
from core.calibration.tie_scan import SCANNED, TieScan
from core.data import OutputKey, in_natural_order
from core.progress import Progress, no_progress
from core.refine.result import NOISE
from core.signature import signature
from core.stats.correlation.correlation import Group, Measure, check_measure, group_ids
from core.stats.correlation.pairs import Floats
from core.stats.significance.perm_both import agreement_with_ties

VERSION = 1
PAIRS_IN_ALL = 150_000_000_000
_COARSE = (
    "λ is exact. With so many pairs, each resample is fitted to 201 values of λ only, 0.005 apart in λ/(1+λ), and single "
    "values of λ that are higher because of a tie are not searched for."
)


_SCAN = "λ is the best of a scan: 201 values, 0.005 apart in λ/(1+λ), and 40 more near the best. ε is fitted at each of them."


def measure_name(measure: Measure, group: Group) -> str:
    """Return the measure as written in signatures: acc_eq has the best ε, or ε = 0 on systems' means."""
    if measure != "acc_eq":
        return measure
    return "acc_eq(eps=0)" if group == "system" else "acc_eq(eps=best at each lambda)"


class CalibrationPoint(NamedTuple):
    """One output: its two distances, human score (higher is better), plain BARTScore, number of raters, and weight.

    The weight is the number of outputs it represents: 1/probability in a calibration set.
    """

    key: OutputKey
    dist_exp: float
    dist_imp: float
    human: float
    score_hyp: float | None = None
    n_raters: int | None = None
    weight: float = 1.0


def in_order(points: Iterable[CalibrationPoint]) -> tuple[CalibrationPoint, ...]:
    """Return the points in natural order of their outputs, so that random draws do not depend on the order of rows."""
    all_points = list(points)
    place = {key: i for i, key in enumerate(in_natural_order({p.key for p in all_points}))}
    return tuple(sorted(all_points, key=lambda p: place[p.key]))


class BestAgreement(NamedTuple):
    """The λ with the best agreement, known before the 95 % CIs: its agreement, and the agreement at λ = 1 (None if undefined)."""

    lam: float
    agreement: float
    at_one: float | None
    n: int


@dataclass(frozen=True, slots=True)
class Calibration:
    """A calibrated λ with its agreement and uncertainty. Intervals are 95 % percentile intervals; if None, see `notes`.

    `at` holds the agreement at "0", "1", "inf" and "vanilla" (plain BARTScore). `peak` is a single λ with a higher agreement
    due to a tie, which is not usable (not searched for above 100,000 pairs). `agreement_ci` is the interval of the agreement
    at `lam`. `advice` has the recommended λ: `lam` if its gain over λ = 1 is significant, else 1. `groups` is the number of
    segments in which the agreement is defined at `lam`, and of all; None unless it is an average over segments.
    """

    lam: float
    agreement: float
    plateau: Plateau
    peak: CurvePoint | None
    at: Mapping[str, float | None]
    presets: Mapping[str, tuple[float, float | None]]
    ci: tuple[float, float] | None
    agreement_ci: tuple[float, float] | None
    cross_validated: CrossValidated
    curve: tuple[CurvePoint, ...]
    ribbon: tuple[Band, ...]
    n: int
    n_segments: int
    n_systems: int
    raters: float | None
    notes: tuple[str, ...]
    signature: str
    advice: Advice
    groups: tuple[int, int] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values; ∞ becomes the string "inf", undefined values null."""
        cv, peak = self.cross_validated, self.peak
        return {
            "lambda": plain(self.lam),
            "plateau": [plain(self.plateau.low), plain(self.plateau.high)],
            "plateau_closed": [self.plateau.low_closed, self.plateau.high_closed],
            "agreement": self.agreement,
            "agreement_at": dict(self.at),
            "ci": None if self.ci is None else [plain(x) for x in self.ci],
            "agreement_ci": None if self.agreement_ci is None else list(self.agreement_ci),
            "recommended_lambda": None if self.advice.lam is None else plain(self.advice.lam),
            "recommendation": self.advice.why,
            "gain_over_1": self.advice.gain,
            "gain_over_1_ci": None if self.advice.gain_ci is None else list(self.advice.gain_ci),
            "segments_defined": None if self.groups is None else list(self.groups),
            "cross_validated": cv.value,
            "cross_validation": {
                "over": cv.over,
                "folds": cv.folds,
                "lambdas": [plain(x) for x in cv.lambdas],
                "reason": cv.reason,
            },
            "n": self.n,
            "n_segments": self.n_segments,
            "n_systems": self.n_systems,
            "n_raters": self.raters,
            "presets": {name: {"lambda": lam, "agreement": value} for name, (lam, value) in self.presets.items()},
            "peak": None if peak is None else {"lambda": plain(peak.lam), "agreement": peak.agreement},
            "curve": [[plain(p.lam), p.agreement] for p in self.curve],
            "ribbon": [[plain(b.lam), b.low, b.high] for b in self.ribbon],
            "notes": list(self.notes),
            "signature": self.signature,
        }


def plain(lam: float) -> float | str:
    """Return λ as a JSON value; ∞ becomes "inf"."""
    return "inf" if math.isinf(lam) else lam


def calibrate(
    points: Iterable[CalibrationPoint],
    *,
    measure: Measure = "kendall",
    group: Group = "pooled",
    seed: int = 0,
    draws: int = 300,
    presets: Sequence[LambdaPreset] = (),
    noise: float = NOISE,
    available: int | None = None,
    progress: Progress = no_progress,
    on_best: Callable[[BestAgreement], object] = lambda _: None,
) -> Calibration:
    """Find the λ with the best agreement, by the exact sweep of `lambda_search`, or the scan of `tie_scan` for acc_eq.

    Distances closer than their `noise` are equal for rank measures, so that rounding decides no λ. `on_best` is called with
    this λ before the 95 % CIs are computed, because they take most of the time. Each of `draws` resamples of the segments
    refits λ; cross-validation fits λ on other documents. The same points and seed give the same result. Points are weighted,
    pairs by the product of both weights; this estimates the agreement over all outputs from which the calibration set was
    drawn. Where `unweighable` gives a reason, weights are ignored and a note is added. Raises `UserError` if the agreement is undefined at every λ, or for more than 50,000 pooled outputs.
    """
    check_measure(measure, group)
    data = in_order(points)
    segments, systems = [p.key.segment for p in data], [p.key.system for p in data]
    rows = [(p.dist_exp, p.dist_imp, p.human) for p in data]
    exp, imp, human = np.array(rows, dtype=np.float64).reshape(-1, 3).T.copy()
    if measure != "pearson":  # a smooth function of the distances
        exp, imp = without_noise(exp, noise), without_noise(imp, noise)
    sweep = curve_of(exp, imp, human, measure=measure, group=group, segments=segments, systems=systems)
    progress(0.0)
    weights = np.array([p.weight for p in data])
    uneven = len(data) > 0 and bool((weights != weights[0]).any())
    unused = unweighable(measure, group, segments, weights) if uneven else ""
    if unused or not uneven:
        weights = np.ones(len(data))
    curve = sweep(weights)
    best = best_of(curve, exp, imp, human, group)
    vanilla = None
    if data and all(p.score_hyp is not None for p in data):
        hyp = [p.score_hyp or 0.0 for p in data]
        if uneven and not unused:  # with equal distances, λ has no effect
            same = -np.array(hyp)
            plain_score = curve_of(same, same, human, measure=measure, group=group, segments=segments, systems=systems)
            vanilla = plain_score(weights).value(1.0)
        else:
            rounded = np.round(human, 12)
            vanilla = agreement_with_ties(measure, hyp, rounded, group=group, segments=segments, systems=systems).value
    many, scan = isinstance(sweep, ManyOutputs), isinstance(sweep, TieScan)
    at = {name: all_pairs_value(curve, x) for name, x in (("0", 0.0), ("1", 1.0), ("inf", math.inf))}
    value = all_pairs_value(curve, best.lam) if scan else best.agreement
    if value is None:
        raise ValueError(f"agreement is undefined at the chosen λ = {best.lam}")
    progress(0.1)
    on_best(BestAgreement(best.lam, value, at["1"], len(data)))
    # fewer resamples if they would take minutes, but at least 20
    affordable = min(draws, max(20, PAIRS_IN_ALL // (len(data) * (len(data) - 1) // 2))) if many else draws
    fits = resampled(sweep, group_ids(segments), best.lam, seed, affordable, lambda x: progress(0.1 + 0.5 * x), weights)
    held_out = cross_validated(sweep, [p.key for p in data], seed, lambda x: progress(0.6 + 0.4 * x), weights)
    groups = None
    if group == "segment":
        scores = -(omega(best.lam) * exp + (1 - omega(best.lam)) * imp)
        seen = agreement_with_ties(measure, scores, human, group=group, segments=segments, systems=systems)
        groups = (seen.groups, len(set(segments)))
    facts = {"measure": measure_name(measure, group), "group": group, "seed": seed, "draws": affordable}
    facts |= {"fits": f"omega/{STEPS}"} if many or scan else {}
    facts |= {"weights": "1/probability"} if uneven and not unused else {}
    raters = [p.n_raters for p in data if p.n_raters is not None]
    notes = [f"The sampling weights are not used: {unused}."] if unused else []
    notes += _guidance(data, raters, available)
    if affordable < draws:
        notes.append(f"The interval uses {affordable} resamples, because more would take too long with so many pairs.")
    if many:
        notes.append(_COARSE)
    if isinstance(sweep, TieScan):
        notes.append(_SCAN)
        if sweep.sampled:
            notes.append(
                f"The scan, its resamples and the curve use a random sample of {SCANNED:,} of {sweep.total:,} pairs (standard "
                "error at most .0012). The agreements at the chosen λ, 0, 1 and ∞ use all pairs."
            )
    return Calibration(
        lam=best.lam,
        agreement=value,
        plateau=best.plateau,
        peak=best.peak,
        at={**at, "vanilla": vanilla},
        presets={p.label: (p.lam, curve.value(p.lam)) for p in presets},
        ci=fits.ci,
        agreement_ci=fits.agreement_ci,
        cross_validated=held_out,
        curve=tuple(curve.points()),
        ribbon=fits.ribbon,
        n=len(data),
        n_segments=len(set(segments)),
        n_systems=len(set(systems)),
        raters=sum(raters) / len(raters) if raters else None,
        notes=(*notes, *fits.notes),
        signature=signature("lambda", {**facts, "v": VERSION}),
        advice=advice(best.lam, value, at["1"], fits.gain_ci, groups),
        groups=groups,
    )


def unweighable(measure: Measure, group: Group, segments: Sequence[Hashable], weights: Floats) -> str:
    """Return why these weights cannot be used, or "" if they can.

    Systems' means are weighted for every measure. Otherwise only Kendall and Pearson take weights; within segments, the
    outputs of a segment must have the same weight (which is then the weight of the segment).
    """
    if group == "system":
        return ""
    if measure not in ("kendall", "pearson"):
        return "only Kendall's τ and Pearson's r support weights"
    if group == "segment":
        of: dict[Hashable, float] = {}
        if any(of.setdefault(s, w) != w for s, w in zip(segments, weights.tolist(), strict=True)):
            return "outputs of a segment must have equal weights, as when whole segments are drawn"
    elif measure == "kendall" and len(weights) * (len(weights) - 1) // 2 > SWEPT_PAIRS:
        return f"weights are not supported above {SWEPT_PAIRS:,} pairs"
    return ""


def _guidance(data: Sequence[CalibrationPoint], raters: Sequence[int], available: int | None) -> list[str]:
    """Return notes on missing outputs and raters, by the recommendations of Appendix B, as far as there are `available` outputs."""
    notes = []
    n, enough = len(data), enough_outputs(available)
    if n < enough < ENOUGH_OUTPUTS:
        notes.append(f"{n} of the {enough} outputs of this project have both scores; {enough - n} are missing.")
    elif n < enough:
        notes.append(f"{n} of {enough} recommended outputs have both scores; {enough - n} are missing.")
    if enough < ENOUGH_OUTPUTS:
        notes.append(f"The project has {enough} outputs; {ENOUGH_OUTPUTS} or more are recommended for a fit.")
    if few := sum(r < ENOUGH_RATERS for r in raters):
        notes.append(f"{few} of {len(data)} outputs have fewer than {ENOUGH_RATERS} raters; 2 or 3 are recommended.")
    return notes
