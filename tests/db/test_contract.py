"""Projects, scores and labels, as the ports of storage promise them."""

import math

import pytest

from core.data import (
    Dataset,
    ExternalScores,
    HumanScore,
    Output,
    OutputKey,
    Segment,
    SegmentKey,
    SourceFile,
    Value,
    grouped,
)
from core.errors import ImportProblems, UserError
from core.mqm.log import fold_segment, folded
from core.ports.files import ImportReport
from core.ports.labels import Action, LabelBatch
from core.ports.scores import Timing
from core.ports.store import Store
from core.signature import content_key
from tests.builders import small_dataset
from tests.stores import project_with

FIRST = SegmentKey("doc", "0")


def no_error(id: str, system: str) -> Action:
    return Action(id, "verdict", system, {"value": "no_error"})


def test_a_dataset_comes_back_as_it_went_in(store: Store) -> None:
    data = Dataset(
        (Segment("d", "1", None, ()), Segment("d", "2", "", ("r", "r", "")), Segment("a", "1", "s", ("x",))),
        (Output("B", "d", "1", ""), Output("A", "d", "1", "b"), Output("A", "a", "1", "c")),
        (HumanScore("A", "a", "1", "da", -0.5), HumanScore("B", "d", "1", "da", 71.0)),
    )
    made = store.projects.create("p")
    report = store.projects.add(made.id, data)
    assert report == ImportReport(segments=3, outputs=3, references=4, human_scores=2, unchanged=0)
    assert store.projects.dataset(made.id) == data
    listed = store.projects.get(made.id)
    assert (listed.n_segments, listed.n_outputs, listed.systems, listed.human_scores) == (3, 3, ("B", "A"), ("da",))


def test_a_document_and_the_index_are_parts_of_the_dataset(store: Store) -> None:
    data = Dataset(
        (Segment("d", "1", "one", ("r",)), Segment("a", "1", "two"), Segment("d", "2", "three")),
        (Output("B", "d", "1", "x"), Output("A", "d", "1", "y"), Output("A", "d", "2", "z")),
    )
    project = project_with(store, data)
    assert store.projects.document(project, "d") == Dataset((data.segments[0], data.segments[2]), data.outputs)
    assert store.projects.document(project, "none") == Dataset((), ())
    index = store.projects.index(project)
    assert list(index.outline.items()) == [(SegmentKey("d", "1"), ("B", "A")), (SegmentKey("d", "2"), ("A",))]
    assert (index.segments, index.systems) == (tuple(s.key for s in data.segments), ("B", "A"))
    assert index.lengths.tolist() == [[1, 1], [-1, -1], [-1, 1]]
    for read in (store.projects.index, lambda p: store.projects.document(p, "d")):
        with pytest.raises(UserError):
            read(99)


def test_an_import_adds_what_is_new_and_scores_follow_the_texts(store: Store, project: int) -> None:
    before = store.projects.get(project)
    # 3 segments + 6 outputs + 3 references are there already
    assert store.projects.add(project, small_dataset()) == ImportReport(0, 0, 0, 0, unchanged=12)
    assert store.projects.dataset(project) == small_dataset()
    after = store.projects.get(project)
    assert (after.imports, after._replace(imports=before.imports)) == (before.imports + 1, before)

    alone = Dataset((Segment("doc", "1", None),), (Output("C", "doc", "1", "new"),))
    assert store.projects.add(project, alone) == ImportReport(0, 1, 0, 0, unchanged=1)
    data = store.projects.dataset(project)
    assert [o.system for o in data.outputs_of()[SegmentKey("doc", "1")]] == ["A", "B", "C"]
    assert data.segment_of()[SegmentKey("doc", "1")].source == "source 1"

    store.projects.add(project, Dataset((Segment("doc", "9", None, ("a",)), Segment("doc", "10", None)), ()))
    report = store.projects.add(project, Dataset((Segment("doc", "9", "s", ("b", "a")),), ()))
    assert report == ImportReport(0, 0, 1, 0, unchanged=1, sources=1)
    assert store.projects.dataset(project).segments[-2] == Segment("doc", "9", "s", ("a", "b"))

    output = Output("A", "doc", "10", "t")
    store.projects.add(project, Dataset((Segment("doc", "10", None),), (output,)))
    store.scores.put("m", "m|v:1", {content_key(None, "t", ()): Value(0.5)}, 0.0)
    assert dict(store.scores.column(project, "m|v:1")) == {output.key: Value(0.5)}
    store.projects.add(project, Dataset((Segment("doc", "10", "a source"),), ()))
    assert not store.scores.column(project, "m|v:1"), "scores without the source are shown"


