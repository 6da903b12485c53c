"""A small report made by hand: two tests, three metrics, every verdict."""

from __future__ import annotations

from core.robustness.stress.report import LevelResult, MetricFacts, Offender, Report, StressTestInfo, StressTestResult

WORST = Offender(
    "s1", "20 %", 1, "Quelle <i>x</i>", "A <b>reference</b> 😀", "A good <b>text</b> 😀 here.", "A good <b>text</b>.", -2.0, -1.5, 0.5
)  # fmt: skip

UNSCORED = tuple(LevelResult(label, ratio, ratio, *[None] * 6) for label, ratio in (("10 %", 0.1), ("20 %", 0.2)))


def point(
    label: str, ratio: float, drop: float, gold: float, p: float, parts: dict[str, float] | None = None
) -> LevelResult:
    """Of a metric where higher is better."""
    step = None if ratio < 0.15 else 0.2
    return LevelResult(label, ratio, ratio, gold - drop, 0.01, drop, drop - 0.1, drop + 0.1, p, step, parts or {})


def cell(
    test: str, metric: str, gold: float, drops: tuple[float, float], verdict: str, **more: object
) -> StressTestResult:
    points = (point("10 %", 0.1, drops[0], gold, 0.01), point("20 %", 0.2, drops[1], gold, 0.6))
    return StressTestResult(
        test, metric, 12, 1, gold, {}, points, verdict, f"Why {metric} {verdict}.", verdict == "pass", **more
    )  # type: ignore[arg-type]


def report(name: str = "By hand") -> Report:
    """BLEU fails one of two tests, BARTScore both; chrF is untold of everything."""
    truncation = StressTestInfo(
        "truncation", "Truncation", "fluency", True, ("10 %", "20 %"), 2, 13, 2, (("too short", 2),), "truncation|v:1"
    )
    repetition = StressTestInfo(
        "repetition", "Repetition", "special", False, ("10 %", "20 %"), 1, 15, 0, (), "repetition|v:1"
    )
    metrics = (
        MetricFacts("bleu", "BLEU", "bleu|v:1", True, False, 0.1),
        MetricFacts("bartscore", "BARTScore F", "bartscore|model:bundled/bart-mini", True, True, 9.0),
        MetricFacts("chrf", "chrF", "chrf|v:1", True, False, 0.1),
    )
    parts = {"precision": -1.0, "recall": -3.0}
    with_parts = tuple(
        point(label, ratio, drop, -2.0, 0.9, {"precision": -0.9 + drop, "recall": -3.1 + drop})
        for label, ratio, drop in (("10 %", 0.1, -0.2), ("20 %", 0.2, -0.5))
    )
    cells = (
        cell("truncation", "bleu", 50.0, (5.0, 10.0), "pass"),
        cell("truncation", "bartscore", -2.0, (-0.2, -0.5), "fail", worst=(WORST,))._replace(
            gold_parts=parts, points=with_parts
        ),
        StressTestResult("truncation", "chrf", 0, 13, None, {}, UNSCORED, "untold", "No text has a score.", None),
        cell("repetition", "bleu", 50.0, (-1.0, 3.0), "fail"),
        cell("repetition", "bartscore", -2.0, (-0.2, 0.5), "fail"),
        StressTestResult("repetition", "chrf", 0, 15, None, {}, UNSCORED, "untold", "No text has a score.", None),
    )
    return Report(
        name, "2026-01-02T03:04:05+00:00", "reference", "p: 15 segments", 15, 0, 2, 1000, (truncation, repetition), metrics, cells, ("A *note*.",)
    )  # fmt: skip
