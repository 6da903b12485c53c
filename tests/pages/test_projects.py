"""Imports on the Projects page over a real database, without a browser; test_project_list.py has the list of projects."""

import gzip

import pytest
from streamlit.testing.v1 import AppTest

from core.data import Dataset, Output, Segment
from core.errors import UserError
from core.formats.files import Upload
from core.formats.mapping import ColumnMapping
from core.ports.store import Store
from core.services.projects.adding import ImportTarget
from core.services.projects.importing import TablePlan
from pages._ui.projects import importing, upload
from pages._ui.projects.upload_lines import first_line
from pages._ui.projects.upload_tables import mapping_of, role_of
from pages._ui.shared import drafts
from tests.builders import small_dataset
from tests.pages.metric_boxes import MetricBoxes
from tests.pages.opened_page import button, field, press, run
from tests.pages.said import cells, words
from tests.stores import put_scores

CSV = (
    "doc_id,segment_id,source,reference,system,output,adequacy\n"
    "news,1,Die Katze 🐈,The cat,<b>A</b>,The cat 🐈,4\n"
    "news,1,Die Katze 🐈,The cat,**B**,=SUM(A1),2\n"
    "news,2,مرحبا بالعالم,Hello world,<b>A</b>,<script>alert(1)</script>,5\n"
    "news,2,مرحبا بالعالم,Hello world,**B**,Hello,3\n"
)
MQM = (
    "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity\n"
    "A\tnews\t1\t7\tann\tQuelle\ta <v>bad</v> cat\tFluency/Grammar\tMajor\n"
    "B\tnews\t1\t7\tann\tQuelle\tfine\tNo-error\tNo-error\n"
)
File = tuple[str, bytes | str]


class CancelledJob(importing.ImportJob):
    """An import that is cancelled before it begins."""

    def __init__(self, words: str, what: str = "") -> None:
        super().__init__(words, what)
        self.cancel()


def uploaded(*files: File, at: AppTest | None = None, what: str = "outputs") -> AppTest:
    """The Projects page after these files were given to it."""
    at = at or run("projects")
    at.button(key=f"begin-{what}").click().run()
    given = [(name, data.encode() if isinstance(data, str) else data, "text/plain") for name, data in files]
    at.file_uploader[0].set_value(given).run()
    return at


def test_a_csv_is_imported_word_for_word_and_scored(store: Store) -> None:
    at = run("projects")
    assert [h.value for h in at.subheader] == ["Open the sample", "Upload outputs", "Import labels"]
    assert not at.error
    at = uploaded(("pilot <b>1.csv", CSV), at=at)
    assert "**2 segments × 2 systems, 1 reference, 1 human score**; no problems." in words(at)
    assert at.dataframe[0].value["output"].tolist() == ["The cat 🐈", "=SUM(A1)", "<script>alert(1)</script>", "Hello"]
    at = press(at, "Import 2 segments × 2 systems into “pilot <b>1”")
    (project,) = store.projects.list()
    assert project.name == "pilot <b>1"
    assert project.systems == ("<b>A</b>", "**B**")
    assert project.human_scores == ("adequacy",)
    assert [o.text for o in store.projects.dataset(project.id).outputs] == [
        "The cat 🐈", "=SUM(A1)", "<script>alert(1)</script>", "Hello",
    ]  # fmt: skip
    assert at.query_params["project"] == str(project.id)
    assert "New: 2 segments, 4 outputs, 2 references and 4 human scores." in words(at)
    assert primary(at) == ["Compute scores"]
    drawn = [getattr(element, "label", "") or element.type for element in at.main]
    button = next(i for i, text in enumerate(drawn) if text.startswith("Compute scores ("))
    assert button < drawn.index(next(iter(MetricBoxes(at).boxes.values())).label), drawn
    store.jobs.enqueue(project.id, ["chrf"], timing=True)
    assert primary(at.run()) == ["Compute scores"]
    MetricBoxes(at).set_value(["chrf"]).run()
    at.button(key=f"score-{project.id}").click().run()
    assert [j.metrics for j in store.jobs.recent(project.id)][0] == ("chrf",)
    assert primary(at) == ["Evaluate metrics"]


