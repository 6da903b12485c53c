"""Combine: an NLI metric mixed with others, w·N + (1 − w)·M, between agreement with people and adversarial robustness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st

from core.data import OutputKey, Value
from core.formats.adversarial import phenomenon
from core.formats.files import Upload
from core.metrics import readiness, registry
from core.metrics.base import Metric
from core.metrics.menli import NAME, NLI_METRICS
from core.ports import Project, Store
from core.services import combining as service
from core.services.adversarial import Answered, answer, failed
from core.services.calibration import Choice, People
from core.services.combining import Suite
from core.services.robustness import telling
from core.stress.registry import MENLI, PERTURBATIONS
from pages._ui import errors, lambda_parts, wiring
from pages._ui import robustness_combine_figures as figures
from pages._ui import robustness_combine_parts as parts
from pages._ui import robustness_suite as suites
from pages._ui.errors import plain
from pages._ui.lambda_parts import digest
from pages._ui.lambda_work import afresh, worked

USUAL = ("chrf", "bleu", "rougeL", "bertscore", "bartscore")
NOTHING = "none of this project"
MOST = 40
_ASKED = "robustness_combine_asked"
SECTIONS = ("One metric", "All of them", "Pooling strategies", "Ranges")


class Asked(NamedTuple):
    """The last press of the button: the metrics, and where the cases come from, one `suites.Asked` a dataset."""

    nli: str
    others: tuple[str, ...]
    cases: tuple[suites.Asked, ...]


class Given(NamedTuple):
    """All there is to look at: people's scores by output, how agreement is measured, values by metric, and answered suites."""

    people: People | None
    choice: Choice
    human: dict[OutputKey, float]
    tables: dict[str, dict[OutputKey, Value]]
    suites: list[tuple[Suite, list[Answered]]]


def draw(store: Store, project: Project) -> None:
    """The section."""
    states = readiness.of_all()
    able = [name for name in NLI_METRICS if states[name].state == "ready"]
    if not able:
        parts.no_nli(states[NLI_METRICS[0]])
        return
    others = [n for n, s in states.items() if n not in NLI_METRICS and n != NAME and s.state == "ready"]
    key = f"{_ASKED}-{project.id}"
    with st.container(border=True):
        people = lambda_parts.people(store, project, wiring.dataset(project))
        choice = lambda_parts.choice(people) if people is not None else Choice()
        asked = _form(project, able, others, st.session_state.get(key), people)
    if asked is not None:
        st.session_state[key] = asked
        afresh()
    asked = st.session_state.get(key)
    if asked is None:
        parts.explained()
        return
    given = _given(store, project, asked, people, choice)
    if given is not None:
        _results(store, project, asked, given)


def _form(
    project: Project, able: list[str], others: list[str], last: Asked | None, people: People | None
) -> Asked | None:
    labels = {name: registry.load(name).spec.label for name in (*able, *others)}
    left, right = st.columns([1, 2])
    at = able.index(last.nli) if last and last.nli in able else 0
    nli = left.selectbox("NLI metric N", able, at, format_func=labels.__getitem__, key=f"combine-nli-{project.id}")
    usual = [name for name in (last.others if last else USUAL) if name in others]
    names = right.multiselect(
        "Other metrics M", others, usual, format_func=labels.__getitem__, key=f"combine-others-{project.id}"
    )
    cases = _cases(project, nli, names)
    lacking = not names or (people is None and not cases)
    if st.button("Score and combine", type="primary", disabled=lacking, key="combine-run"):
        return Asked(nli, tuple(names), cases)
    if names and lacking:
        st.caption(
            "There is nothing to look at yet: label outputs, or choose adversarial cases of the project or in a file."
        )
    return None


