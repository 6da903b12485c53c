"""`evaluate` over files as `score` and `mqm` write them."""

import json
from pathlib import Path

import pytest
from scipy import stats

from cli import evaluate as command
from cli.evaluate import evaluate_command
from core.data import Score
from core.errors import UserError
from core.formats.write import csv_text, scores_csv
from core.mqm.scores import SegmentScore
from core.services.evaluate.evaluation_data import Level
from tests.cli.program import read_table
from tests.core.services.evaluate.test_evaluate import GOOD, HUMAN_SCORES, PEOPLE, POOR, flat, table


def files(tmp_path: Path) -> tuple[Path, Path]:
    """chrF, and TER of which lower is better; one row without a score, of an output nobody rated."""
    scores, human = tmp_path / "scores.csv", tmp_path / "human.csv"
    rows = [Score(*k, "chrf", "chrf|v:1", v, "ok", "") for k, v in table(GOOD).items()]
    rows += [Score(*k, "ter", "ter|v:1", -v, "ok", "") for k, v in table(POOR).items()]
    rows += [Score("A", "d9", "9", "chrf", "chrf|v:1", None, "undefined", "no reference")]
    scores.write_text(scores_csv(rows), encoding="utf-8")
    rated = [SegmentScore(*k, float(v), 2) for k, (v, _) in PEOPLE.scores.items()]
    human.write_text(csv_text(SegmentScore._fields, rated), encoding="utf-8")
    return scores, human


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "DRAWS", 10)


def test_a_metric_whose_lower_values_are_better_is_negated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores, human = files(tmp_path)
    evaluate_command(tmp_path / "t.csv", [human], scores=scores)
    notes = capsys.readouterr().err.splitlines()
    rows = {(r["metric"], r["statistic"]): r for r in read_table(tmp_path / "t.csv")}
    for label, scores in (("chrF", GOOD), ("TER", POOR)):
        expected = stats.kendalltau(flat(scores), flat(HUMAN_SCORES)).statistic
        assert float(rows[label, "kendall"]["value"]) == pytest.approx(expected)
    assert notes[0] == "How human.csv was read (--column ROLE=NAME changes it):"
    assert [note for note in notes[1:] if not note.startswith("  ")][:2] == [
        "1 rows of scores.csv have no score.",
        "Baselines were not computed: they need the outputs (--outputs).",
    ]
    assert notes[-1].startswith("Of 2 metrics, chrF agrees best with the human score on 12 outputs")
    human.write_text(human.read_text().replace("score", "adequacy", 1))
    evaluate_command(tmp_path / "t.tex", [human], scores=tmp_path / "scores.csv")
    assert "agrees best with the human score “adequacy” on 12 outputs" in capsys.readouterr().err
    assert "“adequacy”" in (tmp_path / "t.tex").read_text(encoding="utf-8")


def test_outputs_add_baselines_and_a_system_can_be_excluded(tmp_path: Path) -> None:
    texts = tmp_path / "outputs.csv"
    lines = [f"{k.system},{k.doc_id},{k.segment_id},a source,{'long ' * (i + 1)}" for i, k in enumerate(PEOPLE.scores)]
    texts.write_text("system,doc_id,segment_id,source,output\n" + "\n".join(lines) + "\n", encoding="utf-8")
    scores, human = files(tmp_path)
    found = evaluate_command(tmp_path / "t.json", [human], scores=scores, exclude=["C"], outputs=[texts], tests=True)
    assert found.of("sentinel:shortness", "kendall").value == pytest.approx(
        stats.kendalltau([-i for i in range(8)], flat(HUMAN_SCORES)[:8]).statistic
    )
    report = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    assert "Excluded systems: C." in report["methods"]
    assert len(report["tests"]["pairs"]) == 3


@pytest.mark.parametrize(
    ("level", "tested", "untested"),
    [
        ("segment", ["kendall", "acc_eq", "spearman", "pearson"], 0),
        ("system", ["pairwise", "kendall", "spearman", "pearson"], 1),
    ],
)
def test_tests_cover_every_statistic_of_the_table(
    tmp_path: Path, level: Level, tested: list[str], untested: int, capsys: pytest.CaptureFixture[str]
) -> None:
    scores, human = files(tmp_path)
    evaluate_command(tmp_path / "t.json", [human], scores=scores, level=level, tests=True)
    notes = capsys.readouterr().err.splitlines()
    report = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    assert [t["statistic"] for t in [report["tests"], *report["more_tests"]]] == tested
    assert (
        len([line for line in notes if line.startswith("Differences in soft pairwise accuracy were not tested: ")])
        == untested
    )