def primary(at: AppTest) -> list[str]:
    """The labels of the primary buttons outside of forms."""
    return [b.label.split(" (")[0] for b in at.button if b.proto.type == "primary" and not b.proto.form_id]


def test_more_of_a_project_is_added_and_other_texts_are_refused(store: Store) -> None:
    at = uploaded(("p.csv", CSV), at=press(uploaded(("p.csv", CSV)), "Import"))
    assert any(t.value.startswith("Nothing is new. Unchanged") for t in at.text)
    assert button(at, "Add nothing to “p”").disabled

    at = uploaded(("q.csv", CSV.replace("The cat 🐈", "A dog")))
    (project,) = store.projects.list()
    into = field(at, "Import into")
    assert into.value == project.id
    assert "Cannot add to this project" in at.error[0].value
    (row,) = cells(at.table[-1])
    assert "A dog" in row[1]
    assert button(at, "Add to").disabled

    head, *rows = CSV.splitlines()
    more = "\n".join([head, *(r.replace("**B**", "C") for r in rows if "**B**" in r)]).replace("=SUM(A1)", "A cat")
    press(uploaded(("more.csv", more)), "Add 2 outputs and 2 human scores to “p”")
    (project,) = store.projects.list()
    assert project.systems == ("<b>A</b>", "**B**", "C")
    assert project.n_segments == 2


def test_a_name_that_is_taken_is_refused_and_files_are_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.projects.create("p")
    at = uploaded(("p.csv", CSV))
    name = field(at, "Name of the new project")
    assert name.value == "p 2"
    at = name.set_value("p").run()
    assert "already" in at.warning[0].value
    assert button(at, "Import 2").disabled

    store.projects.delete(store.projects.list()[0].id)
    at = uploaded(("p.csv", CSV))
    project = store.projects.create("p").id  # somebody else takes the name between the preview and the button

    def known_before(ready: upload.ReadyUpload, projects: object, current: object) -> importing.ImportOffer:
        return importing.ImportOffer(ImportTarget("p"), "Import now", True)

    monkeypatch.setattr(importing, "offer", known_before)
    at = press(at.run(), "Import now")
    assert "there is a project" in at.error[0].value.lower()
    assert "no problems" in words(at)
    assert [p.n_outputs for p in store.projects.list()] == [0]
    seen: list[int] = []

    def fail(*args: object) -> None:
        raise UserError("the disk is full")

    monkeypatch.setattr(
        importing, "offer", lambda *args: importing.ImportOffer(ImportTarget("p", project), "Import now", True)
    )
    monkeypatch.setattr(importing.adding, "add", fail)
    monkeypatch.setattr(importing.wiring, "changed", seen.append)
    at = press(at.run(), "Import now")
    assert "disk is full" in at.error[0].value
    assert seen == [project], "what is cached of the project is not read again"


