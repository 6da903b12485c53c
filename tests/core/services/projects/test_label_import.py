"""Labels from Google's MQM TSV into a project, and out again."""

import pytest

from core.data import Dataset, Output, Segment, SegmentKey
from core.errors import ImportProblems, UserError
from core.formats.files import Upload
from core.mqm.log import fold
from core.mqm.scores import rated_outputs
from core.ports.labels import Action
from core.ports.store import Store
from core.services.export.export import labels_as
from core.services.labels.labels import open_segment
from core.services.projects.adding import Imported, ImportTarget
from core.services.projects.label_import import import_labels, read_label_files
from tests.stores import new_store

HEADER = "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity"
ROWS = (
    "A 🚀\tnews\t1\t7\tann\tQuelle\t😀 a <v>bad</v> cat\tFluency/Grammar\tMajor",
    "A 🚀\tnews\t1\t7\tann\tQuelle\t😀 a bad <v>cat</v>\tAccuracy/Mistranslation\tMinor",
    "<b>B</b>\tnews\t1\t7\tann\tQuelle\tعنوان =1+1\tNo-error\tNo-error",
    "A 🚀\tnews\t1\t7\tbob\t<v>Quelle</v>\t😀 a bad cat\tAccuracy/Omission\tMinor",
    "A 🚀\tnews\t2\t8\tbob\tzwei\t<v>xyz</v>\tNon-translation!\tMajor",
)


def tsv(*rows: str, name: str = "labels.tsv") -> Upload:
    return Upload(name, "\n".join([HEADER, *rows, ""]).encode())


def labels(store: Store, project: int) -> set[object]:
    texts = {o.key: o.text for o in store.projects.dataset(project).outputs}
    return {(r.key, r.rater, frozenset(r.errors)) for r in rated_outputs(fold(store.labels.events(project)), texts)}


def add(store: Store, project: int | None, *files: Upload) -> Imported:
    """Import label files into a project, or into a new one."""
    return import_labels(
        store, ImportTarget("p" if project else f"p {len(store.projects.list())}", project), read_label_files(files)
    )


def labelled(*rows: str) -> tuple[Store, int]:
    """Return a store with a project that has the labels of these rows."""
    store = new_store()
    return store, add(store, None, tsv(*rows)).project.id


def test_outputs_and_labels_come_in_under_the_names_of_the_raters() -> None:
    store = new_store()
    found = read_label_files([tsv(*ROWS)])
    assert found.summary() == "2 segments × 2 systems, labels of 3 outputs by 2 raters"
    done = import_labels(store, ImportTarget("p"), found)
    assert store.labels.raters(done.project.id) == ["ann", "bob"]
    assert done.report.outputs == 3
    assert done.labelled == 4  # ann: A and B of segment 7; bob: A of 7 and A of 8
    assert labels(store, done.project.id) == {(r.key, r.rater, frozenset(r.errors)) for r in found.rated}


def test_names_that_differ_only_in_case_or_blanks_are_said_and_an_error_in_two_files_counts_once() -> None:
    read = read_label_files([tsv(ROWS[0], ROWS[1].replace("\tann\t", "\tAnn \t"))])
    assert [w.got for w in read.warnings] == ["names that differ only in case or blanks: “ann”, “Ann ”"]
    read = read_label_files([tsv(*ROWS), tsv(ROWS[0], ROWS[2], name="again.tsv")])
    assert read.rated == read_label_files([tsv(*ROWS)]).rated
    assert [w.got for w in read.warnings][-1] == "1 exact duplicate of an error"


def test_the_same_labels_again_in_whatever_format_add_nothing() -> None:
    store, project = labelled(*ROWS)
    before = store.labels.events(project)
    made = [labels_as(store, project, name=name) for name in ("google", "marot", "mtme-jsonl", "esa", "label-studio")]
    for upload in (tsv(*ROWS), *(Upload(f"x.{file.ending}", file.data) for file in made)):
        done = add(store, project, upload)
        assert (done.labelled, done.notes, done.report.segments, done.report.outputs) == (0, (), 0, 0), upload.name
        assert store.labels.events(project) == before


def test_an_import_that_was_cut_off_is_completed_by_the_next_and_what_is_recorded_is_counted() -> None:
    store, project = labelled(*ROWS[:3])
    # ann's labels of A and B are there; bob's of A in segment 7 and of A in segment 8 are new
    assert add(store, project, tsv(*ROWS)).labelled == 2
    assert labels(store, project) == labels(*labelled(*ROWS))
    withdraw = Action("w", "verdict", "<b>B</b>", {"value": None})
    store.labels.append(project, "ann", SegmentKey("news", "7"), [withdraw])
    assert add(store, project, tsv(*ROWS)).labelled == 0


def test_an_error_on_the_way_leaves_everything_as_it_was() -> None:
    store, project = labelled(*ROWS[:3])
    before = store.projects.dataset(project), store.labels.events(project)

    def stop(share: float) -> None:
        if share > 0:
            raise UserError("the disk is full")

    for target in (ImportTarget("new"), ImportTarget("p", project)):
        with pytest.raises(UserError, match="disk"):
            import_labels(store, target, read_label_files([tsv(*ROWS, *system_c("7"))]), stop)
    assert [p.id for p in store.projects.list()] == [project]
    assert (store.projects.dataset(project), store.labels.events(project)) == before
    assert store.labels.raters() == ["ann"]


def system_c(*segments: str) -> list[str]:
    return [f"C\tnews\t1\t{s}\tann\tQuelle\tnew text\tNo-error\tNo-error" for s in segments]


