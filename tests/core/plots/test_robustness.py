"""Bars and cells of what a change does to metrics."""

import pandas as pd

from core.plots.robustness import changes, sweep
from core.ports.robustness import BARELY, MISSES, NOTICES


def rows(**more: object) -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "metric": ["chrF ↑", "BERTScore ↑", "BLEU ↑", "odd ↑", "NLI ↑"],
            "share": [-0.25, -0.004, 0.125, None, None],
            "good": [80.0, 0.954, 50.0, 1.0, None],
            "changed": [55.0, 0.952, 62.5, 2.0, 0.5],
            "verdict": [NOTICES, BARELY, MISSES, MISSES, "no reference"],
            "range": ["r"] * 5,
        }
    )
    return frame.assign(**more)


def data_of(chart: dict) -> list[dict]:
    return [row for found in chart["datasets"].values() for row in found]


def test_a_bar_shows_whether_the_metric_misses_the_error() -> None:
    chart = changes(rows()).to_dict()
    shown = next(found for found in chart["datasets"].values() if len(found) == 3)
    assert [(r["metric"], r["verdict"], r["mark"]) for r in shown] == [
        ("chrF ↑", NOTICES, ""),
        ("BERTScore ↑", BARELY, "≈"),
        ("BLEU ↑", MISSES, "✕"),
    ]


def test_a_cell_shows_its_change_and_a_cross_for_a_miss() -> None:
    shown = data_of(sweep(rows(phenomenon="negation")).to_dict())
    assert [r["mark"] for r in shown] == ["−25 %", "≈ > −1 %", "✕ +12 %", "✕", ""]
    assert [r["fall"] for r in shown][:2] == [0.25, 0.004]
