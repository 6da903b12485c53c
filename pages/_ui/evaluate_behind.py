"""What stands behind the table of the Evaluate page: points, tests between metrics, systems, parts of the data."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import pandas as pd
import streamlit as st

from core.data import SegmentKey
from core.plots import compare as compare_plots
from core.plots import evaluate as plots
from core.plots.labels import chart_labels
from core.ports import Project
from core.services import evaluate as service
from core.services import evaluate_report as report
from core.services import evaluate_tests as tests
from core.services.evaluate import LABELS, Choice, Evaluation, Joined, Name
from core.services.evaluate_report import number
from core.services.view import View
from core.stats.ties import TieCurve
from pages._ui import errors, jobs, state, tables
from pages._ui import evaluate_parts as parts
from pages._ui.lambda_parts import digest

T = TypeVar("T")
POINTS = 4000
PARTS = {"top": "the best systems only", "length": "short and long outputs", "quality": "bad and good segments"}


def scatter(project: Project, view: View, found: Evaluation, statistic: Name) -> None:
    """A metric against people, and the segment of the point that is clicked."""
    data = found.joined
    there = [c for c in found.order(statistic) if c in data.scores]
    labels = {c.name: c.label for c in data.contestants}
    if st.session_state.get(parts.METRIC) not in there:
        st.session_state.pop(parts.METRIC, None)
    name = st.selectbox("Metric", there, format_func=labels.__getitem__, key=parts.METRIC, width=360)
    axis, people = data.contestant(name).axis, data.human_axis
    if found.choice.level == "system":
        _system_points(data, name, axis, people)
        return
    frame = pd.DataFrame(data.keys, columns=["system", "doc", "segment"])
    frame["x"], frame["y"] = data.scores[name], data.human
    if len(frame) > POINTS:
        frame = frame.sample(POINTS, random_state=0)
    key = f"evaluate-scatter-{project.id}"
    chart = compare_plots.scatter(frame, axis, people, data.systems)
    picked = st.altair_chart(chart, width="stretch", key=key, on_select="rerun")
    points = list(picked.get("selection", {}).get(compare_plots.PICK) or [])[:1]
    st.caption(f"{len(frame):,} outputs; click a point to see its segment.")
    for point in points:
        where = [str(point["doc"]), str(point["segment"])]
        picked_key = next((key.segment for key in data.keys if chart_labels(key.segment) == where), None)
        if picked_key is not None:
            _segment(project, view, data, name, picked_key)
    if statistic == "acc_eq" and found.of(name, "acc_eq").status == "ok":
        _ties(data, name, found.choice)


def _system_points(data: Joined, name: str, axis: str, people: str) -> None:
    whole = data.whole()
    if not whole.keys:
        st.info("No segment is there that every system has.", icon=":material/info:")
        return
    frame = pd.DataFrame({"system": whole.of_system, "x": whole.scores[name], "y": whole.human})
    st.altair_chart(plots.system_means(frame.groupby("system", as_index=False).mean(), axis, people), width="stretch")
    st.caption(f"Means over {whole.n_segments} segments that every system has.")


def _segment(project: Project, view: View, data: Joined, name: str, key: SegmentKey) -> None:
    if key not in view.row:
        return
    segment = view.segments[view.row[key]]
    at = {k.system: i for i, k in enumerate(data.keys) if k.segment == key}
    with st.container(border=True):
        st.markdown(f"**{errors.plain(f'{key.doc_id} · {key.segment_id}')}**")
        for what, text in (("source", segment.source), ("reference", next(iter(segment.references), None))):
            if text:
                st.caption(what)
                st.text(text)
        label = data.contestant(name).label
        tables.reading(
            [
                {
                    "system": system, "output": view.texts[data.keys[i]], label: number(float(data.scores[name][i])),
                    data.human_axis: number(float(data.human[i]), 2),
                }
                for system, i in sorted(at.items(), key=lambda pair: -data.human[pair[1]])
            ]
        )  # fmt: skip
        if st.button("Open in Compare", icon=":material/view_column:", key="evaluate-open"):
            address = {state.PROJECT: str(project.id), state.DOC: key.doc_id, state.SEGMENT: key.segment_id}
            st.switch_page("pages/compare.py", query_params=address)


def _ties(data: Joined, name: str, choice: Choice) -> None:
    curve = _curve(data.digest, name, choice, _joined=data)
    if curve.chance is None:
        st.info(errors.plain(f"acc_eq is undefined: {curve.reason}."), icon=":material/info:")
        return
    thin, best = curve.thinned(), float(curve.epsilon[curve.best()])
    frame = pd.DataFrame({"epsilon": thin.epsilon, "accuracy": thin.accuracy})
    st.altair_chart(plots.ties(frame, best, curve.chance), width="stretch")
    st.caption(
        errors.plain(
            f"acc_eq by ε: best at ε = {best:.4g}. Dashed: {number(curve.chance)}, what a random score gets after its ε is "
            f"chosen; {curve.ties:.0%} of the pairs are tied for people."
        )
    )


@st.cache_resource(max_entries=12, ttl=1800, show_spinner="Going through the pairs …")
def _curve(digest: str, name: str, choice: Choice, *, _joined: Joined) -> TieCurve:
    return service.ties(_joined, name, choice)


def differences(found: Evaluation, statistic: Name) -> None:
    """Every metric against every other, tested when it is asked for."""
    if statistic == "soft_pairwise":
        st.markdown(errors.plain(tests.NO_TEST))
        if all(r.low is not None for r in found.rows if r.statistic == statistic and r.value is not None):
            st.caption("Its intervals stand in the table.")
        elif st.button("Compute its intervals", icon=":material/play_arrow:", type="primary"):
            parts.keep_soft(found, _working(lambda step: tests.with_soft_intervals(found, step)))
            st.rerun()
        return
    names = tests.contenders(found, statistic)
    if len(names) < 2:
        st.info("At least two metrics with a value are needed.", icon=":material/info:")
        return
    done, pairs = parts.matrix(found, statistic), len(names) * (len(names) - 1) // 2
    if done is None:
        st.markdown(
            f"Is the best metric better than the others in {errors.plain(LABELS[statistic])}, or only luckier? The strongest "
            "sentinel is tested too. With many outputs pooled this takes long; pairs within segments are quick."
        )
    with st.container(horizontal=True):
        for every, label in (
            (False, f"Test the best against {len(names) - 1} others"),
            (True, f"Test all {pairs} pairs"),
        ):
            if done is not None and (done.all_pairs or not every):
                continue
            if st.button(label, icon=":material/play_arrow:", type="secondary" if every else "primary"):
                parts.keep_matrix(found, statistic, _tested(found, statistic, every))
                st.rerun()
    if done is not None:
        _matrix(found, done)


def _tested(found: Evaluation, statistic: Name, every: bool) -> tests.Matrix:
    return _working(lambda step: tests.compare_metrics(found, statistic, step, all_pairs=every))


def _working(work: Callable[[service.Step], T]) -> T:
    bar, started = st.progress(0.0, "Testing …"), time.monotonic()

    def step(k: int, n: int) -> None:
        left = (time.monotonic() - started) / k * (n - k)
        bar.progress(k / n, f"{k} of {n}, {jobs.in_words(left)}")

    done = work(step)
    bar.empty()
    return done


def _matrix(found: Evaluation, done: tests.Matrix) -> None:
    label = {c.name: c.label for c in found.joined.contestants}
    st.markdown(
        f"**{done.significant} of {len(done.pairs)} differences are significant** at .05 after Holm’s correction."
    )
    if guards := [label[n] for n in done.tied if found.joined.contestant(n).sentinel]:
        first = found.joined.contestant(done.names[0]).sentinel
        how = "agrees better than every metric" if first else "is not significantly worse than the best metric"
        text = f"{guards[0]}, which knows nothing of quality, {how}."
        st.warning(errors.plain(text), icon=":material/warning:")
    rows = [
        {
            "better": label[p.first], "worse": label[p.second], "difference": p.difference,
            "p": 1.0 if p.adjusted is None else p.adjusted,
            "shown": "–" if p.adjusted is None else p_text(p.adjusted),
        }
        for p in done.pairs
    ]  # fmt: skip
    chart = plots.differences(pd.DataFrame(rows), [label[n] for n in done.names], tests.ALPHA)
    st.altair_chart(chart, width="stretch")
    how = (
        "It takes outputs for independent, which several outputs of one segment are not."
        if not done.draws
        else "A metric’s liking for a whole system is no part of its null hypothesis: by system means it finds too much."
        if found.choice.level == "system"
        else "Both metrics are standardised and exchanged output by output at random."
    )
    floor = f" Smallest p that these draws allow: {number(len(done.pairs) / (done.draws + 1))}." if done.draws else ""
    text = f"p after Holm, row against column; coloured where p ≤ .05. {done.test}, two-sided.{floor} {how}"
    st.caption(errors.plain(text))


def p_text(p: float) -> str:
    return "<.001" if p < 0.0005 else number(p)


def systems(found: Evaluation) -> tests.Systems:
    """The systems compared with each other, by people or by a metric."""
    data, choice = found.joined, found.choice
    labels = {tests.HUMAN: data.human_axis} | {c.name: c.axis for c in data.contestants if c.name in data.scores}
    name = st.selectbox("Judged by", list(labels), format_func=labels.__getitem__, key="evaluate-judge", width=360)
    done = _systems(data.digest, name, choice.unit, choice.seed, _joined=data)
    if done.reason:
        st.info(errors.plain(f"Systems cannot be compared: {done.reason}."), icon=":material/info:")
        return done
    best = [m.system for m in done.means if m.cluster == 1]
    clusters = max(m.cluster for m in done.means)
    first = f"{', '.join(best)} {'stands' if len(best) == 1 else 'stand'} first"
    text = f"{first}; the {len(done.means)} systems fall into {clusters} cluster{'s' if clusters != 1 else ''}."
    st.markdown(f"**{errors.plain(text)}**")
    left, right = st.columns([2, 3], gap="large")
    frame = pd.DataFrame([m._asdict() for m in done.means])
    frame["system"] = [f"{m.cluster} · {m.system}" for m in done.means]
    left.altair_chart(compare_plots.means(frame, labels[name]), width="stretch")
    left.caption(
        errors.plain(
            f"Rank cluster and mean over {done.segments} segments that all systems have, with 95 % bootstrap intervals."
        )
    )
    shown = [
        {
            "better": t.first, "worse": t.second, "difference": number(t.difference),
            "95 %": f"[{number(t.low)}, {number(t.high)}]" if t.low is not None else report.MISSING,
            "p (Holm)": p_text(t.adjusted) if t.adjusted is not None else report.MISSING,
            "detectable": number(t.detectable), "note": t.reason,
        }
        for t in done.tests
    ]  # fmt: skip
    with right:
        tables.reading(shown)
        st.caption(
            errors.plain(
                "p: approximate randomization, 10,000 draws, Holm over all pairs. Detectable: the difference that as many "
                "segments would show in 8 of 10 trials; a smaller one may be real and go unseen."
            )
        )
    return done


@st.cache_resource(max_entries=24, ttl=1800, show_spinner="Comparing systems …")
def _systems(digest: str, name: str, unit: service.Unit, seed: int, *, _joined: Joined) -> tests.Systems:
    return tests.compare_all_systems(_joined, name, unit=unit, seed=seed)


def of_parts(view: View, found: Evaluation, statistic: Name) -> None:
    """Agreement on parts of the data, which says whether one figure speaks for all."""
    by = st.segmented_control(
        "Agreement on", list(PARTS), default="top", format_func=PARTS.__getitem__, key="evaluate-by", required=True
    )
    data = found.joined
    lengths = [float(len(view.texts[k])) for k in data.keys] if by == "length" else []
    done = _parts(digest(data.digest, lengths), found.choice, statistic, by or "top", _joined=data, _lengths=lengths)
    if not done:
        st.info("There is no part to speak of: at least two systems are needed.", icon=":material/info:")
        return
    columns = {p.label: f"{p.label} ({p.outputs})" for p in done}
    label = {c.name: c.label for c in data.contestants}
    tables.reading(
        [
            {"metric": label[name]} | {columns[p.label]: report.cell(p.found.of(name, statistic)) for p in done}
            for name in found.order(statistic)
        ],
        tall=40,
    )
    what = {
        "top": "The systems that people like best, by mean; in brackets the number of outputs. A metric that only tells good "
        "from bad systems loses here.",
        "length": "Segments in three equal parts by the mean length of their outputs.",
        "quality": "Segments in three equal parts by their mean human score.",
    }
    st.caption(errors.plain(f"{LABELS[statistic]} with 95 % intervals. {what[by or 'top']}"))


@st.cache_resource(max_entries=12, ttl=1800, show_spinner="Computing agreement on parts …")
def _parts(
    said: str, choice: Choice, statistic: Name, by: str, *, _joined: Joined, _lengths: list[float]
) -> list[tests.Part]:
    if by == "top":
        return tests.top_systems(_joined, choice, statistic)
    return tests.buckets(_joined, choice, statistic, "length" if by == "length" else "quality", _lengths)
