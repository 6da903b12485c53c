"""What suggestions change: the labels of the suggested arm against those of the control arm of the same campaign.

Every effect has a 95 % CI (`core.stats.campaign.arm_contrasts`) and, where arms were drawn at random, the p-value of a test that draws
them again within their blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from core.campaigns.attention_checks import overlapping
from core.campaigns.suggestions import Arm
from core.data import Span, grouped
from core.stats.bootstrap import LEVEL, wilson_bounds
from core.stats.campaign.arm_contrasts import (
    FEW_RATERS,
    ArmMeasure,
    ArmRows,
    Contrast,
    Equivalence,
    Terms,
    contrasts,
    equivalence,
    levels,
    randomisation_p,
)
from core.stats.correlation.correlation import group_ids
from core.stats.correlation.pairs import Floats


class SuggestionRow(NamedTuple):
    """What one rater answered for one output, and what this rater was shown.

    `unit` is the name of the campaign's unit, the same for all raters who get it; a unit with several outputs has a row for each, in the
    same arm. A repeat is a unit of its own.
    `block` and `probability` are those of `ArmDraw`. `position` is the place of the unit in the rater's work, from 0.
    `spans` and `major` count the error spans that the rater submitted, all and those of severity Major or worse; None without spans
    in the protocol. `score` is the number that systems are compared by, higher is better: 0 to 100, or minus the MQM penalty. `seconds` is the active time, of a unit with several outputs an equal part.
    `agreement` is `layer_agreement` with all spans that the layer has in this output, whether they were shown or not.

    `accepted`, `edited` and `rejected` count the suggestions of the layer (without wrong ones) by the last decision of the rater; the
    rest of `shown` has no decision. They are 0 in the control arm. The pairs below are counted in both arms, because what is not shown is
    drawn all the same (`draw_suggestions`): `wrong` are planted wrong suggestions, `wrong_marked` those that the rater accepted,
    edited or marked. `withheld` are spans of the layer that the suggested arm did not get, `plants` planted errors of attention checks,
    which no arm gets as a suggestion; marked means that an error span of the rater overlaps them.
    """

    rater: str
    unit: str
    arm: Arm
    block: str
    system: str
    position: int = 0
    probability: float = 0.5
    spans: int | None = None
    major: int | None = None
    score: float | None = None
    seconds: float | None = None
    agreement: float | None = None
    shown: int = 0
    accepted: int = 0
    edited: int = 0
    rejected: int = 0
    wrong: int = 0
    wrong_marked: int = 0
    withheld: int = 0
    withheld_marked: int = 0
    plants: int = 0
    plants_marked: int = 0


def layer_agreement(marked: Iterable[Span], layer: Iterable[Span]) -> float:
    """Return F1 over the characters of two sets of error spans, in [0, 1], higher is better; severities are ignored.

    1 if both are empty. An empty span counts as one character, at its place.
    """
    ours, theirs = _characters(marked), _characters(layer)
    total = len(ours) + len(theirs)
    return 2 * len(ours & theirs) / total if total else 1.0


def _characters(spans: Iterable[Span]) -> set[tuple[str, int]]:
    return {(s.side, place) for s in spans for place in range(s.start, max(s.end, s.start + 1))}


def marked_among(places: Iterable[Span], marked: Iterable[Span]) -> int:
    """Return how many places an error span of the same side overlaps."""
    errors = list(marked)
    return sum(
        any(e.side == p.side and overlapping((p.start, p.end), (e.start, e.end)) for e in errors) for p in places
    )


FEWEST = 10
"""Outputs with a value that each arm needs for a CI."""
DRAWS = 2000
Kind = Literal["ratio", "difference", "share"]


class SuggestionEffect(NamedTuple):
    """One effect with its 95 % CI; undefined values are None, with a reason.

    "ratio": `suggested` / `control`. "difference": `suggested` − `control`. "share": a share in the suggested arm only, in [0, 1].
    `p` is None where nothing was drawn at random. `outputs` counts rows with a value in (suggested, control). `contrast` is the effect with
    its standard error, of ratios on the scale of their logarithm.
    """

    key: str
    kind: Kind
    suggested: float | None = None
    control: float | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    outputs: tuple[int, int] = (0, 0)
    reason: str = ""
    contrast: Contrast | None = None


class Pooling(NamedTuple):
    """Whether the labels of both arms may be used together: the 90 % intervals of the score effect and of every arm × system within ±margin.

    `test` is None, with a reason, where this cannot be tested. `needed` is the number of outputs with a score from which on the test
    would succeed with a probability of 80 % for each effect of 0.
    """

    margin: float
    test: Equivalence | None
    needed: int | None = None
    reason: str = ""


class SuggestionReport(NamedTuple):
    """All effects. `systems` have for each system its score effect minus the mean of these over the systems (arm × system), p-values corrected for their
    number. `untimed` counts rows without active time, except attention checks. `randomised` is whether the arms were drawn at random."""

    effects: tuple[SuggestionEffect, ...]
    systems: tuple[SuggestionEffect, ...]
    pooling: Pooling
    raters: int
    units: int
    outputs: tuple[int, int]
    untimed: int
    randomised: bool

    @property
    def few_raters(self) -> bool:
        """Return whether the raters are too few to estimate how they differ, so that CIs hold for these raters only."""
        return self.raters < FEW_RATERS

    def effect(self, key: str) -> SuggestionEffect:
        """Return the effect of this key, one of those in `_MEASURES` or "position"."""
        return next(e for e in self.effects if e.key == key)


class _Measured(NamedTuple):
    """How a measure is read from a row: (top, bottom) or None. `logged`: the values are logarithms already."""

    key: str
    kind: Kind
    of: Callable[[SuggestionRow], tuple[float, float] | None]
    logged: bool = False


def _value(of: Callable[[SuggestionRow], float | None]) -> Callable[[SuggestionRow], tuple[float, float] | None]:
    return lambda row: None if (value := of(row)) is None else (value, 1.0)


def _part(
    part: Callable[[SuggestionRow], int | None], whole: Callable[[SuggestionRow], int | None]
) -> Callable[[SuggestionRow], tuple[float, float] | None]:
    return lambda row: (float(part(row) or 0), float(n)) if (n := whole(row)) else None


def _log_seconds(row: SuggestionRow) -> float | None:
    return math.log(row.seconds) if row.seconds and row.seconds > 0 else None


def _time_of_spans(row: SuggestionRow) -> tuple[float, float] | None:
    timed = row.seconds is not None and row.seconds > 0 and row.spans is not None
    return (row.seconds or 0.0, float(row.spans or 0)) if timed else None


_MEASURES = (
    _Measured("spans", "ratio", _value(lambda r: r.spans)),
    _Measured("major", "difference", _part(lambda r: r.major, lambda r: r.spans)),
    _Measured("score", "difference", _value(lambda r: r.score)),
    _Measured("seconds", "ratio", _value(_log_seconds), logged=True),
    _Measured("seconds_per_span", "ratio", _time_of_spans),
    _Measured("agreement", "difference", _value(lambda r: r.agreement)),
    _Measured("accepted", "share", _part(lambda r: r.accepted, lambda r: r.shown)),
    _Measured("edited", "share", _part(lambda r: r.edited, lambda r: r.shown)),
    _Measured("rejected", "share", _part(lambda r: r.rejected, lambda r: r.shown)),
    _Measured("wrong_accepted", "share", _part(lambda r: r.wrong_marked, lambda r: r.wrong)),
    _Measured("wrong", "difference", _part(lambda r: r.wrong_marked, lambda r: r.wrong)),
    _Measured("withheld", "difference", _part(lambda r: r.withheld_marked, lambda r: r.withheld)),
    _Measured("plants", "difference", _part(lambda r: r.plants_marked, lambda r: r.plants)),
)
ONE_UNIT = "a CI needs at least two units"


class _Family(NamedTuple):
    """Effects that are tested together: `terms` of each over `measures`. Without terms nothing is tested."""

    effects: list[SuggestionEffect]
    measures: Sequence[ArmMeasure] = ()
    terms: Sequence[Terms] = ()


def suggestion_report(
    rows: Sequence[SuggestionRow], margin: float, *, seed: int = 0, draws: int = DRAWS, randomised: bool = True
) -> SuggestionReport:
    """Return what suggestions change. `margin` is that of the design (`Suggestions.margin`), in the unit of the scores.

    Without `randomised`, arms were not drawn at random within blocks: there are no p-values, and a CI may contain other differences
    between the arms. The order of the rows does not matter.
    """
    ordered = sorted(rows, key=lambda r: (r.rater, r.unit, r.system))
    arms = _arm_rows(ordered)
    by_key = {m.key: _measure(m, ordered) for m in _MEASURES}
    families = [_effect(m, by_key[m.key], arms) for m in _MEASURES]
    families += [_by_position(ordered, by_key["score"], arms), _by_system(ordered, by_key["score"], arms)]
    *effects, systems = _tested(families, arms, seed, draws) if randomised else [f.effects for f in families]
    score = next(e for of in effects for e in of if e.key == "score")
    n_treated = int(arms.treated.sum())
    untimed = sum(_log_seconds(r) is None for r in ordered if r.spans is not None or r.score is not None)
    return SuggestionReport(
        tuple(e for of in effects for e in of), tuple(systems), _pooling([score, *systems], margin), len(set(arms.raters)),
        len(set(arms.units)), (n_treated, len(ordered) - n_treated), untimed, randomised,
    )  # fmt: skip


def _arm_rows(rows: Sequence[SuggestionRow]) -> ArmRows:
    treated = np.array([r.arm == "suggested" for r in rows], dtype=bool)
    own = np.array([r.probability for r in rows], dtype=np.float64)
    raters, units, blocks = (
        group_ids([getattr(r, name) for r in rows]) if rows else np.zeros(0, dtype=np.int64)
        for name in ("rater", "unit", "block")
    )
    return ArmRows(treated, np.where(treated, own, 1 - own), raters, units, blocks)


def _tested(families: Sequence[_Family], arms: ArmRows, seed: int, draws: int) -> list[list[SuggestionEffect]]:
    """Return the effects of each family with their p-values. All tests use the same draws."""
    measures: list[ArmMeasure] = []
    terms: list[list[Terms]] = []
    tested = [family for family in families if family.terms]
    for family in tested:
        start = len(measures)
        measures += family.measures
        terms.append([{(arm, start + m): c for (arm, m), c in of.items()} for of in family.terms])
    p_values = iter(randomisation_p(arms, measures, terms, seed=seed, draws=draws) if tested else ())
    return [
        [e._replace(p=p) for e, p in zip(family.effects, next(p_values), strict=True)] if family.terms else family.effects
        for family in families
    ]  # fmt: skip


def _measure(of: _Measured, rows: Sequence[SuggestionRow]) -> ArmMeasure:
    pairs = [of.of(r) or (0.0, 0.0) for r in rows]
    top, bottom = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    return ArmMeasure(top, bottom, of.kind == "ratio" and not of.logged)


def _outputs(measure: ArmMeasure, arms: ArmRows) -> tuple[int, int]:
    used = (measure.bottom > 0) | (measure.top > 0)
    return int((used & arms.treated).sum()), int((used & ~arms.treated).sum())


def _effect(of: _Measured, measure: ArmMeasure, arms: ArmRows) -> _Family:
    outputs, is_share = _outputs(measure, arms), of.kind == "share"
    blank = SuggestionEffect(of.key, of.kind, outputs=outputs)
    if reason := _too_few(outputs, both=not is_share):
        return _Family([blank._replace(reason=reason)])
    shown = np.exp if of.kind == "ratio" else np.asarray
    control, suggested = levels(arms, [measure])[:, 0]
    terms: Terms = {(1, 0): 1.0} if is_share else {(1, 0): 1.0, (0, 0): -1.0}
    contrast = contrasts(arms, [measure], [terms])[0]
    blank = blank._replace(suggested=_defined(shown(suggested)), control=None if is_share else _defined(shown(control)))
    if not math.isfinite(contrast.value):
        return _Family([blank._replace(reason="one arm has none of what is counted, so there is no ratio")])
    low, high = contrast.interval(LEVEL)
    if is_share:
        low, high = _share_interval(contrast, float(measure.bottom[arms.treated].sum()))
    made = blank._replace(value=float(shown(contrast.value)), contrast=contrast)
    if math.isfinite(low) and math.isfinite(high):
        made = made._replace(low=float(shown(low)), high=float(shown(high)))
    else:
        made = made._replace(reason=ONE_UNIT)
    return _Family([made]) if is_share else _Family([made], [measure], [terms])


def _by_system(rows: Sequence[SuggestionRow], score: ArmMeasure, arms: ArmRows) -> _Family:
    """Return arm × system; nothing for a single system."""
    names = sorted({r.system for r in rows})
    masks = [np.array([r.system == name for r in rows]) for name in names]
    terms: list[Terms] = [
        {(arm, k): (2 * arm - 1) * ((k == s) - 1 / len(names)) for k in range(len(names)) for arm in (0, 1)}
        for s in range(len(names))
    ]
    return _interactions(names, score, arms, masks, terms, "of each system") if len(names) > 1 else _Family([])


def _by_position(rows: Sequence[SuggestionRow], score: ArmMeasure, arms: ArmRows) -> _Family:
    """Return the score effect in the second half of each rater's work minus that in the first half."""
    middle = {r: float(np.median(places)) for r, places in grouped((r.rater, r.position) for r in rows).items()}
    late = np.array([r.position > middle[r.rater] for r in rows], dtype=bool)
    terms: Terms = {(1, 1): 1.0, (0, 1): -1.0, (1, 0): -1.0, (0, 0): 1.0}
    return _interactions(["position"], score, arms, [~late, late], [terms], "in each half")


