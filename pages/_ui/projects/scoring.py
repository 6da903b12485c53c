"""The scoring panel: metrics, what each uses, existing scores, start and cancel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import streamlit as st

from core.data import Dataset, SegmentKey
from core.errors import UserError
from core.formatting import format_count
from core.metrics import readiness, registry
from core.metrics.base import MetricSpec
from core.metrics.registry import OPTIONS, STANDARD, load_metric
from core.models.checkpoint import describe, reads_only_english
from core.models.configs import MODEL_KINDS
from core.ports.jobs import Job
from core.ports.projects import Project
from core.scoring.dataset import for_dataset
from core.services.projects.task import Task, default_metrics, language_warning, mostly_unread, output_languages
from core.services.projects.time_estimates import LONG_SECONDS, OpenOutputs, start
from core.settings import load_settings
from pages._ui.projects import metric_options, other_programs, scoring_time
from pages._ui.shared import drafts, errors, jobs, page, wiring
from pages._ui.shared.markdown import escape_markdown, with_doc_links

USED = (
    {"source": "source", "reference": "reference"}
    | {kind.name: kind.words.partition(" ")[2] for kind in MODEL_KINDS.values()}
    | {"judge": "judge"}
)
"""What metrics use: texts, then models."""
AGAINST = "against"
TASKS: dict[Task, str] = {
    "translation": "translations", "summary": "summaries", "data-to-text": "texts written from data", "other": "other texts",
}  # fmt: skip

LIST_HEIGHT = 420
"""Height of the list of metrics, in pixels; it scrolls."""


class MetricLine(NamedTuple):
    """A metric in the panel. `lacking` is the reason why it cannot run, or empty; `begin` are options that make it run
    on the texts of the project. `english` says that it uses a model trained on English only."""

    spec: MetricSpec
    scored: int
    lacking: str
    begin: Mapping[str, str]
    english: bool = False

    @property
    def needs(self) -> frozenset[str]:
        """What the metric needs with the options that it begins with."""
        return (
            load_metric(registry.expression(self.spec.name, self.begin)).spec.needs if self.begin else self.spec.needs
        )

    def open(self, total: int) -> bool:
        return not self.lacking and self.scored < total


def lines(project: Project, data: Dataset) -> list[MetricLine]:
    """Return every metric with its number of scores under the current signature and what it lacks, followed by its variants
    with options that have scores."""
    by = wiring.store().scores.signatures(project.id)
    scored = {s.signature: s.n for s in by}
    texts = {
        "source": any(s.source is not None for s in data.segments),
        "reference": any(s.references for s in data.segments),
    }
    specs = list(registry.specs().values())
    for name in sorted({s.metric for s in by if OPTIONS in s.metric}):
        base = [spec.name.partition(OPTIONS)[0] for spec in specs]
        if (spec := registry.describe(name)) is not None:
            specs.insert(len(base) - base[::-1].index(name.partition(OPTIONS)[0]), spec)
    out = []
    for spec in specs:
        lacks = [n for n in sorted(spec.needs) if not texts.get(n, True)]
        begin = _fitting(spec, texts) if lacks else {}
        lacking, signature = f"no segment has a {lacks[0]}" if lacks and not begin else "", ""
        before = max((s.n for s in by if s.metric == spec.name), default=0)
        try:
            metric = load_metric(registry.expression(spec.name, begin) if begin else spec.name)
            state = readiness.readiness_of(metric)
            signature = for_dataset(metric, data).signature() if state.state == "ready" else ""
            n = scored.get(signature, 0) if signature else before
            lacking = lacking or state.reason
        except UserError as error:
            n, lacking = before, lacking or str(error)
        out.append(MetricLine(spec, n, lacking, begin, reads_only_english(signature)))
    return out


def _described(line: MetricLine) -> str:
    """Return what a metric measures, and the texts and models that it uses."""
    return f"{line.spec.help} Uses: {', '.join(USED[n] for n in USED if n in line.needs)}."


def _fitting(spec: MetricSpec, texts: Mapping[str, bool]) -> dict[str, str]:
    """Return options that compare with a text that exists, if the default one is missing; else nothing."""
    for option in spec.options:
        for choice in option.choices if option.name == AGAINST and OPTIONS not in spec.name else ():
            other = load_metric(registry.expression(spec.name, {AGAINST: choice})).spec
            if all(texts.get(n, True) for n in other.needs):
                return {AGAINST: choice}
    return {}


def draw_scoring(project: Project, *, segment: SegmentKey | None = None, primary: bool = True) -> None:
    """Draw the panel for one project. `segment` is the open one, if any; `primary` says whether scoring is the next step."""
    data = wiring.sampled(project)
    metric_lines, running = lines(project, data), jobs.active(project.id)
    head = st.container()  # filled last: the button is above the choices that it depends on
    scope = scoring_time.choose_scope(project, segment)
    english = [
        line.spec.label for line in metric_lines if line.english and not line.lacking and OPTIONS not in line.spec.name
    ]
    if said := language_warning(output_languages(data), english):
        st.warning(escape_markdown(said), icon=":material/translate:")
    specs = _choose(project, data, metric_lines, running)
    chosen = metric_options.chosen(
        specs, str(project.id), {line.spec.name: line.begin for line in metric_lines if line.begin}
    )
    opened = scoring_time.open_of(project, chosen or (), scope.segments)
    with head:
        _start(project, specs, chosen, scope, opened, running, primary=primary)
        scoring_time.progress(project)
    other_programs.draw_external_scores(project)
    try:
        st.caption(f"The default scoring model: {escape_markdown(describe(load_settings().seq2seq))}")
    except UserError as error:
        errors.show(error)


def _start(
    project: Project, specs: Sequence[MetricSpec], chosen: Sequence[str] | None, scope: scoring_time.ScoringScope,
    opened: Sequence[OpenOutputs], running: Sequence[Job], *, primary: bool,
) -> None:  # fmt: skip
    """Draw the button that starts scoring, those that cancel it, and the time that it takes."""
    store = wiring.store()
    done = bool(chosen) and not any(o.sizes for o in opened) and project.n_outputs <= wiring.LARGE
    if not specs:
        missing = "Choose at least one metric."
    elif chosen is None:
        missing = "Correct the options of the metrics first."
    else:
        missing = "These metrics have scored all outputs." if done else ""
    row = st.container(horizontal=True, vertical_alignment="center")
    is_long = scoring_time.estimate(project, opened, scope, running)
    scoring_time.draw_judges(project, opened, scope.segments)
    request = (project.id, chosen or (), scope.segments, scope.first if is_long else ())

    def remember() -> None:
        if not missing:
            jobs.remember(request)

    @errors.guarded
    def cancel() -> None:
        for job in running:
            store.jobs.cancel(job.id)

    with row:
        text = f"Compute scores ({format_count(len(specs), 'metric')})" if specs else "Compute scores"
        look: Literal["primary", "secondary"] = "primary" if primary else "secondary"
        pressed = st.button(text, type=look, key=f"score-{project.id}", on_click=remember)
        if running:
            label = "Cancel scoring" if len(running) == 1 else f"Cancel scoring ({format_count(len(running), 'job')})"
            st.button(label, key=f"panel-cancel-{project.id}", on_click=cancel)
        st.caption(missing or "Existing scores are reused.")
    if pressed and missing:
        page.info(f"Nothing to compute. {missing}")
    elif pressed:
        jobs.forget()
        start(store, *request)
        st.rerun()


def _choose(
    project: Project, data: Dataset, metric_lines: Sequence[MetricLine], running: Sequence[Job]
) -> list[MetricSpec]:
    """Draw the choice of metrics.

    The default choice follows the scores and their estimated times, but not while scores are computed. A person's choice stays.
    """
    able = {line.spec.name: line.spec for line in metric_lines if not line.lacking and OPTIONS not in line.spec.name}
    default, kept_key = _defaults(project, data, metric_lines), f"metrics-held-{project.id}"
    if kept_key not in st.session_state or not running:
        st.session_state[kept_key] = default
    default = [name for name in st.session_state[kept_key] if name in able]
    own = drafts.kept(f"metrics-own-{project.id}")

    def chosen() -> list[str]:
        return [name for name in st.session_state.get(own, default) if name in able]

    def tick(name: str, box: str) -> None:
        names = {*chosen(), name} if st.session_state[box] else {*chosen()} - {name}
        st.session_state[own] = [name for name in able if name in names]

    if not able:
        st.caption("No metric can run. Each line says what is missing.")
    elif not default and own not in st.session_state:
        done = any(line.scored for line in metric_lines)
        st.caption(
            "The metrics chosen before are done. Add more:"
            if done
            else "Default metrics cannot run here. Choose others:"
        )
    st.markdown(":small[Metrics to compute]")
    with st.container(height=LIST_HEIGHT, key=f"metric-list-{project.id}"):
        for line in sorted(metric_lines, key=lambda line: bool(line.lacking)):
            name, box = line.spec.name, f"metric-{project.id}-{line.spec.name}"
            ticked = name in chosen()
            if st.session_state.get(box) != ticked:  # what is set is sent, and may undo a click made meanwhile
                st.session_state[box] = ticked
            st.checkbox(
                _line(line, project.n_outputs), key=box, on_change=tick, args=(name, box), disabled=name not in able
            )
    return [able[name] for name in chosen()]


def _line(line: MetricLine, total: int) -> str:
    """Return the name of a metric, its number of scores, what it measures and uses, or what it lacks."""
    scored = "" if line.lacking and not line.scored else f"{line.scored:,} of {total:,} scored. "
    text = f"Cannot run: {line.lacking}." if line.lacking else _described(line)
    return f"**{escape_markdown(line.spec.label)}** · :small[{with_doc_links(scored + text)}]"


def _defaults(project: Project, data: Dataset, metric_lines: Sequence[MetricLine]) -> list[str]:
    """Return the metrics chosen at first, by task and time; draw which defaults are left out.

    Once metrics were scored or asked for, only those: the others were left out by somebody.
    """
    before = {
        name.partition(OPTIONS)[0]
        for job in wiring.store().jobs.recent(project.id)
        if not job.timing
        for name in job.metrics
    }
    before |= {line.spec.name for line in metric_lines if line.scored}
    if before:
        return [line.spec.name for line in metric_lines if line.spec.name in before and line.open(project.n_outputs)]
    if all(line.lacking for line in metric_lines if line.spec.name in STANDARD):
        return _without_references(project, data, metric_lines)
    task = wiring.task(project)
    possible = {
        line.spec.name: line.spec.label
        for line in metric_lines
        if line.spec.name in STANDARD and line.open(project.n_outputs)
    }
    said = []
    for why, left_out in (
        (f"outputs look like {TASKS[task]}", possible.keys() - default_metrics(task)),
        ("the model does not read the language of the outputs", _unread(data, metric_lines)),
    ):
        if others := [label for name, label in possible.items() if name in left_out]:
            said.append(f"Not preselected ({why}): {', '.join(others)}.")
        possible = {name: label for name, label in possible.items() if name not in left_out}
    if slow := scoring_time.too_long(scoring_time.open_of(project, list(possible))):
        said.append(f"Not preselected (time for all outputs): {', '.join(slow.values())}. Choose it for a sample.")
    if said:
        page.caption(" ".join(said))
    return [name for name in possible if name not in slow]


def _unread(data: Dataset, metric_lines: Sequence[MetricLine]) -> set[str]:
    """Return the metrics whose model does not read the language of most outputs."""
    foreign = mostly_unread(output_languages(data))
    return {line.spec.name for line in metric_lines if line.english and foreign}


def _without_references(project: Project, data: Dataset, metric_lines: Sequence[MetricLine]) -> list[str]:
    """Return the metrics chosen at first if no default metric can run: those that need no reference and are fast."""
    unread = _unread(data, metric_lines)
    possible = {
        load_metric(registry.expression(line.spec.name, line.begin)).spec.name: line.spec.name
        for line in metric_lines
        if line.open(project.n_outputs)
        and OPTIONS not in line.spec.name
        and "reference" not in line.needs
        and line.spec.name not in unread
    }
    if not possible:
        return []
    slow = scoring_time.too_long(scoring_time.open_of(project, list(possible)), LONG_SECONDS)
    said = "Default metrics cannot run here. Metrics without references are proposed."
    if slow:
        said += f" Not preselected (time for all outputs): {', '.join(slow.values())}."
    page.caption(said)
    return [name for expression, name in possible.items() if expression not in slow]
