"""`evaluate --mtme` over a folder in mt-metrics-eval's layout."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scipy import stats

from cli import evaluate as command
from cli.evaluate import evaluate_command
from core.errors import ImportProblems, UserError
from core.services.evaluate.evaluate import Evaluation
from tests.mtme import COMET, DOCS, HUMAN, SYSTEMS, TER, files, scores, write
from tests.paths import CASES


def evaluated(tmp_path: Path, root: Path, **options: object) -> Evaluation:
    return evaluate_command(tmp_path / "t.csv", mtme=root, **({"pair": "en-de"} | options))  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "DRAWS", 10)


def test_a_folder_is_evaluated_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = write(tmp_path / "wmt", files())
    found = evaluated(tmp_path, root)
    said = capsys.readouterr().err
    rated = [(s, i) for s in SYSTEMS for i in range(5) if HUMAN[s][i] is not None]
    human = [HUMAN[s][i] for s, i in rated]
    for name, values, sign in (("COMET-refA", COMET, 1), ("QE.v2-src", COMET, 1), ("TER-refA", TER, -1)):
        expected = stats.kendalltau([sign * values[s][i] for s, i in rated], human).statistic
        assert found.of(f"external:{name}", "kendall").value == pytest.approx(expected)
    assert {(k.doc_id, k.segment_id) for k in found.joined.keys} == {(doc, str(i + 1)) for i, doc in enumerate(DOCS)}
    assert (found.joined.systems, found.joined.excluded, len(found.joined.keys)) == (SYSTEMS, ("refB",), 14)
    for line in (
        "  source: en-de.txt\n  reference: en-de.refA.txt, en-de.refB.txt\n  document: en-de.docs\n  system: A.txt, B.1.txt, C.txt, refB.txt",
        "  metric: COMET-refA, COMET-refB, QE.v2-src, TER-refA\n",
        "  metric score of systems: BLEU-refA\n",
        "  not read: human-scores/en-de.mqm.domain.score (scores of documents or domains)\n",
        "  not read: 1 file (pair zh-en)\n",
        "  not read: README.md (not named as in mt-metrics-eval's layout)\n",
        "\nTER-refA (external): lower is assumed to be better, as for an error rate.\n",
        "Excluded from the comparison because it is a reference: refB (--include NAME",
        "The metrics used different references (refA, refB); all are compared.",
    ):
        assert line in said, line


def test_a_reference_can_be_compared_with_the_metrics_that_did_not_use_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = write(tmp_path / "wmt", files())
    found = evaluated(tmp_path, root, include=["refB"], reference=["refA"])
    assert (set(found.joined.systems), found.joined.excluded) == ({*SYSTEMS, "refB"}, ())
    assert [m.name for m in found.joined.metrics] == ["external:COMET-refA", "external:QE.v2-src", "external:TER-refA"]
    assert "Metrics left out because of the references they used: COMET-refB.\n" in capsys.readouterr().err
    for option, match in (
        ({"include": ["A"]}, "reference that is a system"),
        ({"reference": ["refC"]}, "Did you mean"),
    ):
        with pytest.raises(UserError, match=match):
            evaluated(tmp_path, root, **option)


def test_system_scores_and_error_spans_of_the_folder_are_used_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = write(tmp_path / "wmt", files())
    found = evaluated(tmp_path, root, level="system")
    [row] = [r for r in found.as_given if r.statistic == "pearson"]
    assert row.value == pytest.approx(stats.pearsonr([30, 28, 20], [-1.6, -2.25, -4.8]).statistic)
    assert (row.metric, row.n) == ("BLEU-refA (external), as given", 3)
    capsys.readouterr()
    for scheme, score in (("google", -5), ("marot", 0)):
        found = evaluated(tmp_path, root, scheme=scheme)
        assert set(found.joined.human) == {score}
    assert "MQM scores of en-de.mqm.merged.seg.rating: weights of the scheme “marot”" in capsys.readouterr().err


def test_missing_translations_and_incomplete_metrics_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = files()
    given["system-outputs/en-de/A.txt"] = "[No translation supplied]\n" + "text\n" * 4
    given["metric-scores/en-de/few-src.seg.score"] = scores({"A": COMET["A"]})
    given["metric-scores/en-de/TER-refA.seg.score"] = scores({s: tuple(-v for v in TER[s]) for s in TER})
    given["human-scores/en-de.esa.seg.score"] = scores(HUMAN)
    root = write(tmp_path / "wmt", given)
    with pytest.raises(UserError, match="several human scores .*esa, mqm.*--human-score esa"):
        evaluated(tmp_path, root)
    found = evaluated(tmp_path, root, human_score="mqm", exclude=["refB", "refB"])
    assert len(found.joined.keys) == 13
    assert [(p.name, p.aside) for p in found.joined.partly] == [("external:few-src", True)]
    assert not any(m.turned for m in found.joined.metrics)  # negated error rates
    said = capsys.readouterr().err
    assert "1 output left out, with their scores: their text is “[No translation supplied]”." in said
    assert "Excluded (partly scored): few-src (external) (4 of 13 rated outputs)." in said


def test_texts_in_json_and_files_in_gzip_or_without_folders(tmp_path: Path) -> None:
    given = files()
    keys = {"sources": "source", "references": "target", "system-outputs": "hypothesis"}
    in_json = {
        name.replace(".txt", ".jsonl") if name.endswith(".txt") else name: "".join(
            json.dumps({keys[name.partition("/")[0]]: line + "\nmore"}) + "\n" for line in text.splitlines()
        )
        if name.endswith(".txt")
        else text
        for name, text in given.items()
    }
    flat = {
        name.rpartition("/")[2]: text for name, text in given.items() if "zh-en" not in name and "README" not in name
    }
    expected = evaluated(tmp_path, write(tmp_path / "wmt", given)).rows
    assert evaluated(tmp_path, write(tmp_path / "json", in_json)).rows[:12] == expected[:12]
    assert evaluated(tmp_path, write(tmp_path / "flat", flat), pair=None).rows == expected
    broken = write(tmp_path / "json", {"system-outputs/en-de/A.jsonl": '{"hypothesis": "x"}\n{"text": "y"}\n'})
    with pytest.raises(ImportProblems, match="A.jsonl, line 2: found .*an object with the text under “hypothesis”"):
        evaluated(tmp_path, broken)


def test_what_is_wrong_with_a_folder_is_named(tmp_path: Path) -> None:
    root = write(tmp_path / "v2" / "wmt", files())
    for folder, options, match in (
        (root, {"pair": "de-en"}, "expected one of en-de"),
        (root.parent, {}, "one of the test sets in it: wmt"),
        (root / "README.md", {}, "no folder"),
        (root, {"outputs": [root / "README.md"]}, "the folder of --mtme has the outputs"),
        (root, {"exclude": ["D"]}, "--exclude: no system has this name"),
    ):
        with pytest.raises(UserError, match=match):
            evaluated(tmp_path, folder, **options)
    write(root, {"system-outputs/de-en/A.txt": "x\n"})
    with pytest.raises(UserError, match=r"several language pairs \(got de-en, en-de.*--pair de-en"):
        evaluated(tmp_path, root, pair=None)
    write(root, {"documents/en-de.docs": "news n1\nnews\n" + "news n1\n" * 3})
    with pytest.raises(ImportProblems, match="documents/en-de.docs, line 2: found “news”; expected DOMAIN DOCUMENT"):
        evaluated(tmp_path, root)
    for options, match in (
        ({}, "no human scores"),
        ({"human": [root / "README.md"], "pair": "en-de"}, "--pair: this option"),
    ):
        with pytest.raises(UserError, match=match):
            evaluate_command(tmp_path / "t.csv", scores=root / "README.md", **options)


@pytest.mark.skipif(not CASES.exists(), reason="the shared cases are not beside the repository")
def test_the_shared_case_of_the_layout_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = CASES / "mtme-layout"
    found = evaluated(tmp_path, case, human=[case / "human.csv"])
    assert [(m.name, len(found.joined.keys)) for m in found.joined.metrics] == [
        ("external:COMET-refA", 4), ("external:COMET-synthetic_ref", 4),
    ]  # fmt: skip
    expected = stats.kendalltau([0.5, 0.7, 0.5, 0.7], [-1, 0, -3, -2]).statistic
    assert found.of("external:COMET-refA", "kendall").value == pytest.approx(expected)
    assert "because it is a reference: synthetic_ref" in capsys.readouterr().err
    own = evaluated(tmp_path, case)
    assert [(tuple(k), v) for k, v in zip(own.joined.keys, own.joined.human.tolist(), strict=True)] == [
        (("A", "", "1"), -1.0), (("B", "", "1"), -1.0),
    ]  # fmt: skip
    outputs = sorted((case / "system-outputs" / "en-de").iterdir()) + [case / "sources" / "en-de.txt"]
    human, external = [case / "en-de.mqm.seg.score"], [f"X={case / 'human.csv'}"]
    assert len(evaluate_command(tmp_path / "t.csv", human, external=external, outputs=outputs).joined.keys) == 2
    said = capsys.readouterr().err
    assert "  source: en-de.txt\n  system: A.txt, B.txt, synthetic_ref.txt\n" in said
