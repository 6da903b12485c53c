"""Declaration of a perturbation. Each family has its own module; `core.perturbations.registry` lists them by name.

A perturbation either changes a text and reports where, or refuses and says why. A wrong perturbation would count
against a metric that scores it correctly.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from core.english.analysis import ParsedText, parse_text
from core.text.edits import Change, Edit, Outcome, Refused, changed

PerturbationKind = Literal["adequacy", "fluency"]


@dataclass(frozen=True, slots=True)
class Perturbation:
    """One phenomenon, as used by suites, listings, documentation and the common property tests.

    `name` is the key in the registry, `phenomenon` the display name. `kind` says whether meaning or language is damaged.
    Increase `version` when the same seed gives another text.
    """

    name: str
    phenomenon: str
    kind: PerturbationKind
    help: str
    change: Callable[[str, Random], Outcome]
    version: int = 1

    def perturb(self, text: str, seed: int = 0) -> Outcome:
        """Return the perturbed text, or the reason for refusing. The result depends only on seed, text, name and
        version, and a change always differs from the text."""
        return self.change(text, seeded(seed, self.name, self.version, text))


def seeded(seed: int, name: str, version: int, text: str) -> Random:
    """Return the generator of a perturbation or noise for one text. It does not depend on the strength of a noise, so that a
    stronger noise can contain the weaker one."""
    key = "\x00".join((str(seed), name, str(version), text)).encode("utf-8", "surrogatepass")
    return Random(int.from_bytes(hashlib.sha256(key).digest()[:8], "big"))


def english(make: Callable[[ParsedText, Random], Outcome | Sequence[Edit]]) -> Callable[[str, Random], Outcome]:
    """Return a perturbation of texts from one of parsed English. `make` returns edits or refuses."""

    def change(text: str, random: Random) -> Outcome:
        parsed = parse_text(text)
        if isinstance(parsed, Refused):
            return parsed
        made = make(parsed, random)
        return made if isinstance(made, (Change, Refused)) else changed(text, made)

    return change
