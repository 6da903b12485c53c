"""Adversarial suite: accuracy by phenomenon and metric, downloads, and the cases that a metric gets wrong."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import pandas as pd
import streamlit as st

from core.formats.error_cases import AdversarialCase
from core.formatting import format_number
from core.metrics import registry
from core.plots import combining as plots
from core.ports.projects import Project
from core.reports import adversarial as report
from core.reports.html import percent
from core.scoring.values import InMemoryScores
from core.services.robustness import adversarial as suite
from core.services.robustness import cases as service
from core.services.robustness.adversarial import ALL, Answered, Failure, PhenomenonRow
from core.services.robustness.break_metric import scoring_callback
from pages._ui.robustness import controls
from pages._ui.robustness.session import latest
from pages._ui.robustness.suite_cases import SuiteCases, SuiteOptions, cases_of, suite_form
from pages._ui.shared import page, tables
from pages._ui.shared.files import download, file_name
from pages._ui.shared.long_jobs import retry_failed, run_cached
from pages._ui.shared.markdown import escape_markdown

DRAWS, EACH, AT_ONCE = 1000, 50, 5

_MEMORY = "robustness_memory"


def results(project: Project, asked: SuiteOptions, ready: SuiteCases) -> None:
    """Draw the accuracy by phenomenon and metric, downloads, and wrong cases."""
    metrics = registry.chosen(asked.metrics)
    digest = hashlib.sha256(repr(ready.cases).encode("utf-8", "surrogatepass")).hexdigest()
    key = ("suite-scores", digest, tuple(m.signature() for m in metrics))
    cases = ready.cases
    with st.spinner("Scoring …"):
        answered = run_cached(
            key, f"Scoring {len(cases):,} cases …", lambda progress: suite.answer(cases, metrics, scoring_callback(progress), memory(digest)),
            lambda answers: not suite.failed(answers),
        )  # fmt: skip
    if answered is None:
        return
    lost = tuple(v.reason for a in answered for v in (*a.good, *a.bad) if v.status == "error")
    rows = run_cached(
        (*key, "table", lost),
        "Computing 95 % CIs …",
        lambda progress: suite.accuracy_table(cases, answered, draws=DRAWS),
    )
    if rows is None:
        return
    labels = {a.spec.name: a.spec.label for a in answered}
    if said := report.headline(rows, labels):
        st.markdown(f"#### {escape_markdown(said)}")
    against = "the source" if asked.free else "the reference"
    said = f"{report.sentence_of_counts(rows, labels)} Share of cases in which the good text scores strictly better, compared with {against}. Averages weigh kinds of error equally. Hover over a cell for its 95 % CI."
    chart = plots.heatmap(pd.DataFrame([r._replace(metric=labels[r.metric]) for r in rows]))
    head = report.headline(rows, labels) or "Accuracy of metrics on adversarial cases"
    controls.wide_chart(chart, "suite-heatmap", head, said, "adversarial-cases")
    with st.expander("Table with 95 % CI"):
        _numbers(rows, labels)
    for note in ready.notes:
        page.caption(note)
    _downloads(project, ready, rows, suite.failures(cases, answered), labels)
    st.subheader("Cases that a metric gets wrong", anchor=False)
    _failures(project, cases, answered, digest, asked.free)


def memory(digest: str, name: str = "suite") -> InMemoryScores:
    """Return the scores of these cases in this session, so that stopped work can continue; others are discarded."""
    kept = st.session_state.get(f"{_MEMORY}-{name}")
    if kept is None or kept[0] != digest:
        kept = st.session_state[f"{_MEMORY}-{name}"] = (digest, InMemoryScores())
    remembered: InMemoryScores = kept[1]
    return remembered


def _numbers(rows: list[PhenomenonRow], labels: Mapping[str, str]) -> None:
    metrics = list(dict.fromkeys(r.metric for r in rows))
    by_place = {(r.phenomenon, r.metric): r for r in rows}
    names = [line[0] for line in report.grid(rows, labels)[1:]]
    shown = []
    for name in names:
        line = {"kind of error": name, "cases": str(by_place[name, metrics[0]].cases)}
        for metric in metrics:
            r = by_place[name, metric]
            between = "" if r.low is None else f" [{percent(r.low)}, {percent(r.high)}]"
            line[labels[metric]] = percent(r.accuracy) + between
        shown.append(line)
    tables.data_table(shown, height="content")
    st.text("\n".join(dict.fromkeys(r.signature for r in rows if r.phenomenon == ALL)))


def _downloads(
    project: Project, ready: SuiteCases, rows: list[PhenomenonRow], failed: list[Failure], labels: Mapping[str, str]
) -> None:
    stem = f"{file_name(project.name)}.adversarial"
    notes = [*ready.notes, *([ready.made.signature] if ready.made else [])]
    with st.container(horizontal=True):
        download("CSV", report.as_csv(rows), f"{stem}.csv", "suite-CSV")
        download("HTML page", report.as_html(rows, failed, notes, labels), f"{stem}.html", "suite-HTML page")
        if ready.made:
            label = "Cases as CSV in MENLI’s format"
            download(label, ready.made.csv, f"{stem}.cases.csv", f"suite-{label}")


def _failures(
    project: Project, cases: tuple[AdversarialCase, ...], answered: list[Answered], digest: str, free: bool
) -> None:
    labels = {a.spec.name: a.spec.label for a in answered}
    left, middle, right = st.columns(3)
    metric = left.selectbox("Wrong for", labels, format_func=labels.__getitem__, key="suite-failed")
    others = ["", *(name for name in labels if name != metric)]
    solver = middle.selectbox(
        "Solved by", others, format_func=lambda n: labels.get(n, "any metric / no metric"), key=f"suite-solved-{metric}"
    )
    mine = [f for f in suite.failures(cases, answered, each=EACH, solved_by=solver) if f.metric == metric]
    kinds = ["", *dict.fromkeys(f.phenomenon for f in mine)]
    kind = right.selectbox(
        "Kind of error", kinds, format_func=lambda k: k or "Any kind", key=f"suite-kind-{metric}-{solver}"
    )
    mine = [f for f in mine if not kind or f.phenomenon == kind]
    if not mine:
        st.info("No case matches.", icon=":material/check:")
        return
    words = f"Page of {{}} ({len(mine)} cases, at most {EACH} per kind of error)"
    key = f"suite-page-{digest[:8]}-{metric}-{solver}-{kind}"
    for n, failure in enumerate(controls.paged(mine, AT_ONCE, words, key, 320)):
        _failure(project, failure, cases, answered, labels, f"suite-{n}", free)


def _failure(
    project: Project, failure: Failure, cases: tuple[AdversarialCase, ...], answered: list[Answered], labels: dict[str, str], key: str, free: bool
) -> None:  # fmt: skip
    case = service.case_of(failure, cases)
    texts = service.texts_of(case)
    with st.container(border=True):
        st.markdown(f"**{escape_markdown(failure.phenomenon)}** · {escape_markdown(failure.id)}")
        left, right = st.columns(2)
        left.caption("source" if free else "reference")
        left.text(failure.anchor)
        left.caption("good text")
        left.text(failure.good)
        with right:
            error = None if free or not texts.reference else texts.reference
            against = "reference" if error else "good text"
            st.html(
                controls.diff_html(error or failure.good, failure.bad, f"changed text, compared with the {against}")
            )
            tables.text_table(
                [
                    {"metric": labels[name], "good": format_number(good, leading_zero=True), "changed": format_number(bad, leading_zero=True)}
                    for name, (good, bad) in failure.scores.items()
                ]
            )  # fmt: skip
        controls.open_button(texts, f"open-{key}")
        scores = service.scores_of(case, cases, answered)
        controls.save_case(project, texts, scores, failure.phenomenon, key, error_in=error)


def impossible_cases(made: service.BuiltSuite) -> None:
    lost = sum(c.untouched for c in made.counts)
    with st.expander(f"{len(made.cases):,} cases made; {lost:,} not possible: reasons"):
        tables.text_table(
            [
                {
                    "kind of error": c.phenomenon, "cases": str(c.cases), "not possible": str(c.untouched),
                    "reasons": "; ".join(f"{n} × {reason}" for reason, n in c.reasons),
                }
                for c in made.counts
            ]
        )  # fmt: skip
        st.text(made.signature)


def draw_adversarial_suite(project: Project) -> None:
    """Draw the section."""
    st.caption(
        "Each case has two texts: a good one (a paraphrase of the reference) and a changed one (the reference with one error added). A metric "
        "should give the good text the better score. String metrics often do not: the changed text shares more words with the reference."
    )
    if (pressed := suite_form(project)) is not None:
        retry_failed()
    asked = latest(f"robustness_asked-{project.id}", pressed)
    if asked is None:
        return
    ready = cases_of(project, asked)
    if ready is None:
        return
    if not ready.cases:
        page.info("No case could be made. The table below lists the reasons.")
    else:
        results(project, asked, ready)
    if ready.made:
        impossible_cases(ready.made)
