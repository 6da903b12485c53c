"""An evaluation as files: CSV, JSON, a LaTeX table, a paragraph on methods that states every choice, and one HTML page."""

from __future__ import annotations

import html
import json
import unicodedata
from collections.abc import Sequence
from typing import Any

from core.formats.write import csv_text
from core.services.evaluate import LABELS, PERMUTATIONS, SIGNS, STATISTICS, Evaluation, Level, Name, Row
from core.services.evaluate_tests import ALPHA, Matrix, Systems
from core.stats.correlation import FEWEST_GROUPS

MISSING, DAGGER = "–", "†"
NAMED, SHORT = 3, 25
LEVELS: dict[Level, str] = {"segment": "single outputs", "system": "system means"}
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "λ": r"$\lambda$", "τ": r"$\tau$", "ρ": r"$\rho$",
    "ε": r"$\varepsilon$", "α": r"$\alpha$", "∞": r"$\infty$", "−": r"$-$", "–": "--", "≤": r"$\leq$", "↑": r"$\uparrow$",
    "†": r"\dag{}",
}  # fmt: skip
_STYLE = """body{font:16px/1.55 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
table{border-collapse:collapse;margin:1rem 0;font-size:.92rem}td,th{padding:.3rem .7rem;text-align:left;border-bottom:1px solid #d9dde3}
td+td{font-variant-numeric:tabular-nums}.sentinel td{color:#6b7280}caption{text-align:left;color:#4b5563;padding-bottom:.4rem}
.short{white-space:nowrap}div{overflow-x:auto}.signed{font-size:.85rem;overflow-wrap:anywhere}@media(prefers-color-scheme:dark){body{color:#e6e8eb;background:#14171b}td,th{border-color:#333a44}.sentinel td,caption{color:#9aa3af}}"""


def number(value: float | None, digits: int = 3) -> str:
    """A statistic as it is printed: .434, −.021, 1.000; a dash for None."""
    if value is None:
        return MISSING
    text = f"{abs(value):.{digits}f}"
    sign = "−" if value < 0 and float(text) else ""
    return sign + (text[1:] if text.startswith("0.") else text)


def cell(row: Row) -> str:
    """Value and interval: ".434 [.33, .53]"; a dash where undefined. A mean over fewer than all segments says over how many:
    ".434 [.33, .53] (468/529)", with a dagger where it is not ranked."""
    if row.value is None:
        return MISSING
    text = number(row.value)
    if row.low is not None and row.high is not None:
        text += f" [{number(row.low, 2)}, {number(row.high, 2)}]"
    if row.groups < row.all_groups:
        text += f" ({row.groups}/{row.all_groups})"
    return text + ("" if row.ranked else f" {DAGGER}")


def sentence(found: Evaluation, statistic: Name) -> str:
    """The result in one sentence."""
    best, guard = found.best(statistic), found.best(statistic, sentinel=True)
    joined = found.joined
    few = [r for r in found.rows if r.statistic == statistic and r.kind == "metric" and not r.ranked]
    n = len(joined.metrics) - len(few)
    if best is None and few:
        row = max(few, key=lambda r: r.groups)
        return (
            f"No metric is ranked by {LABELS[statistic]}: a mean over segments needs {FEWEST_GROUPS} of them and half of all, and "
            f"{row.metric} has most, {row.groups} of {row.all_groups}."
        )
    if best is None:
        reasons = [r.reason for r in found.rows if r.statistic == statistic and r.kind == "metric"]
        return f"{LABELS[statistic]} is undefined for every metric: {reasons[0] if reasons else 'there is none'}."
    whole = joined.whole() if found.choice.level == "system" else joined
    over = f"{len(whole.keys)} outputs"
    if found.choice.level == "system":
        over = f"the means of {len(whole.systems)} systems over {whole.n_segments} segments"
    equal = [r.metric for r in found.ranked(statistic) if _same(r, best)]
    if n == 1:
        who = f"{best.metric} agrees with"
    elif len(equal) == 1:
        who = f"Of {n} metrics {best.metric} agrees best with"
    else:
        names = f" ({', '.join(equal)})" if len(equal) <= NAMED else ""
        who = f"{f'All {n}' if len(equal) == n else f'{len(equal)} of {n}'} metrics{names} agree equally well with"
    said = (
        f"{who} {joined.people} on {over}: {SIGNS[statistic]} {cell(best) if len(equal) == 1 else number(best.value)}"
    )
    if best.groups < best.all_groups:
        said += " segments"
    if guard is None or guard.value is None:
        return said + "."
    near = best.low is not None and guard.value >= best.low
    return f"{said}{'; but ' if near else '; '}{guard.metric.lower()}, which knows nothing, reaches {number(guard.value, 2)}."


