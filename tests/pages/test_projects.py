"""Imports on the Projects page over a real database, without a browser; test_project_list.py has the list of projects."""

import gzip

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button

from core.data import Dataset, Output, Segment, Value
from core.errors import UserError
from core.formats.files import Upload
from core.formats.mapping import ColumnMapping
from core.ports.store import Store
from core.services.projects.adding import ImportTarget
from core.services.projects.importing import TablePlan
from core.signature import content_key
from pages._ui.projects import import_offer, importing, upload
from pages._ui.projects.upload_columns import mapping_of, role_of
from pages._ui.projects.upload_lines import first_line
from tests.pages.test_shell import run, store

__all__ = ["store"]
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


def uploaded(*files: File, at: AppTest | None = None, what: str = "outputs") -> AppTest:
    """The Projects page after these files were given to it."""
    at = at or run("projects")
    at.button(key=f"begin-{what}").click().run()
    given = [(name, data.encode() if isinstance(data, str) else data, "text/plain") for name, data in files]
    at.file_uploader[0].set_value(given).run()
    assert not at.exception
    return at


def button(at: AppTest, begins: str) -> Button:
    """The first button whose label, escapes taken away, begins so."""
    return next(b for b in at.button if b.label.replace("\\", "").startswith(begins))


def press(at: AppTest, begins: str) -> AppTest:
    found = button(at, begins)
    assert not found.disabled
    at = found.click().run()
    assert not at.exception
    return at


def table(at: AppTest) -> list[list[str]]:
    """The cells of the last table to read, escapes taken away."""
    return [[str(cell).replace("\\", "") for cell in row] for row in at.table[-1].value.to_numpy().tolist()]


def texts(at: AppTest) -> str:
    return "\n".join(str(e.value) for kind in (at.markdown, at.text, at.caption, at.success) for e in kind)


def test_the_first_visit_offers_three_ways_to_begin(store: Store) -> None:
    at = run("projects")
    assert [h.value for h in at.subheader] == ["Open the sample", "Upload outputs", "Import labels"]
    assert not at.error


def test_a_csv_with_emoji_rtl_html_and_formulas_is_imported_word_for_word(store: Store) -> None:
    at = uploaded(("pilot <b>1.csv", CSV))
    assert "**2 segments × 2 systems, 1 reference, 1 human score**; no problems." in texts(at)
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
    assert "New: 2 segments, 4 outputs, 2 references and 4 human scores." in at.success[0].value.replace("\\", "")


def test_what_was_imported_can_be_scored_at_once(store: Store) -> None:
    at = press(uploaded(("p.csv", CSV)), "Import")
    (project,) = store.projects.list()
    at.multiselect(key=next(m.key for m in at.multiselect if m.key and m.key.startswith("metrics-"))).set_value(
        ["chrf"]
    ).run()
    at.button(key=f"score-{project.id}").click().run()
    assert [j.metrics for j in store.jobs.recent(project.id)] == [("chrf",)]


def test_the_same_file_again_goes_to_the_open_project_and_offers_nothing(store: Store) -> None:
    at = uploaded(("p.csv", CSV), at=press(uploaded(("p.csv", CSV)), "Import"))
    assert any(t.value.startswith("Nothing is new. Unchanged") for t in at.text)
    assert button(at, "Add nothing to “p”").disabled


def test_a_system_is_added_to_the_open_project(store: Store) -> None:
    at = press(uploaded(("p.csv", CSV)), "Import")
    head, *rows = CSV.splitlines()
    more = "\n".join([head, *(r.replace("**B**", "C") for r in rows if "**B**" in r)]).replace("=SUM(A1)", "A cat")
    at = press(uploaded(("more.csv", more), at=at), "Add 2 outputs and 2 human scores to “p”")
    (project,) = store.projects.list()
    assert project.systems == ("<b>A</b>", "**B**", "C")
    assert project.n_segments == 2


def test_other_texts_under_the_same_names_cannot_be_added(store: Store) -> None:
    at = press(uploaded(("p.csv", CSV)), "Import")
    (project,) = store.projects.list()
    at = uploaded(("q.csv", CSV.replace("The cat 🐈", "A dog")), at=at)
    into = next(s for s in at.selectbox if s.label == "Import into")
    assert into.value == project.id
    assert "Cannot add to this project" in at.error[0].value
    (row,) = table(at)
    assert "A dog" in row[1]
    assert button(at, "Add to").disabled


def test_a_name_that_is_taken_is_said_before_the_button_is_pressed(store: Store) -> None:
    store.projects.create("p")
    at = uploaded(("p.csv", CSV))
    name = next(t for t in at.text_input if t.label == "Name of the new project")
    assert name.value == "p 2"
    at = name.set_value("p").run()
    assert "already" in at.warning[0].value
    assert button(at, "Import 2").disabled


