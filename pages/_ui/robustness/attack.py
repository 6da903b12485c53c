"""Greedy attack: edit a text word by word so that one metric drops least, then score it with the other metrics."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import streamlit as st

from core.data import Dataset, Item
from core.formatting import MISSING, format_change, format_number, format_percent, isolated
from core.metrics import readiness, registry
from core.ports.projects import Project
from core.progress import Progress
from core.robustness.attack import BOUND, EXPECTED, NEAR, Attack, attack_metric, compare, signed
from core.services.projects.task import output_languages
from core.services.robustness.break_metric import TextPair
from pages._ui.robustness import controls
from pages._ui.shared import drafts, page, tables, wiring
from pages._ui.shared.long_jobs import run_cached
from pages._ui.shared.markdown import escape_markdown

USUAL = ("bartscore", "bertscore", "chrf", "bleu")
OTHERS = ("chrf", "bleu", "rougeL", "bertscore", "bartscore", "nli")
REFERENCE = "The reference"


class AttackOptions(NamedTuple):
    """The options of an attack: text, references and source, metric, and limits."""

    item: Item
    metric: str
    bound: float
    expected: int
    near: int


def draw_attack(project: Project) -> None:
    """Draw the form, the attack, and the scores of every metric."""
    st.caption(
        "Each step makes the edit that leaves the highest score of the chosen metric, with the original text as the reference, until "
        "a share of the words is changed. A metric that stays high misses the errors."
    )
    asked = controls.latest(f"lab_attack-{project.id}", _form(project.id, wiring.sampled(project)))
    if asked is None:
        return
    metric = registry.load_metric(asked.metric)
    signature = signed(metric, asked.bound, asked.expected, asked.near)

    def work(progress: Progress) -> Attack:
        texts = asked.item.hypothesis, asked.item.source
        return attack_metric(*texts, asked.metric, asked.bound, asked.expected, asked.near, progress)

    with st.spinner("Searching for the edit with the smallest drop …", show_time=True):
        attack = run_cached(("attack", asked, signature), "Attacking …", work)
    if attack is not None:
        _draw_attack(asked, attack, signature)


def _form(project: int, data: Dataset) -> AttackOptions | None:
    ready = (registry.load_metric(name) for name, state in readiness.of_all().items() if state.state == "ready")
    labels = {metric.spec.name: metric.spec.label for metric in ready if not metric.fit}
    able = list(labels)
    systems = data.systems
    left, middle, right = st.columns([3, 2, 2])
    usable = [i for i, s in enumerate(data.segments) if s.references or systems]
    names = [" · ".join(map(isolated, filter(None, s.key))) for s in data.segments]
    at = left.selectbox(
        "Segment", usable, format_func=names.__getitem__, key=drafts.kept(f"lab-attack-segment-{project}")
    )
    whose = middle.selectbox("Text", [*systems, REFERENCE], key=drafts.kept(f"lab-attack-whose-{project}"))
    languages = output_languages(data)
    usual = controls.preselected(USUAL, languages)
    first = next((k for k, name in enumerate(able) if name in usual), 0)
    metric = right.selectbox(
        "Metric to attack", able, first, format_func=labels.__getitem__, key=drafts.kept("lab-attack-metric")
    )
    controls.warn_of_language([registry.load_metric(metric)] if metric else [], languages)
    item = _item(data, at, whose) if at is not None else None
    written = item.hypothesis if item else ""
    key = drafts.kept(f"lab-attack-text-{project}-{at}-{whose}", written)
    text = st.text_area("Text to attack", written, height=controls.TALL, key=key)
    left, middle, right = st.columns(3, vertical_alignment="bottom")
    bound = left.slider(
        "Share of words to change", 0.05, 0.5, BOUND, 0.05, format="percent", key=drafts.kept("lab-attack-bound"),
        help="Noise ratio: edited words divided by words of the text. The published attack uses 15 %.",
    )  # fmt: skip
    expected = int(
        middle.number_input(
            "Predicted words tried per position", 0, 20, EXPECTED, key=drafts.kept("lab-attack-expected")
        )
    )
    near = int(right.number_input("Similar words tried per position", 0, 20, NEAR, key=drafts.kept("lab-attack-near")))
    lacking = metric is None or not (text or "").strip()
    if st.button("Run attack", key="lab-attack-run", disabled=lacking, icon=":material/bolt:"):
        base = item or Item(None, "", ())
        return AttackOptions(base._replace(hypothesis=text or ""), metric or "", float(bound), expected, near)
    return None


def _item(data: Dataset, at: int, whose: str) -> Item:
    segment = data.segments[at]
    if whose == REFERENCE:
        return Item(segment.source, next(iter(segment.references), ""), segment.references[1:])
    text = next((o.text for o in data.outputs_of()[segment.key] if o.system == whose), "")
    return Item(segment.source, text, segment.references)


def _draw_attack(asked: AttackOptions, attack: Attack, signature: str) -> None:
    label = registry.load_metric(asked.metric).spec.label
    if attack.reason:
        page.info(escape_markdown(f"The share was not reached: {attack.reason}."))
    if not attack.steps or attack.before is None:
        return
    number = partial(format_number, digits=4, leading_zero=True)
    change = f"{number(attack.before)} → {number(attack.steps[-1].score)}"
    text = f"{len(attack.steps)} edits change {format_percent(attack.ratio)} of the text. {label} against the original text: {change}."
    st.markdown(escape_markdown(text))
    st.html(controls.diff_html(attack.original, attack.text, "good text → changed text"))
    tables.text_table([
        {
            "step": str(k), "edit": f"{s.old} → {s.new}" if s.new else f"{s.old} deleted", "score": number(s.score),
            "noise ratio": format_percent(s.ratio),
        }
        for k, s in enumerate(attack.steps, 1)
    ])  # fmt: skip
    others = list(dict.fromkeys([asked.metric, *OTHERS]))
    metrics = [registry.load_metric(n) for n, r in readiness.of_all(others).items() if r.state == "ready"]
    key = ("attack-others", asked.item, attack.text, tuple(m.signature() for m in metrics))
    shifts = run_cached(
        key, "Computing the other metrics …", lambda progress: compare(asked.item, attack.text, metrics)
    )
    st.markdown("**Scores of all metrics**, against the references and source of the segment")
    tables.text_table([
        {
            "metric": m.spec.label, "good": number(s.gold), "changed": number(s.attacked),
            "change": MISSING if s.change is None else f"{format_change(100 * s.change, 1, leading_zero=True)} %", "reason": s.reason,
        }
        for m, s in zip(metrics, shifts or (), strict=False)
    ])  # fmt: skip
    st.caption("Change relative to the score before, in the direction of the metric: below 0, the score is worse.")
    texts = TextPair(asked.item.source, next(iter(asked.item.references), None), attack.original, attack.text)
    controls.open_button(texts, "lab-attack-open")
    page.caption(signature)
