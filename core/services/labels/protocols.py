"""The protocol and the error typology by which a project is labelled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import TypeAdapter

from core.campaigns.protocol import PROTOCOLS, Protocol
from core.mqm.typology import MQM, TYPOLOGIES, Typology, from_json, to_json
from core.ports.labels import Ask
from core.ports.store import Store

TYPOLOGY_SETTING = "typology"
OWN = "own"


def typology_of(store: Store, project_id: int) -> Typology:
    """Return the typology that annotators of this project use: MQM unless another one was chosen."""
    stored = store.settings.get(project_id, TYPOLOGY_SETTING) or {}
    return from_json(stored) if "categories" in stored else TYPOLOGIES.get(stored.get("name", ""), MQM)


def use_bundled_typology(store: Store, project_id: int, name: str) -> Typology:
    """Make a bundled typology that of a project, and return it."""
    store.settings.put(project_id, TYPOLOGY_SETTING, {"name": name})
    return TYPOLOGIES[name]


def use_typology(
    store: Store,
    project_id: int,
    base: Typology,
    severities: Iterable[Mapping[str, Any]],
    categories: Iterable[Mapping[str, Any]],
) -> Typology:
    """Make `base` the typology of a project, with these definitions; labels keep their categories.

    If they differ from those of `base`, the typology is stored as the project's own. Raises `UserError` for rows that cannot
    be used.
    """
    edited = from_json(to_json(base) | {"severities": list(severities), "categories": list(categories)})
    if edited == base and base.name in TYPOLOGIES:
        return use_bundled_typology(store, project_id, base.name)
    title = base.title if base.name == OWN else f"{base.title}, edited"
    own = from_json(to_json(edited) | {"name": OWN, "title": title})
    store.settings.put(project_id, TYPOLOGY_SETTING, to_json(own))
    return own


PROTOCOL_SETTING = "protocol"
_FORM = TypeAdapter(Protocol)


def protocol_of(store: Store, project_id: int) -> Protocol:
    """Return the protocol of this project, with its error typology."""
    stored = store.settings.get(project_id, PROTOCOL_SETTING)
    protocol = _FORM.validate_python(stored) if stored else PROTOCOLS["mqm"]
    return protocol.edited(typology=typology_of(store, project_id))


def is_protocol_stored(store: Store, project_id: int) -> bool:
    """Return whether a protocol was chosen for this project, as in a campaign."""
    return bool(store.settings.get(project_id, PROTOCOL_SETTING))


def asked_of(store: Store, project_id: int) -> tuple[Ask, ...]:
    """Return what annotators of this project are asked."""
    return tuple((store.settings.get(project_id, PROTOCOL_SETTING) or {}).get("asks", ("spans",)))


def protocol_settings(protocol: Protocol) -> dict[str, Any]:
    """Return the settings of a project that is labelled by this protocol, by name."""
    return {PROTOCOL_SETTING: _FORM.dump_python(protocol, mode="json"), TYPOLOGY_SETTING: to_json(protocol.typology)}
