"""A judge card in tables for page and file, as JSON, and as one HTML page."""

from __future__ import annotations

from typing import Any, NamedTuple

import pandas as pd

from core.data import grouped
from core.formats.write import json_text
from core.formatting import MISSING, format_count, format_number, format_percent, with_interval
from core.judges.annotator_test import ALPHA, CURVE
from core.plots import score_charts
from core.reports.evaluation import p_text
from core.reports.html import report_page, report_table
from core.services.judges.card import CLASSES, QUESTIONS, RULES, JudgeCard, Kind, Question
from core.stats.bootstrap import Interval, wilson
from core.stats.correlation.correlation import Statistic

VERDICTS: dict[Kind, str] = {
    "may": "may replace an annotator",
    "not": "not",
    "few": "too few labels",
    "untested": "not tested",
}
BRIEF: dict[Question, str] = {"error": "error", "severity": "severity", "score": "score"}
COSTS = {
    "calls": "calls",
    "tokens_in": "tokens read",
    "tokens_out": "tokens written",
    "seconds": "seconds",
    "price": "price, in the currency of the settings",
}
LISTED = 200
"""Disagreements in the JSON file."""


class CardTable(NamedTuple):
    """A table: title, what its numbers mean, the names of the columns, and cells as text."""

    title: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def mappings(self) -> list[dict[str, str]]:
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def card_tables(card: JudgeCard) -> list[CardTable]:
    """Return the tables of a card; those without rows are left out."""
    made = (_verdicts(card), _agreement(card), _classes(card), _tests(card), _ceiling(card), _other(card), _answers(card), _costs(card))  # fmt: skip
    return [_without_empty(table) for table in made if table.rows]


def _without_empty(table: CardTable) -> CardTable:
    kept = [k for k, _ in enumerate(table.columns) if any(row[k] for row in table.rows)]
    rows = tuple(tuple(row[k] for k in kept) for row in table.rows)
    return table._replace(columns=tuple(table.columns[k] for k in kept), rows=rows)


def _shown(value: Interval | Statistic | None, *, percent: bool = False) -> str:
    """Return ".434 [.33, .53]" or "41 % [38 %, 45 %]"; the reason if it is undefined."""
    if value is None:
        return MISSING
    if value.value is None:
        return value.reason or MISSING
    form = format_percent if percent else lambda v: format_number(v, 2)
    ends = (value.low, value.high) if isinstance(value, Interval) else (None, None)
    return with_interval(form(value.value), *ends, form)


def _two(value: float | None) -> str:
    return format_number(value, 2)


def _verdicts(card: JudgeCard) -> CardTable:
    rows = [
        (
            QUESTIONS[q.question], VERDICTS[q.verdict.kind] + (f" ({q.verdict.more:,} more)" if q.verdict.more else ""), q.verdict.why,
            *(_two(test.omega) if test else MISSING for test in (q.test, q.clustered, q.constant)), q.constant_answer,
            *(_two(test.rho) if test else MISSING for test in (q.test, q.constant)),
        )
        for q in card.questions
    ]  # fmt: skip
    caption = (
        f"Alternative annotator test at ε = {card.options.epsilon:g}. ω ↑: share of annotators against whom the judge is not worse by ε or more (.5 passes); "
        "ρ ↑: mean share of outputs on which it is at least as good. The constant answer always says the same."
    )
    columns = ("question", "verdict", "why", "ω", "ω by document", "ω constant", "constant answer", "ρ", "ρ constant")
    return CardTable("Verdict", caption, columns, tuple(rows))


def _agreement(card: JudgeCard) -> CardTable:
    rows = []
    for q in card.questions:
        values = MISSING, MISSING, _shown(q.by_score)
        if q.by_class:
            constant = f"{format_percent(q.by_class.constant)} (“{CLASSES[q.question][q.by_class.constant_class]}”)"
            values = (_shown(q.by_class.share, percent=True), constant, _shown(q.by_class.kappa))
        rows.append((BRIEF[q.question], f"{q.outputs:,}", f"{q.no_majority:,}", f"{q.unanswered:,}", *values))
    caption = "Against the majority of the annotators (scores: their mean). 95 % CIs: Wilson for shares, else a bootstrap over documents. κ and τ-b of a constant answer: 0."
    columns = ("question", "outputs", "no majority", "no answer", "agreement ↑", "a constant answer reaches", "κ (scores: τ-b) ↑")  # fmt: skip
    return CardTable("Agreement", caption, columns, tuple(rows))


