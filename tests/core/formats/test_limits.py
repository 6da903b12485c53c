"""Limits on uploaded files: small hostile files are refused while they are read, with one message; realistic ones fit."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli.calibrate import read_refined
from cli.stress import own_injection
from core.errors import ImportProblems, UserError
from core.formats import build
from core.formats.error_cases import read_pairs
from core.formats.files import Upload
from core.formats.parsing.json_text import elements
from core.formats.streams.opened import numbered_lines
from core.formats.table import read_table
from core.services.projects import label_import
from core.services.projects.importing import preview, read_files
from core.settings import Limits, load_settings
from tests.core.formats.found import TEXTS, found_in
from tests.core.formats.problems import problems_of
from tests.paths import ROOT

SMALL = {"rows": 1000, "cells": 5000, "columns": 50, "cell_chars": 20_000, "text_mb": 1, "systems": 45}
ESA = '{"src": "s", "tgt": "t", "doc_id": "", "line_id": %d, "system": "A", "annotator": "r", "esa_spans": %s}\n'
GOOGLE = "system\tdoc\tdoc_id\tseg_id\trater\tsource\ttarget\tcategory\tseverity\tcomment\n"
MARK = '{"start_i": 0, "end_i": 0, "severity": "minor"}'
BOMBS: dict[str, tuple[str, str, str]] = {
    "short rows": ("a.csv", "system,segment_id,output\n" + "A,1,x\n" * 2000, "1,000 rows"),
    "short rows with tabs": ("a.tsv", "system\tsegment_id\toutput\n" + "A\t1\tx\n" * 2000, "1,000 rows"),
    "one column": ("a.csv", "output\n" + "\n" * 2000, "1,000 rows"),
    "empty objects": ("a.jsonl", "{}\n" * 2000, "1,000 rows"),
    "faulty rows": ("a.jsonl", "[]\n" * 2000, "1,000 rows"),
    "empty lines": ("a.txt", "\n" * 2000, "1,000 rows"),
    "cells": ("a.csv", ",".join("abcdefghij") + "\n" + ",,,,,,,,,\n" * 900, "5,000 cells"),
    "cells of one row": ("a.csv", "a,b\n" + "," * 6000 + "\n", "5,000 cells"),
    "columns": ("a.csv", ",".join(f"c{i}" for i in range(60)) + "\n", "50 columns"),
    "keys": ("a.jsonl", "".join(f'{{"k{i}": 1}}\n' for i in range(60)), "50 columns"),
    "references": ("a.jsonl", '{"output": "x", "references": [' + ",".join(['""'] * 4000) + "]}\n" * 1, "x"),
    "references of many": ("a.jsonl", ('{"output": "x", "references": [' + '"",' * 900 + '""]}\n') * 9, "5,000 cells"),
    "outputs of a document": (
        "a.jsonl", '{"outputs": {' + ",".join(f'"{i}": ""' for i in range(1200)) + "}}\n", "1,000 rows",
    ),
    "systems": (
        "a.csv", "segment_id," + ",".join(f"s{i}" for i in range(40)) + "\n"
        + "".join(f"{i}" + ",x" * 40 + "\n" for i in range(30)), "1,000 rows",
    ),
    "systems of rows": ("a.csv", "system,segment_id,output\n" + "".join(f"s{i},{i},x\n" for i in range(900)), "45 systems"),
    "systems of rows without IDs": (
        "a.csv", "system,output\n" + "".join(f"s{i},x\ns{i},y\n" for i in range(400)), "45 systems",
    ),
    "systems of columns": ("a.csv", ",".join(f"s{i}" for i in range(48)) + "\n" + ("x," * 47 + "x\n") * 9, "45 systems"),
    "systems of labels": (
        "a.tsv", GOOGLE + "".join(f"s{i}\td\t1\t1\tr\ts\tt\tNo-error\tNo-error\t\n" for i in range(60)), "45 systems",
    ),
    "a giant line": ("a.txt", "x" * 30_000, "20,000 characters"),
    "a giant line of a table": ("a.csv", "a,b\n" + "x" * 30_000 + ",y\n", "20,000 characters"),
    "a giant cell over lines": ("a.csv", 'a,b\n"' + "xxxxxxx\n" * 4000 + '",y\n', "20,000 characters"),
    "a giant record": ("a.jsonl", '{"output": "' + "x" * 30_000 + '"}\n', "20,000 characters"),
    "size": ("a.txt", ("x" * 1000 + "\n") * 1100, "1 MB"),
    "rows of labels": ("a.tsv", GOOGLE + "A\td\t1\t1\tr\ts\tt\tNo-error\tNo-error\t\n" * 2000, "1,000 rows"),
    "rows of Marot": ("a.marot.tsv", "A\td\t1\t1\tr\ts\tt\tno-error\tno-error\t{}\n" * 2000, "1,000 rows"),
    "ratings": ("a.seg.rating", "A\tNone\n" * 2000, "1,000 rows"),
    "scores": ("a.seg.score", "A\t1\n" * 2000, "1,000 rows"),
    "records": ("a.esa.jsonl", "".join(ESA % (i, "[]") for i in range(2000)), "1,000 rows"),
    "marks": ("a.esa.jsonl", "".join(ESA % (i, "[" + ",".join([MARK] * 40) + "]") for i in range(50)), "1,000 rows"),
    "tasks": (
        "a.json", "[" + ",".join(['{"data": {"output": "x"}, "annotations": []}'] * 2000) + "]", "1,000 rows",
    ),
    "a giant task": ("a.json", '[{"annotations": [], "data": {"output": "' + "x" * 30_000 + '"}}]', "20,000 characters"),
    "judgements": ("a.csv", "system,segment_id,rater,score\n" + "A,1,r,1\n" * 2000, "1,000 rows"),
}  # fmt: skip


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for field, value in SMALL.items():
        monkeypatch.setenv(Limits.variable(field), str(value))


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.usefixtures("small")
def test_a_file_over_a_limit_is_one_clear_problem(packed: bool) -> None:
    wrong = {}
    for kind, (name, text, limit) in BOMBS.items():
        data = text.encode()
        half = len(data) // 2
        pieces = gzip.compress(data[:half], 1) + gzip.compress(data[half:], 1)
        found = found_in(Upload(name + ".gz", pieces) if packed else Upload(name, data))
        right = not found if limit == "x" else len(found) == 1 and f"more than {limit}" in found[0]
        if not right:
            wrong[kind] = found
    assert wrong == {}


@pytest.mark.usefixtures("small")
def test_the_message_names_file_place_limit_and_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    [problem] = problems_of(read_table, Upload("a.csv", b"a\n" + b"x\n" * 2000))
    assert (problem.file, problem.row, problem.expected) == ("a.csv", 1002, "at most 1,000")
    assert "ERRORSCOPE_MAX_ROWS" in problem.todo
    monkeypatch.setattr(build, "ROWS", 7)
    rows = "".join(f"s{i},x\ns{i},y\n" for i in range(400))
    [problem] = preview(read_files([Upload("a.csv", f"model,output\n{rows}".encode())])).problems
    assert (problem.file, problem.column, problem.expected) == ("a.csv", "model", "at most 45")
    assert "“model”" in problem.todo
    assert "ERRORSCOPE_MAX_SYSTEMS" in problem.todo
    [problem] = preview(read_files([Upload(f"system{i}.txt", b"x\n") for i in range(46)])).problems
    assert (problem.got, problem.expected) == ("more than 45 systems", "at most 45")


@pytest.mark.usefixtures("small")
def test_other_readers_keep_the_limits(tmp_path: Path) -> None:
    row = '{"system": "A", "doc_id": "", "segment_id": "%d", "dist_exp": 1, "dist_imp": 1}\n'
    (tmp_path / "inject.txt").write_text("x\n" * 2000)
    pairs = "[" + ",".join(['{"type": "t", "source": "s", "good": "g", "perturbed": "p"}'] * 2000) + "]"
    for read in (
        lambda: read_refined(Upload("r.jsonl", "".join(row % i for i in range(2000)).encode())),
        lambda: own_injection(tmp_path / "inject.txt"),
        lambda: read_pairs([Upload("p.json", pairs.encode())]),
    ):
        with pytest.raises(ImportProblems, match="more than 1,000 rows"):
            read()


DEEP = [(opened, depth) for opened in ("[", '{"a":', "[{") for depth in (70, 400, 990, 100_000)]


def nested(name: str, opened: str, depth: int) -> str:
    """A file of one record that holds a value of this depth."""
    closed = "".join({"[": "]", "{": "}"}[c] for c in reversed(opened) if c in "[{")
    deep = opened * depth + "1" + closed * depth if opened != "[{" else '[{"x":' * depth + "1" + "}]" * depth
    return {
        "a.marot.tsv": f'A\td\t1\t1\tr\ts\tt\tno-error\tno-error\t{{"errorscope": {deep}}}\n',
        "a.seg.rating": f'A\t{{"errors": {deep}}}\tr\n',
    }.get(name, f'{{"output": "x", "more": {deep}}}\n' if name != "p.json" else f'[{{"type": {deep}}}]')


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.esa.jsonl", "a.marot.tsv", "a.seg.rating", "p.json"])
def test_deep_nesting_raises_no_error_or_a_problem(name: str) -> None:
    for opened, depth in DEEP:
        upload = Upload(name, nested(name, opened, depth).encode())
        if name == "p.json":
            with pytest.raises(ImportProblems, match="nesting too deep"):
                read_pairs([upload])
            continue
        label_import.read_label_files([upload], texts=TEXTS)
        found_in(upload)


def test_elements_of_a_list_are_found_across_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.formats.parsing.json_text._PIECE", 7)
    values = [{"a": "x" * i, "b": [i, -1.5e3, None, "]}", "😀\n"]} for i in range(40)] + [12345, "text", []]
    for indent in (None, 1):
        data = b"\xef\xbb\xbf \n" + json.dumps(values, indent=indent, ensure_ascii=False).encode() + b"\n\n"
        found = list(elements("a.json", io.StringIO(data.decode("utf-8-sig"))))
        assert [json.loads(text) for _, text in found] == values
        lines = data.decode("utf-8-sig").split("\n")
        assert all(text.split("\n")[0] in lines[line - 1] for line, text in found)


def test_lines_as_long_as_the_limit_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRORSCOPE_MAX_CELL_CHARS", "100")
    for text in ("😀" * 100, "x\n" + "é" * 100 + "\ny", "x" * 100 + "\n" + "y" * 100):
        assert [line for _, line in numbered_lines(Upload("a.txt", text.encode()))] == text.split("\n")
    for text, line in (("x" * 101, 1), ("a\n" * 60 + "y" * 101, 61), ("😀" * 101 + "\n", 1)):
        with pytest.raises(ImportProblems, match=f"line {line}: found more than 100 characters"):
            list(numbered_lines(Upload("a.txt", text.encode())))


IN_ITS_OWN_PROCESS = """
import gzip, resource, sys
from core.formats.files import Upload
from core.services.projects import label_import
from tests.core.formats.found import found_in
name, kind, memory = sys.argv[1:4]
rows = {"csv": b"system,segment_id,output\\n" + b"A,1,x\\n" * 8_000_000, "txt": b"\\n" * 48_000_000,
        "line": b"x" * 48_000_000}
