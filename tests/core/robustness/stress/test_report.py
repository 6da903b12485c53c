"""A report as JSON, both ways, and as CSV."""

import csv
import io
import json

import pytest

from core.errors import UserError
from core.formats.parsing.cells import raw_cell
from core.reports.stress import COLUMNS, as_csv
from core.robustness.stress.report import (
    LevelResult,
    MetricFacts,
    Offender,
    Report,
    StressTestInfo,
    StressTestResult,
    as_json,
    from_json,
)

POINTS = (
    LevelResult("10 %", 0.1, 0.08, 0.3, 0.01, 0.1 + 0.2, 1e-17, 0.25, 1 / 1001, None, {"precision": 1 / 3}),
    LevelResult("25 %", 0.25, 0.2, None, None, None, None, None, None, 0.5),
)
REPORT = Report(
    "Naïve “name” 😀", "2026-01-01T00:00:00+00:00", "reference", "a.jsonl", 6, 0, 5, 1000,
    (StressTestInfo("truncation", "Truncation", "fluency", True, ("10 %", "25 %"), 1, 5, 1, (("too short\u2028", 1),), "truncation|v:1"),),
    (MetricFacts("rouge2", "ROUGE-2", "rouge2|v:1", True, False, 1.25),),
    (
        StressTestResult(
            "truncation", "rouge2", 5, 0, 0.4, {"precision": 0.5}, POINTS, "unclear", "=At 10 % the mean is 0.3.", None,
            (Offender("d:1", "10 %", 0, None, "", "She left\nearly <b>.", "She <script>", 0.1, 0.2, 0.1),),
        ),
    ),
    ("A note.",),
)  # fmt: skip


def changed(path: str, value: object) -> str:
    whole = json.loads(as_json(REPORT))
    *into, last = path.split(".")
    at = whole
    for name in into:
        at = at[int(name)] if name.isdigit() else at[name]
    at[int(last) if last.isdigit() else last] = value
    return json.dumps(whole)


def test_what_was_written_is_read_back_equal_in_every_field() -> None:
    back = from_json(as_json(REPORT))
    assert back == REPORT
    assert repr(back) == repr(REPORT)  # tuples are tuples, whole numbers whole, None None
    assert as_json(back) == as_json(REPORT)


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{", "null", '"errorscope stress report"', '{"format": "something"}', "[" * 100_000,
        changed("version", 2), changed("version", True), changed("report", None), changed("report.texts", "6"),
        changed("report.seed", True), changed("report.seed", 1.5), changed("report.cells.0.verdict", "maybe"),
        changed("report.cells.0.gold", "0.4"), changed("report.cells.0.test", "other"), changed("report.extra", 1),
        changed("report.cells.0.points", []), changed("report.tests.0.reasons.0", ["too short"]),
        changed("report.metrics.0.seconds", True), as_json(REPORT).replace("1.25", "NaN"),
        as_json(REPORT).replace("1.25", "1e999"), as_json(REPORT).replace("1.25", "1" + "0" * 400),
        changed("report.texts", 10**400), changed("report.texts", -(10**400)), changed("report.cells", []),
        changed("report.tests.0.aspect", "style"), changed("report.tests.0.aspect", "<b>"), changed("report.name", "half \ud83d"),
        changed("report.cells.0.worst.0.noised", "\udc00"), changed("report.cells.0.gold_parts", {"\ud800": 0.5}),
        changed("report.seed", {"\ud800": "\udfff"}),
    ],
)  # fmt: skip
def test_anything_else_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(UserError, match="stress report cannot be read"):
        from_json(text)


def test_a_cell_stands_there_once() -> None:
    twice = REPORT._replace(cells=REPORT.cells * 2)
    with pytest.raises(UserError, match="a repeated cell"):
        from_json(as_json(twice))


def test_tests_and_metrics_are_unique_with_a_cell_per_pair() -> None:
    for twice in (REPORT._replace(tests=REPORT.tests * 2), REPORT._replace(metrics=REPORT.metrics * 2)):
        with pytest.raises(UserError, match="a repeated test or metric"):
            from_json(as_json(twice))
    another = REPORT._replace(metrics=(*REPORT.metrics, REPORT.metrics[0]._replace(name="chrf")))
    with pytest.raises(UserError, match="1 cells for 1 tests and 2 metrics"):
        from_json(as_json(another))


def test_a_refusal_says_where_and_can_be_written() -> None:
    for text, said in (
        (changed("report.name", ["half \ud83d"]), "invalid JSON: unexpected end of hex escape at line 1 column"),
        (changed("report.cells.0.gold", "“0.4”"), 'report.cells.0.gold: "“0.4”"; expected a valid number'),
        (changed("report.seed", 1.5), "report.seed: 1.5; expected a valid integer"),
        (changed("report.extra", 1), "report.extra: 1; expected no such field"),
        (changed("version", 2), "got version 2; expected version 1"),
    ):
        with pytest.raises(UserError) as caught:
            from_json(text)
        assert said in str(caught.value)
        str(caught.value).encode("utf-8")


def test_too_large_a_file_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.robustness.stress.report.LARGEST", 100)
    with pytest.raises(UserError, match="at most 100"):
        from_json(as_json(REPORT))


def test_csv_has_a_row_a_level_and_is_safe_to_open() -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(REPORT))))
    assert tuple(rows[0]) == COLUMNS
    assert [(r["test"], r["metric"], r["level"], r["mean"], r["drop"]) for r in rows] == [
        ("truncation", "rouge2", "10 %", "0.3", "0.30000000000000004"),
        ("truncation", "rouge2", "25 %", "", ""),
    ]
    assert rows[0]["why"].startswith("'=")
    assert raw_cell(rows[0]["why"]) == "=At 10 % the mean is 0.3."
    assert rows[0]["parts"] == f"precision={1 / 3!r}"
    assert (rows[0]["published"], rows[0]["graded"], rows[0]["small"]) == ("", "yes", "no")
