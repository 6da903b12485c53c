"""User-defined weight schemes: built from a table, named, versioned and stored as JSON values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter

from core.errors import UserError
from core.mqm.schemes import ANY, SCHEMES, Scheme, WeightRule
from core.mqm.typology import MQM, Typology

ANYTHING = "any"
"""Stands for all severities or all categories in the table."""


def categories(base: Scheme, typology: Typology = MQM) -> tuple[str, ...]:
    """Return the categories a rule can have: any, all of the typology and their groups, and those of `base`."""
    tree = [name for c in typology.categories for name in dict.fromkeys((c.path.split("/")[0], c.path))]
    named = [r.category for r in base.rules if r.category]
    return tuple(dict.fromkeys((ANYTHING, *tree, *named)))


def table(scheme: Scheme) -> list[dict[str, Any]]:
    """Return the rules as rows: severity, category, weight."""
    return [
        {"severity": r.severity or ANYTHING, "category": r.category or ANYTHING, "weight": r.weight}
        for r in scheme.rules
    ]


def made(
    name: str, rows: Iterable[Mapping[str, Any]], *, non_translation: float | None, known: Sequence[Scheme] = ()
) -> Scheme:
    """Return the scheme made of these rows only.

    A scheme in `known` with the same name and weights is returned unchanged; otherwise the version is one more than the highest
    of that name. Raises `UserError` for a row without severity, category or weight, duplicate rows, a negative weight, no
    rows, and the name of a built-in scheme, because signatures must be unambiguous.
    """
    rules: dict[tuple[str, str], WeightRule] = {}
    for number, row in enumerate(rows, 1):
        severity, category, weight = (row.get(k) for k in ("severity", "category", "weight"))
        if not severity or not category or not isinstance(weight, int | float) or weight != weight:
            raise UserError("a weight needs a severity, a category and a number", where=f"row {number}")
        rule = WeightRule(_name(severity), _name(category), float(weight))
        if rule.errors in rules:
            raise UserError("two rows are for the same errors", where=f"row {number}", got=f"{severity}, {category}")
        rules[rule.errors] = rule
    if not any(r.severity for r in rules.values()):
        raise UserError(
            "a scheme needs a weight for at least one severity", hint="Add a row for Major and one for Minor"
        )
    if not name.strip() or name.strip().lower() in SCHEMES:
        raise UserError(
            "an edited scheme needs a name of its own",
            got=repr(name),
            expected=f"a name other than {', '.join(SCHEMES)}",
        )
    found = Scheme(name.strip(), 1, tuple(rules.values()), non_translation)
    versions = {s.version: s for s in known if s.name == found.name}
    same = next((s for s in versions.values() if _weights(s) == _weights(found)), None)
    return same or replace(found, version=max(versions, default=0) + 1)


def _name(written: object) -> str:
    return ANY if written == ANYTHING else str(written)


def _weights(scheme: Scheme) -> tuple[dict[tuple[str, str], float], float | None]:
    return {r.errors: r.weight for r in scheme.rules}, scheme.non_translation


_FORM = TypeAdapter(Scheme)


def to_json(scheme: Scheme) -> dict[str, Any]:
    """Return the scheme as JSON values."""
    values: dict[str, Any] = _FORM.dump_python(scheme, mode="json")
    return values


def from_json(stored: Mapping[str, Any]) -> Scheme:
    """Return the scheme stored by `to_json`. Raises `UserError` for invalid weights, and `ValueError` for other values."""
    return _FORM.validate_python(dict(stored))
