"""Calibrating λ on human scores (Lu et al. 2023, Appendix B): the optimum, how sure it is, and how well it travels."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from core.calibration.advice import Advice, advice
from core.calibration.curve import CurvePoint, Plateau, omega
from core.calibration.drawn import STEPS, Tell, quiet
from core.calibration.lambda_search import SWEPT_PAIRS, ManyOutputs, all_pairs_value, curve_of, why_undefined
from core.calibration.presets import Preset
from core.calibration.resampling import Band, CrossValidated, cross_validated, resampled
from core.calibration.tie_scan import SCANNED, TieScan
from core.data import OutputKey
from core.errors import UserError
from core.signature import signature
from core.stats.correlation import Group, Measure, Statistic, group_ids, known
from core.stats.pairs import Floats
from core.stats.perm_both import agreement_with_ties

VERSION = 1
ENOUGH_OUTPUTS = 100
ENOUGH_RATERS = 2
PAIRS_IN_ALL = 150_000_000_000
_COARSE = (
    "λ is exact; with so many pairs each resample is fitted on 201 λ only, 0.005 apart in λ/(1+λ), and no single λ is looked "
    "for that is higher by a tie."
)


_SCAN = "λ is the best of a scan: 201 values, 0.005 apart in λ/(1+λ), and 40 more beside the best, with ε found anew at each."


def measure_name(measure: Measure, group: Group) -> str:
    """The measure as a signature has it: acc_eq is calibrated, but for systems' means, where it is pairwise accuracy."""
    if measure != "acc_eq":
        return measure
    return "acc_eq(eps=0)" if group == "system" else "acc_eq(eps=best at each lambda)"


