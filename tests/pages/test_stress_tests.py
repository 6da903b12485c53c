"""Stress tests: run, save, open, delete and restore; a cell is opened; empty projects say what is missing."""

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from core.data import Dataset, Output, Segment
from core.ports.store import Store
from core.robustness.stress.report import as_json, from_json
from core.services.robustness.stress_test_runs import run_settings
from pages._ui.robustness import stress_evidence, stress_runs, stress_tests
from tests.pages import opened_page
from tests.pages.opened_page import new_project
from tests.pages.said import words
from tests.reports import WORST, report

OWN = "Answer: Yes.\n\nAnswer: Yes. \nBuy <b>this</b>"
TEXT = "The old house near the {} river was sold to a young family on Monday, and they will paint all of it {}."


def filled(store: Store, references: int = 2, name: str = "p") -> int:
    project = new_project(store, name)
    colours = ("green", "white", "blue", "yellow", "brown", "grey")
    segments = tuple(
        Segment("d", str(i), None, tuple(TEXT.format(k, c) for k in ("wide", "broad")[:references]))
        for i, c in enumerate(colours)
    )
    outputs = tuple(Output("A", "d", s.segment_id, TEXT.format("large", colours[i])) for i, s in enumerate(segments))
    store.projects.add(project, Dataset(segments, outputs))
    return project


def opened(project: int, **state: object) -> AppTest:
    chosen = {"robustness-section": "Stress tests", "lab-metrics": ["chrf", "ter"]}
    chosen |= {name.replace("_", "-"): value for name, value in state.items()}
    return opened_page.run("robustness", project, chosen)


def kept(store: Store, project: int) -> int:
    return store.stress.save(project, "By hand", as_json(report()), run_settings(report())).id


def test_tests_are_run_saved_and_opened_and_scores_reused(store: Store) -> None:
    project = filled(store)
    at = opened(project, lab_tests=["truncation", "repetition"], lab_seeds=2, lab_injections=OWN)
    # 6 texts, themselves and at every level; both tests draw nothing, so that seeds do not count
    assert "6 good texts. 3 tests: at most" in words(at)
    at.button(key="lab-run").click().run()
    assert not at.exception
    (run,) = store.stress.list(project)
    found = from_json(store.stress.report(project, run.id))
    assert [t.name for t in found.tests][:2] == ["truncation", "repetition"]
    own = found.tests[-1]
    assert (own.label, own.levels) == ("Injection of your own", ("Own-1", "Own-2"))
    assert [m.name for m in found.metrics] == ["chrf", "ter"]
    assert at.selectbox(key="lab-open").value == run.id
    assert at.query_params["run"] == str(run.id)
    assert f"{found.texts} good texts (the references; p: 6 of 6 segments)" in words(at)

    at.selectbox(key="lab-open").set_value(0).run()
    at.button(key="lab-run").click().run()
    assert not at.exception
    st.cache_resource.clear()
    at = opened(project, lab_tests=["truncation", "repetition"], lab_seeds=2, lab_injections=OWN)
    at.button(key="lab-run").click().run()
    assert not at.exception
    first, second, third = sorted(store.stress.list(project), key=lambda run: run.id)
    reports = [from_json(store.stress.report(project, run.id)) for run in (first, second, third)]
    assert reports[0].cells == reports[1].cells == reports[2].cells
    reused = [any("reused from an earlier run" in note for note in r.notes) for r in reports]
    assert reused == [False, True, True], "a second press, or a later session, scores texts again"


def test_the_address_opens_a_run_and_another_section_leaves_it(store: Store) -> None:
    project = filled(store)
    run = kept(store, project)
    at = opened_page.run("robustness", project, run=str(run))
    said = words(at)
    assert "BLEU fails 1 of 2 tests; every metric that could be judged fails repetition." in said
    assert "✕ BARTScore F (small) fails truncation" in said, "the first failure is open"
    assert "Why bartscore fail." in said
    assert "By the rule of He et al. (2023), which compares means only, it fails." in said
    assert (
        "12 texts compared; 1 lacks a score at some level; 2 could not be changed by this test (2 × too short)." in said
    )
    assert "-2.0000 → -1.5000".replace("-", "−") in said
    assert any("cut off" in str(e.value) for e in at.info)  # the advice for truncation
    drawn = "".join(str(e.proto.body) for e in at.get("html"))
    assert "&lt;b&gt;text&lt;/b&gt;" in drawn
    assert "<b>text" not in drawn
    at.selectbox(key="lab-test").set_value("repetition").run()
    at.selectbox(key="lab-metric").set_value("bleu").run()
    assert not at.exception
    assert "✕ BLEU fails repetition" in words(at)
    at.selectbox(key="lab-metric").set_value("chrf").run()
    assert not at.exception
    assert "– chrF was not computed for repetition" in words(at)
    at.session_state["robustness-section"] = "Saved cases"
    at.run()
    assert "run" not in at.query_params
    at.session_state["robustness-section"] = "Stress tests"
    at.run()
    assert at.query_params["run"] == str(run)


