"""The evidence of one verdict: curve, parts of the score, token contributions, reason, advice, and the worst texts."""

from __future__ import annotations

import html
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from core.data import Item
from core.formatting import format_number
from core.metrics import registry
from core.perturbations.registry import NOISES, noises
from core.plots import robustness
from core.ports.projects import Project
from core.ports.robustness import SavedScore
from core.robustness.stress import token_contributions
from core.robustness.stress.report import Offender, Report, StressTestResult, advice
from core.robustness.stress.token_contributions import TextContributions
from core.services.robustness.break_metric import TextPair
from core.services.robustness.stress_test_runs import share_of
from pages._ui.robustness import controls
from pages._ui.robustness.stress_runs import METRIC, TEST, label_of
from pages._ui.shared import drafts, errors, page, tables
from pages._ui.shared.files import figure, file_name
from pages._ui.shared.markdown import escape_markdown

able = token_contributions.able
_STYLE = """<style>
.lab-strip { display: flex; flex-wrap: wrap; gap: .3rem .15rem; margin: 0 0 .6rem; }
.lab-sub { display: inline-flex; flex-direction: column; align-items: center; font-size: .95rem; line-height: 1.3; max-width: 100%; }
.lab-sub bdi { white-space: pre-wrap; overflow-wrap: anywhere; }
.lab-sub i { display: block; width: 70%; min-width: .5rem; background: var(--minor); border-radius: 1px; }
.lab-sub i.good { background: var(--accent); }
.lab-sub small { font-size: .65rem; color: var(--quiet); font-variant-numeric: tabular-nums; }
</style>"""
_TALL = 34
"""Pixels of the tallest bar."""


def draw_token_contributions(metric: str, offender: Offender, made_with: str) -> None:
    """Draw both texts in every direction of the metric, with the configured model. `made_with` is the signature of the scores."""
    signature = registry.load_metric(metric).signature()
    references = () if offender.reference is None else (offender.reference,)
    good = _strips(metric, signature, Item(offender.source, offender.gold, references))
    changed = _strips(metric, signature, Item(offender.source, offender.noised, references))
    if not good or not changed:
        st.caption("There is no text to compare with.")
        return
    lacking = metric.startswith("bert")
    st.caption("Taller bars: less similar to the other text." if lacking else "Taller bars: less likely sub-words.")
    if signature != made_with:
        st.caption("Computed with the configured model, which is not the model of the scores.")
    for before, after in zip(good, changed, strict=True):
        st.markdown(f"**{escape_markdown(before.title[:1].upper() + before.title[1:])}**")
        deepest = max(_depth(s.value, lacking) for side in (before, after) for s in side.subs) or 1.0
        for name, one in (("good text", before), ("changed text", after)):
            st.html(_html(f"{name}: mean {number(one.mean, 3)}", one, deepest, lacking))


@st.cache_data(max_entries=128, show_spinner="Computing token scores …")
def _strips(metric: str, signature: str, item: Item) -> Sequence[TextContributions]:
    return token_contributions.strips(metric, item)


def _depth(value: float, similarity: bool) -> float:
    return max(0.0, 1.0 - value) if similarity else max(0.0, -value)


def _html(head: str, one: TextContributions, deepest: float, similarity: bool) -> str:
    subs = []
    for s in one.subs:
        depth = _depth(s.value, similarity) / deepest
        shown = s.label if s.label.strip() else "end" if not s.text else "␣" if s.label else ""
        grade = "good" if depth < 0.25 else ""
        subs.append(
            f'<span class="lab-sub"><bdi>{html.escape(shown)}</bdi><i class="{grade}" style="height:{max(1, round(depth * _TALL))}px"></i>'
            f"<small>{number(s.value, 2)}</small></span>"
        )
    return f'{_STYLE}<small>{html.escape(head)}</small><div class="lab-strip" dir="auto">{"".join(subs)}</div>'


_MARKS = {
    "fail": ("✕", "fails"),
    "pass": ("✓", "passes"),
    "unclear": ("?", "is inconclusive for"),
    "untold": ("–", "was not computed for"),
}


def draw_stress_evidence(project: Project, report: Report) -> None:
    """Draw the evidence of the chosen cell; before any choice, of the first failure."""
    cell = _chosen(report)
    mark, does = _MARKS[cell.verdict]
    head = f"{label_of(report, cell.metric)} {does} {report.test(cell.test).label.lower()}"
    st.markdown(f"#### {mark} {escape_markdown(head)}")
    st.markdown(escape_markdown(cell.why))
    rule = {True: "passes", False: "fails", None: "is undefined"}[cell.published]
    st.caption(f"By the rule of He et al. (2023), which compares means only, it {rule}.")
    if cell.verdict == "fail" and (said := advice(cell.test, cell.metric)):
        st.info(escape_markdown(said), icon=":material/lightbulb:")
    _curves(report, cell, head)
    _others(report, cell)
    _touched(report, cell)
    _worst(project, report, cell)


