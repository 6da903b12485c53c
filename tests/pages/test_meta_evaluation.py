"""Meta-evaluation: what it says before there is anything to compare, what it finds, and what is behind it."""

import re
from functools import partial

import pytest

from core.data import Dataset, HumanScore, Output, OutputKey, Segment, SegmentKey, Value
from core.metrics import registry
from core.ports.labels import Action
from core.reports.evaluation import sentence
from core.services.calibrate.calibration import from_rated, from_score
from core.services.evaluate.evaluate import AgreementOptions, Evaluation, evaluate
from core.services.evaluate.evaluation_data import from_view
from core.services.projects import sample
from pages._ui.meta_evaluation import evaluation_data
from tests import views
from tests.labels import submitted
from tests.pages import opened_page
from tests.pages.opened_page import new_project
from tests.pages.said import words
from tests.stores import put_scores

SYSTEMS, N = ("A", "B", "refA"), 12
opened = partial(opened_page.opened, "meta_evaluation")


def filled(store, *, human: bool = True, scored: bool = True, name: str = "p") -> int:
    """Two systems and a human reference; TER falls as the human score rises, chrF is noise."""
    project = store.projects.get(new_project(store, name))
    segments = tuple(Segment("d", str(i), f"source {i}", ("a reference",)) for i in range(N))
    outputs = tuple(Output(s, "d", str(i), f"words of {s} {i}") for i in range(N) for s in SYSTEMS)
    rated = tuple(HumanScore(o.system, "d", o.segment_id, "da", float(7 * i % 23)) for i, o in enumerate(outputs))
    store.projects.add(project.id, Dataset(segments, outputs, rated if human else ()))
    for metric in ("ter", "chrf") if scored else ():
        values = [float(100 - 7 * i % 23) if metric == "ter" else float(11 * i % 17) for i in range(len(outputs))]
        put_scores(store, project.id, metric, {o.key: Value(v) for o, v in zip(outputs, values, strict=True)})
    return int(project.id)


def view_of(store, project_id: int):
    scored = tuple(store.scores.signatures(project_id))
    tables = {s.signature: dict(store.scores.column(project_id, s.signature)) for s in scored}
    return views.view_of(store.projects.dataset(project_id), scored, tables, registry.specs())


def test_a_project_without_data_leads_to_where_it_comes_from(store) -> None:
    at = opened(store.projects.create("empty").id)
    assert "This project has no outputs yet" in words(at)
    at = opened(filled(store, scored=False))
    assert "No metric has been computed" in words(at)
    project_id = filled(store, name="unlabelled", human=False)
    label(store, project_id, "0", submit=False)
    at = opened(project_id)
    assert "This project has no human scores yet." in words(at), "labels that are not submitted do not count"
    assert "Import human scores on Projects" in [link.proto.label for link in at.get("page_link")]

    project_id = filled(store)
    key = f"lambda-people-{project_id}"
    label(store, project_id, "0")
    label(store, project_id, "2", submit=False)
    at = opened(project_id)
    assert at.selectbox(key=key).value[1] == "da"
    assert at.selectbox(key=key).options == ["da", "MQM labels"]
    label(store, project_id, "1")
    assert opened(project_id).selectbox(key=key).value[0] == "MQM labels"


def label(store, project_id: int, segment: str, *, submit: bool = True) -> None:
    """Label every output of a segment as without errors."""
    done = [Action(f"{segment}-{s}", "verdict", s, {"value": "no_error"}) for s in SYSTEMS]
    done += [Action(f"{segment}-submit", "submit", None, {})] if submit else []
    store.labels.append(project_id, "Ann", SegmentKey("d", segment), done)


def test_the_result_is_one_sentence_without_human_references(store) -> None:
    project_id = filled(store)
    at = opened(project_id)
    people = from_score(store.projects.human_score(project_id, "da").finite(), "da", higher_is_better=True)
    found = evaluate(from_view(view_of(store, project_id), people, excluded=["refA"]), AgreementOptions())
    said = words(at)
    assert sentence(found, "kendall") in said
    assert "Of 2 metrics, TER agrees best with the human score “da” on 24 outputs: τ-b 1.000" in said
    assert "without refA" in said
    table = at.dataframe[0].value
    assert table["metric"].tolist()[:3] == ["TER", "chrF", "Baselines (do not measure quality)"]
    assert set(table.iloc[2, 1:]) == {""}
    last = table["metric"].tolist()[-1]
    assert last in ("Copying the source", "No repetition")  # undefined: no output has four words
    assert "all metric scores are equal" in said
    assert "Kendall τ-b: Rank correlation" in said
    assert "acc_eq: Pairwise accuracy with tie calibration (Deutsch et al. 2023)" in said
    at.selectbox(key="evaluate-level").set_value("system").run()
    assert "acc_eq" not in words(at)
    at.selectbox(key="evaluate-statistic-system").set_value("soft_pairwise").run()
    assert not at.exception
    at.button_group(key="evaluate-section").set_value("Differences between metrics").run()
    assert "[" not in at.dataframe[0].value["soft pairwise accuracy"].iloc[0]
    next(b for b in at.button if b.label == "Compute 95 % CIs").click().run()
    assert not at.exception
    assert "[" in at.dataframe[0].value["soft pairwise accuracy"].iloc[0]


