"""The line at the foot of every page while something is being scored: progress, remaining time, cancel."""

from __future__ import annotations

from datetime import UTC, datetime

import streamlit as st

from core.ports import Job, Store
from pages._ui import errors, wiring

ACTIVE = ("queued", "running")
_SEEN = "errorscope_jobs_seen"
_NEWS = "errorscope_jobs_news"
SILENT_SECONDS = 45.0


def active(store: Store, project_id: int | None = None) -> list[Job]:
    """Jobs that wait or run, oldest first."""
    return [j for j in reversed(store.jobs.recent(project_id)) if j.state in ACTIVE]


def remaining(job: Job, now: datetime) -> float | None:
    """Seconds left at the pace so far; None before anything is done."""
    if job.started is None or job.done <= 0 or job.total <= 0:
        return None
    return (now - job.started).total_seconds() / job.done * max(0, job.total - job.done)


def in_words(seconds: float) -> str:
    if seconds < 50:
        return "less than a minute left"
    minutes = round(seconds / 60)
    return f"about {minutes} min left" if minutes < 90 else f"about {minutes / 60:.1f} h left"


def progress_text(job: Job, now: datetime, own_worker: bool) -> str:
    """One line on a job: how far it is, how long it takes (the worker's own word where it gave one), or what it waits for."""
    if job.state == "queued":
        return "waiting to start" if own_worker else "waiting for a worker: start one with  python -m db.worker"
    parts = [f"{job.done:,} of {job.total:,}"] if job.total else ["starting"]
    if job.heartbeat is not None and (now - job.heartbeat).total_seconds() > SILENT_SECONDS:
        return ", ".join([*parts, "the worker has gone silent; another takes over where it stopped"])
    if job.message:
        return " · ".join([*parts, job.message])
    left = remaining(job, now)
    return " · ".join([*parts, *([in_words(left)] if left is not None else [])])


def foot(store: Store) -> None:
    """Draw the line; it refreshes itself, and the whole page whenever a metric or a job is done."""
    own = wiring.keep_worker()
    news = st.session_state.pop(_NEWS, None)
    if news:
        st.toast(news, icon=":material/info:")
    every = 1.5 if active(store) else 20.0
    st.fragment(run_every=every)(errors.guarded(_line))(store, own)


def _line(store: Store, own_worker: bool) -> None:
    jobs = active(store)
    seen: dict[int, str] = st.session_state.setdefault(_SEEN, {})
    stages = {j.id: j.message.split(" · ")[0] for j in jobs}
    ended = [i for i in seen if i not in stages]
    further = [i for i in seen if i in stages and seen[i] != stages[i]]
    st.session_state[_SEEN] = stages
    for job_id in ended:
        st.session_state[_NEWS] = _farewell(store, job_id)
    if ended or further:
        st.rerun()
    if not jobs:
        return
    wiring.keep_worker()
    names = {p.id: p.name for p in store.projects.list()}
    now = datetime.now(UTC)
    with st.container(key="errorscope-foot"):
        for job in jobs[:2]:
            with st.container(horizontal=True, vertical_alignment="center"):
                text = f"Scoring {names.get(job.project_id, '')}: {progress_text(job, now, own_worker)}"
                st.progress(min(1.0, job.done / job.total) if job.total else 0.0, errors.plain(text))
                label = "Cancel" if len(jobs) == 1 else f"Cancel {job.id}"
                st.button(label, key=f"cancel-{job.id}", on_click=errors.guarded(store.jobs.cancel), args=(job.id,))
        if len(jobs) > 2:
            st.caption(f"{len(jobs) - 2} more waiting")


def _farewell(store: Store, job_id: int) -> str:
    job = next((j for j in store.jobs.recent(limit=50) if j.id == job_id), None)
    if job is None:
        return "A scoring job is gone with its project."
    if job.state == "failed":
        return f"Scoring stopped: {errors.plain(job.message)}"
    return "Scoring was cancelled; what was scored is kept." if job.state == "cancelled" else "Scoring is done."
