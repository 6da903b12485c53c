"""Judges on Models, and in the panel that starts scoring."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.judges.endpoints import Endpoint
from core.ports.store import Store
from tests.builders import small_dataset
from tests.judge_server import judge_server
from tests.pages.metric_boxes import MetricBoxes
from tests.pages.opened_page import run
from tests.pages.said import words


def test_models_says_of_each_judge_whether_it_is_ready_and_where_texts_go(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "not configured" in words(run("models"))
    with judge_server() as server:
        judges = {
            "gone": {"address": "http://127.0.0.1:1/v1", "model": "m"},
            "far": {"address": "https://judge.example/v1", "model": "<b>big</b>"},
        }
        (tmp_path / "judges.json").write_text(json.dumps({"judges": judges}), encoding="utf-8")
        monkeypatch.setenv("ERRORSCOPE_JUDGE", server.setting)
        monkeypatch.setenv("ERRORSCOPE_JUDGES", str(tmp_path / "judges.json"))
        monkeypatch.setenv("ERRORSCOPE_JUDGE_KEY", "sk-SECRET")
        at = run("models")
    said = words(at)
    assert f":green-badge[ready] m · default · 127.0.0.1:{server.port} · texts stay on this machine" in said
    assert "obeys JSON schemas; gives no token probabilities" in said
    assert ":orange-badge[not ready] m · gone" in said
    assert "cannot be reached (no server answers at this address)" in said
    assert ":orange-badge[not allowed] <b>big</b> · far · judge.example" in said
    assert "ERRORSCOPE_JUDGE_HOSTS=judge.example" in [code.value for code in at.code]
    assert "sk-SECRET" not in said


def test_the_panel_says_what_a_judge_takes_and_asks_nothing_before_it_starts(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = store.projects.create("p").id
    store.projects.add(project, small_dataset(6, ["A", "B"]))
    with judge_server() as server:
        monkeypatch.setenv("ERRORSCOPE_JUDGE", server.setting.replace("127.0.0.1", "localhost"))
        at = MetricBoxes(run("compare", project)).set_value(["judge-esa"]).run()
        assert "Judge ESA: 24 calls, about" in words(at)
        assert "The texts stay on this machine." in words(at)
        assert server.requests == 0
        assert [job for job in store.jobs.recent(project) if "judge-esa" in job.metrics] == []
        monkeypatch.setenv("ERRORSCOPE_JUDGE_HOSTS", "127.0.0.1")
        monkeypatch.setenv("ERRORSCOPE_JUDGE", server.setting)
        monkeypatch.setattr(Endpoint, "is_local", False)  # as on another machine, which a test cannot have
        at = MetricBoxes(run("compare", project)).set_value(["judge-esa"]).run()
        assert "Judge ESA: the texts of this project are sent to 127.0.0.1." in words(at)