@pytest.mark.parametrize("ending", ["tex", "html"])
def test_other_endings_give_other_files(tmp_path: Path, ending: str) -> None:
    scores, human = files(tmp_path)
    evaluate_command(tmp_path / f"t.{ending}", [human], scores=scores, level="system")
    text = (tmp_path / f"t.{ending}").read_text(encoding="utf-8")
    assert ("\\toprule" if ending == "tex" else "<!doctype html>") in text
    assert "pairwise accuracy" in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"out": "t.pdf"}, "cannot write this type"),
        ({"exclude": ["Z"]}, "--exclude: no system has this name"),
        ({"lower": ["bleu"]}, "--lower: no metric has this name"),
        ({"scores": ("system,", "model,")}, "this column is missing"),
        ({"scores": ("9.0", "nine")}, "found 'nine'; expected a number"),
        ({"scores": ("\nA,d0", "\nQ,d0")}, ""),
        ({"human": (",0,", ",x0,")}, ""),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, change, message: str) -> None:
    paths = dict(zip(("scores", "human"), files(tmp_path), strict=True))
    options = {k: v for k, v in change.items() if k in ("exclude", "lower")}
    for name, path in paths.items():
        if name in change:
            old, new = change[name]
            path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    out = tmp_path / change.get("out", "t.csv")
    if message:
        with pytest.raises(UserError, match=message):
            evaluate_command(out, [paths["human"]], scores=paths["scores"], **options)
    else:  # outputs without a counterpart are left out
        found = evaluate_command(out, [paths["human"]], scores=paths["scores"])
        assert len(found.joined.keys) < 12


def test_files_without_a_common_output_are_refused(tmp_path: Path) -> None:
    scores, human = files(tmp_path)
    human.write_text(human.read_text(encoding="utf-8").replace(",d0", ",e0").replace(",d1", ",e1"), encoding="utf-8")
    with pytest.raises(UserError, match="fewer than two outputs have a human score"):
        evaluate_command(tmp_path / "t.csv", [human], scores=scores)


def test_outputs_with_equal_mean_ratings_tie(tmp_path: Path) -> None:
    ratings = {"A": (0, 0, 0.3), "B": (0, 0.1, 0.2), "C": (0.2, 0.7, 0.6)}  # exact means .1, .1 and .5
    rated, scores = tmp_path / "rated.csv", tmp_path / "scores.csv"
    lines = [f"{s},{n},text {s},{v}" for n in range(4) for s, values in ratings.items() for v in values]
    rated.write_text("system,segment_id,output,quality\n" + "\n".join(lines) + "\n", encoding="utf-8")
    rows = [
        Score(s, "", str(n), "chrf", "chrf|v:1", {"A": 10.0, "B": 10.0, "C": 90.0}[s], "ok", "")
        for n in range(4)
        for s in ratings
    ]
    scores.write_text(scores_csv(rows), encoding="utf-8")
    for group in ("segment", "pooled"):
        found = evaluate_command(tmp_path / "t.json", [rated], scores=scores, group=group)
        assert found.of("chrf", "kendall").value == 1.0
        assert found.of("chrf", "acc_eq").value == 1.0


def test_system_scores_as_given_stand_beside_means_of_segments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scores, human = files(tmp_path)
    given, people = tmp_path / "en-de.COMET-refA.sys.score", tmp_path / "en-de.mqm.sys.score"
    given.write_text("A\t0.2\nB 0.9\nC\t0.1\nrefA\t0.5\n", encoding="utf-8")
    people.write_text("A\t-3\nB\t-1\nC\tNone\n", encoding="utf-8")
    found = evaluate_command(tmp_path / "t.json", [human], scores=scores, level="system", external=[f"COMET={given}"])
    rows = {r.statistic: r for r in found.as_given}
    assert {r.grouping for r in found.as_given} == {"as given"}
    assert (rows["kendall"].value, rows["pairwise"].value, rows["kendall"].n) == (
        pytest.approx(1 / 3),
        pytest.approx(2 / 3),
        3,
    )
    assert (rows["kendall"].low, rows["kendall"].metric) == (None, "COMET (external), as given")
    assert found.of("chrf", "kendall").grouping == "system"
    notes = capsys.readouterr().err
    assert "compared with the means of the human scores; all other values compare means of segment scores" in notes
    assert "left out, not among the rated outputs: refA" in notes
    report = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    assert "Rows “as given” compare the system scores of the files" in report["methods"]
    assert len(report["rows"]) == len(found.rows) + 5 - 1  # no soft pairwise accuracy
    options = {"scores": scores, "level": "system", "external": [str(given)], "human_systems": people}
    for ending in ("csv", "tex", "html"):
        other = evaluate_command(tmp_path / f"t.{ending}", [human], **options)
        assert "COMET-refA (external), as given" in (tmp_path / f"t.{ending}").read_text(encoding="utf-8")
        assert next(r for r in other.as_given if r.statistic == "kendall")[5] == 1.0  # A and B, by --human-systems
    assert "no system score of C" in capsys.readouterr().err


def test_system_scores_that_cannot_be_used_are_refused(tmp_path: Path) -> None:
    scores, human = files(tmp_path)
    given = tmp_path / "COMET-refA.sys.score"
    for text, message in [
        ("A\t0.2\nA\t0.3\n", "line 2.*A.* again.*seg.score"),
        ("A\t0.2\nB\tx\n", "line 2.*SYSTEM SCORE"),
        ("A\n", "line 1"),
    ]:
        given.write_text(text, encoding="utf-8")
        with pytest.raises(UserError, match=message):
            evaluate_command(tmp_path / "t.csv", [human], scores=scores, level="system", external=[str(given)])
    with pytest.raises(UserError, match="need --level system"):
        evaluate_command(tmp_path / "t.csv", [human], scores=scores, external=[str(given)])
    with pytest.raises(UserError, match="no scores to evaluate.*shown beside these"):
        evaluate_command(tmp_path / "t.csv", [human], level="system", external=[str(given)])
