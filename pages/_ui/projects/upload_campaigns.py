"""Files of finished campaigns among label files: what they are, and the page that reads them completely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from shlex import quote

import streamlit as st

from core.errors import PROGRAM
from core.formats.campaigns.recognised import BATCHES, recognised
from core.formats.files import Upload
from core.services.campaigns.exporting import FORMATS
from pages._ui.campaigns import address
from pages._ui.shared import page
from pages._ui.shared.markdown import escape_markdown


def only(files: Sequence[Upload], formats: Mapping[str, str | None]) -> bool:
    """Say which files are those of campaigns, with a button to their page; return whether one is in no label format (`formats`)."""
    found = {f.name: name for f in files if (name := recognised(f))}
    if not found:
        return False
    closed = [name for name in found if formats.get(name) is None]
    lines = [f"{_named(name, kind)}." for name, kind in found.items()]
    lines.append(
        "*Import a finished campaign* on *Campaigns* imports the labels, and shows checks, ranking, agreement and times. On the command "
        f"line: `{_command(closed[0], found[closed[0]])}`."
        if closed
        else "Only its labels are imported here. *Import a finished campaign* on *Campaigns* shows checks, ranking, agreement and times too."
    )
    page.info(" ".join(lines))
    if st.button("Import a finished campaign", icon=page.icon("campaigns"), key="upload-campaign"):
        st.switch_page("pages/campaigns.py", query_params={address.CAMPAIGN: address.IMPORT})
    return bool(closed)


def _command(name: str, kind: str) -> str:
    """Return the command that says what a file contains."""
    given = "SCORES.csv" if kind == BATCHES else quote(name.replace("`", ""))
    texts = quote(name.replace("`", "")) if kind == BATCHES else "BATCHES.json"
    appraise = kind in (BATCHES, "appraise")
    shown = f"{PROGRAM} campaign analyse {given} --format {'appraise' if appraise else kind}"
    return f"{shown} --texts {texts}" if appraise else shown


def _named(name: str, kind: str) -> str:
    shown = f"**{escape_markdown(name)}**"
    if kind == BATCHES:
        return f"{shown} has the texts of an Appraise campaign"
    return f"{shown} has the ratings of a campaign ({FORMATS[kind].label}, `{kind}`)"