def test_a_contradiction_names_every_place_and_changes_nothing(store: Store, project: int) -> None:
    clash = Dataset(
        (Segment("doc", "0", "another source", ("reference 0", "more")), Segment("doc", "new", "s")),
        (Output("A", "doc", "1", "another output"), Output("A", "doc", "new", "t"), Output("A", "doc", "nowhere", "u")),
        (HumanScore("A", "doc", "2", "da", math.nan), HumanScore("Z", "doc", "2", "da", 1.0)),
    )
    with pytest.raises(ImportProblems) as raised:
        store.projects.add(project, clash)
    # source, output, an output without a segment, a score that is no number, a score without an output
    assert len(raised.value.problems) == 5
    assert "another source" in raised.value.problems[0].got
    assert "source 0" in raised.value.problems[0].expected
    assert store.projects.dataset(project) == small_dataset()


def test_project_names_are_taken_once_and_never_empty(store: Store, project: int) -> None:
    with pytest.raises(UserError):
        store.projects.create("p")
    with pytest.raises(UserError):
        store.projects.create("  ")
    other = store.projects.create(" other ")
    with pytest.raises(UserError):
        store.projects.rename(other.id, "p")
    store.projects.rename(project, "p")
    store.projects.rename(project, "old p")
    assert [p.name for p in store.projects.list()] == ["old p", "other"]


def test_projects_and_external_metrics_are_sorted_by_code_point(store: Store, project: int) -> None:
    names = ["a", "B", "_", "ä", "Z", "b 1"]
    for name in names:
        store.projects.create(name)
        scores = ExternalScores(name, True, (SourceFile("f", "0"),), {OutputKey("A", "doc", "0"): Value(1.0)})
        store.projects.add(project, Dataset((), ()), external=[scores])
    assert [p.name for p in store.projects.list()] == sorted([*names, "p"])
    assert [m.name for m in store.scores.external(project)] == sorted(names)


def test_a_deleted_project_is_gone_with_its_labels(store: Store, project: int) -> None:
    store.labels.append(project, "ann", FIRST, [no_error("1", "A")])
    store.jobs.enqueue(project, ["chrf"])
    store.projects.delete(project)
    assert (store.projects.list(), store.labels.events(project), store.jobs.recent()) == ([], [], [])
    for call in (store.projects.get, store.projects.delete, store.projects.dataset):
        with pytest.raises(UserError):
            call(project)


