"""`spans import`, `spans export` and `spans score`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from core.data import Dataset, Output, OutputKey, Segment, Span
from core.ports.store import Store
from core.services.spans.layers import add_layer, load_layer
from core.spans.layers import LayerSpan
from tests.builders import small_dataset
from tests.cli.program import read_table, status_of

TEXT = "ten chars. and ten more chars."
Run = Callable[..., tuple[int, list[str], str]]


@pytest.fixture
def run(database: str, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command; return the exit status, the lines on stdout, and stderr."""

    def run(*arguments: object) -> tuple[int, list[str], str]:
        ended = status_of("spans", "--database", database, *map(str, arguments), quiet=False)
        said = capsys.readouterr()
        return ended, said.out.splitlines(), said.err

    return run


def test_error_spans_go_into_a_project_and_out_again(run: Run, store: Store, tmp_path: Path) -> None:
    project = store.projects.create("news").id
    store.projects.add(project, small_dataset())
    marked = {"start": 2, "end": 8, "text": "output", "severity": "critical", "confidence": 0.5}
    records = [
        {"src": "source 0", "mt": "A output 0", "errors": [marked, marked | {"end": 99}]}, {"src": "source 0", "mt": "B output 0", "errors": []},
        {"src": "source 9", "mt": "A output 9", "errors": []},
    ]  # fmt: skip
    file, left_out, out = tmp_path / "xcomet.json", tmp_path / "left.csv", tmp_path / "out.jsonl"
    file.write_text(json.dumps({"A": records}), encoding="utf-8")
    ended, said, notes = run("import", "news", file, "--name", "xCOMET", "--left-out", left_out)
    assert (ended, said) == (0, ["xCOMET (xCOMET JSON): 2 outputs examined, 1 error span, 1 without an error"])
    for note in ("left out: 1 × offsets outside the text", "left out: 1 × the project does not have the output", "note: 2 × critical errors, read as Major"):  # fmt: skip
        assert note in notes
    assert [row["reason"] for row in read_table(left_out)] == [
        "offsets outside the text",
        "the project does not have the output",
    ]
    layer = load_layer(store, project, "file:xCOMET")
    assert (layer.provenance["file"], len(layer.provenance["sha256"]), layer.left_out) == ("xcomet.json", 64, {"offsets outside the text": 1, "the project does not have the output": 1})  # fmt: skip
    assert run("export", "news") == (0, ["file:xCOMET: xCOMET, 2 outputs"], "")
    assert run("export", "news", "xCOMET", "jsonl", out)[0] == 0
    assert run("import", "news", out, "--name", "again")[0] == 0
    assert load_layer(store, project, "file:again").spans == layer.spans
    assert [entry.act for entry in store.audit.entries(project)] == [
        "span layer imported",
        "exported",
        "span layer imported",
    ]
    for arguments, message in (
        (("import", "news", file, "--name", "xCOMET"), "error: there is a span layer “xCOMET” already"),
        (("import", "news", left_out), "error: left.csv: the format of the error spans is not recognised"),
        (("export", "news", "none", "jsonl", out), "error: there is no span layer “none”"),
        (("export", "news", "xCOMET"), "error: name the format and the file to write"),
    ):
        ended, _, notes = run(*arguments)
        assert (ended, message in notes) == (2, True), notes
    assert [layer.name for layer in store.spans.list(project)] == ["xCOMET", "again"]


def line(spans: list[tuple[int, int, str]]) -> str:
    of = [{"side": "output", "start": s, "end": e, "quote": TEXT[s:e], "severity": severity, "category": "Accuracy"} for s, e, severity in spans]  # fmt: skip
    return json.dumps({"system": "A", "doc_id": "d", "segment_id": "1", "spans": of}) + "\n"


def test_files_and_layers_are_compared(run: Run, store: Store, tmp_path: Path) -> None:
    """The worked example of the measures: mpp .836, WMT25 .615."""
    outputs, gold, judge = tmp_path / "outputs.csv", tmp_path / "gold.jsonl", tmp_path / "judge.jsonl"
    outputs.write_text(
        f"system,doc_id,segment_id,source,hypothesis\nA,d,1,quelle,{TEXT}\nB,d,1,quelle,other\n", encoding="utf-8"
    )
    gold.write_text(line([(0, 10, "Major"), (20, 24, "Minor")]), encoding="utf-8")
    judge.write_text(line([(4, 12, "Major"), (20, 24, "Major")]), encoding="utf-8")
    table, report = tmp_path / "out.csv", tmp_path / "out.json"
    files = ("score", judge, "--gold", gold, "--outputs", outputs)
    ended, said, _ = run(*files, "--out", table)
    assert (ended, said[0].startswith("judge agrees with gold: mpp, micro F .836.")) == (0, True), said
    rows = {(row["part"], row["layer"]): row for row in read_table(table)}
    assert float(rows["", "judge"]["precision"]) == pytest.approx(0.875)
    assert ("", "Every word marked") in rows
    assert run(*files, "--measure", "wmt25", "--out", report)[0] == 0
    done = json.loads(report.read_text(encoding="utf-8"))
    assert done["rows"][0]["f"] == pytest.approx(16 / 26)
    assert {f["measure"] for f in done["f_by_measure"]} == {"mpp", "em", "mp", "wmt25"}

    project, key = store.projects.create("news").id, OutputKey("A", "d", "1")
    store.projects.add(project, Dataset((Segment("d", "1", "quelle"),), (Output("A", "d", "1", TEXT),)))
    for name, start in (("gold", 0), ("near", 1)):
        add_layer(store, project, name, {key: [LayerSpan(Span("output", start, 10, TEXT[start:10], "Major", "Accuracy"))]}, {}, {})  # fmt: skip
    of_project = ("score", "--project", "news", "--out", table)
    ended, said, _ = run(*of_project, "--gold", "gold")
    assert (ended, said[0].startswith("near agrees with gold: mpp, micro F .947")) == (0, True), said  # P 9/9, R 9/10
    for arguments, message in (
        (of_project, "the project has no annotators"),
        ((*of_project, "--gold", "none"), "there is no span layer “none”"),
        (("score", judge, "--gold", gold, "--out", table), "name either a project or the outputs"),
        (("score", "--gold", gold, "--outputs", outputs, "--out", table), "no error spans to compare"),
    ):
        ended, _, notes = run(*arguments)
        assert (ended, message in notes) == (2, True), notes
