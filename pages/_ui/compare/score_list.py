"""A list of segments or outputs on Compare with their scores; selecting a row opens it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd
import streamlit as st

from core.columns import Array
from core.formatting import MISSING
from core.services.compare.compare import hint_at
from core.services.projects.view import Column
from pages._ui.shared import errors, tables

TEXT = 160
"""Characters of a text that are shown."""


def draw(
    frame: pd.DataFrame,
    text: str,
    scores: Iterable[tuple[Column, Array]],
    lam: float,
    key: str,
    opened: Callable[[int], None],
) -> None:
    """Draw the rows of `frame` with a column per score. `text` names its column of texts; `opened` gets the index of a row.

    The browser formats the numbers: Streamlit refuses styled tables of many thousand rows.
    """
    config = {text: st.column_config.TextColumn(width="large")}
    shown = frame.assign(**{text: frame[text].str[:TEXT]})
    for c, values in scores:
        title = f"{c.label} {c.arrow}".strip()
        shown[title] = values
        config[title] = st.column_config.NumberColumn(
            format=f"%.{max(1, c.digits)}f",
            help=tables.help_on_missing(hint_at(c, lam), missing=bool(np.isnan(values).any())),
        )

    @errors.guarded
    def chosen() -> None:
        for at in st.session_state[key]["selection"]["rows"][:1]:
            opened(at)

    st.dataframe(
        shown, hide_index=True, width="stretch", height=320, key=key, on_select=chosen, selection_mode="single-row",
        column_config=config, placeholder=MISSING,
    )  # fmt: skip
