"""The model configured for each job, checkpoints that papers name, and the judges."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from secrets import token_hex

import streamlit as st

from core.errors import UserError
from core.judges import probe
from core.judges.endpoints import EXAMPLE, FILE, HOSTS, VARIABLE
from core.judges.probe import JudgeState
from core.metrics.embedding import mauve
from core.metrics.readiness import ConfiguredModel, Readiness
from core.metrics.registry import specs
from core.models import folders, prepared
from core.models.checkpoint import OF_KIND, UNKNOWN, Checkpoint
from core.models.configs import ModelKind, is_set
from core.models.folders import OTHERS, FileCheck, ModelFolder
from core.models.prepared import PreparedModel
from core.progress import Progress
from core.services.models import preparing
from pages._ui.shared import errors, long_jobs, page, wiring
from pages._ui.shared.markdown import escape_markdown, with_doc_links

ANOTHER = "Another folder"
_STARTED = "errorscope_prepared"


def for_this_machine(command: str) -> str:
    """Return commands with the path of `hf` in this installation, where its environment is not the one of the shell."""
    own = Path(sys.executable).with_name("hf")
    return "\n".join(
        f"{shlex.quote(str(own))} {line[3:]}" if line.startswith("hf ") and own.is_file() else line
        for line in command.splitlines()
    )


def draw_preparation(kind: ModelKind) -> None:
    """Draw how to get a model ready: the commands, the folder with its files, and the button that converts and tests it."""
    if not wiring.identity().manager:
        st.caption("A manager of the server sets it up, here or with these commands:")
        st.code(kind.command, language=None, wrap_lines=True)
        return
    st.markdown("**1 · Fetch the model**")
    st.code(for_this_machine("\n".join(kind.fetch(kind.folder))), language=None, wrap_lines=True)
    others = OTHERS.get(kind.name, ())
    instead = f" Without references: `{others[0]}` instead, into a folder of its own." if others else ""
    st.caption(
        f"Run this on the machine of the server. It fetches {kind.size} from the model hub, licence {kind.licence}.{instead} "
        + with_doc_links("The steps are explained in docs/models.md#fetch-convert-and-test-a-model.")
    )
    st.markdown("**2 · Check its files**")
    checked_and_tested(kind, _folder(kind, folders.found_folders(kind.name)))


def checked_and_tested(kind: ModelKind, chosen: ModelFolder | None) -> None:
    """Draw the files of a folder, and the button that converts and tests the model in it."""
    if chosen is None:
        return
    _files(chosen)
    if chosen.usable:
        st.markdown(f"**3 · {'Convert and test' if chosen.pickled else 'Test'}**")
        _convert_and_test(kind, chosen)


def _folder(kind: ModelKind, model_folders: list[ModelFolder]) -> ModelFolder | None:
    """Draw the choice of the folder, and return it checked; None if there is none yet."""
    paths = {str(one.path): one for one in model_folders}
    if not paths:
        nothing = f"Nothing in {_short(str(prepared.models_folder()))} looks like {kind.words} yet."
        with st.container(horizontal=True, vertical_alignment="center"):
            page.caption(nothing)
            st.button("Look again", key=f"look-{kind.name}", icon=":material/refresh:")
    elif (
        path := st.selectbox(
            "Folder", [*paths, ANOTHER], key=f"folder-{kind.name}", format_func=_short, label_visibility="collapsed"
        )
    ) != ANOTHER:
        return paths[path]
    label = "Folder with the model" if paths else "If it is in another folder"
    typed = st.text_input(label, key=f"typed-{kind.name}", placeholder=str(kind.folder)).strip()
    return of_path(kind, typed) if typed else None


def of_path(kind: ModelKind, path: str) -> ModelFolder | None:
    """Return a folder checked; None, with a message on the page, if there is no such folder."""
    try:
        return folders.model_folder(kind.name, path)
    except UserError as error:
        errors.show(error)
        return None


def _short(path: str) -> str:
    """Return a path with ~ for the home folder."""
    home = str(Path.home())
    return f"~{path[len(home) :]}" if path.startswith(home + os.sep) else path


def _files(chosen: ModelFolder) -> None:
    """Draw what each file is, and the next step for those that are not fine."""
    st.markdown("  \n".join(map(_line, chosen.files)))
    for todo in dict.fromkeys(file.todo for file in chosen.files if file.todo):
        st.markdown(f"Next: {escape_markdown(todo[:1].lower() + todo[1:])}{':' if todo == folders.FETCH else '.'}")
        commands = dict.fromkeys(file.command for file in chosen.files if file.todo == todo and file.command)
        if commands:
            st.code(for_this_machine("\n".join(commands)), language=None, wrap_lines=True)


def _line(file: FileCheck) -> str:
    icon = ":green[:material/check_circle:]" if file.fine else ":red[:material/error:]"
    expected = "" if file.fine else f"; expected {escape_markdown(file.expected)}"
    return f"{icon} **{escape_markdown(file.name)}**: {escape_markdown(file.got)}{expected}"


def _convert_and_test(kind: ModelKind, chosen: ModelFolder) -> None:
    """Draw the button, then progress, and what is wrong with the model; a model that is fine is shown by its card."""
    target = _short(str(preparing.converted_into(chosen)))
    what = (
        f"Reads only the numbers of the pickle, and writes model.safetensors into {target}. " if chosen.pickled else ""
    )
    page.caption(
        f"{what}A good and a bad output are scored then. The model is used if the good one has the better score."
    )
    started: dict[str, tuple[str, str]] = st.session_state.setdefault(_STARTED, {})

    def start() -> None:
        started[kind.name] = (str(chosen.path), token_hex(4))

    label = "Convert, test and use" if chosen.pickled else "Test and use"
    st.button(label, key=f"prepare-{kind.name}", type="primary", on_click=start, icon=":material/play_arrow:")
    path, token = started.get(kind.name, ("", ""))
    if path != str(chosen.path):
        return
    words = "Converting and testing …" if chosen.pickled else "Testing …"
    done = long_jobs.run_cached(("prepare", kind.name, path, token), words, _work(chosen))
    if isinstance(done, UserError):
        errors.show(done)
    elif done is not None:
        del started[kind.name]
        st.rerun()


def _work(chosen: ModelFolder) -> Callable[[Progress], PreparedModel | UserError]:
    def work(progress: Progress) -> PreparedModel | UserError:
        try:
            return preparing.prepare(chosen, progress)
        except UserError as error:
            return error

    return work


def tested(kind: ModelKind, model: PreparedModel, revision: str) -> None:
    """Draw the scores by which a model was tested, what identifies it, and a button that stops its use."""
    good, bad, *differs = preparing.scores_in_words(model.tested)
    page.caption(f"Tested on {model.at:%-d %B %Y}: {good}; {bad}.")
    for line in differs:
        st.warning(escape_markdown(line), icon=":material/warning:")
    if revision != model.revision:
        st.warning("The files have changed since the test. Test the model again below.", icon=":material/warning:")
    with st.expander("Revision and digests", icon=":material/fingerprint:"):
        page.caption("\n".join([_short(model.folder), *preparing.facts_in_words(model)]))
    if wiring.identity().manager:
        st.button(
            "Stop using this model", key=f"stop-using-{kind.name}", on_click=errors.guarded(prepared.keep),
            args=(kind.name, None), help="Its files stay where they are, and so do its scores",
        )  # fmt: skip


def lacks(readiness_by_name: Mapping[str, Readiness], roles: Sequence[ConfiguredModel]) -> dict[Readiness, list[str]]:
    """Return what metrics lack besides a configured model, with the labels of the metrics."""
    shown_by_models = {player.lacking for player in roles}
    groups: dict[Readiness, list[str]] = {}
    known = specs() | {mauve.SPEC.name: mauve.SPEC}
    for name, one in readiness_by_name.items():
        if one.state not in ("ready", "judge") and one not in shown_by_models:
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
            draw_preparation(role)
        elif can_set_up and Path(player.chosen).expanduser().is_dir():
            checked_and_tested(role, of_path(role, player.chosen))
        elif player.lacking.command:
            st.code(for_this_machine(player.lacking.command), language=None, wrap_lines=True)
        return
    marks = (" :orange-badge[bundled]" if model.bundled else "") + (" :orange-badge[small]" if model.note else "")
    st.markdown(f"{escape_markdown(model.name)}{marks}")
    about = " · ".join(part for part in (f"revision {model.revision}", megabytes(player.size), facts(model)) if part)
    page.caption(f"{about}\n{model.note}" if model.note else about)
    st.caption(used_by)
    ready = None if is_set(role.name) else prepared.all_prepared().get(role.name)
    if ready:
        tested(role, ready, model.revision)
    with st.expander("Use another model", icon=":material/swap_horiz:"):
        if ready:
            draw_preparation(role)
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
        st.code(for_this_machine(role.command), language=None, wrap_lines=True)
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
                st.code(for_this_machine(one.command), language=None, wrap_lines=True)


def draw_presets(role: str) -> None:
    """Draw the presets for a job; nothing if there are none."""
    presets = OF_KIND.get(role, {}).values()
    if not presets:
        return
    with st.expander("Models named in papers", icon=":material/bookmarks:"):
        for p in presets:
            checkpoint = f"  \n{escape_markdown(p.checkpoint)}" if p.checkpoint else ""
            st.markdown(f"**{escape_markdown(p.label)}**  `{p.name}`{checkpoint}")
            size = "size unknown" if p.size == UNKNOWN else p.size
            licence = "licence unknown" if p.licence == UNKNOWN else f"licence {p.licence}"
            page.caption(" · ".join((p.model, p.languages, size, licence)))
            if p.note:
                st.caption(f"{escape_markdown(p.note[:1].upper() + p.note[1:])}.")
            if p.command:
                st.code(for_this_machine(p.command), language=None, wrap_lines=True)


def draw_judges() -> None:
    """Draw one line per judge: whether it is ready, where its texts go, and what its server can do."""
    with st.container(border=True, key="judges"):
        st.markdown("**Judges**  :gray-badge[judge]")
        try:
            states = probe.judge_states()
        except UserError as error:
            errors.show(error)
            return
        using = ", ".join(spec.label for spec in specs().values() if "judge" in spec.needs)
        if not states:
            st.markdown(
                ":orange-badge[not configured] A language model on a server that you start, on this machine by default."
            )
        for state in states:
            _judge(state)
        page.caption(f"Used by {using}.")
        if not states:
            st.code(f'{VARIABLE}="{EXAMPLE}" make run', language=None, wrap_lines=True)
        st.caption(
            with_doc_links(f"{FILE} names a file with several judges and with metrics of your own: docs/judges.md.")
        )


def _judge(state: JudgeState) -> None:
    judge, identity = state.endpoint, state.identity
    colour = "green" if identity else "orange"
    facts = [judge.form.model, judge.name, judge.authority]
    if judge.is_local or identity:
        facts.append("texts stay on this machine" if judge.is_local else f"texts are sent to {judge.host}")
    st.markdown(f":{colour}-badge[{state.words}] {' · '.join(map(escape_markdown, facts))}")
    if state.problem is not None:
        hint = f" {state.problem.hint}." if state.problem.hint and HOSTS not in state.problem.hint else ""
        got = f" ({state.problem.got})" if state.problem.got else ""
        st.caption(escape_markdown(f"{state.problem.what[:1].upper()}{state.problem.what[1:]}{got}.{hint}"))
        if HOSTS in state.problem.hint:
            st.code(f"{HOSTS}={judge.host}", language=None)
    if identity is not None:
        abilities = [
            "obeys JSON schemas" if identity.obeys_schema else "ignores JSON schemas: more replies may be unreadable",
            "gives token probabilities" if identity.has_logprobs else "gives no token probabilities",
            *([] if identity.counts_tokens else ["does not count the tokens of the prompt: it may cut long texts"]),
        ]  # fmt: skip
        fingerprint = f" · fingerprint {identity.fingerprint}" if identity.fingerprint else ""
        st.caption(escape_markdown(f"{'; '.join(abilities)} · revision {identity.rev(judge)}{fingerprint}"))
