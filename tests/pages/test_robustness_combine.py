"""Combine: the best weight in a sentence, any weight by a slider, figures, strategies, ranges, and what is lacking in plain words."""

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.data import Dataset, HumanScore, Output, Segment
from core.metrics import registry
from core.metrics.entailment.nli import STRATEGIES
from core.ports.store import Store
from core.services.robustness import nli_weights
from tests import tiny_checkpoints as tiny
from tests.pages.opened_page import new_project, run
from tests.pages.said import words

THINGS = ("cat", "red dog", "house", "blue mat")
SEGMENTS = tuple(
    Segment(f"d{i % 2}", str(i), None, (f"The {t} was not on {i} mats.", f"On {i} mats there was no {t}."))
    for i, t in enumerate(THINGS * 3, 2)
)
CASES = (
    b"error,id,source,ref,r,hyp_para,hyp_adv_based,hyp_adv_free\n"
    b"num,1,,The cat sat on 5 mats.,,On five mats the cat sat.,The cat sat on 9 mats.,\n"
    b"neg,2,,The dog ran.,,A dog was running.,The dog did not run.,\n"
    b"add,3,,The house is blue.,,It is a blue house.,The house and mat is blue.,\n"
)


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in tiny.environment().items():
        monkeypatch.setenv(name, value)


def filled(store: Store, *, people: bool = True, references: bool = True) -> int:
    project = new_project(store)
    segments = SEGMENTS if references else tuple(Segment(s.doc_id, s.segment_id, "x") for s in SEGMENTS)
    outputs, human = [], []
    for s in SEGMENTS:
        for k, (system, text) in enumerate([("A", s.references[0].replace("was", "is")), ("B", s.references[0][:14])]):
            outputs.append(Output(system, s.doc_id, s.segment_id, text))
            human.append(HumanScore(system, s.doc_id, s.segment_id, "adequacy", float(k * 2 + int(s.segment_id) % 3)))
    store.projects.add(project, Dataset(segments, tuple(outputs), tuple(human) if people else ()))
    return project


def opened(project: int) -> AppTest:
    return run("robustness", project, {"robustness-section": "Combine"})


def pressed(project: int, others: list[str], file: bytes | None = None) -> AppTest:
    at = opened(project)
    at.multiselect(key=f"combine-others-{project}").set_value(others).run()
    at.multiselect(key="combine-names").set_value(["negation", "number"]).run()
    if file is not None:
        at.get("file_uploader")[0].set_value([("nli_weights.csv", file, "text/csv")]).run()
    return at.button(key="combine-run").click().run()


def section(at: AppTest, name: str) -> AppTest:
    return at.segmented_control(key="combine-section").set_value(name).run()


def test_the_best_weight_comes_first_and_a_slider_moves_it(store: Store) -> None:
    project = filled(store)
    at = pressed(project, ["chrf"])
    assert not at.exception
    assert {s.metric: s.n for s in store.scores.signatures(project)} == {"chrf": 24, "nli": 24}
    said = words(at)
    assert re.search(
        r"w = [.\d]+ \[[.\d]+, [.\d]+\] agrees best with the human score “adequacy” on 24 outputs: τ = ", said
    )
    assert re.search(r"chrF alone [−.\d]+; NLI alone [−.\d]+; on segments left out [−.\d]+\.", said)
    assert re.search(r"With this w, accuracy on the 24 adversarial cases: \d+ %, against 0 % for chrF alone", said)
    assert "NLI 0 … 1 (declared by the metric) · chrF 0 … 100 (declared by the metric)" in said

    key, best = f"combine-w-{project}-nli-chrf", re.compile(r"w = ([.\d]+)")
    first = at.slider(key=key).value
    assert first == pytest.approx(float(best.findall(said)[0]))
    at.toggle(key=f"lambda-higher-{project}").set_value(False).run()
    second = float(best.findall(words(at))[0])
    assert second != first
    assert at.slider(key=key).value == pytest.approx(second), "a slider that nobody moved follows the best weight"
    at.slider(key=key).set_value(0.43).run()
    at.toggle(key=f"lambda-higher-{project}").set_value(True).run()
    assert at.slider(key=key).value == 0.43
    section(section(at, "Ranges"), "One metric")
    assert at.slider(key=key).value == 0.43, "a slider that was moved stays"

    at.slider(key=key).set_value(0.0).run()
    assert at.code[0].value == "menli|with:chrf|w:0"
    values = {m.label: (m.value, m.delta) for m in at.metric}
    assert values["Adversarial accuracy"] == ("0 %", "+0 points against chrF alone")
    at.slider(key=key).set_value(0.4).run()
    assert at.code[0].value == "menli|with:chrf|w:0.4"
    assert '--metrics "menli|with:chrf|w:0.4"' in at.code[1].value
    at.button(key="combine-use").click().run()
    assert not at.exception
    (job,) = store.jobs.recent(project)
    assert job.metrics == ("menli|with:chrf|w:0.4",)
    assert "Scoring is running" in words(at)


