"""Registry of perturbations and noises by name, imported on use. To add one, declare it in its family's module and add
one line here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from core.errors import unknown
from core.perturbations.base import Perturbation
from core.perturbations.noise.base import Noise

PERTURBATIONS: dict[str, str] = {
    "addition": "addition:NOUN",
    "omission": "omission:OMISSION",
    "name": "names:NAME",
    "negation": "negation:NEGATION",
    "number": "numbers:NUMBER",
    "pronoun": "pronouns:PRONOUN",
    "adjective": "mismatch:ADJECTIVE",
    "noun": "mismatch:NOUN",
    "verb": "mismatch:VERB",
    "typo": "spelling:TYPO",
    "jumble": "spelling:JUMBLE",
    "agreement": "agreement:AGREEMENT",
    "added-fact": "addition:FACT",
}
"""Module within `core.perturbations` and name of the declaration."""
MENLI: tuple[str, ...] = tuple(PERTURBATIONS)[:12]
"""The twelve phenomena of the published adversarial suite."""


NOISES: dict[str, str] = {
    "truncation": "noise.cuts:TRUNCATION",
    "article-removal": "noise.removal:ARTICLES",
    "preposition-removal": "noise.removal:PREPOSITIONS",
    "stopword-removal": "noise.removal:STOPWORDS",
    "verb-lemmatization": "noise.verbs_and_nouns:LEMMAS",
    "token-drop": "noise.cuts:DROP",
    "repeated-token": "noise.cuts:REPEAT",
    "local-swap": "noise.swaps:LOCAL",
    "middle-swap": "noise.swaps:MIDDLE",
    "noised-punctuation": "noise.cuts:PUNCTUATION",
    "sentence-switching": "noise.sentences:SWITCHING",
    "sentence-replacement": "noise.sentences:REPLACEMENT",
    "negated-sentences": "negation:SENTENCES",
    "generic-entity": "names:GENERIC",
    "entity-switching": "names:SWITCHING",
    "verb-switching": "noise.verbs_and_nouns:VERBS",
    "noun-switching": "noise.verbs_and_nouns:NOUNS",
    "diverge": "noise.diverge:DIVERGE",
    "positioned-random": "noise.positioned:RANDOM",
    "positioned-shuffle": "noise.positioned:SHUFFLE",
    "injection": "noise.special:INJECTION",
    "frequent-4gram": "noise.special:FOUR",
    "frequent-3gram": "noise.special:THREE",
    "repetition": "noise.special:REPETITION",
    "copy-source": "noise.special:COPY",
}

NOISE_TYPES: tuple[str, ...] = tuple(NOISES)[:18]
"""The 18 types of Table 16, fluency first."""


def _declared(what: str, name: str, places: Mapping[str, str]) -> Any:
    if name not in places:
        raise unknown(what, name, places)
    module, _, attribute = places[name].partition(":")
    return getattr(import_module(f"core.perturbations.{module}"), attribute)


@cache
def load_perturbation(name: str) -> Perturbation:
    """Return the perturbation of this name. Raises UserError for an unknown name."""
    declared: Perturbation = _declared("perturbation", name, PERTURBATIONS)
    return declared


@cache
def noise(name: str) -> Noise:
    """Return the noise of this name. Raises UserError for an unknown name."""
    declared: Noise = _declared("noise", name, NOISES)
    return declared


def chosen(names: Iterable[str] = PERTURBATIONS) -> list[Perturbation]:
    """Return the perturbations of these names in order, without duplicates; all by default. Raises UserError."""
    return [load_perturbation(name) for name in dict.fromkeys(names)]


def noises(names: Iterable[str] = NOISES) -> list[Noise]:
    """Return the noises of these names in order, without duplicates; all by default. Raises UserError."""
    return [noise(name) for name in dict.fromkeys(names)]
