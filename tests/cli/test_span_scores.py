"""`spans score`, with files and with a project."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.data import Dataset, Output, OutputKey, Segment, Span
from core.services.spans.layers import add_layer
from core.spans.layers import LayerSpan
from db.store import open_store
from tests.cli.program import read_table, status_of
from tests.templates import empty_database

TEXT = "ten chars. and ten more chars."


def line(spans: list[tuple[int, int, str]]) -> str:
    of = [{"side": "output", "start": s, "end": e, "quote": TEXT[s:e], "severity": severity, "category": "Accuracy"} for s, e, severity in spans]  # fmt: skip
    return json.dumps({"system": "A", "doc_id": "d", "segment_id": "1", "spans": of}) + "\n"


def test_files_and_layers_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The worked example of the measures: mpp .836, WMT25 .615."""
    outputs, gold, judge = tmp_path / "outputs.csv", tmp_path / "gold.jsonl", tmp_path / "judge.jsonl"
    outputs.write_text(
        f"system,doc_id,segment_id,source,hypothesis\nA,d,1,quelle,{TEXT}\nB,d,1,quelle,other\n", encoding="utf-8"
    )
    gold.write_text(line([(0, 10, "Major"), (20, 24, "Minor")]), encoding="utf-8")
    judge.write_text(line([(4, 12, "Major"), (20, 24, "Major")]), encoding="utf-8")

    def run(*arguments: object) -> tuple[int, str]:
        ended = status_of("spans", *map(str, arguments), quiet=False)
        said = capsys.readouterr()
        return ended, said.out + said.err

    table, report = tmp_path / "out.csv", tmp_path / "out.json"
    files = ("score", judge, "--gold", gold, "--outputs", outputs)
    ended, said = run(*files, "--out", table)
    assert (ended, "judge agrees with gold: mpp, micro F .836." in said) == (0, True), said
    rows = {(row["part"], row["layer"]): row for row in read_table(table)}
    assert float(rows["", "judge"]["precision"]) == pytest.approx(0.875)
    assert ("", "Every word marked") in rows
    assert run(*files, "--measure", "wmt25", "--out", report)[0] == 0
    done = json.loads(report.read_text(encoding="utf-8"))
    assert done["rows"][0]["f"] == pytest.approx(16 / 26)
    assert {f["measure"] for f in done["f_by_measure"]} == {"mpp", "em", "mp", "wmt25"}

    database = empty_database(tmp_path / "errorscope.db")
    store = open_store(database)
    project, key = store.projects.create("news").id, OutputKey("A", "d", "1")
    store.projects.add(project, Dataset((Segment("d", "1", "quelle"),), (Output("A", "d", "1", TEXT),)))
    for name, start in (("gold", 0), ("near", 1)):
        add_layer(store, project, name, {key: [LayerSpan(Span("output", start, 10, TEXT[start:10], "Major", "Accuracy"))]}, {}, {})  # fmt: skip
    of_project = ("--database", database, "score", "--project", "news", "--out", table)
    ended, said = run(*of_project, "--gold", "gold")
    assert (ended, "near agrees with gold: mpp, micro F .947" in said) == (0, True), said  # P 9/9, R 9/10
    for arguments, message in (
        (of_project, "the project has no annotators"),
        ((*of_project, "--gold", "none"), "there is no span layer “none”"),
        (("score", judge, "--gold", gold, "--out", table), "name either a project or the outputs"),
        (("score", "--gold", gold, "--outputs", outputs, "--out", table), "no error spans to compare"),
    ):
        ended, said = run(*arguments)
        assert (ended, message in said) == (2, True), said
