"""The effect of suggestions in a campaign as table rows and sentences."""

from __future__ import annotations

from collections.abc import Mapping

from core.campaigns.suggestion_effect import SuggestionEffect, SuggestionReport
from core.formatting import MISSING, format_change, format_count, format_number, format_percent, isolated
from core.reports.campaign_results import format_p

LABELS: Mapping[str, str] = {
    "spans": "Error spans per output",
    "major": "Share of Major errors",
    "score": "Score ↑",
    "seconds": "Active seconds per output ↓ (geometric mean)",
    "seconds_per_span": "Active seconds per error span ↓",
    "agreement": "Agreement with the layer (F1)",
    "accepted": "Suggestions accepted",
    "edited": "Suggestions edited",
    "rejected": "Suggestions rejected",
    "wrong_accepted": "Wrong suggestions accepted ↓",
    "wrong": "Places of wrong suggestions marked ↓",
    "withheld": "Withheld suggestions marked ↑",
    "plants": "Planted errors marked ↑",
    "position": "Score effect, second half of the work − first half",
}
"""What each effect is, with its direction where one is better. The agreement and the number of spans have none."""
SHARES = {"major", "accepted", "edited", "rejected", "wrong_accepted", "wrong", "withheld", "plants"}
POINTS = {"score", "position"}


def effect_rows(report: SuggestionReport) -> list[dict[str, str]]:
    """Return a row per effect: both arms, the effect with its 95 % CI, p, outputs in both arms, and why a value is missing."""
    return [_row(e.key, LABELS[e.key], e) for e in report.effects]


def system_rows(report: SuggestionReport) -> list[dict[str, str]]:
    """Return a row per system: its score effect minus the mean of these over the systems. p-values are corrected for their number."""
    rows = [_row("score", isolated(e.key), e) for e in report.systems]
    return [{"System" if name == "Measure" else name: cell for name, cell in row.items() if name not in ("Suggested", "Control")} for row in rows]  # fmt: skip


def _row(key: str, label: str, e: SuggestionEffect) -> dict[str, str]:
    return {
        "Measure": label,
        "Suggested": _level(key, e.suggested),
        "Control": _level(key, e.control),
        "Effect": _effect(key, e),
        "p": MISSING if e.p is None else format_p(e.p),
        "Outputs": f"{e.outputs[0]:,} + {e.outputs[1]:,}",
        "Note": e.reason,
    }


def _level(key: str, value: float | None) -> str:
    if key in SHARES:
        return format_percent(value)
    digits = 1 if key in (*POINTS, "seconds", "seconds_per_span") else 2
    return format_number(value, digits, leading_zero=True)


def _effect(key: str, e: SuggestionEffect) -> str:
    """Return the effect and its CI: "× 1.38 [1.04, 1.83]", "+10 [+1, +17] points", "36 % [27 %, 47 %]"."""
    ends = (e.value,) if e.low is None or e.high is None else (e.value, e.low, e.high)
    if e.value is None:
        return MISSING
    if e.kind == "ratio":
        cells = [format_number(v, 2, leading_zero=True) for v in ends]
    elif e.kind == "share":
        cells = [format_percent(v) for v in ends]
    else:
        cells = [
            format_change(100 * (v or 0), 0)
            if key in SHARES
            else format_change(v or 0, 1 if key in POINTS else 2, leading_zero=True)
            for v in ends
        ]
    text = cells[0] + (f" [{cells[1]}, {cells[2]}]" if len(cells) > 1 else "")
    if e.kind == "ratio":
        return f"× {text}"
    return f"{text} points" if key in POINTS or (key in SHARES and e.kind == "difference") else text


def basis_sentences(report: SuggestionReport) -> list[str]:
    """Return what the effects are computed from, and what limits them."""
    with_suggestions, controls = report.outputs
    said = [
        f"{format_count(with_suggestions, 'rated output')} with suggestions, {controls:,} without (control arm), attention checks included, by "
        f"{format_count(report.raters, 'annotator')}. 95 % CIs account for annotators and outputs"
        + ("; p from drawing the arms again within blocks." if report.randomised else ".")
    ]
    if not report.randomised:
        said.append("The arms were not drawn at random: an effect may be a difference between annotators or campaigns.")
    if report.few_raters:
        said.append("There are fewer than 4 annotators: CIs hold for these annotators only.")
    if report.untimed:
        said.append(f"{format_count(report.untimed, 'rated output')} without active time.")
    return said


def pooling_sentence(report: SuggestionReport) -> str:
    """Return whether the labels of both arms may be used together, why, and how many outputs would be needed."""
    pooling, score = report.pooling, report.effect("score")
    margin = f"±{pooling.margin:g}"
    if pooling.test is None or score.contrast is None:
        return f"Whether the labels of both arms may be pooled cannot be tested: {pooling.reason}."
    low, high = score.contrast.interval(0.90)
    said = f"Score effect {format_change(score.contrast.value, 2, leading_zero=True)}, 90 % CI [{_points(low)}, {_points(high)}]"
    tested = "score effect" + (" and every arm × system" if report.systems else "")
    if report.systems:
        intervals = [e.contrast.interval(0.90) for e in report.systems if e.contrast]
        least, most = min(i[0] for i in intervals), max(i[1] for i in intervals)
        said += f"; arm × system between {_points(least)} and {_points(most)}"
    if pooling.test.equivalent and report.randomised:
        return f"Poolable: the 90 % CIs of the {tested} lie within {margin}. {said}."
    if pooling.test.equivalent:
        return f"The 90 % CIs of the {tested} lie within {margin}, but the arms were not drawn at random. {said}."
    if pooling.test.outside:
        return f"Not poolable: an effect exceeds {margin}. {said}. Use the labels of one arm."
    return (
        f"Not shown to be poolable: a 90 % CI is not within {margin}. {said}. If all effects are 0, about {pooling.needed or 0:,} rated outputs "
        f"show it with a probability of 80 % for each (now {sum(score.outputs):,})."
    )


def _points(value: float) -> str:
    return format_change(value, 2, leading_zero=True)
