"""Error spans: how well judges, imported layers and refinements agree with the spans of annotators."""

from __future__ import annotations

import streamlit as st

from core.errors import UserError
from core.ports.projects import Project
from core.progress import Progress
from core.reports import span_evaluation as report
from core.services.spans.compared_layers import Part, SpanChoice, SpanRow, SpanTest
from core.services.spans.evaluation import EVERY_ANNOTATOR, SpanEvaluation, evaluate_project
from core.services.spans.layers import LayerInfo, list_layers
from core.spans.layers import ORIGINS
from core.spans.measures import AVERAGES, MEASURES
from pages._ui.compare import marks
from pages._ui.labels_and_raters import known_labels
from pages._ui.shared import drafts, page, tables, wiring
from pages._ui.shared.files import downloads, figure, table_files
from pages._ui.shared.long_jobs import digest, run_cached
from pages._ui.shared.markdown import escape_markdown
from pages._ui.shared.page import definition

PARTS: dict[Part, str] = {"system": "By system", "severity": "By severity", "category": "By category"}
ABOUT_PARTS = {
    "system": "F on the outputs of each system.",
    "severity": "F with gold and layer reduced to spans of this severity · share of these gold spans that the layer finds with any severity.",
    "category": "F with gold and layer reduced to spans of this category (first level) · share of these gold spans that the layer finds with "
    "any category.",
}


def layers_of(project: Project) -> list[LayerInfo]:
    """Return the span layers of the project, with those of all annotators: the page shows only sums of their labels."""
    return list_layers(wiring.store(), project.id, marks.seen(project, None, everyone=True))


def draw_error_spans(project: Project, layers: list[LayerInfo]) -> None:
    """Draw the choice of layers and measure, and the comparison."""
    if len(layers) < 2:
        _empty(layers)
        return
    gold, names, choice = _asked(project, layers)
    if not names:
        page.info("Choose at least one layer.")
        return
    seen = marks.seen(project, None, everyone=True)

    def work(progress: Progress) -> SpanEvaluation | UserError:
        try:
            return evaluate_project(wiring.store(), project.id, gold, names, choice, seen, progress)
        except UserError as error:  # kept as the answer to this choice
            return error

    key = (
        "error-spans",
        digest(wiring.version(project), wiring.store().scores.newest(), known_labels.submitted(project).digest, layers),
        gold,
        tuple(names),
        choice,
    )
    done = run_cached(key, "Comparing error spans …", work)
    if done is None:
        return
    if isinstance(done, UserError):
        page.info(escape_markdown(str(done)))
        return
    _result(done)


def _empty(layers: list[LayerInfo]) -> None:
    has = (
        f"This project has one layer of error spans: {layers[0].label} ({ORIGINS[layers[0].origin]})."
        if layers
        else "This project has no error spans yet."
    )
    page.info(
        escape_markdown(
            f"{has} Two layers are compared: usually annotators, whose submitted labels are gold, and a judge, an imported file or the edits of "
            "BARTScore++."
        )
    )
    with st.container(horizontal=True):
        page.link("annotate", "Annotate outputs")
        page.link("projects", "Import labels or error spans on Projects")
        page.link("compare", "Score with judge-mqm or BARTScore++ on Compare")


def _asked(project: Project, layers: list[LayerInfo]) -> tuple[str, list[str], SpanChoice]:
    """Draw the options and return the gold, the names of the compared layers, and the choice."""
    labels = {info.name: f"{info.label} ({ORIGINS[info.origin]}, {info.outputs:,} outputs)" for info in layers}
    annotators = [info.name for info in layers if info.origin == "annotator"]
    golds = ([EVERY_ANNOTATOR] if len(annotators) > 1 else []) + list(labels)
    labels[EVERY_ANNOTATOR] = f"each of {len(annotators)} annotators in turn"
    first, second, third, fourth = st.columns([1.4, 1, 1, 0.75], vertical_alignment="bottom")
    gold = first.selectbox(
        "Gold", golds, format_func=labels.__getitem__, key=drafts.kept(f"spans-gold-{project.id}"),
        help="What the layers are compared with. With each annotator in turn, the sums over all annotators are divided: an annotator "
        "with more outputs counts more.",
    )  # fmt: skip
    measure = second.selectbox(
        "Measure", MEASURES, format_func=MEASURES.__getitem__, key=drafts.kept("spans-measure"), help=definition("mpp")
    )
    average = third.selectbox(
        "Average", AVERAGES, format_func=AVERAGES.__getitem__, key=drafts.kept("spans-average"),
        help="Micro is recommended: in the macro average, a layer that marks nothing is right in every output without errors.",
    )  # fmt: skip
    with fourth.popover("More options", icon=":material/tune:", width="stretch"):
        penalty = st.select_slider(
            "Severity penalty", [0.0, 0.25, 0.5, 0.75, 1.0], 0.0, key=drafts.kept("spans-penalty"), disabled=measure == "wmt25",
            help="Share of its credit that a matched pair of different severity loses (mpp, exact match, mp). WMT25 always gives half.",
        )  # fmt: skip
        seed = st.number_input("Seed", 0, 2**31 - 1, 0, key=drafts.kept("spans-seed"))
    others = [name for name in labels if name not in (gold, EVERY_ANNOTATOR)]
    if gold == EVERY_ANNOTATOR:
        others = [name for name in others if name not in annotators]
    usual = [name for name in others if name not in annotators] or others
    key = f"spans-layers-{project.id}-{gold}"
    names = st.multiselect("Layers", others, usual, format_func=labels.__getitem__, key=drafts.kept(key, usual))
    return gold, names, SpanChoice(measure, average, float(penalty), int(seed))


def _result(done: SpanEvaluation) -> None:
    head = report.sentence(done)
    st.markdown(f"#### {escape_markdown(head)}")
    figure(report.chart(done), head, report.about(done), "error-spans")
    shown = report.shown(done.rows)
    tables.text_table(shown, tall=40)
    if done.ranking:
        st.markdown(escape_markdown(done.ranking))
        st.caption("  \n".join(map(escape_markdown, report.orders(done))))
    st.caption("  \n".join(map(escape_markdown, done.notes)))
    by: Part = st.segmented_control(
        "Parts of the data", PARTS, default="system", format_func=PARTS.__getitem__, key=drafts.kept("spans-part"), required=True,
        label_visibility="collapsed",
    )  # fmt: skip
    parts = report.shown_parts(done, by)
    tables.text_table(parts, tall=40)
    page.caption(f"{done.choice.words} with 95 % CI. {ABOUT_PARTS[by]}")
    with st.expander("Differences between layers"):
        tables.text_table(report.shown_tests(done.tests), tall=40)
        page.caption(report.HOW)
        table_files(
            report.shown_tests(done.tests), f"{head} {report.HOW}", "error-span-differences", lambda: (SpanTest._fields, done.tests)
        )  # fmt: skip
    rows = (*done.rows, *done.parts)
    table_files(shown, f"{head} {report.about(done)}", "error-spans", lambda: (SpanRow._fields, rows))
    downloads("error-spans", "error-spans", ("Everything as JSON", "json", lambda: report.as_json(done)))
