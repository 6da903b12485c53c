"""Reports of the adversarial test: a table for a terminal, CSV, JSON, and HTML without scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isclose

from core.formats.error_cases import TYPES
from core.formats.write import aligned, csv_text, json_text
from core.reports.html import percent, render
from core.services.robustness.adversarial import ALL, AVERAGES, Failure, PhenomenonRow

PUBLISHED: dict[str, tuple[str, float, float]] = {
    "bleu": ("sentBLEU", 32.9, 27.2), "rougeL": ("Rouge", 34.3, 28.7), "moverscore": ("MoverScore", 48.3, 46.9),
    "bertscore": ("BERTScore", 65.3, 60.9), "bartscore-p": ("BARTScore-P", 67.4, 64.2), "bartscore": ("BARTScore-F", 78.4, 77.8),
    "bleurt": ("BLEURT", 74.8, 79.8), "comet": ("COMET", 67.4, 67.0), "nli": ("NLI-R", 85.0, 92.1),
}  # fmt: skip
"""Chen and Eger (2023), Table 8, reference-based: accuracy over all phenomena and over adequacy, in percent, averaged over suites."""
FOUR, TWO = "four suites (WMT20de, XPAWSde, PAWSori and PAWSback)", "two suites with sources (WMT20de and XPAWSde)"
NEEDS_SOURCE = frozenset({"comet"})
"""Metrics for which the paper averages over `TWO`."""


def grid(rows: Sequence[PhenomenonRow], labels: Mapping[str, str]) -> list[list[str]]:
    """Return the accuracy in percent as lines of cells: one line per phenomenon, one column per metric; first the labels of the metrics."""
    metrics, names = list(dict.fromkeys(r.metric for r in rows)), list(dict.fromkeys(r.phenomenon for r in rows))
    by_place = {(r.phenomenon, r.metric): r for r in rows}
    lines = [["", *map(labels.__getitem__, metrics)]]
    for name in sorted(names, key=lambda n: n in AVERAGES):
        lines.append([name, *(percent(by_place[name, metric].accuracy) for metric in metrics)])
    return lines


def as_text(rows: Sequence[PhenomenonRow], labels: Mapping[str, str]) -> str:
    return "\n".join(aligned(grid(rows, labels), numbers=True)) + "\n"


def published(rows: Sequence[PhenomenonRow]) -> str:
    """Return the paper's figures for these metrics, which used the paper's models; "" unless all its phenomena are in `rows`."""
    known = dict.fromkeys(r.metric for r in rows if r.metric in PUBLISHED)
    if not known or not set(TYPES.values()) <= {r.phenomenon for r in rows}:
        return ""
    means = []
    for suites, fewer in ((FOUR, False), (TWO, True)):
        names = [name for name in known if (name in NEEDS_SOURCE) == fewer]
        figures = [f"{name} {whole} ({adequacy})" for name, whole, adequacy in map(PUBLISHED.__getitem__, names)]
        means += [f"over its {suites} {', '.join(figures)}"] if figures else []
    return f"For comparison, the means of Chen and Eger (2023) over all kinds of error (over those of adequacy) with its own models: {'; '.join(means)}."


def headline(rows: Sequence[PhenomenonRow], labels: Mapping[str, str]) -> str:
    """Return which metrics prefer the good text most often, as a sentence without a full stop; "" if no case has a score.

    `labels` are the display names of the metrics. Metrics with equal results are named together.
    """
    whole = [r for r in rows if r.phenomenon == ALL and r.accuracy is not None]
    if not whole:
        return ""
    top = max(r.accuracy or 0.0 for r in whole)
    best = [r for r in whole if isclose(r.accuracy or 0.0, top, abs_tol=1e-9)]
    if not top:
        return (
            "No metric prefers the good text in any case"
            if len(whole) > 1
            else f"{labels[whole[0].metric]} never prefers the good text"
        )
    averaged = {r.averaged for r in best}
    n = averaged.pop()
    over = f", on average over {n} kinds of error" if n > 1 and not averaged else ""
    share = f"in {percent(top)} %"
    if len(best) == 1:
        interval = "" if best[0].low is None else f" (95 % CI {percent(best[0].low)}–{percent(best[0].high)})"
        often = " most often:" if len(whole) > 1 else ""
        return f"{labels[best[0].metric]} prefers the good text{often} {share}{interval} of the cases{over}"
    if len(best) == len(whole):
        return f"All metrics are equal: each prefers the good text {share} of the cases{over}"
    names = [labels[r.metric] for r in best]
    return f"{', '.join(names[:-1])} and {names[-1]} prefer the good text most often: {share} of the cases{over}"


def sentence_of_counts(rows: Sequence[PhenomenonRow], labels: Mapping[str, str]) -> str:
    """Return the number of cases, and per metric the number of cases without a score."""
    whole = [r for r in rows if r.phenomenon == ALL]
    lost = [f"{labels[r.metric]} {r.undefined:,}" for r in whole if r.undefined]
    cases = f"{whole[0].cases:,} case{'s' if whole[0].cases != 1 else ''}" if whole else "No cases"
    return f"{cases}; left out because they have no score: {', '.join(lost)}." if lost else f"{cases}."


def as_csv(rows: Sequence[PhenomenonRow]) -> str:
    return csv_text(PhenomenonRow._fields, rows)


def as_json(rows: Sequence[PhenomenonRow], failed: Sequence[Failure], notes: Sequence[str]) -> str:
    """Return rows, failures and notes; missing values are null."""
    failures = [dict(zip(Failure._fields[:-1], f, strict=False)) for f in failed]
    return json_text({"rows": [r._asdict() for r in rows], "failures": failures, "notes": list(notes)})


def as_html(
    rows: Sequence[PhenomenonRow], failed: Sequence[Failure], notes: Sequence[str], labels: Mapping[str, str]
) -> str:
    """Return one page with the table and its CIs, the failures, the notes and the signatures."""
    by_place = {(r.phenomenon, r.metric): r for r in rows}
    metrics = list(dict.fromkeys(r.metric for r in rows))
    lines = [
        {"phenomenon": name, "average": name in AVERAGES, "rows": [by_place[name, metric] for metric in metrics]}
        for name, *_ in grid(rows, labels)[1:]
    ]
    failed = [
        f._replace(metric=labels[f.metric], scores={labels[name]: of for name, of in f.scores.items()}) for f in failed
    ]
    signatures = dict.fromkeys((labels[r.metric], r.signature) for r in rows if r.phenomenon == ALL)
    return render(
        "adversarial.html.j2", title="Adversarial test", metrics=[labels[name] for name in metrics], lines=lines, failures=failed, notes=notes,
        signatures=signatures,
    )  # fmt: skip
