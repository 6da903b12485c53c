"""Break a metric: change a text and see how every metric reacts."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from core.data import Segment
from core.formatting import MISSING, format_change, format_count, format_number, format_percent, isolated
from core.metrics import registry
from core.metrics.base import Metric
from core.perturbations import registry as perturbations
from core.plots import robustness
from core.ports.projects import Project
from core.ports.robustness import BARELY, MISSES
from core.scoring.values import InMemoryScores
from core.services.projects.task import languages_of
from core.services.robustness import break_metric as service
from core.services.robustness.break_metric import BY_HAND, SMALL, PerturbationTrial, Reaction, TextPair
from core.text.edits import Change
from pages._ui.robustness import controls as keys
from pages._ui.robustness.adversarial_suite import memory
from pages._ui.robustness.controls import TALL, choose_metrics, diff_html, save_case, warn_of_language, wide_chart
from pages._ui.shared import drafts, errors, page, state, tables, wiring
from pages._ui.shared.files import figure
from pages._ui.shared.long_jobs import run_cached
from pages._ui.shared.markdown import escape_markdown

PART_WITH_MODELS = "reactions"
"""The part of the page with the metrics that need a model, which comes in the second run."""


def _change(value: float) -> str:
    """Return a change with its sign; one that is 0 at three decimals is written with the first digit that is not."""
    text = format_change(value, leading_zero=True)
    return (
        format_change(value, -math.floor(math.log10(abs(value))), leading_zero=True) if value and text == "±0" else text
    )


FORMATS: dict[str, Callable[..., str]] = {
    "good": partial(format_number, leading_zero=True),
    "changed": partial(format_number, leading_zero=True),
    "change": _change,
}
_CHARTED = "robustness-charted"
SHOWN = ("metric", "verdict", *FORMATS)


def draw_reactions(texts: TextPair, metrics: Sequence[Metric]) -> list[Reaction]:
    """Draw the reactions and return them.

    The first time in a session, only metrics without a model are drawn, as a plain table. The next run scores the others and draws the
    chart, whose scripts take the browser half a second.
    """
    by_name: dict[str, Reaction] = {}
    waiting, place = st.container(), st.empty()
    for at_once in (True, False):
        part = [m for m in metrics if m.spec.needs_model != at_once]
        if not part:
            continue
        if not at_once and by_name and page.comes_later(PART_WITH_MODELS, _waiting_text(part)):
            break
        key = ("reactions", texts, *cache_key(part))
        with waiting, st.spinner("Computing scores …" if at_once else _waiting_text(part), show_time=not at_once):
            of_part = run_cached(
                key, "Scoring both texts …", lambda progress, part=part: service.reactions(texts, part, progress, known_scores(texts)), has_no_failure  # type: ignore[misc]
            )  # fmt: skip
        by_name |= {r.spec.name: r for r in of_part or ()}
        in_order = service.by_drop(list(by_name.values()))
        if not in_order:  # cancelled before any score was there
            break
        if not at_once or len(in_order) == len(metrics):
            st.session_state[_CHARTED] = True
        with place.container():
            _draw_table(in_order, chart=_CHARTED in st.session_state, complete=len(in_order) == len(metrics))
    return [by_name[m.spec.name] for m in metrics if m.spec.name in by_name]


def _waiting_text(metrics: Sequence[Metric]) -> str:
    """Return the message shown until the metrics with models have scores."""
    return f"Scoring with {format_count(len(metrics), 'more metric')}. The first scores take some seconds, because models are loaded."


def cache_key(metrics: Sequence[Metric]) -> tuple[Hashable, ...]:
    """Return what the reactions of metrics depend on beside the texts: their signatures and ranges."""
    return tuple(m.signature() for m in metrics), tuple(service.scale_of(m) for m in metrics)


def known_scores(texts: TextPair) -> InMemoryScores:
    """Return the scores of this good output that the session has, so that only what failed is scored again."""
    return memory(repr(texts[:3]), "break")


def has_no_failure(reactions: Sequence[Reaction]) -> bool:
    """Return whether no metric failed."""
    return not any(r.failed for r in reactions)


def _draw_table(reactions: Sequence[Reaction], *, chart: bool, complete: bool) -> None:
    """Draw the table. A picture is offered of the `complete` one only: while others are computed, this one is replaced in the same run."""
    scored = [r for r in reactions if r.score.change is not None]
    if not scored:
        page.info("None of these metrics has a score for both texts.")
    else:
        st.markdown(f"#### {_headline(scored)}")
        st.caption(
            "A metric misses the error if the changed text gets the same or a better score than the good text, and barely notices it if "
            f"the score drops by less than {format_percent(SMALL)} of the metric’s range (without a range: of the score). Both texts are "
            "compared with the source and the one reference above, so scores may differ from Compare, which uses all references."
        )
    rows = [row(r) for r in reactions]
    left, right = st.columns([3, 5])
    if not chart:
        with right:
            tables.text_table([{name: _text(name, r[name]) for name in SHOWN} for r in rows], tall=len(rows))
        return
    frame = pd.DataFrame(rows)
    if scored and frame["share"].notna().any():
        head = "Change of the score of each metric for one changed text"
        said = f"In % of the metric’s range. Misses: not worse; barely notices: a drop of less than {format_percent(SMALL)}."
        if complete:
            figure(robustness.changes(frame), head, said, "changes", place=left)
        else:
            left.altair_chart(robustness.changes(frame), width="stretch")
    columns: dict[str, Any] = {name: st.column_config.NumberColumn(width=66) for name in FORMATS}
    columns["metric"] = st.column_config.TextColumn(width=176, pinned=True)
    columns["verdict"] = st.column_config.TextColumn(width=126)
    with right:
        tables.data_table(frame[list(SHOWN)], FORMATS, columns, height="content")
    with st.expander("Signatures"):
        st.text("\n".join(r.score.signature for r in reactions))


def _headline(scored: Sequence[Reaction]) -> str:
    missing, barely = ([r.spec.label for r in scored if r.verdict == verdict] for verdict in (MISSES, BARELY))

    def named(labels: list[str]) -> str:
        return f": {escape_markdown(', '.join(labels))}" if labels else ""

    said = f"{len(missing)} of {format_count(len(scored), 'metric')} {'misses' if len(missing) == 1 else 'miss'} the error{named(missing)}"
    return said + (
        f" · {len(barely)} barely {'notices' if len(barely) == 1 else 'notice'} it{named(barely)}" if barely else ""
    )


def _text(name: str, value: Any) -> str:
    if name not in FORMATS:
        return str(value)
    return MISSING if value is None else FORMATS[name](value)


def row(r: Reaction) -> dict[str, object]:
    """Return a reaction as a row of the table and the charts."""
    arrow, sign = ("↑", 1) if r.spec.higher_is_better else ("↓", -1)
    score = r.score
    return {
        "metric": f"{r.spec.label} {arrow}", "good": score.good, "changed": score.changed,
        "change": None if score.change is None else score.change * sign,
        "share": r.share, "verdict": r.verdict, "range": f"{arrow} is better",
    }  # fmt: skip


# Streamlit also calls on_change if a browser still sends a widget that the server has forgotten (a run without it ended in between).
# So each of the callbacks below compares with what was last applied: nothing may replace a text that the user typed.


def draw_break_metric(project: Project) -> None:
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
    left.text_area("Good text", key=keys.GOOD, height=TALL, on_change=keys.choose_kind, args=(None,))
    right.text_area(
        "Changed text", key=keys.CHANGED, height=TALL, on_change=keys.choose_kind, args=(None,),
        help="Type any change. Ctrl + Enter or a click elsewhere scores it",
    )  # fmt: skip
    texts = _texts()
    if not texts.good.strip():
        hint = "Choose a segment above, or type" if segments else "This project has no segments. Type"
        page.info(f"{hint} an output.")
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
        quick = [name for name in registry.METRICS if service.quick(registry.load_metric(name), languages)]
        metrics = choose_metrics(keys.METRICS, quick, languages)
    warn_of_language(metrics, languages)
    if not texts.reference and not texts.source:
        page.info("Metrics need a reference or a source to compare the output with. Type one above.")
        return
    if texts.good == texts.changed:
        st.info("Nothing is changed yet. Edit *Changed text*, or choose a kind of error.", icon=":material/edit:")
        return
    changes = draw_reactions(texts, metrics)
    if changes:
        save_case(project, texts, [r.score for r in changes], _kind(texts, tried), key="desk")
    _every(texts, metrics)


def _begin(project: Project, segments: Sequence[Segment]) -> None:
    """Start with the segment open on Compare, else the first with a reference, and the first possible change."""
    st.session_state[keys.FILLED] = True
    usable = [i for i, s in enumerate(segments) if s.references and project.n_outputs]
    open_key = state.place(project.id)
    at = next((i for i, s in enumerate(segments) if s.key == open_key and i in usable), next(iter(usable), None))
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
    outcome = (
        perturbations.load_perturbation(name).perturb(good, int(st.session_state.get(keys.SEED) or 0)) if name else None
    )
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
    ordered = sorted(made, key=lambda t: t.perturbation.name != chosen)
    return ordered[0].phenomenon if ordered else BY_HAND


def _every(texts: TextPair, metrics: Sequence[Metric]) -> None:
    """Draw the change of every metric for every kind of error, on request."""
    if not st.toggle("Try every kind of error on the good text", key=drafts.kept(keys.EVERY)) or not metrics:
        return
    seed = int(st.session_state.get(keys.SEED) or 0)
    key = ("sweep", texts[:3], seed, *cache_key(metrics))
    every_change = run_cached(
        key, "Scoring every change …", lambda progress: service.sweep(*texts[:3], metrics, seed, progress, known_scores(texts)),
        lambda tried: all(has_no_failure(t.reactions) for t in tried),
    )  # fmt: skip
    rows = [{"phenomenon": t.phenomenon} | row(r) for t in every_change or () for r in t.reactions]
    if rows:
        said = "Change as a share of each metric’s range. ✕: misses the error. ≈: barely notices. Empty: no score, or no range."
        head = "Change of every metric for every kind of error in one text"
        wide_chart(robustness.sweep(pd.DataFrame(rows)), "robustness-sweep", head, said, "every-error")
