"""The protocol by which a project is labelled: MQM, unless it has the texts of a campaign."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from core.campaigns.protocol import PROTOCOLS, Protocol
from core.mqm.typology import to_json
from core.ports.labels import Ask
from core.ports.store import Store
from core.services.labels import typologies

SETTING = "protocol"
_FORM = TypeAdapter(Protocol)


def of_project(store: Store, project_id: int) -> Protocol:
    """Return the protocol of this project, with its error typology."""
    stored = store.settings.get(project_id, SETTING)
    protocol = _FORM.validate_python(stored) if stored else PROTOCOLS["mqm"]
    return protocol.edited(typology=typologies.of_project(store, project_id))


def is_stored(store: Store, project_id: int) -> bool:
    """Return whether a protocol was chosen for this project, as in a campaign."""
    return bool(store.settings.get(project_id, SETTING))


def asked_of(store: Store, project_id: int) -> tuple[Ask, ...]:
    """Return what annotators of this project are asked."""
    return tuple((store.settings.get(project_id, SETTING) or {}).get("asks", ("spans",)))


def settings_of(protocol: Protocol) -> dict[str, Any]:
    """Return the settings of a project that is labelled by this protocol, by name."""
    return {SETTING: _FORM.dump_python(protocol, mode="json"), typologies.SETTING: to_json(protocol.typology)}