def _chosen(report: Report) -> StressTestResult:
    tests, metrics = {t.name: t.label for t in report.tests}, {m.name: m.name for m in report.metrics}
    first = next(iter([*report.failing(), *report.cells]))
    if st.session_state.get(drafts.kept(TEST)) not in tests:
        st.session_state[TEST] = first.test
        st.session_state[METRIC] = first.metric
    if st.session_state.get(drafts.kept(METRIC)) not in metrics:
        st.session_state[METRIC] = first.metric
    left, right = st.columns(2)
    test = left.selectbox("Test", tests, key=TEST, format_func=tests.__getitem__)
    metric = right.selectbox("Metric", metrics, key=METRIC, format_func=lambda name: label_of(report, name))
    if test in NOISES:
        page.caption(f"{tests[test]}: {noises([test])[0].help}")
    return report.cell(test, metric)


def _curves(report: Report, cell: StressTestResult, head: str) -> None:
    metric = label_of(report, cell.metric)
    charts = robustness.cell_charts(cell, report.test(cell.test), report.metric(cell.metric)._replace(label=metric))
    if not charts:
        return
    left, right = st.columns([3, 2]) if len(charts) > 1 else (st.container(), None)
    said = "Dashed: the good texts. Band: one standard deviation over seeds."
    figure(charts[0], head, said, f"{file_name(metric)}-{cell.test}", place=left)
    if right is not None:
        figure(charts[1], head, "What the score is made of.", f"{file_name(metric)}-{cell.test}-parts", place=right)
    with st.expander("Table with 95 % CI"):
        tables.text_table([
            {
                "level": p.label, "share of words changed": number(p.ratio, 2), "mean": number(p.mean), "sd": number(p.sd),
                "drop from the good text": number(p.drop),
                "95 % CI": "" if p.low is None or p.high is None else f"{number(p.low)} to {number(p.high)}", "p": number(p.p, 3),
                "p of the step": "" if p.step_p is None else number(p.step_p, 3),
            }
            for p in cell.points
        ])  # fmt: skip


def _others(report: Report, cell: StressTestResult) -> None:
    rows, near, test = [], [], report.test(cell.test)
    for m in report.metrics:
        other = report.cell(cell.test, m.name)
        if other.gold is None:
            continue
        shares = [(p.label, p.ratio, share_of(other, p.drop)) for p in other.points]
        if all(share is None for _, _, share in shares):
            near.append(label_of(report, m.name))
            continue
        metric = {"metric": label_of(report, m.name), "verdict": other.verdict}
        rows += [
            metric | {"label": label, "ratio": ratio, "share": share}
            for label, ratio, share in [(robustness.GOOD, 0.0, 0.0), *shares]
            if share is not None
        ]
    if len({row["metric"] for row in rows}) > 1:
        st.markdown("**All metrics with this test**")
        said = "Change of the mean in % of the good texts’ score, by noise ratio (share of the words that were changed); failing metrics bold. Above 0, changed texts score better."
        chart = robustness.multiples(pd.DataFrame(rows), graded=test.graded)
        head = f"All metrics with the test “{test.label}”"
        controls.wide_chart(chart, "lab-others", head, said, f"all-metrics-{cell.test}")
    if near and len(report.metrics) > 1:
        page.caption(f"The score of the good texts is about 0, so the change in % is undefined for {', '.join(near)}.")


def number(value: float | None, digits: int = 4) -> str:
    return format_number(value, digits, leading_zero=True)


def _touched(report: Report, cell: StressTestResult) -> None:
    facts = report.test(cell.test)
    said = f"{cell.texts:,} texts compared"
    if cell.undefined:
        said += f"; {cell.undefined:,} {'lacks' if cell.undefined == 1 else 'lack'} a score at some level"
    if facts.untouched:
        why = "; ".join(f"{n} × {reason}" for reason, n in facts.reasons)
        said += f"; {facts.untouched:,} could not be changed by this test" + (f" ({why})" if why else "")
    page.caption(said + ".")


def _worst(project: Project, report: Report, cell: StressTestResult) -> None:
    st.subheader("Changed texts that score better than the good text", anchor=False)
    if not cell.worst:
        same = any(p.drop == 0 for p in cell.points)
        st.caption(f"No changed text scores better than its good text{': they score the same.' if same else '.'}")
    for n, offender in enumerate(cell.worst):
        _offender(project, report, cell, offender, n)


def _offender(project: Project, report: Report, cell: StressTestResult, offender: Offender, n: int) -> None:
    facts = report.metric(cell.metric)
    key = f"lab-{cell.test}-{cell.metric}-{n}"
    texts = TextPair(offender.source, offender.reference, offender.gold, offender.noised)
    with st.container(border=True):
        st.markdown(
            f"**{escape_markdown(f'{number(offender.gold_score)} → {number(offender.noised_score)}')}** "
            f"{escape_markdown(f'better by {number(offender.rise)} · {offender.id} · {offender.level} · seed {offender.seed}')}"
        )
        for name, text in (("reference", offender.reference), ("source", offender.source)):
            if text:
                st.caption(name)
                st.html(controls.diff_html(text, text))
        st.html(controls.diff_html(offender.gold, offender.noised, "good text → changed text"))
        if able(cell.metric) and st.toggle("Show the score of each token", key=f"{key}-strip"):
            with errors.boundary():
                draw_token_contributions(cell.metric, offender, facts.signature)
        score = SavedScore(
            cell.metric, facts.signature, facts.higher_is_better, offender.gold_score, offender.noised_score
        )
        controls.open_button(texts, f"{key}-open")
        controls.save_case(project, texts, [score], report.test(cell.test).label, key)
