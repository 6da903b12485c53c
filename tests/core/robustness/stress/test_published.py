"""What He et al. (2023) found of metrics without a model, on their data set's form: CNN/DM summaries held against ten others."""

import pytest

from core.robustness.stress.report import Report
from core.robustness.stress.run import StressTestRequest, run_stress_tests
from core.robustness.stress.texts import REFERENCE, gold_of
from core.scoring.values import InMemoryScores
from core.services.projects.importing import load
from tests.paths import DATA

FILE = DATA / "summeval.jsonl.gz"
pytestmark = pytest.mark.skipif(not FILE.exists(), reason="SummEval is not beside the repository")


@pytest.fixture(scope="module")
def report() -> Report:
    tests = ("truncation", "noised-punctuation", "repetition")
    asked = StressTestRequest("SummEval", REFERENCE, FILE.name, tests, ("rouge2", "rougeL"), seeds=1)
    return run_stress_tests(gold_of(load([FILE]).dataset, REFERENCE), asked, InMemoryScores())


@pytest.mark.parametrize("metric", ["rouge2", "rougeL"])
@pytest.mark.parametrize("test", ["truncation", "noised-punctuation"])
def test_rouge_fails_truncation_and_noised_punctuation(report: Report, test: str, metric: str) -> None:
    # as in appendix I
    cell = report.cell(test, metric)
    assert (cell.texts, cell.verdict, cell.published) == (100, "fail", False)


def test_truncation_raises_precision_and_lowers_recall(report: Report) -> None:
    # as figure 5 shows it of BERTScore
    cell = report.cell("truncation", "rouge2")
    for part, way in (("precision", 1), ("recall", -1)):
        means = [cell.gold_parts[part], *(p.parts[part] for p in cell.points)]
        assert all((b - a) * way > 0 for a, b in zip(means, means[1:], strict=False)), part


def test_rouge_sees_repetition(report: Report) -> None:
    assert {report.cell("repetition", m).verdict for m in ("rouge2", "rougeL")} == {"pass"}


def test_the_gold_score_of_rouge_l_is_near_the_papers(report: Report) -> None:
    # Table 3: 0.286, with another ROUGE program and its own choice among references
    assert report.cell("truncation", "rougeL").gold == pytest.approx(0.286, abs=0.01)
