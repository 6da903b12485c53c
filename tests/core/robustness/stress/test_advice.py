"""Advice: there for every test and metric, and the paper's own where it has some."""

import re

from core.metrics.registry import METRICS
from core.perturbations.registry import NOISES
from core.robustness.stress.report import SOURCE, SPECIAL, TESTS, advice


def test_every_known_test_has_advice_for_every_metric() -> None:
    assert set(TESTS) == set(NOISES)
    for test in NOISES:
        for metric in METRICS:
            assert re.search(r"\(.*(section|appendix|Table)", advice(test, metric)) , (test, metric)  # fmt: skip


def test_what_the_paper_says_of_a_metric_comes_first() -> None:
    assert advice("truncation", "rouge2|stem:yes").startswith("He et al. (2023) found ROUGE-2 and ROUGE-L")
    assert "recall above precision" in advice("truncation", "rouge2")
    assert advice("copy-source", "bertscore").startswith("Recall does not penalise")
    assert "function words" in advice("article-removal", "bartscore-r")


def test_what_is_told_is_of_metrics_and_tests_that_are_there() -> None:
    assert {test for test, _ in SPECIAL} <= set(NOISES)
    assert {metric for _, metric in SPECIAL} <= set(METRICS)


def test_nothing_is_told_of_a_metric_that_the_paper_did_not_find() -> None:
    # Table 1 and appendix I: ROUGE-2 and ROUGE-L; COMET-QE; PRISM-QE in truncation alone; BARTScore, not its successor
    for test in NOISES:
        for metric in METRICS:
            said = advice(test, metric)
            assert ("ROUGE-2" in said) <= (metric in ("rouge2", "rougeL")), (test, metric)
            assert ("COMET" in said) <= (metric == "comet-qe"), (test, metric)
            assert ("BARTScore" in said) <= metric.startswith("bartscore") & ("++" not in metric), (test, metric)
    assert "ROUGE-2" not in advice("sentence-switching", "rougeL")
    assert (
        advice("copy-source", "prism-src")
        == advice("copy-source", "nli-src")
        == advice("copy-source", "bartscore-p")
        == f"{TESTS['copy-source']} {SOURCE}"
    )
    assert advice("truncation", "prism-src") == advice("truncation", "comet-qe") != advice("truncation", "nli-src")


def test_what_failed_is_not_recommended() -> None:
    assert "A metric built on entailment may notice" in advice("entity-switching", "rouge1")
    assert "A larger entailment model may notice" in advice("entity-switching", "nli|direction:both")
    assert "A metric built on entailment" not in advice("negated-sentences", "nli")


def test_own_injections_get_the_injection_advice() -> None:
    assert advice("injection-12345678", "unieval") == advice("injection", "unieval")
    assert advice("no such test", "chrf") == ""
