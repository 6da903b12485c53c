"""Agreement with every imported human score of the project, side by side."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.ports.projects import Project
from core.progress import Progress
from core.reports import every_score as report
from core.services.calibrate.calibration import from_score
from core.services.evaluate import evaluate as service
from core.services.evaluate.evaluate import LABELS, Evaluation, StatisticName
from core.services.projects.view import View
from pages._ui.meta_evaluation import agreement_table, evaluation_data
from pages._ui.meta_evaluation.agreement_preview import BASELINES, with_heading
from pages._ui.meta_evaluation.evaluation_form import EvaluationOptions
from pages._ui.shared import drafts, page, wiring
from pages._ui.shared.files import download, file_name
from pages._ui.shared.long_jobs import digest, run_cached

FITTING = 5
"""Human scores whose table fits into most windows. The names of metrics in wider ones are pinned, which makes them pale."""


def draw(project: Project, view: View, wanted: EvaluationOptions) -> None:
    """Draw metric × human score under the chosen statistic, best first by the mean, baselines grey at the foot."""
    statistic, choice = wanted.statistic, wanted.choice._replace(draws=0)  # no intervals: they take longest
    lower = st.multiselect(
        "Scores where lower is better", project.human_scores, key=drafts.kept(f"evaluate-every-lower-{project.id}"), placeholder="none",
    )  # fmt: skip

    def work(progress: Progress) -> dict[str, tuple[int, Evaluation | None]]:
        done: dict[str, tuple[int, Evaluation | None]] = {}
        for k, name in enumerate(project.human_scores, 1):
            values = wiring.human_score(project, name).finite()
            people = from_score(values, name, higher_is_better=name not in lower)
            data = evaluation_data.joined(project, view, people, wanted, once=True)
            one = None if data.too_few else service.evaluate(data, choice, (statistic,))
            done[name] = len(data.keys), one and one._replace(joined=data.without_outputs())
            progress(k / len(project.human_scores))
        return done

    asked = project.human_scores, tuple(lower), wanted._replace(choice=choice)
    key = "human-scores", digest(wiring.version(project), view.scored_by, asked)
    done = run_cached(key, "Computing agreement with every human score …", work)
    if done is None:
        return
    found = {name: one for name, (_, one) in done.items() if one is not None}
    if not found:
        page.info("At least 2 outputs with a human score and scores of all chosen metrics are needed.")
        return
    _table(found, statistic)
    outputs = "; ".join(f"{name} {n:,}" for name, (n, _) in done.items())
    page.caption(f"{LABELS[statistic]}. Bold: the best metric for each human score; it may be ahead by chance. Outputs compared: {outputs}.")  # fmt: skip
    with st.container(horizontal=True):
        name = f"{file_name(project.name)}.human-scores"
        download("All human scores as CSV", lambda: report.as_csv(found), f"{name}.csv", "evaluate-every-csv")
        download(
            "All human scores as LaTeX", lambda: report.as_latex(found, statistic), f"{name}.tex", "evaluate-every-tex"
        )


def _table(found: dict[str, Evaluation], statistic: StatisticName) -> None:
    metrics = with_heading(report.order(found, statistic))
    frame = pd.DataFrame({"metric": [m.label if m else BASELINES for m in metrics]})
    for name, one in found.items():
        frame[name] = [report.text(one, m, statistic) if m else "" for m in metrics]
    style = agreement_table.styles(metrics, frame)
    for name, one in found.items():
        best = [m is not None and report.is_best(one, m, statistic) for m in metrics]
        style.loc[best, name] += "; font-weight: 700"
    columns = {name: st.column_config.TextColumn(f"{name} ↑", alignment="right") for name in found}
    st.dataframe(
        frame.style.apply(lambda _: style, axis=None), hide_index=True, height="content", key="evaluate-every",
        column_config={"metric": st.column_config.TextColumn(pinned=len(found) > FITTING, width=260)} | columns,
    )  # fmt: skip
