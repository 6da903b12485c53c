"""What scoring will take, the progress of running jobs, and jobs that were cancelled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st

from core.data import SegmentKey
from core.errors import UserError
from core.formatting import format_count, format_duration
from core.metrics.registry import load_metric
from core.ports.jobs import Job, MetricProgress
from core.ports.projects import Project
from core.scoring.dataset import for_dataset
from core.scoring.timing import ENOUGH
from core.services.projects.time_estimates import (
    LONG_SECONDS,
    TOO_LONG_SECONDS,
    OpenOutputs,
    distinct_outputs,
    in_words,
    judge_estimates,
    open_outputs,
    sample_of,
    total_seconds,
)
from core.settings import load_settings
from pages._ui.shared import errors, jobs, page, wiring

SAMPLE, FIRST_SAMPLE = 100, 20
"""Segments in the sample that is offered, and in the one that is scored before a long job."""
DISTINCT = "Outputs with the same text, source and references get the same score. It is computed once."
ALL, SOME, ONE = "all", "sample", "segment"
_TRIED = "errorscope_timed"


class ScoringScope(NamedTuple):
    """The segments to score (none means all), and those that go first if the job is long."""

    segments: tuple[SegmentKey, ...]
    first: tuple[SegmentKey, ...]


def open_of(project: Project, expressions: Sequence[str], segments: Sequence[SegmentKey] = ()) -> list[OpenOutputs]:
    """Return what these metrics have not scored yet, of all outputs or of those of `segments`; metrics that cannot run are left out.

    Of a large project a sample is looked at, which stands for all outputs.
    """
    data, metrics = wiring.sampled(project), []
    for text in expressions:
        try:
            metrics.append(for_dataset(load_metric(text), data))
        except UserError:
            continue
    if segments:
        return open_outputs(wiring.store(), distinct_outputs(wiring.texts(project).dataset(segments)), metrics)
    scale = project.n_outputs / max(1, len(data.outputs))
    return open_outputs(wiring.store(), wiring.distinct(project), metrics, scale)


def draw_judges(project: Project, opened: Sequence[OpenOutputs], segments: Sequence[SegmentKey]) -> None:
    """Draw what the chosen metrics take of their judges, and which hosts the texts are sent to."""
    chosen = [load_metric(o.metric) for o in opened if o.asks_judge and o.sizes]
    if not chosen:
        return
    outputs = distinct_outputs(wiring.texts(project).dataset(segments)) if segments else wiring.distinct(project)
    try:
        estimates = judge_estimates(outputs, opened, chosen)
    except UserError as error:
        errors.show(error)
        return
    jobs.warn_of_hosts([metric.spec.name for metric in chosen], "the texts of this project")
    lines = [one.sentence() for one in estimates]
    local = " The texts stay on this machine." if all(one.is_local for one in estimates) else ""
    page.caption("\n".join([*lines[:-1], f"{lines[-1]}.{local}"]))


def too_long(opened: Sequence[OpenOutputs], most: float = TOO_LONG_SECONDS) -> dict[str, str]:
    """Return the metrics that take more than `most` seconds, too slow to be chosen at first, with label and time."""
    slow = [(o, o.seconds() or 0.0) for o in opened]
    return {o.metric: f"{o.label} ({format_duration(s)})" for o, s in slow if s > most}


def choose_scope(project: Project, segment: SegmentKey | None) -> ScoringScope:
    """Draw the choice between all outputs, a sample of segments, and the open `segment` if there is one."""
    keys = wiring.index(project).segments
    n = len(keys)
    words = {ALL: f"All {format_count(project.n_outputs, 'output')}", SOME: "A sample"} | (
        {ONE: "This segment"} if segment else {}
    )
    first = (segment,) if segment else tuple(sample_of(keys, min(n, FIRST_SAMPLE)))
    if n < 2:
        return ScoringScope((), ())
    with st.container(horizontal=True, vertical_alignment="bottom"):
        scope = st.segmented_control(
            "Outputs to score", words, default=ALL, format_func=words.__getitem__, key=f"scope-{project.id}-{len(words)}",
            required=True,
        )  # fmt: skip
        size = min(SAMPLE, max(1, n // 4))
        if scope == SOME:
            most = min(
                n, max(1, wiring.LARGE // max(1, len(project.systems)))
            )  # the page reads all texts of the sample
            size = st.number_input(
                "Segments in the sample", 1, most, min(size, most), key=f"sample-{project.id}", width=200,
                help="Drawn at random. A larger sample contains the smaller one, so its scores are reused. "
                f"A sample has at most {wiring.LARGE:,} outputs.",
            )  # fmt: skip
    if scope == ALL:
        return ScoringScope((), first)
    return ScoringScope((segment,) if scope == ONE and segment else tuple(sample_of(keys, int(size))), ())


def estimate(project: Project, opened: Sequence[OpenOutputs], scope: ScoringScope, running: Sequence[Job]) -> bool:
    """Draw the time that the chosen metrics take on this machine. Return whether the job is long.

    While the speed of a metric is not known, the worker of this server measures it on a sample. `running` are scoring jobs.
    """
    unknown = [o for o in opened if not o.timed]
    if not unknown:
        seconds = total_seconds(opened)
        is_long = seconds is not None and seconds > LONG_SECONDS
        text = in_words(opened)
        if text and (seconds or 0.0) > 0:
            first = (
                " This segment is scored first."
                if len(scope.first) == 1
                else f" A sample of {len(scope.first)} segments is scored first."
            )
            rough = [o.label for o in opened if o.rough]
            few = f" A rough estimate, from fewer than {ENOUGH} outputs: {', '.join(rough)}." if rough else ""
            page.caption(f"Time on this machine: {text}.{few}{first if is_long and scope.first else ''}")
        return is_long
    names = tuple(o.metric for o in unknown)
    tried: set[tuple[int, tuple[str, ...]]] = st.session_state.setdefault(_TRIED, set())
    queue = wiring.store().jobs

    @errors.guarded
    def measure() -> None:
        tried.add((project.id, names))
        queue.enqueue(project.id, names, timing=True)

    if jobs.active(project.id, timing=True):
        st.fragment(run_every=1.5)(errors.guarded(_measuring))(project)
    elif not running and load_settings().worker != "off" and (project.id, names) not in tried:
        measure()
        st.rerun()
    elif not running:
        last = next((job for job in queue.recent(project.id) if job.timing), None)
        if last is not None and last.state == "failed":
            page.caption(f"The time could not be measured: {last.message}")
        st.button("Estimate time", icon=":material/timer:", on_click=measure, key=f"estimate-{project.id}")
    return sum(len(o.sizes) for o in unknown) > 1000


def _measuring(project: Project) -> None:
    """Draw the progress of measuring; the page is drawn again when it has ended."""
    measuring = jobs.active(project.id, timing=True)
    if not measuring:
        st.rerun()
    n = len({name for job in measuring for name in job.metrics})
    page.caption(f"Measuring the speed of {format_count(n, 'metric')} on a short sample. The time appears here.")
    for job in measuring:
        jobs.progress(job, "Measuring", "Skip the estimate", wiring.keep_worker())


def progress(project: Project) -> None:
    """Draw what unfinished jobs have done and have left, by metric; refreshed while they run."""
    if jobs.active(project.id):
        st.fragment(run_every=3.0)(errors.guarded(_progress))(project)


def progress_of(project: Project, job: Job) -> list[MetricProgress]:
    """Return the progress of a job by metric; before it is planned and after it ended, from the stored scores."""
    if planned := wiring.store().jobs.progress(job.id):
        return planned
    return [
        MetricProgress(m.metric, m.label, m.total - m.left, m.total, m.seconds(), computing=False)
        for m in open_of(project, job.metrics, job.segments)
    ]


def _progress(project: Project) -> None:
    rows = []
    for job in jobs.active(project.id):
        for metric in progress_of(project, job):
            left = metric.total - metric.done
            known = "not known yet" if metric.seconds_left is None else format_duration(metric.seconds_left)
            rows.append(
                {
                    "metric": metric.label,
                    "outputs": format_count(len(job.segments), "segment") if job.segments else "all",
                    "done": metric.done,
                    "left": left,
                    "computing time": known if left else "",
                }
            )
    if rows:
        st.dataframe(rows, hide_index=True, width="stretch", height=min(38 + 35 * len(rows), 283))
        n, total = len(wiring.distinct(project)), project.n_outputs
        if n < total <= wiring.LARGE:
            st.caption(f"{n:,} distinct of {format_count(total, 'output')}", help=DISTINCT)


def draw_cancelled_job(project: Project) -> None:
    """Draw the line if the newest scoring job of the project was cancelled and has computed some scores, not all."""
    newest = next((job for job in wiring.store().jobs.recent(project.id) if not job.timing), None)
    if newest is None or newest.state != "cancelled" or jobs.active(project.id):
        return
    metrics = progress_of(project, newest)
    kept, total = sum(m.done for m in metrics), sum(m.total for m in metrics)
    if kept in (0, total):
        return
    text = f"Scoring was cancelled. {kept:,} of {format_count(total, 'score')} of {format_count(len(metrics), 'metric')} are kept."
    st.warning(text, icon=":material/incomplete_circle:")
    jobs.finish_button(project, newest.metrics, newest.segments, key=f"cancelled-{project.id}")
