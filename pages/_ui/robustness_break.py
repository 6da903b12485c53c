"""Break a metric: a text, a change to it, and what every metric makes of that."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import pandas as pd
import streamlit as st

from core.data import Segment
from core.metrics import registry
from core.metrics.base import Metric
from core.plots import robustness as plots
from core.ports import Project
from core.services import robustness as service
from core.services.adversarial import Remembered
from core.services.robustness import BY_HAND, Reaction, Texts, Tried
from core.stress import registry as perturbations
from core.stress.base import Change
from pages._ui import errors, state, wiring
from pages._ui.errors import plain
from pages._ui.lambda_work import worked
from pages._ui.robustness_parts import (
    CHANGED,
    EVERY,
    FILLED,
    GOOD,
    METRICS,
    PERTURBATION,
    REFERENCE,
    SEED,
    SEGMENT,
    SOURCE,
    SYSTEM,
    TALL,
    compared,
    keep,
    ready,
    wide,
)
from pages._ui.robustness_suite import memory


def draw(project: Project) -> None:
    """The section."""
    data = wiring.dataset(project)
    if not st.session_state.get(FILLED):
        _begin(project, data.segments)
    _choice(project, data.segments)
    left, right = st.columns(2)
    left.text_area("Source", key=SOURCE, height=TALL, placeholder="none")
    right.text_area("Reference", key=REFERENCE, height=TALL, placeholder="none")
    left, right = st.columns(2)
    left.text_area("Good output", key=GOOD, height=TALL, on_change=_by_hand)
    right.text_area(
        "Changed output", key=CHANGED, height=TALL, on_change=_by_hand,
        help="Type any change here; Ctrl + Enter, or a click elsewhere, scores it",
    )  # fmt: skip
    texts = _texts()
    if not texts.good.strip():
        there = (
            "Choose a segment above, or type" if data.segments else "This project has no segment to choose yet: type"
        )
        st.info(f"{there} an output to begin with.", icon=":material/info:")
        return
    tried = _tried(texts.good)
    if tried is None:
        return
    _kinds(tried)
    st.html(compared(texts.good, texts.changed))
    with st.expander("Metrics", icon=":material/tune:"):
        metrics = ready(METRICS, _default())
    if not texts.reference and not texts.source:
        st.info(
            "Metrics need a reference or a source to hold the output against. Type one above.", icon=":material/info:"
        )
        return
    if texts.good == texts.changed:
        st.info(
            "Nothing is changed yet. Type into *Changed output*, or choose a kind of error.", icon=":material/edit:"
        )
        return
    found = _reactions(texts, metrics)
    if found:
        keep(project, texts, [r.kept() for r in found], _kind(texts, tried), key="desk")
    _every(texts, metrics)


def _begin(project: Project, segments: Sequence[Segment]) -> None:
    """The segment that is open on Compare, else the first with a reference, and the first change that goes."""
    st.session_state[FILLED] = True
    there = [i for i, s in enumerate(segments) if s.references and project.n_outputs]
    open_key = state.place(project.id)
    at = next((i for i, s in enumerate(segments) if s.key == open_key and i in there), next(iter(there), None))
    st.session_state.setdefault(SEGMENT, at)
    if at is not None and GOOD not in st.session_state:
        _fill(project)
        made = [t for t in service.perturbed(st.session_state[GOOD]) if isinstance(t.outcome, Change)]
        if first := next((t for t in made if t.perturbation.name in ("negation", "number")), next(iter(made), None)):
            st.session_state[PERTURBATION] = first.perturbation.name
            _apply()


def _choice(project: Project, segments: Sequence[Segment]) -> None:
    if not segments:
        return
    left, right = st.columns([3, 1])
    left.selectbox(
        "Segment", range(len(segments)), format_func=lambda i: _named(segments[i]), key=SEGMENT, index=None,
        on_change=_fill, args=(project,), placeholder="none: type the texts below",
    )  # fmt: skip
    right.selectbox("Output of", project.systems, key=SYSTEM, on_change=_fill, args=(project,))


def _named(segment: Segment) -> str:
    text = " ".join(next(iter(segment.references), segment.source or "").split())
    return f"{segment.doc_id} · {segment.segment_id}   {text[:70]}{'…' if len(text) > 70 else ''}"


@errors.guarded
def _fill(project: Project) -> None:
    data, at = wiring.dataset(project), st.session_state.get(SEGMENT)
    if at is None or not 0 <= at < len(data.segments):
        return
    segment = data.segments[at]
    outputs = {o.system: o.text for o in data.outputs_of()[segment.key]}
    system = st.session_state.get(SYSTEM) or next(iter(project.systems), "")
    text = outputs.get(system, next(iter(outputs.values()), ""))
    st.session_state[SOURCE], st.session_state[REFERENCE] = segment.source or "", next(iter(segment.references), "")
    st.session_state[GOOD] = st.session_state[CHANGED] = text
    st.session_state[PERTURBATION] = None


def _by_hand() -> None:
    st.session_state[PERTURBATION] = None


@errors.guarded
def _apply() -> None:
    """What the chosen kind of error makes of the good output."""
    name = st.session_state.get(PERTURBATION)
    good = st.session_state.get(GOOD, "")
    outcome = perturbations.load(name).perturb(good, int(st.session_state.get(SEED) or 0)) if name else None
    st.session_state[CHANGED] = outcome.text if isinstance(outcome, Change) else good


def _texts() -> Texts:
    source, reference, good, changed = (str(st.session_state.get(k) or "") for k in (SOURCE, REFERENCE, GOOD, CHANGED))
    return Texts(source or None, reference or None, good, changed)


def _tried(good: str) -> list[Tried] | None:
    seed = int(st.session_state.get(SEED) or 0)
    return worked(
        ("perturbed", good, seed), "Looking for what can be changed …", lambda tell: service.perturbed(good, seed, tell)
    )


def _kinds(tried: Sequence[Tried]) -> None:
    names = {t.perturbation.name: t.phenomenon for t in tried if isinstance(t.outcome, Change)}
    left, right = st.columns([5, 1], vertical_alignment="bottom")
    left.pills(
        "Make an error of this kind", list(names), format_func=names.__getitem__, key=PERTURBATION, on_change=_apply
    )
    right.number_input(
        "Seed", 0, 2**31 - 1, key=SEED, on_change=_apply, help="Another seed draws another word or place"
    )
    refused = [t for t in tried if not isinstance(t.outcome, Change)]
    if refused:
        with st.expander(f"{len(refused)} kinds of error cannot be made in this text"):
            st.text("\n".join(f"{t.phenomenon}: {getattr(t.outcome, 'reason', '')}" for t in refused))


def _kind(texts: Texts, tried: Sequence[Tried]) -> str:
    made = (t for t in tried if isinstance(t.outcome, Change) and t.outcome.text == texts.changed)
    chosen = st.session_state.get(PERTURBATION)
    found = sorted(made, key=lambda t: t.perturbation.name != chosen)
    return found[0].phenomenon if found else BY_HAND


def _default() -> list[str]:
    return [name for name in registry.METRICS if service.quick(registry.load(name))]


def _reactions(texts: Texts, metrics: Sequence[Metric]) -> list[Reaction]:
    """Metrics without a model at once, then the others; a bar where that takes a while."""
    by_name: dict[str, Reaction] = {}
    place = st.empty()
    for at_once in (True, False):
        part = [m for m in metrics if service.by_strings(m.spec) == at_once]
        if not part:
            continue
        key = ("reactions", texts, *_depends(part))
        with st.spinner("The models are reading …", show_time=not at_once):
            found = worked(
                key, "Scoring both texts …", lambda tell, part=part: service.reactions(texts, part, tell, _memory(texts)), _whole  # type: ignore[misc]
            )  # fmt: skip
        by_name |= {r.spec.name: r for r in found or ()}
        in_order = [by_name[m.spec.name] for m in metrics if m.spec.name in by_name]
        with place.container():
            _told(in_order)
    return [by_name[m.spec.name] for m in metrics if m.spec.name in by_name]


def _depends(metrics: Sequence[Metric]) -> tuple[Hashable, ...]:
    """What the reactions of metrics depend on beside the texts: how they are signed, and the ranges they are shown in."""
    return tuple(m.signature() for m in metrics), tuple(service.scale_of(m) for m in metrics)


def _memory(texts: Texts) -> Remembered:
    """What is scored of this good output already, in this session, so that only what failed is scored again."""
    return memory(repr(texts[:3]), "break")


def _whole(found: Sequence[Reaction]) -> bool:
    """Whether no metric failed."""
    return not any(value.status == "error" for r in found for value in (r.good, r.changed))


def _told(found: Sequence[Reaction]) -> None:
    scored = [r for r in found if r.fooled is not None]
    if not scored:
        st.info("None of these metrics has a score for both texts.", icon=":material/info:")
    else:
        fooled = [r.spec.label for r in scored if r.fooled]
        names = f": {plain(', '.join(fooled))}" if fooled else ""
        st.markdown(f"#### {len(fooled)} of {len(scored)} metrics fooled{names}")
        st.caption(
            "Fooled: the changed text scores at least as high as the good one, lower counting as higher where lower is better."
        )
    frame = pd.DataFrame([_row(r) for r in found])
    left, right = st.columns([1, 1])
    if scored and frame["share"].notna().any():
        left.altair_chart(plots.changes(frame), width="stretch")
    shown = frame[["metric", "good", "changed", "change", "verdict"]]
    numbers = {name: st.column_config.NumberColumn(format="%.3f", width="small") for name in ("good", "changed")}
    numbers["metric"] = st.column_config.TextColumn(width="medium", pinned=True)
    numbers["change"] = st.column_config.NumberColumn(format="%+.3f", width="small")
    right.dataframe(shown, hide_index=True, width="stretch", height="content", column_config=numbers)
    with st.expander("Signatures: what every number was computed with"):
        st.text("\n".join(r.signature for r in found))


def _row(r: Reaction) -> dict[str, object]:
    arrow = "↑" if r.spec.higher_is_better else "↓"
    raw = None if r.change is None else r.change * (1 if r.spec.higher_is_better else -1)
    verdict = r.reason if r.fooled is None else "fooled" if r.fooled else "notices"
    return {
        "metric": f"{r.spec.label} {arrow}", "good": r.good.value, "changed": r.changed.value, "change": raw,
        "share": r.share, "fooled": r.fooled, "verdict": verdict, "range": f"{arrow} is better",
    }  # fmt: skip


def _every(texts: Texts, metrics: Sequence[Metric]) -> None:
    """All perturbations of the good output at once, where that is asked for."""
    if not st.toggle("Try every kind of error on the good output", key=EVERY) or not metrics:
        return
    seed = int(st.session_state.get(SEED) or 0)
    key = ("sweep", texts[:3], seed, *_depends(metrics))
    found = worked(
        key, "Scoring every change …", lambda tell: service.sweep(*texts[:3], metrics, seed, tell, _memory(texts)),
        lambda tried: all(_whole(t.reactions) for t in tried),
    )  # fmt: skip
    rows = [{"phenomenon": t.phenomenon} | _row(r) for t in found or () for r in t.reactions]
    if rows:
        wide(plots.sweep(pd.DataFrame(rows)), "robustness-sweep")
        st.caption(
            "Change in parts of each metric’s range; ✕: fooled. An empty cell has no score, or its metric no range."
        )
