"""The error typology of a project: one of the bundled ones, or an edited one that is stored with the project."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from core.mqm.typology import MQM, TYPOLOGIES, Typology, from_json, to_json
from core.ports.store import Store

SETTING = "typology"
OWN = "own"


def of_project(store: Store, project_id: int) -> Typology:
    """Return the typology that annotators of this project use: MQM unless another one was chosen."""
    stored = store.settings.get(project_id, SETTING) or {}
    return from_json(stored) if "categories" in stored else TYPOLOGIES.get(stored.get("name", ""), MQM)


def choose_bundled(store: Store, project_id: int, name: str) -> Typology:
    """Make a bundled typology that of a project, and return it."""
    store.settings.put(project_id, SETTING, {"name": name})
    return TYPOLOGIES[name]


def choose(
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
        return choose_bundled(store, project_id, base.name)
    title = base.title if base.name == OWN else f"{base.title}, edited"
    own = from_json(to_json(edited) | {"name": OWN, "title": title})
    store.settings.put(project_id, SETTING, to_json(own))
    return own
