"""Running jobs: the line at the foot of every page, messages about finished jobs, partly scored metrics, and the hosts that texts are sent to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

import streamlit as st

from core.data import SegmentKey
from core.errors import PROGRAM, UserError
from core.formatting import format_count
from core.metrics.registry import load_metric
from core.ports.jobs import Job
from core.ports.projects import Project
from core.services.projects.time_estimates import finishable, start
from core.services.projects.view import Column
from pages._ui.shared import errors, wiring
from pages._ui.shared.markdown import escape_markdown

_SEEN = "errorscope_jobs_seen"
_SHOWN = "errorscope_jobs_shown"
_NEWS = "errorscope_jobs_news"
_WANTED = "errorscope_jobs_wanted"
SILENT_SECONDS = 45.0


def active(project_id: int | None = None, *, timing: bool = False) -> list[Job]:
    """Return the scoring jobs that wait or run, oldest first; with `timing`, those that measure the speed of metrics."""
    return [job for job in wiring.store().jobs.unfinished(project_id) if job.timing == timing]


def remaining(job: Job, now: datetime) -> float | None:
    """Return the seconds left at the pace so far; None before anything is done."""
    if job.started is None or job.done <= 0 or job.total <= 0:
        return None
    return (now - job.started).total_seconds() / job.done * max(0, job.total - job.done)


def in_words(seconds: float) -> str:
    """Return the remaining time as text."""
    if seconds < 50:
        return "less than a minute left"
    minutes = round(seconds / 60)
    return f"about {minutes} min left" if minutes < 90 else f"about {minutes / 60:.1f} h left"


def progress_text(job: Job, now: datetime, own_worker: bool) -> str:
    """Return the progress of a job: its own message or the remaining time, or what it waits for."""
    if job.state == "queued":
        return "waiting to start" if own_worker else f"waiting for a worker. Start one with  {PROGRAM} workers"
    parts = (
        [f"{job.done:,} of {format_count(job.total, 'metric' if job.timing else 'score')}"]
        if job.total
        else ["starting"]
    )
    if job.heartbeat is not None and (now - job.heartbeat).total_seconds() > SILENT_SECONDS:
        return ", ".join([*parts, "its workers do not respond; others will continue from here"])
    if job.workers > 1:
        parts.append(f"{job.workers} workers")
    if job.message:
        return " · ".join([*parts, job.message])
    left = remaining(job, now)
    return " · ".join([*parts, *([in_words(left)] if left is not None else [])])


def remember(job: tuple[int, Sequence[str], Sequence[SegmentKey], Sequence[SegmentKey]]) -> None:
    """Remember a job that was asked for, until the page has queued it or, if the page was left before, the next page does."""
    st.session_state[_WANTED] = job


def forget() -> None:
    """Forget the job: it is queued."""
    st.session_state.pop(_WANTED, None)


def note() -> None:
    """Remember the jobs before a page reads scores: it lacks the scores of those that end while it is drawn."""
    seen: dict[int, str] = st.session_state.setdefault(_SEEN, {})
    for job in active():
        seen.setdefault(job.id, _stage(job))


def _stage(job: Job) -> str:
    return job.message.split(" · ")[0]


def foot() -> None:
    """Draw the line. It refreshes itself, and the whole page when a metric or a job is done."""
    if parameters := st.session_state.pop(_WANTED, None):
        start(wiring.store(), *parameters)
    own = wiring.keep_worker()
    for message in st.session_state.pop(_NEWS, ()):
        st.toast(message, icon=":material/info:")
    every = 1.5 if active() else 20.0
    st.fragment(run_every=every)(errors.guarded(_line))(own)


def _line(own_worker: bool) -> None:
    jobs = active()
    seen: dict[int, str] = st.session_state.setdefault(_SEEN, {})
    stages = {j.id: _stage(j) for j in jobs}
    ended = [i for i in seen if i not in stages]
    further = [i for i in seen if i in stages and seen[i] != stages[i]]
    st.session_state[_SEEN] = stages
    shown: set[int] = st.session_state.get(_SHOWN, set())
    if waited_for := [job_id for job_id in ended if job_id in shown]:
        names = _project_names()
        st.session_state[_NEWS] = [_farewell(job_id, names) for job_id in waited_for]
    if ended or further:
        st.rerun()
    st.session_state[_SHOWN] = set(stages)
    if not jobs:
        return
    wiring.keep_worker()
    names = _project_names()
    with st.container(key="errorscope-foot"):
        labels = cancel_labels(jobs[:2], names)
        for job in jobs[:2]:
            label = "Cancel" if len(jobs) == 1 else labels[job.id]
            progress(job, f"Scoring {names.get(job.project_id, '')}", label, own_worker)
        if len(jobs) > 2:
            st.caption(f"{format_count(len(jobs) - 2, 'more job')} waiting")


def progress(job: Job, what: str, cancel: str, own_worker: bool) -> None:
    """Draw the progress of a job with the plain text `what`, and a button `cancel` for those who may change the project."""
    with st.container(horizontal=True, vertical_alignment="center"):
        text = f"{what}: {progress_text(job, datetime.now(UTC), own_worker)}"
        st.progress(min(1.0, job.done / job.total) if job.total else 0.0, escape_markdown(text))
        if wiring.may_change(job.project_id):
            stop = errors.guarded(wiring.store().jobs.cancel)
            st.button(cancel, key=f"cancel-{job.id}", on_click=stop, args=(job.id,))


def cancel_labels(running: Sequence[Job], names: Mapping[int, str]) -> dict[int, str]:
    """Return by job what its button says, as Markdown, with as much as tells it from the others: project, outputs, metrics, and in the end a number."""
    labels = {job.id: f"Cancel scoring: {escape_markdown(names.get(job.project_id, ''))}" for job in running}
    for further in (_outputs_of, lambda job: escape_markdown(", ".join(job.metrics)), lambda job: f"job {job.id}"):
        times = Counter(labels.values())
        labels |= {job.id: f"{labels[job.id]}, {further(job)}" for job in running if times[labels[job.id]] > 1}
    return labels


def _outputs_of(job: Job) -> str:
    return format_count(len(job.segments), "segment") if job.segments else "all outputs"


def _project_names() -> dict[int, str]:
    return {p.id: p.name for p in wiring.store().projects.list()}


def _farewell(job_id: int, names: Mapping[int, str]) -> str:
    """Return what the end of a scoring job is reported with, in Markdown."""
    try:
        job = wiring.store().jobs.get(job_id)
    except UserError:
        return "The scoring job was deleted with its project."
    what = f"Scoring of “{escape_markdown(names.get(job.project_id, ''))}”"
    if job.state == "failed":
        return f"{what} failed: {escape_markdown(job.message)}"
    if job.state == "cancelled":
        return f"{what} was cancelled. Computed scores are kept."
    return f"{what} is done."


def draw_partly_scored(project: Project, text: str, columns: Sequence[Column], key: str) -> None:
    """Draw the plain `text`, why some `columns` cannot be finished here, and the button for the others."""
    finishable_metrics = finishable(wiring.sampled(project), columns)
    reasons = [f"{label}: {reason}." for label, reason in finishable_metrics.others]
    running = {name for job in active(project.id) for name in job.metrics}
    st.warning("  \n".join(escape_markdown(t) for t in (text, *reasons)), icon=":material/incomplete_circle:")
    if not finishable_metrics.metrics:
        return
    if running >= set(finishable_metrics.metrics):
        st.caption("Scoring is running. This page shows the new scores when it is done.")
        return
    finish_button(project, finishable_metrics.metrics, key=key)


def finish_button(project: Project, metrics: Sequence[str], segments: Sequence[SegmentKey] = (), *, key: str) -> None:
    """Draw the button that scores what is missing, of all outputs or of those of `segments`. Only managers may score."""
    if not wiring.may_change(project.id):
        return
    queue = wiring.store().jobs

    @errors.guarded
    def finish() -> None:
        queue.enqueue(project.id, metrics, segments)

    warn_of_hosts(metrics, "the texts of this project")
    st.button("Finish scoring", key=f"finish-{key}", icon=":material/play_arrow:", on_click=finish)


def warn_of_hosts(expressions: Iterable[str], texts: str = "the texts") -> None:
    """Draw which other hosts `texts` are sent to if these metrics are computed; nothing if all stay on this machine."""
    hosts: dict[str, list[str]] = {}
    for expression in expressions:
        try:
            metric = load_metric(expression)
            if metric.judge is not None and not metric.judge.is_local:
                hosts.setdefault(metric.judge.host, []).append(metric.spec.label)
        except UserError:  # it cannot run
            continue
    for host, labels in hosts.items():
        text = f"{', '.join(dict.fromkeys(labels))}: {texts} are sent to {host}."
        st.warning(escape_markdown(text), icon=":material/upload:")
