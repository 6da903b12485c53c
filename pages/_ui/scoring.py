"""The scoring panel: which metrics there are, what each needs, what is scored already, start and cancel."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from core.data import Dataset
from core.errors import UserError
from core.metrics import registry
from core.metrics.base import MetricSpec
from core.metrics.registry import OPTIONS, STANDARD, load, specs
from core.models.checkpoint import describe
from core.ports import Project, Store
from core.settings import load as settings
from pages._ui import errors, jobs, metric_options

NEED_WORDS = {"source": "a source", "reference": "a reference", "seq2seq": "a model"}


class Line(NamedTuple):
    """A metric in the panel. `lacking` says why it cannot be run here, or is empty."""

    spec: MetricSpec
    scored: int
    lacking: str

    def open(self, total: int) -> bool:
        return not self.lacking and self.scored < total


def lines(store: Store, project: Project, data: Dataset) -> list[Line]:
    """Every metric with how many outputs have its present signature, and what it lacks; after each those of its variants
    with options that have scored something."""
    by = store.scores.signatures(project.id)
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
        lacking = next((f"no segment has {NEED_WORDS[n]}" for n in sorted(spec.needs) if not there.get(n, True)), "")
        try:
            n = scored.get(load(spec.name).signature(), 0)
        except UserError as error:
            n, lacking = max((s.n for s in by if s.metric == spec.name), default=0), lacking or str(error)
        out.append(Line(spec, n, lacking))
    return out


def panel(store: Store, project: Project, data: Dataset) -> None:
    """Draw the panel for one project."""
    found, total = lines(store, project, data), len(data.outputs)
    running = jobs.active(store, project.id)
    st.dataframe(
        [
            {
                "metric": line.spec.label,
                "scored": f"{line.scored:,} / {total:,}" if not line.lacking or line.scored else "–",
                "needs": ", ".join(NEED_WORDS[n] for n in sorted(line.spec.needs)),
                "what it says": line.lacking or line.spec.help,
                "paper": line.spec.paper,
            }
            for line in found
        ],
        hide_index=True, width="stretch", height=min(38 + 35 * len(found), 388),
        column_config={"metric": st.column_config.TextColumn(width="medium"), "what it says": st.column_config.TextColumn(width="large")},
    )  # fmt: skip
    try:
        st.caption(f"The model that speaks: {errors.plain(describe(settings().seq2seq))}")
    except UserError as error:
        errors.show(error)
    able = {line.spec.name: line.spec for line in found if not line.lacking and OPTIONS not in line.spec.name}
    default = [line.spec.name for line in found if line.spec.name in STANDARD and line.open(total)]
    names = st.multiselect(
        "Metrics to score with", list(able), default, format_func=lambda name: able[name].label,
        key=f"metrics-{project.id}-{len(default)}", placeholder="Everything usual is scored; choose more here" if able else "Nothing can be scored: see what is needed above",
        disabled=not able,
    )  # fmt: skip
    chosen = metric_options.chosen([able[name] for name in names], str(project.id))
    with st.container(horizontal=True, vertical_alignment="center"):
        text = f"Score {total:,} outputs with {len(names)} metric{'s' if len(names) != 1 else ''}"
        if st.button(text, type="primary", disabled=not chosen, key=f"score-{project.id}") and chosen:
            store.jobs.enqueue(project.id, chosen)
            st.rerun()
        for job in running:
            st.button(
                "Cancel scoring",
                key=f"panel-cancel-{job.id}",
                on_click=errors.guarded(store.jobs.cancel),
                args=(job.id,),
            )
        st.caption("What is scored already is never scored again.")
