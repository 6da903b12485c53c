"""Tables of scores as CSV and LaTeX: metric × human score, and system × score."""

from __future__ import annotations

import math
from collections.abc import Mapping

from core.formats.write import csv_text
from core.formatting import MISSING, format_number
from core.reports.evaluation import cell
from core.reports.latex import bold, latex_table, latex_text
from core.services.compare.compare import signature_at
from core.services.compare.systems import SystemScores
from core.services.evaluate.evaluate import LABELS, AgreementRow, Evaluation, StatisticName
from core.services.evaluate.evaluation_data import ScoredMetric
from core.services.projects.view import Column

UNDEFINED = -9.0


def order(evaluations: Mapping[str, Evaluation], statistic: StatisticName) -> list[ScoredMetric]:
    """Return the metrics by the mean of their agreement with the human scores of `evaluations`, best first, then the baselines."""
    metrics = list({m.name: m for one in evaluations.values() for m in one.joined.scored_metrics}.values())

    def place(metric: ScoredMetric) -> tuple[bool, float]:
        rows = (row(evaluations[name], metric, statistic) for name in evaluations)
        values = [r.value for r in rows if r is not None and r.value is not None]
        return metric.sentinel, -(sum(values) / len(values) if values else UNDEFINED)

    return sorted(metrics, key=place)


def row(of: Evaluation, metric: ScoredMetric, statistic: StatisticName) -> AgreementRow | None:
    """Return the agreement of a metric, None if it was not compared with this human score."""
    return next((r for r in of.rows if r.name == metric.name and r.statistic == statistic), None)


def text(of: Evaluation, metric: ScoredMetric, statistic: StatisticName) -> str:
    return cell(r) if (r := row(of, metric, statistic)) is not None else MISSING


def is_best(of: Evaluation, metric: ScoredMetric, statistic: StatisticName) -> bool:
    best = of.best(statistic)
    return best is not None and best.name == metric.name


def human_scores_csv(evaluations: Mapping[str, Evaluation]) -> str:
    """Return one row per human score, metric and statistic, with the columns of an evaluation."""
    return csv_text(
        ("human_score", *AgreementRow._fields), ((name, *r) for name, one in evaluations.items() for r in one.rows)
    )


def human_scores_latex(evaluations: Mapping[str, Evaluation], statistic: StatisticName) -> str:
    """Return a booktabs table: metrics from best to worst, then the baselines; bold: the best metric for each human score."""
    groups: dict[bool, list[list[str]]] = {False: [], True: []}
    for metric in order(evaluations, statistic):
        cells = [latex_text(metric.label)]
        for one in evaluations.values():
            shown = latex_text(text(one, metric, statistic))
            cells.append(bold(shown) if is_best(one, metric, statistic) else shown)
        groups[metric.sentinel].append(cells)
    compared = ", ".join(f"{name} {max((r.n for r in one.rows), default=0):,}" for name, one in evaluations.items())
    unit = "Systems" if any(one.choice.level == "system" for one in evaluations.values()) else "Outputs"
    caption = (
        f"{LABELS[statistic]} with each human score. Bold: the best metric, not tested. Below the rule: baselines. "
        f"{unit} compared: {compared}."
    )
    return latex_table(["Metric", *evaluations], list(groups.values()), caption, "human-scores")


CSV_COLUMNS = ("system", "score", "signature", "mean", "outputs")


def title(column: Column) -> str:
    """Return the label with the direction: "chrF ↑"."""
    return f"{column.label} {column.arrow}".strip()


def mean_text(column: Column, mean: float) -> str:
    """Return a mean with the decimals of its column, two for whole numbers; a dash for NaN."""
    return format_number(None if math.isnan(mean) else mean, column.digits or 2, leading_zero=True)


def systems_csv(scores: SystemScores, lam: float) -> str:
    """Return one row per system and score, with `CSV_COLUMNS`; a system without scores has an empty mean."""
    return csv_text(
        CSV_COLUMNS,
        (
            (system, c.label, signature_at(c, lam), None if math.isnan(mean) else mean, int(scores.counts[i, k]))
            for i, system in enumerate(scores.systems)
            for k, (c, mean) in enumerate(zip(scores.columns, scores.means[i].tolist(), strict=True))
        ),
    )


def systems_latex(scores: SystemScores) -> str:
    """Return a booktabs table with the best means in bold."""
    rows = []
    for system, means, best in zip(scores.systems, scores.means.tolist(), scores.best.tolist(), strict=True):
        cells = [latex_text(mean_text(c, m)) for c, m in zip(scores.columns, means, strict=True)]
        rows.append(
            [latex_text(system), *(bold(cell) if first else cell for cell, first in zip(cells, best, strict=True))]
        )
    lacking = "".join(f" {c.label}: {n} of {scores.outputs} outputs have a score." for c, n in scores.partial)
    caption = f"Means of output scores over {scores.outputs} outputs. Bold: best mean, not tested.{lacking}"
    return latex_table(["System", *map(title, scores.columns)], [rows], caption, "systems")
