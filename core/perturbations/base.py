"""Perturbations and noises: how they are declared, and how their rules are run. The registry lists them.

A rule looks for places, proposes edits, checks them, and returns them or refuses and says why. A perturbation makes one error and
refuses if in doubt, because a wrong one would count against a metric that scores it correctly. A noise makes as many errors as its
strength demands (He et al. 2023, section 2 and Table 16).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any, Literal, NamedTuple, TypeVar

from core.english.analysis import parse_text, parser_name
from core.text.edits import Edit, Outcome, Refused, changed
from core.text.words import units

T = TypeVar("T")
PerturbationKind = Literal["adequacy", "fluency"]
NoiseAspect = Literal["fluency", "consistency", "special"]
NoiseNeed = Literal["source", "others"]
"""Further input: the source of the text, or the other texts of the same set."""
Edits = Sequence[Edit] | Refused
"""What a rule returns."""


@dataclass(frozen=True, slots=True)
class Perturbation:
    """One phenomenon, as used by suites, listings, documentation and the common property tests.

    `name` is the key in the registry, `phenomenon` the display name. `kind` says whether meaning or language is damaged. `rule` reads
    the parsed text if `english`, else the text; without edits, the perturbation refuses with the reason `nothing`. Increase `version`
    when the same seed gives another text.
    """

    name: str
    phenomenon: str
    kind: PerturbationKind
    help: str
    rule: Callable[[Any, Random], Edits]
    nothing: str = ""
    version: int = 1
    english: bool = True

    def perturb(self, text: str, seed: int = 0) -> Outcome:
        """Return the perturbed text, or the reason for refusing. The result depends only on seed, text, name and
        version, and a change always differs from the text."""
        random = seeded(seed, self.name, self.version, text)
        return _run(text, lambda read: self.rule(read, random), self.nothing, english=self.english)


class NoiseLevel(NamedTuple):
    """A strength and its display name. The strength is a share in (0, 1] of what can be changed unless the noise
    defines it otherwise."""

    strength: float
    label: str


class TextPool(tuple[str, ...]):
    """The texts of a set. Create it once per set, so that derived values are computed once."""

    @cached_property
    def _hash(self) -> int:
        return super().__hash__()

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def different(self) -> tuple[str, ...]:
        """The distinct texts in order, without blank ones."""
        return tuple(text for text in dict.fromkeys(self) if text.strip())


class NoiseContext(NamedTuple):
    """The source of the text and all texts of its set, including itself (a `TextPool` if there are many)."""

    source: str | None = None
    texts: tuple[str, ...] = ()

    def others(self, text: str) -> list[str]:
        """Return the distinct texts of the set without this one and without blank ones."""
        texts = self.texts if isinstance(self.texts, TextPool) else TextPool(self.texts)
        return [other for other in texts.different if other != text]


NO_CONTEXT = NoiseContext()


@dataclass(frozen=True, slots=True)
class Noise:
    """One kind of error, as used by the stress test, the command, documentation and the common property tests.

    `name` is the key in the registry, `label` the display name. `rule` reads the parsed text if `english`, else the text, with the
    strength, a generator and the context; without edits, the noise refuses with the reason `nothing`. `levels` ascend. If `graded`, each
    level contains the errors of the level before, so that scores should fall from level to level; otherwise levels are
    places or texts, each of which should score below the original. `switching`: the noise exchanges parts, and its
    noise ratio is halved. `seeded`: the text depends on the seed. Increase `version` when the same seed gives another
    text. `model` returns the neural model the texts depend on, if there is one; few processes should load it.
    """

    name: str
    label: str
    aspect: NoiseAspect
    help: str
    rule: Callable[[Any, float, Random, NoiseContext], Edits]
    levels: tuple[NoiseLevel, ...]
    nothing: str = ""
    english: bool = False
    graded: bool = True
    switching: bool = False
    seeded: bool = True
    needs: frozenset[NoiseNeed] = frozenset()
    version: int = 1
    model: Callable[[], str] | None = None

    def noised(self, text: str, strength: float, seed: int = 0, context: NoiseContext = NO_CONTEXT) -> Outcome:
        """Return the noised text with its edits, or the reason for refusing. The result depends only on name, version,
        seed, text, strength and context, and always differs from the text.

        Raises ValueError for a strength that is not positive, or not a level of an ungraded noise.
        """
        if strength <= 0 or (not self.graded and strength not in [level.strength for level in self.levels]):
            raise ValueError(f"{self.name} has no strength {strength}")
        if "source" in self.needs and context.source is None:
            return Refused("no source text")
        random = seeded(seed, self.name, self.version, text)
        return _run(text, lambda read: self.rule(read, strength, random, context), self.nothing, english=self.english)

    def models(self) -> str:
        """Return the parser or model that the texts depend on, for signatures; "" if there is none. Raises UserError."""
        return parser_name() if self.english else self.model() if self.model else ""


def _run(text: str, rule: Callable[[Any], Edits], nothing: str, *, english: bool) -> Outcome:
    """Return the change that a rule makes, or the reason for refusing; `nothing` if it returns no edits."""
    read = parse_text(text) if english else text
    edits = read if isinstance(read, Refused) else rule(read)
    if isinstance(edits, Refused):
        return edits
    return changed(text, edits) if edits or not nothing else Refused(nothing)


def seeded(seed: int, name: str, version: int, text: str) -> Random:
    """Return the generator of a perturbation or noise for one text. It does not depend on the strength of a noise, so that a
    stronger noise can contain the weaker one."""
    key = "\x00".join((str(seed), name, str(version), text)).encode("utf-8", "surrogatepass")
    return Random(int.from_bytes(hashlib.sha256(key).digest()[:8], "big"))


def sample_share(places: Sequence[T], share: float, random: Random) -> list[T]:
    """Return a share of the places in order, at least one unless there are none. With the same generator, a larger
    share contains a smaller one."""
    order = list(range(len(places)))
    random.shuffle(order)
    count = max(1, round(min(share, 1.0) * len(places)))
    return [places[i] for i in sorted(order[:count])]


def pairs(places: Sequence[T], key: Callable[[T], Hashable], random: Random) -> list[tuple[T, T]]:
    """Return a random maximum set of disjoint pairs with different keys.

    With n places, m of them with the most frequent key: min(n // 2, n - m) pairs.
    """
    shuffled = list(places)
    random.shuffle(shuffled)
    groups: dict[Hashable, list[T]] = {}
    for place in shuffled:
        groups.setdefault(key(place), []).append(place)
    largest_first = sorted(groups.values(), key=len, reverse=True)
    ordered = [place for group in largest_first for place in group]
    half = (len(ordered) + 1) // 2
    return [(a, b) for a, b in zip(ordered, ordered[half:], strict=False) if key(a) != key(b)]


def noise_ratio(text: str, noised: str, *, switching: bool = False) -> float:
    """Return the token-level Levenshtein distance divided by the original's token count (equation 1), in [0, ∞). Halved
    for exchanges. A text without tokens counts as one token long."""
    from rapidfuzz.distance import Levenshtein

    before, after = ([t[u.start : u.end] for u in units(t)] for t in (text, noised))
    return Levenshtein.distance(before, after) / max(1, len(before)) / (2 if switching else 1)