def test_what_cannot_be_imported_says_why_and_changes_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    at = uploaded(("p.csv", CSV + "news,3,x,y,A\nnews,3,x,y,B\n"))
    assert "2 problems" in at.error[0].value
    assert [row[:3] for row in cells(at.table[-1])] == [["p.csv", "6", "5 fields"], ["p.csv", "7", "5 fields"]]
    assert not [b for b in at.button if b.label.startswith("Import 2")]
    press(at, "Choose other files")
    assert not at.error
    assert at.file_uploader[0].value == []
    at = uploaded(("hyp.txt", "a\n" * 98), ("ref.txt", "b\n" * 100))
    (row,) = cells(at.table[-1])
    assert row == ["hyp.txt", "98 lines", "100, as ref.txt has", "Each output needs one reference line"]

    for name, data, found in [
        ("x.csv", b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00}\x94.", "a Python pickle"),
        ("x.csv", b"PK\x03\x04 xl/workbook.xml", "an Excel workbook"),
        ("x.csv", b"", "an empty file"),
        ("x.txt", b"", "an empty file"),
        ("x.csv", "a,b\né,1\n".encode("latin-1"), "byte 0xE9 at offset 4, which is not UTF-8"),
    ]:
        at = uploaded((name, data))
        assert len(at.error) == 1, found
        assert found in [cell for row in cells(at.table[-1]) for cell in row]

    at = uploaded(("p.csv", CSV))

    monkeypatch.setattr(importing, "ImportJob", CancelledJob)
    at = press(at.run(), "Import ")
    assert any("Nothing was changed" in info.value for info in at.info)
    assert store.projects.list() == []
    monkeypatch.setattr(drafts, "LARGEST", 10)
    at = uploaded(("my p.csv", CSV))
    assert "too much for an upload" in at.warning[0].value
    assert at.code[0].value == "errorscope projects import 'my p.csv' --name 'my p'"
    assert not [b for b in at.button if b.label.startswith("Import")]


def test_columns_and_line_files_get_the_roles_chosen(store: Store) -> None:
    at = uploaded(("p.csv", CSV))
    by_label = {s.label: s for s in at.selectbox}
    at = by_label["Role of column reference"].set_value("source").run()
    (row,) = cells(at.table[-1])
    assert row == ["p.csv", "1", "source, reference", "2 columns", "one Source", "Choose one of them above"]

    at = uploaded(("t.csv", "key,what,said\n1,Frage,answer one\n2,Frage 2,answer two\n"))
    layout = field(at, "Each row is")
    assert layout.value == "wide"
    at = layout.set_value("long").run()
    by_label = {s.label: s for s in at.selectbox}
    by_label["Role of column key"].set_value("segment")
    by_label["Role of column what"].set_value("source")
    by_label["Role of column said"].set_value("output")
    at = at.run()
    press(at, "Import 2 segments × 1 system into “t”")
    (project,) = store.projects.list()
    data = store.projects.dataset(project.id)
    assert data.systems == ("t",)
    assert [(s.segment_id, s.source) for s in data.segments] == [("1", "Frage"), ("2", "Frage 2")]
    store.projects.delete(project.id)

    text = "id,source,A,B,A_quality,B_quality,q2\n1,Frage,eins,zwei,3,4,5\n2,Wort,drei,vier,1,2,4\n"
    at = uploaded(("w.csv", text))
    by_label = {s.label: s for s in at.selectbox}
    assert by_label["Role of column A_quality"].value == "human of A"
    assert by_label["Role of column q2"].value == "unused"
    assert "Human score of B" in by_label["Role of column q2"].options
    at = by_label["Role of column q2"].set_value("human of B").run()
    names = [t for t in at.text_input if t.label.startswith("Name of the human score")]
    assert [t.value for t in names] == ["quality", "quality", "q2"]
    at = names[-1].set_value("fluency").run()
    press(at, "Import 2 segments × 2 systems")
    (project,) = store.projects.list()
    scores = [(h.system, h.name, h.value) for h in store.projects.dataset(project.id).human_scores][:3]
    assert scores == [("A", "quality", 3), ("B", "quality", 4), ("B", "fluency", 5)]
    store.projects.delete(project.id)

    head = "segment_id,source,output\n"
    at = uploaded(("a.csv", head + "1,x,one\n"), ("b.csv", head + "1,x,two\n"))
    assert len([s for s in at.selectbox if s.label.startswith("Role of column")]) == 3
    press(at, "Import 1 segment × 2 systems")
    assert store.projects.list()[0].systems == ("a", "b")

    store.projects.delete(store.projects.list()[0].id)
    at = uploaded(("one.txt", "a\nb\n"), ("two.txt", "c\n\u2028d\n"))
    roles = [s for s in at.selectbox if s.label.startswith("Role of ")]
    at = roles[1].set_value("reference").run()
    at = next(t for t in at.text_input if "one" in t.label).set_value("my system").run()
    press(at, "Import 2 segments × 1 system into “one”")
    data = store.projects.dataset(store.projects.list()[0].id)
    assert data.systems == ("my system",)
    assert [s.references for s in data.segments] == [("c",), ("\u2028d",)]


