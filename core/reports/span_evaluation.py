"""What is shown of a meta-evaluation of error spans, and its CSV and JSON files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.formats.write import csv_text, json_text
from core.formatting import MISSING, format_number, with_interval
from core.services.evaluate.significance import ALPHA
from core.services.spans.compared_layers import NOTHING, Part, SpanRow, SpanTest
from core.services.spans.evaluation import SpanEvaluation

if TYPE_CHECKING:  # importing Altair takes time, and commands draw nothing
    import altair as alt

HOW = (
    "The CIs come from resampled segments. Tests are paired permutation tests: both layers swap their spans of a segment with "
    "probability ½; p after Holm’s correction."
)


def f_text(row: SpanRow) -> str:
    """Return F with its 95 % CI: ".434 [.33, .53]"; a dash if undefined."""
    return with_interval(format_number(row.f), row.low, row.high)


def sentence(done: SpanEvaluation) -> str:
    """Return the result in up to three sentences: the best layer, the annotators, the best trivial layer."""
    layers = [row for row in done.of_kind("layer") if row.f is not None]
    if not layers:
        return "Neither the gold nor any layer has an error span on the compared outputs."
    best = layers[0]
    subject = (
        f"Of {len(layers)} layers, {best.layer} agrees best with" if len(layers) > 1 else f"{best.layer} agrees with"
    )
    said = [f"{subject} {done.gold}: {done.choice.words} {f_text(best)}."]
    said += [f"Annotators reach {f_text(row)} with each other." for row in done.of_kind("annotators")]
    trivial = max(done.of_kind("trivial"), key=lambda row: row.f or 0.0)
    test = next(t for t in done.tests if {t.first, t.second} == {best.layer, trivial.layer})
    clear = test.adjusted is not None and test.adjusted <= ALPHA
    remark = "" if clear else "; the difference is not significant"
    more = ", more than the best layer" if (trivial.f or 0.0) > (best.f or 0.0) else ""
    said.append(f"The best trivial layer ({trivial.layer.lower()}) reaches {f_text(trivial)}{more}{remark}.")
    return " ".join(said)


def about(done: SpanEvaluation) -> str:
    """Return what was compared and how, in small print."""
    comparisons = f", {done.comparisons:,} comparisons" if done.comparisons != done.outputs else ""
    turn = " in turn" if comparisons else ""
    average = (
        "precision, recall and F from sums over outputs"
        if done.choice.average == "micro"
        else "F is the mean of outputs"
    )
    return (
        f"{done.outputs:,} outputs of {done.segments:,} segments{comparisons}, the same for all layers; gold: {done.gold}{turn}; {average}; "
        f"95 % CI from {done.choice.draws:,} resamples of the segments. Trivial layers are marked as Major."
    )


def shown(rows: Sequence[SpanRow]) -> list[dict[str, str]]:
    """Return the cells of the table of all outputs."""
    size = "characters compared" if rows and rows[0].measure == "wmt25" else "spans compared"
    return [
        {
            "layer": row.layer, "F ↑ (95 % CI)": f_text(row), "precision ↑": format_number(row.precision),
            "recall ↑": format_number(row.recall), size: f"{row.layer_total:,.0f}" if row.kind != "annotators" else MISSING,
            "outputs": f"{row.outputs:,}",
            "F with ambiguous quotes": "" if row.worst is None else f"{format_number(row.worst)} to {format_number(row.best)}",
        }
        for row in rows
    ]  # fmt: skip


def shown_parts(done: SpanEvaluation, part: Part) -> list[dict[str, str]]:
    """Return the cells of a table with a row per system, severity or category, and columns of layers."""
    names = [row.layer for row in done.rows if row.layer != NOTHING]
    rows: dict[str, dict[str, str]] = {}
    for row in done.parts:
        if row.part == part and row.layer in names:
            cells = {part: row.part_name, "in gold": f"{row.gold_total:,.0f}"} | {f"{name} ↑": "" for name in names}
            found = f" · {format_number(row.found)}" if part != "system" else ""
            rows.setdefault(row.part_name, cells)[f"{row.layer} ↑"] = f_text(row) + found
    return list(rows.values())


def orders(done: SpanEvaluation) -> list[str]:
    """Return each order of the layers with its measures: "A > B: mpp micro, em micro"."""
    return [f"{' > '.join(names)}: {', '.join(measures)}" for names, measures in done.orders.items()]


def shown_tests(tests: Sequence[SpanTest]) -> list[dict[str, str]]:
    """Return the cells of the table of differences."""
    from core.reports.evaluation import p_text

    return [
        {"better": t.first, "worse": t.second, "difference": format_number(t.difference), "p (Holm)": p_text(t.adjusted), "note": t.reason}
        for t in tests
    ]  # fmt: skip


def chart(done: SpanEvaluation) -> alt.LayerChart:
    """Return F of each layer with its 95 % CI; annotators and trivial layers are grey."""
    import pandas as pd

    from core.plots import score_charts

    rows = [
        {"metric": row.layer, "value": row.f, "low": row.f if row.low is None else row.low, "high": row.f if row.high is None else row.high,
         "shown": f_text(row), "baseline": row.kind != "layer"}
        for row in done.rows if row.f is not None
    ]  # fmt: skip
    return score_charts.agreements(pd.DataFrame(rows), done.choice.words)


def as_csv(done: SpanEvaluation) -> str:
    """Return all rows: all outputs, then parts of the data."""
    return csv_text(SpanRow._fields, (*done.rows, *done.parts))


def as_json(done: SpanEvaluation) -> str:
    """Return rows, parts, tests, F under every measure, and what was left out."""
    report = {
        "choice": done.choice._asdict(), "gold": done.gold, "outputs": done.outputs, "segments": done.segments,
        "comparisons": done.comparisons, "sentence": sentence(done), "ranking": done.ranking, "orders": orders(done), "methods": f"{about(done)} {HOW}",
        "notes": list(done.notes), "rows": [row._asdict() for row in done.rows], "parts": [row._asdict() for row in done.parts],
        "tests": [test._asdict() for test in done.tests],
        "f_by_measure": [{"measure": m, "average": a, "f": dict(f)} for (m, a), f in done.f_by_measure.items()],
    }  # fmt: skip
    return json_text(report)