def test_problems_come_as_a_table_and_nothing_can_be_imported(store: Store) -> None:
    at = uploaded(("p.csv", CSV + "news,3,x,y,A\nnews,3,x,y,B\n"))
    assert "2 problems" in at.error[0].value
    assert [row[:3] for row in table(at)] == [["p.csv", "6", "5 fields"], ["p.csv", "7", "5 fields"]]
    assert not [b for b in at.button if b.label.startswith("Import 2")]


@pytest.mark.parametrize(
    ("name", "data", "found"),
    [
        ("x.csv", b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00}\x94.", "a Python pickle"),
        ("x.csv", b"PK\x03\x04 xl/workbook.xml", "an Excel workbook"),
        ("x.csv", b"", "an empty file"),
        ("x.txt", b"", "an empty file"),
        ("x.csv", "a,b\né,1\n".encode("latin-1"), "byte 0xE9 at offset 4, which is not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_what_it_is(store: Store, name: str, data: bytes, found: str) -> None:
    at = uploaded((name, data))
    assert len(at.error) == 1
    assert found in [cell for row in table(at) for cell in row]


def test_line_files_of_different_length_are_named_with_both_lengths(store: Store) -> None:
    at = uploaded(("hyp.txt", "a\n" * 98), ("ref.txt", "b\n" * 100))
    (row,) = table(at)
    assert row == ["hyp.txt", "98 lines", "100, as ref.txt has", "Each output needs one reference line"]


def test_line_files_are_imported_with_the_roles_chosen_by_hand(store: Store) -> None:
    at = uploaded(("one.txt", "a\nb\n"), ("two.txt", "c\n\u2028d\n"))
    roles = [s for s in at.selectbox if s.label.startswith("Role of ")]
    at = roles[1].set_value("reference").run()
    at = next(t for t in at.text_input if "one" in t.label).set_value("my system").run()
    press(at, "Import 2 segments × 1 system into “one”")
    data = store.projects.dataset(store.projects.list()[0].id)
    assert data.systems == ("my system",)
    assert [s.references for s in data.segments] == [("c",), ("\u2028d",)]


def test_columns_can_be_mapped_by_hand(store: Store) -> None:
    at = uploaded(("t.csv", "key,what,said\n1,Frage,answer one\n2,Frage 2,answer two\n"))
    by_label = {s.label: s for s in at.selectbox}
    layout = next(r for r in at.radio if r.label == "Each row is")
    assert layout.value == "wide"
    at = layout.set_value("long").run()
    by_label = {s.label: s for s in at.selectbox}
    by_label["Role of column key"].set_value("segment")
    by_label["Role of column what"].set_value("source")
    by_label["Role of column said"].set_value("output")
    at = at.run()
    press(at, "Import 2 segments × 1 system into “t”")
    data = store.projects.dataset(store.projects.list()[0].id)
    assert data.systems == ("t",)
    assert [(s.segment_id, s.source) for s in data.segments] == [("1", "Frage"), ("2", "Frage 2")]


def test_two_columns_in_a_role_for_one_are_a_problem(store: Store) -> None:
    at = uploaded(("p.csv", CSV))
    by_label = {s.label: s for s in at.selectbox}
    at = by_label["Role of column reference"].set_value("source").run()
    (row,) = table(at)
    assert row == ["p.csv", "1", "source, reference", "2 columns", "one Source", "Choose one of them above"]


def test_tables_with_the_same_columns_are_mapped_once(store: Store) -> None:
    head = "segment_id,source,output\n"
    at = uploaded(("a.csv", head + "1,x,one\n"), ("b.csv", head + "1,x,two\n"))
    assert len([s for s in at.selectbox if s.label.startswith("Role of column")]) == 3
    press(at, "Import 1 segment × 2 systems")
    assert store.projects.list()[0].systems == ("a", "b")


def test_an_import_that_fails_says_why_and_keeps_the_files(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    at = uploaded(("p.csv", CSV))
    store.projects.create("p")  # somebody else takes the name between the preview and the button

    def known_before(ready: upload.ReadyUpload, projects: object, current: object) -> import_offer.ImportOffer:
        return import_offer.ImportOffer(ImportTarget("p"), "Import now", True)

    monkeypatch.setattr(import_offer, "offer", known_before)
    at = press(at.run(), "Import now")
    assert "there is a project" in at.error[0].value.lower()
    assert "no problems" in texts(at)
    assert [p.n_outputs for p in store.projects.list()] == [0]


def test_what_is_cached_of_a_project_is_read_again_after_an_import_that_failed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = uploaded(("p.csv", CSV))
    project = store.projects.create("p").id
    seen: list[int] = []

    def fail(*args: object) -> None:
        raise UserError("the disk is full")

    monkeypatch.setattr(
        import_offer, "offer", lambda *args: import_offer.ImportOffer(ImportTarget("p", project), "Import now", True)
    )
    monkeypatch.setattr(importing.adding, "add_staged", fail)
    monkeypatch.setattr(importing.wiring, "changed", seen.append)
    at = press(at.run(), "Import now")
    assert "disk is full" in at.error[0].value
    assert seen == [project]


def test_an_upload_that_is_too_large_names_the_command(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload, "LARGEST", 10)
    at = uploaded(("my p.csv", CSV))
    assert "too much for an upload" in at.warning[0].value
    assert at.code[0].value == "python -m core projects import 'my p.csv' --name 'my p'"
    assert not [b for b in at.button if b.label.startswith("Import")]


def test_a_cancelled_import_changes_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    at = uploaded(("p.csv", CSV))

    class CancelledJob(importing.ImportJob):
        def __init__(self, words: str) -> None:
            super().__init__(words)
            self.cancel()

    monkeypatch.setattr(importing, "ImportJob", CancelledJob)
    at = press(at.run(), "Import ")
    assert any("Nothing was changed" in info.value for info in at.info)
    assert store.projects.list() == []


def test_every_role_survives_the_way_through_the_screen() -> None:
    long = ColumnMapping("long", "d", "s", "src", ("r1", "r2"), "sys", "out", human_scores=("h1", "h2"))
    wide = ColumnMapping("wide", "d", "s", "src", ("r1",), systems=("a", "b"))
    for mapping in (long, wide):
        columns = (*mapping.columns(), "other")
        plan = TablePlan("t.csv", columns, ("",) * len(columns), mapping)
        roles = [role_of(mapping, c) for c in columns]
        assert mapping_of(plan, mapping.layout, roles, "") == (mapping, [])


def test_the_preview_cuts_long_texts_and_shows_each_reference() -> None:
    data = Dataset((Segment("", "1", None, ("r" * 400, "s")),), (Output("A", "", "1", "x"),))
    (row,) = upload.first_rows(data)
    assert row == {"segment": "1", "system": "A", "output": "x", "reference 1": "r" * 300 + "…", "reference 2": "s"}


def test_the_first_line_of_a_file_is_read_without_reading_the_file() -> None:
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


def test_columns_are_told_from_their_words_and_odd_things_are_counted(store: Store) -> None:
    at = uploaded(("newsroom.csv", NEWSROOM))
    roles = [s.value for s in at.selectbox if s.label.startswith("Role of column")]
    assert roles == ["segment", "system", "source", "output", "unused", "human_scores", "human_scores"]
    assert (
        "**3 segments × 2 systems, no references, 2 human scores, means of several ratings**; no errors, 2 warnings."
        in texts(at)
    )
    assert "2 warnings" in at.expander[0].label
    said = texts(at)
    assert "No segment has a reference" in said
    assert "rated several times (12 further rows)" in said
    press(at, "Import 3 segments × 2 systems")
    (project,) = store.projects.list()
    assert {h.value for h in store.projects.dataset(project.id).human_scores} == {3.0}


def test_after_files_with_problems_others_can_be_chosen(store: Store) -> None:
    at = uploaded(("p.csv", CSV + "news,3,x,y,A\n"))
    press(at, "Choose other files")
    assert not at.error
    assert at.file_uploader[0].value == []


def test_the_open_project_names_its_next_step_and_leads_there(store: Store) -> None:
    press(uploaded(("p.csv", CSV)), "Import")
    (project,) = store.projects.list()
    at = run("projects", project=str(project.id))
    assert "**What next:** No metric has been computed yet" in texts(at)
    assert ":material/check: Upload → **Score** → Label → Calibrate λ → Evaluate" in texts(at)
    at.button(key=f"next-{project.id}").click().run()
    assert not at.exception
    assert at.title[0].value == "Compare"


def test_from_outputs_without_scores_a_human_evaluation_can_be_set_up(store: Store) -> None:
    press(uploaded(("p.csv", CSV)), "Import")
    (project,) = store.projects.list()
    at = run("projects", project=str(project.id))
    at.button(key=f"next-people-{project.id}").click().run()
    assert not at.exception
    assert at.title[0].value == "Campaigns"
    assert "Which outputs are rated?" in [s.value for s in at.subheader]


def test_what_next_says_that_human_scores_were_imported(store: Store) -> None:
    at = press(uploaded(("p.csv", CSV)), "Import")
    (project,) = store.projects.list()
    values = {content_key(*item): Value(1.0) for _, item in store.projects.dataset(project.id).items()}
    store.scores.put("chrf", "chrf|v:1", values, 1.0)
    assert ":material/check: Label (human scores imported) → Calibrate λ → **Evaluate**" in texts(at.run())


def test_an_import_is_followed_by_one_primary_button(store: Store) -> None:
    def primary(at: AppTest) -> list[str]:
        return [b.label.split(" (")[0] for b in at.button if b.proto.type == "primary" and not b.proto.form_id]

    at = press(uploaded(("p.csv", CSV)), "Import")
    (project,) = store.projects.list()
    assert primary(at) == ["Compute scores"]
    store.jobs.enqueue(project.id, ["chrf"], timing=True)
    assert primary(at.run()) == ["Compute scores"]
    at.button(key=f"score-{project.id}").click().run()
    assert primary(at) == ["Evaluate metrics"]