def test_roles_previews_and_first_lines_are_read_from_files() -> None:
    long = ColumnMapping("long", "d", "s", "src", ("r1", "r2"), "sys", "out", human_scores=("h1", "h2"))
    wide = ColumnMapping("wide", "d", "s", "src", ("r1",), systems=("a", "b"))
    for mapping in (long, wide):
        columns = (*mapping.columns(), "other")
        plan = TablePlan("t.csv", columns, ("",) * len(columns), mapping)
        roles = [role_of(mapping, c) for c in columns]
        assert mapping_of(plan, mapping.layout, roles, "") == (mapping, [])

    data = Dataset((Segment("", "1", None, ("r" * 400, "s")),), (Output("A", "", "1", "x"),))
    (row,) = upload.first_rows(data)
    assert row == {"segment": "1", "system": "A", "output": "x", "reference 1": "r" * 300 + "…", "reference 2": "s"}
    assert first_line(Upload("a.txt", "\n\n 😀 first\nsecond".encode())) == "😀 first"
    assert first_line(Upload("a.gz", gzip.compress(b"zipped\n" * 10**6))) == "zipped"
    assert first_line(Upload("a.gz", b"\x1f\x8bbroken")) == ""
    assert first_line(Upload("a.txt", b"\x80\x04.")) == "(a Python pickle)"


NEWSROOM = (
    "ArticleID,System,ArticleText,SystemSummary,ArticleTitle,CoherenceRating,FluencyRating\n"
    + "".join(
        f"{a},{s},The long story number {a} of the day,Summary {a} by {s}.,Title {a},{r},{6 - r}\n"
        for a in (4123, 4377, 5012) for s in ("lede3", "pointer") for r in (2, 3, 4)
    )
)  # fmt: skip


def test_columns_are_told_from_their_words_and_warnings_counted(store: Store) -> None:
    at = uploaded(("newsroom.csv", NEWSROOM))
    assert "2 · How the file was read" in [s.value for s in at.subheader]
    assert "named like a fact about the row" in words(at)
    roles = [s.value for s in at.selectbox if s.label.startswith("Role of column")]
    assert roles == ["segment", "system", "source", "output", "unused", "human_scores", "human_scores"]
    assert (
        "**3 segments × 2 systems, no references, 2 human scores, means of several ratings**; no errors, 3 warnings."
        in words(at)
    )
    assert "3 warnings" in at.expander[0].label
    said = words(at)
    assert "No segment has a reference" in said
    assert "rated several times (12 further rows)" in said
    press(at, "Import 3 segments × 2 systems")
    (project,) = store.projects.list()
    assert {h.value for h in store.projects.dataset(project.id).human_scores} == {3.0}


def test_the_open_project_names_its_next_step_and_leads_there(store: Store) -> None:
    press(uploaded(("p.csv", CSV)), "Import")
    (project,) = store.projects.list()
    at = run("projects", project.id)
    assert "**What next:** No metric has been computed yet" in words(at)
    assert "Upload → **Score** → :material/check: Label (human scores imported) → Calibrate λ → Evaluate" in words(at)
    assert not any(b.key == f"next-people-{project.id}" for b in at.button), "there are human scores"
    at.button(key=f"next-{project.id}").click().run()
    assert at.title[0].value == "Compare"
    plain = store.projects.create("without human scores").id
    store.projects.add(plain, small_dataset(3))
    at = run("projects", plain)
    assert ":material/check: Upload → **Score** → Label → Calibrate λ → Evaluate" in words(at)
    at.button(key=f"next-people-{plain}").click().run()
    assert at.title[0].value == "Campaigns"
    assert "Which outputs are rated?" in [s.value for s in at.subheader]
    put_scores(store, project.id, "chrf")
    at = run("projects", project.id)
    assert ":material/check: Label (human scores imported) → Calibrate λ → **Evaluate**" in words(at)