data = gzip.compress(rows.pop(kind), 9)
rows.clear()
assert len(data) < 200_000, len(data)
resource.setrlimit(resource.RLIMIT_AS, (int(memory) << 20,) * 2)
print(*found_in(Upload(name + ".gz", data)))
"""


def said_by_a_process(code: str, *arguments: str, **environment: str) -> str:
    """Return what a process prints that runs this code."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.extended
@pytest.mark.parametrize(
    ("name", "kind", "limit"),
    [("a.csv", "csv", "200,000 rows"), ("a.txt", "txt", "200,000 rows"), ("a.txt", "line", "2,000,000 characters")],
)
def test_a_bomb_of_some_kilobytes_stays_below_two_gigabytes(name: str, kind: str, limit: str) -> None:
    limits = {"ERRORSCOPE_MAX_ROWS": "200000", "ERRORSCOPE_MAX_CELL_CHARS": "2000000"}
    assert f"more than {limit}" in said_by_a_process(IN_ITS_OWN_PROCESS, name, kind, "2000", **limits)


REALISTIC = """
import json, random, resource, sys
from core.formats.files import Upload
from tests.core.formats.found import found_in
rng, kind = random.Random(0), sys.argv[1]
words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9))) for _ in range(5000)]
def text(): return " ".join(rng.choices(words, k=20))
rows, size, n = [], 0, 0
while size < 2_500_000:
    n += 1
    source, reference = text(), text()
    for system in "ABCD":
        out = text()
        row = {
            "csv": f"{system},d{n // 10},{n},{source},{reference},{out},{rng.random():.3f}",
            "jsonl": json.dumps({"system": system, "doc_id": f"d{n // 10}", "segment_id": n, "source": source,
                                 "reference": reference, "output": out, "score": rng.random()}),
            "google": f"{system}\\td{n // 10}\\t{n}\\t{n}\\tr\\t{source}\\t<v>{out[:9]}</v>{out[9:]}\\tOther\\tMajor\\t",
            "esa": json.dumps({"src": source, "tgt": out, "doc_id": f"d{n // 10}", "line_id": n, "system": system,
                               "annotator": "r", "esa_score": 50,
                               "esa_spans": [{"start_i": 0, "end_i": 4, "severity": "minor"}]}),
            "txt": out,
        }[kind]
        rows.append(row)
        size += len(row) + 1
head = {"csv": ["system,doc_id,segment_id,source,reference,output,score"],
        "google": ["system\\tdoc\\tdoc_id\\tseg_id\\trater\\tsource\\ttarget\\tcategory\\tseverity\\tcomment"]}
data = "\\n".join(head.get(kind, []) + rows).encode()
del rows
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
soft = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + (50 << 20)
resource.setrlimit(resource.RLIMIT_AS, (soft, soft))
name = {"google": "a.tsv", "esa": "a.esa.jsonl"}.get(kind, f"a.{kind}")
assert found_in(Upload(name, data)) == ()
"""


@pytest.mark.extended
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the size of the process is read from /proc")
@pytest.mark.parametrize("kind", ["csv", "jsonl", "google", "esa", "txt"])
def test_realistic_rows_take_at_most_twenty_times_their_size(kind: str) -> None:
    said_by_a_process(REALISTIC, kind, OPENBLAS_NUM_THREADS="1")


def test_numbers_in_settings_are_refused_with_their_range() -> None:
    assert load_settings({"ERRORSCOPE_STALL": "1440", "ERRORSCOPE_WORKERS": "16"}).stall == 1440
    for name, most, unusable in (
        ("ERRORSCOPE_STALL", "10,080", ("0", "10081", "-1", "1e3", "9" * 30)),
        ("ERRORSCOPE_WORKERS", "999", ("0", "1000", "two")),
        ("ERRORSCOPE_MAX_ROWS", "999,999,999,999", ("0", "-1", "many", "1.5", "１", "1" + "0" * 12)),
    ):
        for text in unusable:
            with pytest.raises(UserError, match=f"expected a whole number from 1 to {most}"):
                load_settings({name: text})