def test_all_metrics_are_figures_with_or_without_human_scores(store: Store) -> None:
    at = section(pressed(filled(store), ["chrf", "ter"]), "All metrics")
    assert not at.exception
    assert "Chen and Eger 2023, Figure 2" in words(at)
    assert "Figure 3" in words(at)
    assert "Left out, because their value alone is 0 or undefined: chrF (adversarial accuracy)" in words(at)
    shown = at.dataframe[0].value
    assert len(shown) == 22
    ends = shown[shown["w"] == 1.0]
    assert (
        ends["Kendall τ-b"].nunique() == ends["adversarial accuracy"].nunique() == 1
    )  # all paths end at the NLI metric
    at = section(at, "Ranges")
    rows = [[str(c).replace("\\", "") for c in r] for r in at.table[0].value.to_numpy().tolist()]
    assert rows[0][:4] == ["NLI", "0", "1", "declared by the metric"]
    assert rows[2][0] == "TER"
    assert float(rows[2][1]) > float(rows[2][2])  # an error rate: 0 stands for the most errors
    assert "fitted on the sample project" in rows[2]

    at = pressed(filled(store, people=False), ["chrf"])
    assert not at.exception
    said = words(at)
    assert "This project has no human scores yet." in said
    assert re.search(r"Adversarial accuracy on 24 cases: NLI \d+ %, chrF 0 %", said)
    assert "Mean over kinds of error, equally weighted." in said
    assert "The best weight cannot be computed: there are no human scores." in said
    at = section(at, "Pooling strategies")
    assert not at.exception
    assert "is best on cases of this project" in words(at)
    assert "With one dataset" in words(at)


