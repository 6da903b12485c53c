"""Make a fetched model ready for use: the commands that fetch it, its files, conversion and test with progress."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from secrets import token_hex

import streamlit as st

from core.errors import UserError
from core.models import folders, prepared
from core.models.folders import OTHERS, FileCheck, ModelFolder
from core.models.kinds import ModelKind
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


def steps(kind: ModelKind) -> None:
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


def _folder(kind: ModelKind, found: list[ModelFolder]) -> ModelFolder | None:
    """Draw the choice of the folder, and return it checked; None if there is none yet."""
    paths = {str(one.path): one for one in found}
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
    return f"{icon} **{escape_markdown(file.name)}**: {escape_markdown(file.found)}{expected}"


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
