"""What a perturbation declares and does. One family a file; `core.stress.registry` finds them by name.

A perturbation either changes a text and says exactly where, or refuses and says why: a bad perturbation would be
counted against a metric that is right.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random
from typing import Literal, NamedTuple

Kind = Literal["adequacy", "fluency"]


class Edit(NamedTuple):
    """The code points `start:end` of the original give way to `new`; an insertion has start == end."""

    start: int
    end: int
    new: str


class Change(NamedTuple):
    """A perturbed text and the edits, in order and apart, that make it from the original."""

    text: str
    edits: tuple[Edit, ...]


class Refused(NamedTuple):
    """No perturbation, and why."""

    reason: str


Outcome = Change | Refused


@dataclass(frozen=True, slots=True)
class Perturbation:
    """One phenomenon. Suites, listings, documentation and the common property tests all read it.

    `name` is the key of the registry; `code` the name of the phenomenon in the published suite, empty where it is ours;
    `family` the module it stands in; `phenomenon` what a person calls it; `kind` whether the meaning or the language
    suffers. `version` moves when the same seed gives another text.
    """

    name: str
    family: str
    phenomenon: str
    kind: Kind
    paper: str
    help: str
    change: Callable[[str, Random], Outcome]
    code: str = ""
    version: int = 1

    def perturb(self, text: str, seed: int = 0) -> Outcome:
        """The perturbed text, or why there is none. The same for the same (seed, text, name, version), whatever was
        perturbed before. A change is never equal to the text it was made from."""
        return self.change(text, self.random(text, seed))

    def random(self, text: str, seed: int) -> Random:
        """The generator for one text: seeded with all that it depends on and nothing else."""
        key = "\x00".join((str(seed), self.name, str(self.version), text)).encode("utf-8", "surrogatepass")
        return Random(int.from_bytes(hashlib.sha256(key).digest()[:8], "big"))


def apply(text: str, edits: Iterable[Edit]) -> str:
    """The text with the edits made. Raises ValueError where they overlap, stand out of order, or leave the text."""
    out, done = [], 0
    for start, end, new in edits:
        if not done <= start <= end <= len(text):
            raise ValueError(f"edit {start}:{end} after {done} in a text of {len(text)} characters")
        out += [text[done:start], new]
        done = end
    return "".join([*out, text[done:]])


def changed(text: str, edits: Iterable[Edit]) -> Outcome:
    """A change out of edits in any order; edits that put the same characters back are left out."""
    real = tuple(sorted(e for e in edits if text[e.start : e.end] != e.new))
    new = apply(text, real)
    return Change(new, real) if new != text else Refused("the text would stay the same")
