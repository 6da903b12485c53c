"""Exports in parts have the rows that whole tables have, and files of outputs can be imported again."""

from __future__ import annotations

import gzip
import io
import os
import zipfile
from pathlib import Path

import pytest
from sqlalchemy import Engine
from sqlalchemy.event import listen

from core.data import (
    Dataset,
    ExternalScores,
    HumanScore,
    Judgement,
    Output,
    OutputKey,
    Score,
    Segment,
    SourceFile,
    Value,
)
from core.errors import ImportProblems, UserError
from core.formats.files import Upload
from core.formats.table import read_table
from core.formats.write import scores_csv, scores_jsonl
from core.ports.store import Store
from core.progress import Cancelled, Progress
from core.services.export import export as export_service
from core.services.export.export import score_rows
from core.services.export.files import EXPORTS, OUTPUTS, SCORES
from core.services.projects.adding import ImportTarget, add
from core.services.projects.importing import preview, read_files
from core.signature import content_key
from db.projects import exports
from db.store import open_store
from tests.cli.program import status_of
from tests.mtme import files, write
from tests.postgres import on_sqlite
from tests.stores import project_with

N = 30
TEXTS = Dataset(
    tuple(
        Segment(f"d{i % 3}", str(i), None if i % 7 == 0 else f"source {i}", ("ref é", f"=ref {i}")[: i % 3]) for i in range(N)
    ),
    tuple(Output(s, f"d{i % 3}", str(i), "" if i == 5 else f"- {s} “{i}”\nline") for i in range(N) for s in ("A", "B")[: 1 + i % 2]),
    tuple(HumanScore("A", f"d{i % 3}", str(i), name, i / 7) for i in range(0, N, 2) for name in ("adequacy", "fluency")),
)  # fmt: skip


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "SEGMENTS", 7)


@pytest.fixture
def project(store: Store) -> int:
    made = store.projects.create("p").id
    external = ExternalScores("judge", True, (SourceFile("f", "0"),), {o.key: Value(0.5) for o in TEXTS.outputs[::3]})
    store.projects.add(made, TEXTS, external=[external])
    values = {
        content_key(item.source, item.hypothesis, item.references): Value(i / 3)
        if i % 4
        else Value(None, "undefined", "=why")
        for i, (_, item) in enumerate(TEXTS.items())
        if i % 5
    }
    store.scores.put("chrf", "chrf|x:1", values, 1.0)
    return made


def test_parts_are_the_whole_project(store: Store, project: int) -> None:
    parts = list(store.exports.texts(project))
    whole = store.projects.dataset(project)
    assert len(parts) > 2
    assert tuple(s for p in parts for s in p.segments) == whole.segments
    assert tuple(o for p in parts for o in p.outputs) == whole.outputs
    assert tuple(h for p in parts for h in p.human_scores) == whole.human_scores
    assert [key for part in store.exports.keys(project) for key in part] == [o.key for o in whole.outputs]
    assert store.exports.most_references(project) == 2
    assert not any(store.exports.scores(project, "chrf|none"))
    with pytest.raises(UserError, match="no such project"):
        list(store.exports.texts(project + 1))

    later = tuple(Output("C", s.doc_id, s.segment_id, "new") for s in TEXTS.segments[::-1])
    store.projects.add(project, Dataset(TEXTS.segments, later))
    place = {s.key: i for i, s in enumerate(TEXTS.segments)}
    keys = [key for part in store.exports.keys(project) for key in part]
    assert [place[key.segment] for key in keys] == sorted(place[key.segment] for key in keys)
    assert [o.key for p in store.exports.texts(project) for o in p.outputs] == keys


def test_no_transaction_is_open_while_a_part_is_written(store: Store, engine: Engine, project: int) -> None:
    open_now: list[int] = []
    listen(engine, "checkout", lambda *_: open_now.append(1))
    listen(engine, "checkin", lambda *_: open_now.pop())
    signature = store.scores.signatures(project)[0].signature
    for parts in (store.exports.texts(project), store.exports.keys(project), store.exports.scores(project, signature)):
        for _ in parts:
            assert not open_now


