"""Drafts: forms keep what was typed and chosen when their section or page is closed, and when the page is loaded again."""

from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from core.data import Dataset, Item, Output, Value
from core.ports.store import Store
from core.services.people import accounts
from pages._ui.shared import drafts
from tests.pages import team, test_calibrate, test_meta_evaluation, test_robustness, test_stress_tests
from tests.pages.opened_page import loaded_again, press, run
from tests.pages.said import words
from tests.pages.test_projects import uploaded
from tests.stores import put_scores

CASES = b"error,id,source,ref,r,hyp_para,hyp_adv_based,hyp_adv_free\nnum,1,,It is 5.,,It is 5!,Was it 99 then,\n"


def opened(project: int, section: str = "Break a metric") -> AppTest:
    at = run("robustness", project)
    return show(at, section) if section != "Break a metric" else at


def show(at: AppTest, section: str) -> AppTest:
    return at.segmented_control(key="robustness-section").set_value(section).run()


def visit(at: AppTest, page: str) -> AppTest:
    return at.switch_page(f"pages/{page}.py").run()


@pytest.fixture
def project(store: Store) -> int:
    return test_stress_tests.filled(store)


def test_a_form_outlives_another_section_of_its_page(project: int) -> None:
    at = opened(project, "Stress tests")
    at.multiselect(key="lab-tests-0").set_value(["truncation"]).run()
    at.number_input(key="lab-most").set_value(15).run()
    at.text_area(key="lab-injections").set_value("Answer: Yes.").run()
    for section in ("Combine", "Saved cases", "Stress tests"):
        show(at, section)
    assert at.multiselect(key="lab-tests-0").value == ["truncation"]
    assert at.number_input(key="lab-most").value == 15
    assert at.text_area(key="lab-injections").value == "Answer: Yes."
    at.button(key="lab-group-fluency").click().run()
    chosen = at.multiselect(key="lab-tests-1")
    assert chosen.value
    assert all("(fluency)" in option for option in chosen.indices and [chosen.options[i] for i in chosen.indices])
    chosen.set_value(["truncation"]).run()
    at.number_input(key="lab-seeds").set_value(2).run()
    assert at.multiselect(key="lab-tests-1").value == ["truncation"], "a group undoes a later choice"
    show(at, "Saved cases")
    assert show(at, "Stress tests").multiselect(key="lab-tests-1").value == ["truncation"]


def test_forms_of_robustness_outlive_another_page_and_a_reload(project: int) -> None:
    at = opened(project, "Stress tests")
    at.multiselect(key="lab-tests-0").set_value(["truncation"]).run()
    at.number_input(key="lab-attack-expected").set_value(3).run()
    show(at, "Adversarial suite")
    at.multiselect(key="suite-names").set_value(["negation"]).run()
    at.selectbox(key="suite-against").set_value("The source").run()
    show(at, "Break a metric")
    at.text_area(key="robustness-changed").set_value("typed").run()
    show(at, "Combine")
    at.multiselect(key="combine-names").set_value(["number"]).run()

    def check(at: AppTest) -> None:
        assert at.multiselect(key="combine-names").value == ["number"]
        show(at, "Break a metric")
        assert at.text_area(key="robustness-changed").value == "typed"
        show(at, "Stress tests")
        assert at.multiselect(key="lab-tests-0").value == ["truncation"]
        assert at.number_input(key="lab-attack-expected").value == 3
        show(at, "Adversarial suite")
        assert at.multiselect(key="suite-names").value == ["negation"]
        assert at.selectbox(key="suite-against").value == "The source"
        show(at, "Combine")

    visit(at, "models")
    check(visit(at, "robustness"))
    check(loaded_again(at, "robustness"))
    show(at, "Adversarial suite").multiselect(key="suite-metrics").set_value(["chrf"]).run()
    at.button(key="suite-run").click().run()
    assert "perturbations:negation" in words(at)
    assert "perturbations:negation" in words(loaded_again(at, "robustness")), "results end with the session"