def _classes(card: JudgeCard) -> CardTable:
    rows = [
        (BRIEF[q.question], CLASSES[q.question][c], format_percent(q.by_class.base_rates[c]), _shown(recall, percent=True))
        for q in card.questions
        if q.by_class
        for c, recall in enumerate(q.by_class.recalls)
    ]  # fmt: skip
    caption = "Recall: share of the outputs of a class, by the annotators, that the judge puts there (TPR for “error”, TNR for “no error”)."
    return CardTable("Base rate and recall", caption, ("question", "class", "share of outputs", "recall ↑"), tuple(rows))  # fmt: skip


def _tests(card: JudgeCard) -> CardTable:
    rows = []
    for q in card.questions:
        for row, by_document in zip(
            q.test.rows if q.test else (), q.clustered.rows if q.clustered else (), strict=True
        ):
            result = row.reason or ("not worse by ε" if row.rejected else "not shown")
            rows.append((
                BRIEF[q.question], row.annotator, row.domain, f"{row.items:,}", _two(row.judge_wins), _two(row.human_wins),
                _two(row.difference), row.test, p_text(row.p), format_number(row.threshold, 4), result, p_text(by_document.p),
            ))  # fmt: skip
    caption = f"One-sided tests whether the judge loses by less than ε: mean(W_h − W_f) < ε, Benjamini–Yekutieli at {ALPHA:g}. W: share of outputs won, ties count for both."
    columns = ("question", "annotator", "system", "outputs", "W_f judge", "W_h annotator", "W_h − W_f ↓", "test", "p", "threshold", "result", "p by document")  # fmt: skip
    return CardTable("Test by annotator", caption, columns, tuple(rows))


def _ceiling(card: JudgeCard) -> CardTable:
    rows = []
    for q in card.questions:
        if q.ceiling is None:
            continue
        rows += [
            (BRIEF[q.question], r.annotator, f"{r.outputs:,}", _shown(r.judge), _shown(r.human), _two(r.judge_score), _two(r.human_score))
            for r in q.ceiling.rows
        ]  # fmt: skip
        rows.append((BRIEF[q.question], "judge − annotators, S", f"{q.ceiling.difference.n:,} documents", _shown(q.ceiling.difference), "", "", ""))  # fmt: skip
    caption = "Both against the same remaining annotators. κ (scores: τ-b) ↑, and S ↑: mean match, or minus the root mean square difference of scores."
    columns = ("question", "annotator", "on", "judge", "annotator itself", "S judge", "S annotator")
    return CardTable("Human ceiling", caption, columns, tuple(rows))


def _other(card: JudgeCard) -> CardTable:
    s, length, rows = card.stability, card.length, list[tuple[str, str, str]]()
    repeated = f"{format_count(s.outputs, 'output')}, up to {s.calls} calls" + ("" if s.enough else "; at least 3 are needed")  # fmt: skip
    if s.outputs:
        rows += [
            ("Flip rate ↓", _shown(s.flip_rate), repeated),
            ("Mean κ between calls ↑", _shown(s.kappa), repeated),
            ("Reliability r of one call ↑", _shown(s.icc), "; ".join(f"mean of {m} calls: {_two(r)}" for m, r in s.mean_of)),
        ]  # fmt: skip
    else:
        rows.append(("Stability", "not measured", "score with at least 3 repeats"))
    if card.position:
        bias = f"first output wins {_shown(card.position.first, percent=True)}; |p − .5| = {_two(card.position.bias)}"
        rows.append(("Depends on the order ↓", _shown(card.position.order_dependent, percent=True), bias))
    rows.append(("Length: slope", _shown(length.slope), "change of judge − annotators in SD per doubling of the length, within segments; 0: none"))  # fmt: skip
    if length.longer_errors is not None:
        apart = f"outputs with errors minus others: judge {format_number(length.by_judge, 0)}, annotators {format_number(length.by_human, 0)} characters"
        rows.append(("Length of outputs with errors", format_number(length.longer_errors, 0), apart))
    if card.own:
        pairs = f"own picked {_two(card.own.own_picked)} of {card.own.own_pairs:,} pairs, other {_two(card.own.other_picked)} of {card.own.other_pairs:,}; 0: none"
        rows.append(("Preference for own outputs", _shown(card.own.difference), pairs))
    return CardTable("Stability and preferences", "", ("measure", "value", "about"), tuple(rows))


def _answers(card: JudgeCard) -> CardTable:
    states = sorted({state for of in card.states.values() for state in of} - {"answered", "not asked"})
    rows = []
    for system, of in card.states.items():
        asked = sum(of.values()) - of.get("not asked", 0)
        unread = _shown(wilson(asked - of.get("answered", 0), asked), percent=True)
        rows.append((system, f"{asked:,}", f"{of.get('answered', 0):,}", *(f"{of.get(s, 0):,}" for s in states), unread))  # fmt: skip
    columns = ("system", "asked", "answered", *states, "without answer ↓")
    return CardTable("Answers", "Outputs of each system by state of the answer.", columns, tuple(rows))