def test_all_human_scores_are_compared_in_one_table(store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation_data, "FEW", 5)  # data of 24 outputs count as large
    project_id = filled(store)
    dataset = store.projects.dataset(project_id)
    other = tuple(h._replace(name="fluency", value=-h.value) for h in dataset.human_scores)
    assert "All human scores" not in opened(project_id).button_group(key="evaluate-section").options
    store.projects.add(project_id, Dataset(dataset.segments, dataset.outputs, other))
    at = opened(project_id)
    at.button_group(key="evaluate-section").set_value("All human scores").run()
    assert not at.exception
    table = at.dataframe[1].value.set_index("metric")
    assert table.columns.tolist() == ["da", "fluency"]
    assert table.loc["TER"].tolist() == ["1.000", "−1.000"]
    assert "Outputs compared: da 24; fluency 24." in words(at)
    labels = {button.label for button in at.get("download_button")}
    assert labels >= {"All human scores as CSV", "All human scores as LaTeX"}
    at.multiselect(key=f"evaluate-every-lower-{project_id}").set_value(["fluency"]).run()
    assert at.dataframe[1].value.set_index("metric").loc["TER"].tolist() == ["1.000", "1.000"]
    kept = [found for found in at.session_state["evaluate_kept"].values() if isinstance(found, Evaluation)]
    assert kept
    assert [len(found.joined.keys) for found in kept] == [0] * len(kept), "a session keeps the data of outputs"
    assert all(found.rows for found in kept)


def test_differences_are_tested_of_fully_scored_metrics(store) -> None:
    at = opened(filled(store))
    at.button_group(key="evaluate-section").set_value("Differences between metrics").run()
    next(b for b in at.button if b.label == "Test the best metric against 2 others").click().run()
    assert "of 2 differences are significant" in words(at)
    next(b for b in at.button if b.label == "Test all 3 pairs").click().run()
    assert not at.exception
    assert "of 3 differences are significant" in words(at)
    for section in ("Differences between metrics", "Systems", "Parts of the data"):
        at.button_group(key="evaluate-section").set_value(section).run()
        labels = [button.label for button in at.get("download_button")]
        assert {"Table as CSV", "Table as LaTeX"} <= set(labels), section
        assert ("Save picture" in labels) == (section != "Parts of the data")
    assert "PERM-BOTH, 1,000 draws" in words(at)
    assert at.dataframe[0].value["Kendall τ-b"].iloc[0].endswith("•")
    at.button_group(key="evaluate-section").set_value("Systems").run()
    assert not at.exception
    assert "systems may be the best" in words(at)
    at.button_group(key="evaluate-section").set_value("Parts of the data").run()
    for part in ("length", "quality"):
        at.button_group(key="evaluate-by").set_value(part).run()
        assert not at.exception

    project_id = filled(store)
    put_scores(store, project_id, "bleu", {OutputKey("A", "d", str(i)): Value(float(i)) for i in range(2)})
    at = opened(project_id)
    assert "Excluded (partly scored): BLEU (2 of 24 rated outputs)." in words(at)
    assert "Of 2 metrics, TER agrees best with the human score “da” on 24 outputs" in words(at)
    assert "BLEU" not in at.dataframe[0].value["metric"].tolist()
    next(b for b in at.button if b.label == "Finish scoring").click().run()
    assert [(j.metrics, j.state) for j in store.jobs.recent(project_id)] == [(("bleu",), "queued")]
    assert "Scoring is running" in words(at)
    at.toggle(key=f"evaluate-partly-{project_id}").set_value(True).run()
    assert not at.exception
    assert "on 2 outputs" in words(at)


@pytest.mark.parametrize("database", ["sample"], indirect=True)
def test_the_sample_shows_values_first_and_intervals_later(store) -> None:
    project = sample.ensure(store).id
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluation_data, "MANY", 1)
        at = opened(project)
        [shown] = at.table
        assert "Shortness" in set(shown.value["metric"])
        assert list(shown.value) == ["metric", r"Kendall τ\-b ↑"]
        assert not any("[" in cell for cell in shown.value.iloc[:, 1])
        assert "Computing 95 % CIs …" in words(at)
        assert not at.button_group
        at.session_state["errorscope_shown"] = {"meta-evaluation"}  # as the browser says when it shows them
        at.run()
    assert not at.exception
    assert not at.table
    assert "[" in at.dataframe[0].value["Spearman ρ"].iloc[0]
    assert "Computing 95 % CIs …" not in words(at)
    people = from_rated(submitted(store, project), store.labels.raters(project), "google")
    found = evaluate(from_view(view_of(store, project), people), AgreementOptions())
    assert sentence(found, "kendall") in words(at)
    assert "bundled demonstration BART" in words(at)


@pytest.mark.parametrize("database", ["sample"], indirect=True)
def test_disagreements_show_texts_and_lead_to_their_segment(store) -> None:
    project = sample.ensure(store).id
    at = opened(project)
    at.button_group(key="evaluate-section").set_value("Disagreements").run()
    assert not at.exception
    said = words(at)
    assert "ordered by how far apart the metric and the human scores rank them" in said
    assert said.count("better than") == 2 * 5
    assert {"Source", "Reference"} <= {c.value for c in at.caption}
    assert "Error spans are hidden in segments that you have not submitted" in said
    links = [link.proto for link in at.get("page_link")]
    assert [link.label for link in links if link.label in ("Annotate", "Compare")] == ["Annotate", "Compare"] * 5
    assert all(f"project={project}" in link.query_string for link in links if link.label == "Annotate")
    at.toggle(key=f"evaluate-marks-{project}").set_value(True).run()
    assert "Error spans are hidden" not in words(at)
    at.button(key="evaluate-more").click().run()
    assert words(at).count("better than") == 2 * 10
    at.button_group(key="evaluate-disagreements").set_value("Metric too high").run()
    assert not at.exception
    above, below = (float(x) for x in re.findall(r"better than (\d+) %?", words(at).replace("%", " %"))[:2])
    assert above > below