def test_files_and_texts_are_kept_in_their_project(project: int, store: Store) -> None:
    at = opened(project, "Adversarial suite")
    at.selectbox(key=f"suite-origin-{project}").set_value("A file in MENLI’s format").run()
    at.file_uploader(key="suite-file-sent").set_value(("menli.csv", CASES, "text/csv")).run()
    show(at, "Saved cases")
    show(at, "Adversarial suite")
    assert not at.button(key="suite-run").disabled
    at = loaded_again(at, "robustness")
    assert any("menli.csv" in m.value.replace("\\", "") for m in at.markdown)
    assert not at.button(key="suite-run").disabled
    at.button(key="suite-file-remove").click().run()
    assert at.button(key="suite-run").disabled

    at = opened(project)
    at.text_area(key="robustness-changed").set_value("typed")
    visit(at, "models")
    assert visit(at, "robustness").text_area(key="robustness-changed").value == "typed"
    other = store.projects.create("other").id
    store.projects.add(other, Dataset(test_robustness.SEGMENTS, (Output("A", "d", "1", test_robustness.GOOD),)))
    at.query_params["project"] = str(other)
    again = loaded_again(at, "robustness")
    assert again.text_area(key="robustness-good").value == test_robustness.GOOD
    assert again.text_area(key="robustness-changed").value != "typed"


KINDS = {"key": "segment", "what": "source", "said": "output"}


