"""Metrics that were computed elsewhere: read from columns and from files of mt-metrics-eval, and put together."""

import hashlib
from dataclasses import replace

from core.data import ExternalScores, OutputKey, SourceFile, Value
from core.formats import mtme_score
from core.formats.build import Builder
from core.formats.columns import guess
from core.formats.external import file_of_a_metric, looks_like_a_metric, lower_is_better, merge, name_problem
from core.formats.files import Upload
from core.formats.labels.label_file import Severities
from core.formats.labels.label_formats import guess as format_of
from core.formats.mapping import ColumnMapping, MetricColumn
from core.formats.table import read_table
from tests.builders import small_dataset
from tests.core.formats.problems import problems_of
from tests.core.formats.test_mtme import TEXTS

HEAD = "system,doc,seg,output,comet,ter,da\n"
LONG = ColumnMapping(document="doc", segment="seg", system="system", output="output")


def build(text: str, *metrics: MetricColumn, mapping: ColumnMapping = LONG, more: tuple[str, MetricColumn] | None = None) -> Builder:  # fmt: skip
    """Add a table with these metrics, and one more."""
    builder = Builder()
    tables = [("t.csv", "d1", text, metrics), *([("u.csv", "d2", more[0], (more[1],))] if more else [])]
    for name, sha256, rows, columns in tables:
        table = read_table(Upload(name, rows.encode()))
        builder.add(replace(table, sha256=sha256), mapping.with_(metrics=columns))
    return builder


def problems(builder: Builder) -> list[tuple[str, str]]:
    return [(p.got, p.expected) for p in problems_of(lambda: builder.staged().dataset())]


def test_a_column_becomes_a_metric_with_its_missing_values_told() -> None:
    text = HEAD + "A,d,1,x,0.5,60,4\nA,d,2,y,None,61,4\nB,d,1,z,,62,4\n"
    [scores] = build(text, MetricColumn("comet", "COMET", False)).staged().external()
    missing = Value(None, "undefined", "t.csv gives no score here")
    keys = [OutputKey("A", "d", "1"), OutputKey("A", "d", "2"), OutputKey("B", "d", "1")]
    values = dict(zip(keys, (Value(0.5), missing, missing), strict=True))
    assert scores == ExternalScores("COMET", False, (SourceFile("t.csv", "d1", "comet"),), values)
    # a metric in two tables is one and remembers both
    comet = MetricColumn("comet", "COMET")
    builder = build(HEAD + "A,d,1,x,0.5,60,4\n", comet, more=(HEAD + "B,d,1,y,0.25,60,4\n", comet))
    [scores] = builder.staged().external()
    assert scores.files == (SourceFile("t.csv", "d1", "comet"), SourceFile("u.csv", "d2", "comet"))
    assert [v.value for v in scores.values.values()] == [0.5, 0.25]


def test_names_of_automatic_metrics_are_known_and_error_rates_better_when_lower() -> None:
    metrics = "COMET|wmt22-comet-da|XCOMET-XL|GPT-4 score|gpt4o|chrF2|BERTScore_F1|bleurt_20|TER|rougeL".split("|")
    human = "adequacy|DA|mqm|judge 1|term accuracy|terminology|certainty|human bleu|comments|z".split("|")
    assert [name for name in (*metrics, *human) if looks_like_a_metric(name)] == metrics
    assert [lower_is_better(n) for n in ("TER", "wer", "PPL", "COMET", "adequacy")] == [True, True, True, False, False]
    names = ["", "  ", "a|b", "a\nb", "x" * 121, "x" * 120, "chrF", "GPT-4: 判定 😀"]
    assert [name for name in names if name_problem(name) is not None] == names[:5]


def test_metric_columns_are_guessed_with_their_direction() -> None:
    mapping = guess(read_table(Upload("t.csv", (HEAD + "A,d,1,x,0.5,60,4\n").encode())))
    assert mapping.metrics == (MetricColumn("comet", "comet", True), MetricColumn("ter", "ter", False))
    assert mapping.human_scores == ("da",)


