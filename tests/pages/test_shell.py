"""What every page shares: the project switcher, the address, the line of running jobs, and where errors end."""

import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
import streamlit as st
from streamlit import config
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

import app
from core.data import Dataset, Output, Segment
from core.ports.jobs import Job
from core.ports.store import Store
from pages._ui.projects import upload
from pages._ui.shared import jobs, page, wiring
from pages._ui.shared.page import scored_by
from tests.pages.opened_page import run
from tests.paths import APP

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DATA = Dataset((Segment("d", "1", "source", ("reference",)),), (Output("a", "d", "1", "output"),))


def job(**changes: object) -> Job:
    fields = {
        "id": 1, "project_id": 1, "metrics": ("chrf",), "state": "running", "done": 0, "total": 100, "message": "",
        "created": NOW, "started": NOW, "finished": None, "workers": 1, "heartbeat": NOW,
    }  # fmt: skip
    return Job(**(fields | changes))  # type: ignore[arg-type]


def test_old_addresses_and_the_switcher_open_a_project(store: Store) -> None:
    at = run()
    assert "There is no project yet" in at.markdown[0].value
    ids = []
    for name in ("first", "second"):
        ids.append(store.projects.create(name).id)
        store.projects.add(ids[-1], DATA)
    at = run(project=ids[1])
    assert at.sidebar.selectbox(key="switcher").value == ids[1]
    assert at.caption[0].value.startswith("**second** · ")
    at = run(project=ids[0])
    assert at.query_params["segment"] == "1"
    at.sidebar.selectbox(key="switcher").set_value(ids[1]).run()
    assert at.query_params["project"] == str(ids[1])
    assert at.caption[0].value.startswith("**second** · "), "the place in the old project is kept"
    for asked in ("99", "x'; --", "-1"):
        at = run(project=asked)
        assert "This project does not exist" in at.error[0].value, asked

    second = next(p for p in store.projects.list() if p.name == "second")
    titles = {"people": "Labels and raters", "evaluate": "Meta-evaluation", "lambda_studio": "Calibrate λ"}
    for old, title in titles.items():
        at = AppTest.from_file(APP, default_timeout=30)
        at.query_params["project"], at.query_params["lambda"] = str(second.id), "1.68"
        at._page_hash = calc_hash(old)
        at.run()
        assert at.title[0].value == title
        assert at.caption[0].value.startswith("**second** · "), old
        assert at.query_params == {"project": str(second.id), "lambda": "1.68"}, old


def test_a_running_job_is_at_the_foot_and_can_be_cancelled(store: Store) -> None:
    project = store.projects.create("only")
    store.projects.add(project.id, DATA)
    timing = store.jobs.enqueue(project.id, ["chrf"], timing=True)
    at = run("projects", project.id)
    assert not at.get("progress"), "the estimate of the time is shown where scoring is started"
    store.jobs.cancel(timing.id)
    assert not at.run().toast
    queued = store.jobs.enqueue(project.id, ["chrf"])
    at = run("projects", project.id)
    assert [b.label for b in at.button if b.key == f"cancel-{queued.id}"] == ["Cancel"]
    for i in range(60):
        store.jobs.cancel(store.jobs.enqueue(project.id, [f"metric {i}"]).id)
    at.button(key=f"cancel-{queued.id}").click().run()
    assert store.jobs.get(queued.id).state == "cancelled"
    toasts = [toast.value for toast in (at.toast or at.run().toast)]
    assert toasts == ["Scoring of “only” was cancelled. Computed scores are kept."], "newer jobs hide the end of a job"


