"""Every perturbation by name, imported on use. A new one is a declaration in its family's file and one line here."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from importlib import import_module

from core.errors import UserError
from core.stress.base import Perturbation

PERTURBATIONS: dict[str, str] = {
    "addition": "core.stress.addition:NOUN",
    "omission": "core.stress.omission:OMISSION",
    "name": "core.stress.names:NAME",
    "negation": "core.stress.negation:NEGATION",
    "number": "core.stress.numbers:NUMBER",
    "pronoun": "core.stress.pronouns:PRONOUN",
    "adjective": "core.stress.adjectives:ADJECTIVE",
    "noun": "core.stress.nouns:NOUN",
    "verb": "core.stress.verbs:VERB",
    "typo": "core.stress.typos:TYPO",
    "jumble": "core.stress.jumble:JUMBLE",
    "agreement": "core.stress.agreement:AGREEMENT",
    "added-fact": "core.stress.addition:FACT",
}

MENLI: tuple[str, ...] = (
    "addition", "omission", "name", "negation", "number", "pronoun", "adjective", "noun", "verb",
    "typo", "jumble", "agreement",
)  # fmt: skip
"""The twelve phenomena of the published adversarial suite."""


@cache
def load(name: str) -> Perturbation:
    """The perturbation of a name. Raises UserError for a name that is not there."""
    place = PERTURBATIONS.get(name)
    if place is None:
        near = get_close_matches(name, PERTURBATIONS, n=2)
        raise UserError(
            f"there is no perturbation “{name}”",
            expected="one of " + ", ".join(PERTURBATIONS),
            hint=f"Did you mean {' or '.join(near)}?" if near else "",
        )
    module, _, attribute = place.partition(":")
    found: Perturbation = getattr(import_module(module), attribute)
    return found


def chosen(names: Iterable[str]) -> list[Perturbation]:
    """The perturbations of several names, each once, in the order given. Raises UserError."""
    return [load(name) for name in dict.fromkeys(names)]


def every() -> list[Perturbation]:
    """All of them, in the order of the registry."""
    return chosen(PERTURBATIONS)