def _costs(card: JudgeCard) -> CardTable:
    rows = [(COSTS.get(name, name), f"{value:,.2f}" if value < 10 else f"{value:,.0f}") for name, value in card.costs.items()]  # fmt: skip
    return CardTable("Cost per 1,000 outputs", "", ("what", "amount"), tuple(rows))


def remarks(card: JudgeCard) -> list[str]:
    """Return what was not compared, and which assumptions of the test are not met for which questions."""
    unmet = grouped((problem, BRIEF[q.question]) for q in card.questions for problem in q.problems)
    return [*card.notes, *(f"{problem.rstrip('.')} ({', '.join(of)})." for problem, of in unmet.items())]


def omega_rows(card: JudgeCard) -> list[dict[str, Any]]:
    """Return ω by ε of the judge and of the constant answer, for `score_charts.omega`."""
    return [
        {"question": QUESTIONS[q.question], "answer": answer, "epsilon": e, "omega": value}
        for q in card.questions
        for answer, values in zip(("judge", "constant answer"), q.curves, strict=True)
        for e, value in zip(CURVE, values, strict=False)
        if value is not None
    ]


OMEGA_TITLE = "alternative annotator test by ε"
OMEGA_CAPTION = "ω by ε: the share of annotators against whom the judge, or a constant answer, is not worse by ε or more. From .5 on (dashed) the test is passed."


def card_methods(card: JudgeCard) -> str:
    """Return a paragraph that states every choice behind the numbers."""
    o = card.options
    sentences = [
        f"{card.label} (signature {card.signature}) was compared with {card.human} ({', '.join(card.raters)}; signature {card.human_signature}) on {card.outputs:,} outputs "
        f"from {format_count(card.documents, 'document')}.",
        f"Alternative annotator test (Calderon et al. 2025) with ε = {o.epsilon:g} and Benjamini–Yekutieli's correction at {ALPHA:g}"
        f"{', one test per annotator and system' if o.by_system else ''}; an output without an answer of the judge is lost; the test by document has clustered standard errors.",
        f"Outputs have an error if the judge's score is worse than {o.judge_below:g}." if o.judge_below is not None else "",
        f"Outputs have an error if the annotator's score is worse than {o.human_below:g}." if o.human_below is not None else "",
        f"Own systems of the judge: {', '.join(o.own)}." if o.own else "",
        f"Intervals are 95 % percentile bootstrap CIs over documents ({o.draws:,} draws; 300 for τ-b), seed {o.seed}, and Wilson's for shares.",
        "Rules of the verdict, in this order. " + " ".join(RULES),
    ]  # fmt: skip
    return " ".join(filter(None, [*sentences, *remarks(card)]))


def card_json(card: JudgeCard) -> str:
    """Return all results with the sentence and methods; of the disagreements, the largest 200."""
    limited = card._replace(disagreements=card.disagreements[:LISTED])
    return json_text({"sentence": card.sentence, "methods": card_methods(card), **_plain(limited)})


def _plain(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return {name: _plain(of) for name, of in value._asdict().items()}
    if isinstance(value, dict):
        return {name: _plain(of) for name, of in value.items()}
    return [_plain(of) for of in value] if isinstance(value, tuple | list) else value


def card_html(card: JudgeCard, title: str) -> str:
    """Return one page with the sentence, the chart, all tables and the methods."""
    rows = omega_rows(card)
    charts = [(OMEGA_CAPTION, score_charts.omega(pd.DataFrame(rows), card.options.epsilon))] if rows else []
    tables = [*card_tables(card), _disagreements(card)]
    return report_page(
        title, card.sentence, [report_table(f"{t.title}. {t.caption}".strip(), t.columns, t.rows) for t in tables], charts,
        card_methods(card), [f"{card.label}: {card.signature}", f"{card.human}: {card.human_signature}"],
    )  # fmt: skip


def _disagreements(card: JudgeCard, most: int = 20) -> CardTable:
    rows = [
        (*d.key, format_number(d.metric, leading_zero=True), format_percent(d.worse_by_metric), format_number(d.human, 2, leading_zero=True), format_percent(d.worse_by_human))
        for d in card.disagreements[:most]
    ]  # fmt: skip
    columns = ("system", "document", "segment", "judge", "better than", "annotators", "better than ")
    return CardTable("Largest disagreements", "“Better than”: share of the compared outputs that are worse by this side.", columns, tuple(rows))  # fmt: skip
