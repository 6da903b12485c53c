"""What follows from the numbers of single raters, and how they come into a project and leave it."""

from collections.abc import Callable, Iterator, Sequence

import pytest

from core.data import Dataset, HumanScore, Judgement, Output, OutputKey, Segment
from core.errors import ImportProblems, UserError
from core.formats.files import Upload
from core.formats.labels.judgements import each_csv_line, each_jsonl_line, read_judgements
from core.formats.labels.label_file import Severities
from core.ports.store import Store
from core.services.calibrate.calibration import from_judgements
from core.services.labels import judgements
from core.services.projects.adding import ImportTarget
from core.services.projects.label_import import import_labels, read_label_files

TEXTS = Dataset(
    (Segment("", "1", "s"), Segment("", "2", "t")),
    tuple(Output(system, "", n, system + n) for n in "12" for system in "ABC"),
)
DA = "system,segment,rater,score\nA,1,ann,70\nA,1,bob,80\nB,1,ann,0\nB,2,bob,60\n"
RANKS = "system\tsegment\tjudge\trank\nA\t1\tann\t1\nB\t1\tann\t2\nC\t1\tann\t2\nA\t1\tbob\t2\nB\t1\tbob\t1\n"


def given(text: str, name: str = "da.csv") -> list[Judgement]:
    return list(read_judgements(Upload(name, text.encode()), Severities(), TEXTS).judgements)


def key(system: str, segment: str = "1") -> OutputKey:
    return OutputKey(system, "", segment)


@pytest.fixture
def project(store: Store) -> int:
    made = store.projects.create("p")
    store.projects.add(made.id, TEXTS)
    return made.id


def test_the_mean_is_over_the_raters_of_an_output() -> None:
    assert judgements.scores(given(DA), "mean") == {key("A"): (75.0, 2), key("B"): (0.0, 1), key("B", "2"): (60.0, 1)}


def test_z_scores_take_out_what_each_rater_is_used_to() -> None:
    # ann: 70, 0: mean 35, deviation 70/√2, so ±1/√2; bob: 80, 60: mean 70, deviation 20/√2, so ±1/√2
    found = judgements.scores(given(DA), "z")
    assert {k: v for k, (v, _) in found.items()} == pytest.approx(
        {key("A"): 0.5**0.5, key("B"): -(0.5**0.5), key("B", "2"): -(0.5**0.5)}
    )
    assert found[key("A")][1] == 2


def test_wins_are_the_share_ranked_below_with_half_ties() -> None:
    # ann: A beats both 1; B, C: lost to A, tie with each other .25. bob: B 1, A 0
    found = judgements.scores(given(RANKS, "r.tsv"), "wins")
    assert {k.system: v for k, (v, _) in found.items()} == {"A": 0.5, "B": 0.625, "C": 0.25}


def test_equal_means_of_raters_tie_whatever_the_way() -> None:
    rows = [("A,1", 0.1, 0.7), ("B,1", 0.7, 0.1), ("C,1", 0.2, 0.6), ("A,2", 0.3, 0.5)]
    lines = [f"{output},{rater},{value}" for output, *of in rows for rater, value in zip("ab", of, strict=True)]
    text = "system,segment,rater,score\n" + "\n".join(lines)
    for way in ("mean", "z"):
        found = [value for value, _ in judgements.scores(given(text), way).values()]
        assert found[0] == found[1], way
    assert {value for value, _ in judgements.scores(given(text), "mean").values()} == {0.4}


def test_strengths_are_log_odds_per_system() -> None:
    # A is ranked before B three times of four: odds 3, log-odds ln 3 apart, mean 0
    text = "system,segment,rater,rank\n" + "".join(
        f"A,1,r{n},{1 if n else 2}\nB,1,r{n},{2 if n else 1}\n" for n in range(4)
    )
    assert judgements.strengths(given(text)) == pytest.approx(
        {"A": 0.5493061443340549, "B": -0.5493061443340549}
    )  # ln 3 / 2
    people = from_judgements(given(text), "rank", "strengths", [o.key for o in TEXTS.outputs])
    assert (people.of_systems, people.raters) == (True, ("r0", "r1", "r2", "r3"))
    assert people.scores[key("A", "2")][0] == pytest.approx(0.5493061443340549)
    assert key("C") not in people.scores
    assert people.signature == "judgements|name:rank|by:strengths|raters:4|higher:yes"


