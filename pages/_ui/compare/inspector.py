"""The inspector below the cards: one output, its token probabilities, the tries of this session, and error spans."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import streamlit as st

from core.data import OutputKey, Segment, SegmentKey, Value
from core.errors import UserError
from core.formatting import format_count
from core.metrics.generation.bartscore import DIRECTIONS, model_facts
from core.ports.projects import Project
from core.refine.inspect import Round
from core.refine.result import Refinement
from core.services.compare import inspector as service
from core.services.compare.inspector import LONGEST, TRIES, Try
from core.services.compare.segment import SegmentQuery, names_of, status_of
from core.services.projects.view import Column, View
from core.signature import fields_of
from pages._ui.annotate import identity
from pages._ui.compare import labels, marks, model_rounds
from pages._ui.components.inspector import inspector
from pages._ui.components.shared import last
from pages._ui.shared import errors

KEY = "inspector"
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


def panel(project: Project, view: View, main: Column, shown: SegmentQuery, details: Mapping[str, Value]) -> None:
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
    inspector(data, key=KEY, on_close=close)


def stage(
    project: Project, main: Column, segment: Segment, key: OutputKey, text: str, analysis: Refinement
) -> dict[str, Any]:
    """Return rounds and tries under the configured model."""
    against, condition = service.condition_of(segment, analysis)
    options, facts = service.options_of(main.signature), model_facts()
    told = repr((project.id, key, analysis.variant, condition, facts))
    mine = hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:16]  # a name that gives no system away
    desk = desk_of(mine)
    known = None if service.another_model(main.signature, facts) else analysis.steps
    small = len(analysis.steps) * len(analysis.tokens) <= AT_ONCE["anew" if known is None else "known"]
    asked = bool(last(KEY, "replay", mine))
    if replay := small or desk.replayed or asked:
        rounds = model_rounds.rounds(facts, text, condition, analysis.variant, options, known)
    else:
        rounds = (model_rounds.look(facts, text, condition, analysis.variant, options.k),)
    desk = score_attempts(mine, desk._replace(replayed=replay), rounds, condition, analysis, options.k)
    st.session_state[DESKS][mine] = desk
    return {
        "key": mine,
        "against": f"{'' if against[-1:].isdigit() else 'the '}{against} ({DIRECTIONS[analysis.variant]}; an arrow points from the given text to the scored one)",
        "condition": condition,
        "notes": notes(main.signature, facts, analysis, rounds if replay else None),
        "rounds": service.rounds_json(rounds, int(last(KEY, "at", mine).get("round", 0))),
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
    again = int(last(KEY, "again", mine).get("n", 0))
    if again > desk.emptied:
        desk = desk._replace(tries=(), emptied=again, answered=max(desk.answered, again), refused=None)
    for asked in last(KEY, "attempts", mine).get("list", []):
        n, origin, text = int(asked["n"]), str(asked["base"]), str(asked["text"])
        if n <= desk.answered:
            continue
        base = service.base_of(origin, rounds, desk.tries)
        if base is None or len(text) > LONGEST:
            why = "the text is too long" if base else "its starting text no longer exists; try again"
            desk = desk._replace(answered=n, refused=(n, f"not scored: {why}"))
            continue
        after = model_rounds.look(model_facts(), text, condition, analysis.variant, k)
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
    signature: str, here: Mapping[str, object], analysis: Refinement, rounds: tuple[Round, ...] | None
) -> list[str]:
    """Return warnings about comparing these numbers with those on the card."""
    out = []
    prompted = fields_of(signature).get("prompt", "none") != "none"
    if other := service.another_model(signature, here):
        out.append(
            f"The card was scored by {other}; the configured model is {here['model']} ({here['rev']}). The steps and your own edits "
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
    rater, everyone = identity.rater(), labels.everyone(project)
    by_system = view.texts.segment(key.segment)[1]
    found = marks.of_segment(project, key.segment, by_system, rater, everyone)
    whole, n = marks.overlap(project, main.signature, rater, everyone)
    rows, lines, layers, raters = [], [], None, 0
    if marks.seen(project, rater, everyone).hides(key.segment):
        lines.append("Error spans in this segment stay hidden until you have submitted it yourself, to avoid bias.")
    else:
        mine, model = found.get(key, []), marks.edits(project, main.signature, key.segment)
        texts = {OutputKey(system, *key.segment): text for system, text in by_system.items()}
        raters = len(mine)
        layers = service.layers_json(texts[key], analysis.refined, mine)
        rows = [
            {"label": "this output"} | service.overlap_json(service.overlap(mine, texts, model)),
            {"label": "this segment, all outputs"}
            | service.overlap_json(service.overlap((r for of in found.values() for r in of), texts, model)),
        ]
    if n:
        name = "this project" if everyone else f"the {format_count(n, 'segment')} you submitted"
        rows.append({"label": name} | service.overlap_json(whole))
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
