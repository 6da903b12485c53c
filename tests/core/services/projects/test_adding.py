"""What an import would change, doing it, and outputs of a system as references."""

from collections.abc import Collection, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.data import Dataset, HumanScore, Output, Segment, SegmentKey
from core.errors import ImportProblems, UserError
from core.formats.files import Upload
from core.ports.files import DatasetImport, ImportReport
from core.ports.store import Store
from core.services.labels.protocols import typology_of
from core.services.projects import adding
from core.services.projects.adding import ImportTarget, add, describe_new, sentence, use_as_references, with_references
from core.services.projects.label_import import LabelFiles, import_labels
from tests.core.formats.problems import problems_of
from tests.line_files import stage_lines
from tests.stores import add_dataset, new_store, project_with

TEXTS = st.sampled_from(["x", "y", ""])


@st.composite
def datasets(draw: st.DrawFn) -> Dataset:
    ids = draw(st.lists(st.sampled_from("123"), unique=True))
    segments = tuple(
        Segment("d", i, draw(st.none() | TEXTS), tuple(draw(st.lists(TEXTS, max_size=3, unique=True)))) for i in ids
    )
    outputs = tuple(Output(s, "d", i, draw(TEXTS)) for i in ids for s in draw(st.sets(st.sampled_from("AB"))))
    scores = tuple(HumanScore(o.system, "d", o.segment_id, "da", draw(st.sampled_from([1.0, 2.0]))) for o in outputs)
    return Dataset(segments, outputs, scores)


@given(datasets(), datasets())
def test_what_is_foretold_is_what_storage_does(shared_store: Store, old: Dataset, new: Dataset) -> None:
    store = shared_store
    project = store.projects.create(f"p {len(store.projects.list())}").id
    store.projects.add(project, old)
    report, problems, _ = store.projects.compare(project, DatasetImport(new))
    if problems:
        assert problems == problems_of(store.projects.add, project, new)
    else:
        assert report == store.projects.add(project, new)


def test_a_contradiction_is_shown_from_where_the_texts_differ() -> None:
    long, store = "the same beginning of both texts, again and again, ", new_store()
    old, new = (
        Dataset((Segment("d", "1", "s"),), (Output("A", "d", "1", long * 3 + word),)) for word in ("cat", "dog")
    )
    project = add_dataset(store, ImportTarget("p"), old).project.id
    (problem,) = store.projects.compare(project, DatasetImport(new)).problems
    assert ("dog" in problem.got, "cat" in problem.expected, "“A”" in problem.column) == (True, True, True)
    with pytest.raises(ImportProblems):  # a new project that cannot be filled is not left behind
        add_dataset(store, ImportTarget("new"), Dataset((), (Output("A", "d", "1", "x"),)))
    assert [p.id for p in store.projects.list()] == [project]


def own_segments(systems: str, n: int = 2) -> Dataset:
    """A dataset in which each system has segments of its own."""
    segments = tuple(Segment(system, str(i), None) for system in systems for i in range(n))
    return Dataset(segments, tuple(Output(s.doc_id, s.doc_id, s.segment_id, "x") for s in segments))


def test_adding_to_a_project_counts_its_segments_and_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRORSCOPE_MAX_PROJECT_CELLS", "17")
    store = new_store()
    project = add_dataset(store, ImportTarget("p"), own_segments("AB")).project
    into = ImportTarget("p", project.id)
    for _ in range(2):  # segments that the project has are not counted twice
        add_dataset(store, into, own_segments("AB"))
    with pytest.raises(ImportProblems, match="18 cells"):
        add_dataset(store, into, own_segments("C"))
    with pytest.raises(ImportProblems, match="18 cells"):
        import_labels(store, into, LabelFiles(own_segments("C"), ()))
    assert store.projects.get(project.id) == project._replace(imports=store.projects.get(project.id).imports)
    monkeypatch.setenv("ERRORSCOPE_MAX_PROJECT_CELLS", "18")
    assert add_dataset(store, into, own_segments("C")).project.systems == ("A", "B", "C")


def test_a_project_above_a_limit_still_takes_scores_and_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    store = new_store()
    project = add_dataset(store, ImportTarget("p"), own_segments("ABC")).project
    monkeypatch.setenv("ERRORSCOPE_MAX_PROJECT_CELLS", "17")
    monkeypatch.setenv("ERRORSCOPE_MAX_SYSTEMS", "2")
    data = own_segments("ABC")
    scored = replace(data, human_scores=(HumanScore(*data.outputs[0].key, "DA", 1.0),))
    assert add_dataset(store, ImportTarget("p", project.id), scored).report.human_scores == 1
    with pytest.raises(ImportProblems, match="more than 2 systems"):
        add_dataset(store, ImportTarget("p", project.id), own_segments("D"))


