"""The choices of the set-up screen, stored with a draft so that its set-up can be continued another day."""

from __future__ import annotations

from typing import Any, NamedTuple

from core.ports.campaigns import Campaign
from core.ports.store import Store
from core.services.campaigns.setup_design import DEFAULTS, Choices

SETTING = "campaign_setup"
_REPEATED = "tutorial_keys/"
"""Choices with this prefix repeat the keys of `tutorial`, and are no plain values."""
_COMPUTED = ("name", "title", "names", "typology")
"""Choices whose usual value is none of `DEFAULTS`."""


def settings_of(choices: Choices) -> dict[str, Any]:
    """Return the setting of the texts project that keeps the choices, and what was the default of the others."""
    usual = {k: v for k, v in DEFAULTS.items() if k not in _COMPUTED}
    return {SETTING: {k: v for k, v in {**usual, **choices}.items() if not k.startswith(_REPEATED)}}


class SavedDraft(NamedTuple):
    """A draft and the choices from which it was made."""

    campaign: Campaign
    choices: Choices


def of_draft(store: Store, campaign: Campaign) -> SavedDraft | None:
    """Return what continues the set-up of a draft. None if the campaign was started, or made without the set-up screen."""
    stored = store.settings.get(campaign.texts, SETTING) if campaign.state == "draft" else None
    if stored is None:
        return None
    return SavedDraft(campaign, {k: tuple(v) if isinstance(v, list) else v for k, v in stored.items()})
