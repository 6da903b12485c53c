"""The scoring panel: metrics, what each needs, existing scores, start and cancel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import streamlit as st

from core.data import Dataset, SegmentKey
from core.errors import UserError
from core.formatting import format_count
from core.metrics import readiness, registry
from core.metrics.base import MetricSpec
from core.metrics.registry import OPTIONS, STANDARD, load, specs
from core.models.checkpoint import describe
from core.models.kinds import MODEL_KINDS
from core.ports.projects import Project
from core.scoring.dataset import for_dataset
from core.services.projects.task import Task, default_metrics
from core.services.projects.time_estimates import start
from core.settings import load as settings
from pages._ui.projects import external_scores, metric_options, scoring_time
from pages._ui.shared import errors, jobs, page, wiring
from pages._ui.shared.markdown import escape_markdown

NEED_WORDS = {"source": "a source", "reference": "a reference"} | {
    role.name: role.words for role in MODEL_KINDS.values()
}


AGAINST = "against"
TASKS: dict[Task, str] = {
    "translation": "translations", "summary": "summaries", "data-to-text": "texts written from data", "other": "other texts",
}  # fmt: skip


class MetricLine(NamedTuple):
    """A metric in the panel. `lacking` is the reason why it cannot run, or empty; `begin` are options that make it run
    on the texts of the project."""

    spec: MetricSpec
    scored: int
    lacking: str
    begin: Mapping[str, str]

    @property
    def needs(self) -> frozenset[str]:
        """What the metric needs with the options that it begins with."""
        return load(registry.expression(self.spec.name, self.begin)).spec.needs if self.begin else self.spec.needs

    def open(self, total: int) -> bool:
        return not self.lacking and self.scored < total


def lines(project: Project, data: Dataset) -> list[MetricLine]:
    """Return every metric with its number of scores under the current signature and what it lacks, followed by its variants
    with options that have scores."""
    by = wiring.store().scores.signatures(project.id)
    scored = {s.signature: s.n for s in by}
    there = {
        "source": any(s.source is not None for s in data.segments),
        "reference": any(s.references for s in data.segments),
    }
    found = list(specs().values())
    for name in sorted({s.metric for s in by if OPTIONS in s.metric}):
        base = [spec.name.partition(OPTIONS)[0] for spec in found]
        if (spec := registry.describe(name)) is not None:
            found.insert(len(base) - base[::-1].index(name.partition(OPTIONS)[0]), spec)
    out = []
    for spec in found:
        lacks = [n for n in sorted(spec.needs) if not there.get(n, True)]
        begin = _fitting(spec, there) if lacks else {}
        lacking = f"no segment has {NEED_WORDS[lacks[0]]}" if lacks and not begin else ""
        before = max((s.n for s in by if s.metric == spec.name), default=0)
        try:
            metric = load(registry.expression(spec.name, begin) if begin else spec.name)
            told = readiness.of(metric)
            n = scored.get(for_dataset(metric, data).signature(), 0) if told.state == "ready" else before
            lacking = lacking or told.sentence()
        except UserError as error:
            n, lacking = before, lacking or str(error)
        out.append(MetricLine(spec, n, lacking, begin))
    return out


def _fitting(spec: MetricSpec, there: Mapping[str, bool]) -> dict[str, str]:
    """Return options that compare with a text that exists, if the default one is missing; else nothing."""
    for option in spec.options:
        for choice in option.choices if option.name == AGAINST and OPTIONS not in spec.name else ():
            other = load(registry.expression(spec.name, {AGAINST: choice})).spec
            if all(there.get(n, True) for n in other.needs):
                return {AGAINST: choice}
    return {}


def panel(project: Project, data: Dataset, *, segment: SegmentKey | None = None) -> None:
    """Draw the panel for one project. `segment` is the open one, if any."""
    store = wiring.store()
    found, total = lines(project, data), len(data.outputs)
    running = jobs.active(project.id)
    st.dataframe(
        [
            {
                "metric": line.spec.label,
                "scored": f"{line.scored:,} / {total:,}" if not line.lacking or line.scored else "–",
                "needs": ", ".join(NEED_WORDS[n] for n in sorted(line.needs)),
                "description": f"Not possible: {line.lacking}" if line.lacking else line.spec.help,
                "paper": line.spec.paper,
            }
            for line in found
        ],
        hide_index=True, width="stretch", height=min(38 + 35 * len(found), 388),
        column_config={"metric": st.column_config.TextColumn(width="medium"), "description": st.column_config.TextColumn(width="large")},
    )  # fmt: skip
    external_scores.panel(project)
    try:
        st.caption(f"The default scoring model: {escape_markdown(describe(settings().seq2seq))}")
    except UserError as error:
        errors.show(error)
    able = {line.spec.name: line.spec for line in found if not line.lacking and OPTIONS not in line.spec.name}
    default = _defaults(project, data, found, total)
    picked = f"metrics-touched-{project.id}"
    key: str = st.session_state.get(picked) or f"metrics-{project.id}-{','.join(default)}"

    def touched() -> None:
        st.session_state[picked] = key  # a later estimate must not replace what was chosen

    names = st.multiselect(
        "Metrics to compute", able, default, format_func=lambda name: able[name].label, on_change=touched,
        key=key, placeholder=("Default metrics are done. Add more:" if any(line.scored for line in found) else "Default metrics cannot run here. Choose others:") if able else "No metric can run. See the table above for what is missing.",
        disabled=not able,
    )  # fmt: skip
    chosen = metric_options.chosen(
        [able[name] for name in names], str(project.id), {line.spec.name: line.begin for line in found if line.begin}
    )
    scope = scoring_time.choose_scope(project, data, segment)
    opened = scoring_time.open_of(project, data, chosen or ())
    is_long = scoring_time.estimate(project, opened, scope, running)
    with st.container(horizontal=True, vertical_alignment="center"):
        text = f"Compute scores ({format_count(len(names), 'metric')})" if names else "Compute scores"
        wanted = (project.id, chosen or (), scope.segments, scope.first if is_long else ())
        if st.button(
            text, type="primary", disabled=not chosen, key=f"score-{project.id}", on_click=jobs.remember, args=(wanted,)
        ):
            jobs.forget()
            start(store, *wanted)
            st.session_state.pop(picked, None)
            st.rerun()
        for job in running:
            if job.timing:
                continue
            st.button(
                "Cancel scoring",
                key=f"panel-cancel-{job.id}",
                on_click=errors.guarded(store.jobs.cancel),
                args=(job.id,),
            )
        st.caption("Existing scores are reused.")
    scoring_time.progress(project, data)


def _defaults(project: Project, data: Dataset, found: Sequence[MetricLine], total: int) -> list[str]:
    """Return the metrics chosen at first, by task and time; draw which defaults are left out."""
    task = wiring.task(project)
    possible = {line.spec.name: line.spec.label for line in found if line.spec.name in STANDARD and line.open(total)}
    fitting = [name for name in possible if name in default_metrics(task)]
    slow = scoring_time.too_long(scoring_time.open_of(project, data, fitting))
    said = []
    if others := [label for name, label in possible.items() if name not in fitting]:
        said.append(f"Not chosen, because the outputs look like {TASKS[task]}: {', '.join(others)}.")
    if slow:
        said.append(
            f"Not chosen, because of the time for all outputs: {', '.join(slow.values())}. Choose it for a sample."
        )
    if said:
        page.caption(" ".join(said))
    return [name for name in fitting if name not in slow]
