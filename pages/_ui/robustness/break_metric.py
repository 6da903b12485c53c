"""Break a metric: change a text and see how every metric reacts."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from core.data import Segment
from core.formatting import format_count, isolated
from core.metrics import registry
from core.metrics.base import Metric
from core.perturbations import registry as perturbations
from core.plots import robustness as plots
from core.ports.projects import Project
from core.services.projects.task import languages_of
from core.services.robustness import break_metric as service
from core.services.robustness.break_metric import BY_HAND, PerturbationTrial, TextPair
from core.text.edits import Change
from pages._ui.robustness import reactions
from pages._ui.robustness import session as keys
from pages._ui.robustness.controls import TALL, choose_metrics, diff_html, save_case, warn_of_language, wide_chart
from pages._ui.shared import drafts, errors, page, state, wiring
from pages._ui.shared.long_jobs import run_cached

# Streamlit also calls on_change if a browser still sends a widget that the server has forgotten (a run without it ended in between).
# So each of the callbacks below compares with what was last applied: nothing may replace a text that the user typed.


def draw(project: Project) -> None:
    """Draw the section."""
    segments = wiring.sampled_segments(project)
    for key in (
        keys.SOURCE,
        keys.REFERENCE,
        keys.GOOD,
        keys.CHANGED,
        *((keys.SEGMENT, keys.SYSTEM) if segments else ()),
    ):
        drafts.kept(key)
    if not st.session_state.get(keys.FILLED):
        _begin(project, segments)
    _choice(project, segments)
    left, right = st.columns(2)
    left.text_area("Source", key=keys.SOURCE, height=TALL, placeholder="none")
    right.text_area("Reference", key=keys.REFERENCE, height=TALL, placeholder="none")
    left, right = st.columns(2)
    left.text_area("Good text", key=keys.GOOD, height=TALL, on_change=_by_hand)
    right.text_area(
        "Changed text", key=keys.CHANGED, height=TALL, on_change=_by_hand,
        help="Type any change. Ctrl + Enter or a click elsewhere scores it",
    )  # fmt: skip
    texts = _texts()
    if not texts.good.strip():
        there = "Choose a segment above, or type" if segments else "This project has no segments. Type"
        page.info(f"{there} an output.")
        return
    seed = int(st.session_state.get(keys.SEED) or 0)
    tried = run_cached(
        ("perturbed", texts.good, seed),
        "Trying all kinds of error …",
        lambda progress: service.perturbed(texts.good, seed, progress),
    )
    if tried is None:
        return
    _kinds(tried)
    st.html(diff_html(texts.good, texts.changed, "good text → changed text"))
    with st.expander("Metrics", icon=":material/tune:"):
        languages = languages_of([texts.good])
        quick = [name for name in registry.METRICS if service.quick(registry.load(name), languages)]
        metrics = choose_metrics(keys.METRICS, quick, languages)
    warn_of_language(metrics, languages)
    if not texts.reference and not texts.source:
        page.info("Metrics need a reference or a source to compare the output with. Type one above.")
        return
    if texts.good == texts.changed:
        st.info("Nothing is changed yet. Edit *Changed text*, or choose a kind of error.", icon=":material/edit:")
        return
    found = reactions.draw(texts, metrics)
    if found:
        save_case(project, texts, [r.kept() for r in found], _kind(texts, tried), key="desk")
    _every(texts, metrics)


def _begin(project: Project, segments: Sequence[Segment]) -> None:
    """Start with the segment open on Compare, else the first with a reference, and the first possible change."""
    st.session_state[keys.FILLED] = True
    there = [i for i, s in enumerate(segments) if s.references and project.n_outputs]
    open_key = state.place(project.id)
    at = next((i for i, s in enumerate(segments) if s.key == open_key and i in there), next(iter(there), None))
    st.session_state.setdefault(keys.SEGMENT, at)
    if at is not None and keys.GOOD not in st.session_state:
        _fill(project)
        made = [t for t in service.perturbed(st.session_state.get(keys.GOOD, "")) if isinstance(t.outcome, Change)]
        if first := next((t for t in made if t.perturbation.name in ("negation", "number")), next(iter(made), None)):
            keys.choose_kind(first.perturbation.name)
            _apply()


def _choice(project: Project, segments: Sequence[Segment]) -> None:
    if not segments:
        return
    left, right = st.columns([3, 1])
    left.selectbox(
        "Segment", range(len(segments)), format_func=lambda i: _named(segments[i]), key=keys.SEGMENT, index=None,
        on_change=_fill, args=(project,), placeholder="None: type the texts below",
    )  # fmt: skip
    right.selectbox("Output of", project.systems, key=keys.SYSTEM, on_change=_fill, args=(project,))


def _named(segment: Segment) -> str:
    text = " ".join(next(iter(segment.references), segment.source or "").split())
    place = " · ".join(map(isolated, filter(None, segment.key)))
    return f"{place}   {isolated(text[:70] + ('…' if len(text) > 70 else ''))}"


@errors.guarded
def _fill(project: Project) -> None:
    segments, at = wiring.sampled_segments(project), st.session_state.get(keys.SEGMENT)
    system = st.session_state.get(keys.SYSTEM) or next(iter(project.systems), "")  # the first before the box is drawn
    chosen = (at, system)
    if chosen == st.session_state.get(keys.FILLED_FROM):
        return
    if at is None or not 0 <= at < len(segments):
        st.session_state[keys.FILLED_FROM] = chosen
        return
    segment, outputs = wiring.texts(project).segment(segments[at].key)
    st.session_state[keys.FILLED_FROM] = chosen
    text = outputs.get(system, next(iter(outputs.values()), ""))
    st.session_state[keys.SOURCE], st.session_state[keys.REFERENCE] = (
        segment.source or "",
        next(iter(segment.references), ""),
    )
    st.session_state[keys.GOOD] = st.session_state[keys.CHANGED] = text
    keys.choose_kind(None)


def _by_hand() -> None:
    keys.choose_kind(None)


def _choose(key: str) -> None:
    if key != keys.kinds_key() or (chosen := st.session_state.get(key)) == st.session_state.get(keys.PERTURBATION):
        return
    st.session_state[keys.PERTURBATION] = chosen
    _apply()


def _change_again() -> None:
    typed = not st.session_state.get(keys.PERTURBATION)  # by hand, so that it does not depend on the seed
    if not typed and st.session_state.get(keys.SEED) != st.session_state.get(keys.APPLIED_SEED):
        _apply()


@errors.guarded
def _apply() -> None:
    """Apply the chosen kind of error to the good output."""
    name = st.session_state.get(keys.PERTURBATION)
    good = st.session_state.get(keys.GOOD, "")
    st.session_state[keys.APPLIED_SEED] = st.session_state.get(keys.SEED)
    outcome = perturbations.load(name).perturb(good, int(st.session_state.get(keys.SEED) or 0)) if name else None
    st.session_state[keys.CHANGED] = outcome.text if isinstance(outcome, Change) else good


def _texts() -> TextPair:
    source, reference, good, changed = (
        str(st.session_state.get(k) or "") for k in (keys.SOURCE, keys.REFERENCE, keys.GOOD, keys.CHANGED)
    )
    return TextPair(source or None, reference or None, good, changed)


def _kinds(tried: Sequence[PerturbationTrial]) -> None:
    names = {t.perturbation.name: t.phenomenon for t in tried if isinstance(t.outcome, Change)}
    left, right = st.columns([5, 1], vertical_alignment="top")
    key, chosen = keys.kinds_key(), st.session_state.get(keys.PERTURBATION)
    st.session_state.setdefault(key, chosen if chosen in names else None)
    left.pills(
        "Insert an error of this kind", names, format_func=names.__getitem__, key=key, on_change=_choose, args=(key,)
    )
    right.number_input(
        "Seed",
        0,
        2**31 - 1,
        key=drafts.kept(keys.SEED),
        on_change=_change_again,
        help="Another seed picks another word or position",
    )
    refused = [t for t in tried if not isinstance(t.outcome, Change)]
    if refused:
        with st.expander(f"{format_count(len(refused), 'kind')} of error not possible in this text: reasons"):
            reasons: dict[str, list[str]] = {}
            for trial in refused:
                reasons.setdefault(getattr(trial.outcome, "reason", ""), []).append(trial.phenomenon)
            st.text("\n".join(f"{reason}: {', '.join(kinds)}" for reason, kinds in reasons.items()))


def _kind(texts: TextPair, tried: Sequence[PerturbationTrial]) -> str:
    made = (t for t in tried if isinstance(t.outcome, Change) and t.outcome.text == texts.changed)
    chosen = st.session_state.get(keys.PERTURBATION)
    found = sorted(made, key=lambda t: t.perturbation.name != chosen)
    return found[0].phenomenon if found else BY_HAND


def _every(texts: TextPair, metrics: Sequence[Metric]) -> None:
    """Draw the change of every metric for every kind of error, on request."""
    if not st.toggle("Try every kind of error on the good text", key=drafts.kept(keys.EVERY)) or not metrics:
        return
    seed = int(st.session_state.get(keys.SEED) or 0)
    key = ("sweep", texts[:3], seed, *reactions.cache_key(metrics))
    found = run_cached(
        key, "Scoring every change …", lambda progress: service.sweep(*texts[:3], metrics, seed, progress, reactions.known_scores(texts)),
        lambda tried: all(reactions.has_no_failure(t.reactions) for t in tried),
    )  # fmt: skip
    rows = [{"phenomenon": t.phenomenon} | reactions.row(r) for t in found or () for r in t.reactions]
    if rows:
        said = "Change as a share of each metric’s range. ✕: misses the error. ≈: barely notices. Empty: no score, or no range."
        head = "Change of every metric for every kind of error in one text"
        wide_chart(plots.sweep(pd.DataFrame(rows)), "robustness-sweep", head, said, "every-error")
