"""A stress report as one HTML page: a catalogue of verdicts, and below it the evidence for each. No script, nothing fetched."""

from __future__ import annotations

import html
from collections.abc import Iterator

from core.services.lab.advice import advice
from core.services.lab.gold import REFERENCE
from core.services.lab.html_chart import chart, figure
from core.services.lab.report import Cell, MetricFacts, Offender, Report, StressTestInfo, Verdict
from core.services.lab.verdict import FEWEST
from core.text.diff import diff

SHAPES: dict[Verdict, str] = {"pass": "✓", "fail": "✗", "unclear": "?", "untold": "–"}
WORDS: dict[Verdict, str] = {
    "pass": "a drop is shown at every level, and no step of a graded curve is shown to rise",
    "fail": "at some level no drop worth the name (a tenth of the deviation of gold scores), or more noise shown to score better",
    "unclear": "neither is shown: too few texts, or too small a drop, to tell",
    "untold": "too few texts, or no scores",
}
ASPECTS = {"fluency": "Fluency", "consistency": "Consistency", "special": "Special"}
_STYLE = """:root{color-scheme:light dark;--ink:#1b1f24;--dim:#4b5563;--back:#fff;--line:#d9dde3;--pass:#0b6e4f;--fail:#b42318;--unclear:#8a5a00;--f:#1d4ed8;--p:#9a3412;--r:#0f766e;--ins:#d7f0df;--del:#fbdcd8}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8eb;--dim:#9aa3af;--back:#14171b;--line:#333a44;--pass:#5cc9a0;--fail:#ff8a7a;--unclear:#e3b341;--f:#7aa7ff;--p:#f0a070;--r:#5cc9bd;--ins:#1d4630;--del:#5a241e}}
body{font:16px/1.55 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:var(--ink);background:var(--back)}
td a{white-space:nowrap}h2{margin-top:2.5rem}h3{margin-top:2rem}a{color:inherit}.wide{overflow-x:auto}table{border-collapse:collapse;margin:1rem 0;font-size:.92rem}
td,th{padding:.3rem .7rem;text-align:left;border-bottom:1px solid var(--line);vertical-align:top}tbody th{font-weight:400}.group th{font-weight:600;padding-top:1rem}
.pass{color:var(--pass)}.fail{color:var(--fail);font-weight:600}.unclear{color:var(--unclear)}.untold,.dim{color:var(--dim)}.n{text-align:right;font-variant-numeric:tabular-nums}
.small{font-size:.85rem;overflow-wrap:anywhere}article{border-top:1px solid var(--line);padding:.5rem 0 1rem}article h4{margin:.5rem 0}
svg{width:100%;max-width:34rem;height:auto;display:block}svg text{font-size:11px;fill:var(--dim)}svg .mid{text-anchor:middle}svg .end{text-anchor:end}
.axis{fill:none;stroke:var(--dim)}.gold{stroke:var(--dim);stroke-dasharray:2 3}.band{fill:var(--f);opacity:.18}
polyline{fill:none;stroke-width:2}.f{stroke:var(--f)}.p{stroke:var(--p);stroke-dasharray:7 3}.r{stroke:var(--r);stroke-dasharray:2 3}circle.f{fill:var(--f)}circle.p{fill:var(--p)}circle.r{fill:var(--r)}
ins{background:var(--ins)}del{background:var(--del)}blockquote{margin:.3rem 0;padding:.2rem .8rem;border-left:3px solid var(--line);white-space:pre-wrap;overflow-wrap:anywhere}"""


def as_html(report: Report) -> str:
    """The whole report as one file; every text of the data is escaped."""
    tests, metrics = {t.name: t for t in report.tests}, {m.name: m for m in report.metrics}
    places = {(c.test, c.metric): f"c{i}" for i, c in enumerate(report.cells)}
    title = _e(f"Stress test: {report.name}")
    body = [
        f"<h1>{title}</h1><p>{_e(summary(report))}</p>",
        _catalogue(report, places), _legend(), f"<h2>Methods</h2><p>{_e(methods(report))}</p>",
        "".join(f"<p class=small>{_e(note)}</p>" for note in report.notes),
        "<h2>Evidence</h2>",
        *(_test(report, t, metrics, places) for t in report.tests),
        _metrics(report), _signatures(tests),
    ]  # fmt: skip
    head = f'<meta charset=utf-8><meta name=viewport content="width=device-width"><title>{title}</title><style>{_STYLE}</style>'
    return f"<!doctype html><html lang=en><head>{head}</head><body><main>{''.join(body)}</main></body></html>\n"