def _interactions(
    keys: Sequence[str],
    score: ArmMeasure,
    arms: ArmRows,
    parts: Sequence[npt.NDArray[np.bool_]],
    terms: Sequence[Terms],
    where: str,
) -> _Family:
    """Return contrasts of the score effects in parts of the rows. The tests take the effect on all rows away first."""
    measures = [ArmMeasure(np.where(part, score.top, 0), np.where(part, score.bottom, 0)) for part in parts]
    outputs = [_outputs(measure, arms) for measure in measures]
    of_key = outputs if len(keys) > 1 else [_outputs(score, arms)]
    if reason := _too_few(min(outputs, key=min), both=True):
        return _Family([
            SuggestionEffect(key, "difference", outputs=n, reason=f"{reason}, {where}") for key, n in zip(keys, of_key, strict=True)
        ])  # fmt: skip
    control, suggested = levels(arms, [score])[:, 0]
    shift = np.where(arms.treated, float(suggested - control), 0.0)
    effects = []
    for key, n, contrast in zip(keys, of_key, contrasts(arms, measures, terms), strict=True):
        low, high = map(_defined, contrast.interval(LEVEL))
        reason = ONE_UNIT if low is None else ""
        effects.append(
            SuggestionEffect(key, "difference", None, None, contrast.value, low, high, None, n, reason, contrast)
        )
    return _Family(effects, [m._replace(top=m.top - shift * m.bottom) for m in measures], terms)