def test_what_cannot_be_a_metric_is_a_problem() -> None:
    comet = MetricColumn("comet", "COMET")
    twice = ("a second metric named “m”", "one metric of this name; comet has it")
    for row, metrics, problem in (
        ("A,d,1,x,0.5e,60,4\n", [comet], ("“0.5e”", "a number")),
        ("A,d,1,x,inf,60,4\n", [comet], ("“inf”", "a number")),
        ("A,d,1,x,1,60,4\n", [MetricColumn("comet", "m"), MetricColumn("ter", "m")], twice),
        ("A,d,1,x,1,60,4\n", [MetricColumn("da", "m"), MetricColumn("da", "n")], ("the column in two roles", "one role per column")),
    ):  # fmt: skip
        assert problem in problems(build(HEAD + row, *metrics))
    other = (HEAD + "A,d,1,x,0.25,60,4\n", MetricColumn("comet", "COMET", False))
    assert problems(build(HEAD + "A,d,1,x,0.5,60,4\n", comet, more=other)) == [
        ("another direction of “COMET” than in t.csv", "one direction per metric"),
        ("another comet of A for segment 1 of d than in t.csv, line 2: 0.25", "0.5"),
    ]


def test_scores_without_outputs_speak_of_those_that_are_known() -> None:
    table = read_table(Upload("s.csv", b"system,doc,seg,m\nA,doc,0,1\nB,doc,2,\n"))
    mapping = ColumnMapping(document="doc", segment="seg", system="system", metrics=(MetricColumn("m", "m"),))
    assert mapping.scores_only
    builder = Builder(small_dataset())
    builder.add(table, mapping)
    assert builder.staged().dataset().outputs == ()
    assert list(builder.staged().external()[0].values) == [OutputKey("A", "doc", "0"), OutputKey("B", "doc", "2")]
    assert builder.staged().notes() == ("m: 1 output without a score.",)
    alone = Builder()
    alone.add(table, mapping)
    assert problems(alone)[0][0] == "a score of A for segment 0 of doc, which has no output"


def read_metric(text: str, name: str = "COMET-refA.seg.score") -> ExternalScores:
    [scores] = mtme_score.read_metric(Upload(name, text.encode()), Severities(), TEXTS).external
    return scores


def test_a_seg_score_file_of_a_metric_is_read_line_by_line() -> None:
    text = "A 0.5\nA None\nA\t1\nB -2e-3\nB None\nB 0\n"
    scores = read_metric(text)
    missing = Value(None, "undefined", "COMET-refA.seg.score gives no score here")
    assert dict(scores.values) == {
        OutputKey("A", "d", "1"): Value(0.5), OutputKey("A", "d", "2"): missing, OutputKey("A", "e", "1"): Value(1.0),
        OutputKey("B", "d", "1"): Value(-0.002), OutputKey("B", "e", "1"): Value(0.0),
    }  # fmt: skip
    assert (scores.name, scores.higher_is_better) == ("COMET-refA", True)
    assert scores.files == (SourceFile("COMET-refA.seg.score", hashlib.sha256(text.encode()).hexdigest()),)
    assert not read_metric("A 1\nA 2\nA 3\n", "TER-refA.seg.score").higher_is_better


def test_seg_score_file_names_show_whether_they_are_metrics() -> None:
    metrics = (
        "COMET-22-refA", "metricx_xxl-src", "COMET-synthetic_ref", "NewMetric-synthetic_ref", "New-stdrefB", "COMET",
    )  # fmt: skip
    human = ("en-de.da-sqm", "my-project", "en-de.mqm", "mqm", "en-de", "-refA")
    for name in (*metrics, *human, "chrF-ref.seg.score.gz"):
        file, metric = name if "seg" in name else f"{name}.seg.score", name not in human
        assert file_of_a_metric(file) is metric
        assert format_of(Upload(file, b"A 1\n")) == ("mtme-metric" if metric else "mtme-score")


def test_merging_keeps_numbers_and_fills_gaps() -> None:
    a, b = OutputKey("A", "d", "1"), OutputKey("B", "d", "1")
    old = ExternalScores("m", True, (SourceFile("x", "1"),), {a: Value(1.0)})
    gap = ExternalScores("m", True, (SourceFile("y", "2"),), {a: Value(None, "undefined", "why"), b: Value(2.0)})
    merged = merge(old, gap)
    assert merged.values == {a: Value(1.0), b: Value(2.0)}
    assert merged.files == (SourceFile("x", "1"), SourceFile("y", "2"))
