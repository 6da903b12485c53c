"""A folder in mt-metrics-eval's layout: the language pair, the role of each text file, and what the other files hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from core.errors import PROGRAM
from core.formats.files import Upload
from core.formats.given_roles import files_of
from core.services.projects.importing import ImportPlan, plan_pair
from pages._ui.projects import upload_lines
from pages._ui.shared import drafts
from pages._ui.shared.markdown import escape_markdown


def choose(planned: ImportPlan, files: Sequence[Upload], key: str) -> ImportPlan:
    """Draw the choice of the language pair and how its files are read; return the plan that was chosen."""
    if len(planned.pairs) > 1:
        pair = st.selectbox(
            "Language pair", planned.pairs, key=drafts.kept(f"{key}-pair", fits=planned.pairs.__contains__)
        )
        planned = plan_pair([f.name for f in files], pair)
    if planned.mtme is None:
        return planned
    by_name = {f.name: f for f in files}
    texts = [by_name[name] for name in files_of(planned.mtme.roles)]
    roles, wrong = upload_lines.roles(planned.mtme.roles, texts, f"{key}-{planned.mtme.pair}")
    lines = [
        f"- **{what[0].upper()}{what[1:]}**: {escape_markdown(names)}" for what, names in planned.mtme.scores_as_read()
    ]
    st.markdown("\n".join(lines))
    if planned.mtme.human_systems or planned.mtme.metric_systems:
        st.caption(f"Scores of systems (.sys.score) are not imported. `{PROGRAM} evaluate --mtme` compares them.")
    if references := planned.mtme.reference_systems:
        st.caption(
            f"{escape_markdown(', '.join(references))}: both a reference and a system. *Meta-evaluation* leaves such systems out unless you "
            "choose otherwise, as mt-metrics-eval does."
        )
    return replace(planned, mtme=replace(planned.mtme, roles=roles), problems=(*planned.problems, *wrong))
