"""Combine: mix an NLI metric with others, w·N + (1 − w)·M; agreement with human scores against robustness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st

from core.data import OutputKey, Value
from core.metrics import readiness, registry
from core.metrics.base import Metric
from core.metrics.entailment.menli import NAME, NLI_METRICS
from core.ports.projects import Project
from core.services.calibrate.calibration import HumanScores, LambdaFitOptions
from core.services.projects.task import output_languages
from core.services.robustness import combining as service
from core.services.robustness.adversarial import Answered
from core.services.robustness.break_metric import scoring_callback
from core.services.robustness.combining import CaseSuite
from pages._ui.calibrate import calibration_form
from pages._ui.robustness import adversarial_suite, controls
from pages._ui.robustness import combine_figures as figures
from pages._ui.robustness import combine_weight as parts
from pages._ui.robustness.controls import latest
from pages._ui.shared import drafts, errors, page, wiring
from pages._ui.shared.long_jobs import digest, retry_failed, run_cached
from pages._ui.shared.markdown import escape_markdown
from pages._ui.shared.page import definition

USUAL = ("chrf", "bleu", "rougeL", "bertscore", "bartscore")
NOTHING = "None from this project"
MOST = 40
_ASKED = "robustness_combine_asked"
SECTIONS = ("One metric", "All metrics", "Pooling strategies", "Ranges")


class CombineOptions(NamedTuple):
    """The chosen metrics and adversarial cases, one `adversarial_suite.SuiteOptions` per dataset."""

    nli: str
    others: tuple[str, ...]
    cases: tuple[adversarial_suite.SuiteOptions, ...]


class CombineData(NamedTuple):
    """Human scores by output, the measure of agreement, values by metric, and scored suites."""

    human_scores: HumanScores | None
    choice: LambdaFitOptions
    human: dict[OutputKey, float]
    tables: dict[str, dict[OutputKey, Value]]
    suites: list[tuple[CaseSuite, list[Answered]]]


def draw_combine(project: Project) -> None:
    """The section."""
    if not wiring.may_change(project.id):
        parts.explained()
        st.caption("A manager of this project can combine metrics.")
        return
    states = readiness.of_all()
    able = [name for name in NLI_METRICS if states[name].state == "ready"]
    if not able:
        parts.no_nli(states[NLI_METRICS[0]])
        return
    ready = [n for n, s in states.items() if n not in NLI_METRICS and n != NAME and s.state == "ready"]
    others = [n for n in ready if registry.load_metric(n).judge is None]
    key = f"{_ASKED}-{project.id}"
    with st.container(border=True):
        human_scores = calibration_form.choose_human_scores(project)
        choice = calibration_form.choose_measure(human_scores) if human_scores is not None else LambdaFitOptions()
        asked = _form(project, able, others, st.session_state.get(drafts.kept(key)), human_scores)
    if asked is not None:
        retry_failed()
    asked = latest(key, asked)
    if asked is None:
        parts.explained()
        return
    inputs = _inputs(project, asked, human_scores, choice)
    if inputs is not None:
        _results(project, asked, inputs)


def _form(
    project: Project, able: list[str], others: list[str], last: CombineOptions | None, human_scores: HumanScores | None
) -> CombineOptions | None:
    labels = {name: registry.load_metric(name).spec.label for name in (*able, *others)}
    left, right = st.columns([1, 2])
    at = able.index(last.nli) if last and last.nli in able else 0
    nli = left.selectbox(
        "NLI metric N", able, at, format_func=labels.__getitem__, key=drafts.kept(f"combine-nli-{project.id}")
    )
    languages = output_languages(wiring.sampled(project))
    first = last.others if last else controls.preselected(USUAL, languages)
    usual = [name for name in first if name in others]
    key = drafts.kept(f"combine-others-{project.id}", usual)
    names = right.multiselect("Other metrics M", others, usual, format_func=labels.__getitem__, key=key)
    controls.warn_of_language(registry.chosen([nli, *names]), languages)
    cases = _cases(project, nli, names)
    lacking = not names or (human_scores is None and not cases)
    if st.button("Score and combine", type="primary", disabled=lacking, key="combine-run"):
        return CombineOptions(nli, tuple(names), cases)
    if names and lacking:
        st.caption("Nothing to compute yet. Annotate outputs, or choose adversarial cases from the project or a file.")
    return None


def _cases(project: Project, nli: str, others: Sequence[str]) -> tuple[adversarial_suite.SuiteOptions, ...]:
    """Draw the choice of adversarial cases: from the project and from files."""
    with_one, origins = adversarial_suite.origins_of(project)
    left, right = st.columns([4, 1], vertical_alignment="bottom")
    origin = left.selectbox(
        "Adversarial cases", [*origins, NOTHING], key=drafts.kept(f"combine-origin-{project.id}"),
        help=f"{definition('Adversarial case')} The good text is another reference, or the output of a system.",
    )  # fmt: skip
    system = ""
    if origin == adversarial_suite.OUTPUTS:
        system = st.selectbox("System", project.systems, key=drafts.kept(f"combine-system-{project.id}"))
    with right.popover("More options", icon=":material/tune:", width="stretch"):
        names, most, seed = adversarial_suite.choose_cases(project, "combine", MOST, with_one, columns=1)
    sent = drafts.uploads(
        "Files with adversarial cases (CSV in MENLI’s format), one dataset per file", adversarial_suite.KINDS, "combine-files",
        several=True, help=adversarial_suite.MENLI_FILE,
    )  # fmt: skip
    if not origins:
        st.caption("No segment of this project has a reference: adversarial cases need a file.")
    free = nli == "nli-src" and not any("reference" in registry.load_metric(name).spec.needs for name in others)
    common = (names, seed, most, free, False)
    cases = (
        [] if origin == NOTHING or not names else [adversarial_suite.SuiteOptions(origin, system, *common, None, ())]
    )
    cases += [adversarial_suite.SuiteOptions(adversarial_suite.FILE, "", *common, one, ()) for one in sent]
    return tuple(cases)


def _inputs(
    project: Project, asked: CombineOptions, human_scores: HumanScores | None, choice: LambdaFitOptions
) -> CombineData | None:
    metrics = registry.chosen((asked.nli, *asked.others))
    human = {key: score for key, (score, _) in human_scores.scores.items()} if human_scores else {}
    tables = scores(project, human, metrics)
    if tables is None:
        return None
    cases = cases_of(project, asked)
    answered = None if cases is None else answers(cases, metrics)
    return None if answered is None else CombineData(human_scores, choice, human, tables, answered)


def scores(
    project: Project, human: dict[OutputKey, float], metrics: Sequence[Metric]
) -> dict[str, dict[OutputKey, Value]] | None:
    """Return the scores of the labelled outputs by metric; None if scoring was stopped."""
    if not human:
        return {}
    data, signed = wiring.sampled(project), tuple(m.signature() for m in metrics)
    key = ("combine-outputs", wiring.version(project), signed, frozenset(human))
    words = f"Scoring {len(human):,} outputs …"
    return run_cached(
        key, words, lambda progress: service.scores_of(wiring.store(), project, data, human, metrics, scoring_callback(progress)),
        lambda answered: not service.failed(answered),
    )  # fmt: skip


def cases_of(project: Project, asked: CombineOptions) -> list[CaseSuite] | None:
    """Return the datasets of cases; None if that was stopped.

    A file that cannot be read is left out with a message, as is one with the same cases as another."""
    suites: list[CaseSuite] = []
    for n, options in enumerate(asked.cases):
        ready = None
        with errors.boundary():
            ready = adversarial_suite.cases_of(project, options)
            if ready is None:
                return None
        if ready is None:
            continue
        file = options.file.name if options.file else ""
        name = file or "cases of this project"
        name += f" ({n + 1})" if name in {suite.name for suite in suites} else ""
        notes = [f"{name}: {note}" for note in ready.notes]
        twin = next((suite.name for suite in suites if suite.cases == ready.cases), None)
        if not ready.cases:
            notes.append(f"{name}: no case could be made.")
        elif twin:
            notes.append(f"{name} has the same cases as {twin}; they count once.")
        else:
            shared = bool(file) and service.of_project(ready.cases, wiring.sampled(project))
            if shared:
                notes.append(
                    f"{name} shares texts with this project: both count as one dataset when a strategy is chosen."
                )
            suites.append(CaseSuite(name, ready.cases, shared or not file))
        for note in notes:
            page.caption(note)
    return suites


def answers(suites: Sequence[CaseSuite], metrics: Sequence[Metric]) -> list[tuple[CaseSuite, list[Answered]]] | None:
    """Return the scores of the cases of every dataset; None if scoring was stopped."""
    answered: list[tuple[CaseSuite, list[Answered]]] = []
    for n, suite in enumerate(suites):
        done = adversarial_suite.answers(suite.cases, metrics, f"combine-{n}")
        if done is None:
            return None
        answered.append((suite, done))
    return answered


def _results(project: Project, asked: CombineOptions, inputs: CombineData) -> None:
    data = wiring.sampled(project)
    nli = service.part(registry.load_metric(asked.nli), data)
    others = [service.part(metric, data) for metric in registry.chosen(asked.others)]
    able = {o.name: o for o in others if o.scale is not None}
    for one in others:
        if one.scale is None:
            _without(project, one)
    if not able:
        return
    if not inputs.suites and len(inputs.human) < 2:
        parts.nothing(inputs.human_scores, len(inputs.human))
        return
    section = st.segmented_control(
        "View", SECTIONS, default=SECTIONS[0], key=drafts.kept("combine-section"), required=True,
        label_visibility="collapsed",
    )  # fmt: skip
    pairs = [p for o in able.values() if (p := service.pair(nli, o, inputs.tables, inputs.human, inputs.suites))]
    with errors.boundary():
        if section == SECTIONS[0]:
            parts.one(project, nli, pairs, inputs.human_scores, inputs.choice)
        elif section == SECTIONS[1]:
            figures.all_of_them(nli, pairs, inputs.choice)
        elif section == SECTIONS[2]:
            _strategies(project, asked, inputs)
        else:
            figures.ranges_of([nli, *others])


def _without(project: Project, one: service.ScaledMetric) -> None:
    """Say that a metric without a range is left out, and how to fit one."""
    with st.container(border=True):
        st.markdown(
            f":material/straighten: **{escape_markdown(one.label)}** is left out: its values are unbounded and it has no stored range. Both metrics are scaled to 0–1 with a "
            "frozen range. Fit one on as many of your scores as possible:"
        )
        st.code(one.command, language=None, wrap_lines=True)
        key = f"combine-fit-{one.name}"
        flag = f"{key}-{project.id}"
        if st.button("Fit range on this project", key=key, icon=":material/straighten:"):
            st.session_state[flag] = True
        if st.session_state.get(flag):
            with errors.boundary():
                _fit(project, one, flag)


def _fit(project: Project, one: service.ScaledMetric, flag: str) -> None:
    everything = dict.fromkeys((o.key for o in wiring.sampled(project).outputs), 0.0)
    tables = scores(project, everything, [one.metric])
    if tables is not None:
        del st.session_state[flag]
        service.fit(one.metric, tables[one.name])
        st.rerun()


def _strategies(project: Project, asked: CombineOptions, inputs: CombineData) -> None:
    both = service.both_ways(registry.load_metric(asked.nli))
    tables, answered = inputs.tables, inputs.suites
    if both.spec.name != asked.nli:
        more = scores(project, inputs.human, [both])
        again = answers([suite for suite, _ in inputs.suites], [both])
        if more is None or again is None:
            return
        tables, answered = more, again
    words = inputs.human_scores.words if inputs.human_scores else ""
    mine = tables.get(both.spec.name, {})
    key = digest(words, inputs.human, mine, [(*s, [(a.good, a.bad) for a in done]) for s, done in answered])
    of_project = run_cached(
        ("combine-strategies", both.signature(), key, inputs.choice), "Computing 15 strategies …",
        lambda progress: service.strategies(both, tables, inputs.human, answered, inputs.choice, f"outputs of this project, {words}"),
    )  # fmt: skip
    if of_project is not None:
        figures.strategies(of_project, both, inputs.choice)