def test_parts_with_long_texts_have_few_segments(store: Store, project: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def characters(part: Dataset) -> int:
        texts = [o.text for o in part.outputs] + [t for s in part.segments for t in (s.source or "", *s.references)]
        return sum(map(len, texts))

    monkeypatch.setattr(exports, "CHARACTERS", 100)
    parts, whole = list(store.exports.texts(project)), store.projects.dataset(project)
    assert all(characters(part) <= 100 or len(part.segments) == 1 for part in parts)
    assert max(len(part.segments) for part in parts) > 1
    assert tuple(s for p in parts for s in p.segments) == whole.segments
    assert tuple(o for p in parts for o in p.outputs) == whole.outputs


@on_sqlite
def test_score_files_have_the_bytes_that_whole_tables_give(store: Store, project: int) -> None:
    rows = []
    for by in store.scores.signatures(project):
        values = dict(store.scores.column(project, by.signature))
        keys = [o.key for o in store.projects.dataset(project).outputs if o.key in values]
        rows += [Score(*k, by.metric, by.signature, (v := values[k]).value, v.status, v.reason) for k in keys]
    assert {row.metric for row in rows} == {"chrf", "external:judge"}
    assert list(score_rows(store, project)) == rows
    assert EXPORTS["scores-csv"].make(store, project).data == scores_csv(rows).encode()
    assert EXPORTS["scores-jsonl"].make(store, project).data == scores_jsonl(rows).encode()
    for ending in ("parquet", "arrow"):
        made = EXPORTS[f"scores-{ending}"].make(store, project)
        table = read_table(Upload(f"s.{made.ending}", made.data))
        as_text = [[*r[:5], None if r.value is None else repr(r.value), *r[6:]] for r in rows]
        assert [list(row.cells) for row in table.rows] == as_text


@on_sqlite
def test_seg_scores_have_every_segment_of_a_project_with_long_texts(
    store: Store, project: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "CHARACTERS", 30)  # parts of texts have fewer segments than parts of scores
    with zipfile.ZipFile(io.BytesIO(EXPORTS["scores-mtme"].make(store, project).data)) as archive:
        files = {name: archive.read(name).decode() for name in archive.namelist()}
    segments, signatures = store.projects.index(project).segments, store.scores.signatures(project)
    columns = {
        f"metric-scores/{by.metric.rpartition(':')[2]}.seg.score": {
            key: value.value for key, value in store.scores.column(project, by.signature).items()
        }
        for by in signatures
    }
    for h in store.projects.dataset(project).human_scores:
        columns.setdefault(f"human-scores/{h.name}.seg.score", {})[OutputKey(*h[:3])] = h.value
    assert len(columns) == 4
    del files["signatures.tsv"]
    assert files == {
        name: "".join(
            f"{system}\t{values.get(OutputKey(system, *segment))}\n"
            for system in sorted({key.system for key in values})
            for segment in segments
        )
        for name, values in columns.items()
    }


def cancel_after(done: float) -> Progress:
    def cancel(share: float) -> None:
        if share >= done:
            raise Cancelled

    return cancel


@on_sqlite
def test_an_export_reports_each_part_and_can_be_cancelled(store: Store, project: int) -> None:
    for name, file in EXPORTS.items():
        in_parts = name in SCORES or name in OUTPUTS
        for done in (0.0, 0.4) if in_parts else (0.0,):
            with pytest.raises(Cancelled):
                file.make(store, project, cancel_after(done))
        if in_parts:
            shares: list[float] = []
            file.make(store, project, shares.append)
            assert shares == sorted(shares)
            assert len(shares) > N // 7
            assert 0 <= shares[0] < shares[-1] == 1


@pytest.mark.parametrize(("name", "head"), [("judgements-csv", 1), ("judgements-jsonl", 0)])
@on_sqlite
def test_judgements_are_reported_in_parts_of_rows(
    store: Store, project: int, name: str, head: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_service, "ROWS", 4)
    numbers = [Judgement(o.key, "Ana", score, 1.0) for o in TEXTS.outputs[:12] for score in ("da", "fluency")]
    store.projects.add(project, Dataset((), ()), judgements=numbers)
    shares: list[float] = []
    made = EXPORTS[name].make(store, project, shares.append)
    assert made.data.count(b"\n") == 12 + head
    assert shares == [0.0, 0.0, *(pytest.approx(n / 12) for n in (4, 8, 12)[: 2 + head]), 1.0]
    with pytest.raises(Cancelled):
        EXPORTS[name].make(store, project, cancel_after(0.6))


@on_sqlite
def test_exported_outputs_are_imported_as_the_same_project(store: Store, project: int) -> None:
    for ending in ["jsonl", "parquet", "arrow"]:
        made = EXPORTS[f"outputs-{ending}"].make(store, project)
        files = [Upload(f"x.{made.ending}", made.data)]
        seen = preview(read_files(files))
        assert seen.staged is not None, seen.problems
        again = add(store, ImportTarget(f"again {ending}"), seen.staged).project.id
        was, now = store.projects.dataset(project), store.projects.dataset(again)
        assert now.segments == was.segments
        assert now.outputs == was.outputs
        assert set(now.human_scores) == set(was.human_scores)


@on_sqlite
def test_scores_named_like_text_columns_get_another_name(store: Store) -> None:
    for ending in ["csv", "jsonl", "parquet", "arrow"]:
        names = ["output score", "output", "reference", "references", "system"]
        dataset = Dataset(
            (Segment("d", "1", "source", ("ref",)),),
            (Output("A", "d", "1", "text"),),
            tuple(HumanScore("A", "d", "1", name, float(i)) for i, name in enumerate(names)),
        )
        made = project_with(store, dataset, ending)
        export = EXPORTS[f"outputs-{ending}"].make(store, made)
        file = Upload(f"x.{export.ending}", export.data)
        table = read_table(file)
        cells = dict(zip(table.columns, table.rows[0].cells, strict=True))
        assert (cells["system"], cells["output"]) == ("A", "text")
        scores = {name: cells[name] for name in cells if " score" in name}
        assert scores == {
            "output score": "0.0", "output score 2": "1.0", "reference score": "2.0", "references score": "3.0", "system score": "4.0",
        }  # fmt: skip
        assert (
            export.lost[0]
            == "The human score “output” is exported as the column “output score 2”, because a column with texts is called “output”."
        )
        assert sum(line.startswith("The human score") for line in export.lost) == 4
        assert set(read_files([file]).plan.tables[0].mapping.human_scores) == set(scores)


@on_sqlite
def test_outputs_as_csv_are_safe_and_name_their_references(store: Store, project: int) -> None:
    made = EXPORTS["outputs-csv"].make(store, project)
    table = read_table(Upload("x.csv", made.data))
    assert table.columns == (
        "system", "doc_id", "segment_id", "source", "reference", "reference 2", "output", "adequacy", "fluency",
    )  # fmt: skip
    assert all(str(row.cells[6]).startswith("'- ") for row in table.rows if row.cells[6])
    assert [row.cells[2] for row in table.rows] == [o.segment_id for o in TEXTS.outputs]


def test_the_command_imports_and_exports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url, table, out = f"sqlite:///{tmp_path}/e.db", tmp_path / "News.csv.gz", tmp_path / "out.jsonl"
    text = "system,segment_id,source,ref,hyp,weird\n" + "".join(f"A,{i},s{i},r{i},o{i},{i}\n" for i in range(5))
    table.write_bytes(gzip.compress(text.encode()))
    imported = ["--database", url, "import", str(table), "--column", "metric=weird", "--column", "output=hyp"]
    assert status_of("projects", *imported) == 0
    said = capsys.readouterr()
    assert said.out.startswith("News: 5 segments × 1 system, 1 reference, 5 metric scores (weird ↑). New: 5 segments")
    assert "metric: weird" in said.err
    assert status_of("projects", *imported) == 2
    assert "there is a project “News” already" in capsys.readouterr().err
    assert status_of("projects", *imported, "--into", "News") == 0
    assert "Nothing is new" in capsys.readouterr().out
    more = tmp_path / "more.csv"
    more.write_text("segment_id,reference\n" + "".join(f"{i},second {i}\n" for i in range(5)), "utf-8")
    assert status_of("projects", "--database", url, "import", str(more)) == 2
    assert "have references but no outputs" in capsys.readouterr().err
    assert status_of("projects", "--database", url, "import", str(more), "--into", "News") == 0
    assert "News: references of 5 segments. New: 5 references." in capsys.readouterr().out
    assert status_of("projects", "--database", url, "export", "News", "outputs-jsonl", str(out)) == 0
    assert out.read_text("utf-8").count("\n") == 5
    assert status_of("projects", "--database", url, "export", "News") == 0
    assert "scores-parquet: Scores: Parquet" in capsys.readouterr().out
    store = open_store(url)
    assert [e.act for e in store.audit.entries(None)] + [e.act for e in store.audit.entries(1)]


def test_the_command_shows_the_progress_of_an_export(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path}/e.db"
    store = open_store(url)
    store.projects.add(store.projects.create("p").id, TEXTS)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert (
        status_of("projects", "--database", url, "export", "p", "outputs-csv", str(tmp_path / "o.csv"), quiet=False)
        == 0
    )
    said = capsys.readouterr().err
    assert "\r\x1b[Kexport · 0%" in said
    assert "\r\x1b[Kexport · 100%" in said


def test_wrong_arguments_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in [
        (["--column", "colour=hyp"], "there is no role of a column “colour”"),
        (["--column", "output=nothing"], "no file has this column"),
        (["--into", "nothing"], "there is no project “nothing”"),
    ]:
        table = tmp_path / "a.csv"
        table.write_text("system,segment_id,hyp\nA,1,x\n", "utf-8")
        assert status_of("projects", "--database", f"sqlite:///{tmp_path}/e.db", "import", str(table), *arguments) == 2
        assert message in capsys.readouterr().err


def test_problems_of_files_are_named_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And a folder of mt-metrics-eval is imported as it is."""
    folder, url = write(tmp_path / "wmt77", files()), f"sqlite:///{tmp_path}/f.db"
    assert status_of("projects", "--database", url, "import", str(folder), "--pair", "de-en") == 2
    assert status_of("projects", "--database", url, "import", str(folder)) == 0
    [project] = open_store(url).projects.list()
    assert (project.name, project.n_outputs, project.human_scores) == ("wmt77 en-de", 20, ("mqm",))
    assert len(open_store(url).scores.external(project.id)) == 4
    assert "  metric: COMET-refA, COMET-refB" in capsys.readouterr().err
    table = tmp_path / "a.csv"
    table.write_text("system,segment_id,hyp\nA,1,x\nA,1,y\nA\n", "utf-8")
    assert status_of("projects", "--database", f"sqlite:///{tmp_path}/e.db", "import", str(table)) == 2
    assert "a.csv, line 4: found 1 field; expected 3, as the header has" in capsys.readouterr().err
    assert open_store(f"sqlite:///{tmp_path}/e.db").projects.list() == []


def test_the_name_of_a_file_need_not_be_utf8(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, database = tmp_path / os.fsdecode(b"caf\xe9.csv"), f"sqlite:///{tmp_path / 'e.db'}"
    try:
        file.write_text("system,segment_id,output,COMET\nA,1,x,0.5\n", encoding="utf-8")
    except OSError:
        pytest.skip("this file system has names in UTF-8 only")
    assert status_of("projects", "--database", database, "import", str(file)) == 0
    assert "caf\ufffd" in capsys.readouterr().out


def parquet(tmp_path: Path, **columns: list[object]) -> Upload:
    import pyarrow as pa
    from pyarrow import parquet

    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table(columns), path)
    return Upload("t.parquet", path.read_bytes())


def test_typed_cells_become_the_texts_of_a_csv(tmp_path: Path) -> None:
    table = read_table(parquet(
        tmp_path, system=["A", "A"], seg=[7, 8], output=["x", None], refs=[["r", "q"], None], da=[0.5, float("nan")],
        ok=[True, None], n=[None, 3], other=[{"a": 1}, None],
    ))  # fmt: skip
    assert table.rows[0].cells[:7] == ("A", "7", "x", ("r", "q"), "0.5", "true", None)
    assert table.rows[1].cells[:7] == ("A", "8", None, None, None, None, "3")
    assert [row.line for row in table.rows] == [1, 2]


def test_damaged_files_are_one_problem() -> None:
    for name in ["t.parquet", "t.feather", "t.arrow"]:
        for data, found in [
            (b"PAR1 nothing", "a file that cannot be read"),
            (b"", "a file that cannot be read"),
            (b"a,b\n1,2\n", "a file that cannot be read"),
        ]:
            with pytest.raises(ImportProblems) as caught:
                read_table(Upload(name, data))
            assert found in caught.value.problems[0].got


def test_a_nul_in_a_typed_file_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(ImportProblems, match="a NUL or half a surrogate pair"):
        read_table(parquet(tmp_path, output=["x", "a\0b"]))
