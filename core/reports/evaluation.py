"""Reports of an evaluation: CSV, JSON, LaTeX and HTML, with a paragraph on methods that states every choice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from core.data import grouped
from core.formats.write import csv_text, json_text
from core.formatting import MISSING, format_count, format_figure, format_number, with_interval
from core.metrics.lexical.baselines import BASELINES
from core.plots import score_charts
from core.plots.score_charts import means as system_means
from core.reports.html import report_page, report_table
from core.reports.latex import bold, latex_table, latex_text
from core.services.evaluate.evaluate import (
    LABELS,
    PERMUTATIONS,
    SIGNS,
    STATISTICS,
    AgreementRow,
    Evaluation,
    StatisticName,
)
from core.services.evaluate.evaluation_data import Level
from core.services.evaluate.significance import ALPHA, SignificanceMatrix, Systems
from core.stats.correlation.correlation import FEWEST_GROUPS

DAGGER, DOT = "†", "•"
NAMED = 3
LEVELS: dict[Level, str] = {"segment": "single outputs", "system": "system means"}


def cell(row: AgreementRow) -> str:
    """Return the value with its 95 % CI: ".434 [.33, .53]"; a dash if undefined.

    A mean over only some segments states their number: ".434 [.33, .53] (468/529)". A dagger marks a value that is not ranked.
    """
    if row.value is None:
        return MISSING
    text = with_interval(format_number(row.value), row.low, row.high)
    if row.groups < row.all_groups:
        text += f" ({row.groups}/{row.all_groups})"
    return text + ("" if row.ranked else f" {DAGGER}")


def interval(low: float | None, high: float | None, digits: int = 3, *, leading_zero: bool = False) -> str:
    """Return "[.330, .530]", or a dash."""
    if low is None or high is None:
        return MISSING
    first, last = (format_number(end, digits, leading_zero=leading_zero) for end in (low, high))
    return f"[{first}, {last}]"


def sentence(evaluation: Evaluation, statistic: StatisticName) -> str:
    """Return the result in one sentence, and the best baseline in a second one."""
    best, baseline = evaluation.best(statistic), evaluation.best(statistic, sentinel=True)
    joined = evaluation.joined
    few = [r for r in evaluation.rows if r.statistic == statistic and r.kind == "metric" and not r.ranked]
    n = len(joined.metrics) - len(few)
    if best is None and few:
        row = max(few, key=lambda r: r.groups)
        return (
            f"No metric is ranked by {LABELS[statistic]}: it must be defined in at least {FEWEST_GROUPS} segments and in half of all. "
            f"{row.metric} has the most, {row.groups} of {row.all_groups}."
        )
    if best is None:
        reasons = [r.reason for r in evaluation.rows if r.statistic == statistic and r.kind == "metric"]
        return (
            f"{LABELS[statistic]} is undefined for every metric: {reasons[0] if reasons else 'there are no metrics'}."
        )
    whole = joined.whole() if evaluation.choice.level == "system" else joined
    over = f"{len(whole.keys)} outputs"
    if evaluation.choice.level == "system":
        over = f"the means of {len(whole.systems)} systems over {whole.n_segments} segments"
    equal = [r.metric for r in evaluation.ranked(statistic) if abs((r.value or 0.0) - (best.value or 0.0)) < 1e-9]
    if n == 1:
        subject = f"{best.metric} agrees with"
    elif len(equal) == 1:
        subject = f"Of {n} metrics, {best.metric} agrees best with"
    else:
        names = f" ({', '.join(equal)})" if len(equal) <= NAMED else ""
        subject = f"{f'All {n}' if len(equal) == n else f'{len(equal)} of {n}'} metrics{names} agree equally well with"
    value = cell(best._replace(groups=best.all_groups)) if len(equal) == 1 else format_number(best.value)
    text = f"{subject} {joined.human_label} on {over}: {SIGNS[statistic]} {value}"
    if best.groups < best.all_groups:
        text += f", averaged over {best.groups:,} of {best.all_groups:,} segments"
    if baseline is None or baseline.value is None:
        return text + "."
    remark = _against_baseline(best, baseline.value)
    return f"{text}. The best baseline, which does not measure quality ({baseline.metric.lower()}), reaches {format_number(baseline.value)}{remark}."


def _against_baseline(best: AgreementRow, baseline: float) -> str:
    """Return how the value of the best baseline lies to the 95 % CI of the best metric; "" if below, or without CI."""
    if best.value is None or best.low is None or best.high is None or baseline < best.low:
        return ""
    if baseline > best.high:
        return ": a higher value than that of every metric, above the 95 % CI of the best one"
    return f", {'more than the best metric, but ' if baseline > best.value else ''}within its 95 % CI"


def as_csv(evaluation: Evaluation) -> str:
    return csv_text(AgreementRow._fields, (*evaluation.rows, *evaluation.as_given))


def as_json(evaluation: Evaluation, tests: Sequence[SignificanceMatrix] = ()) -> str:
    """Return the rows, methods, signatures and notes, and the tests between metrics if there are any.

    `tests` of the report are those under the first statistic, `more_tests` those under the others.
    """
    report: dict[str, Any] = {"methods": methods(evaluation, tests), "signatures": signatures(evaluation)}
    report |= {
        "rows": [r._asdict() for r in (*evaluation.rows, *evaluation.as_given)],
        "notes": [*filter(None, [evaluation.joined.set_aside]), *evaluation.joined.notes],
    }
    kinds = [
        {
            "statistic": m.statistic,
            "test": m.test,
            "ended_early": m.ended_early,
            "pairs": [p._asdict() for p in m.pairs],
        }
        for m in tests
    ]
    if kinds:
        report["tests"] = kinds[0]
    if kinds[1:]:
        report["more_tests"] = kinds[1:]
    return json_text(report)


def as_latex(
    evaluation: Evaluation, statistic: StatisticName, tests: Sequence[SignificanceMatrix] = (), name: str = ""
) -> str:
    """Return a booktabs table: metrics from best to worst, then the baselines. Bold: not significantly worse than the best.

    `name` is that of the project, for caption and label.
    """
    names = STATISTICS[evaluation.choice.level]
    tested = [m for m in tests if m.pairs]
    groups: dict[str, list[list[str]]] = {"metric": [], "sentinel": []}
    for metric in evaluation.order(statistic):
        rows = [evaluation.of(metric, n) for n in names]
        cells = [latex_text(cell(r)) for r in rows]
        for at in (names.index(m.statistic) for m in tested if metric in m.tied):
            cells[at] = bold(cells[at])
        groups[rows[0].kind].append([latex_text(rows[0].metric), *cells])
    given_rows = [[latex_text(text) for text in cells] for cells in _given_cells(evaluation)]
    kinds = ", ".join(dict.fromkeys(m.test for m in tested))
    said = f" Bold: not significantly worse than the best metric ({kinds}, Holm)." if tested else ""
    whole = evaluation.joined.whole() if evaluation.choice.level == "system" else evaluation.joined
    over = f"{len(whole.keys):,} outputs of {format_count(len(whole.systems), 'system')} for {format_count(whole.n_segments, 'segment')}"
    of = f"{name}: agreement" if name else "Agreement"
    caption = f"{of} with {evaluation.joined.human_label} on {over}, with 95 % bootstrap CIs. Below the rule: baselines.{said}{sentence_of_counts(evaluation)}"
    return latex_table(
        ["Metric", *(LABELS[n] for n in names)], [*groups.values(), given_rows], caption, f"{name} agreement"
    )


def _given_cells(evaluation: Evaluation) -> list[list[str]]:
    """Return the table rows of system scores as given: the label, then a cell per statistic."""
    by_label = grouped((r.metric, (r.statistic, cell(r))) for r in evaluation.as_given)
    return [[label, *(dict(of).get(n, MISSING) for n in STATISTICS["system"])] for label, of in by_label.items()]


def sentence_of_counts(evaluation: Evaluation) -> str:
    """Return what the numbers in brackets and the dagger of `cell` mean; "" if there are none."""
    text = ""
    if any(r.value is not None and r.groups < r.all_groups for r in evaluation.rows):
        text += " In brackets: the number of segments in which the statistic is defined, of all segments."
    if any(not r.ranked for r in evaluation.rows):
        text += f" {DAGGER}: defined in fewer than {FEWEST_GROUPS} segments or in less than half of them, so neither ranked nor tested."
    return text


def methods(evaluation: Evaluation, tests: Sequence[SignificanceMatrix] = (), systems: Systems | None = None) -> str:
    """Return a paragraph that states every choice behind the numbers."""
    joined, choice = evaluation.joined, evaluation.choice
    whole = joined.whole() if choice.level == "system" else joined
    sentences = [
        f"Metrics were compared with {joined.human_label} (signature {joined.human_signature}) on {len(whole.keys)} outputs of "
        f"{len(whole.systems)} systems for {whole.n_segments} segments. All metrics were compared on the same outputs; higher is better.",
    ]
    if joined.excluded:
        sentences.append(f"Excluded systems: {', '.join(joined.excluded)}.")
    sentences += [joined.set_aside, *joined.notes]
    if turned := [c.label for c in joined.metrics if c.turned]:
        sentences.append(f"Negated, because lower is better: {', '.join(turned)}.")
    if choice.level == "system":
        sentences.append(
            "At system level, the mean scores of the systems were compared over the segments that all systems have "
            f"({joined.n_segments - whole.n_segments} segments left out): pairwise accuracy (Kocmi et al. 2021), soft "
            f"pairwise accuracy (Thompson et al. 2024; {PERMUTATIONS:,} permutations), Kendall τ-b, Spearman ρ and Pearson r."
        )
        if evaluation.as_given:
            sentences.append(
                "Rows “as given” compare the system scores of the files, such as corpus scores, over "
                f"{evaluation.as_given[0].n} systems; they have no CIs. All other rows compare means of segment scores."
            )
    else:
        how = (
            "over all outputs pooled" if choice.group == "pooled" else "within each segment and averaged over segments"
        )
        sentences.append(
            f"At segment level, Kendall τ-b, acc_eq (Deutsch et al. 2023), Spearman ρ and Pearson r were computed {how}; "
            "for acc_eq, a metric difference of at most ε is a tie, and ε maximises acc_eq on these data."
        )
        sentences.append(_epsilons(evaluation))
        sentences += _groups(evaluation)
    soft = " (200 draws for soft pairwise accuracy)" if choice.level == "system" else ""
    sentences.append(
        f"Intervals are 95 % percentile bootstrap CIs over {choice.unit}s, {choice.draws} draws{soft}, seed {choice.seed}"
        + ("; ε was recomputed in every draw." if choice.level == "segment" else "; the systems are fixed.")
    )
    label = {c.name: c.label for c in joined.scored_metrics}
    for tested in tests:
        if not tested.pairs:
            sentences.append(
                f"Fewer than two metrics are ranked by {LABELS[tested.statistic]}, so no difference was tested."
            )
            continue
        test = "" if tested.draws else " (Williams 1959)"
        best = f" (the best metric, {label[tested.best]}, against each other one and the best baseline)"
        against = "" if tested.all_pairs else best
        sentences.append(
            f"Differences between metrics in {LABELS[tested.statistic]} were tested two-sided with {tested.test}{test} and Holm's "
            f"correction over {len(tested.pairs)} pairs{against}, at {ALPHA:g}; {tested.significant} are significant."
        )
        sentences.append(tested.ended_early)
    if systems is not None and systems.tests:
        sentences.append(
            "Systems were compared by approximate randomization (10,000 draws, two-sided), with Holm's correction over "
            f"{len(systems.tests)} pairs; the minimum detectable difference is that of a paired t-test with power .8."
        )
    if baselines := [c.label for c in joined.scored_metrics if c.sentinel]:
        meant = "; ".join(f"{b.label}: {b.help}" if b.help else b.label for b in BASELINES if b.label in baselines)
        sentences.append(f"Baselines that do not measure quality (sentinels): {meant}.")
    return " ".join(filter(None, sentences))


def _groups(evaluation: Evaluation) -> list[str]:
    """Return in how many segments each statistic is defined, unless in all, and which metrics are not ranked."""
    sentences = []
    for statistic in STATISTICS["segment"]:
        rows = [r for r in evaluation.rows if r.statistic == statistic and r.value is not None]
        counts = [r.groups for r in rows if r.groups < r.all_groups]
        if counts:
            low, high = min(counts), max(r.groups for r in rows)
            range_ = f"{low}" if low == high else f"{low} to {high}"
            sentences.append(
                f"{LABELS[statistic]} is defined in {range_} of {rows[0].all_groups} segments, depending on the metric."
            )
        if few := [r for r in rows if not r.ranked]:
            names = ", ".join(f"{r.metric} ({r.groups})" for r in few)
            sentences.append(
                f"Defined in fewer than {FEWEST_GROUPS} segments or in less than half of them, so neither ranked nor tested by "
                f"{LABELS[statistic]}: {names}."
            )
    return sentences


def _epsilons(evaluation: Evaluation) -> str:
    known = [r for r in evaluation.rows if r.statistic == "acc_eq" and r.epsilon is not None]
    floor = next((r.chance for r in known), None)
    if floor is None:
        return ""
    each = "; ".join(
        f"{r.metric} {format_figure(r.epsilon)}" for r in known if r.kind == "metric" and r.epsilon is not None
    )
    return f"ε: {each}. The chance level of acc_eq is {format_number(floor)}."


def signatures(evaluation: Evaluation) -> list[str]:
    """Return one line per metric or baseline with its signature: options, model and revision, versions."""
    human = f"{evaluation.joined.human_label}: {evaluation.joined.human_signature}"
    return [human, *(f"{c.label}: {c.signature}" for c in evaluation.joined.scored_metrics)]


def as_html(
    evaluation: Evaluation,
    statistic: StatisticName,
    tests: Sequence[SignificanceMatrix] = (),
    systems: Systems | None = None,
    title: str = "Evaluation",
) -> str:
    """Return the evaluation as `report_page`."""
    return report_page(
        title, sentence(evaluation, statistic), report_tables(evaluation, statistic, tests, systems),
        report_charts(evaluation, statistic, tests, systems), methods(evaluation, tests, systems), signatures(evaluation),
    )  # fmt: skip


def report_tables(
    evaluation: Evaluation, statistic: StatisticName, tests: Sequence[SignificanceMatrix], systems: Systems | None
) -> list[dict[str, Any]]:
    """Return the tables of a report: agreement, tests between metrics, means of systems."""
    names = STATISTICS[evaluation.choice.level]
    columns = ["Metric", *(LABELS[n] for n in names)]
    rows, sentinels = list[list[str]](), list[int]()
    tied = {m.statistic: m.tied for m in tests if m.pairs}
    for name in evaluation.order(statistic):
        of_name = [evaluation.of(name, n) for n in names]
        cells = [of_name[0].metric, *(cell(r) if r.value is not None else r.reason for r in of_name)]
        for at in (names.index(n) + 1 for n, best in tied.items() if name in best):
            cells[at] += f" {DOT}"
        rows.append(cells)
        sentinels += [len(rows) - 1] if of_name[0].kind == "sentinel" else []
    caption = f"Agreement with {evaluation.joined.human_label} on {LEVELS[evaluation.choice.level]}, with 95 % CIs.{sentence_of_counts(evaluation)}"
    caption += f" {DOT}: the best metric and what is not significantly worse (Holm, p > {ALPHA:g})." if tied else ""
    tables = [report_table(caption, columns, rows, sentinels)]
    if evaluation.as_given:
        caption = "System scores as given in the files; the table above has means of segment scores"
        tables.append(report_table(caption, columns, _given_cells(evaluation)))
    label = {c.name: c.label for c in evaluation.joined.scored_metrics}
    for tested in (m for m in tests if m.pairs):
        pairs = [
            [label[p.first], label[p.second], *map(format_number, (p.difference, p.p, p.adjusted)),
             *([f"{p.draws:,}{' (ended early)' if p.ended else ''}"] if tested.draws else [])]
            for p in tested.pairs
        ]  # fmt: skip
        caption = f"{LABELS[tested.statistic]}: differences between metrics, {tested.test}. {tested.ended_early}"
        columns = ["better", "worse", "difference", "p", "p (Holm)", *(["draws"] if tested.draws else [])]
        tables.append(report_table(caption.strip(". "), columns, pairs))
    if systems is not None and systems.means:
        means = [[m.rank_text, m.system, format_number(m.mean), interval(m.low, m.high)] for m in systems.means]
        caption = "Systems, with the ranks that the tests between all pairs allow"
        tables.append(report_table(caption, ["ranks", "system", "mean", "95 % CI"], means))
    return tables


def report_charts(
    evaluation: Evaluation, statistic: StatisticName, tests: Sequence[SignificanceMatrix], systems: Systems | None
) -> list[tuple[str, alt.LayerChart]]:
    """Return the charts of a report with their captions."""
    rows = [evaluation.of(name, statistic) for name in evaluation.order(statistic)]
    known = [
        {"metric": r.metric, "value": r.value, "low": r.low, "high": r.high, "shown": cell(r), "baseline": r.kind == "sentinel"}
        for r in rows if r.value is not None
    ]  # fmt: skip
    charts: list[tuple[str, alt.LayerChart]] = []
    if known:
        caption = f"{LABELS[statistic]} with 95 % CIs; baselines are grey"
        charts.append((caption, score_charts.agreements(pd.DataFrame(known), f"{LABELS[statistic]} ↑")))
    for tested in tests:
        if tested.pairs:
            caption = f"{LABELS[tested.statistic]}: p (Holm) of the row metric against the column metric; coloured if p ≤ {ALPHA:g}"
            charts.append((caption, differences(evaluation, tested)))
    if systems is not None and systems.means:
        means = pd.DataFrame([m._asdict() for m in systems.means])
        charts.append(("Means of the systems, with 95 % CIs", system_means(means, "mean")))
    return charts


def differences(evaluation: Evaluation, tested: SignificanceMatrix) -> alt.LayerChart:
    label = {c.name: c.label for c in evaluation.joined.scored_metrics}
    rows = [
        {
            "better": label[p.first], "worse": label[p.second], "difference": p.difference,
            "p": 1.0 if p.adjusted is None else p.adjusted, "shown": p_text(p.adjusted),
        }
        for p in tested.pairs
    ]  # fmt: skip
    return score_charts.differences(pd.DataFrame(rows), [label[n] for n in tested.names], ALPHA)


def p_text(p: float | None) -> str:
    return "<.001" if p is not None and p < 0.0005 else format_number(p)