def _same(row: Row, best: Row) -> bool:
    return row.value is not None and best.value is not None and abs(row.value - best.value) < 1e-9


def as_csv(found: Evaluation) -> str:
    """The rows, safe to open in a spreadsheet."""
    return csv_text(Row._fields, found.rows)


def as_json(found: Evaluation, matrix: Matrix | None = None, more: Sequence[Matrix] = ()) -> str:
    """The rows with the methods, the signatures and the notes, and the tests between metrics if they were run: under one
    statistic (`tests`), and under others (`more_tests`)."""
    report: dict[str, Any] = {"methods": methods(found, matrix, more=more), "signatures": signatures(found)}
    report |= {"rows": [r._asdict() for r in found.rows], "notes": list(found.joined.notes)}
    if matrix is not None:
        report["tests"] = _tests(matrix)
    if more:
        report["more_tests"] = list(map(_tests, more))
    return json.dumps(report, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _tests(matrix: Matrix) -> dict[str, Any]:
    return {"statistic": matrix.statistic, "test": matrix.test, "pairs": [p._asdict() for p in matrix.pairs]}


def _given(matrix: Matrix | None, more: Sequence[Matrix]) -> list[Matrix]:
    return [*([matrix] if matrix is not None else []), *more]


def latex_text(text: str) -> str:
    """Text that LaTeX prints as it is; control characters become spaces."""
    return "".join(" " if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp") else _LATEX.get(c, c) for c in text)


def as_latex(found: Evaluation, statistic: Name, matrix: Matrix | None = None, more: Sequence[Matrix] = ()) -> str:
    """A booktabs table, metrics from best to worst, sentinels below a rule; those not significantly worse than the best bold."""
    names = STATISTICS[found.choice.level]
    tested = [m for m in _given(matrix, more) if m.pairs]
    lines = [
        "% needs \\usepackage{booktabs}", "\\begin{table}", "\\centering", "\\small",
        f"\\begin{{tabular}}{{l{'r' * len(names)}}}", "\\toprule",
        " & ".join(["Metric", *(latex_text(LABELS[n]) for n in names)]) + r" \\", "\\midrule",
    ]  # fmt: skip
    below = False
    for name in found.order(statistic):
        rows = [found.of(name, n) for n in names]
        if rows[0].kind == "sentinel" and not below:
            lines.append("\\midrule")
            below = True
        cells = [latex_text(cell(r)) for r in rows]
        for at in (names.index(m.statistic) for m in tested if name in m.tied):
            cells[at] = f"\\textbf{{{cells[at]}}}"
        lines.append(" & ".join([latex_text(rows[0].metric), *cells]) + r" \\")
    kinds = ", ".join(dict.fromkeys(m.test for m in tested))
    bold = f" Bold: not significantly worse than the best ({kinds}, Holm)." if tested else ""
    lines += [
        "\\bottomrule", "\\end{tabular}",
        f"\\caption{{{latex_text(f'Agreement with {found.joined.people}, with 95 % bootstrap intervals. Below the rule: sentinels.{bold}{counted(found)}')}}}",
        "\\end{table}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def counted(found: Evaluation) -> str:
    """What the numbers in brackets and the dagger of `cell` mean; "" where none is shown."""
    said = ""
    if any(r.value is not None and r.groups < r.all_groups for r in found.rows):
        said += " In brackets: the segments in which the statistic is defined, of all."
    if any(not r.ranked for r in found.rows):
        said += f" {DAGGER}: defined in fewer than {FEWEST_GROUPS} segments or in less than half of them, so neither ranked nor tested."
    return said


def methods(
    found: Evaluation, matrix: Matrix | None = None, systems: Systems | None = None, more: Sequence[Matrix] = ()
) -> str:
    """Every choice behind the numbers, in plain words."""
    joined, choice = found.joined, found.choice
    whole = joined.whole() if choice.level == "system" else joined
    said = [
        f"Metrics were compared with {joined.people} ({joined.human_signature}) on {len(whole.keys)} outputs of "
        f"{len(whole.systems)} systems for {whole.n_segments} segments; all metrics on the same outputs, higher being better.",
    ]
    if joined.excluded:
        said.append(f"Left out as systems: {', '.join(joined.excluded)}.")
    said += joined.notes
    if turned := [c.label for c in joined.metrics if c.turned]:
        said.append(f"The sign of {', '.join(turned)} was changed, lower being better.")
    if choice.level == "system":
        said.append(
            "At system level the mean scores of the systems were compared over the segments that every system has "
            f"({joined.n_segments - whole.n_segments} segments left out): pairwise accuracy (Kocmi et al. 2021), soft "
            f"pairwise accuracy (Thompson et al. 2024; {PERMUTATIONS:,} permutations), Kendall τ-b, Spearman ρ and Pearson r."
        )
    else:
        how = (
            "over all outputs pooled" if choice.group == "pooled" else "within each segment and averaged over segments"
        )
        said.append(
            f"At segment level Kendall τ-b, acc_eq (Deutsch et al. 2023), Spearman ρ and Pearson r were computed {how}; "
            "for acc_eq a metric tie is a difference of at most ε, and ε is the one that maximises acc_eq on these data."
        )
        said.append(_epsilons(found))
        said += _groups(found)
    soft = " (200 draws for soft pairwise accuracy)" if choice.level == "system" else ""
    said.append(
        f"Intervals are 95 % percentile bootstrap intervals over {choice.unit}s, {choice.draws} draws{soft}, seed {choice.seed}"
        + ("; ε was found anew in every draw." if choice.level == "segment" else "; the systems are held fixed.")
    )
    for tested in _given(matrix, more):
        if not tested.pairs:
            said.append(f"Fewer than two metrics are ranked by {LABELS[tested.statistic]}, so none was tested.")
            continue
        test = "" if tested.draws else " (Williams 1959)"
        said.append(
            f"Differences between metrics in {LABELS[tested.statistic]} were tested two-sided by {tested.test}{test}, with Holm's "
            f"correction over {len(tested.pairs)} pairs{'' if tested.all_pairs else ' (the best with each other)'}, at {ALPHA:g}; {tested.significant} are significant."
        )
    if systems is not None and systems.tests:
        said.append(
            "Systems were compared by approximate randomization (10,000 draws, two-sided), with Holm's correction over "
            f"{len(systems.tests)} pairs; the minimum detectable difference is that of a paired t-test with power .8."
        )
    if guards := [c.label for c in joined.contestants if c.sentinel]:
        said.append(f"Sentinels, scores that know nothing of quality, stand beside the metrics: {', '.join(guards)}.")
    return " ".join(s for s in said if s)


def _groups(found: Evaluation) -> list[str]:
    """In how many segments each statistic is defined, where not in all, and what is not ranked."""
    said = []
    for statistic in STATISTICS["segment"]:
        rows = [r for r in found.rows if r.statistic == statistic and r.value is not None]
        counts = [r.groups for r in rows if r.groups < r.all_groups]
        if counts:
            low, high = min(counts), max(r.groups for r in rows)
            range_ = f"{low}" if low == high else f"{low} to {high}"
            said.append(f"{LABELS[statistic]} is defined in {range_} of {rows[0].all_groups} segments, by metric.")
        if few := [r for r in rows if not r.ranked]:
            names = ", ".join(f"{r.metric} ({r.groups})" for r in few)
            said.append(
                f"Defined in fewer than {FEWEST_GROUPS} segments or in less than half of them, and so neither ranked nor tested by "
                f"{LABELS[statistic]}: {names}."
            )
    return said


def _epsilons(found: Evaluation) -> str:
    known = [r for r in found.rows if r.statistic == "acc_eq" and r.epsilon is not None]
    floor = next((r.chance for r in known), None)
    if floor is None:
        return ""
    each = "; ".join(f"{r.metric} {r.epsilon:.4g}" for r in known if r.kind == "metric")
    return f"ε: {each}. The chance floor of acc_eq is {number(floor)}."


def signatures(found: Evaluation) -> list[str]:
    """What each number was computed with: options, model and its revision, versions; one line a metric or sentinel."""
    people = f"{found.joined.people}: {found.joined.human_signature}"
    return [people, *(f"{c.label}: {c.signature}" for c in found.joined.contestants)]


def as_html(
    found: Evaluation,
    statistic: Name,
    matrix: Matrix | None = None,
    systems: Systems | None = None,
    title: str = "Evaluation",
    more: Sequence[Matrix] = (),
) -> str:
    """One page without scripts or anything from elsewhere; texts are escaped. It has no charts, and says so."""
    names = STATISTICS[found.choice.level]
    head = ["Metric", *(LABELS[n] for n in names)]
    body = []
    for name in found.order(statistic):
        rows = [found.of(name, n) for n in names]
        body.append((rows[0].kind, [rows[0].metric, *(cell(r) if r.value is not None else r.reason for r in rows)]))
    parts = [
        _table(
            f"Agreement with {found.joined.people} on {LEVELS[found.choice.level]}; 95 % intervals.{counted(found)}",
            head,
            body,
        )
    ]
    for tested in (m for m in _given(matrix, more) if m.pairs):
        label = {c.name: c.label for c in found.joined.contestants}
        pairs = [
            ("", [label[p.first], label[p.second], number(p.difference), number(p.p), number(p.adjusted)])
            for p in tested.pairs
        ]
        caption = f"{LABELS[tested.statistic]}: differences between metrics, {tested.test}"
        parts.append(_table(caption, ["better", "worse", "difference", "p", "p (Holm)"], pairs))
    if systems is not None and systems.means:
        means = [
            ("", [str(m.cluster), m.system, number(m.mean), f"[{number(m.low)}, {number(m.high)}]"])
            for m in systems.means
        ]
        parts.append(_table("Systems by rank cluster", ["cluster", "system", "mean", "95 %"], means))
    safe = html.escape(title)
    signed = "".join(f"<li>{html.escape(line)}</li>" for line in signatures(found))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{safe}</title><style>{_STYLE}</style></head><body>\n<h1>{safe}</h1>\n"
        f"<p>{html.escape(sentence(found, statistic))}</p>\n{''.join(parts)}"
        f"<h2>Methods</h2>\n<p>{html.escape(methods(found, matrix, systems, more))}</p>\n<ul class=signed>{signed}</ul>\n"
        "<p><small>This page holds tables only; the charts are on the Evaluate page.</small></p>\n</body></html>\n"
    )


def _cell(text: str) -> str:
    return f"<td{' class=short' if len(text) < SHORT else ''}>{html.escape(text)}</td>"


def _table(caption: str, head: list[str], rows: list[tuple[str, list[str]]]) -> str:
    top = "".join(f"<th>{html.escape(h)}</th>" for h in head)
    lines = "".join(
        f"<tr{' class=sentinel' if kind == 'sentinel' else ''}>{''.join(map(_cell, cells))}</tr>\n"
        for kind, cells in rows
    )
    return f"<div><table><caption>{html.escape(caption)}</caption><tr>{top}</tr>\n{lines}</table></div>\n"
