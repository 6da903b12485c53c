"""What stands behind one verdict: the curve, its parts, the other metrics beside it, why, what to do, and the worst texts."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.plots import stress as plots
from core.ports import KeptScore, Project
from core.services.lab.advice import advice
from core.services.lab.parts import PARTS
from core.services.lab.report import Cell, Offender, Report
from core.services.lab.saved import share_of
from core.services.robustness import Texts
from pages._ui import errors, lab_strip, tables
from pages._ui import robustness_parts as parts
from pages._ui.errors import plain
from pages._ui.lab_catalogue import METRIC, TEST, label_of

_MARKS = {
    "fail": ("✕", "fails"),
    "pass": ("✓", "holds under"),
    "unclear": ("?", "is not shown to hold under"),
    "untold": ("–", "could not be judged under"),
}


def draw(project: Project, report: Report) -> None:
    """The evidence of the cell that was clicked or chosen; before any choice, of the first failure."""
    if not report.cells:
        return
    cell = _chosen(report)
    if cell is None:
        st.info("This metric was not run under this test.", icon=":material/info:")
        return
    facts = next(t for t in report.tests if t.name == cell.test)
    metric = label_of(report, cell.metric)
    mark, does = _MARKS[cell.verdict]
    st.markdown(f"#### {mark} {plain(f'{metric} {does} {facts.label.lower()}')}")
    st.markdown(plain(cell.why))
    rule = {True: "passes", False: "fails", None: "says nothing"}[cell.published]
    st.caption(f"By the published rule, which looks at means alone, it {rule}.")
    if cell.verdict == "fail" and (said := advice(cell.test, cell.metric)):
        st.info(plain(said), icon=":material/lightbulb:")
    _curves(report, cell, metric, facts.graded)
    _others(report, cell, facts.graded)
    _touched(report, cell)
    _worst(project, report, cell)


def _chosen(report: Report) -> Cell | None:
    tests, metrics = {t.name: t.label for t in report.tests}, {m.name: m.name for m in report.metrics}
    first = next(iter([*report.failing(), *report.cells]))
    if st.session_state.get(TEST) not in tests:
        st.session_state[TEST] = first.test
        st.session_state[METRIC] = first.metric
    if st.session_state.get(METRIC) not in metrics:
        st.session_state[METRIC] = first.metric
    left, right = st.columns(2)
    test = left.selectbox("Test", list(tests), key=TEST, format_func=tests.__getitem__)
    metric = right.selectbox("Metric", list(metrics), key=METRIC, format_func=lambda name: label_of(report, name))
    try:
        return report.cell(test, metric)
    except KeyError:
        return None


def _curves(report: Report, cell: Cell, metric: str, graded: bool) -> None:
    if cell.gold is None or not any(p.mean is not None for p in cell.points):
        return
    higher = next(m.higher_is_better for m in report.metrics if m.name == cell.metric)
    rows = pd.DataFrame([p._asdict() for p in cell.points])[["label", "ratio", "mean", "sd", "drop", "p"]].astype(
        dict.fromkeys(("ratio", "mean", "sd", "drop", "p"), float)
    )
    split = [
        {"part": name, "label": label, "ratio": ratio, "mean": values[name]}
        for label, ratio, values in [("gold", 0.0, cell.gold_parts), *((p.label, p.ratio, p.parts) for p in cell.points)]
        for name in PARTS
        if name in values and name in cell.gold_parts
    ]  # fmt: skip
    left, right = st.columns([3, 2]) if split else (st.container(), None)
    title = f"{metric} {'↑' if higher else '↓'}"
    left.altair_chart(plots.curve(rows, cell.gold, title, fails=cell.verdict == "fail", graded=graded), width="stretch")
    left.caption("Dashed: gold. Band: one standard deviation over seeds.")
    if right is not None:
        right.altair_chart(plots.parts(pd.DataFrame(split), graded=graded), width="stretch")
        right.caption("What the score is made of.")
    with st.expander("As numbers, with 95 % intervals"):
        tables.reading([
            {
                "level": p.label, "noise ratio": f"{p.ratio:.2f}", "mean": _number(p.mean), "sd": _number(p.sd), "worse than gold by": _number(p.drop),
                "95 %": "" if p.low is None or p.high is None else f"{_number(p.low)} to {_number(p.high)}", "p": _number(p.p, 3),
                "p of a step": "" if p.step_p is None else _number(p.step_p, 3),
            }
            for p in cell.points
        ])  # fmt: skip


def _others(report: Report, cell: Cell, graded: bool) -> None:
    rows, near = [], []
    for m in report.metrics:
        other = next((c for c in report.cells if (c.test, c.metric) == (cell.test, m.name)), None)
        if other is None or other.gold is None:
            continue
        told = [(p.label, p.ratio, share_of(other, p.drop)) for p in other.points]
        if all(share is None for _, _, share in told):
            near.append(label_of(report, m.name))
            continue
        rows += [
            {
                "metric": label_of(report, m.name),
                "label": label,
                "ratio": ratio,
                "share": share,
                "verdict": other.verdict,
            }
            for label, ratio, share in [("gold", 0.0, 0.0), *told]
            if share is not None
        ]
    if len({row["metric"] for row in rows}) > 1:
        st.markdown("**All metrics under this test**")
        parts.wide(plots.multiples(pd.DataFrame(rows), graded=graded), "lab-others")
        st.caption(
            "How much worse (below 0) or better the mean becomes, in % of gold, over the noise ratio; failing metrics bold. Above 0, noise is rewarded."
        )
    if near and len(report.metrics) > 1:
        st.caption(plain(f"Gold is about 0, and no % of it can be given, for {', '.join(near)}."))


def _touched(report: Report, cell: Cell) -> None:
    facts = next(t for t in report.tests if t.name == cell.test)
    said = f"{cell.texts:,} texts compared"
    if cell.undefined:
        said += f"; {cell.undefined:,} {'has' if cell.undefined == 1 else 'have'} no score somewhere"
    if facts.untouched:
        why = "; ".join(f"{n} × {reason}" for reason, n in facts.reasons)
        said += f"; {facts.untouched:,} could not be noised" + (f" ({why})" if why else "")
    st.caption(plain(said + "."))


def _worst(project: Project, report: Report, cell: Cell) -> None:
    st.subheader("Texts that score better spoilt", anchor=False)
    if not cell.worst:
        st.caption(
            "No single text scores better than its good version"
            + (": they score the same." if any(p.drop == 0 for p in cell.points) else ".")
        )
    for n, offender in enumerate(cell.worst):
        _offender(project, report, cell, offender, n)


def _offender(project: Project, report: Report, cell: Cell, found: Offender, n: int) -> None:
    facts = next(m for m in report.metrics if m.name == cell.metric)
    test = next(t for t in report.tests if t.name == cell.test)
    key = f"lab-{cell.test}-{cell.metric}-{n}"
    texts = Texts(found.source, found.reference, found.gold, found.noised)
    with st.container(border=True):
        st.markdown(
            f"**{plain(f'{_number(found.gold_score)} → {_number(found.noised_score)}')}** "
            f"{plain(f'better by {_number(found.rise)} · {found.id} · {found.level} · seed {found.seed}')}"
        )
        for name, text in (("reference", found.reference), ("source", found.source)):
            if text:
                st.caption(name)
                st.html(parts.compared(text, text))
        st.html(parts.compared(found.gold, found.noised, "good → spoilt"))
        if lab_strip.able(cell.metric) and st.toggle("Show why, token by token", key=f"{key}-strip"):
            with errors.boundary():
                lab_strip.draw(cell.metric, found, facts.signature)
        score = KeptScore(cell.metric, facts.signature, facts.higher_is_better, found.gold_score, found.noised_score)
        st.button(
            "Open in Break a metric", on_click=parts.open_case, args=(texts,), key=f"{key}-open", icon=":material/open_in_full:"
        )  # fmt: skip
        parts.keep(project, texts, [score], test.label, key)


def _number(value: float | None, digits: int = 4) -> str:
    return "–" if value is None else f"{value:.{digits}f}".replace("-", "−")
