"""Significance tests between metrics, and between systems."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import pandas as pd
import streamlit as st

from core.formatting import format_count, format_number
from core.plots import score_charts
from core.progress import Progress
from core.reports import evaluation as report
from core.services.evaluate import significance as tests
from core.services.evaluate.evaluate import LABELS, Evaluation, StatisticName
from pages._ui.meta_evaluation import evaluation_data
from pages._ui.shared import drafts, jobs, page, tables
from pages._ui.shared.files import figure, file_name, table_files
from pages._ui.shared.long_jobs import compute
from pages._ui.shared.markdown import escape_markdown

T = TypeVar("T")


def differences(evaluation: Evaluation, statistic: StatisticName) -> None:
    """Draw the tests of every metric against every other, run on request."""
    if statistic == "soft_pairwise":
        st.markdown(escape_markdown(tests.NO_TEST))
        if all(r.low is not None for r in evaluation.rows if r.statistic == statistic and r.value is not None):
            st.caption("Its 95 % CIs are in the table.")
        elif st.button("Compute 95 % CIs", icon=":material/play_arrow:", type="primary"):
            soft = _working(partial(tests.with_soft_intervals, evaluation), tests.SOFT_DRAWS)
            evaluation_data.keep(evaluation, "soft", soft)
            st.rerun()
        return
    names = tests.contenders(evaluation, statistic)
    if len(names) < 2:
        page.info("At least two metrics with a value are needed.")
        return
    done, pairs = evaluation_data.matrix(evaluation, statistic), len(names) * (len(names) - 1) // 2
    if done is None:
        best, baseline = evaluation.best(statistic), evaluation.best(statistic, sentinel=True)
        also = f" The best baseline ({baseline.metric}) is tested too." if baseline else ""
        text = f"Is {best.metric if best else 'the best metric'}, the best metric, better than the others in {LABELS[statistic]}, or is the difference chance?"
        st.markdown(escape_markdown(f"{text}{also} With many metrics, all pairs take minutes."))
    with st.container(horizontal=True):
        for every, label in (
            (False, f"Test the best metric against {len(names) - 1} others"),
            (True, f"Test all {pairs} pairs"),
        ):
            if done is not None and (done.all_pairs or not every):
                continue
            if st.button(label, icon=":material/play_arrow:", type="secondary" if every else "primary"):
                work = partial(tests.compare_metrics, evaluation, statistic, all_pairs=every)
                evaluation_data.keep(evaluation, statistic, _working(work, pairs if every else len(names) - 1))
                st.rerun()
    if done is not None:
        _matrix(evaluation, done)


def _working(work: Callable[[Progress], T], total: int) -> T:
    bar, started = st.progress(0.0, "Testing …"), time.monotonic()

    def progress(share: float) -> None:
        left = (time.monotonic() - started) / share * (1 - share)
        bar.progress(share, f"{round(share * total)} of {total}, {jobs.in_words(left)}")

    done = work(progress)
    bar.empty()
    return done


def _matrix(evaluation: Evaluation, done: tests.SignificanceMatrix) -> None:
    label = {c.name: c.label for c in evaluation.joined.scored_metrics}
    better = len(done.of_best) + 1 - len(done.tied)
    st.markdown(
        f"**{done.significant} of {len(done.pairs)} differences are significant** at .05 after Holm’s correction. "
        + escape_markdown(
            f"{label[done.best]}, the best metric, is significantly better than {better} of {len(done.of_best)} others."
        )
    )
    if guards := [label[n] for n in done.tied if evaluation.joined.scored_metric(n).sentinel]:
        test = next(
            p
            for p in done.of_best
            if evaluation.joined.scored_metric(p.first).sentinel or evaluation.joined.scored_metric(p.second).sentinel
        )
        first = test.second == done.best
        clear = test.adjusted is not None and test.adjusted <= tests.ALPHA
        how = (
            f"has a higher value than every metric, and the difference is {'' if clear else 'not '}significant"
            if first
            else "is not significantly worse than the best metric"
        )
        text = f"{guards[0]}, a baseline that does not measure quality, {how}."
        st.warning(escape_markdown(text), icon=":material/warning:")
    how = (
        "The test assumes independent outputs; several outputs of one segment are not independent."
        if not done.draws
        else "This test is anti-conservative at system level."
        if evaluation.choice.level == "system"
        else "A permutation test: both metrics are standardized and randomly exchanged per output (Deutsch, Dror and Roth 2021)."
    )
    floor = (
        f" Smallest possible p with {done.draws:,} permutations: {format_number(len(done.pairs) / (done.draws + 1))}."
        if done.draws
        else ""
    )
    text = f"p after Holm’s correction, row against column; coloured if p ≤ .05. {done.test}, two-sided.{floor} {how} {done.ended_early}"
    head = f"{done.significant} of {len(done.pairs)} differences between metrics are significant ({LABELS[done.statistic]}, {evaluation.joined.human_axis})"
    figure(report.differences(evaluation, done), head, text, f"differences-{done.statistic}")
    pairs = [
        {"metric": label[p.first], "compared with": label[p.second], "difference": format_number(p.difference), "p (Holm)": report.p_text(p.adjusted)}
        for p in done.pairs
    ]  # fmt: skip
    fields = tests.MetricComparison._fields
    table_files(
        pairs, f"{head}. {text}", f"differences-{done.statistic}",
        lambda: (fields, [(label[p.first], label[p.second], *p[2:]) for p in done.pairs]),
    )  # fmt: skip


def systems(evaluation: Evaluation) -> tests.Systems:
    """Draw the comparison of all systems, by human scores or by a metric."""
    data, choice = evaluation.joined, evaluation.choice
    labels = {tests.HUMAN: data.human_axis} | {c.name: c.axis for c in data.scored_metrics if c.name in data.scores}
    name = st.selectbox("Scores", labels, format_func=labels.__getitem__, key=drafts.kept("evaluate-judge"), width=360)
    done = compute(
        ("systems", data.digest, name, choice.unit, choice.seed),
        "Comparing systems …",
        lambda: tests.compare_all_systems(data, name, unit=choice.unit, seed=choice.seed),
    )
    if done.reason:
        page.info(escape_markdown(f"Systems cannot be compared: {done.reason}."))
        return done
    st.markdown(f"**{escape_markdown(tests.first_systems(done.means))}**")
    left, right = st.columns(2, gap="large")
    frame = pd.DataFrame([m._asdict() for m in done.means]).drop(columns="ranks")
    said = f"Mean over {done.segments} segments with outputs of all systems; 95 % CI ({done.method})."
    figure(
        score_charts.means(frame, labels[name]),
        tests.first_systems(done.means),
        said,
        f"systems-{file_name(name)}",
        place=left,
    )
    shown = [
        {
            "better": t.first, "worse": t.second, "difference": format_number(t.difference),
            "95 % CI": report.interval(t.low, t.high),
            "p (Holm)": report.p_text(t.adjusted),
            "smallest detectable difference": format_number(t.detectable), "note": t.reason,
        }
        for t in done.tests
    ]  # fmt: skip
    ranked = [
        {"system": m.system, "ranks": m.rank_text, "mean": format_number(m.mean, 2, leading_zero=True), "95 % CI": report.interval(m.low, m.high, 2, leading_zero=True)}
        for m in done.means
    ]  # fmt: skip
    about = f"{labels[name]} over {done.segments} segments with outputs of all systems; 95 % CI ({done.method})."
    with right:
        tables.text_table(ranked, tall=24)
        means = ("system", "mean", "low", "high", "n", "first_rank", "last_rank")
        table_files(
            ranked,
            f"Means of systems: {about}",
            f"systems-{file_name(name)}",
            lambda: (means, [(*m[:-1], *m.ranks) for m in done.means]),
        )
        st.caption(
            "Ranks: from 1 + the number of systems that are significantly better, to the rank above all that are significantly worse."
        )
    with st.expander(f"All {format_count(len(shown), 'pair')} of systems"):
        tables.text_table(shown)
        page.caption(
            "p: approximate randomization, 10,000 draws, Holm’s correction over all pairs. Smallest detectable difference: the smallest one "
            "that a test on this many segments finds with 80 % probability."
        )
        caption = (
            f"Differences between systems: {about} p: approximate randomization, Holm’s correction over all pairs."
        )
        table_files(shown, caption, f"system-pairs-{file_name(name)}", lambda: (tests.SystemTest._fields, done.tests))
    return done