def test_judgements_give_human_scores_with_rater_counts() -> None:
    people = from_judgements(given(DA), "score", "mean", (), higher_is_better=False)
    assert people.scores[key("A")] == (-75.0, 2)
    assert (people.words, people.of_systems) == ("2 annotators (“score”)", False)


def test_a_system_that_never_lost_has_no_strength() -> None:
    with pytest.raises(UserError, match="never lost"):
        judgements.strengths(given("system,segment,rater,rank\nA,1,ann,1\nB,1,ann,2\n"))


def test_z_scores_need_several_raters_and_no_own_z() -> None:
    assert judgements.ways(given(DA)) == {"score": ("mean", "z")}
    assert judgements.ways(given("system,segment,rater,score\nA,1,ann,70\n")) == {"score": ("mean",)}
    own = given("system,segment,rater,score,z\nA,1,ann,3,1\nA,1,bob,4,2\n")
    assert judgements.ways(own) == {"score": ("mean",), "z": ("mean",)}
    assert judgements.ways(given(RANKS, "r.tsv")) == {"rank": ("wins", "strengths")}


def test_derived_scores_replace_stored_ones() -> None:
    old = Dataset(
        TEXTS.segments, TEXTS.outputs, (HumanScore(*key("A"), "score", 1.0), HumanScore(*key("C"), "score", 9.0))
    )
    found = judgements.with_scores(old, given(DA))
    by = {(h.name, OutputKey(*h[:3])): h.value for h in found.human_scores}
    assert by["score", key("A")] == 75.0
    assert by["score", key("C")] == 9.0
    assert {name for name, _ in by} == {"score", "score z"}


def test_a_file_comes_in_once_and_further_raters_add_to_it(store: Store, project: int) -> None:
    found = read_label_files([Upload("da.csv", DA.encode())], texts=TEXTS)
    assert found.summary() == "2 segments × 3 systems, 4 judgements by 2 raters (score)"
    done = import_labels(store, ImportTarget("p", project), found)
    assert (done.report.judgements, done.report.human_scores, done.project.judged) == (4, 0, ("score",))
    assert store.labels.judgements(project) == given(DA)
    again = import_labels(store, ImportTarget("p", project), found)
    assert again.report.judgements == 0
    more = read_label_files([Upload("eve.csv", b"system,segment,rater,score\nA,1,eve,0\n")], texts=TEXTS)
    assert import_labels(store, ImportTarget("p", project), more).report.judgements == 1
    assert judgements.scores(store.labels.judgements(project), "mean")[key("A")] == (50.0, 3)
    assert store.projects.dataset(project).human_scores == ()


def test_another_number_of_the_same_rater_changes_nothing_at_all(store: Store, project: int) -> None:
    import_labels(store, ImportTarget("p", project), read_label_files([Upload("da.csv", DA.encode())], texts=TEXTS))
    clash = read_label_files([Upload("b.csv", b"system,segment,rater,score\nC,1,eve,5\nA,1,ann,71\n")], texts=TEXTS)
    found = judgements.compare(store.labels.judgements(project), clash.judgements)
    assert (found.new, found.unchanged, [(p.got, p.expected) for p in found.problems]) == (1, 0, [("71", "70")])
    with pytest.raises(ImportProblems):
        import_labels(store, ImportTarget("p", project), clash)
    assert store.labels.judgements(project) == given(DA)


def test_two_files_that_contradict_each_other_are_refused() -> None:
    files = [Upload("a.csv", DA.encode()), Upload("b.csv", b"system,segment,rater,score\nA,1,ann,71\n")]
    assert [p.got for p in read_label_files(files, texts=TEXTS).problems] == ["“71”"]


