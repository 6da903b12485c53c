"""The scoring panel's options: widgets from what a metric declares, an expression in the queue."""

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.data import Dataset, Output, Segment, Value
from core.metrics.registry import load_metric
from core.ports.store import Store
from core.signature import content_key
from tests.pages.metric_boxes import MetricBoxes
from tests.pages.test_shell import store
from tests.paths import APP

__all__ = ["store"]


@pytest.fixture
def project(store: Store) -> int:
    made = store.projects.create("p").id
    store.projects.add(made, Dataset((Segment("d", "1", "s", ("r",)),), (Output("A", "d", "1", "text"),)))
    return made


def opened(project: int, *metrics: str) -> AppTest:
    at = AppTest.from_file(APP, default_timeout=30)
    at.query_params["project"] = str(project)
    at.session_state[f"compare-scoring-{project}"] = True  # the box of the panel, once there are scores
    at.switch_page("pages/compare.py").run()
    MetricBoxes(at).set_value(metrics).run()
    assert not at.exception
    return at


def start(at: AppTest, store: Store, project: int) -> tuple[str, ...]:
    at.button(key=f"score-{project}").click().run()
    assert not at.exception
    return store.jobs.recent(project)[0].metrics


def test_changed_options_queue_an_expression_that_is_shown(store: Store, project: int) -> None:
    at = opened(project, "chrf", "bartscore++", "rouge1")
    key = f"option-{project}-"
    at.number_input(key=key + "bartscore++-k").set_value(5)
    at.number_input(key=key + "bartscore++-rounds").set_value(8)
    at.selectbox(key=key + "bartscore++-nt").set_value("probability")
    at.toggle(key=key + "rouge1-stem").set_value(True)
    at.run()
    assert at.code[0].value == '--metrics "chrf,rouge1|stem:yes,bartscore++|k:5|rounds:8|nt:probability"'
    assert start(at, store, project) == ("chrf", "rouge1|stem:yes", "bartscore++|k:5|rounds:8|nt:probability")
    assert start(opened(project, "chrf", "ter", "bartscore++"), store, project) == ("chrf", "ter", "bartscore++")

    at = opened(project, "smartL")
    key = f"option-{project}-smartL-"
    matcher = at.selectbox(key=key + "matcher")
    assert matcher.proto.accept_new_options
    matcher.set_value("rougeL")
    at.selectbox(key=key + "against").set_value("reference").run()
    assert start(at, store, project) == ("smartL|matcher:rougeL|against:reference",)

    at = opened(project, "bartscore++")
    key = f"option-{project}-bartscore++-"
    shown = {w.key for kind in (at.number_input, at.selectbox) for w in kind}
    assert {key + "overlap", key + "share"} <= shown
    assert key + "side" not in shown
    at.selectbox(key=key + "nt").set_value("off").run()
    assert not {key + "overlap", key + "share"} & {w.key for w in at.number_input}
    edits = at.pills(key=key + "edits")
    usual = edits.value
    edits.set_value([]).run()
    assert "some of insert, delete, substitute" in at.error[0].value
    at.button(key=f"score-{project}").click().run()
    assert "Correct the options" in at.info[-1].value
    at.pills(key=key + "edits").set_value(usual)
    at.text_area(key=key + "prompt-text-0").set_value("Such as").run()
    at.selectbox(key=key + "side").set_value("decoder").run()
    assert start(at, store, project) == ("bartscore++|nt:off|prompt:Such as|side:decoder",)


def test_phrases_are_written_or_filled_in_from_a_list(
    store: Store, project: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ERRORSCOPE_PROMPTS", "/no/such/file.json")
    at = opened(project, "bartscore")
    key = f"option-{project}-bartscore-prompt-"
    assert "cannot be read" in at.error[0].value
    at.text_area(key=key + "text-0").set_value("a, b | c\n\n").run()
    assert start(at, store, project) == ("bartscore|prompt:a%2C b %7C c",)

    path = tmp_path / "p.json"
    path.write_text(json.dumps({"short": ["In short", "In brief"]}), encoding="utf-8")
    monkeypatch.setenv("ERRORSCOPE_PROMPTS", str(path))
    at = opened(project, "bartscore")
    assert at.selectbox(key=key + "list").options == ["mt (1)", "short (2)"]
    at.selectbox(key=key + "list").set_value("short").run()
    assert at.text_area(key=key + "text-0").value == ""
    at.button(key=key + "list-insert").click().run()
    assert at.text_area(key=key + "text-1").value == "In short\nIn brief"
    assert start(at, store, project) == ("bartscore|prompt:In short;In brief",)


def test_the_panel_lists_variants_and_fits_missing_sources(store: Store, project: int) -> None:
    [(_, item)] = store.projects.dataset(project).items()
    metric = load_metric("chrf|beta:3")
    store.scores.put(metric.spec.name, metric.signature(), {content_key(*item): Value(1.0)}, 1.0)
    store.scores.put("chrf|gone:1", "chrf|v:0|gone:1", {content_key(*item): Value(1.0)}, 1.0)
    store.scores.put("bartscore|prompt:#9-12345678", "bartscore|v:1|x:1", {content_key(*item): Value(-1.0)}, 1.0)
    labels = MetricBoxes(opened(project, "chrf")).labels
    assert list(labels)[:3] == ["chrf", "chrf|beta:3", "bleu"]
    assert "1 of 1 scored" in labels["chrf|beta:3"]
    assert labels["chrf"].endswith("the best one counts. Uses: reference.]")
    variant = next(text for text in labels.values() if "BARTScore F (9 prompts 12345678)" in text)
    assert "1 of 1 scored" in variant
    assert "ERRORSCOPE_PROMPTS" in variant
    assert "gone" not in " ".join(labels)

    made = store.projects.create("no source").id
    store.projects.add(made, Dataset((Segment("d", "1", None, ("r",)),), (Output("A", "d", "1", "text"),)))
    assert start(opened(made, "smart1", "chrf"), store, made) == ("chrf", "smart1|against:reference")
