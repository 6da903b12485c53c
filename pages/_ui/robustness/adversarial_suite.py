"""Adversarial suite: its cases from references or a file, accuracy by phenomenon and metric, and the cases that a metric gets wrong; saved cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pandas as pd
import streamlit as st

from core.formats.error_cases import AdversarialCase, phenomenon, read_cases
from core.formats.files import Upload
from core.formatting import format_number, with_interval
from core.metrics import registry
from core.metrics.base import Metric
from core.perturbations.registry import MENLI, PERTURBATIONS
from core.plots import combining as plots
from core.ports.projects import Project
from core.ports.robustness import KeptCase
from core.reports import adversarial as report
from core.reports.html import percent
from core.scoring.values import InMemoryScores
from core.services.projects.task import output_languages
from core.services.robustness import adversarial as suite
from core.services.robustness import cases as service
from core.services.robustness.adversarial import ALL, Answered, Failure, PhenomenonRow
from core.services.robustness.break_metric import TextPair, scoring_callback, verdict_of
from pages._ui.robustness import controls
from pages._ui.robustness.controls import latest
from pages._ui.shared import drafts, errors, page, tables, wiring
from pages._ui.shared.files import downloads, file_name
from pages._ui.shared.long_jobs import digest, retry_failed, run_cached
from pages._ui.shared.markdown import doc_link, escape_markdown
from pages._ui.shared.page import definition

SECOND, OUTPUTS, FILE = "A second reference", "Outputs of a system", "A file in MENLI’s format"

MENLI_FILE = f"One case per row: the reference or source, the good text, the changed text and the kind of error. See {doc_link('docs/menli.md')}."
KINDS = ["csv", "tsv", "gz", "jsonl", "json"]
MOST = 200
USUAL = ("bleu", "chrf", "ter", "rouge1", "rougeL", "bertscore", "bartscore", "nli")


class SuiteOptions(NamedTuple):
    """The options of a suite: where its cases come from, and the metrics."""

    origin: str
    system: str
    names: tuple[str, ...]
    seed: int
    most: int
    free: bool
    fixed: bool
    file: Upload | None
    metrics: tuple[str, ...]


class SuiteCases(NamedTuple):
    """The cases, warnings, and how they were made from the project (None for a file)."""

    cases: tuple[AdversarialCase, ...]
    notes: tuple[str, ...]
    made: service.BuiltSuite | None


def origins_of(project: Project) -> tuple[int, list[str]]:
    """Return the number of segments with a reference, and where good texts can come from in the project."""
    references = [len(s.references) for s in wiring.sampled(project).segments]
    with_one = sum(n > 0 for n in references)
    second = [SECOND] if max(references, default=0) > 1 else []
    return with_one, [*second, *([OUTPUTS] if with_one and project.systems else [])]


def choose_cases(
    project: Project, form: str, usual: int, with_one: int, *, columns: int = 2
) -> tuple[tuple[str, ...], int, int]:
    """Draw and return the kinds of error, the largest number of segments (`with_one` have a reference), and the seed."""
    names = st.multiselect(
        "Kinds of error", PERTURBATIONS, list(MENLI), format_func=phenomenon, key=drafts.kept(f"{form}-names")
    )
    places, top = st.columns(columns), max(1, with_one)
    key = drafts.kept(f"{form}-most-{project.id}", min(usual, top), lambda most: most <= top)
    most = places[0].number_input("Maximum segments", 1, top, min(usual, top), key=key)
    seed = places[-1].number_input("Seed", 0, 2**31 - 1, 0, key=drafts.kept(f"{form}-seed"))
    return tuple(names), int(most), int(seed)


def suite_form(project: Project) -> SuiteOptions | None:
    with_one, origins = origins_of(project)
    origins += [FILE] if wiring.identity().manages else []
    if not origins:
        page.info("No segment of this project has a reference, which cases are made from. A manager can upload cases.")
        return None
    with st.container(border=True):
        if not with_one:
            st.caption("No segment of this project has a reference: cases need a file.")
        left, middle, right = st.columns(3, vertical_alignment="bottom")
        origin = left.selectbox(
            "Good texts (paraphrases) from", origins, key=drafts.kept(f"suite-origin-{project.id}"),
            help=definition("Adversarial case"),
        )  # fmt: skip
        system, file, names, seed, most, fixed = "", None, tuple(MENLI), 0, 0, False
        free = middle.selectbox("Compared with", 
            ["The reference", "The source"], key=drafts.kept("suite-against"),
            help="With the source, the good text is the reference, and the changed text is the paraphrase with one error added.",
        ) == "The source"  # fmt: skip
        if origin == FILE:
            file = next(iter(drafts.uploads("CSV in MENLI’s format", KINDS, "suite-file", help=MENLI_FILE)), None)
            fixed = not free and st.toggle(
                "Use the corrected columns (hyp_para_fixed, hyp_adv_based_fixed)", key=drafts.kept("suite-fixed")
            )
        else:
            if origin == OUTPUTS:
                system = right.selectbox("System", project.systems, key=drafts.kept(f"suite-system-{project.id}"))
            names, most, seed = choose_cases(project, "suite", MOST, with_one)
        languages = output_languages(wiring.sampled(project))
        metrics = controls.choose_metrics("suite-metrics", USUAL, languages)
        controls.warn_of_language(metrics, languages)
        lacking = not metrics or not names or (origin == FILE and file is None)
        if st.button("Make and score cases", type="primary", disabled=lacking, key="suite-run"):
            chosen = tuple(m.spec.name for m in metrics)
            return SuiteOptions(origin, system, names, seed, most, free, fixed, file, chosen)
    return None


def cases_of(project: Project, asked: SuiteOptions) -> SuiteCases | None:
    """Return the cases, made or read from a file; None if that was stopped."""
    if asked.file is not None:
        file = asked.file
        key = ("suite-file", file.sha256(), file.name, asked.free, asked.fixed)

        def read(progress: object) -> SuiteCases:
            cases = read_cases([file], reference_free=asked.free, fixed=asked.fixed)
            return SuiteCases(cases.cases, cases.notes, None)

        return run_cached(key, "Reading the file …", read)
    data = wiring.sampled(project)
    segments = service.drawn(data.segments, asked.most, asked.seed)
    written = service.outputs_of(data, asked.system) if asked.system else None
    texts = hash((tuple(segments), tuple((written or {}).items())))
    made = run_cached(
        ("suite", project.id, texts, asked.names, asked.seed, asked.free), "Making the cases …",
        lambda progress: service.make(segments, asked.names, asked.seed, written, reference_free=asked.free, progress=progress),
    )  # fmt: skip
    return None if made is None else SuiteCases(made.cases, (), made)


SAVED_AT_ONCE = 10


def draw_saved_cases(project: Project) -> None:
    """Draw the section."""
    everything = wiring.store().cases.list(project.id)
    if not everything:
        st.info("This project has no saved cases yet.", icon=":material/bookmark:")
        st.markdown(
            "Save cases under *Break a metric*, *Adversarial suite* or *Stress tests*: they appear here with all scores."
        )
        return
    names = list(dict.fromkeys(case.collection for case in everything))
    if st.session_state.get(drafts.kept("robustness-shown")) not in names:
        st.session_state.pop("robustness-shown", None)
    name = st.selectbox("Collection", names, key="robustness-shown", width=320)
    mine = [case for case in everything if case.collection == name]
    menli, left_out = service.as_menli(mine)
    downloads(
        file_name(name), "robustness-file", ("CSV with scores", "scores.csv", lambda: service.as_csv(mine)),
        ("CSV in MENLI’s format", "menli.csv", lambda: menli),
    )  # fmt: skip
    if left_out:
        st.caption(f"{left_out} of {len(mine)} cases are not in MENLI’s CSV: it needs a reference and two texts.")
    for case in controls.paged(mine, SAVED_AT_ONCE, "Page, of {}", f"robustness-page-{name}", 160):
        _case(project, case)


def _case(project: Project, case: KeptCase) -> None:
    texts = TextPair(case.source, case.reference, case.good, case.changed)
    with st.container(border=True):
        st.markdown(f"**{escape_markdown(case.phenomenon)}** · {escape_markdown(case.what)}")
        if anchor := case.reference or case.source:
            st.html(controls.diff_html(anchor, anchor, "reference" if case.reference else "source"))
        st.html(controls.diff_html(case.good, case.changed, "good text → changed text"))
        tables.text_table(
            [
                {"metric": registry.label_of(s.metric, s.signature), "good": format_number(s.good, leading_zero=True), "changed": format_number(s.changed, leading_zero=True), "verdict": verdict_of(s)}
                for s in case.scores
            ]
        )  # fmt: skip
        with st.container(horizontal=True):
            controls.open_button(texts, f"open-kept-{case.id}", "Open")
            if wiring.may_change(project.id):
                remove = errors.guarded(wiring.store().cases.remove)
                args = (project.id, case.id or 0)
                st.button("Delete", on_click=remove, args=args, key=f"remove-kept-{case.id}", icon=":material/delete:")
        with st.expander("Signatures"):
            st.text("\n".join(s.signature for s in case.scores))


DRAWS, EACH, AT_ONCE = 1000, 50, 5

_MEMORY = "robustness_memory"


def results(project: Project, asked: SuiteOptions, ready: SuiteCases) -> None:
    """Draw the accuracy by phenomenon and metric, downloads, and wrong cases."""
    metrics, cases = registry.chosen(asked.metrics), ready.cases
    with st.spinner("Scoring …"):
        answered = answers(cases, metrics)
    if answered is None:
        return
    lost = tuple(v.reason for a in answered for v in (*a.good, *a.bad) if v.status == "error")
    rows = run_cached(
        ("suite-table", digest(cases), tuple(m.signature() for m in metrics), lost),
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
    failed = suite.failures(cases, answered)
    notes = [*ready.notes, *([ready.made.signature] if ready.made else [])]
    menli = ready.made.csv if ready.made else ""
    made = [("Cases as CSV in MENLI’s format", "cases.csv", lambda: menli)] if menli else []
    downloads(
        "adversarial", "suite", ("CSV", "csv", lambda: report.as_csv(rows)),
        ("HTML page", "html", lambda: report.as_html(rows, failed, notes, labels)), *made,
    )  # fmt: skip
    st.subheader("Cases that a metric gets wrong", anchor=False)
    _failures(project, cases, answered, asked.free)


def answers(
    cases: tuple[AdversarialCase, ...], metrics: Sequence[Metric], name: str = "suite"
) -> list[Answered] | None:
    """Return the scores of the cases; None if scoring was stopped. `name` is that of the dataset in this session."""
    key = digest(cases)
    return run_cached(
        ("adversarial-scores", key, tuple(m.signature() for m in metrics)), f"Scoring {len(cases):,} cases …",
        lambda progress: suite.answer(cases, metrics, scoring_callback(progress), memory(key, name)),
        lambda answered: not suite.failed(answered),
    )  # fmt: skip


def memory(key: str, name: str) -> InMemoryScores:
    """Return the scores of these texts in this session, so that stopped work can continue; others are discarded."""
    kept = st.session_state.get(f"{_MEMORY}-{name}")
    if kept is None or kept[0] != key:
        kept = st.session_state[f"{_MEMORY}-{name}"] = (key, InMemoryScores())
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
            line[labels[metric]] = with_interval(percent(r.accuracy), r.low, r.high, percent)
        shown.append(line)
    tables.data_table(shown, height="content")
    st.text("\n".join(dict.fromkeys(r.signature for r in rows if r.phenomenon == ALL)))


def _failures(project: Project, cases: tuple[AdversarialCase, ...], answered: list[Answered], free: bool) -> None:
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
    key = f"suite-page-{digest(cases)[:8]}-{metric}-{solver}-{kind}"
    for n, failure in enumerate(controls.paged(mine, AT_ONCE, words, key, 320)):
        _failure(project, failure, cases, answered, labels, f"suite-{n}", free)


def _failure(
    project: Project, failure: Failure, cases: tuple[AdversarialCase, ...], answered: list[Answered], labels: dict[str, str], key: str, free: bool
) -> None:  # fmt: skip
    texts = service.texts_of(cases[failure.case])
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
        scores = [of_metric.kept(failure.case) for of_metric in answered]
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
