"""Agreement with several human scores side by side: the table metric × human score, also as CSV and LaTeX."""

from __future__ import annotations

from collections.abc import Mapping

from core.formats.write import csv_text
from core.reports.evaluation import MISSING, cell
from core.reports.latex import bold, latex_table, latex_text
from core.services.evaluate.evaluate import LABELS, AgreementRow, Evaluation, StatisticName
from core.services.evaluate.evaluation_data import ScoredMetric

UNDEFINED = -9.0


def order(found: Mapping[str, Evaluation], statistic: StatisticName) -> list[ScoredMetric]:
    """Return the metrics by the mean of their agreement with the human scores of `found`, best first, then the baselines."""
    metrics = list({m.name: m for one in found.values() for m in one.joined.scored_metrics}.values())

    def place(metric: ScoredMetric) -> tuple[bool, float]:
        rows = (row(found[name], metric, statistic) for name in found)
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


def as_csv(found: Mapping[str, Evaluation]) -> str:
    """Return one row per human score, metric and statistic, with the columns of an evaluation."""
    return csv_text(
        ("human_score", *AgreementRow._fields), ((name, *r) for name, one in found.items() for r in one.rows)
    )


def as_latex(found: Mapping[str, Evaluation], statistic: StatisticName) -> str:
    """Return a booktabs table: metrics from best to worst, then the baselines; bold: the best metric for each human score."""
    groups: dict[bool, list[list[str]]] = {False: [], True: []}
    for metric in order(found, statistic):
        cells = [latex_text(metric.label)]
        for one in found.values():
            shown = latex_text(text(one, metric, statistic))
            cells.append(bold(shown) if is_best(one, metric, statistic) else shown)
        groups[metric.sentinel].append(cells)
    compared = ", ".join(f"{name} {max((r.n for r in one.rows), default=0):,}" for name, one in found.items())
    unit = "Systems" if any(one.choice.level == "system" for one in found.values()) else "Outputs"
    caption = (
        f"{LABELS[statistic]} with each human score. Bold: the best metric, not tested. Below the rule: baselines. "
        f"{unit} compared: {compared}."
    )
    return latex_table(["Metric", *found], list(groups.values()), caption, "human-scores")
