"""`evaluate --external`: metrics that were computed elsewhere, beside ours and alone."""

import re
from pathlib import Path

import pytest
from scipy import stats
from typer.testing import CliRunner

from cli.__main__ import program
from cli.evaluate import evaluate_command, read_scores
from cli.external_scores import metric_file, read_metric_files
from core.data import Score
from core.errors import ImportProblems, UserError
from core.formats.write import scores_csv
from core.services.projects.importing import load
from core.signature import external_signature
from tests.cli.program import read_table
from tests.cli.test_evaluate import files
from tests.core.services.evaluate.test_evaluate import GOOD, HUMAN_SCORES, POOR, flat, table

SYSTEMS = ("A", "B", "C")


def texts(tmp_path: Path) -> Path:
    """The outputs that the tests of `evaluate` speak of."""
    path = tmp_path / "outputs.csv"
    rows = [f"{k.system},{k.doc_id},{k.segment_id},a source,output {i}" for i, k in enumerate(table(GOOD))]
    path.write_text("system,doc_id,segment_id,source,output\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def seg_score(tmp_path: Path, name: str = "COMET-refA.seg.score") -> Path:
    """The good scores, line by line in the order of the segments; the last line of C is None."""
    order = [s.key for s in load([texts(tmp_path)]).dataset.segments]
    values = sorted(table(GOOD).items(), key=lambda item: (item[0].system, order.index(item[0].segment)))
    lines = [f"{key.system}\t{value}" for key, value in values]
    lines[-1] = f"{SYSTEMS[-1]}\tNone"
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def judge(tmp_path: Path, column: str = "score") -> Path:
    path = tmp_path / "judge.csv"
    rows = [f"{','.join(k)},{-v}" for k, v in table(POOR).items()]
    path.write_text(f"system,doc_id,segment_id,{column}\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_metrics_from_elsewhere_stand_beside_ours_and_say_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scores, human = files(tmp_path)
    found = evaluate_command(
        tmp_path / "t.csv", [human], scores=scores, external=[f"COMET={seg_score(tmp_path)}", f"judge={judge(tmp_path)}"],
        lower=["judge"], outputs=[texts(tmp_path)],
    )  # fmt: skip
    rows = {r["metric"]: r for r in read_table(tmp_path / "t.csv") if r["statistic"] == "kendall"}
    assert {"chrF", "TER", "COMET (external)", "judge (external)"} <= set(rows)
    # the output whose score is None is left out for all: the last of the twelve
    good, poor, human_scores = (flat(x)[:-1] for x in (GOOD, POOR, HUMAN_SCORES))
    for label, values in (("COMET (external)", good), ("judge (external)", poor)):
        assert float(rows[label]["value"]) == pytest.approx(stats.kendalltau(values, human_scores).statistic)
    assert rows["judge (external)"]["signature"].startswith(
        "external|name:judge|direction:lower|file:judge.csv|column:score|sha256:"
    )
    assert [c.turned for c in found.joined.metrics] == [False, True, False, True]
    assert "COMET (external) has no score in 1 lines of its file." in capsys.readouterr().err.splitlines()


def test_alone_they_need_no_scores_of_ours(tmp_path: Path) -> None:
    _, human = files(tmp_path)
    said = f"evaluate --human {human} --out {tmp_path / 't.json'} --external {judge(tmp_path)} --lower judge"
    ended = CliRunner().invoke(program("evaluate"), said.split())
    assert ended.exit_code == 0, ended.output
    assert '"judge (external)"' in (tmp_path / "t.json").read_text(encoding="utf-8")
    with pytest.raises(UserError, match="no scores to evaluate"):
        evaluate_command(tmp_path / "t.json", [human])


@pytest.mark.parametrize("column", ["score", "GPT-4"])
def test_a_table_has_scores_in_the_column_of_the_metric_or_score(tmp_path: Path, column: str) -> None:
    [found] = read_metric_files([metric_file(f"GPT-4={judge(tmp_path, column)}")], None)
    assert f"|column:{column}|" in found.metric.signature
    assert len(found.values) == 12
    assert not found.metric.turned


def test_an_error_rate_is_turned_by_its_name(tmp_path: Path) -> None:
    [found] = read_metric_files([metric_file(f"WER={judge(tmp_path)}")], None)
    assert found.metric.turned


def test_an_export_states_the_direction_of_an_external_metric(tmp_path: Path) -> None:
    signed = external_signature("errors", False, [("x.csv", "00", "")])
    path = tmp_path / "scores.csv"
    path.write_text(scores_csv([Score("A", "d", "1", "external:errors", signed, 2.0, "ok", "")]), encoding="utf-8")
    [metric], values, _ = read_scores(path)
    assert (metric.label, metric.turned, metric.signature) == ("errors (external)", True, signed)
    assert list(values["external:errors"].values()) == [-2.0]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (["a|b={judge}"], "no |"),
        (["a={judge}", "a={judge}"], "two files have the same metric name"),
        (["{score}"], "needs the outputs that it scores"),
        (["a=missing.csv"], "cannot be read"),
        (["={judge}"], "no name for the metric"),
    ],
)
def test_what_cannot_be_read_is_one_clear_line(tmp_path: Path, files: list[str], message: str) -> None:
    paths = {"judge": judge(tmp_path), "score": seg_score(tmp_path)}
    with pytest.raises(UserError, match=re.escape(message)):
        read_metric_files([metric_file(text.format(**paths)) for text in files], None)


def test_a_system_that_is_not_there_and_lines_too_few_are_named(tmp_path: Path) -> None:
    path = tmp_path / "X-refA.seg.score"
    path.write_text("Z 1\nZ 2\nA 1\n", encoding="utf-8")
    with pytest.raises(ImportProblems) as raised:
        read_metric_files([metric_file(str(path))], load([texts(tmp_path)]).dataset)
    assert [p.got for p in raised.value.problems] == ["a system named “Z”", "1 line of “A”"]


def test_lower_names_a_metric_that_is_there(tmp_path: Path) -> None:
    scores, human = files(tmp_path)
    for ours in (scores, None):
        with pytest.raises(UserError, match="--lower: no metric has this name"):
            evaluate_command(
                tmp_path / "t.csv", [human], scores=ours, external=[str(judge(tmp_path))], lower=["nothing"]
            )
