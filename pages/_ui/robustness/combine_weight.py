"""Combine with one metric: the best weight, a slider for any weight, and how to use the combination."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from core.errors import PROGRAM
from core.formatting import format_figure, format_number, format_percent
from core.metrics.entailment.menli import WEIGHT
from core.metrics.ranges import Range
from core.metrics.readiness import Readiness
from core.plots import combining as plots
from core.plots.calibration import MEASURE_NAMES
from core.ports.projects import Project
from core.services.calibrate.calibration import HumanScores, LambdaFitOptions
from core.services.robustness import combining as service
from core.services.robustness import nli_weights
from core.services.robustness.combining import MetricPairing, ScaledMetric
from core.services.robustness.nli_weights import Weight
from pages._ui.calibrate.calibration_form import MEASURES
from pages._ui.shared import drafts, errors, page, wiring
from pages._ui.shared.files import figure
from pages._ui.shared.long_jobs import digest, run_cached
from pages._ui.shared.markdown import escape_markdown, with_doc_links


def explained() -> None:
    """Draw what the section is for."""
    st.caption(
        "Combine a metric with an NLI metric, which tests whether output and reference say the same. The weighted mean of the two finds added "
        "errors that the other metric misses, often without less agreement with human scores (C = w·N + (1 − w)·M; Chen and Eger 2023). Stored "
        "scores of this project are reused; missing ones are computed."
    )


def no_nli(lacking: Readiness) -> None:
    """Say that no NLI metric can run."""
    page.info(f"This needs an NLI metric, and none can run: {with_doc_links(lacking.reason)}.")
    if lacking.command:
        st.code(lacking.command, language=None, wrap_lines=True)
    page.link("models", "Open Models")


def nothing(human_scores: HumanScores | None, judged: int) -> None:
    """Say that there are neither two labelled outputs nor adversarial cases."""
    said = "No segment has been submitted" if human_scores else "There are no human scores"
    said = "Only one output has a human score" if judged else said
    page.info(f"{said}, and there are no adversarial cases. Add at least one of them.")
    page.link("annotate", "Annotate outputs")


def weight(w: float) -> str:
    """Return a weight with two decimals: .30; 0 and 1 without."""
    near = round(w, 2)
    return format_number(near, 0 if near in (0, 1) else 2)


def percent(share: float | None) -> str:
    """Return a share as a whole percentage."""
    return format_percent(share, missing="undefined")


def one(
    project: Project,
    nli: ScaledMetric,
    pairings: Sequence[MetricPairing],
    human_scores: HumanScores | None,
    choice: LambdaFitOptions,
) -> None:
    """Draw one metric with the NLI metric: the best weight, any weight, and how to use it."""
    by_name = {p.other.name: p for p in pairings}
    name = next(iter(by_name))
    if len(by_name) > 1:
        name = st.selectbox(
            "Combined with",
            by_name,
            format_func=lambda n: by_name[n].other.label,
            key=drafts.kept("combine-focus"),
            width=320,
        )
    pair, best = by_name[name], None
    if pair.judged is not None:
        with errors.boundary():
            best = fitted(pair, choice)
        if best is not None and human_scores is not None:
            st.markdown(sentence(best, nli, pair, human_scores, choice))
    else:
        st.markdown(without_human_scores(nli, pair, human_scores))
    if pair.attacked is None:
        st.caption("No adversarial cases, so robustness cannot be computed. Choose cases above.")
    elif not pair.attacked.compared:
        st.caption(
            f"None of the {len(pair.attacked.phenomena):,} adversarial cases has both scores, so robustness cannot be computed."
        )
    if best is not None and best.notes:
        st.warning("  \n".join(escape_markdown(note) for note in best.notes), icon=":material/warning:")
    if nli.scale is not None and pair.other.scale is not None:
        ranges = " · ".join(f"{p.label} {range_text(p.scale)}" for p in (nli, pair.other) if p.scale)
        page.caption(f"Scaled to 0–1 with stored ranges, which do not change with the data: {ranges}")
    _slider(project, nli, pair, best, choice)


def fitted(pair: MetricPairing, choice: LambdaFitOptions) -> Weight | None:
    """Return the weight that agrees best; None if the fit was stopped."""
    judged, attacked = pair.judged, pair.attacked
    assert judged is not None
    words = f"Fitting w on {len(judged.keys):,} outputs and {choice.draws} resamples …"
    return run_cached(
        ("combine-fit", known_by(pair), choice), words,
        lambda progress: nli_weights.best_weight(judged, attacked, **choice._asdict(), progress=progress),
    )  # fmt: skip


def known_by(pair: MetricPairing) -> str:
    """Return the SHA-256 (hex) of what a result depends on: outputs, scaled scores, and cases."""
    return digest(*([(side[0], [column.tobytes() for column in side[1:]]) if side else None for side in pair[1:]]))


def sentence(
    best: Weight, nli: ScaledMetric, pair: MetricPairing, human_scores: HumanScores, choice: LambdaFitOptions
) -> str:
    """Return the result in one sentence with its comparison, as Markdown."""
    sign, label = MEASURES[choice.measure], pair.other.label
    between = f" [{weight(best.ci[0])}, {weight(best.ci[1])}]" if best.ci else ""
    n = len(pair.judged.keys) if pair.judged else 0
    head = f"w = {weight(best.w)}{between} agrees best with {human_scores.words} on {n:,} outputs: {sign} = {format_number(best.agreement)}"
    alone, only = best.at
    beside = [f"{label} alone {format_number(alone)}", f"{nli.label} alone {format_number(only)}"]
    if best.held_out is not None:
        beside.append(f"on {best.left_out} left out {format_number(best.held_out)}")
    text = f"#### {escape_markdown(head)}\n{escape_markdown('; '.join(beside))}."
    if pair.attacked is not None and pair.attacked.compared:
        before = nli_weights.robustness(pair.attacked, 0)
        text += escape_markdown(
            f" With this w, accuracy on the {pair.attacked.compared:,} adversarial cases: {percent(best.robustness)}, against {percent(before)} for {label} alone."
        )
    return text


def without_human_scores(nli: ScaledMetric, pair: MetricPairing, human_scores: HumanScores | None) -> str:
    """Return the accuracy on adversarial cases, if there are too few human scores."""
    lack = "fewer than 2 outputs with a human score have both scores" if human_scores else "there are no human scores"
    text = f"The best weight cannot be computed: {lack}."
    if pair.attacked is None or not pair.attacked.compared:
        return escape_markdown(text)
    ours, theirs = (percent(nli_weights.robustness(pair.attacked, w)) for w in (1, 0))
    cases = pair.attacked.compared
    head = f"Adversarial accuracy on {cases:,} cases: {nli.label} {ours}, {pair.other.label} {theirs}"
    return f"#### {escape_markdown(head)}\n{escape_markdown(f'Mean over kinds of error, equally weighted. {text}')}"


def range_text(scale: Range) -> str:
    """Return a range with its origin: “0 … 100 (declared by the metric)”."""
    ends = f"{format_figure(scale.low)} … {format_figure(scale.high)}"
    count = f", {scale.n:,} values" if scale.n else ""
    return f"{ends} ({service.ORIGINS.get(scale.origin, scale.origin)}{count})"


def stretch(best: Weight) -> str:
    """Return which weights agree as well as the best one."""
    if best.low <= round(best.w, 2) <= best.high:
        return f"Shaded: all w from {weight(best.low)} to {weight(best.high)} have the best agreement."
    return (
        f"The best range around w = {escape_markdown(format_number(best.w))} is narrower than a step of the slider, so the agreement shown "
        "above may be slightly lower."
    )


@st.fragment
@errors.guarded
def _slider(
    project: Project,
    nli: ScaledMetric,
    pair: MetricPairing,
    best: Weight | None,
    choice: LambdaFitOptions,
) -> None:
    """Draw the slider for any weight, its effect, and the combined metric."""
    start = round(best.w, 2) if best else WEIGHT
    key = f"combine-w-{project.id}-{nli.name}-{pair.other.name}"
    _stand(key, start)
    w = st.slider(
        "w: share of the NLI metric", 0.0, 1.0, step=0.01, key=key,
        help="0: the other metric alone; 1: the NLI metric alone. Arrow keys move it by 0.01.",
    )  # fmt: skip
    st.session_state[f"{key}-kept"] = (start, w)
    path = partial(nli_weights.path, measure=choice.measure, group=choice.group)
    mixed, alone = path(pair.judged, pair.attacked, weights=(w, 0.0))
    left, right = st.columns(2)
    head = f"{pair.other.label} with {nli.label} at weight w"
    about = f"Dashed: the chosen w. {stretch(best)}" if best else "Dashed: the chosen w."
    sign = MEASURES[choice.measure]
    if pair.judged is not None:
        _value(left, f"Agreement with human scores, {sign}", mixed.quality, alone.quality, pair, shares=False)
        steps = best.curve if best else [(p.w, p.quality) for p in path(pair.judged, None)]
        frame = pd.DataFrame(steps, columns=["w", "value"])
        shade = (best.low, best.high) if best else None
        drawing = plots.effect(frame, w, MEASURE_NAMES[choice.measure], best=shade)
        figure(drawing, f"{head}: agreement with human scores", about, "weight-agreement", place=left)
    if pair.attacked is not None:
        _value(right, "Adversarial accuracy", mixed.robustness, alone.robustness, pair, shares=True)
        frame = pd.DataFrame(nli_weights.accuracy_steps(pair.attacked), columns=["w", "value"])
        drawing = plots.effect(frame, w, plots.ROBUSTNESS, percent=True)
        figure(drawing, f"{head}: adversarial accuracy", "Dashed: the chosen w.", "weight-accuracy", place=right)
    _use(project, nli, pair.other, w)


def _stand(key: str, start: float) -> None:
    """Restore the slider after another section was open; start at the best w if it was never moved."""
    before, put = st.session_state.get(f"{key}-kept", (start, start))
    w = st.session_state.get(key, put)
    st.session_state[key] = start if w == before else w


def _value(
    place: object, label: str, mixed: float | None, alone: float | None, pair: MetricPairing, *, shares: bool
) -> None:
    show = percent if shares else format_number
    change = None
    if mixed is not None and alone is not None:
        moved = mixed - alone
        change = f"{100 * moved:+.0f} points" if shares else f"{moved:+.3f}"
        change += f" against {pair.other.label} alone"
    place.metric(label, show(mixed), change, delta_color="off" if change and abs(mixed - alone) < 5e-4 else "normal")  # type: ignore[attr-defined,operator]


def _use(project: Project, nli: ScaledMetric, other: ScaledMetric, w: float) -> None:
    name = service.expression(nli.name, other.name, w)
    st.markdown("**Use it as a metric** on Compare, on Meta-evaluation, or on the command line")
    st.code(name, language=None, wrap_lines=True)
    flag = f"combine-queued-{project.id}"
    with st.container(horizontal=True, vertical_alignment="center"):
        if wiring.may_change(project.id) and st.button(
            "Compute on this project", icon=":material/play_arrow:", key="combine-use"
        ):
            wiring.store().jobs.enqueue(project.id, (name,))
            st.session_state[flag] = name
            st.rerun()
        if st.session_state.get(flag) == name:
            st.markdown(":material/check: Scoring is running. Existing scores are reused.", width="content")
            page.link("compare", "Open Compare")
    st.code(f'{PROGRAM} score FILES --metrics "{name}" --out scores.csv', language=None, wrap_lines=True)
