"""What Combine shows: the best weight in a sentence, a slider with what it does, and how to use it."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from core.metrics.menli import WEIGHT
from core.metrics.ranges import Range
from core.metrics.readiness import Readiness
from core.plots import menli as plots
from core.plots.calibration import MEASURE_NAMES
from core.ports import Project, Store
from core.services import combining as service
from core.services import menli
from core.services.calibration import Choice, People
from core.services.combining import Pair, Part
from core.services.menli import Weight
from pages._ui import errors
from pages._ui.errors import plain
from pages._ui.lambda_parts import MEASURES, digest, number
from pages._ui.lambda_work import worked


def explained() -> None:
    """What this is for, before anything is asked for."""
    st.caption(
        "An NLI metric asks whether output and reference follow from each other. Mixed into another metric, C = w·N + (1 − w)·M, it "
        "sees planted errors that the other overlooks, often without agreeing less with people. Scores of this project are "
        "used as they are stored; what is missing is computed."
    )


def no_nli(lacking: Readiness) -> None:
    """No NLI metric can run here."""
    st.info(f"An NLI metric is needed, and none can run here. {plain(lacking.sentence())}.", icon=":material/info:")
    if lacking.command:
        st.code(lacking.command, language="shell", wrap_lines=True)
    st.page_link("pages/models.py", label="See what plays which role on Models", icon=":material/memory:")


def nothing(people: People | None, judged: int) -> None:
    """There are neither two judged outputs nor cases."""
    said = "No output has been labelled and submitted" if people else "Nobody has judged an output"
    said = "One judged output is too few" if judged else said
    st.info(f"{said}, and there are no adversarial cases: there is nothing to look at.", icon=":material/info:")
    st.page_link("pages/annotate.py", label="Label outputs on Annotate", icon=":material/edit_note:")


def weight(w: float) -> str:
    """Two decimals, without a nought before the point: .30; 0 and 1 as they are."""
    near = round(w, 2)
    return f"{near:.0f}" if near in (0, 1) else f"{near:.2f}".removeprefix("0")


def percent(share: float | None) -> str:
    """A share as a whole percentage."""
    return "undefined" if share is None else f"{100 * share:.0f} %"


def one(
    store: Store, project: Project, nli: Part, found: Sequence[Pair], people: People | None, choice: Choice
) -> None:
    """One metric beside the NLI metric: the best weight first, then any weight, then how to use it."""
    by_name = {p.other.name: p for p in found}
    name = next(iter(by_name))
    if len(by_name) > 1:
        name = st.selectbox(
            "Combined with", list(by_name), format_func=lambda n: by_name[n].other.label, key="combine-focus", width=320
        )
    pair, best = by_name[name], None
    if pair.judged is not None:
        with errors.boundary():
            best = fitted(pair, choice)
        if best is not None and people is not None:
            st.markdown(sentence(best, nli, pair, people, choice))
    else:
        st.markdown(without_people(nli, pair, people))
    if pair.attacked is None:
        st.caption(
            "There are no adversarial cases, so nothing is said of robustness: choose where they come from above."
        )
    elif not pair.attacked.compared:
        st.caption(
            f"None of the {len(pair.attacked.phenomena):,} adversarial cases has both scores, so nothing is said of robustness."
        )
    if best is not None and best.notes:
        st.warning("  \n".join(plain(note) for note in best.notes), icon=":material/warning:")
    if nli.scale is not None and pair.other.scale is not None:
        st.caption(
            plain(
                "Put on one scale by frozen ranges: "
                + " · ".join(f"{p.label} {told(p.scale)}" for p in (nli, pair.other) if p.scale)
            )
        )
    _slider(store, project, nli, pair, best, choice)


def fitted(pair: Pair, choice: Choice) -> Weight | None:
    """The weight that agrees best; None where the fit was stopped."""
    judged, attacked = pair.judged, pair.attacked
    assert judged is not None
    words = f"Fitting w on {len(judged.keys):,} outputs, and again on {choice.draws} resamples of them …"
    return worked(
        ("combine-fit", known_by(pair), choice), words,
        lambda tell: menli.best_weight(judged, attacked, **choice._asdict(), tell=tell),
    )  # fmt: skip


def known_by(pair: Pair) -> str:
    """What a result of this pair depends on, as SHA-256 (hex): outputs, scaled scores, and cases."""
    return digest(*([(side[0], [column.tobytes() for column in side[1:]]) if side else None for side in pair[1:]]))


def sentence(best: Weight, nli: Part, pair: Pair, people: People, choice: Choice) -> str:
    """The result in one sentence, and what it is to be compared with, as Markdown."""
    sign, label = MEASURES[choice.measure], pair.other.label
    between = f" [{weight(best.ci[0])}, {weight(best.ci[1])}]" if best.ci else ""
    n = len(pair.judged.keys) if pair.judged else 0
    head = f"w = {weight(best.w)}{between} agrees best with {people.words} on {n:,} outputs: {sign} = {number(best.agreement)}"
    alone, only = best.at
    beside = [f"{label} alone {number(alone)}", f"{nli.label} alone {number(only)}"]
    if best.held_out is not None:
        beside.append(f"on {best.left_out} left out {number(best.held_out)}")
    text = f"#### {plain(head)}\n{plain('; '.join(beside))}."
    if pair.attacked is not None and pair.attacked.compared:
        before = menli.robustness(pair.attacked, 0)
        text += plain(
            f" Adversarial accuracy there {percent(best.robustness)}, against {percent(before)} for {label} alone "
            f"({pair.attacked.compared:,} cases)."
        )
    return text


def without_people(nli: Part, pair: Pair, people: People | None) -> str:
    """What can be said where no outputs were judged."""
    lack = "fewer than two judged outputs have both scores" if people else "nobody has judged outputs"
    text = f"No weight can be said to agree best with people: {lack}."
    if pair.attacked is None or not pair.attacked.compared:
        return plain(text)
    ours, theirs = (percent(menli.robustness(pair.attacked, w)) for w in (1, 0))
    cases = pair.attacked.compared
    head = f"Adversarial accuracy on {cases:,} cases: {nli.label} {ours}, {pair.other.label} {theirs}"
    return f"#### {plain(head)}\n{plain(f'The mean over phenomena, each alike. {text}')}"


def told(scale: Range) -> str:
    """A range with its origin: “0 … 100 (declared by the metric)”."""
    ends = f"{end(scale.low)} … {end(scale.high)}"
    count = f", {scale.n:,} values" if scale.n else ""
    return f"{ends} ({service.ORIGINS.get(scale.origin, scale.origin)}{count})"


def end(value: float) -> str:
    """An end of a range as it is read."""
    return f"{value:.4g}".replace("-", "−")


def stretch(best: Weight) -> str:
    """Which weights do as well as the best one, and where a step of the slider passes over them."""
    if best.low <= round(best.w, 2) <= best.high:
        return f"Shaded: all w from {weight(best.low)} to {weight(best.high)} agree equally well, and best."
    return (
        f"The best stretch about w = {plain(number(best.w))} is narrower than a step of the slider; its neighbours may agree "
        "less."
    )


@st.fragment
@errors.guarded
def _slider(store: Store, project: Project, nli: Part, pair: Pair, best: Weight | None, choice: Choice) -> None:
    """Any weight, what it does, and the metric it makes."""
    start = round(best.w, 2) if best else WEIGHT
    key = f"combine-w-{project.id}-{nli.name}-{pair.other.name}"
    _stand(key, start)
    w = st.slider(
        "w: share of the NLI metric", 0.0, 1.0, step=0.01, key=key,
        help="0: the other metric alone; 1: the NLI metric alone. Arrow keys move it by one hundredth.",
    )  # fmt: skip
    st.session_state[f"{key}-kept"] = (start, w)
    how = {"measure": choice.measure, "group": choice.group}
    here, alone = menli.path(pair.judged, pair.attacked, weights=(w, 0.0), **how)
    left, right = st.columns(2)
    sign = MEASURES[choice.measure]
    if pair.judged is not None:
        _value(left, f"Agreement with people, {sign}", here.quality, alone.quality, pair, shares=False)
        steps = best.curve if best else [(p.w, p.quality) for p in menli.path(pair.judged, None, **how)]
        frame = pd.DataFrame(steps, columns=["w", "value"])
        shade = (best.low, best.high) if best else None
        left.altair_chart(plots.effect(frame, w, MEASURE_NAMES[choice.measure], best=shade), width="stretch")
    if pair.attacked is not None:
        _value(right, "Adversarial accuracy", here.robustness, alone.robustness, pair, shares=True)
        frame = pd.DataFrame(menli.accuracy_steps(pair.attacked), columns=["w", "value"])
        right.altair_chart(plots.effect(frame, w, plots.ROBUSTNESS, percent=True), width="stretch")
    if best is not None:
        st.caption(f"Dashed: the w in use. {stretch(best)}")
    _use(store, project, nli, pair.other, w)


def _stand(key: str, start: float) -> None:
    """Where the slider stands: where it was put, also after another section was looked at; if nowhere, at the best w there is now."""
    before, put = st.session_state.get(f"{key}-kept", (start, start))
    here = st.session_state.get(key, put)
    st.session_state[key] = start if here == before else here


def _value(place: object, label: str, here: float | None, alone: float | None, pair: Pair, *, shares: bool) -> None:
    show = percent if shares else number
    change = None
    if here is not None and alone is not None:
        moved = here - alone
        change = f"{100 * moved:+.0f} points" if shares else f"{moved:+.3f}"
        change += f" against {pair.other.label} alone"
    place.metric(label, show(here), change, delta_color="off" if change and abs(here - alone) < 5e-4 else "normal")  # type: ignore[attr-defined,operator]


def _use(store: Store, project: Project, nli: Part, other: Part, w: float) -> None:
    name = service.expression(nli.name, other.name, w)
    st.markdown("**Use it as a metric**: on Compare, on Evaluate, or on the command line")
    st.code(name, language=None, wrap_lines=True)
    flag = f"combine-queued-{project.id}"
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button("Score it on this project", icon=":material/play_arrow:", key="combine-use"):
            store.jobs.enqueue(project.id, (name,))
            st.session_state[flag] = name
            st.rerun()
        if st.session_state.get(flag) == name:
            st.markdown(":material/check: It is being scored; what is there already is used.", width="content")
            st.page_link("pages/compare.py", label="See it on Compare", icon=":material/view_column:")
    st.code(f'python -m core score FILES --metrics "{name}" --out scores.csv', language="shell", wrap_lines=True)
