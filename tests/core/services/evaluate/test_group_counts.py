"""A mean over segments says over how many, and what rests on too few of them wins nothing."""

import csv
import io
import json

import numpy as np
import pytest

from core.data import OutputKey
from core.reports.evaluation import as_csv, as_html, as_json, as_latex, cell, methods, sentence
from core.services.calibrate.calibration import HumanScores
from core.services.evaluate.evaluate import AgreementOptions, Evaluation, evaluate
from core.services.evaluate.evaluation_data import ScoredMetric, join
from core.services.evaluate.significance import compare_metrics, contenders
from core.stats.correlation.correlation import too_few_groups

SEGMENTS, SYSTEMS = 50, 5


def evaluation(varying: int = 9, constant_for_people: int = 10, **choice) -> Evaluation:
    """Two metrics that vary in every segment, and "rare", which is perfect in so many segments and constant in all others; people
    give equal scores in some segments."""
    rng = np.random.default_rng(0)
    human = rng.normal(size=(SEGMENTS, SYSTEMS))
    good, poor = (human + rng.normal(0, s, human.shape) for s in (1, 2))
    rare = np.where(np.arange(SEGMENTS)[:, None] >= SEGMENTS - varying, human, 0.0)
    human[:constant_for_people] = 0.0
    keys = [OutputKey(f"s{j}", f"d{i // 5}", str(i)) for i in range(SEGMENTS) for j in range(SYSTEMS)]
    people = HumanScores("h", {k: (float(v), 1) for k, v in zip(keys, human.ravel(), strict=True)})
    metrics = [ScoredMetric(n, n.title(), f"{n}|v:1", n == "rare") for n in ("good", "poor", "rare")]
    values = {
        c.name: dict(zip(keys, map(float, v.ravel()), strict=True))
        for c, v in zip(metrics, (good, poor, rare), strict=True)
    }
    return evaluate(join(people, metrics, values), AgreementOptions(**{"group": "segment", "draws": 20, **choice}))


def test_the_segments_in_which_a_statistic_is_defined_are_counted() -> None:
    found = evaluation()
    for statistic in ("kendall", "spearman", "pearson"):
        assert [found.of(n, statistic).groups for n in ("good", "poor", "rare")] == [40, 40, 9]
        assert found.of("rare", statistic).value == pytest.approx(1)
    assert {found.of(n, "acc_eq").groups for n in ("good", "poor", "rare")} == {50}
    assert {r.all_groups for r in found.rows} == {50}
    pooled = evaluation(group="pooled")
    assert {(r.groups, r.all_groups, r.ranked) for r in pooled.rows if r.value is not None} == {(1, 1, True)}


def test_statistics_of_few_segments_are_shown_but_not_ranked() -> None:
    found = evaluation()
    assert found.of("rare", "kendall").ranked is False
    assert found.of("rare", "kendall").reason == "defined in 9 of 50 segments, too few to rank or test it"
    assert found.best("kendall", sentinel=True) is None
    assert contenders(found, "kendall") == ["good", "poor"]
    assert [p[:2] for p in compare_metrics(found, "kendall").pairs] == [("good", "poor")]
    assert found.order("kendall") == ["good", "poor", "rare"]
    said = sentence(found, "kendall")
    assert said.startswith("Of 2 metrics, Good agrees best")
    assert "Rare" not in said
    assert ", averaged over 40 of 50 segments" in said
    assert evaluation(varying=25).of("rare", "kendall").ranked is True
    assert "rare" in sentence(evaluation(varying=25), "kendall")


def test_every_report_shows_the_count() -> None:
    found = evaluation()
    rare = cell(found.of("rare", "kendall"))
    assert rare.endswith(" (9/50) †")
    rows = {(r["name"], r["statistic"]): r for r in csv.DictReader(io.StringIO(as_csv(found)))}
    of_csv = rows["rare", "kendall"]
    assert (of_csv["groups"], of_csv["all_groups"], of_csv["ranked"]) == ("9", "50", "False")
    of_json = next(r for r in json.loads(as_json(found))["rows"] if (r["name"], r["statistic"]) == ("rare", "kendall"))
    assert (of_json["groups"], of_json["all_groups"], of_json["ranked"]) == (9, 50, False)
    assert rare in as_html(found, "kendall")
    assert "fewer than 20 segments" in as_html(found, "kendall")
    assert r"(9/50) \dag{}" in as_latex(found, "kendall")
    text = methods(found)
    assert "Kendall τ-b is defined in 9 to 40 of 50 segments" in text
    assert "neither ranked nor tested by Kendall τ-b: Rare (9)" in text
    assert "†" not in as_html(evaluation(varying=50, constant_for_people=0), "kendall")


def test_below_twenty_segments_in_all_no_metric_is_ranked() -> None:
    found = evaluation()
    few = evaluate(found.joined.only([int(k.segment_id) >= 35 for k in found.joined.keys]), found.choice)
    assert few.best("kendall") is None
    assert sentence(few, "kendall") == (
        "No metric is ranked by Kendall τ-b: it must be defined in at least 20 segments and in half of all. Good has the most, 15 of 15."
    )
    assert "no difference was tested" in methods(few, [compare_metrics(few, "kendall")])


def test_too_few_is_below_twenty_or_below_half() -> None:
    assert [too_few_groups(*pair) for pair in ((19, 19), (20, 20), (20, 40), (20, 41), (264, 529), (265, 529))] == [
        True, False, False, True, True, False,
    ]  # fmt: skip