def _cases(project: Project, nli: str, others: Sequence[str]) -> tuple[suites.Asked, ...]:
    """Which adversarial cases: of the project, and files beside them."""
    data = wiring.dataset(project)
    several, with_one = (sum(len(s.references) > n for s in data.segments) for n in (1, 0))
    origins = [*([suites.SECOND] if several else []), *([suites.OUTPUTS] if with_one and project.systems else [])]
    left, right = st.columns([4, 1], vertical_alignment="bottom")
    origin = left.selectbox(
        "Adversarial cases", [*origins, NOTHING], key=f"combine-origin-{project.id}",
        help="A case is a text that is right in other words, beside one with a planted error; the better metric prefers the first. "
        "The right one is another reference, or what a system wrote.",
    )  # fmt: skip
    system = ""
    if origin == suites.OUTPUTS:
        system = st.selectbox("System", project.systems, key=f"combine-system-{project.id}")
    with right.popover("More", icon=":material/tune:", width="stretch"):
        names = st.multiselect(
            "Phenomena", list(PERTURBATIONS), list(MENLI), format_func=phenomenon, key="combine-names"
        )
        top = max(1, with_one)
        most = st.number_input("Segments, at most", 1, top, min(MOST, top), key=f"combine-most-{project.id}")
        seed = st.number_input("Seed", 0, 2**31 - 1, 0, key="combine-seed")
    sent = st.file_uploader(
        "MENLI’s CSV files, each a dataset of its own", ["csv", "tsv", "gz", "jsonl", "json"],
        accept_multiple_files=True, key="combine-files",
    )  # fmt: skip
    if not origins:
        st.caption("No segment of this project has a reference, so adversarial cases can come from files only.")
    free = nli == "nli-src" and not any("reference" in registry.load(name).spec.needs for name in others)
    common = (tuple(names), int(seed), int(most), free, False)
    found = [] if origin == NOTHING or not names else [suites.Asked(origin, system, *common, None, ())]
    found += [suites.Asked(suites.FILE, "", *common, Upload(one.name, one.getvalue()), ()) for one in sent or []]
    return tuple(found)


def _given(store: Store, project: Project, asked: Asked, people: People | None, choice: Choice) -> Given | None:
    metrics = registry.chosen((asked.nli, *asked.others))
    human = {key: score for key, (score, _) in people.scores.items()} if people else {}
    tables = scores(store, project, human, metrics)
    if tables is None:
        return None
    cases = cases_of(project, asked)
    answered = None if cases is None else answers(cases, metrics)
    return None if answered is None else Given(people, choice, human, tables, answered)


def scores(
    store: Store, project: Project, human: dict[OutputKey, float], metrics: Sequence[Metric]
) -> dict[str, dict[OutputKey, Value]] | None:
    """What the metrics say of the judged outputs; None where that was stopped."""
    if not human:
        return {}
    data, signed = wiring.dataset(project), tuple(m.signature() for m in metrics)
    key = ("combine-outputs", project.id, wiring.generation(project), signed, frozenset(human))
    words = f"Scoring {len(human):,} outputs …"
    return worked(
        key, words, lambda tell: service.scores_of(store, project, data, human, metrics, telling(tell)),
        lambda found: not service.failed(found),
    )  # fmt: skip


def cases_of(project: Project, asked: Asked) -> list[Suite] | None:
    """Every dataset of cases, once; None where that was stopped. A file that cannot be read says so, and is left out, as is
    one that has the same cases as another."""
    found: list[Suite] = []
    for n, wanted in enumerate(asked.cases):
        ready = None
        with errors.boundary():
            ready = suites.cases_of(project, wanted)
            if ready is None:
                return None
        if ready is None:
            continue
        file = wanted.file.name if wanted.file else ""
        name = file or "cases of this project"
        name += f" ({n + 1})" if name in {suite.name for suite in found} else ""
        notes = [f"{name}: {note}" for note in ready.notes]
        twin = next((suite.name for suite in found if suite.cases == ready.cases), None)
        if not ready.cases:
            notes.append(f"{name}: not a single case could be made of it.")
        elif twin:
            notes.append(f"{name} has the same cases as {twin}, and counts once.")
        else:
            shared = bool(file) and service.of_project(ready.cases, wiring.dataset(project))
            if shared:
                notes.append(f"{name} shares texts with this project: in choosing a strategy both are one dataset.")
            found.append(Suite(name, ready.cases, shared or not file))
        for note in notes:
            st.caption(plain(note))
    return found