ESA = (
    '{"line_id": 0, "src": "Quelle", "tgt": "😀 a bad cat", "doc_id": "d", "system": "A", "annotator": "ann", "esa_score": 70, '
    '"esa_spans": [{"start_i": 5, "end_i": 7, "severity": "major", "error_type": null}]}\n'
)


def test_labels_and_scores_are_added_to_their_outputs_once(store: Store) -> None:
    at = uploaded(("en-de.DA.seg.score", "A 70\n"), what="labels")
    assert "Import the outputs first, then this file" in at.warning[0].value
    at = uploaded(("wmt.tsv", MQM), what="labels")
    at = press(at, "Import 1 segment × 2 systems, labels of 2 outputs by 1 rater into “wmt”")
    (project,) = store.projects.list()
    before = store.labels.events(project.id)
    assert [e.rater for e in before] == ["ann"] * len(before)
    assert {e.action.kind for e in before} == {"add", "verdict", "submit"}
    assert "Labels of 2 outputs" in at.success[0].value
    at = uploaded(("wmt.tsv", MQM), at=at, what="labels")
    at = press(at, "Add labels of 2 outputs by 1 rater to “wmt”")
    assert store.labels.events(project.id) == before
    assert "Nothing is new" in at.success[0].value

    at = uploaded(("en-de.DA.seg.score", "A 70\nB None\n"), what="labels")
    press(at, "Add 1 human score to “wmt”")
    assert [h[:5] for h in store.projects.dataset(project.id).human_scores] == [("A", "news", "7", "DA", 70.0)]
    at = uploaded(("ratings.csv", "system,doc,seg,rater,adequacy\nA,news,7,x,3\nA,news,7,y,4\n"), what="labels")
    assert next(s for s in at.selectbox if s.label.startswith("Format of")).value == "judgements"
    press(at, "Add 2 judgements to “wmt”")
    assert (store.projects.get(project.id).human_scores, store.projects.get(project.id).judged) == (
        ("DA",),
        ("adequacy",),
    )
    again = uploaded(("ratings.csv", "system,doc,seg,rater,adequacy\nA,news,7,x,5\n"), what="labels")
    assert "Cannot add to this project" in again.error[0].value
    assert "“adequacy” by “x” for A / news / 7" in cells(again.table[-1])[0]


def test_a_format_is_recognised_or_chosen(store: Store) -> None:
    at = uploaded(("labels.txt", '{"nothing": "known"}\n' + ESA), what="labels")
    format_of = next(s for s in at.selectbox if s.label.startswith("Format of"))
    assert format_of.value == "google"
    assert "Not recognized: labels.txt. Choose the format." in words(at)
    at = format_of.set_value("esa").run()
    assert ["labels.txt", "1", "system", "nothing"] in [row[:4] for row in cells(at.table[-1])]
    for what in ("labels", "outputs"):
        at = uploaded(("esa.jsonl", ESA), what=what)
        format_of = next(s for s in at.selectbox if s.label.startswith("Format of"))
        assert format_of.value == "esa"
    press(at, "Import 1 segment × 1 system, labels of 1 output by 1 rater, 1 human score (ESA) into “esa”")
    (project,) = store.projects.list()
    assert project.human_scores == ("ESA",)
    (mark,) = [e.action.payload for e in store.labels.events(project.id) if e.action.kind == "add"]
    assert (mark["quote"], mark["severity"], mark["category"]) == ("bad", "Major", "Unspecified")
