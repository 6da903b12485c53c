"""The inspector below the cards: which output it shows, what the model says of it, the tries of this session, whose marks."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import streamlit as st

from core.data import OutputKey, Segment, SegmentKey, Value
from core.errors import UserError
from core.metrics.bartscore import DIRECTIONS, model_facts
from core.ports import Project
from core.refine.inspect import Round
from core.refine.result import Refinement
from core.services import inspector as service
from core.services.inspector import LONGEST, TRIES, Try
from core.services.segment import Shown, names_of, status_of
from core.services.view import Column, View
from pages._ui import errors, identity, wiring
from pages._ui.inspector import answer, inspector

KEY = "inspector"
OPENED = "inspector-opened"
DESKS = "inspector-desks"
AT_ONCE = {"known": 5_000, "anew": 600}
"""Edits × sub-words of a refinement that is replayed without being asked: along the stored trace, or done anew."""


class Opened(NamedTuple):
    project_id: int
    segment: SegmentKey
    system: str
    n: int


class Desk(NamedTuple):
    """What a session did with one output: tries, newest first, the last number worked through, and whether it was replayed."""

    tries: tuple[Try, ...] = ()
    answered: int = 0
    emptied: int = 0
    replayed: bool = False
    refused: tuple[int, str] | None = None


def opened(project_id: int, segment: SegmentKey) -> str | None:
    """The system whose output of this segment is in the inspector."""
    now: Opened | None = st.session_state.get(OPENED)
    return now.system if now and (now.project_id, now.segment) == (project_id, segment) else None


def choose(project_id: int, segment: SegmentKey, names: Mapping[str, str], asked: Mapping[str, Any]) -> None:
    """Open the output of the card that was clicked; on the one that is open already, close it. For callbacks."""
    system = next((s for s, name in names.items() if name == asked["id"]), None)
    if system is None or system == opened(project_id, segment):
        close()
    else:
        st.session_state[OPENED] = Opened(project_id, segment, system, int(asked["n"]))


def close() -> None:
    st.session_state.pop(OPENED, None)


def panel(project: Project, view: View, main: Column, shown: Shown, details: Mapping[str, Value]) -> None:
    """The inspector, if it is open on an output that is shown; a segment that is left closes it."""
    segment, names = view.segments[shown.row], names_of(view, shown)
    system = opened(project.id, segment.key)
    value = details.get(system) if system in names else None
    if system is None or value is None or value.detail is None:
        close()
        return
    key, analysis = OutputKey(system, *segment.key), Refinement.from_json(value.detail)
    data: dict[str, Any] = {"name": names[system], "opened": st.session_state[OPENED].n}
    try:
        data |= stage(project, main, segment, key, view.texts[key], analysis)
    except UserError as error:
        errors.show(error)
        return
    status, why = status_of(value, scored=True, reference=True)
    data |= {"status": status, "why": why, "overlap": overlap(project, view, main, key, analysis)}
    inspector(data, key=KEY, on_close=close)
    marks_toggle(project)


def stage(
    project: Project, main: Column, segment: Segment, key: OutputKey, text: str, analysis: Refinement
) -> dict[str, Any]:
    """Rounds and tries under the model that is here."""
    against, condition = service.condition_of(segment, analysis)
    options, facts = service.options_of(main.signature), model_facts()
    told = repr((project.id, key, analysis.variant, condition, facts))
    mine = hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:16]  # a name that gives no system away
    desk = desk_of(mine)
    known = None if service.another_model(main.signature, facts) else analysis.steps
    small = len(analysis.steps) * len(analysis.tokens) <= AT_ONCE["anew" if known is None else "known"]
    asked = bool(answer(KEY, "replay", mine))
    if replay := small or desk.replayed or asked:
        rounds = wiring.rounds(text, condition, analysis.variant, options, known)
    else:
        rounds = (wiring.look(text, condition, analysis.variant, options.k),)
    desk = worked(mine, desk._replace(replayed=replay), rounds, condition, analysis, options.k)
    st.session_state[DESKS][mine] = desk
    return {
        "key": mine,
        "against": f"{'' if against[-1:].isdigit() else 'the '}{against} ({DIRECTIONS[analysis.variant]})",
        "condition": condition,
        "notes": notes(main.signature, facts, analysis, rounds if replay else None),
        "rounds": service.rounds_json(rounds, int(answer(KEY, "at", mine).get("round", 0))),
        "complete": replay,
        "edits": len(analysis.steps),
        "tries": [
            service.try_json(t) | {"number": len(desk.tries) - i, "base": called(t.base, rounds, desk.tries)}
            for i, t in enumerate(desk.tries)
        ],
        "answered": desk.answered,
        "refused": {str(desk.refused[0]): desk.refused[1]} if desk.refused else {},
    }


def desk_of(mine: str) -> Desk:
    """What this session did with the output before; only the last few outputs are remembered."""
    desks: dict[str, Desk] = st.session_state.setdefault(DESKS, {})
    while len(desks) > 8:
        del desks[next(iter(desks))]
    return desks.get(mine, Desk())


def worked(mine: str, desk: Desk, rounds: tuple[Round, ...], condition: str, analysis: Refinement, k: int) -> Desk:
    """Score what the browser asked for and has no answer to yet."""
    again = int(answer(KEY, "again", mine).get("n", 0))
    if again > desk.emptied:
        desk = desk._replace(tries=(), emptied=again, answered=max(desk.answered, again), refused=None)
    for asked in answer(KEY, "attempts", mine).get("list", []):
        n, origin, text = int(asked["n"]), str(asked["base"]), str(asked["text"])
        if n <= desk.answered:
            continue
        base = service.base_of(origin, rounds, desk.tries)
        if base is None or len(text) > LONGEST:
            why = "it is too long" if base else "the text it comes from is gone; try again"
            desk = desk._replace(answered=n, refused=(n, f"not scored: {why}"))
            continue
        after = wiring.look(text, condition, analysis.variant, k)
        desk = desk._replace(answered=n, refused=None, tries=(Try(n, origin, base, after), *desk.tries)[:TRIES])
    return desk


def called(base: str, rounds: tuple[Round, ...], tries: tuple[Try, ...]) -> str:
    if base == "r0":
        return "the output"
    if base[0] == "r":
        return "the refined text" if int(base[1:]) == len(rounds) - 1 else f"round {base[1:]}"
    number = next((len(tries) - i for i, t in enumerate(tries) if f"t{t.n}" == base), None)
    return f"try {number}" if number else "an older try"


def notes(
    signature: str, here: Mapping[str, object], analysis: Refinement, rounds: tuple[Round, ...] | None
) -> list[str]:
    """What people should know before they compare these numbers with others."""
    out = []
    prompted = service.facts_of(signature).get("prompt", "none") != "none"
    if other := service.another_model(signature, here):
        out.append(
            f"The card was scored by {other}; the model here is {here['model']} ({here['rev']}). Rounds and tries below "
            "are its own: do not compare their numbers with those of the card."
        )
    elif rounds and service.departs(analysis, rounds, prompted=prompted):
        out.append(
            "Replayed here, the refinement comes out otherwise than the one stored on the card (other versions of the "
            "libraries, or another machine): do not compare their numbers."
        )
    if prompted:
        out.append("The scores on the card are means over prompts; those here are without, as refinement itself runs.")
    if analysis.truncated:
        out.append("Longer than the model reads: only the beginning was judged.")
    return out


def overlap(project: Project, view: View, main: Column, key: OutputKey, analysis: Refinement) -> dict[str, Any]:
    """The drawing and the figures, as far as this person may see marks; nothing of hidden ones leaves the server."""
    rater, everyone = identity.rater(), bool(st.session_state.get(toggle_key(project.id)))
    found = service.marks(
        wiring.store(), project.id, wiring.dataset(project), rater, everyone=everyone, segment=key.segment
    )
    whole, n = wiring.overlap(project, main.signature, rater, everyone)
    rows, lines, layers, raters = [], [], None, 0
    if key.segment in found.hidden:
        lines.append(
            "Marks in this segment stay hidden until you have labelled and submitted it yourself, so that nobody is led by others."
        )
    else:
        mine, model = found.by_output.get(key, []), wiring.edits(project, main.signature)
        raters = len(mine)
        layers = service.layers_json(view.texts[key], analysis.refined, mine)
        rows = [
            {"label": "this output"} | service.overlap_json(service.overlap(mine, view.texts, model)),
            {"label": "this segment, all outputs"}
            | service.overlap_json(service.overlap(found.of_segment(key.segment), view.texts, model)),
        ]
    if n:
        name = "this project" if everyone else f"the {n} segment{'s' if n > 1 else ''} you submitted"
        rows.append({"label": name} | service.overlap_json(whole))
    if rows:
        lines.append(
            "Counted in characters, white space left out. Model: what the stored refinement took away from the output, "
            "in whole words; an insertion marks no character. People: Major and Minor marks in the output, of submitted "
            "segments; each rater is compared with the model separately, and the characters of all comparisons are summed."
        )
    return {"rows": rows, "lines": lines, "layers": layers, "raters": raters}


def toggle_key(project_id: int) -> str:
    return f"inspector-marks-{project_id}"


def marks_toggle(project: Project) -> None:
    st.toggle(
        "Show marks of all raters",
        key=toggle_key(project.id),
        help="Off, you see marks only in segments that you have submitted yourself.",
    )
    if st.session_state.get(toggle_key(project.id)):
        st.warning(
            "Marks of all raters are shown, in every segment. This breaks blindness: whoever still has to annotate in "
            "this project should not look.",
            icon=":material/visibility:",
        )