def answers(found: Sequence[Suite], metrics: Sequence[Metric]) -> list[tuple[Suite, list[Answered]]] | None:
    """What the metrics say of the cases of every dataset; None where that was stopped."""
    answered: list[tuple[Suite, list[Answered]]] = []
    for n, suite in enumerate(found):
        key = digest(suite.cases)
        done = worked(
            ("combine-cases", key, tuple(m.signature() for m in metrics)), f"Scoring {len(suite.cases):,} cases …",
            lambda tell, suite=suite, key=key, n=n: answer(  # type: ignore[misc]
                suite.cases, metrics, telling(tell), suites.memory(key, f"combine-{n}")
            ),
            lambda given: not failed(given),
        )  # fmt: skip
        if done is None:
            return None
        answered.append((suite, done))
    return answered


def _results(store: Store, project: Project, asked: Asked, given: Given) -> None:
    data = wiring.dataset(project)
    nli = service.part(registry.load(asked.nli), data)
    others = [service.part(metric, data) for metric in registry.chosen(asked.others)]
    able = {o.name: o for o in others if o.scale is not None}
    for one in others:
        if one.scale is None:
            _without(store, project, one)
    if not able:
        return
    if not given.suites and len(given.human) < 2:
        parts.nothing(given.people, len(given.human))
        return
    section = st.segmented_control(
        "What to look at", SECTIONS, default=SECTIONS[0], key="combine-section", required=True,
        label_visibility="collapsed",
    )  # fmt: skip
    found = [p for o in able.values() if (p := service.pair(nli, o, given.tables, given.human, given.suites))]
    with errors.boundary():
        if section == SECTIONS[0]:
            parts.one(store, project, nli, found, given.people, given.choice)
        elif section == SECTIONS[1]:
            figures.all_of_them(nli, found, given.choice)
        elif section == SECTIONS[2]:
            _strategies(store, project, asked, given)
        else:
            figures.ranges_of([nli, *others])


def _without(store: Store, project: Project, one: service.Part) -> None:
    """A metric without a range is left out, and says how to get one."""
    with st.container(border=True):
        st.markdown(
            f":material/straighten: **{plain(one.label)}** is left out: its values have no bounds, and no range is stored for them. "
            "Both metrics are put on one scale, by a range that stays as it is. Fit one on your scores, the more the better:"
        )
        st.code(one.command, language="shell", wrap_lines=True)
        key = f"combine-fit-{one.name}"
        flag = f"{key}-{project.id}"
        if st.button("Fit it on the outputs of this project", key=key, icon=":material/straighten:"):
            st.session_state[flag] = True
        if st.session_state.get(flag):
            with errors.boundary():
                _fit(store, project, one, flag)


def _fit(store: Store, project: Project, one: service.Part, flag: str) -> None:
    everything = dict.fromkeys((o.key for o in wiring.dataset(project).outputs), 0.0)
    tables = scores(store, project, everything, [one.metric])
    if tables is not None:
        del st.session_state[flag]
        service.fit(one.metric, tables[one.name])
        st.rerun()


def _strategies(store: Store, project: Project, asked: Asked, given: Given) -> None:
    both = service.both_ways(registry.load(asked.nli))
    tables, answered = given.tables, given.suites
    if both.spec.name != asked.nli:
        more = scores(store, project, given.human, [both])
        again = answers([suite for suite, _ in given.suites], [both])
        if more is None or again is None:
            return
        tables, answered = more, again
    words = given.people.words if given.people else ""
    mine = tables.get(both.spec.name, {})
    key = digest(words, given.human, mine, [(*s, [(a.good, a.bad) for a in done]) for s, done in answered])
    found = worked(
        ("combine-strategies", both.signature(), key, given.choice), "Trying the 15 strategies …",
        lambda tell: service.strategies(both, tables, given.human, answered, given.choice, f"outputs of this project, {words}"),
    )  # fmt: skip
    if found is not None:
        figures.strategies(found, both, given.choice)
