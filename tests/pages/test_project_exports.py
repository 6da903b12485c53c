"""Exports of a project: what is offered, and what a format does not hold."""

import gc
from concurrent.futures import wait
from threading import Event
from typing import IO, Any, cast
from weakref import ref

import pytest
from streamlit.testing.v1 import AppTest

from core.ports.store import Store
from core.progress import Cancelled, Progress
from core.services.export.export import Export, spooled
from core.services.export.files import AT_ONCE, EXPORT_THREADS, EXPORTS, KEPT, LABELS, PREPARED
from pages._ui.labels_and_raters import known_labels
from pages._ui.projects import exports
from pages._ui.shared import wiring
from tests.core.services.campaigns.filled import started, work
from tests.pages.opened_page import field, loaded_again, press, put, run
from tests.pages.said import words
from tests.pages.test_projects import MQM, uploaded


@pytest.fixture
def large(store: Store, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    press(uploaded(("wmt.tsv", MQM), what="labels"), "Import")
    monkeypatch.setattr(wiring, "LARGE", 1)
    return run("projects")


def prepared(at: AppTest, label: str = "Prepare the file") -> AppTest:
    """Click, and wait for the thread that makes the file."""
    at = press(at, label)
    at.session_state["export-prepared-1"].result.exception(30)
    return at.run()


def prepare_buttons(at: AppTest) -> list[str]:
    return [b.label for b in at.button if b.label.startswith("Prepare")]


def test_files_of_large_projects_are_prepared_then_sent(
    large: AppTest, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not large.get("download_button")
    assert not large.get("link_button")
    at = prepared(large)
    (link,) = at.get("link_button")
    address, _, token = link.proto.url.partition("?prepared=")
    assert address == "/api/projects/1/exports/csv"
    file = PREPARED.find(1, "csv", token)
    assert file is not None
    assert file.made.data == EXPORTS["csv"].make(store, 1).data
    assert link.proto.label == f"Download ({file.size:,} bytes)"
    assert prepare_buttons(at) == ["Prepare the file again"]
    at = prepared(at, "Prepare the file again")
    assert at.get("link_button")[0].proto.url != link.proto.url

    at = put(at, "Format", "esa")
    assert prepare_buttons(at) == ["Prepare the file"], "another format is prepared by another click"
    at = prepared(at)
    assert "esa_score is null" in words(at)
    reloaded = loaded_again(at, "projects").get("link_button")[0].proto.url
    assert reloaded == at.get("link_button")[0].proto.url, "a reload loses the prepared file or its format"
    for _ in range(KEPT):  # newer files, after which the first is discarded
        PREPARED.keep(2, "csv", Export(spooled(["newer"]), "csv", "text/csv", ()))
    at = at.run()
    assert "The server no longer keeps this file. Prepare it again." in words(at)
    assert prepare_buttons(at) == ["Prepare the file again"]


def test_preparing_a_file_shows_progress_and_is_cancelled(
    large: AppTest, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    gc.freeze()  # so that garbage is looked for only in what is made from here on
    seen, go, partial = Event(), Event(), list[ref[IO[bytes]]]()

    def slow(store: Store, project_id: int, progress: Progress) -> Export:
        file = spooled()
        partial.append(ref(file))
        progress(0.25)
        seen.set()
        assert go.wait(30)
        progress(0.5)
        raise AssertionError("not cancelled")

    def broken(*_: object) -> Export:
        raise ZeroDivisionError

    monkeypatch.setitem(LABELS, "csv", LABELS["csv"]._replace(make=cast(Any, slow)))
    at = press(large.run(), "Prepare the file")
    assert seen.wait(30)
    at = at.run()
    assert at.get("progress")[0].proto.text == "Preparing the file … 25%"
    at = press(at, "Cancel")
    go.set()
    at.session_state["export-prepared-1"].result.exception(30)
    at = at.run()
    assert "Preparation cancelled." in words(at)
    assert prepare_buttons(at) == ["Prepare the file"]
    gc.collect()
    gc.unfreeze()
    assert partial[0]() is None, "the part that was written is kept"

    monkeypatch.setitem(LABELS, "csv", LABELS["csv"]._replace(make=cast(Any, broken)))
    at = prepared(at)
    said = at.error[0].value
    assert "Something went wrong" in said
    assert at.run().error[0].value == said, "a fault is logged once"


@pytest.mark.extended
def test_a_file_that_is_finished_after_cancel_is_not_kept(large: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, go, late = Event(), Event(), list[ref[IO[bytes]]]()

    def deaf(store: Store, project_id: int, progress: Progress) -> Export:
        seen.set()
        assert go.wait(30)
        file = spooled(["late"])
        late.append(ref(file))
        return Export(file, "csv", "text/csv", ())

    monkeypatch.setitem(LABELS, "csv", LABELS["csv"]._replace(make=cast(Any, deaf)))
    at = press(large.run(), "Prepare the file")
    assert seen.wait(30)
    at = press(at, "Cancel").run()
    assert at.get("progress")[0].proto.text == "Cancelling …"
    go.set()
    at.session_state["export-prepared-1"].result.exception(30)
    at = at.run()
    assert "Preparation cancelled." in words(at)
    gc.collect()
    assert late[0]() is None


@pytest.mark.extended
def test_a_server_that_stops_cancels_preparations(large: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, go = Event(), Event()

    def slow(store: Store, project_id: int, progress: Progress) -> Export:
        seen.set()
        assert go.wait(30)
        progress(0.5)
        raise AssertionError("not cancelled")

    monkeypatch.setitem(LABELS, "csv", LABELS["csv"]._replace(make=cast(Any, slow)))
    at = press(large.run(), "Prepare the file")
    assert seen.wait(30)
    exports.cancel_all()
    go.set()
    assert isinstance(at.session_state["export-prepared-1"].result.exception(30), Cancelled)


@pytest.mark.extended
def test_a_preparation_waits_for_other_exports_and_is_cancelled(
    large: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = Event()
    others = [EXPORT_THREADS.submit(go.wait, 30) for _ in range(AT_ONCE)]
    try:
        monkeypatch.setitem(LABELS, "csv", LABELS["csv"]._replace(make=cast(Any, lambda *_: pytest.fail("was made"))))
        at = press(large.run(), "Prepare the file").run()
        assert at.get("progress")[0].proto.text == "Waiting for other exports …"
        job = at.session_state["export-prepared-1"]
        at = press(at, "Cancel").run()
        assert job.result.cancelled()
        assert "Preparation cancelled." in words(at)
        assert prepare_buttons(at) == ["Prepare the file"]
    finally:
        go.set()
        wait(others, 30)


def test_a_file_that_cannot_be_made_says_why(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    press(uploaded(("wmt.tsv", MQM.replace("A\tnews", "my system\tnews")), what="labels"), "Import")
    at = run("projects")
    at = put(at, "Format", "mtme-score")
    assert "t-metrics-eval files cannot store this name" in words(at)
    assert not at.get("download_button")
    monkeypatch.setattr(wiring, "LARGE", 1)
    at = run("projects")
    at = put(at, "Format", "mtme-score")
    at = prepared(at)
    assert "t-metrics-eval files cannot store this name" in words(at)
    assert prepare_buttons(at.run()) == ["Prepare the file"], "it is tried again without a click"


def test_exports_are_offered_with_what_they_leave_out(store: Store) -> None:
    names = {"../etc/passwd": "etc-passwd", "zh–en pilot": "zh-en-pilot", "مشروع": "مشروع", "///": "project"}
    assert {name: exports.file_name(name) for name in names} == names

    press(uploaded(("wmt.tsv", MQM), what="labels"), "Import")
    at = run("projects")
    choice = field(at, "Format")
    assert [o.split(" (")[0] for o in choice.options] == [
        "Labels: CSV", "Labels: Google MQM TSV", "Labels: Marot TSV", "Labels: mt-metrics-eval .seg.rating",
        "Labels: mt-metrics-eval standalone JSONL", "Labels: ESA JSONL", "Labels: Label Studio JSON",
        "Labels: MQM scores, .seg.score", "Outputs: CSV", "Outputs: JSONL", "Outputs: Parquet", "Outputs: Arrow",
    ]  # fmt: skip
    assert len(at.get("download_button")) == 1
    assert "No metric scores to export yet." in words(at)
    at = choice.set_value("esa").run()
    assert "2 ratings without a score from 0 to 100: esa_score is null." in words(at)
    at = put(at, "Format", "mtme-score")
    assert "one MQM score per output is kept" in words(at)


def test_labels_of_campaigns_are_offered_for_export(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = started(store, "mqm")
    work(store, campaign, share=0.1)
    other = store.projects.create("other")
    read: list[int] = []
    raters = known_labels.raters
    monkeypatch.setattr(known_labels, "raters", lambda project: read.append(project.id) or raters(project))
    at = run("projects", campaign.project_id)
    assert any(o.startswith("Labels: CSV") for o in field(at, "Format").options)
    assert other.id not in read
    assert "no labels outside campaigns" in words(at)
    assert "no labels yet" in words(at)  # of the other project
