"""Every perturbation and every noise by name, imported on use. A new one is a declaration in its family's file and one line here."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module

from core.errors import unknown
from core.stress.base import Perturbation
from core.stress.noise.base import Noise

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
"""Module of `core.stress.noise` and name in it."""

NOISE_TYPES: tuple[str, ...] = tuple(NOISES)[:18]
"""The 18 types of Table 16, fluency first."""


@cache
def load(name: str) -> Perturbation:
    """The perturbation of a name. Raises UserError for a name that is not there."""
    if name not in PERTURBATIONS:
        raise unknown("perturbation", name, PERTURBATIONS)
    module, _, attribute = PERTURBATIONS[name].partition(":")
    found: Perturbation = getattr(import_module(module), attribute)
    return found


@cache
def noise(name: str) -> Noise:
    """The noise of a name. Raises UserError for a name that is not there."""
    if name not in NOISES:
        raise unknown("noise", name, NOISES)
    module, _, attribute = NOISES[name].partition(":")
    found: Noise = getattr(import_module(f"core.stress.noise.{module}"), attribute)
    return found


def chosen(names: Iterable[str]) -> list[Perturbation]:
    """The perturbations of several names, each once, in the order given. Raises UserError."""
    return [load(name) for name in dict.fromkeys(names)]


def every() -> list[Perturbation]:
    """All of them, in the order of the registry."""
    return chosen(PERTURBATIONS)


def noises(names: Iterable[str] = NOISES) -> list[Noise]:
    """The noises of several names, each once, in the order given; all of them by default. Raises UserError."""
    return [noise(name) for name in dict.fromkeys(names)]