@pytest.mark.parametrize(("each_line", "name"), [(each_csv_line, "j.csv"), (each_jsonl_line, "j.jsonl")])
def test_what_is_exported_adds_nothing_when_it_comes_back(
    store: Store, project: int, each_line: Callable[[Sequence[Judgement]], Iterator[str]], name: str
) -> None:
    import_labels(store, ImportTarget("p", project), read_label_files([Upload("r.tsv", RANKS.encode())], texts=TEXTS))
    back = read_label_files([Upload(name, "".join(each_line(store.labels.judgements(project))).encode())], texts=TEXTS)
    assert list(back.judgements) == store.labels.judgements(project)
    assert import_labels(store, ImportTarget("p", project), back).report.judgements == 0


def test_numbers_leave_with_their_project(store: Store, project: int) -> None:
    import_labels(store, ImportTarget("p", project), read_label_files([Upload("da.csv", DA.encode())], texts=TEXTS))
    store.projects.delete(project)
    assert store.labels.judgements(project) == []


def test_what_would_be_called_as_other_judgements_are_is_not_made() -> None:
    both = given("system,segment,rater,score,score z\nA,1,ann,70,1\nB,1,ann,60,2\nA,1,bob,80,3\nB,1,bob,60,4\n")
    assert judgements.ways(both)["score"] == ("mean",)
    names = [h.name for h in judgements.derived(both)]
    assert names.count("score z") == 2  # one for each output: the mean of the raters' own
    assert {h.value for h in judgements.derived(both) if h.name == "score z"} == {2.0, 3.0}
    assert names.count("score z z") == 2


def test_what_raters_gave_is_replaced_on_purpose_and_only_theirs(store: Store, project: int) -> None:
    both = "system,segment,rater,score,ease\nA,1,ann,70,1\nB,1,ann,60,2\nB,2,ann,50,3\nA,1,bob,80,4\n"
    import_labels(store, ImportTarget("p", project), read_label_files([Upload("da.csv", both.encode())], texts=TEXTS))
    before = store.labels.judgements(project)
    new = read_label_files(
        [Upload("b.csv", b"system,segment,rater,score\nA,1,ann,71\nB,1,ann,60\nC,1,ann,9\n")], texts=TEXTS
    )
    assert judgements.compare(before, new.judgements).clashes == ("score",)
    found = judgements.compare(before, new.judgements, ("score",))
    assert (found.new, found.unchanged, found.problems, found.clashes) == (2, 1, (), ())
    gone = judgements.replaced(before, new.judgements, ("score",))
    assert [(j.rater, j.name, j.value) for j in gone] == [("ann", "score", v) for v in (70, 60, 50)]
    report = import_labels(store, ImportTarget("p", project), new, corrected=("score",)).report
    assert report.judgements == 2
    there = {(j.key.system, j.key.segment_id, j.rater, j.name): j.value for j in store.labels.judgements(project)}
    assert there == {
        ("A", "1", "ann", "score"): 71, ("B", "1", "ann", "score"): 60, ("C", "1", "ann", "score"): 9,
        ("A", "1", "bob", "score"): 80, ("A", "1", "ann", "ease"): 1, ("B", "1", "ann", "ease"): 2,
        ("B", "2", "ann", "ease"): 3, ("A", "1", "bob", "ease"): 4,
    }  # fmt: skip


def test_a_file_that_contradicts_itself_replaces_nothing(store: Store, project: int) -> None:
    import_labels(store, ImportTarget("p", project), read_label_files([Upload("da.csv", DA.encode())], texts=TEXTS))
    twice = [Judgement(key("A"), "ann", "score", 1.0), Judgement(key("A"), "ann", "score", 2.0)]
    with pytest.raises(ImportProblems):
        store.projects.add(project, Dataset((), ()), judgements=twice, corrected=("score",))
    assert store.labels.judgements(project) == given(DA)
