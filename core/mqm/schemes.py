"""Named, versioned weight schemes: the penalty of each error; published ones, and user-defined ones.

`google` is the scheme of Freitag et al. 2021 as released with mt-metrics-eval. `marot` gives source errors and
creative reinterpretation a weight of 0, like the Marot viewer. `flat` uses the severity only.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from core.errors import UserError
from core.mqm.typology import MQM, Typology, is_non_translation, plain
from core.signature import signature

ANY = ""


class WeightRule(NamedTuple):
    """The weight of errors of `severity` in `category` and its subcategories; "" stands for any.

    The rule with the deepest category applies; on ties, one with a named severity.
    """

    severity: str
    category: str
    weight: float

    @property
    def errors(self) -> tuple[str, str]:
        """Return severity and category in the form in which they are compared."""
        return plain(self.severity), plain(self.category)


@dataclass(frozen=True, slots=True)
class Scheme:
    """Weights ≥ 0 (penalties).

    A Non-translation error has the penalty `non_translation` at any severity and replaces the rater's other errors on that
    output.
    """

    name: str
    version: int
    rules: tuple[WeightRule, ...]
    non_translation: float | None = 25.0

    def __post_init__(self) -> None:
        costs = [r.weight for r in self.rules] + ([] if self.non_translation is None else [self.non_translation])
        if bad := [c for c in costs if not (math.isfinite(c) and c >= 0)]:
            raise UserError(
                "a weight must be a number of 0 or more", where=f"weight scheme {self.name}", got=str(bad[0])
            )

    @property
    def severities(self) -> tuple[str, ...]:
        """Return the severities of the scheme, as spelled in its rules."""
        return tuple(dict.fromkeys(r.severity for r in self.rules if r.severity))

    def weight(self, severity: str, category: str) -> float:
        """Return the penalty of one error. Raises `UserError` for an unknown severity."""
        if self.non_translation is not None and is_non_translation(category):
            return self.non_translation
        known = plain(severity) in {plain(s) for s in self.severities}
        path = plain(category)
        fits = [
            (rule.category.count("/") + 1 if rule.category else 0, rule.severity != ANY, rule.weight)
            for rule in self.rules
            if plain(rule.severity) in (ANY, plain(severity)) and _below(path, plain(rule.category))
        ]
        if not known or not fits:
            raise UserError(
                "there is no weight for this severity",
                where=f"weight scheme {self.name}",
                got=repr(severity),
                expected=", ".join(self.severities),
                hint="Correct the label, or add a rule for this severity to the scheme",
            )
        return max(fits)[2]

    def signature(self) -> str:
        """Return the signature, such as `mqm|scheme:google|v:2`; a user-defined scheme adds a hash of its rules."""
        options: dict[str, object] = {"scheme": self.name, "v": self.version}
        if SCHEMES.get(self.name) != self:
            rules = json.dumps([self.rules, self.non_translation], ensure_ascii=False)
            options["rules"] = hashlib.sha256(rules.encode()).hexdigest()[:8]
        return signature("mqm", options)


def _below(path: str, ancestor: str) -> bool:
    return not ancestor or path == ancestor or path.startswith(ancestor + "/")


SEVERITY_RULES = (WeightRule("Major", ANY, 5.0), WeightRule("Minor", ANY, 1.0), WeightRule("Neutral", ANY, 0.0))
_PUNCTUATION = ("Linguistic conventions/Punctuation", "Fluency/Punctuation")
"""Minor punctuation: in the typology of MQM 2.0, whose names Appraise uses, and in Google's."""
GOOGLE = Scheme("google", 2, (*SEVERITY_RULES, *(WeightRule("Minor", category, 0.1) for category in _PUNCTUATION)))
_NO_PENALTY = ("Source error", "Source issue", "Accuracy/Creative reinterpretation")
MAROT = Scheme("marot", 2, (*GOOGLE.rules, *(WeightRule(ANY, category, 0.0) for category in _NO_PENALTY)))
FLAT = Scheme("flat", 1, SEVERITY_RULES, non_translation=None)
SCHEMES: dict[str, Scheme] = {s.name: s for s in (GOOGLE, MAROT, FLAT)}


def scheme(name: str) -> Scheme:
    """Return the built-in scheme of that name. Raises `UserError` with the known names for an unknown one."""
    built_in = SCHEMES.get(name.strip().lower())
    if built_in is None:
        raise UserError("there is no such weight scheme", got=repr(name), expected=", ".join(SCHEMES))
    return built_in


ANYTHING = "any"
"""Stands for all severities or all categories in the table."""


def categories(base: Scheme, typology: Typology = MQM) -> tuple[str, ...]:
    """Return the categories a rule can have: any, all of the typology and their groups, and those of `base`."""
    tree = [name for c in typology.categories for name in dict.fromkeys((c.path.split("/")[0], c.path))]
    named = [r.category for r in base.rules if r.category]
    return tuple(dict.fromkeys((ANYTHING, *tree, *named)))


def scheme_table(scheme: Scheme) -> list[dict[str, Any]]:
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
    scheme = Scheme(name.strip(), 1, tuple(rules.values()), non_translation)
    versions = {s.version: s for s in known if s.name == scheme.name}
    same = next((s for s in versions.values() if _weights(s) == _weights(scheme)), None)
    return same or replace(scheme, version=max(versions, default=0) + 1)


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
