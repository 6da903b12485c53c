"""Exports of a project: what is offered, and what a format does not hold."""

import pytest

from core.ports.store import Store
from pages._ui.projects import exports
from pages._ui.shared import wiring
from tests.pages.test_projects import MQM, press, texts, uploaded
from tests.pages.test_shell import run, store

__all__ = ["store"]


def test_exports_are_offered_where_there_is_something(store: Store) -> None:
    press(uploaded(("wmt.tsv", MQM), what="labels"), "Import")
    at = run("projects")
    choice = next(s for s in at.selectbox if s.label == "Format")
    assert [o.split(" (")[0] for o in choice.options] == [
        "Labels: CSV", "Labels: Google MQM TSV", "Labels: Marot TSV", "Labels: mt-metrics-eval .seg.rating",
        "Labels: mt-metrics-eval standalone JSONL", "Labels: ESA JSONL", "Labels: Label Studio JSON",
        "Labels: MQM scores, .seg.score", "Outputs: CSV", "Outputs: JSONL", "Outputs: Parquet", "Outputs: Arrow",
    ]  # fmt: skip
    assert len(at.get("download_button")) == 1
    assert "No scores to export yet." in texts(at)


def test_files_of_large_projects_are_streamed_by_the_route(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    press(uploaded(("wmt.tsv", MQM), what="labels"), "Import")
    monkeypatch.setattr(wiring, "LARGE", 1)
    at = run("projects")
    assert not at.get("download_button")
    (link,) = at.get("link_button")
    assert link.proto.url == "/api/projects/1/exports/csv"


@pytest.mark.parametrize(
    ("name", "expected"),
    [("../etc/passwd", "etc-passwd"), ("zh–en pilot", "zh-en-pilot"), ("مشروع", "مشروع"), ("///", "project")],
)
def test_the_name_of_an_export_is_no_path(name: str, expected: str) -> None:
    assert exports.file_name(name) == expected


def test_what_an_export_does_not_hold_is_said_beside_the_button(store: Store) -> None:
    press(uploaded(("wmt.tsv", MQM), what="labels"), "Import")
    at = run("projects")
    choice = next(s for s in at.selectbox if s.label == "Format")
    at = choice.set_value("esa").run()
    said = texts(at).replace("\\", "")
    assert "2 ratings without a score from 0 to 100: esa_score is null." in said
    at = next(s for s in at.selectbox if s.label == "Format").set_value("mtme-score").run()
    assert "one MQM score per output is kept" in texts(at).replace("\\", "")
    assert not at.exception


def test_a_name_that_a_format_cannot_hold_is_said_in_place_of_the_button(store: Store) -> None:
    press(uploaded(("wmt.tsv", MQM.replace("A\tnews", "my system\tnews")), what="labels"), "Import")
    at = run("projects")
    at = next(s for s in at.selectbox if s.label == "Format").set_value("mtme-score").run()
    assert "t-metrics-eval files cannot store this name" in at.error[0].value.replace("\\", "")
    assert not at.get("download_button")
