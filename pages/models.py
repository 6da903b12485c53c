"""Models: every metric and whether it can run here, the model in each role, and how this installation is set up."""

from __future__ import annotations

import platform
from collections.abc import Mapping

import streamlit as st

from core.metrics import readiness
from core.metrics.readiness import Player, Readiness
from core.settings import Settings
from core.settings import load as settings
from pages._ui import models_parts as parts
from pages._ui import models_presets, tables, wiring
from pages._ui.errors import plain

PACKAGES = ("streamlit", "sqlalchemy", "sacrebleu", "rouge-score", "torch", "transformers")
ACROSS = 2


def main() -> None:
    """Draw the page."""
    wiring.store()
    st.title("Models", anchor=False)
    found, players = readiness.of_all() | readiness.of_sets(), readiness.players()
    first, second, third = st.tabs(
        [":material/straighten: Metrics", ":material/record_voice_over: Who speaks", ":material/dns: This installation"]
    )
    with first:
        metrics(found)
    with second:
        speakers(found, players)
    with third:
        installation(settings())


def metrics(found: Mapping[str, Readiness]) -> None:
    """Every metric of the registry: can it run, what it needs, how to read it."""
    counted = {state: n for state, n in readiness.counts(found).items() if n}
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    state = left.segmented_control(
        "Show", list(counted), key="models-state", label_visibility="collapsed",
        format_func=lambda one: f"{readiness.WORDS[one]} {counted[one]}",
    )  # fmt: skip
    words = right.text_input(
        "Search",
        key="models-words",
        placeholder="Search metrics",
        label_visibility="collapsed",
        icon=":material/search:",
    )
    rows = parts.metric_rows(found, state, words)
    if rows:
        st.html(parts.table(rows, found))
    else:
        st.info("No metric has all of these words.", icon=":material/search_off:")
    st.caption(
        "↑ higher is better, ↓ lower is better. A value that is missing is never counted as 0: it says what it lacks. "
        "Dashed: the role of a model; who plays it, and the command that fills it, stands under *Who speaks*."
    )
    with st.expander("Options: what can be set, and how it is written", icon=":material/tune:"):
        st.caption(
            "Set them where you score, or on the command line as name|option:value, in quotes. A metric with other options "
            "is a metric of its own, scored beside the plain one."
        )
        st.code(
            'python -m core score outputs.csv --metrics "chrf,bartscore++|k:5|rounds:8" --out scores.csv',
            language="shell",
        )
        tables.reading(parts.options(), tall=len(parts.options()))
    with st.expander("Signatures: everything a score depends on", icon=":material/fingerprint:"):
        signed = [{"metric": n, "signature": one.signature} for n, one in found.items() if one.signature]
        tables.reading(signed, tall=len(signed))


def speakers(found: Mapping[str, Readiness], players: list[Player]) -> None:
    """One card a role, two in a row, those with a player first; then what else is lacking."""
    st.caption(
        "Metrics that need a model ask for it by its role. Nothing is downloaded while Errorscope runs, and no model "
        "stands in for another: a role without a player leaves its metrics waiting, and they say so."
    )
    ordered = sorted(players, key=lambda player: player.checkpoint is None)
    for first in range(0, len(ordered), ACROSS):
        for column, player in zip(st.columns(ACROSS), ordered[first : first + ACROSS], strict=False):
            with column.container(border=True, height="stretch", key=f"role-{player.role.name}"):
                card(player)
                models_presets.draw(player.role.name)
    other_lacks(parts.lacks(found, players))


def card(player: Player) -> None:
    """Who plays a role, or what it takes to fill it, and which metrics listen."""
    role, model = player.role, player.checkpoint
    listening = ", ".join(parts.speaks_in(role.name)) or "metrics that are set to use it"
    st.markdown(f"**{plain(role.words[:1].upper() + role.words[1:])}**  :gray-badge[{role.name}]")
    if model is None:
        set_up = f"{plain(role.model)} · {role.size} · {role.licence}"
        st.markdown(f":orange-badge[nobody plays] {plain(player.lacking.reason) if player.chosen else set_up}")
        st.caption(
            f"For {plain(listening)}." + (f" {plain(sentence(player.lacking.note))}" if player.lacking.note else "")
        )
        if player.lacking.command:
            st.code(player.lacking.command, language="shell", wrap_lines=True)
        if player.chosen:
            st.caption(f"Set by `{role.variable}`.")
        return
    marks = (" :orange-badge[bundled]" if model.bundled else "") + (" :orange-badge[small]" if model.note else "")
    st.markdown(f"{plain(model.name)}{marks}")
    told = (f"revision {model.revision}", parts.megabytes(player.size), parts.facts(model))
    st.caption(plain(" · ".join(part for part in told if part)) + (f"  \n{plain(model.note)}" if model.note else ""))
    st.caption(f"For {plain(listening)}.")
    with st.expander("Use another", icon=":material/swap_horiz:"):
        st.markdown(
            f"Set `{role.variable}` before the start: a folder with a checkpoint in safetensors, or the name of one "
            "fetched from the model hub before. Scores carry the model in their signature: another model is another "
            "signature, scored anew beside the old."
        )
        st.code(role.command, language="shell", wrap_lines=True)
        if role.name == "seq2seq":
            st.markdown("One can be trained on pairs of your own:")
            st.code("python -m core.models.train_bart_mini --help", language="shell")


def sentence(text: str) -> str:
    """A clause as a sentence of its own, or nothing."""
    return f"{text[0].upper()}{text[1:].removesuffix('.')}." if text else ""


def other_lacks(groups: Mapping[Readiness, list[str]]) -> None:
    """What some metrics lack though their role has a player, or beside it: another kind of model, or a package."""
    if not groups:
        return
    st.subheader("Waiting for something else", anchor=False)
    for one, labels in groups.items():
        with st.container(border=True):
            st.markdown(f"**{plain(', '.join(labels))}**  :orange-badge[{one.words}]")
            st.caption(plain(f"{sentence(one.reason)} {sentence(one.note)}".strip()))
            if one.command:
                st.code(one.command, language="shell", wrap_lines=True)


def installation(chosen: Settings) -> None:
    """Where things are kept, and which versions run."""
    rows = [
        ("Database", parts.hidden(chosen.database), "ERRORSCOPE_DB"),
        ("Folder for database and logs", str(chosen.home), "ERRORSCOPE_HOME"),
        ("Device", chosen.device, "ERRORSCOPE_DEVICE"),
        ("Number format of the encoder–decoder", chosen.dtype, "ERRORSCOPE_DTYPE"),
        ("Languages of a multilingual one", chosen.languages, "ERRORSCOPE_LANGUAGES"),
        ("Prompt lists", str(chosen.prompts or "mt alone, built in"), "ERRORSCOPE_PROMPTS"),
        ("Scoring worker", chosen.worker, "ERRORSCOPE_WORKER"),
        ("Errorscope", parts.own_version(), ""),
        ("Python", platform.python_version(), ""),
        *((name, parts.installed(name), "") for name in PACKAGES),
    ]
    tables.reading([{"what": w, "is": v or "not set", "set by": by} for w, v, by in rows], tall=len(rows))


main()
