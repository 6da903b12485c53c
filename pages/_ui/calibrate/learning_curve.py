"""λ by number of labelled outputs: the learning curve and its forecast."""

from __future__ import annotations

from functools import partial

import streamlit as st

from core.calibration.calibrate import Calibration, CalibrationPoint
from core.calibration.curve import omega
from core.calibration.learning import Law, Learning, learn
from core.formatting import format_number, format_percent
from core.plots.calibration import agreement_by_labels, width_by_labels
from core.services.calibrate.calibration import LambdaFitOptions
from pages._ui.calibrate.calibration_form import MEASURES
from pages._ui.calibrate.calibration_result import interval
from pages._ui.calibrate.raters_and_weights import WHY, without_reasons
from pages._ui.shared import page, tables
from pages._ui.shared.files import figure
from pages._ui.shared.long_jobs import digest, run_cached
from pages._ui.shared.markdown import escape_markdown

DRAWS = 100
PARTS = "λ fitted on parts of the labelled segments, five random draws each. Points: means of the draws; bars: lowest and highest."


def labels(data: tuple[CalibrationPoint, ...], calibration: Calibration, choice: LambdaFitOptions) -> None:
    """Draw the learning curve and its forecast."""
    learned = run_cached(
        ("labels", digest(data), choice),
        "Fitting λ on parts of the labels …",
        lambda progress: learn(
            data, measure=choice.measure, group=choice.group, seed=choice.seed, draws=DRAWS, progress=progress
        ),
    )
    if learned is None:
        return
    current_interval = ""
    if calibration.ci:
        wide = omega(calibration.ci[1]) - omega(calibration.ci[0])
        current_interval = f"The 95 % CI of λ is now {escape_markdown(interval(calibration.ci).strip())}, {wide:.2f} wide on the scale ω = λ/(1+λ), which runs from 0 to 1. "
    said = [
        f"{f.width:.2f} wide with {f.n} outputs ({f.times:g}×), for example **{escape_markdown(interval(f.around).strip())}**"
        for f in learned.forecasts
    ]
    if said:
        st.markdown(
            f"{current_interval}Forecast: {', and '.join(said)}. A forecast extrapolates the curve; it is not a measurement."
        )
    else:
        page.info(f"{current_interval}No forecast: {escape_markdown(learned.reason)}.")
    left, right = st.columns(2, gap="large")
    law = learned.law
    fitted = (
        f" Dashed: {law_text(law)}, fitted to the widths and extrapolated; rings: 1.5 and 2 times the labels."
        if law
        else ""
    )
    about = (
        f"{PARTS}{fitted} ω = λ/(1+λ) runs from 0 to 1. The widths come from {DRAWS} resamples, so the last one may differ from the "
        "95 % CI above, which has more."
    )
    if any(s.width for s in learned.steps):
        left.markdown("**Width of the 95 % CI of λ** (in ω) by number of labelled outputs")
        head = "Width of the 95 % CI of λ by number of labelled outputs"
        figure(width_by_labels(learned), head, about, "lambda-width", place=left)
    if any(s.agreement for s in learned.steps):
        right.markdown(f"**Cross-validated {escape_markdown(MEASURES[choice.measure])}** by number of labelled outputs")
        head = f"Cross-validated {MEASURES[choice.measure]} by number of labelled outputs"
        figure(agreement_by_labels(learned, choice.measure), head, PARTS, "lambda-agreement", place=right)
    with st.expander("Table"):
        sign = f"{MEASURES[choice.measure]}, cross-validated"
        tables.data_table(
            without_reasons(_steps(learned, sign)),
            {sign: partial(format_number, digits=4), "width in ω": format_number},
        )
        page.caption(f"Signature: {learned.signature}")


def law_text(law: Law) -> str:
    """Return the fitted law as text."""
    return f"{law.b:.2f}/√n" if law.a < 0.005 else f"{law.a:.2f} + {law.b:.2f}/√n"


def _steps(learned: Learning, sign: str) -> list[dict[str, object]]:
    return [
        {
            "share": format_percent(s.share), "segments": s.n_segments, "outputs": round(s.n), "draws": s.draws,
            sign: s.agreement and s.agreement.mean,
            "width in ω": s.width and s.width.mean, WHY: s.reason,
        }
        for s in learned.steps
    ]  # fmt: skip
