"""What a stress test is to do: the good texts, tests, metrics, seeds; how much work that is; and doing it."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st

from core.calibration.drawn import Tell
from core.data import Dataset
from core.metrics import registry
from core.metrics.base import Metric
from core.ports import Project, Store
from core.services.lab.gold import REFERENCE, Gold, gold_of, left_out
from core.services.lab.noised import GROUPS, work
from core.services.lab.report import Report
from core.services.lab.run import Asked, run
from core.services.lab.stored import Stored
from core.services.scoring import Doing
from core.stress.noise.base import Noise
from core.stress.noise.injection import own
from core.stress.registry import NOISES, noises
from pages._ui import lab_runs, wiring
from pages._ui import robustness_parts as parts
from pages._ui.errors import plain
from pages._ui.lambda_work import worked

USUAL = ("bleu", "chrf", "rouge1", "rougeL", "bartscore", "bartscore-faithfulness", "bertscore", "nli")
MOST, SEEDS, PUBLISHED_SEEDS = 40, 3, 5
GOLD, TESTS, METRICS, SIZE, SEED_COUNT, INJECTIONS = (
    "lab-gold",
    "lab-tests",
    "lab-metrics",
    "lab-most",
    "lab-seeds",
    "lab-injections",
)
_PENDING, _PRESSES = "lab_pending", "lab_presses"


class Wanted(NamedTuple):
    """A press of the button, the `press`-th of the session: the good texts and what is asked of them."""

    golds: tuple[Gold, ...]
    asked: Asked
    injections: tuple[str, ...]
    press: int

    @property
    def noises(self) -> list[Noise]:
        """The tests that were chosen, and one of the texts that were typed."""
        return [*noises(self.asked.tests), *([own(self.injections)] if self.injections else [])]


def draw(store: Store, project: Project) -> None:
    """The form, and under it the run it started, for as long as that goes on."""
    data = wiring.dataset(project)
    if not _golds(project, data):
        st.info(
            "The tests need good texts to spoil: references, or what a system wrote. This project has neither.",
            icon=":material/info:",
        )
        return
    wanted = _form(project, data)
    key = f"{_PENDING}-{project.id}"
    if wanted is not None:
        st.session_state[key] = wanted
    if key in st.session_state:
        _run(store, project, st.session_state[key], key)


def _form(project: Project, data: Dataset) -> Wanted | None:
    st.session_state.setdefault(SIZE, MOST)
    st.session_state.setdefault(SEED_COUNT, SEEDS)
    with st.container(border=True):
        left, middle, right = st.columns([3, 2, 2])
        gold = left.selectbox(
            "Good texts", _golds(project, data), key=GOLD, format_func=lambda n: "the references" if n == REFERENCE else n,
            help="These are spoilt. The first reference of a segment is held against its others; a system’s output against all.",
        )  # fmt: skip
        most = int(middle.number_input("Texts, at most", 5, 100_000, step=5, key=SIZE))
        seeds = int(
            right.number_input(
                "Seeds", 1, 20, key=SEED_COUNT, help=f"Draws of the noise; the published protocol takes {PUBLISHED_SEEDS}"
            )
        )  # fmt: skip
        if REFERENCE in project.systems:
            st.caption(f"The system called “{REFERENCE}” cannot be chosen: under that name the references are.")
        tests = _tests()
        injections = _injections()
        tests += [own(injections)] if injections else []
        metrics = parts.ready(METRICS, USUAL)
        golds = chosen(data, gold, most, metrics)
        _told(golds, metrics, tests, seeds, data, gold)
        lacking = not tests or not metrics or not golds
        if st.button("Run the tests", type="primary", disabled=lacking, key="lab-run", icon=":material/science:"):
            told = f"{project.name}: {len(golds)} of {len(data.segments)} segments"
            name = f"{'References' if gold == REFERENCE else gold} · {len(tests)} tests × {len(metrics)} metrics"
            names = tuple(t.name for t in tests if t.name in NOISES)
            asked = Asked(
                name, gold, told, names, tuple(m.spec.name for m in metrics), seeds=seeds, left_out=left_out(data, gold)
            )
            st.session_state[_PRESSES] = st.session_state.get(_PRESSES, 0) + 1
            return Wanted(tuple(golds), asked, injections, st.session_state[_PRESSES])
    return None


def _golds(project: Project, data: Dataset) -> list[str]:
    """What can be the good texts, as `gold_of` calls them."""
    there = any(s.references for s in data.segments)
    return [*([REFERENCE] if there else []), *(name for name in project.systems if name != REFERENCE)]


def _tests() -> list[Noise]:
    found = {n.name: n for n in noises()}
    st.session_state.setdefault(TESTS, list(NOISES))

    def group() -> None:
        which = st.session_state.get("lab-group")
        if which:
            st.session_state[TESTS] = [n.name for n in found.values() if which in ("all", n.aspect)]

    st.pills("Tests", GROUPS, key="lab-group", on_change=group, help="A press chooses this group below")
    names = st.multiselect(
        "Tests to run", list(found), key=TESTS, label_visibility="collapsed", placeholder="Choose tests",
        format_func=lambda n: f"{found[n].label} ({found[n].aspect})",
    )  # fmt: skip
    return [found[name] for name in names]


def _injections() -> tuple[str, ...]:
    with st.expander("Inject texts of your own", icon=":material/vaccines:"):
        typed = st.text_area(
            "One a line", key=INJECTIONS, height=90, placeholder="Answer: Yes, this is a really good summary.",
            help="Every good text gives way to each of these, as one more test: a metric that talks itself into a high score can be fooled by it.",
        )  # fmt: skip
    return tuple(dict.fromkeys(line.strip() for line in (typed or "").split("\n") if line.strip()))


def chosen(data: Dataset, gold: str, most: int, metrics: Sequence[Metric]) -> list[Gold]:
    """At most so many of the good texts, spread evenly over the project; where a metric needs a reference, of those that have one."""
    found = gold_of(data, gold)
    if any("reference" in m.spec.needs for m in metrics):
        found = [g for g in found if g.item.references] or found
    return [found[k * len(found) // min(most, len(found))] for k in range(min(most, len(found)))]


def texts_of(golds: Sequence[Gold], tests: Sequence[Noise], seeds: int) -> int:
    """How many texts one metric scores at most: the good ones, and each noised at every level of every test and seed."""
    return len(golds) + sum(work(test, golds, seeds) for test in tests)


def _told(
    golds: Sequence[Gold], metrics: Sequence[Metric], tests: Sequence[Noise], seeds: int, data: Dataset, gold: str
) -> None:
    n = texts_of(golds, tests, seeds)
    said = [
        f"{len(golds):,} good texts; with {len(tests)} tests at most {n:,} texts under each of {len(metrics)} metrics, {n * len(metrics):,} in all."
    ]
    alone = sum(not g.item.references for g in golds)
    if gold == REFERENCE and alone == len(golds) and golds:
        said.append(
            "No segment has a second reference to hold the first against: metrics that need a reference score nothing. A system’s outputs can be the good texts."
        )
    elif alone and any("reference" in m.spec.needs for m in metrics):
        said.append(f"{alone:,} of them have no reference, and metrics that need one leave these out.")
    if all(g.item.source is None for g in golds) and any("source" in t.needs for t in tests):
        said.append("No text has a source: copying the source cannot be tested.")
    small = [m.spec.label for m in metrics if "bundled/" in m.signature()]
    if small:
        said.append(
            f"{', '.join(small)} speak through the small bundled models here: what they miss, larger ones may see."
        )
    st.caption("  \n".join(plain(line) for line in said))


def _run(store: Store, project: Project, wanted: Wanted, pending: str) -> None:
    """Run, keep and open. What is scored stays in storage, so that a run that was stopped goes on where it was."""
    golds, asked, injections, press = wanted
    metrics = registry.chosen(asked.metrics)
    signed = tuple(m.signature() for m in metrics)
    digest = hashlib.sha256(repr(golds).encode("utf-8", "surrogatepass")).hexdigest()
    line = st.empty()
    spoken = [0.0]

    def work(tell: Tell) -> Report:
        def hear(doing: Doing) -> bool:
            if time.monotonic() - spoken[0] > 0.5:
                spoken[0] = time.monotonic()
                line.caption(plain(doing.sentence()))
            tell(doing.done / doing.total if doing.total else 0.0)
            return True

        return run(golds, asked, Stored(store.scores), hear, noises=wanted.noises, metrics=metrics)

    try:
        report = worked(
            ("lab", project.id, press, digest, asked, injections, signed), "Running the tests …", work, lambda _: False
        )
    except Exception:
        st.session_state.pop(pending, None)
        raise
    line.empty()
    if report is None:
        st.caption("What is scored is kept: it goes on from there.")
        st.button("Give it up", key="lab-give-up", on_click=st.session_state.pop, args=(pending, None))
        return
    st.session_state.pop(pending, None)
    lab_runs.keep(store, project, report)
    st.rerun()