def test_values_are_found_by_content_in_every_project(store: Store, project: int) -> None:
    key, other, seen = content_key("source 0", "A output 0", ("reference 0",)), "f" * 64, [store.scores.newest()]
    value = Value(0.1 + 0.2, parts={"dist_exp": 1.5}, detail={"steps": [1, "é"]})
    bare, undefined = Value(value.value, parts=value.parts), Value(None, "undefined", "why")
    for failed in ({key: Value(None, "error", "out of memory")}, {key: value, other: undefined}, {key: Value(2.0)}):
        store.scores.put("m", "m|v:1", failed, 0.5)
        seen.append(store.scores.newest())
        if len(seen) == 2:  # an error is shown, is not known and gives way; a value stays
            assert store.scores.known("m|v:1", [key]) == set()
            assert store.scores.column(project, "m|v:1")[OutputKey("A", "doc", "0")].reason == "out of memory"
    assert seen[0] < seen[1] < seen[2] == seen[3]
    assert store.scores.known("m|v:1", [key, other, "third"]) == {key, other}
    assert store.scores.known("m|v:2", [key]) == set()
    assert store.scores.values("m|v:1", [key, other, "third"]) == {key: bare, other: undefined}
    assert store.scores.values("m|v:2", [key]) == store.scores.values("m|v:1", []) == {}
    assert dict(store.scores.column(project, "m|v:1")) == {OutputKey("A", "doc", "0"): bare}
    assert store.scores.detail(project, "m|v:1", FIRST) == {"A": value}
    assert store.scores.detail(project, "m|v:1", SegmentKey("doc", "1")) == {}
    second = store.projects.create("second").id
    assert store.scores.signatures(second) == []
    store.projects.add(second, small_dataset())
    [by] = store.scores.signatures(second)
    assert (by.metric, by.signature, by.n, by.newest.tzinfo is not None) == ("m", "m|v:1", 1, True)


def test_the_same_unfinished_request_is_queued_once(store: Store, project: int) -> None:
    first = store.jobs.enqueue(project, ["chrf", "bleu", "chrf"])
    assert first.metrics == ("chrf", "bleu")
    assert store.jobs.enqueue(project, ["bleu", "chrf"]) == first
    other = store.jobs.enqueue(project, ["ter"])
    assert [job.id for job in store.jobs.recent(project)] == [other.id, first.id]
    store.jobs.cancel(first.id)
    assert store.jobs.enqueue(project, ["chrf", "bleu"]).id not in (first.id, other.id)
    with pytest.raises(UserError):
        store.jobs.enqueue(project, [])
    with pytest.raises(UserError):
        store.jobs.enqueue(999, ["chrf"])


def test_the_newest_timings_of_a_metric_and_model_come_back(store: Store) -> None:
    timings = [Timing(n, 10 * n, 0.5, 10.0) for n in range(1, 13)]
    for timing in timings:
        store.timings.add("chrf", "", timing)
    store.timings.add("chrf", "model:x", timings[0])
    assert store.timings.of("chrf", "") == timings[:3:-1]
    assert store.timings.of("chrf", "model:x") == [timings[0]]
    assert store.timings.of("bleu", "") == []
    store.timings.add("bleu", "", large := timings[0]._replace(size=2**40))
    assert store.timings.of("bleu", "") == [large]


def test_actions_are_recorded_once_and_in_order(store: Store, project: int) -> None:
    actions = [no_error("1", "A"), no_error("2", "B"), Action("3", "submit", None, {})]
    assert store.labels.append(project, "ann", FIRST, actions[:2]).ids == ["1", "2"]
    saved = store.labels.append(project, "ann", FIRST, [*actions, actions[0]])
    assert saved.ids == ["1", "2", "3"]
    assert saved.labels == fold_segment(store.labels.events(project))
    events = store.labels.events(project)
    assert [e.action for e in events] == actions
    assert [e.number for e in events] == sorted({e.number for e in events})
    assert all(e.time.tzinfo is not None and e.rater == "ann" and e.segment == FIRST for e in events)


def test_a_batch_is_recorded_whole_or_not_at_all(store: Store, project: int) -> None:
    bad = Action(
        "2",
        "add",
        "A",
        {"mark": "m", "side": "output", "start": 0, "end": 3, "quote": "xyz", "severity": "Major", "category": "Other"},
    )
    with pytest.raises(UserError):
        store.labels.append(project, "ann", FIRST, [no_error("1", "A"), bad])
    with pytest.raises(UserError):
        store.labels.append(project, "ann", SegmentKey("doc", "none"), [no_error("1", "A")])
    with pytest.raises(UserError):
        store.labels.append(project, " ", FIRST, [no_error("1", "A")])
    assert store.labels.events(project) == []
    assert store.labels.raters() == []


