"""The inspector below the cards: one output, its token probabilities, refinement rounds, sentence alignment and error spans."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import streamlit as st

from core.data import OutputKey, Segment, SegmentKey, Value
from core.errors import UserError
from core.formatting import format_count
from core.metrics.generation.bartscore import DIRECTIONS, model_facts
from core.metrics.smart import EMBEDDING
from core.models.configs import configured_facts
from core.ports.projects import Project
from core.progress import no_progress
from core.refine.inspect import Round
from core.refine.result import EditStep, Options, Refinement, Variant
from core.services.compare import inspector as service
from core.services.compare.alignment import GOOD, MATCHERS, Alignment, align, payload, targets
from core.services.compare.inspector import LONGEST, TRIES, Try, look, rounds
from core.services.compare.segment import SegmentQuery, names_of, status_of
from core.services.projects.view import Column, View
from core.signature import fields_of
from pages._ui.annotate import identity
from pages._ui.compare import marks
from pages._ui.components import alignment, inspector, last
from pages._ui.shared import errors, page, wiring
from pages._ui.shared.markdown import escape_markdown

Facts = Mapping[str, object]
"""The facts of the configured model, as part of cache keys."""


@st.cache_resource(max_entries=128, ttl=1800, show_spinner="Reading the text …")
def look_at_text(model: Facts, text: str, condition: str, variant: Variant, k: int) -> Round:
    """Return one round: the token probabilities of a text under the configured model."""
    return look(text, condition, variant, k)


@st.cache_resource(max_entries=32, ttl=1800, show_spinner="Replaying the refinement …")
def replay_rounds(
    model: Facts, text: str, condition: str, variant: Variant, options: Options, known: tuple[EditStep, ...] | None
) -> tuple[Round, ...]:
    """Return a refinement round by round under the configured model: along `known` steps, or computed if there are none."""
    return rounds(text, condition, variant, options, known)


INSPECTOR_KEY = "inspector"
OPENED = "inspector-opened"
DESKS = "inspector-desks"
AT_ONCE = {"known": 5_000, "anew": 600}
"""Largest edits × sub-words of a refinement that is replayed at once: along the stored trace, or computed again."""


class OpenInspector(NamedTuple):
    project_id: int
    segment: SegmentKey
    system: str
    n: int


class InspectorState(NamedTuple):
    """What a session did with one output: tries (newest first), the last number answered, and whether it was replayed."""

    tries: tuple[Try, ...] = ()
    answered: int = 0
    emptied: int = 0
    replayed: bool = False
    refused: tuple[int, str] | None = None


def opened(project_id: int, segment: SegmentKey) -> str | None:
    """Return the system whose output of this segment is in the inspector."""
    now: OpenInspector | None = st.session_state.get(OPENED)
    return now.system if now and (now.project_id, now.segment) == (project_id, segment) else None


def choose(project_id: int, segment: SegmentKey, names: Mapping[str, str], asked: Mapping[str, Any]) -> None:
    """Open the output of the clicked card, or close it if it is open. For callbacks."""
    system = next((s for s, name in names.items() if name == asked["id"]), None)
    if system is None or system == opened(project_id, segment):
        close()
    else:
        st.session_state[OPENED] = OpenInspector(project_id, segment, system, int(asked["n"]))


def close() -> None:
    st.session_state.pop(OPENED, None)


def draw_inspector(
    project: Project, view: View, main: Column, shown: SegmentQuery, details: Mapping[str, Value]
) -> None:
    """Draw the inspector if it is open on a shown output; another segment closes it."""
    (segment, texts), names = view.texts.segment(view.segments[shown.row]), names_of(view, shown)
    system = opened(project.id, segment.key)
    value = details.get(system) if system in names else None
    if system is None or value is None or value.detail is None:
        close()
        return
    key, analysis = OutputKey(system, *segment.key), Refinement.from_json(value.detail)
    data: dict[str, Any] = {"name": names[system], "opened": st.session_state[OPENED].n}
    try:
        data |= stage(project, main, segment, key, texts[system], analysis)
    except UserError as error:
        errors.show(error)
        return
    status, why = status_of(value, scored=True, reference=True)
    data |= {"status": status, "why": why, "overlap": overlap(project, view, main, key, analysis)}
    inspector(data, key=INSPECTOR_KEY, on_close=close)


def stage(
    project: Project, main: Column, segment: Segment, key: OutputKey, text: str, analysis: Refinement
) -> dict[str, Any]:
    """Return rounds and tries under the configured model."""
    against, condition = service.condition_of(segment, analysis)
    options, facts = service.options_of(main.signature), model_facts()
    basis = repr((project.id, key, analysis.variant, condition, facts))
    mine = hashlib.sha256(basis.encode("utf-8", "surrogatepass")).hexdigest()[:16]  # a name that gives no system away
    desk = desk_of(mine)
    known = None if service.another_model(main.signature, facts) else analysis.steps
    small = len(analysis.steps) * len(analysis.tokens) <= AT_ONCE["anew" if known is None else "known"]
    asked = bool(last(INSPECTOR_KEY, "replay", mine))
    if replay := small or desk.replayed or asked:
        rounds = replay_rounds(facts, text, condition, analysis.variant, options, known)
    else:
        rounds = (look_at_text(facts, text, condition, analysis.variant, options.k),)
    desk = score_attempts(mine, desk._replace(replayed=replay), rounds, condition, analysis, options.k)
    st.session_state[DESKS][mine] = desk
    return {
        "key": mine,
        "against": f"{'' if against[-1:].isdigit() else 'the '}{against} ({DIRECTIONS[analysis.variant]}; an arrow points from the given text to the scored one)",
        "condition": condition,
        "notes": notes(main.signature, facts, analysis, rounds if replay else None),
        "rounds": service.rounds_json(rounds, int(last(INSPECTOR_KEY, "at", mine).get("round", 0))),
        "complete": replay,
        "edits": len(analysis.steps),
        "tries": [
            service.try_json(t) | {"number": len(desk.tries) - i, "base": called(t.base, rounds, desk.tries)}
            for i, t in enumerate(desk.tries)
        ],
        "answered": desk.answered,
        "refused": {str(desk.refused[0]): desk.refused[1]} if desk.refused else {},
    }


def desk_of(mine: str) -> InspectorState:
    """Return what this session did with the output; only the last few outputs are remembered."""
    desks: dict[str, InspectorState] = st.session_state.setdefault(DESKS, {})
    while len(desks) > 8:
        del desks[next(iter(desks))]
    return desks.get(mine, InspectorState())


def score_attempts(
    mine: str, desk: InspectorState, rounds: tuple[Round, ...], condition: str, analysis: Refinement, k: int
) -> InspectorState:
    """Score the tries that the browser sent and that have no answer yet."""
    again = int(last(INSPECTOR_KEY, "again", mine).get("n", 0))
    if again > desk.emptied:
        desk = desk._replace(tries=(), emptied=again, answered=max(desk.answered, again), refused=None)
    for asked in last(INSPECTOR_KEY, "attempts", mine).get("list", []):
        n, origin, text = int(asked["n"]), str(asked["base"]), str(asked["text"])
        if n <= desk.answered:
            continue
        base = service.base_of(origin, rounds, desk.tries)
        if base is None or len(text) > LONGEST:
            why = "the text is too long" if base else "its starting text no longer exists; try again"
            desk = desk._replace(answered=n, refused=(n, f"not scored: {why}"))
            continue
        after = look_at_text(model_facts(), text, condition, analysis.variant, k)
        desk = desk._replace(answered=n, refused=None, tries=(Try(n, origin, base, after), *desk.tries)[:TRIES])
    return desk


def called(base: str, rounds: tuple[Round, ...], tries: tuple[Try, ...]) -> str:
    if base == "r0":
        return "the output"
    if base[0] == "r":
        return "the refined text" if int(base[1:]) == len(rounds) - 1 else f"step {base[1:]}"
    number = next((len(tries) - i for i, t in enumerate(tries) if f"t{t.n}" == base), None)
    return f"try {number}" if number else "an older try"


def notes(
    signature: str, configured: Mapping[str, object], analysis: Refinement, rounds: tuple[Round, ...] | None
) -> list[str]:
    """Return warnings about comparing these numbers with those on the card."""
    out = []
    prompted = fields_of(signature).get("prompt", "none") != "none"
    if other := service.another_model(signature, configured):
        out.append(
            f"The card was scored by {other}; the configured model is {configured['model']} ({configured['rev']}). The steps and your own edits "
            "below use the configured model: do not compare their numbers with those of the card."
        )
    elif rounds and service.departs(analysis, rounds, prompted=prompted):
        out.append(
            "The replayed refinement differs from the stored one on the card (other library versions or another machine): "
            "do not compare their numbers."
        )
    if prompted:
        out.append("The scores on the card are means over prompts. Those here use no prompt, like the refinement.")
    if analysis.truncated:
        out.append("The text is longer than the model reads: only its beginning was scored.")
    if analysis.refined_ids:
        out.append(
            "The score of the refined text is that of its edited tokens. Read as a text, it has other tokens and another BARTScore."
        )
    return out


def overlap(project: Project, view: View, main: Column, key: OutputKey, analysis: Refinement) -> dict[str, Any]:
    """Return the overlap of edits and error spans. Hidden spans never leave the server."""
    rater, everyone = identity.rater(), marks.everyone(project)
    by_system = view.texts.segment(key.segment)[1]
    error_spans = marks.of_segment(project, key.segment, by_system, rater, everyone)
    of_project, n = marks.overlap(project, main.signature, rater, everyone)
    rows, lines, layers, raters = [], [], None, 0
    if marks.seen(project, rater, everyone).hides(key.segment):
        lines.append("Error spans in this segment stay hidden until you have submitted it yourself, to avoid bias.")
    else:
        mine = error_spans.get(key, [])
        model = service.edits(wiring.store(), project.id, main.signature, key.segment, by_system)
        texts = {OutputKey(system, *key.segment): text for system, text in by_system.items()}
        raters = len(mine)
        layers = service.layers_json(texts[key], analysis.refined, mine)
        rows = [
            {"label": "this output"} | service.overlap_json(service.overlap(mine, texts, model)),
            {"label": "this segment, all outputs"}
            | service.overlap_json(service.overlap((r for of in error_spans.values() for r in of), texts, model)),
        ]
    if n:
        name = "this project" if everyone else f"the {format_count(n, 'segment')} you submitted"
        rows.append({"label": name} | service.overlap_json(of_project))
    if rows:
        lines.append(
            "Counted in characters without white space. Model: what the stored refinement removed from the output, in whole "
            "words; insertions count no character. Annotators: Major and Minor error spans in submitted segments. Each "
            "annotator is compared with the model separately; the characters of all comparisons are summed."
        )
    return {"rows": rows, "lines": lines, "layers": layers, "raters": raters}


def marks_toggle(key: str) -> bool:
    """Draw the switch that shows the error spans of all annotators, with a warning while it is on."""
    help_text = "If off, you see error spans only in segments that you have submitted."
    everyone = st.toggle("Show error spans of all annotators", key=key, help=help_text)
    if everyone:
        st.warning(
            "Error spans of all annotators are shown in every segment. Do not look if you still have to annotate in this "
            "project: it would bias your labels.",
            icon=":material/visibility:",
        )
    return everyone


ALIGNMENT_KEY = "alignment"


def draw_alignment(project: Project, view: View, shown: SegmentQuery) -> None:
    """Draw the choices (output, other text, matcher) and, once an output is chosen, its sentences."""
    (segment, outputs), names = view.texts.segment(view.segments[shown.row]), names_of(view, shown)
    if not names:
        return
    by_name = {name: system for system, name in sorted(names.items(), key=lambda n: _natural(n[1]))}
    with st.container(horizontal=True, vertical_alignment="bottom", key="alignment-tools"):
        name = _chosen(
            f"alignment-of-{project.id}", list(by_name), lambda options, key: st.pills(
                "Align the sentences of", options, format_func=escape_markdown, key=key,
                help="How each sentence of an output matches the sentences of a reference or the source (SMART).",
            ),
        )  # fmt: skip
        if name is None:
            return
        texts = targets(segment)
        if texts:
            against = _chosen(
                f"alignment-against-{project.id}", list(texts), lambda options, key: st.selectbox("Against", options, key=key, width=170)
            )  # fmt: skip
            matcher = st.selectbox(
                "Similarity measured with", MATCHERS, format_func=MATCHERS.__getitem__, key=f"alignment-by-{project.id}", width=190
            )  # fmt: skip
    if not texts:
        page.info("This segment has no reference and no source to compare an output with.")
        return
    text = outputs[by_name[name]]
    with errors.boundary():
        aligned = _aligned(text, texts[str(against)], matcher)
        data = payload(aligned) | {
            "name": name,
            "against": against,
            "the": against if str(against)[-1:].isdigit() else f"the {against}",
            "matcher": matcher,
            "matched": MATCHERS[matcher]
            + (f" ({configured_facts('encoder')['model']})" if matcher == EMBEDDING else ""),
            "good": GOOD[matcher],
        }
        alignment(data, key=ALIGNMENT_KEY)


def _chosen(key: str, options: list[str], widget: Callable[[list[str], str], str | None]) -> str | None:
    """Return the choice in the widget; a choice that this segment does not offer is reset."""
    if st.session_state.get(key) not in options:
        st.session_state.pop(key, None)
    return widget(options, key)


def _natural(name: str) -> list[tuple[bool, int, str]]:
    """Return a sort key that puts M2 before M10."""
    return [(p.isdecimal(), int(p[:18]) if p.isdecimal() else 0, p) for p in re.split(r"(\d+)", name)]


@st.cache_resource(max_entries=64, ttl=1800, show_spinner="Matching sentences …")
def _aligned(output: str, target: str, matcher: str) -> Alignment:
    return align(output, target, matcher, no_progress)
