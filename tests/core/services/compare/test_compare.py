"""The Compare view: layout, λ, order, search, disagreement, means, blind names and the rows of its file."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from core.data import Dataset, HumanScore, Output, OutputKey, Segment, SegmentKey, Value
from core.metrics import registry
from core.metrics.base import MetricSpec
from core.ports.scores import ScoredBy
from core.services.compare.compare import (
    Query,
    blind_names,
    disagreement,
    means,
    ordered,
    points,
    ranks,
    scores,
    signature_at,
)
from core.services.projects import texts as stored_texts
from core.services.projects.texts import StoredTexts
from core.services.projects.view import View
from tests.views import view_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SEGMENTS = (
    Segment("d1", "1", "Der Fluß trat über die Ufer.", ("The river burst its banks.",)),
    Segment("d1", "2", None, ("Taxes fall 😀",)),
    Segment("d2", "1", "صباح الخير", ()),
)
TEXTS = {"a": ("The river rose.", "Taxes fall", "Good morning"), "b": ("The RIVER stepped.", "Taxes rise 😀", "")}
OUTPUTS = tuple(
    Output(system, s.doc_id, s.segment_id, text)
    for system, texts in TEXTS.items()
    for s, text in zip(SEGMENTS, texts, strict=True)
    if (system, s.key) != ("b", SegmentKey("d2", "1"))
)
CHRF = {("a", "1"): 60.0, ("a", "2"): 80.0, ("b", "1"): 50.0, ("b", "2"): 90.0}
TER = {("a", "1"): 10.0, ("a", "2"): 20.0, ("b", "1"): 30.0, ("b", "2"): 40.0}
# (dist_exp, dist_imp), the first two pairs from Table 9 of Lu et al. 2023
PARTS = {("a", "1"): (0.0, 0.827), ("b", "1"): (0.348, 0.310), ("a", "2"): (0.5, 0.1), ("b", "2"): (0.0, -0.2)}


def spec(name: str, higher: bool = True) -> MetricSpec:
    return MetricSpec(name, name.upper(), "", "what it says", (0, 100), frozenset(), higher_is_better=higher)


def table(values: dict[tuple[str, str], float]) -> dict[OutputKey, Value]:
    out = {OutputKey(s, "d1", i): Value(v) for (s, i), v in values.items()}
    return out | {OutputKey("a", "d2", "1"): Value(None, "needs", "no reference")}


def make_view() -> View:
    refined = {
        OutputKey(s, "d1", i): Value(-(e + m) / 2, parts={"dist_exp": e, "dist_imp": m})
        for (s, i), (e, m) in PARTS.items()
    }
    tables = {"chrf|v:1": table(CHRF), "ter|v:1": table(TER), "bartscore++|lambda:1|rev:x": refined}
    scored = [ScoredBy(sign.split("|")[0], sign, len(t), NOW) for sign, t in tables.items()]
    human = (HumanScore("a", "d1", "1", "adequacy", 4.0), HumanScore("b", "d1", "1", "adequacy", 2.0))
    specs = {"chrf": spec("chrf"), "ter": spec("ter", False), "bartscore++": spec("bartscore++")}
    return view_of(Dataset(SEGMENTS, OUTPUTS, human), scored, tables, specs)


def found(view: View, query: Query, lam: float = 1.0) -> list[tuple[str, str]]:
    return [tuple(view.segments[i]) for i in ordered(view, query, lam)]


def test_columns_stand_in_registry_order_with_human_scores_last() -> None:
    view = make_view()
    assert [c.name for c in view.columns] == ["chrf", "ter", "bartscore++", "human:adequacy"]
    assert [c.refinement for c in view.columns] == [False, False, True, False]
    assert [c.digits for c in view.columns] == [0, 0, 3, 0]


def test_moving_lambda_reweights_stored_distances_as_in_table_9() -> None:
    view = make_view()
    assert view.values("bartscore++", 1.7)[0].tolist() == pytest.approx([-0.306, -0.334], abs=1e-3)
    assert view.values("bartscore++", 0.0)[0].tolist() == pytest.approx([-0.827, -0.310])
    assert view.values("bartscore++", float("inf"))[0].tolist() == pytest.approx([0.0, -0.348])
    column = view.column("bartscore++")
    assert signature_at(column, float("inf")) == "bartscore++|lambda:inf|rev:x"
    assert column.refinement_signature == "refinement|rev:x"


def test_missing_outputs_and_scores_are_no_numbers() -> None:
    view = make_view()
    assert view.present.tolist() == [[True, True], [True, True], [True, False]]
    assert np.isnan(view.values("chrf", 1.0)[2]).all()


def test_older_signatures_are_labelled_by_their_difference() -> None:
    old, new = "chrf|v:1|nc:4", "chrf|v:1|nc:6"
    scored = [ScoredBy("chrf", old, 4, NOW - timedelta(days=1)), ScoredBy("chrf", new, 4, NOW)]
    view = view_of(Dataset(SEGMENTS, OUTPUTS), scored, {old: table(CHRF), new: table(CHRF)}, {"chrf": spec("chrf")})
    assert [(c.name, c.label) for c in view.columns] == [("chrf", "CHRF"), (old, "CHRF (nc:4)")]


def test_options_make_a_column_after_the_plain_form() -> None:
    parts = {OutputKey("a", "d1", "1"): Value(-0.4, parts={"dist_exp": 0.5, "dist_imp": 0.3})}
    names = [
        "bartscore++|prompt:#70-584fa0d3|side:decoder",
        "bartscore++|k:5",
        "chrf|beta:3",
        "bartscore++",
        "chrf",
        "gone|k:1",
    ]
    signed = {n: f"{n.partition('|')[0]}|lambda:1|variant:f|k:{i}" for i, n in enumerate(names)}
    tables = {signed[n]: parts if n.startswith("b") else table(CHRF) for n in names}
    scored = [ScoredBy(n, signed[n], 4, NOW) for n in names]
    view = view_of(Dataset(SEGMENTS, OUTPUTS), scored, tables, registry.specs())
    assert [(c.name, c.label) for c in view.columns] == [
        ("chrf", "chrF"),
        ("chrf|beta:3", "chrF (β = 3)"),
        ("bartscore++", "BARTScore++"),
        ("bartscore++|k:5", "BARTScore++ (k = 5)"),
        (names[0], "BARTScore++ (70 prompts 584fa0d3, on the decoder)"),
        ("gone|k:1", "gone|k:1"),
    ]
    assert [c.name for c in view.refinements()] == ["bartscore++", "bartscore++|k:5", names[0]]
    assert view.column("chrf|beta:3").help == registry.specs()["chrf"].help
    assert view.column("bartscore++|k:5").facts["k"] == "1"
    rows = list(scores(view, 2.0, ordered(view, Query(), 2.0), ("a",)))
    assert {r.metric for r in rows} == set(names)
    # 2/3 · 0.5 + 1/3 · 0.3 = 0.4333
    weighed = [r for r in rows if r.metric == "bartscore++|k:5" and r.status == "ok"]
    assert [r.value for r in weighed] == [pytest.approx(-0.4333, abs=1e-4)]
    assert "|lambda:2|" in weighed[0].signature


@pytest.mark.parametrize(
    ("search", "keys"),
    [
        ("river", [("d1", "1")]),
        ("FLUSS", [("d1", "1")]),  # ß folds to ss
        ("😀", [("d1", "2")]),
        ("الخير", [("d2", "1")]),
        ("rise", [("d1", "2")]),
        ("", [("d1", "1"), ("d1", "2"), ("d2", "1")]),
        ("nowhere", []),
    ],
)
def test_search_covers_all_texts_without_case(search: str, keys: list[tuple[str, str]]) -> None:
    assert found(make_view(), Query(search)) == keys


def test_filters_by_document_and_system() -> None:
    view = make_view()
    assert found(view, Query(documents=("d2",))) == [("d2", "1")]
    assert found(view, Query(systems=("b",))) == [("d1", "1"), ("d1", "2")]


def test_segments_without_a_value_sort_last() -> None:
    view, up = make_view(), Query(sort="metric", metric="chrf")
    assert found(view, up) == [("d1", "1"), ("d1", "2"), ("d2", "1")]  # means 55, 85, none
    assert found(view, up._replace(descending=True)) == [("d1", "2"), ("d1", "1"), ("d2", "1")]
    assert found(view, up._replace(metric="comet")) == [("d1", "1"), ("d1", "2"), ("d2", "1")], "no such metric"


def test_sorting_by_a_metric_of_one_system() -> None:
    view = make_view()
    query = Query(sort="metric", metric="bartscore++", system="b")
    # b at λ = 1: segment 1 −(.348 + .310)/2 = −.329, segment 2 +.1; at λ = ∞: −.348 and 0
    assert found(view, query) == [("d1", "1"), ("d1", "2"), ("d2", "1")]
    # a at λ = 0: −.827 and −.1; at λ = ∞: 0 and −.5, so the order turns
    turned = query._replace(system="a")
    assert found(view, turned, 0.0)[:2] == [("d1", "1"), ("d1", "2")]
    assert found(view, turned, float("inf"))[:2] == [("d1", "2"), ("d1", "1")]


def test_ranks_are_shares_of_the_project_with_ties_shared() -> None:
    values = np.array([[1.0, 2.0], [2.0, np.nan]])
    # ascending places 1, 2.5, 2.5 of 3 → 0, .75, .75
    assert ranks(values, True)[0].tolist() == [0.0, 0.75]
    assert ranks(values, True)[1, 0] == 0.75
    assert np.isnan(ranks(values, True)[1, 1])
    # best is lowest: 1 → place 3 of 3 → 1; the twos share places 1 and 2 → .25
    assert ranks(values, False)[0].tolist() == [1.0, 0.25]


def test_disagreement_is_the_difference_of_ranks() -> None:
    apart = disagreement(make_view(), "chrf", "ter", 1.0)
    # chrF 60 80 / 50 90 → ranks a 1/3, 2/3; b 0, 1. TER (lower is better) 10 20 / 30 40 → a 1, 2/3; b 1/3, 0
    assert apart[0].tolist() == pytest.approx([2 / 3, 1 / 3])
    assert apart[1].tolist() == pytest.approx([0.0, 1.0])
    assert np.isnan(apart[2]).all()


def test_disagreement_sort_uses_the_largest_difference() -> None:
    query = Query(sort="disagreement", metric="chrf", second="ter", descending=True)
    assert found(make_view(), query) == [("d1", "2"), ("d1", "1"), ("d2", "1")]
    assert found(make_view(), query._replace(systems=("a",))) == [("d1", "1"), ("d1", "2"), ("d2", "1")]


def test_system_means_are_best_first_and_hold_their_interval() -> None:
    view = make_view()
    chrf = means(view, "chrf", 1.0)
    assert [(m.system, m.mean, m.n) for m in chrf] == [("a", 70.0, 2), ("b", 70.0, 2)]
    assert all(m.low is not None and m.high is not None and m.low <= 70.0 <= m.high for m in chrf)
    assert [m.system for m in means(view, "ter", 1.0)] == ["a", "b"]  # 15 before 35: lower is better
    undefined = means(view, "chrf", 1.0, rows=np.array([2], dtype=np.intp))[0]
    assert (undefined.mean, undefined.low, undefined.n, bool(undefined.reason)) == (None, None, 0, True)


def test_points_are_scored_by_both_and_sampled_alike() -> None:
    view = make_view()
    rows = np.arange(3, dtype=np.intp)
    drawn = points(view, "chrf", "bartscore++", 1.0, rows)
    assert len(drawn) == 4
    assert drawn[0] == ("a", "d1", "1", 60.0, pytest.approx(-0.4135))
    assert points(view, "chrf", "ter", 1.0, rows, limit=2) == points(view, "chrf", "ter", 1.0, rows, limit=2)
    assert len(points(view, "chrf", "ter", 1.0, rows, limit=2)) == 2


def test_score_rows_have_lambda_and_status() -> None:
    view = make_view()
    rows = list(scores(view, 1.7, np.array([0, 2], dtype=np.intp), ("a",)))
    refined = next(r for r in rows if r.metric == "bartscore++" and r.segment_id == "1" and r.doc_id == "d1")
    assert refined.signature == "bartscore++|lambda:1.7|rev:x"
    assert refined.value == pytest.approx(-0.306, abs=1e-3)
    needs = next(r for r in rows if r.doc_id == "d2" and r.metric == "chrf")
    assert (needs.value, needs.status, needs.reason) == (None, "needs", "no reference")
    never = next(r for r in rows if r.doc_id == "d2" and r.metric == "bartscore++")
    assert (never.value, never.reason) == (None, "not scored")


def test_blind_names_are_seeded_and_differ_between_segments() -> None:
    systems = ["a", "b", "c", "d"]
    names = [blind_names(systems, SegmentKey("d", str(i)), 7) for i in range(20)]
    assert all(sorted(n.values()) == ["Output A", "Output B", "Output C", "Output D"] for n in names)
    assert len({tuple(n.items()) for n in names}) > 1
    assert names[0] == blind_names(systems[::-1], SegmentKey("d", "0"), 7)


def test_of_many_searches_only_as_many_are_held_as_memory_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    class Reader:
        asked: list[str] = []

        def texts(self, project_id: int, segments: object, systems: object = None) -> Dataset:
            return Dataset((), ())

        def search(self, project_id: int, phrase: str) -> list[SegmentKey]:
            self.asked.append(phrase)
            return [SegmentKey("d", str(i)) for i in range(4)]

    reader = Reader()
    monkeypatch.setattr(stored_texts, "SEARCHED_SEGMENTS", 10)
    texts = StoredTexts(reader, 1, 1)
    for phrase in ("a", "b", "a", "c", "b", "c", "a"):
        assert len(texts.search(phrase)) == 4
    assert reader.asked == ["a", "b", "c", "a"]  # two of them fit
