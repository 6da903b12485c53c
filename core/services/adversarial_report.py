"""The adversarial test as a table of a terminal, CSV, JSON, and one HTML page without scripts."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from math import isclose

from core.formats.adversarial import TYPES
from core.formats.write import csv_text
from core.services.adversarial import ALL, AVERAGES, Failure, Row

MISSING = "–"
PUBLISHED: dict[str, tuple[str, float, float]] = {
    "bleu": ("sentBLEU", 32.9, 27.2), "rougeL": ("Rouge", 34.3, 28.7), "moverscore": ("MoverScore", 48.3, 46.9),
    "bertscore": ("BERTScore", 65.3, 60.9), "bartscore-p": ("BARTScore-P", 67.4, 64.2), "bartscore": ("BARTScore-F", 78.4, 77.8),
    "bleurt": ("BLEURT", 74.8, 79.8), "comet": ("COMET", 67.4, 67.0), "nli": ("NLI-R", 85.0, 92.1),
}  # fmt: skip
"""Table 8 of Chen and Eger (2023), reference-based: all phenomena and adequacy, in percent, the mean over suites."""
FOUR, TWO = "four suites (WMT20de, XPAWSde, PAWSori and PAWSback)", "two suites with sources (WMT20de and XPAWSde)"
NEEDS_SOURCE = frozenset({"comet"})
"""Of these the paper's mean is over `TWO`."""
_STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:76rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
table{border-collapse:collapse;margin:1rem 0;font-size:.9rem}td,th{padding:.3rem .6rem;text-align:left;border-bottom:1px solid #d9dde3;vertical-align:top}
.n{text-align:right;font-variant-numeric:tabular-nums}.a td,.a th{font-weight:600}.h{color:#1b1f24}div{overflow-x:auto}.s{font-size:.85rem;overflow-wrap:anywhere}
@media(prefers-color-scheme:dark){body{color:#e6e8eb;background:#14171b}td,th{border-color:#333a44}}"""


def percent(value: float | None) -> str:
    """A share as the paper prints it: 32.9."""
    return MISSING if value is None else f"{100 * value:.1f}"


def grid(rows: Sequence[Row]) -> list[list[str]]:
    """Phenomena down, metrics across, accuracy in percent; the first line holds the metrics."""
    metrics, names = list(dict.fromkeys(r.metric for r in rows)), list(dict.fromkeys(r.phenomenon for r in rows))
    by_place = {(r.phenomenon, r.metric): r for r in rows}
    lines = [["", *metrics]]
    for name in sorted(names, key=lambda n: n in AVERAGES):
        lines.append([name, *(percent(by_place[name, metric].accuracy) for metric in metrics)])
    return lines


def text(rows: Sequence[Row]) -> str:
    """The grid in columns."""
    lines = grid(rows)
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    return "".join(
        "  ".join(
            cell.ljust(w) if k == 0 else cell.rjust(w) for k, (cell, w) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        + "\n"
        for line in lines
    )


def published(rows: Sequence[Row]) -> str:
    """What the paper has for these metrics, where all its phenomena are there; else nothing. The models are the paper's."""
    known = dict.fromkeys(r.metric for r in rows if r.metric in PUBLISHED)
    if not known or not set(TYPES.values()) <= {r.phenomenon for r in rows}:
        return ""
    means = []
    for suites, fewer in ((FOUR, False), (TWO, True)):
        names = [name for name in known if (name in NEEDS_SOURCE) == fewer]
        told = [f"{name} {whole} ({adequacy})" for name, whole, adequacy in map(PUBLISHED.__getitem__, names)]
        means += [f"over its {suites} {', '.join(told)}"] if told else []
    return f"For comparison, all (adequacy), means of the paper under its own models: {'; '.join(means)}."


def headline(rows: Sequence[Row], labels: Mapping[str, str]) -> str:
    """Who prefers the right text most often, in a sentence without a full stop; "" where no case has a score.

    `labels` are the names of the metrics for people. Equals are named together; where nobody is ahead, nobody is.
    """
    whole = [r for r in rows if r.phenomenon == ALL and r.accuracy is not None]
    if not whole:
        return ""
    top = max(r.accuracy or 0.0 for r in whole)
    best = [r for r in whole if isclose(r.accuracy or 0.0, top, abs_tol=1e-9)]
    if not top:
        who = "No metric" if len(whole) > 1 else f"{labels[whole[0].metric]} never"
        return f"{who} prefers the right text" + (" in a single case" if len(whole) > 1 else "")
    averaged = {r.averaged for r in best}
    n = averaged.pop()
    over = f", on average over {n} phenomena" if n > 1 and not averaged else ""
    share = f"in {percent(top)} %"
    if len(best) == 1:
        between = "" if best[0].low is None else f" [{percent(best[0].low)}, {percent(best[0].high)}]"
        often = " most often:" if len(whole) > 1 else ""
        return f"{labels[best[0].metric]} prefers the right text{often} {share}{between} of the cases{over}"
    if len(best) == len(whole):
        return f"No metric stands out: each prefers the right text {share} of the cases{over}"
    names = [labels[r.metric] for r in best]
    who = f"{', '.join(names[:-1])} and {names[-1]}"
    return f"{who} prefer the right text most often: {share} of the cases{over}"


def counted(rows: Sequence[Row], labels: Mapping[str, str]) -> str:
    """How many cases there are, and of which of them a metric has no score."""
    whole = [r for r in rows if r.phenomenon == ALL]
    lost = [f"{labels[r.metric]} {r.undefined:,}" for r in whole if r.undefined]
    cases = f"{whole[0].cases:,} case{'s' if whole[0].cases != 1 else ''}" if whole else "No cases"
    return f"{cases}; without a score, and left out: {', '.join(lost)}." if lost else f"{cases}."


def as_csv(rows: Sequence[Row]) -> str:
    """One line a row, safe to open in a spreadsheet."""
    return csv_text(Row._fields, rows)


def as_json(rows: Sequence[Row], failed: Sequence[Failure], notes: Sequence[str]) -> str:
    """Rows, failures and notes; what is missing is null."""
    report = {"rows": [r._asdict() for r in rows], "failures": [f._asdict() for f in failed], "notes": list(notes)}
    return json.dumps(report, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def as_html(rows: Sequence[Row], failed: Sequence[Failure], notes: Sequence[str]) -> str:
    """One page: the grid with its intervals, the failures, the notes and the signatures."""
    signed = dict.fromkeys((r.metric, r.signature) for r in rows if r.phenomenon == ALL)
    parts = [
        "<h1>Adversarial preferences</h1>",
        "<p>Share of cases (%) in which the metric gives the right text strictly the better score; beneath, the 95 % interval.</p>",
        f"<div><table>{_head(rows)}{_body(rows)}</table></div>",
        "<ul>" + "".join(f"<li>{html.escape(note)}</li>" for note in notes) + "</ul>",
        _failed(failed) if failed else "",
        "<h2>Signatures</h2>",
        *(f"<p class=s>{html.escape(name)}: {html.escape(s)}</p>" for name, s in signed),
    ]
    head = f"<meta charset=utf-8><title>Adversarial preferences</title><style>{_STYLE}</style>"
    return f"<!doctype html><html lang=en><head>{head}</head><body>{''.join(parts)}</body></html>\n"


def _head(rows: Sequence[Row]) -> str:
    metrics = dict.fromkeys(r.metric for r in rows)
    return (
        "<tr><th scope=col>phenomenon</th>" + "".join(f"<th scope=col>{html.escape(m)}</th>" for m in metrics) + "</tr>"
    )


def _body(rows: Sequence[Row]) -> str:
    by_place = {(r.phenomenon, r.metric): r for r in rows}
    metrics, lines = list(dict.fromkeys(r.metric for r in rows)), grid(rows)[1:]
    out = []
    for name, *_ in lines:
        cells = "".join(_cell(by_place[name, metric]) for metric in metrics)
        average = " class=a" if name in AVERAGES else ""
        out.append(f"<tr{average}><th scope=row>{html.escape(name)}</th>{cells}</tr>")
    return "".join(out)


def _cell(row: Row) -> str:
    if row.accuracy is None:
        return f"<td class=n title='{html.escape(row.reason)}'>{MISSING}</td>"
    counted = f"{row.compared} cases compared, {row.tied} tied, {row.undefined} without a score"
    between = "" if row.low is None else f"<br><small>{percent(row.low)}–{percent(row.high)}</small>"
    shade = f"background:rgba(37,99,235,{0.5 * row.accuracy:.2f})"
    return f"<td class=n style='{shade}' title='{counted}'>{percent(row.accuracy)}{between}</td>"


def _failed(failed: Sequence[Failure]) -> str:
    names = list(failed[0].scores)
    head = "".join(
        f"<th>{html.escape(n)}</th>" for n in ("failed by", "phenomenon", "anchor", "right", "wrong", *names)
    )
    lines = []
    for f in failed:
        texts = (f.metric, f.phenomenon, f.anchor, f.good, f.bad)
        cells = "".join(f"<td dir=auto>{html.escape(t)}</td>" for t in texts)
        scores = "".join(f"<td class=n>{_score(g)}<br>{_score(b)}</td>" for g, b in f.scores.values())
        lines.append(f"<tr>{cells}{scores}</tr>")
    told = "<p>Scores of the right text above those of the wrong one.</p>"
    return f"<h2>Failures</h2>{told}<div><table><tr>{head}</tr>{''.join(lines)}</table></div>"


def _score(value: float | None) -> str:
    return MISSING if value is None else f"{value:.3f}"
