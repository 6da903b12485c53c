"""The configured judges on the Models page, or how to configure one."""

from __future__ import annotations

import streamlit as st

from core.errors import UserError
from core.judges import probe
from core.judges.endpoints import EXAMPLE, FILE, HOSTS, VARIABLE
from core.judges.probe import JudgeState
from core.metrics.registry import specs
from pages._ui.shared import errors, page
from pages._ui.shared.markdown import escape_markdown, with_doc_links


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
            _draw(state)
        page.caption(f"Used by {using}.")
        if not states:
            st.code(f'{VARIABLE}="{EXAMPLE}" make run', language=None, wrap_lines=True)
        st.caption(
            with_doc_links(f"{FILE} names a file with several judges and with metrics of your own: docs/judges.md.")
        )


def _draw(state: JudgeState) -> None:
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