def test_files_of_too_many_cells_store_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRORSCOPE_MAX_PROJECT_CELLS", "17")
    store = new_store()
    staged = stage_lines(None, [], {system: Upload(f"{system}.txt", b"x\n" * 6) for system in "ABC"})
    for source in (staged, DatasetImport(own_segments("ABC"))):
        (problem,) = problems_of(add, store, ImportTarget("p"), source)
        assert problem.got == "6 segments × 3 systems = 18 cells of the project"
        assert (problem.expected, "ERRORSCOPE_MAX_PROJECT_CELLS" in problem.todo) == ("at most 17 cells", True)
    assert store.projects.list() == []
    project = add_dataset(store, ImportTarget("p"), own_segments("AB")).project
    with pytest.raises(ImportProblems, match="30 cells"):
        add(store, ImportTarget("p", project.id), staged)
    assert store.projects.get(project.id) == project


def test_news_names_only_what_is_new() -> None:
    assert describe_new(ImportReport(2, 1, 0, 3, 0)) == "2 segments, 1 output and 3 human scores"
    assert sentence(ImportReport(0, 0, 0, 0, 1)) == "Nothing is new. Unchanged: 1 text or score."


def test_equal_numbering_is_not_a_continuation() -> None:
    def lines(system: str, text: str, reference: str) -> Dataset:
        return Dataset((Segment("", "1", None, (reference,)),), (Output(system, "", "1", text),))

    store = new_store()
    project = add_dataset(store, ImportTarget("p"), lines("A", "x", "one")).project.id
    for new, continues in (
        (lines("B", "y", "two"), False),
        (lines("B", "y", "one"), True),
        (lines("A", "x", "two"), True),
        (Dataset((), ()), False),
    ):
        assert store.projects.continues(project, DatasetImport(new)) is continues


def test_a_new_project_gets_the_typology_of_its_task() -> None:
    store, article = new_store(), "The council met on Tuesday to discuss the flood defences. " * 10

    def imported(source: str, output: str, into: int | None = None) -> tuple[int, str]:
        segment = Segment("d", str(into), source)
        done = add_dataset(store, ImportTarget(output, into), Dataset((segment,), (Output("A", *segment.key, output),)))
        return done.project.id, done.typology

    summary, title = imported(article, "It met.")
    assert (title, typology_of(store, summary).name) == ("Summaries", "summaries")
    assert typology_of(store, imported("name[The Eagle], food[French]", "French food.")[0]).name == "data_to_text"
    translation, title = imported("Die Katze schläft.", "The cat sleeps.")
    assert (title, typology_of(store, translation).name) == ("Translation (MQM)", "mqm")
    assert imported(article, "It met.", translation)[1] == ""
    assert typology_of(store, translation).name == "mqm"


DATA = Dataset(
    (Segment("d", "1", "一"), Segment("d", "2", "二", ("two",)), Segment("d", "3", "三")),
    (Output("refB", "d", "1", "one"), Output("refB", "d", "2", "a pair"), Output("refB", "d", "3", " "), Output("A", "d", "1", "won")),
)  # fmt: skip


def stored(data: Dataset = DATA) -> tuple[Store, int]:
    store = new_store()
    return store, project_with(store, data)


def test_outputs_are_added_once_to_existing_references() -> None:
    store, project = stored()
    done = use_as_references(store, project, "refB")
    assert (done.report.references, done.references_of, done.project.id) == (2, "refB", project)
    assert use_as_references(store, project, "refB").report.references == 0
    data = store.projects.dataset(project)
    assert [s.references for s in data.segments] == [("one",), ("two", "a pair"), ()]
    assert set(data.outputs) == set(DATA.outputs)
    assert with_references(DATA, ["refB"]).segments == data.segments


@pytest.mark.parametrize(("limit", "most", "parts"), [("OUTPUTS", 2, [1, 1, 1]), ("CHARACTERS", 12, [2, 1])])
def test_a_project_is_read_in_parts(limit: str, most: int, parts: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adding, limit, most)
    store, project = stored()
    read: list[int] = []
    texts = store.projects.texts

    def counting(project_id: int, segments: Sequence[SegmentKey], systems: Collection[str] | None = None) -> Dataset:
        read.append(len(segments))
        return texts(project_id, segments, systems)

    monkeypatch.setattr(store.projects, "texts", counting)
    assert use_as_references(store, project, "refB").report.references == 2
    assert read == parts
    assert [s.references for s in store.projects.dataset(project).segments] == [("one",), ("two", "a pair"), ()]


def test_a_system_that_cannot_be_used_changes_nothing() -> None:
    data = Dataset(DATA.segments, (Output("A", "d", "1", "won"), Output("B", "d", "1", " "), Output("C", "d", "1", "")))
    store, project = stored(data)
    for system, why in (("B", "no outputs with text"), ("C", "no outputs with text"), ("D", "no such system")):
        with pytest.raises(UserError, match=why):
            use_as_references(store, project, system)
        with pytest.raises(UserError, match=why):
            with_references(data, [system])
    assert store.projects.dataset(project) == data