def test_an_upload_outlives_reload_and_restart_for_its_account(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ann", "mia"):
        accounts.add(store, "test", name, team.PASSWORD, manager=True)
    team.log_in(store, monkeypatch, "ann")

    def named(at: AppTest, label: str) -> Any:
        fields = [*at.selectbox, *at.text_input, *at.radio]
        return next((f for f in fields if f.label == label), None)

    def kept_files() -> int:
        return len(list((tmp_path / "drafts").glob("*.file")))

    at = uploaded(("t.csv", "key,what,said\n1,Frage,answer one\n2,Frage 2,answer two\n"))
    named(at, "Each row is").set_value("long").run()
    for column, kind in KINDS.items():
        named(at, f"Role of column {column}").set_value(kind)
    at.run()
    named(at, "System that wrote these outputs").set_value("my system").run()
    named(at, "Name of the new project").set_value("kept").run()
    at.run()  # a later click: the server has written what the one before has sent

    def check(at: AppTest) -> None:
        assert [named(at, f"Role of column {column}").value for column in KINDS] == list(KINDS.values())
        assert named(at, "Name of the new project").value == "kept"
        assert "t.csv" in words(at)
        assert "at most 24 hours after your last visit" in words(at)
        assert any(b.label.startswith("Import 2 segments × 1 system into “kept”") for b in at.button)

    check(loaded_again(at, "projects"))
    st.cache_resource.clear()  # as a new server
    again = loaded_again(at, "projects")
    check(again)
    team.log_in(store, monkeypatch, "mia")
    other = loaded_again(at, "projects")
    assert named(other, "Role of column key") is None
    assert "Choose them again" in words(other)
    team.log_in(store, monkeypatch, "ann")

    del again.query_params["step"]  # Back
    assert not named(again.run(), "Role of column key")
    check(again.button(key="upload-next").click().run())
    del again.query_params["step"], again.query_params["upload"]
    again.run().button(key="begin-outputs").click().run()
    assert kept_files() == 1
    again.button(key="upload-next").click().run()
    check(again)
    press(again, "Import 2")
    assert {p.name: p.systems for p in store.projects.list()}["kept"] == ("my system",)
    assert not kept_files()
    result = loaded_again(again, "projects")
    assert "Imported into “kept”" in result.success[0].value
    assert any(b.label.startswith("Compute scores") for b in result.button)
    assert "Choose them again" in words(loaded_again(at, "projects"))

    at = uploaded(("scores.txt", "a\n"), at=result)
    assert kept_files() == 1
    press(at, "Discard")
    assert not kept_files()
    assert not at.file_uploader[0].value
    assert "step" not in at.query_params


def with_file(at: AppTest, cases: bytes = CASES) -> AppTest:
    at.selectbox(key=f"suite-origin-{at.query_params['project'][0]}").set_value("A file in MENLI’s format").run()
    at.file_uploader(key="suite-file-sent").set_value(("menli.csv", cases, "text/csv")).run()
    return at


def has_file(at: AppTest) -> bool:
    return not loaded_again(at, "robustness").button(key="suite-run").disabled


@pytest.mark.extended
def test_the_oldest_drafts_lose_their_files_first(project: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts, "UPLOADED", 2 * len(CASES))
    first, second = (with_file(opened(project, "Adversarial suite")) for _ in range(2))
    assert has_file(second)
    assert has_file(second), "copies of a draft share their files"
    assert has_file(first)
    third = with_file(opened(project, "Adversarial suite"))
    assert not has_file(second)  # the copy of the first is newer
    assert has_file(third)
    more = CASES.splitlines()[1].replace(b"num,1", b"num,2") + b"\n"
    large = with_file(opened(project, "Adversarial suite"), CASES + more)
    newest = with_file(opened(project, "Adversarial suite"))
    assert has_file(newest)
    assert not has_file(large)
    assert not has_file(third), "a small file outlives a newer large one"


@pytest.mark.usefixtures("few_resamples")
def test_forms_of_metrics_keep_what_was_chosen_by_hand(store: Store) -> None:
    project = test_meta_evaluation.filled(store)
    at = test_meta_evaluation.opened(project)
    at.run()

    def length(number: int, item: Item) -> Value:
        return Value(float(len(item.hypothesis)))

    chosen = f"evaluate-names-{project}"
    for metric, key in (("bleu", f"{chosen}-default-1"), ("rouge1", f"{chosen}-default-2")):
        put_scores(store, project, metric, length)
        assert metric in at.run().multiselect(key=key).value, "the page is open while scoring ends"
    assert "Of 4 metrics" in words(at)
    put_scores(store, project, "rouge2", length)
    at.multiselect(key=f"{chosen}-default-2").set_value(["ter", "chrf", "bleu"]).run()
    assert "1 more metric is scored." in words(at), "rouge1 was removed, rouge2 is new"
    assert "1 more metric is scored." in words(loaded_again(at, "meta_evaluation"))
    press(at, "Include it")
    assert at.multiselect(key=f"{chosen}-default-2").value == ["ter", "chrf", "bleu", "rouge2"]
    assert "more metric" not in words(at)
    visit(at, "models")
    assert "Of 4 metrics" in words(visit(at, "meta_evaluation"))

    project = test_meta_evaluation.filled(store)
    at = test_meta_evaluation.opened(project)
    at.multiselect(key=f"evaluate-names-{project}").set_value(["ter"]).run()
    at.selectbox(key=f"evaluate-group-{project}").set_value("segment").run()
    at.segmented_control(key="evaluate-section").set_value("Systems").run()

    def check(at: AppTest) -> None:
        assert at.multiselect(key=f"evaluate-names-{project}").value == ["ter"]
        assert at.selectbox(key=f"evaluate-group-{project}").value == "segment"
        assert at.segmented_control(key="evaluate-section").value == "Systems"

    visit(at, "models")
    check(visit(at, "meta_evaluation"))
    check(loaded_again(at, "meta_evaluation"))

    project = test_calibrate.filled(store)
    at = test_calibrate.opened(project)
    at.selectbox(key="lambda-measure").set_value("pearson").run()
    at.text_input(key=f"lambda-name-{project}").set_value("pilot").run()

    def check(at: AppTest) -> None:
        assert at.selectbox(key="lambda-measure").value == "pearson"
        assert at.text_input(key=f"lambda-name-{project}").value == "pilot"

    visit(at, "models")
    check(visit(at, "calibrate"))
    check(loaded_again(at, "calibrate"))
