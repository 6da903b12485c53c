"""Units on which annotators disagree: their versions side by side without names, and the decision."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.data import Span
from core.formatting import format_count, format_percent
from core.mqm.scores import errors_of
from core.ports.campaigns import Campaign
from core.ports.labels import Ask, OutputLabels, SegmentLabels
from core.ports.projects import Project
from core.services.campaigns import decisions
from core.services.campaigns.answers import key_of
from core.services.campaigns.decisions import DisputedUnit
from core.services.labels.labels import open_segment, shown_order
from pages._ui.annotate import identity
from pages._ui.campaigns import campaign_data
from pages._ui.components import marked_texts, span_editor
from pages._ui.labels_and_raters import labelled_output
from pages._ui.shared import drafts, errors, page, tables, wiring
from pages._ui.shared.markdown import escape_markdown


def draw_versions(campaign: Campaign, disputed: DisputedUnit, order: Sequence[str], *, choose: bool) -> int | None:
    """Draw source and versions; return the number of the version with which the person wants to begin."""
    texts = wiring.store().projects.document(campaign.texts, disputed.unit.name)
    written = {o.system: o.text for o in texts.outputs}
    source = texts.segments[0].source or ""
    asks = campaign_data.current(campaign).design.protocol.asks
    with st.container(border=True):
        labelled_output.captioned("Source", source)
        for number, system in enumerate(order, 1):
            apart = disputed.by_system[system].points
            scale = (
                f" · {format_count(round(apart), 'point')} apart on average"
                if "score" in asks and apart is not None
                else ""
            )
            st.caption(f"Output {number}{scale}")
            if "spans" in asks:
                columns = [
                    _column(i, v, system, asks, written[system], source) for i, v in enumerate(disputed.versions, 1)
                ]
                marked_texts(columns, key=f"versions-{campaign.id}-{disputed.unit.name}-{number}")
            else:
                st.text(written[system])
        if "spans" not in asks:
            tables.text_table([
                {"version": f"Version {i}", "answer": answer(v, order, asks)} for i, v in enumerate(disputed.versions, 1)
            ])  # fmt: skip
        if not choose:
            return None
        taken = None
        with st.container(horizontal=True):
            for i in range(len(disputed.versions)):
                label = f"Start from version {i + 1}"
                if st.button(
                    label, key=f"campaign-take-{campaign.id}-{disputed.unit.name}-{i}", icon=":material/content_copy:"
                ):
                    taken = i
        return taken


def _column(
    number: int, version: SegmentLabels, system: str, asks: Sequence[Ask], text: str, source: str
) -> dict[str, object]:
    labels = version.of(system)
    return labelled_output.column(f"Version {number}", _note(labels, asks), errors_of(labels, text), text, source)


def _note(labels: OutputLabels, asks: Sequence[Ask]) -> str:
    if "score" in asks and labels.score is not None:
        return f"score {labels.score:g}"
    return {"no_error": "no error", "non_translation": "non-translation"}.get(labels.verdict or "", "")


def answer(version: SegmentLabels, order: Sequence[str], asks: Sequence[Ask]) -> str:
    """Return a version without error spans in words; outputs have their numbers on the screen."""
    if "preference" in asks and version.preference:
        winner = version.preference[0]
        return "both equally good" if winner is None else f"Output {order.index(winner) + 1} is better"
    values = [(n, version.of(system).score) for n, system in enumerate(order, 1)]
    shown = [f"{score:g}" if len(order) == 1 else f"Output {n}: {score:g}" for n, score in values if score is not None]
    return ", ".join(shown)


def marked(name: str, text: str, labels: OutputLabels, asks: Sequence[Ask], planted: Sequence[Span], key: str) -> None:
    """Draw one output with an annotator's error spans, beside the planted errors if there are some."""
    columns = [labelled_output.column(name, _note(labels, asks), errors_of(labels, text), text, "")]
    if planted:
        columns.append(labelled_output.column("Planted error", "", planted, text, ""))
    if "spans" in asks or planted:
        marked_texts(columns, key=key)
    else:
        st.text(text)
        st.caption(escape_markdown(_note(labels, asks)))


DISAGREEMENT = (
    "The share in a title is the disagreement of a unit, from 0 % (the same labels) to 100 %. It combines how far the scores differ and "
    "how much of the marked text does not overlap. Of preferences it is 100 % if annotators prefer different outputs."
)


def draw_decisions(project: Project, campaign: Campaign) -> None:
    """Draw the queue and the chosen unit."""
    disputed = campaign_data.disputes(campaign)
    if not disputed:
        _nothing(campaign)
        return
    head = st.container()
    least = _least(campaign)
    queue = decisions.to_decide(disputed, least)
    left = sum(not d.decided_by for d in queue)
    with head:
        st.subheader(
            f"{format_count(left, 'unit')} to decide" if left else "All these disagreements are decided" if queue else "Nothing to decide",
            anchor=False, help="Units on which two or more annotators disagree. A decision replaces their labels in the results.",
        )  # fmt: skip
        if rest := len(disputed) - len(queue):
            less = (
                f"{format_count(rest, 'unit')} with less: {'its' if rest == 1 else 'their'} ratings count as they are"
            )
            page.caption(f"Units with at least {format_percent(least)} disagreement. {less}.")
    if not queue:
        return
    rater = _decider(campaign)
    unit = _choice(campaign, queue)
    workspace(campaign, unit.unit.name, rater)
    if rater is not None:
        identity.remember(rater)