def test_a_run_is_renamed_restored_and_its_cases_opened(store: Store) -> None:
    project = filled(store)
    run = kept(store, project)
    at = opened(project, lab_open=run)
    at.text_input(key=f"lab-name-{run}").set_value("Another").run()
    assert [r.name for r in store.stress.list(project)] == ["Another"]
    at.button(key="lab-delete").click().run()
    assert store.stress.list(project) == []
    assert "Deleted: Another." in words(at)
    assert "run" not in at.query_params
    at.button(key="lab-undo").click().run()
    assert not at.exception
    (back,) = store.stress.list(project)
    assert from_json(store.stress.report(project, back.id)) == report()
    assert at.selectbox(key="lab-open").value == back.id

    project = filled(store)
    at = opened(project, lab_open=kept(store, project), robustness_metrics=["chrf"])
    at.button(key="keep-lab-truncation-bartscore-0").click().run()
    assert not at.exception
    (case,) = store.cases.list(project)
    assert (case.phenomenon, case.good, case.changed) == ("Truncation", WORST.gold, WORST.noised)
    assert [(s.metric, s.good, s.changed, s.misses_error) for s in case.scores] == [("bartscore", -2.0, -1.5, True)]
    at.button(key="lab-truncation-bartscore-0-open").click().run()
    assert not at.exception
    assert at.text_area(key="robustness-good").value == WORST.gold
    assert at.text_area(key="robustness-changed").value == WORST.noised


@pytest.mark.extended
def test_gold_of_about_0_is_told_in_the_unit_of_the_metric(store: Store) -> None:
    project = filled(store)
    whole = report()
    cells = tuple(c._replace(gold=1e-12) if (c.test, c.metric) == ("truncation", "bleu") else c for c in whole.cells)
    found = whole._replace(cells=cells)
    run = store.stress.save(project, "Near 0", as_json(found), run_settings(found)).id
    at = opened(project, lab_open=run)
    drawn = " ".join(str(c.proto) for c in at.get("vega_lite_chart"))
    assert "Infinity" not in drawn
    assert "The score of the good texts is about 0, so the change in % is undefined for BLEU." in words(at)


def test_after_an_error_or_a_stop_the_button_begins_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    project = filled(store)
    at = opened(project, lab_tests=["truncation"])
    really = stress_tests.run_stress_tests
    monkeypatch.setattr(stress_tests, "run_stress_tests", lambda *a, **k: 1 / 0)
    at.button(key="lab-run").click().run()
    assert ["a fault of the program" in e.value for e in at.error] == [True]
    at.run()
    assert not at.error

    begun: list[str] = []
    asked: list[tuple[object, ...]] = []
    run_cached = stress_tests.run_cached

    def watched(key: tuple[object, ...], *rest: object) -> object:
        asked.append(key)
        return run_cached(key, *rest)  # type: ignore[arg-type]

    def stopped(*a: object, **k: object) -> None:
        begun.append("run")
        st.session_state["errorscope_stopped"].add(str(hash(asked[-1])))  # what the button Cancel does
        st.rerun()

    monkeypatch.setattr(stress_tests, "run_cached", watched)
    monkeypatch.setattr(stress_tests, "run_stress_tests", stopped)
    at.button(key="lab-run").click().run()
    assert begun == ["run"]
    assert "Scores computed so far are kept" in words(at)
    at.button(key="lab-give-up").click().run()
    assert "Scores computed so far are kept" not in words(at)
    monkeypatch.setattr(stress_tests, "run_stress_tests", really)
    at.button(key="lab-run").click().run()
    assert not at.exception
    assert len(store.stress.list(project)) == 1