def _defined(value: float | Floats) -> float | None:
    return float(value) if math.isfinite(value) else None


def _too_few(outputs: tuple[int, int], *, both: bool) -> str:
    """Return why there is no CI, and how many more outputs it needs; "" if there are enough."""
    if not sum(outputs):
        return "there are no values"
    for n, arm in zip(outputs, ("suggested", "control"), strict=True):
        if n < FEWEST and (both or arm == "suggested"):
            return f"{n} outputs with a value in the {arm} arm, {FEWEST} needed ({FEWEST - n} more)"
    return ""


def _share_interval(share: Contrast, cases: float) -> tuple[float, float]:
    """Return Wilson's interval with the number of independent cases that gives the standard error of `share`, at most `cases`."""
    p = share.value
    return wilson_bounds(p, min(cases, p * (1 - p) / share.error**2) if share.error > 0 else cases)


def _pooling(effects: Sequence[SuggestionEffect], margin: float) -> Pooling:
    reason = next((e.reason for e in effects if e.reason), "")
    tested = [e.contrast for e in effects if e.contrast is not None and math.isfinite(e.contrast.error)]
    if reason or len(tested) < len(effects):
        return Pooling(margin, None, None, reason or "an effect has no standard error")
    result, n = equivalence(tested, margin), sum(effects[0].outputs)
    return Pooling(margin, result, math.ceil(n * result.needed))
