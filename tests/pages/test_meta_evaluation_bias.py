"""Evaluate, Length and bias: over several human scores, on a real database without a browser."""

from streamlit.testing.v1 import AppTest

from core.data import Dataset, HumanScore, Output, Segment, Value
from core.ports.store import Store
from tests.pages.opened_page import new_project
from tests.pages.said import words
from tests.pages.test_meta_evaluation import opened
from tests.stores import put_scores

SYSTEMS, N = ("A", "B", "C"), 8


def filled(store: Store) -> int:
    """chrF ranks A B C as fluency does; ROUGE-1 ranks B A C; meaning ranks C B A."""
    project = store.projects.get(new_project(store, "*p*"))
    segments = tuple(Segment("d", str(i), "source", ("a reference",)) for i in range(N))
    outputs = tuple(Output(s, "d", str(i), f"{s} " + "word " * (i + 1)) for i in range(N) for s in SYSTEMS)
    fluency, chrf, rouge = {"A": 3, "B": 2, "C": 1}, {"A": 9, "B": 7, "C": 1}, {"A": 0.5, "B": 0.8, "C": 0.1}
    rated = tuple(
        HumanScore(o.system, "d", o.segment_id, name, float(value))
        for o in outputs
        for name, value in (("fluency", fluency[o.system]), ("meaning", -fluency[o.system]))
    )
    store.projects.add(project.id, Dataset(segments, outputs, rated))
    for metric, by_system in (("chrf", chrf), ("rouge1", rouge)):
        put_scores(store, project.id, metric, {o.key: Value(float(by_system[o.system])) for o in outputs})
    return int(project.id)


def section(store: Store) -> AppTest:
    at = opened(filled(store))
    at.button_group(key="evaluate-section").set_value("Length and bias").run()
    assert not at.exception
    assert not at.error, at.error[0].value
    return at


def tables(at: AppTest) -> list[dict[str, list[str]]]:
    return [t.value.astype(str).replace(r"\\", "", regex=True).to_dict("list") for t in at.table]


def test_one_or_several_scores_give_ranks_and_a_table(store: Store) -> None:
    at = section(store)
    assert "compares system means, here over 8 segments, 3 systems" in words(at)
    assert "4 groups of equal size by the mean number of words of the outputs" in words(at)
    assert at.selectbox(key="evaluate-baseline-1").value == "rouge1"
    (table,) = tables(at)
    deviation = next(v for k, v in table.items() if "σ" in k)
    # ROUGE-1: B and A exchanged: √(2/3); chrF: 0
    by_metric = dict(zip(table["metric"], deviation, strict=True))
    assert by_metric["chrF"].endswith("000")
    assert by_metric["ROUGE-1"].endswith("816")
    at.multiselect(key="evaluate-kind-1").set_value(["A"]).run()
    (table,) = tables(at)
    assert dict(zip(table["metric"], table["mean difference of the group"], strict=True))["ROUGE-1"].endswith("+1")

    at = section(store)
    also = next(m for m in at.multiselect if m.label == "Average with")
    also.set_value(["meaning"]).run()
    assert "averaged over 2 human scores (fluency, meaning)" in words(at)
    assert len([k for k in tables(at)[0] if "σ" in k]) == 3
    at.selectbox(key="evaluate-length-shown").set_value("relative").run()
    assert not at.exception
    assert "the τ-b of the comparison metric is not above 0" in words(at)  # +1/3 with fluency, −1/3 with meaning
    next(m for m in at.multiselect if m.label == "Scores where lower is better").set_value(["meaning"]).run()
    (table,) = tables(at)
    by_metric = {k: dict(zip(table["metric"], v, strict=True)) for k, v in table.items()}
    assert all(v["chrF"].endswith("000") for k, v in by_metric.items() if "σ" in k)  # both rank A B C now