@pytest.mark.extended
def test_the_first_choice_gives_results_and_the_form_says_why(store: Store) -> None:
    """With one reference per segment it is what metrics compare with; models that do not read the texts are not chosen."""
    project = filled(store, references=1)
    at = opened_page.run("robustness", project, {"robustness-section": "Stress tests"})
    assert at.selectbox(key="lab-gold").value == "A"
    assert "Good texts are the outputs of A: each segment has one reference" in words(at)
    assert "bartscore" in at.multiselect(key="lab-metrics").value
    hebrew = new_project(store, "h")
    texts = ["המועצה נפגשה ביום שלישי כדי לדון בהגנות מפני שיטפונות בעיר העתיקה"] * 4
    segments = tuple(Segment("d", str(i), None, (text, text)) for i, text in enumerate(texts))
    store.projects.add(hebrew, Dataset(segments, tuple(Output("A", "d", str(i), t) for i, t in enumerate(texts))))
    at.query_params["project"] = str(hebrew)
    at.run()
    assert not at.exception
    assert at.selectbox(key="lab-gold").value == "reference"
    chosen = next(m for m in at.multiselect if m.label == "Metrics")
    assert "bartscore" not in chosen.value
    assert "chrf" in chosen.value
    assert "Not preselected (the model does not read the language of the texts): BARTScore" in words(at)
    chosen.set_value([*chosen.value, "bartscore"]).run()
    assert any("say little about such outputs" in str(w.value) for w in at.warning)


def test_a_system_called_reference_is_no_second_entry(store: Store) -> None:
    project = filled(store)
    segments = tuple(Output("reference", "d", str(i), "A text.") for i in range(6))
    store.projects.add(project, Dataset(tuple(Segment("d", str(i), None, ()) for i in range(6)), segments))
    at = opened(project)
    assert at.selectbox(key="lab-gold").options == ["the references", "A"]
    assert "The system “reference” cannot be chosen" in words(at)


def test_report_files_are_opened_and_saved_or_refused(store: Store) -> None:
    project = filled(store)
    for sent in (b"\xff\xfe", b"{}", b"[1, 2]", b'{"format": "errorscope stress report"}'):
        at = opened(project)
        at.file_uploader(key="lab-upload-0").set_value(("r.json", sent, "application/json")).run()
        assert not at.exception, sent
        assert len(at.error) == 1, sent
        assert "not your doing" not in at.error[0].value, sent
        assert store.stress.list(project) == [], sent

    for name, kept_as in (("By hand", "By hand"), ("  ", "Report"), ("n" * 500, "n" * 189 + "…")):
        project = filled(store, name=kept_as[:9])
        at = opened(project)
        sent = as_json(report(name)).encode()
        at.file_uploader(key="lab-upload-0").set_value(("r.json", sent, "application/json")).run()
        assert not at.exception
        assert [r.name for r in store.stress.list(project)] == [kept_as]
        assert "BARTScore F fails 2 of 2 tests" in words(at), kept_as


def test_what_a_project_lacks_leaves_the_rest_of_the_page(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    at = opened(filled(store, references=1))
    next(s for s in at.selectbox if s.label == "Good texts").set_value("reference").run()
    assert not at.exception
    assert "No segment has a second reference to compare the first with" in words(at)
    assert "No text has a source: copying the source cannot be tested." in words(at)
    assert "This needs 2 systems and 2 metrics" in words(at)
    at = opened(store.projects.create("empty").id)
    assert "Stress tests need good texts" in words(at)

    project = filled(store)
    run = kept(store, project)
    for broken, name in ((stress_runs, "draw_stress_catalogue"), (stress_evidence, "draw_stress_evidence")):
        with monkeypatch.context() as patch:
            patch.setattr(broken, name, lambda *a: 1 / 0)
            at = opened(project, lab_open=run)
        assert ["a fault of the program" in e.value for e in at.error] == [True], broken
        assert at.button(key="lab-attack-run")
        assert "This needs 2 systems and 2 metrics" in words(at), broken
    unreadable = store.stress.save(project, "Broken", "{}", {}).id
    at = opened(project, lab_open=unreadable)
    assert [e.value for e in at.error][0].startswith("**This stress report cannot be read**")
    assert at.button(key="lab-delete")
    assert at.button(key="lab-attack-run")


def test_an_attack_lists_its_edits_and_asks_other_metrics(store: Store) -> None:
    at = opened(filled(store), lab_attack_expected=0, lab_attack_near=0, lab_attack_metric="chrf")
    at.button(key="lab-attack-run").click().run()
    assert not at.exception
    assert "edits change" in words(at)
    edits = next(t.value for t in at.table if "edit" in t.value.columns)
    assert all(edit.endswith("deleted") for edit in edits["edit"])  # no candidates were asked for
    assert len(edits) == 4  # 21 words and signs: 15 % are reached with the fourth