def test_a_page_is_drawn_again_if_a_job_ended_meanwhile(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    project = store.projects.create("only")
    store.projects.add(project.id, DATA)
    queued = store.jobs.enqueue(project.id, ["chrf"])
    drawn = []
    monkeypatch.setattr(wiring, "keep_worker", lambda: bool(drawn.append(store.jobs.cancel(queued.id))))
    at = run("compare", project.id)
    assert len(drawn) == 2
    assert not at.toast, "nobody has seen the job run"


def test_every_page_names_a_missing_database_until_it_is_back(store: Store, tmp_path: Path) -> None:
    store.projects.add(store.projects.create("first").id, DATA)
    database, aside = tmp_path / "errorscope.db", tmp_path / "aside"
    for name in ("projects", "annotate", "compare"):
        at = run(name)
        assert not at.error, name
        database.rename(aside)
        at.run()
        said = at.error[0].value.replace("\\", "")
        assert "The database file is gone" in said, name
        assert "Move errorscope.db back here" in said, name
        assert "docs/backup.md" in said, name
        assert "Error spans that are not saved yet stay in the annotator's browser" in said, name
        assert not database.exists(), name
        aside.rename(database)
        assert not at.run().error, name


def test_a_database_of_another_program_gets_no_promise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = sqlite3.connect(tmp_path / "errorscope.db")
    other.execute("CREATE TABLE notes (x)")
    other.commit()
    other.close()
    monkeypatch.setenv("ERRORSCOPE_HOME", str(tmp_path))
    monkeypatch.setenv("ERRORSCOPE_WORKER", "off")
    monkeypatch.delenv("ERRORSCOPE_DB", raising=False)
    st.cache_resource.clear()
    at = AppTest.from_file(APP, default_timeout=30).run()
    assert "belongs to another program" in at.error[0].value
    assert "safe" not in at.error[0].value


def test_texts_of_jobs_addresses_and_limits_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    later = NOW + timedelta(seconds=90)
    assert "errorscope workers" in jobs.progress_text(job(state="queued"), NOW, own_worker=False)
    assert jobs.progress_text(job(state="queued"), NOW, own_worker=True) == "waiting to start"
    assert "do not respond" in jobs.progress_text(job(done=5), later, own_worker=True)
    running = job(done=5, message="chrF · 5 of 9 distinct outputs")
    assert jobs.progress_text(running, NOW, own_worker=True) == "5 of 100 scores · chrF · 5 of 9 distinct outputs"
    assert jobs.progress_text(running._replace(workers=2), NOW, own_worker=True).startswith(
        "5 of 100 scores · 2 workers"
    )
    assert jobs.progress_text(job(done=1, total=3, timing=True), later, own_worker=True).startswith("1 of 3 metrics")
    # 25 of 100 in 60 s: 2.4 s each, 75 left
    assert jobs.remaining(job(done=25), NOW + timedelta(seconds=60)) == 180.0
    assert jobs.remaining(job(), NOW) is None
    assert jobs.in_words(180.0) == "about 3 min left"

    assert "bundled demonstration BART, small" in scored_by("bartscore++|lambda:1|model:bundled/bart-mini|rev:abc")
    assert scored_by("chrf|v:1") == ""
    assert "facebook" in scored_by("bartscore|model:facebook/bart-large-cnn|rev:abc")

    for value, expected in (("7", 7), ("", 100), ("many", 200)):
        monkeypatch.setenv("ERRORSCOPE_MAX_TEXT_MB", value)
        config.set_option("server.maxUploadSize", 200)
        app.limit_uploads()
        assert config.get_option("server.maxUploadSize") == expected, value
    assert "For more than 100 MB in all" in upload.GUIDE

    for zone, shown in (
        ("America/New_York", "31 Dec 2025 19:00 (01 Jan 2026 00:00 UTC)"), ("Asia/Kolkata", "01 Jan 2026 05:30 (00:00 UTC)"),
        ("Europe/London", "01 Jan 2026 00:00 UTC"), ("Nowhere/At_all", "01 Jan 2026 00:00 UTC"), (None, "01 Jan 2026 00:00 UTC"),
    ):  # fmt: skip
        monkeypatch.setattr(page, "st", SimpleNamespace(context=SimpleNamespace(timezone=zone)))
        assert (page.moment(NOW), page.day(NOW)) == (shown, shown[:11]), zone
    monkeypatch.setattr(page, "st", SimpleNamespace(context=SimpleNamespace(timezone="Asia/Tokyo")))
    assert page.moment(NOW, "%H:%M:%S") == "09:00:00 (00:00:00 UTC)"


def test_faults_and_errors_of_users_are_told_apart() -> None:
    def faulty() -> None:
        from pages._ui.shared import errors

        with errors.boundary():
            raise RuntimeError("secret detail")

    at = AppTest.from_function(faulty).run()
    assert "a fault of the program" in at.error[0].value
    assert "secret" not in at.error[0].value
    assert "safe" not in at.error[0].value  # nobody knows that here

    def refused() -> None:
        from core.errors import UserError
        from pages._ui.shared import errors

        with errors.boundary():
            raise UserError(
                "the file is *odd*",
                where="a_b.csv",
                got="<b>",
                expected="text",
                hint="Look at docs/formats.md, not docs/none.md",
            )

    at = AppTest.from_function(refused).run()
    assert at.error[0].value == (
        "**The file is \\*odd\\*** (a_b.csv)  \nfound \\<b\\>; expected text  \nLook at [docs/formats.md](documentation/docs/formats.md), not docs\\/none.md"
    )
