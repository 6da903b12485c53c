"""The model configured for each job, and what is missing where there is none."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import streamlit as st

from core.metrics.embedding import mauve
from core.metrics.readiness import ConfiguredModel, Readiness
from core.metrics.registry import specs
from core.models import prepared
from core.models.checkpoint import Checkpoint
from core.models.kinds import is_set
from pages._ui.models import preparing
from pages._ui.shared import page, wiring
from pages._ui.shared.markdown import escape_markdown, with_doc_links


def lacks(found: Mapping[str, Readiness], roles: Sequence[ConfiguredModel]) -> dict[Readiness, list[str]]:
    """Return what metrics lack besides a configured model, with the labels of the metrics."""
    told = {player.lacking for player in roles}
    groups: dict[Readiness, list[str]] = {}
    known = specs() | {mauve.SPEC.name: mauve.SPEC}
    for name, one in found.items():
        if one.state != "ready" and one not in told:
            groups.setdefault(one, []).append(known[name].label if name in known else name)
    return groups


def facts(model: Checkpoint) -> str:
    """Return the type, layers and width of a model, read from its files without loading them."""
    try:
        config = json.loads((model.path / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    layers = [config.get(key) for key in ("encoder_layers", "decoder_layers") if config.get(key)]
    layers = layers or [config[key] for key in ("num_hidden_layers", "n_layer", "num_layers") if config.get(key)][:1]
    width = next((config[key] for key in ("d_model", "hidden_size", "n_embd") if config.get(key)), None)
    kind = config.get("model_type")
    said = [kind, layers and f"{' + '.join(map(str, layers))} layers", width and f"width {width:,}"]
    return ", ".join(str(part) for part in said if part)


def megabytes(size: int) -> str:
    """Return a size in bytes as text: 15.5 MB, 1.4 GB."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


def card(player: ConfiguredModel) -> None:
    """Draw the model configured for a job, or how to set one, and the metrics that use it."""
    role, model = player.kind, player.checkpoint
    using = [spec.label for spec in specs().values() if role.name in spec.needs]
    used_by = f"Used by {escape_markdown(', '.join(using) or 'metrics whose options select it')}."
    st.markdown(f"**{escape_markdown(role.words[:1].upper() + role.words[1:])}**  :gray-badge[{role.name}]")
    if model is None:
        set_up = f"Suggested: {escape_markdown(role.model)} · {role.size} · {role.licence}"
        missing = player.lacking.words if player.lacking.state == "unreadable" else "weights missing"
        badge, why = (missing, with_doc_links(player.lacking.reason)) if player.chosen else ("not configured", set_up)
        st.markdown(f":orange-badge[{badge}] {why}")
        can_set_up = role.is_prepared and wiring.identity().manager
        st.caption(used_by if can_set_up else f"{used_by} {with_doc_links(sentence(player.lacking.note))}".strip())
        if player.chosen:
            st.caption(f"Set by `{role.variable}`." if is_set(role.name) else "Set up on this page.")
        if role.is_prepared and not is_set(role.name):
            preparing.steps(role)
        elif can_set_up and Path(player.chosen).expanduser().is_dir():
            preparing.checked_and_tested(role, preparing.of_path(role, player.chosen))
        elif player.lacking.command:
            st.code(preparing.for_this_machine(player.lacking.command), language=None, wrap_lines=True)
        return
    marks = (" :orange-badge[bundled]" if model.bundled else "") + (" :orange-badge[small]" if model.note else "")
    st.markdown(f"{escape_markdown(model.name)}{marks}")
    about = " · ".join(part for part in (f"revision {model.revision}", megabytes(player.size), facts(model)) if part)
    page.caption(f"{about}\n{model.note}" if model.note else about)
    st.caption(used_by)
    ready = None if is_set(role.name) else prepared.all_prepared().get(role.name)
    if ready:
        preparing.tested(role, ready, model.revision)
    with st.expander("Use another model", icon=":material/swap_horiz:"):
        if ready:
            preparing.steps(role)
            return
        if role.is_prepared:
            st.markdown(
                f"`{role.variable}` names this model. Set it to another folder or to the name of a model that you fetched from the model "
                "hub, or unset it: then another model can be fetched, tested and used here."
            )
            return
        st.markdown(
            f"Set `{role.variable}` before you start Errorscope: a folder with a checkpoint in safetensors, or the name of one "
            "that you downloaded from the model hub. The model is part of the signature of a score: scores of another model "
            "are computed and stored separately."
        )
        st.code(preparing.for_this_machine(role.command), language=None, wrap_lines=True)
        if role.name == "seq2seq":
            st.markdown(
                "BARTScore, BARTScore++ and Prism share this setting: another model replaces it for all of them. Prism needs a "
                "multilingual translation model such as M2M100."
            )
            st.markdown("To train one on your own pairs:")
            st.code("python -m tools.train_bart_mini --help", language=None)


def sentence(text: str) -> str:
    """Return a clause as a sentence, or ""."""
    return f"{text[0].upper()}{text[1:].removesuffix('.')}." if text else ""


def other_lacks(groups: Mapping[Readiness, list[str]]) -> None:
    """Draw what some metrics lack besides a configured model: another kind of model, or a package."""
    if not groups:
        return
    st.subheader("Other missing requirements", anchor=False)
    for one, labels in groups.items():
        with st.container(border=True):
            st.markdown(f"**{escape_markdown(', '.join(labels))}**  :orange-badge[{one.words}]")
            page.caption(f"{sentence(one.reason)} {sentence(one.note)}".strip())
            if one.command:
                st.code(preparing.for_this_machine(one.command), language=None, wrap_lines=True)