def summary(report: Report) -> str:
    """What was found, in a sentence or two."""
    count = {v: sum(c.verdict == v for c in report.cells) for v in SHAPES}
    told = ", ".join(f"{n} {v}" for v, n in count.items() if n)
    return (
        f"{len(report.metrics)} {'metric' if len(report.metrics) == 1 else 'metrics'} under {len(report.tests)} "
        f"{'test' if len(report.tests) == 1 else 'tests'}: {told}. Gold: {report.texts} {_gold(report)}. Data: {report.data}. Made {report.made}."
    )


def methods(report: Report) -> str:
    """Every choice behind the verdicts, in plain words."""
    seeds = f"seeds {report.seed} to {report.seed + report.seeds - 1}" if report.seeds > 1 else f"seed {report.seed}"
    return (
        f"Each of {report.texts} gold texts ({_gold(report)}) was noised by each test at each level (He et al. 2023), under {seeds}, tests "
        "without randomness once; source and references were left as they are. A text is compared under a graded test where the test "
        "touches it at the strongest level, under the others where it touches it at every level; where a compared text is refused at "
        "a weaker level or under one seed, the gold text stands. Texts without a score somewhere are left out for that metric, and counted. The "
        "noise ratio is the token edit distance by the number of tokens of the gold text, a mean over compared texts and seeds, halved for tests that "
        "exchange parts. Means are over texts, then seeds; the deviation is that of the seeds’ means (n − 1). A drop is gold minus "
        f"noised by the metric’s own direction. Intervals are 95 % percentile bootstrap intervals over texts, averaged over seeds first, {report.draws:,} "
        f"draws, seed {report.seed}. p is one-sided, of a drop that is not above 0: the larger of the percentile and the studentised bootstrap’s; "
        "steps of graded curves are tested likewise for a rise. Pass: a drop is shown at every level (p < .05, Holm over levels) and no step is shown to rise (Holm over steps). "
        "Fail: at some level a drop worth the name, a tenth of the standard deviation of gold scores, is excluded by the interval, or a step of a "
        f"graded curve is shown to rise. Unclear: neither. Untold: fewer than {FEWEST} texts, or no scores. The paper’s bare rule, given beside each verdict, looks at means alone: "
        "every level worse than gold and, in grades, than the level before. No correction was made over tests and metrics."
    )


def _gold(report: Report) -> str:
    return "first references, held against the others" if report.gold == REFERENCE else f"outputs of {report.gold}"


def _e(text: str) -> str:
    return html.escape(text, quote=True)


def _catalogue(report: Report, places: dict[tuple[str, str], str]) -> str:
    head = "".join(f"<th scope=col>{_e(m.label)}{_small(m)}</th>" for m in report.metrics)
    rows = []
    for aspect in dict.fromkeys([*ASPECTS, *(t.aspect for t in report.tests)]):
        mine = [t for t in report.tests if t.aspect == aspect]
        if mine:
            rows.append(
                f'<tr class=group><th scope=rowgroup colspan="{len(report.metrics) + 1}">{_e(ASPECTS.get(aspect, aspect))}</th></tr>'
            )
        for t in mine:
            cells = "".join(_verdict(report, t.name, m.name, places) for m in report.metrics)
            rows.append(f"<tr><th scope=row>{_e(t.label)}</th>{cells}</tr>")
    return f"<h2>Catalogue</h2><div class=wide><table><thead><tr><th scope=col>test</th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"


def _small(metric: MetricFacts) -> str:
    return "<br><small class=dim>small bundled model</small>" if metric.small else ""


def _verdict(report: Report, test: str, metric: str, places: dict[tuple[str, str], str]) -> str:
    place = places.get((test, metric))
    if place is None:
        return "<td class=untold>not run</td>"
    cell = report.cell(test, metric)
    return f'<td><a class="{cell.verdict}" href="#{place}" title="{_e(cell.why)}">{SHAPES[cell.verdict]} {cell.verdict}</a></td>'


def _legend() -> str:
    told = "; ".join(f"<span class={v}>{SHAPES[v]} {v}</span>: {_e(w)}" for v, w in WORDS.items())
    return f"<p class=small>{told}.</p>"