class Point(NamedTuple):
    """One output: its two distances, what people think of it (higher is better), plain BARTScore, how many rated it, and for
    how many outputs it stands (1/probability in a batch)."""

    key: OutputKey
    dist_exp: float
    dist_imp: float
    human: float
    score_hyp: float | None = None
    n_raters: int | None = None
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Calibration:
    """A calibrated λ and all that is needed to judge it. Intervals are 95 % percentile intervals; None: see `notes`.

    `at` holds the agreement at "0", "1", "inf" and "vanilla" (plain BARTScore); `peak` a single λ that is higher still
    by a tie and not usable (not looked for among more than 100,000 pairs); `agreement_ci` the interval of the agreement at
    this λ. `advice` has the λ to use: `lam` where its gain over λ = 1 is shown, else 1. `groups` counts the segments in which the
    agreement is defined at `lam`, of all; None unless it is an average over segments.
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
        """The report as plain JSON values; ∞ is the string "inf", what is undefined is null."""
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
    """λ as JSON has it."""
    return "inf" if math.isinf(lam) else lam


def calibrate(
    points: Iterable[Point],
    *,
    measure: Measure = "kendall",
    group: Group = "pooled",
    seed: int = 0,
    draws: int = 300,
    presets: Sequence[Preset] = (),
    tell: Tell = quiet,
) -> Calibration:
    """Find the λ that agrees best with people, by the exact sweep of `lambda_search`; for acc_eq, by the scan of `tie_scan`.

    The interval refits λ on `draws` resamples of the segments; cross-validation fits it on other documents. The same
    points and seed give the same result. Points with weights count by them, a pair by the product of both, which estimates the
    agreement over all outputs a batch was drawn from (`unweighable` says where not; then no weights are used, and a note says
    so). `tell` hears now and then which share of the work is done. Raises `UserError`
    where the agreement is undefined at every λ, and above 50,000 outputs that are compared each with each.
    """
    known(measure, group)
    data = tuple(points)
    segments, systems = [p.key.segment for p in data], [p.key.system for p in data]
    exp, imp, human = (np.array(column, dtype=np.float64) for column in (_column(data, k) for k in (1, 2, 3)))
    sweep = curve_of(exp, imp, human, measure=measure, group=group, segments=segments, systems=systems)
    tell(0.0)
    weights = np.array([p.weight for p in data])
    uneven = len(data) > 0 and bool((weights != weights[0]).any())
    unused = unweighable(measure, group, segments, weights) if uneven else ""
    if unused or not uneven:
        weights = np.ones(len(data))
    curve = sweep(weights)
    best = curve.best()
    if best is None:
        raise UserError(
            "λ cannot be calibrated: agreement is undefined at every λ",
            got=why_undefined(exp, imp, human, group),
            hint="Add outputs whose human scores differ",
        )
    vanilla = None
    if data and all(p.score_hyp is not None for p in data):
        hyp = [p.score_hyp or 0.0 for p in data]
        if uneven and not unused:  # both distances alike, so that λ does nothing
            same = -np.array(hyp)
            plain_score = curve_of(same, same, human, measure=measure, group=group, segments=segments, systems=systems)
            vanilla = plain_score(weights).value(1.0)
        else:
            rounded = np.round(human, 12)
            vanilla = agreement_with_ties(measure, hyp, rounded, group=group, segments=segments, systems=systems).value
    tell(0.1)
    many, scan = isinstance(sweep, ManyOutputs), isinstance(sweep, TieScan)
    affordable = _affordable(draws, len(data)) if many else draws
    fits = resampled(sweep, group_ids(segments), best.lam, seed, affordable, lambda x: tell(0.1 + 0.5 * x), weights)
    held_out = cross_validated(sweep, [p.key for p in data], seed, lambda x: tell(0.6 + 0.4 * x), weights)
    at = {name: all_pairs_value(curve, x) for name, x in (("0", 0.0), ("1", 1.0), ("inf", math.inf))}
    value = all_pairs_value(curve, best.lam) if scan else best.agreement
    if value is None:
        raise ValueError(f"agreement is undefined at the chosen λ = {best.lam}")
    seen = _at(best.lam, exp, imp, human, measure, group, segments, systems) if group == "segment" else None
    groups = None if seen is None else (seen.groups, len(set(segments)))
    facts = {"measure": measure_name(measure, group), "group": group, "seed": seed, "draws": affordable}
    facts |= {"fits": f"omega/{STEPS}"} if many or scan else {}
    facts |= {"weights": "1/probability"} if uneven and not unused else {}
    raters = [p.n_raters for p in data if p.n_raters is not None]
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
        curve=tuple(curve.drawn()),
        ribbon=fits.ribbon,
        n=len(data),
        n_segments=len(set(segments)),
        n_systems=len(set(systems)),
        raters=sum(raters) / len(raters) if raters else None,
        notes=(
            *((f"The weights of the batch are not used: {unused}.",) * bool(unused)),
            *_guidance(data, raters),
            *_shortened(draws, affordable),
            *((_COARSE,) * many),
            *(_scanned(sweep) if isinstance(sweep, TieScan) else ()),
            *fits.notes,
        ),
        signature=signature("lambda", {**facts, "v": VERSION}),
        advice=advice(best.lam, value, at["1"], fits.gain_ci, groups),
        groups=groups,
    )


def _at(
    lam: float, exp: Floats, imp: Floats, human: Floats, measure: Measure, group: Group, segments: Sequence[Hashable],
    systems: Sequence[Hashable],
) -> Statistic:  # fmt: skip
    scores = -(omega(lam) * exp + (1 - omega(lam)) * imp)
    return agreement_with_ties(measure, scores, human, group=group, segments=segments, systems=systems)


def _scanned(sweep: TieScan) -> list[str]:
    """What a scan is, and what it looked at."""
    if not sweep.sampled:
        return [_SCAN]
    return [
        _SCAN,
        f"The scan, its resamples and the curve look at {SCANNED:,} of {sweep.total:,} pairs, drawn at random (standard error at "
        "most .0012); the agreements at the λ found, 0, 1 and ∞ are those of all pairs.",
    ]


def unweighable(measure: Measure, group: Group, segments: Sequence[Hashable], weights: Floats) -> str:
    """Why points with these weights cannot be fitted by them, "" where they can.

    Of systems' means any measure can: the means are weighted. Else Kendall and Pearson can, within segments as long as the
    outputs of a segment have the same weight (which then is that of the segment).
    """
    if group == "system":
        return ""
    if measure not in ("kendall", "pearson"):
        return "only Kendall's τ and Pearson's r take weights of outputs"
    if group == "segment":
        of: dict[Hashable, float] = {}
        if any(of.setdefault(s, w) != w for s, w in zip(segments, weights.tolist(), strict=True)):
            return "within segments they must be alike, as in a batch of whole segments"
    elif measure == "kendall" and len(weights) * (len(weights) - 1) // 2 > SWEPT_PAIRS:
        return f"with more than {SWEPT_PAIRS:,} pairs outputs are counted, not weighed"
    return ""


def _column(data: Sequence[Point], k: int) -> list[float]:
    return [float(p[k]) for p in data]  # type: ignore[arg-type]


def _affordable(draws: int, n: int) -> int:
    """Fewer resamples where they would take minutes, but 20 at least."""
    return min(draws, max(20, PAIRS_IN_ALL // (n * (n - 1) // 2)))


def _shortened(draws: int, affordable: int) -> list[str]:
    told = f"The interval rests on {affordable} resamples; with so many pairs more take long."
    return [told] if affordable < draws else []


def _guidance(data: Sequence[Point], raters: Sequence[int]) -> list[str]:
    """What Appendix B asks for and is missing."""
    notes = []
    if len(data) < ENOUGH_OUTPUTS:
        notes.append(
            f"{len(data)} outputs have both scores; {ENOUGH_OUTPUTS} or more are advised: {ENOUGH_OUTPUTS - len(data)} are missing."
        )
    if few := sum(r < ENOUGH_RATERS for r in raters):
        notes.append(
            f"{few} of {len(data)} outputs were rated by fewer than {ENOUGH_RATERS} people; 2 or 3 are advised."
        )
    return notes
