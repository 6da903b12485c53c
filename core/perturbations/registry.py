"""Registry of perturbations and noises by name, imported on use. To add one, declare it in its family's module and add
one line here."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module

from core.errors import unknown
from core.perturbations.base import Perturbation
from core.perturbations.noise.base import Noise

PERTURBATIONS: dict[str, str] = {
    "addition": "core.perturbations.addition:NOUN",
    "omission": "core.perturbations.omission:OMISSION",
    "name": "core.perturbations.names:NAME",
    "negation": "core.perturbations.negation:NEGATION",
    "number": "core.perturbations.numbers:NUMBER",
    "pronoun": "core.perturbations.pronouns:PRONOUN",
    "adjective": "core.perturbations.adjectives:ADJECTIVE",
    "noun": "core.perturbations.nouns:NOUN",
    "verb": "core.perturbations.verbs:VERB",
    "typo": "core.perturbations.typos:TYPO",
    "jumble": "core.perturbations.jumble:JUMBLE",
    "agreement": "core.perturbations.agreement:AGREEMENT",
    "added-fact": "core.perturbations.addition:FACT",
}

MENLI: tuple[str, ...] = (
    "addition", "omission", "name", "negation", "number", "pronoun", "adjective", "noun", "verb",
    "typo", "jumble", "agreement",
)  # fmt: skip
"""The twelve phenomena of the published adversarial suite."""


NOISES: dict[str, str] = {
    "truncation": "truncation:TRUNCATION",
    "article-removal": "removal:ARTICLES",
    "preposition-removal": "removal:PREPOSITIONS",
    "stopword-removal": "removal:STOPWORDS",
    "verb-lemmatization": "lemmatization:VERBS",
    "token-drop": "tokens:DROP",
    "repeated-token": "tokens:REPEAT",
    "local-swap": "swaps:LOCAL",
    "middle-swap": "swaps:MIDDLE",
    "noised-punctuation": "punctuation:PUNCTUATION",
    "sentence-switching": "sentences:SWITCHING",
    "sentence-replacement": "sentences:REPLACEMENT",
    "negated-sentences": "negated:NEGATION",
    "generic-entity": "entities:GENERIC",
    "entity-switching": "entities:SWITCHING",
    "verb-switching": "parts:VERBS",
    "noun-switching": "parts:NOUNS",
    "diverge": "diverge:DIVERGE",
    "positioned-random": "positioned:RANDOM",
    "positioned-shuffle": "positioned:SHUFFLE",
    "injection": "injection:INJECTION",
    "frequent-4gram": "frequent:FOUR",
    "frequent-3gram": "frequent:THREE",
    "repetition": "repetition:REPETITION",
    "copy-source": "copy_source:COPY",
}
"""Module within `core.perturbations.noise` and name of the declaration."""

NOISE_TYPES: tuple[str, ...] = tuple(NOISES)[:18]
"""The 18 types of Table 16, fluency first."""


@cache
def load(name: str) -> Perturbation:
    """Return the perturbation of this name. Raises UserError for an unknown name."""
    if name not in PERTURBATIONS:
        raise unknown("perturbation", name, PERTURBATIONS)
    module, _, attribute = PERTURBATIONS[name].partition(":")
    found: Perturbation = getattr(import_module(module), attribute)
    return found


@cache
def noise(name: str) -> Noise:
    """Return the noise of this name. Raises UserError for an unknown name."""
    if name not in NOISES:
        raise unknown("noise", name, NOISES)
    module, _, attribute = NOISES[name].partition(":")
    found: Noise = getattr(import_module(f"core.perturbations.noise.{module}"), attribute)
    return found


def chosen(names: Iterable[str]) -> list[Perturbation]:
    """Return the perturbations of these names in order, without duplicates. Raises UserError."""
    return [load(name) for name in dict.fromkeys(names)]


def every() -> list[Perturbation]:
    """Return all perturbations in registry order."""
    return chosen(PERTURBATIONS)


def noises(names: Iterable[str] = NOISES) -> list[Noise]:
    """Return the noises of these names in order, without duplicates; all by default. Raises UserError."""
    return [noise(name) for name in dict.fromkeys(names)]