def _test(
    report: Report, test: StressTestInfo, metrics: dict[str, MetricFacts], places: dict[tuple[str, str], str]
) -> str:
    reasons = "; ".join(f"{n} {_e(reason)}" for reason, n in test.reasons)
    left = f"; {test.untouched} could not be noised: {reasons}" if test.untouched else ""
    how = "grades" if test.graded else "levels that are no grades"
    facts = f"{_e(ASPECTS.get(test.aspect, test.aspect))}; {how} {_e(', '.join(test.levels))}; {test.seeds} {'seed' if test.seeds == 1 else 'seeds'}; {test.touched} texts compared{left}."
    cells = "".join(
        _cell(c, test, metrics[c.metric], places[c.test, c.metric]) for c in report.cells if c.test == test.name
    )
    return f"<section><h3>{_e(test.label)}</h3><p class=small>{facts}</p>{cells}</section>"


def _cell(cell: Cell, test: StressTestInfo, metric: MetricFacts, place: str) -> str:
    told = advice(test.name, metric.name) if cell.verdict == "fail" else ""
    bare = {True: "passes", False: "fails", None: "says nothing"}[cell.published]
    undefined = (
        f" {cell.undefined} touched {'text has' if cell.undefined == 1 else 'texts have'} no score."
        if cell.undefined
        else ""
    )
    parts = [
        f"<h4>{_e(metric.label)}: <span class={cell.verdict}>{SHAPES[cell.verdict]} {cell.verdict}</span></h4>",
        f"<p>{_e(cell.why)} <span class=dim>The paper’s bare rule {bare}; {cell.texts} texts.{undefined}</span></p>",
        f"<p>{_e(told)}</p>" if told else "",
        chart(cell, test, metric),
        _levels(cell) if cell.texts else "",
        _worst(cell.worst),
    ]
    return f'<article id="{place}">{"".join(parts)}</article>'


def _levels(cell: Cell) -> str:
    names = ("level", "noise ratio", "mean", "sd", "drop", "95 % interval", "p", "p of the step")
    head = "".join(f"<th scope=col>{n}</th>" for n in names)
    rows = [f"<tr><th scope=row>gold</th><td class=n>0</td><td class=n>{figure(cell.gold)}</td>{'<td></td>' * 5}</tr>"]
    for p in cell.points:
        between = "–" if p.low is None else f"{figure(p.low)} to {figure(p.high)}"
        values = (figure(p.ratio), figure(p.mean), figure(p.sd), figure(p.drop), between, figure(p.p), figure(p.step_p))
        rows.append(f"<tr><th scope=row>{_e(p.label)}</th>{''.join(f'<td class=n>{v}</td>' for v in values)}</tr>")
    table = f"<div class=wide><table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    return f"<details><summary>Figures</summary>{table}</details>"


def _worst(offenders: tuple[Offender, ...]) -> str:
    if not offenders:
        return ""
    return f"<details><summary>Noised texts that score higher than gold, the worst first</summary>{''.join(map(_offender, offenders))}</details>"


def _offender(o: Offender) -> str:
    head = f"{o.id}, {o.level}, seed {o.seed}: {figure(o.gold_score)} → {figure(o.noised_score)}, better by {figure(o.rise)}"
    beside = "".join(
        f"<details><summary class=small>{name}</summary><blockquote class=small dir=auto>{_e(text)}</blockquote></details>"
        for name, text in (("reference", o.reference), ("source", o.source))
        if text is not None
    )
    return f"<p class=small>{_e(head)}</p><blockquote dir=auto>{''.join(_pieces(o))}</blockquote>{beside}"


def _pieces(o: Offender) -> Iterator[str]:
    tags = {"delete": "del", "insert": "ins"}
    for piece in diff(o.gold, o.noised):
        tag = tags.get(piece.kind)
        yield f"<{tag}>{_e(piece.text)}</{tag}>" if tag else _e(piece.text)


def _metrics(report: Report) -> str:
    rows = "".join(
        f"<tr><th scope=row>{_e(m.label)}{_small(m)}</th><td>{'higher' if m.higher_is_better else 'lower'} is better</td>"
        f"<td class=n>{m.seconds:.1f} s</td><td class=small>{_e(m.signature)}</td></tr>"
        for m in report.metrics
    )
    head = "<tr><th scope=col>metric</th><th scope=col>direction</th><th scope=col>time in this run</th><th scope=col>signature</th></tr>"
    return f"<h2>Signatures</h2><div class=wide><table><thead>{head}</thead><tbody>{rows}</tbody></table></div>"


def _signatures(tests: dict[str, StressTestInfo]) -> str:
    return "".join(f"<p class=small>{_e(t.label)}: {_e(t.signature)}</p>" for t in tests.values())