def _least(campaign: Campaign) -> float:
    """Draw the choice of the disagreement from which on units are to be decided; return it, in [0, 1]. Preferences are equal or not."""
    usual = campaign_data.usual_least(campaign)
    if usual == 1:
        return usual
    percent = round(100 * usual)
    title = campaign_data.current(campaign).design.protocol.title
    chosen = st.number_input(
        "Decide from this disagreement on (%)", 1, 100, percent, step=5, width=260, key=drafts.kept(f"campaign-least-{campaign.id}", percent),
        help=f"{DISAGREEMENT} Usual for {escape_markdown(title)}: {percent} %. With 1 % every difference is to be decided.",
    )  # fmt: skip
    st.session_state[campaign_data.least_key(campaign)] = chosen / 100
    return chosen / 100


def _nothing(campaign: Campaign) -> None:
    counted = [a.unit.name for a in campaign_data.current(campaign).answers if a.counts]
    if len(counted) == len(set(counted)):
        page.info("No unit has labels by two annotators yet. Disagreements appear here as soon as there are some.")
    else:
        page.info("The annotators agree on every unit that two or more have labelled.")


def _decider(campaign: Campaign) -> str | None:
    """Return the name under which decisions are saved; None, with the reason, if the person cannot decide."""
    if not wiring.identity().may_label(campaign.project_id):
        page.info("Your role in this project does not include decisions. You can read the versions.")
        return None
    rater = identity.rater()
    if rater is None:
        return identity.ask(identity.DECIDE)
    if decisions.is_participant(wiring.store(), campaign, rater):
        page.info(
            f"**{escape_markdown(rater)}** labels in this campaign. Labels under this name are those of an annotator, so somebody else "
            "decides."
        )
        if wiring.identity().local:
            identity.switch(rater)
        return None
    return rater


def _choice(campaign: Campaign, queue: Sequence[DisputedUnit]) -> DisputedUnit:
    """Draw the choice of a unit; return the chosen one."""
    by_name = {d.unit.name: d for d in queue}
    names, key = list(by_name), chosen_key(campaign)
    chosen = st.session_state.get(key)
    if chosen not in by_name:
        chosen = _next_undecided(queue) or names[0]
    st.session_state[key] = chosen  # set anew in each run: else the box keeps the title from before a decision
    at = names.index(chosen)
    undecided = _next_undecided(queue, chosen)

    def go(name: str) -> None:
        st.session_state[key] = name

    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            "Unit, largest disagreement first", names, key=key, width=420, help=DISAGREEMENT,
            format_func=lambda name: _title(names.index(name) + 1, by_name[name]),
        )  # fmt: skip
        st.button("Previous", icon=":material/chevron_left:", on_click=go, args=(names[max(0, at - 1)],), disabled=at == 0,
                  key=f"campaign-previous-{campaign.id}")  # fmt: skip
        st.button("Next", icon=":material/chevron_right:", on_click=go, args=(names[min(at + 1, len(names) - 1)],),
                  disabled=at + 1 == len(names), key=f"campaign-next-{campaign.id}")  # fmt: skip
        if undecided:
            st.button("Next undecided", on_click=go, args=(undecided,), key=f"campaign-undecided-{campaign.id}")
    return by_name[chosen]


def _next_undecided(queue: Sequence[DisputedUnit], name: str = "") -> str | None:
    """Return the next unit without a decision after the one with this name, from the beginning if none follows it."""
    at = next((i for i, d in enumerate(queue) if d.unit.name == name), -1)
    return next((d.unit.name for d in (*queue[at + 1 :], *queue[: max(at, 0)]) if not d.decided_by), None)


def chosen_key(campaign: Campaign) -> str:
    return f"campaign-dispute-{campaign.id}"


def _title(number: int, of: DisputedUnit) -> str:
    parts = [f"{number}. {' · '.join(part for part in of.unit.of if part)}", f"{format_percent(of.size)} disagreement"]
    return " · ".join([*parts, "decided"] if of.decided_by else parts)


@st.fragment
@errors.guarded
def workspace(campaign: Campaign, name: str, rater: str | None) -> None:
    """Draw the versions and the editor of a unit. Changes in the editor redraw this part only."""
    store = wiring.store()
    queue = campaign_data.units_to_decide(campaign)
    disputed = next((d for d in queue if d.unit.name == name), None)
    if disputed is None or st.session_state.pop(_moved(campaign), False):
        st.rerun()
    unit = disputed.unit
    order: Sequence[str] = decisions.anonymous_order(unit)
    if rater is not None:
        opened = open_segment(store, campaign.texts, rater, key_of(unit.name), unit.systems)
        order = shown_order(opened.labels, unit.systems)
    if disputed.decided_by:
        st.success(f"Decided by {escape_markdown(disputed.decided_by)}. The decision counts in place of the versions below.", icon=":material/gavel:")  # fmt: skip
    taken = draw_versions(campaign, disputed, order, choose=rater is not None)
    if rater is None:
        return
    if taken is not None:
        decisions.take_version(store, campaign, rater, unit, disputed.versions[taken])
        st.toast(f"Version {taken + 1} is in the editor. Change what is wrong, then submit.")
    st.subheader("Your decision", anchor=False)
    more = _next_undecided(queue, name) is not None
    data = decisions.decision_page(store, campaign, rater, unit, more=more)

    def go(to: str) -> None:
        names = [d.unit.name for d in queue]
        at = names.index(name)
        if to in ("next", "unlabelled"):
            following = _next_undecided(queue, name) or names[min(at + 1, len(names) - 1)]
            st.session_state[chosen_key(campaign)] = following
        elif to == "previous":
            st.session_state[chosen_key(campaign)] = names[max(0, at - 1)]
        st.session_state[_moved(campaign)] = True

    span_editor(data | wiring.labels_route(), key=f"campaign-editor-{campaign.id}", on_go=go)


def _moved(campaign: Campaign) -> str:
    return f"campaign-moved-{campaign.id}"