def test_texts_and_labels_come_in_together_or_not_at_all(store: Store) -> None:
    project = store.projects.create("together").id
    good = [LabelBatch("ann", FIRST, [no_error("1", "A")]), LabelBatch("bob", FIRST, [no_error("2", "A")])]
    for bad in (
        LabelBatch("bob", SegmentKey("doc", "none"), [no_error("3", "A")]),
        LabelBatch("bob", FIRST, [Action("3", "submit", None, {})]),  # B has neither a mark nor a verdict
        LabelBatch(" ", FIRST, [no_error("3", "A")]),
    ):
        with pytest.raises(UserError):
            store.projects.add(project, small_dataset(), [*good, bad])
        assert store.projects.get(project).n_segments == 0
        assert (store.labels.events(project), store.labels.raters()) == ([], [])
    shares: list[float] = []
    report = store.projects.add(project, small_dataset(), good, shares.append)
    assert (report.outputs, report.labelled, shares[0], shares[-1]) == (6, 2, 0, 1)
    assert shares == sorted(shares)
    more = [*good, LabelBatch("bob", FIRST, [no_error("4", "B"), Action("5", "submit", None, {})])]
    assert store.projects.add(project, small_dataset(), more).labelled == 1
    assert [(e.rater, e.action.id) for e in store.labels.events(project)] == [
        ("ann", "1"),
        ("bob", "2"),
        ("bob", "4"),
        ("bob", "5"),
    ]


def test_labels_come_by_segment_and_rater_in_the_order_of_the_project(
    store: Store, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("db.labels.repository.SEGMENTS_AT_ONCE", 1)
    second = SegmentKey("doc", "1")
    for n, (rater, key) in enumerate(
        (("bob", second), ("ann", FIRST), ("bob", FIRST), ("ann", FIRST), ("bob", second))
    ):
        store.labels.append(project, rater, key, [no_error(str(n), "A")])
    other = store.projects.create("other").id
    shares = list[float]()
    events = store.labels.events(project)
    labels = list(store.labels.folded(project, progress=shares.append))
    assert [of.segment for of in labels] == [FIRST, FIRST, second]
    groups = grouped(((e.segment, e.rater), e) for e in events)
    assert sorted((of.segment, of.rater, of) for of in labels) == sorted(
        (*key, folded(of)) for key, of in groups.items()
    )
    for rater in ("ann", "bob"):
        assert store.labels.of_rater(project, rater) == {of.segment: of for of in labels if of.rater == rater}
        assert store.labels.recorded(project, rater, second).events == [
            e for e in events if (e.rater, e.segment) == (rater, second)
        ]
    new = list(store.labels.folded(project, events[2].number))
    assert {(of.segment, of.rater) for of in new} == {(FIRST, "ann"), (second, "bob")}, "those with newer events"
    assert all(of in labels for of in new)
    assert shares[0] == 0
    assert shares == sorted(shares)
    assert list(store.labels.folded(other)) == []


def test_events_can_be_read_for_one_rater_and_one_segment(store: Store, project: int) -> None:
    store.labels.append(project, "ann", FIRST, [no_error("1", "A")])
    store.labels.append(project, "bob", FIRST, [no_error("2", "A")])
    store.labels.append(project, "bob", SegmentKey("doc", "1"), [no_error("3", "A")])
    ids = [
        [e.action.id for e in store.labels.events(project, rater=r, segment=s)]
        for r, s in (("bob", None), (None, FIRST), ("bob", FIRST))
    ]
    assert ids == [["2", "3"], ["1", "2"], ["2"]]
    other = store.projects.create("other")
    opened = Action("o", "open", None, {"order": ["A", "B"], "seed": 1})
    store.labels.append(project, "looker", FIRST, [opened])
    assert store.labels.raters(project) == ["ann", "bob"], "who only opened a segment is a rater of no project"
    assert store.labels.raters() == ["ann", "bob", "looker"]
    assert store.labels.raters(other.id) == []
    last = store.labels.events(project)[-1].number
    assert (store.labels.newest(project), store.labels.newest(other.id)) == (last, 0)
