"""The greedy attack: a text is worn down word by word in the way a metric notices least; the others are asked afterwards."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from core.calibration.drawn import Tell
from core.data import Dataset, Item
from core.metrics import readiness, registry
from core.ports import Project
from core.services.robustness import Texts
from core.stress.attack import BOUND, EXPECTED, NEAR, Attack, attack, compare, signed
from pages._ui import robustness_parts as parts
from pages._ui import tables, wiring
from pages._ui.errors import plain
from pages._ui.lambda_work import worked

_ASKED = "lab_attack"
USUAL = ("bartscore", "bertscore", "chrf", "bleu")
OTHERS = ("chrf", "bleu", "rougeL", "bertscore", "bartscore", "nli")
REFERENCE = "its reference"


class Asked(NamedTuple):
    """The last press of the button: the text with what it is held against afterwards, the metric, and how far it goes."""

    item: Item
    metric: str
    bound: float
    expected: int
    near: int


def draw(project: Project) -> None:
    """Form, attack, and what every metric makes of it."""
    st.caption(
        "Each step makes the one edit after which the chosen metric likes the text best, beside the text itself as the reference, until "
        "a share of the words is changed. A metric that stays high while the text falls apart can be fooled."
    )
    asked = _form(wiring.dataset(project))
    key = f"{_ASKED}-{project.id}"
    if asked is not None:
        st.session_state[key] = asked
    if key not in st.session_state:
        return
    asked = st.session_state[key]
    metric = registry.load(asked.metric)
    signature = signed(metric, asked.bound, asked.expected, asked.near)

    def work(tell: Tell) -> Attack:
        def hear(share: float) -> bool:
            tell(share)
            return True

        return attack(
            asked.item.hypothesis, asked.item.source, metric, asked.bound, expected=asked.expected, near=asked.near, tell=hear
        )  # fmt: skip

    with st.spinner("Looking for the edit that is noticed least …", show_time=True):
        found = worked(("attack", asked, signature), "Attacking …", work)
    if found is not None:
        _told(project, asked, found, signature)


def _form(data: Dataset) -> Asked | None:
    able = [name for name, found in readiness.of_all().items() if found.state == "ready" and not registry.load(name).on]
    labels = {name: registry.load(name).spec.label for name in able}
    systems = data.systems
    left, middle, right = st.columns([3, 2, 2])
    there = [i for i, s in enumerate(data.segments) if s.references or systems]
    names = [f"{s.doc_id} · {s.segment_id}" for s in data.segments]
    at = left.selectbox("Segment", there, format_func=names.__getitem__, key="lab-attack-segment")
    whose = middle.selectbox("Text", [*systems, REFERENCE], key="lab-attack-whose")
    first = next((k for k, name in enumerate(able) if name in USUAL), 0)
    metric = right.selectbox("Metric to fool", able, first, format_func=labels.__getitem__, key="lab-attack-metric")
    item = _item(data, at, whose) if at is not None else None
    text = st.text_area(
        "Text to attack", item.hypothesis if item else "", height=parts.TALL, key=f"lab-attack-text-{at}-{whose}"
    )
    left, middle, right = st.columns(3, vertical_alignment="bottom")
    bound = left.slider(
        "Until so much is changed", 0.05, 0.5, BOUND, 0.05, format="percent", key="lab-attack-bound",
        help="The noise ratio: edits of words by words of the text. The published attack takes 15 %.",
    )  # fmt: skip
    expected = int(middle.number_input("Expected words tried in a place", 0, 20, EXPECTED, key="lab-attack-expected"))
    near = int(right.number_input("Similar words tried in a place", 0, 20, NEAR, key="lab-attack-near"))
    lacking = metric is None or not (text or "").strip()
    if st.button("Attack", key="lab-attack-run", disabled=lacking, icon=":material/bolt:"):
        base = item or Item(None, "", ())
        return Asked(base._replace(hypothesis=text or ""), metric or "", float(bound), expected, near)
    return None


def _item(data: Dataset, at: int, whose: str) -> Item:
    segment = data.segments[at]
    if whose == REFERENCE:
        return Item(segment.source, next(iter(segment.references), ""), segment.references[1:])
    text = next((o.text for o in data.outputs_of()[segment.key] if o.system == whose), "")
    return Item(segment.source, text, segment.references)


def _told(project: Project, asked: Asked, found: Attack, signature: str) -> None:
    label = registry.load(asked.metric).spec.label
    if found.reason:
        st.info(plain(f"The bound was not reached: {found.reason}."), icon=":material/info:")
    if not found.steps or found.before is None:
        return
    st.markdown(
        plain(
            f"{len(found.steps)} edits change {found.ratio:.0%} of the text; {label}, beside the text itself: {_number(found.before)} → {_number(found.steps[-1].score)}."
        )
    )
    st.html(parts.compared(found.original, found.text, "before → after"))
    tables.reading(
        [
            {
                "step": str(k), "edit": f"{s.old} → {s.new}" if s.new else f"{s.old} deleted", "score": _number(s.score),
                "noise ratio": f"{s.ratio:.0%}",
            }
            for k, s in enumerate(found.steps, 1)
        ]
    )  # fmt: skip
    others = list(dict.fromkeys([asked.metric, *OTHERS]))
    metrics = [registry.load(n) for n, r in readiness.of_all(others).items() if r.state == "ready"]
    key = ("attack-others", asked.item, found.text, tuple(m.signature() for m in metrics))
    shifts = worked(key, "Asking the other metrics …", lambda tell: compare(asked.item, found.text, metrics))
    st.markdown("**What metrics make of it**, beside the segment’s own references and source")
    tables.reading(
        [
            {
                "metric": m.spec.label, "before": _number(s.gold), "after": _number(s.attacked),
                "change": "–" if s.change is None else f"{s.change:+.1%}".replace("-", "−"), "why not": s.reason,
            }
            for m, s in zip(metrics, shifts or (), strict=False)
        ]
    )  # fmt: skip
    st.caption("Change relative to the score before, by the metric’s own direction: below 0, it notices.")
    texts = Texts(asked.item.source, next(iter(asked.item.references), None), found.original, found.text)
    st.button(
        "Open in Break a metric", on_click=parts.open_case, args=(texts,), key="lab-attack-open", icon=":material/open_in_full:"
    )  # fmt: skip
    st.caption(plain(signature))


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}".replace("-", "−")