def test_deleted_errors_stay_deleted_on_reimport() -> None:
    store, project = labelled(*ROWS[1:3])
    (added,) = [e.action for e in store.labels.events(project) if e.action.kind == "add"]
    delete = Action("d", "delete", added.system, {"mark": added.payload["mark"]})
    store.labels.append(project, "ann", SegmentKey("news", "7"), [delete])
    done = add(store, project, tsv(*ROWS[1:3], *system_c("7")))
    assert (done.report.outputs, done.labelled) == (1, 1)
    assert "A 🚀, segment 7: imported before and withdrawn here" in done.notes[0]
    now = fold(store.labels.events(project))["ann", SegmentKey("news", "7")]
    assert now.submitted
    assert {system for system, labels in now.outputs.items() if labels.complete} == {"<b>B</b>", "C"}
    before = store.labels.events(project)
    again = add(store, project, tsv(*ROWS[1:3], *system_c("7")))
    assert (again.labelled, store.labels.events(project)) == (0, before)


def test_imported_raters_see_shuffled_systems() -> None:
    rows = [f"{s}\td\t1\t{i}\tann\tQuelle {i}\t{s} {i}\tNo-error\tNo-error" for i in range(20) for s in "ABCD"]
    store, project = labelled(*rows)
    segments = [SegmentKey("d", str(i)) for i in range(20)]
    orders = {open_segment(store, project, "ann", segment, systems="ABCD").labels.order for segment in segments}
    assert len(orders) > 5  # of 24 that are possible


def test_progress_grows_with_texts_and_labels() -> None:
    shares = list[float]()
    import_labels(new_store(), ImportTarget("p"), read_label_files([tsv(*ROWS)]), shares.append)
    assert len(shares) > 6  # three raters' segments, and the texts
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0, 1)


def test_labels_of_other_texts_change_nothing() -> None:
    store = new_store()
    project = store.projects.create("p").id
    store.projects.add(project, Dataset((Segment("news", "7", "Quelle"),), (Output("A 🚀", "news", "7", "other"),)))
    with pytest.raises(ImportProblems):
        add(store, project, tsv(*ROWS))
    assert store.labels.events(project) == []


def test_two_files_that_contradict_each_other_are_a_problem() -> None:
    other = tsv("A 🚀\tnews\t1\t7\teve\tQuelle\tanother text\tNo-error\tNo-error", name="more.tsv")
    found = read_label_files([tsv(*ROWS), other])
    (problem,) = found.problems
    assert problem.file == "more.tsv"
    assert "another text" in problem.got
    with pytest.raises(ImportProblems):
        import_labels(new_store(), ImportTarget("p"), found)


def test_exported_labels_come_back_the_same_in_a_fresh_project() -> None:
    store, first = labelled(*ROWS)
    text = labels_as(store, first, name="google").data
    second = add(store, None, Upload("back.tsv", text)).project.id
    assert labels(store, second) == labels(store, first)
    assert len(labels(store, second)) == 4
    assert labels_as(store, second, name="google").data == text


def test_errors_without_a_category_can_be_imported_and_annotated() -> None:
    line = '{"src": "s", "tgt": "a bad cat", "line_id": 1, "system": "A", "annotator": "ann", "esa_spans": [{"start_i": 2, '
    line += '"end_i": 4, "severity": "minor"}], "esa_score": 55}'
    store = new_store()
    done = add(store, None, Upload("x.jsonl", line.encode()))
    assert (done.labelled, done.notes, done.report.human_scores) == (1, (), 1)
    (r,) = rated_outputs(fold(store.labels.events(done.project.id)))
    assert [(e.quote, e.severity, e.category) for e in r.errors] == [("bad", "Minor", "Unspecified")]


def test_scores_by_rater_get_a_z_on_each_raters_own_scale() -> None:
    texts = Dataset((Segment("", "1", None),), tuple(Output(s, "", "1", s) for s in "ABC"))
    table = "system,segment,rater,DA\nA,1,ann,0\nB,1,ann,10\nC,1,ann,20\nA,1,bob,70\nB,1,bob,80\nC,1,eve,5\n"
    found = read_label_files([Upload("da.csv", table.encode())], texts=texts)
    values = {(h.name, h.system): h.value for h in found.scored.human_scores}
    # ann: mean 10, deviation 10 → −1, 0, 1; bob: mean 75, deviation √50 → ∓0.7071; eve gave one score only
    assert values["DA", "A"] == 35
    assert values["DA z", "A"] == pytest.approx((-1 - 0.70710678) / 2)
    assert values["DA z", "C"] == pytest.approx(1.0)
    own = table.replace("DA\n", "DA,z\n").replace("\nA,1,ann,0", "\nA,1,ann,0,9").replace(",10\n", ",10,\n")
    own = "\n".join(line + "," * (4 - line.count(",")) for line in own.split("\n") if line)
    again = read_label_files([Upload("da.csv", own.encode())], texts=texts)
    assert {h.name for h in again.scored.human_scores} == {"DA", "z"}


def test_conflicting_scores_in_two_files_are_a_problem() -> None:
    texts = Dataset((Segment("", "1", None),), (Output("A", "", "1", "x"),))
    files = [Upload("a.DA.seg.score", b"A 1\n"), Upload("en-de.a.DA.seg.score", b"A 2\n")]
    (problem,) = read_label_files(files, texts=texts).problems
    assert (problem.file, problem.got, problem.expected) == (
        "en-de.a.DA.seg.score",
        "“2”",
        "“1”, as in an earlier file",
    )
