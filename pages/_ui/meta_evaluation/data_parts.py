"""Agreement on parts of the data: the best systems, short and long outputs, bad and good segments."""

from __future__ import annotations

import streamlit as st

from core.reports import evaluation as report
from core.services.evaluate import significance as tests
from core.services.evaluate.evaluate import LABELS, AgreementRow, Evaluation, StatisticName
from core.services.projects.view import View
from pages._ui.meta_evaluation import agreement_preview
from pages._ui.shared import drafts, page, tables
from pages._ui.shared.files import table_files
from pages._ui.shared.long_jobs import compute, digest

PARTS = {"top": "the best systems only", "length": "short and long outputs", "quality": "bad and good segments"}


def of_parts(view: View, found: Evaluation, statistic: StatisticName) -> None:
    """Draw the agreement on parts of the data."""
    by: str = st.segmented_control(
        "Agreement on",
        PARTS,
        default="top",
        format_func=PARTS.__getitem__,
        key=drafts.kept("evaluate-by"),
        required=True,
    )
    data = found.joined
    lengths = view.index.lengths[view.index.cells(data.keys)].astype(float).tolist() if by == "length" else []

    def work() -> list[tests.SubsetAgreement]:
        if by == "top":
            parts = tests.top_systems(data, found.choice, statistic)
        else:
            parts = tests.buckets(data, found.choice, statistic, "length" if by == "length" else "quality", lengths)
        return [p._replace(found=p.found._replace(joined=p.found.joined.without_outputs())) for p in parts]

    key = "parts", digest(data.digest, lengths), found.choice, statistic, by
    done = compute(key, "Computing agreement on parts …", work)
    if not done:
        page.info("At least 2 systems are needed.")
        return
    columns = {p.label: f"{p.label} ({p.outputs})" for p in done}
    order = agreement_preview.with_heading([data.scored_metric(name) for name in found.order(statistic)])
    rows = [
        {"metric": m.label if m else agreement_preview.BASELINES}
        | {columns[p.label]: report.cell(p.found.of(m.name, statistic)) if m else "" for p in done}
        for m in order
    ]
    tables.text_table(rows, tall=40)
    what = {
        "top": "The systems with the best mean human scores; in brackets the number of outputs. A metric that only separates "
        "good from bad systems agrees less here.",
        "length": "Segments in three equal parts by the mean length of their outputs.",
        "quality": "Segments in three equal parts by their mean human score.",
    }
    page.caption(f"{LABELS[statistic]} with 95 % CI. {what[by]}")
    caption = (
        f"{LABELS[statistic]} with {data.human_axis}, with 95 % CI, on {PARTS[by]}; number of outputs in brackets."
    )
    named = ("part", "outputs_of_part", *AgreementRow._fields)
    table_files(
        rows, caption, f"parts-{by}", lambda: (named, [(p.label, p.outputs, *r) for p in done for r in p.found.rows])
    )
