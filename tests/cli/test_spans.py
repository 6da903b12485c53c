"""`spans import` and `spans export`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.services.spans.layers import load_layer
from db.store import open_store
from tests.builders import small_dataset
from tests.cli.program import read_table, status_of
from tests.templates import empty_database


def test_error_spans_go_into_a_project_and_out_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database = empty_database(tmp_path / "errorscope.db")
    store = open_store(database)
    project = store.projects.create("news").id
    store.projects.add(project, small_dataset())

    def run(*arguments: object) -> tuple[int, list[str], str]:
        ended = status_of("spans", "--database", database, *map(str, arguments), quiet=False)
        said = capsys.readouterr()
        return ended, said.out.splitlines(), said.err

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