@pytest.mark.extended
def test_each_dataset_is_tried_under_the_choice_of_the_others(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    at, done = pressed(filled(store), ["chrf"], CASES), list[str]()
    for name in ("path", "grid"):
        real = getattr(nli_weights, name)
        monkeypatch.setattr(nli_weights, name, lambda *a, real=real, name=name, **k: done.append(name) or real(*a, **k))
    section(at, "All metrics")
    section(at, "Pooling strategies")
    assert not at.exception
    assert "is best on nli_weights.csv" in words(at)
    (shown,) = at.table
    rows = shown.value.to_numpy().tolist()
    assert [str(r[0]).replace("\\", "") for r in rows] == [
        "outputs of this project, the human score “adequacy”", "cases of this project", "nli_weights.csv"
    ]  # fmt: skip
    assert len(STRATEGIES) == 15
    computed = sorted(done)
    assert computed == ["grid", "grid", "grid", "path"]  # people, the cases of the project, those of the file
    at.run()
    section(at, "All metrics")
    assert sorted(done) == computed, "figures and strategies are computed twice"


def test_a_metric_without_a_range_is_left_out_until_it_is_fitted(store: Store) -> None:
    project = filled(store)
    at = pressed(project, ["bartscore", "chrf"])
    assert not at.exception
    assert "**BARTScore F** is left out: its values are unbounded and it has no stored range" in words(at)
    assert any("errorscope ranges s.csv" in c.value for c in at.code)
    assert f"combine-w-{project}-nli-chrf" in [s.key for s in at.slider]
    at.button(key="combine-fit-bartscore").click().run()
    assert not at.exception
    assert "is left out" not in words(at)
    assert registry.load_metric("menli|with:bartscore").signature()


def test_cases_come_from_a_file_unless_it_cannot_be_read(store: Store) -> None:
    project = filled(store, references=False)
    at = opened(project)
    assert "adversarial cases need a file" in words(at)
    at = pressed(project, ["chrf"], CASES)
    assert not at.exception
    assert "Adversarial accuracy on 3 cases" in words(at)

    at = pressed(filled(store), ["chrf"], b"a,b\n1,2\n")
    assert not at.exception
    assert at.error
    assert "agrees best with the human score" in words(at)


def test_what_is_missing_to_combine_metrics_is_named(
    store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    at = opened(store.projects.create("empty").id)
    assert at.button(key="combine-run").disabled
    assert "Nothing to compute yet" in words(at)
    monkeypatch.setenv("ERRORSCOPE_NLI", "xnli-d")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    at = opened(filled(store))
    assert "XNLI-D is configured as an entailment model, but it is not on this machine" in words(at)
    assert any(c.value.startswith("hf download MoritzLaurer/") for c in at.code)


@pytest.mark.extended
def test_the_same_cases_twice_are_one_dataset_and_count_once(store: Store) -> None:
    at = opened(project := filled(store, people=False))
    at.multiselect(key=f"combine-others-{project}").set_value(["chrf"]).run()
    at.selectbox(key=f"combine-origin-{project}").set_value("None from this project").run()
    at.get("file_uploader")[0].set_value([("a.csv", CASES, "text/csv"), ("b.csv", CASES, "text/csv")]).run()
    at.button(key="combine-run").click().run()
    assert not at.exception
    assert "b.csv has the same cases as a.csv; they count once" in words(at)
    assert "Adversarial accuracy on 3 cases" in words(at)
    assert "With one dataset" in words(section(at, "Pooling strategies"))


@pytest.mark.extended
def test_a_file_of_own_texts_does_not_choose_for_the_project(store: Store) -> None:
    ref = SEGMENTS[0].references[0]
    mine = CASES.replace(b"The dog ran.,,", f"{ref},,".encode())
    at = pressed(filled(store), ["chrf"], mine)
    assert "nli_weights.csv shares texts with this project" in words(at)
    assert "With one dataset" in words(section(at, "Pooling strategies"))


@pytest.mark.extended
def test_cases_without_scores_are_not_called_unchosen(store: Store) -> None:
    project = filled(store)
    at = opened(project)
    at.multiselect(key=f"combine-others-{project}").set_value(["chrf"]).run()
    at.multiselect(key="combine-names").set_value(["pronoun"]).run()
    at = at.button(key="combine-run").click().run()
    assert "cases of this project: no case could be made" in words(at)
    at.selectbox(key=f"combine-nli-{project}").set_value("nli-src").run()
    at.multiselect(key="combine-names").set_value(["negation"]).run()
    at = at.button(key="combine-run").click().run()
    assert not at.exception
    said = words(at)
    assert re.search(r"None of the \d+ adversarial cases has both scores", said)
    assert "fewer than 2 outputs with a human score have both scores" in said
    assert "0 cases" not in said


@pytest.mark.extended
def test_one_judged_output_is_not_called_none(store: Store) -> None:
    project = store.projects.create("p").id
    one = HumanScore("A", "d2", "2", "adequacy", 1.0)
    segment = Segment("d2", "2", None, ("The cat.",))
    store.projects.add(project, Dataset((segment,), (Output("A", "d2", "2", "A cat."),), (one,)))
    at = opened(project)
    at.multiselect(key=f"combine-others-{project}").set_value(["chrf"]).run()
    at.selectbox(key=f"combine-origin-{project}").set_value("None from this project").run()
    at = at.button(key="combine-run").click().run()
    assert not at.exception
    assert "Only one output has a human score" in words(at)
