"""What a noise declares and does: an error in a text, in several strengths (He et al. 2023, section 2 and Table 16).

One family a file beside this one; `core.stress.registry` finds them by name. Where a perturbation makes one error of a kind and
prefers to refuse, a noise makes as much of it as it is asked for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Literal, NamedTuple, TypeVar, overload

from core.stress.base import Edit as Edit
from core.stress.base import Outcome, Refused, changed
from core.text.words import units

T = TypeVar("T")
Aspect = Literal["fluency", "consistency", "special"]
Need = Literal["source", "others"]
"""Texts beside the one that is noised: its source, or the other texts of the same set."""


class Level(NamedTuple):
    """How strong: a share in (0, 1] of what can be changed unless the noise says otherwise, and what people call it."""

    strength: float
    label: str


class Texts(tuple[str, ...]):
    """The texts of a set, made once for it, so that what is sought among them for every text is found once."""

    @cached_property
    def _hash(self) -> int:
        return super().__hash__()

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def different(self) -> tuple[str, ...]:
        """Each once, in their order, blank ones left out."""
        return tuple(text for text in dict.fromkeys(self) if text.strip())

    @cached_property
    def places(self) -> dict[str, int]:
        """Where each stands among the `different`."""
        return {text: i for i, text in enumerate(self.different)}


class Others(Sequence[str]):
    """The different texts of a set that are not blank, but for one."""

    def __init__(self, texts: Texts, text: str) -> None:
        self._all, self._at = texts.different, texts.places.get(text, len(texts.different))

    def __len__(self) -> int:
        return len(self._all) - (self._at < len(self._all))

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> Sequence[str]: ...
    def __getitem__(self, i: int | slice) -> str | Sequence[str]:
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        if not -len(self) <= i < len(self):
            raise IndexError(i)
        i %= len(self)
        return self._all[i + (i >= self._at)]


class Beside(NamedTuple):
    """What stands beside the text: its source, and all texts of the set, itself among them (as `Texts` where there are many)."""

    source: str | None = None
    texts: tuple[str, ...] = ()

    def others(self, text: str) -> Others:
        """The different texts of the set but for this one and blank ones."""
        return Others(self.texts if isinstance(self.texts, Texts) else Texts(self.texts), text)


ALONE = Beside()


@dataclass(frozen=True, slots=True)
class Noise:
    """One kind of error. The stress test, the command, documentation and the common property tests all read it.

    `name` is the key of the registry, `family` the module it stands in, `label` what a person calls it. `levels` ascend. Where it is
    `graded`, a level holds the errors of the one before and more, so that a metric should fall from level to level; where not, levels
    are places or texts, each of which should score below the original. `switching`: it exchanges parts, and its noise ratio is halved.
    `seeded`: another seed gives another text. `version` moves when the same seed gives another text; `models` names the models
    its texts depend on, for signatures; `loads_model` where one of them is a neural one, which few processes should hold.
    """

    name: str
    family: str
    label: str
    aspect: Aspect
    paper: str
    help: str
    make: Callable[[str, float, Random, Beside], Outcome]
    levels: tuple[Level, ...]
    graded: bool = True
    switching: bool = False
    seeded: bool = True
    needs: frozenset[Need] = frozenset()
    version: int = 1
    models: Callable[[], str] = str
    loads_model: bool = False

    def noised(self, text: str, strength: float, seed: int = 0, beside: Beside = ALONE) -> Outcome:
        """The noised text with its edits, or why there is none. The same for the same (name, version, seed, text, strength,
        beside), whatever was noised before; never equal to the text. Raises ValueError for a strength that is no level of an
        ungraded noise, or not above 0."""
        if strength <= 0 or (not self.graded and strength not in [level.strength for level in self.levels]):
            raise ValueError(f"{self.name} has no strength {strength}")
        if "source" in self.needs and beside.source is None:
            return Refused("no source text")
        return self.make(text, strength, self.random(text, seed), beside)

    def random(self, text: str, seed: int) -> Random:
        """The generator for one text: the same under every strength, so that a stronger noise can hold the weaker one."""
        key = "\x00".join((str(seed), self.name, str(self.version), text)).encode("utf-8", "surrogatepass")
        return Random(int.from_bytes(hashlib.sha256(key).digest()[:8], "big"))


SHARES = tuple(Level(s, f"{s:.0%}") for s in (0.2, 0.4, 0.6, 0.8, 1.0))
"""For what few words of a text can suffer: below a fifth, one segment mostly holds one such word at either of two levels."""
TENTHS = tuple(Level(s, f"{s:.0%}") for s in (0.1, 0.2, 0.3, 0.4, 0.5))
"""For what every word can suffer."""


def some(places: Sequence[T], share: float, random: Random) -> list[T]:
    """A share of the places, at least one, in their order; a larger share under the same generator holds a smaller one.

    Nothing of nothing.
    """
    order = list(range(len(places)))
    random.shuffle(order)
    count = max(1, round(min(share, 1.0) * len(places)))
    return [places[i] for i in sorted(order[:count])]


def edited(text: str, edits: Sequence[Edit], lacking: str) -> Outcome:
    """The text with the edits made; refused where there are none, with what is `lacking`, or where they change nothing."""
    return changed(text, edits) if edits else Refused(lacking)


def tokens_of(text: str) -> list[str]:
    """Words and signs as the noise ratio counts them (`core.text.words.units`)."""
    return [text[u.start : u.end] for u in units(text)]


def noise_ratio(text: str, noised: str, *, switching: bool = False) -> float:
    """Levenshtein distance over tokens by the number of the original's tokens (equation 1), halved for exchanges; in [0, ∞).

    A text without tokens counts as one token long.
    """
    from rapidfuzz.distance import Levenshtein

    before = tokens_of(text)
    distance = Levenshtein.distance(before, tokens_of(noised))
    return distance / max(1, len(before)) / (2 if switching else 1)
