"""Which campaign, or which step of the set-up, is open: in the address of the page."""

from __future__ import annotations

import streamlit as st

from pages._ui.shared import state

CAMPAIGN, STEP = "campaign", "step"
NEW, IMPORT, RATINGS = "new", "import", "ratings"


def opened() -> tuple[str | None, str | None]:
    """Return the open campaign (its id, `NEW` for the set-up, `IMPORT`, `RATINGS`, or None for the list) and the open step. For pages."""
    return st.query_params.get(CAMPAIGN), st.query_params.get(STEP)


def open_campaign(campaign_id: int) -> None:
    """Open a campaign in the next run."""
    state.change_address(campaign=str(campaign_id), step=None, tab=None)


def open_step(step: str, draft_id: int | None = None) -> None:
    """Open a step of the set-up of a new campaign, or of a draft, in the next run."""
    state.change_address(campaign=NEW if draft_id is None else str(draft_id), step=step, tab=None)


def open_import() -> None:
    """Open the import of a finished campaign in the next run."""
    state.change_address(campaign=IMPORT, step=None, tab=None)


def open_ratings() -> None:
    """Open the results of ratings outside campaigns in the next run."""
    state.change_address(campaign=RATINGS, step=None, tab=None)


def open_list() -> None:
    """Open the list of campaigns in the next run."""
    state.change_address(campaign=None, step=None, tab=None)
