"""Jobs with judges, computed by workers against a real server."""

from __future__ import annotations

import threading
from threading import Event

import pytest

from core.data import SegmentKey
from core.judges import client
from core.metrics import registry
from core.ports.store import Store
from core.scoring.lease import WorkerIntervals
from tests.builders import small_dataset
from tests.db.workers.helpers import until, work
from tests.judge_server import JudgeServer, judge_server
from tests.stores import project_with

N = 60


@pytest.mark.extended
def test_a_job_resumes_and_asks_nothing_twice(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker stops midway, another one continues; then the model changes, which is said and not mixed."""
    monkeypatch.setattr(client, "BACK_OFF", 0.01)
    project = project_with(store, small_dataset(N, ["A", "B"]))
    with judge_server(delay=0.01) as server:
        monkeypatch.setenv("ERRORSCOPE_JUDGE", server.setting)
        job, stop = store.jobs.enqueue(project, ["judge-mqm"]).id, Event()
        threading.Thread(target=lambda: (until(lambda: server.requests > 30), stop.set()), daemon=True).start()
        work(store, registry.load_metric, stop, once=False, pace=WorkerIntervals(beat=0.01, look=0.01))
        signature = store.chunks.metrics(job)[0].signature
        stored, asked = len(store.scores.column(project, signature)), server.requests
        assert asked - 5 <= stored <= asked < 2 * N
        work(store, registry.load_metric)
        assert store.jobs.get(job).state == "done"
        assert server.requests <= 2 * N + asked - stored + 4
        values = dict(store.scores.column(project, signature))
        assert len(values) == 2 * N
        assert all(value.status == "ok" for value in values.values())
        (value, *_) = store.scores.detail(project, signature, SegmentKey("doc", "0")).values()
        assert value.detail is not None
        assert value.detail["replies"][0]["text"].startswith('{"verdict"')
        _another_model_answers(store, server, project)


def _another_model_answers(store: Store, server: JudgeServer, project: int) -> None:
    before = server.requests
    server.answer = lambda body: _changing(server, before)
    job = store.jobs.enqueue(project, ["judge-da"]).id
    work(store, registry.load_metric)
    done = store.jobs.get(job)
    assert done.state in ("done", "failed")
    assert "changed" in done.message or "another model answered" in done.message
    (by,) = {by.signature for by in store.scores.signatures(project) if by.metric == "judge-da"} or {""}
    values = dict(store.scores.column(project, by)) if by else {}
    assert {reply for value in values.values() for reply in [value.status]} <= {"ok", "error"}
    assert sum(value.status == "ok" for value in values.values()) < 2 * N
    job = store.jobs.enqueue(project, ["judge-da"]).id
    work(store, registry.load_metric)
    assert store.jobs.get(job).state == "done"
    newest = max((by for by in store.scores.signatures(project) if by.metric == "judge-da"), key=lambda by: by.n)
    assert newest.n == 2 * N


def _changing(server: JudgeServer, before: int) -> str:
    if server.requests - before >= 50:
        server.fingerprint = "f2"
    return '{"score": 1}'
