"""Declaration of a noise: one kind of error at several strengths (He et al. 2023, section 2 and Table 16).

Each family has its own module in this folder; `core.perturbations.registry` lists them by name. A perturbation makes
one error and refuses if in doubt; a noise makes as many errors as its strength demands.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Literal, NamedTuple, TypeVar

from core.english.analysis import ParsedText, parse_text
from core.perturbations.base import seeded
from core.text.edits import Edit, Outcome, Refused, changed
from core.text.words import units

T = TypeVar("T")
NoiseAspect = Literal["fluency", "consistency", "special"]
NoiseNeed = Literal["source", "others"]
"""Further input: the source of the text, or the other texts of the same set."""


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

    `name` is the key in the registry, `label` the display name. `levels` ascend. If `graded`, each
    level contains the errors of the level before, so that scores should fall from level to level; otherwise levels are
    places or texts, each of which should score below the original. `switching`: the noise exchanges parts, and its
    noise ratio is halved. `seeded`: the text depends on the seed. Increase `version` when the same seed gives another
    text. `models` returns the models the texts depend on, for signatures. `loads_model`: one of them is neural, so few
    processes should load it.
    """

    name: str
    label: str
    aspect: NoiseAspect
    help: str
    make: Callable[[str, float, Random, NoiseContext], Outcome]
    levels: tuple[NoiseLevel, ...]
    graded: bool = True
    switching: bool = False
    seeded: bool = True
    needs: frozenset[NoiseNeed] = frozenset()
    version: int = 1
    models: Callable[[], str] = str
    loads_model: bool = False

    def noised(self, text: str, strength: float, seed: int = 0, context: NoiseContext = NO_CONTEXT) -> Outcome:
        """Return the noised text with its edits, or the reason for refusing. The result depends only on name, version,
        seed, text, strength and context, and always differs from the text.

        Raises ValueError for a strength that is not positive, or not a level of an ungraded noise.
        """
        if strength <= 0 or (not self.graded and strength not in [level.strength for level in self.levels]):
            raise ValueError(f"{self.name} has no strength {strength}")
        if "source" in self.needs and context.source is None:
            return Refused("no source text")
        return self.make(text, strength, seeded(seed, self.name, self.version, text), context)


SHARES = tuple(NoiseLevel(s, f"{s:.0%}") for s in (0.2, 0.4, 0.6, 0.8, 1.0))
"""For noises that affect few words per text: with shares below 20 %, two levels would often change the same single
word."""
TENTHS = tuple(NoiseLevel(s, f"{s:.0%}") for s in (0.1, 0.2, 0.3, 0.4, 0.5))
"""For noises that can affect every word."""


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


def like_pairs(
    places: Sequence[T],
    key: Callable[[T], Hashable],
    likes: Sequence[Callable[[T], Hashable]],
    random: Random,
    *,
    only: bool = False,
) -> list[tuple[T, T]]:
    """Return disjoint pairs with different keys: first of places alike by the first of `likes`, then of the rest by the next,
    and so on. If none are alike, pair any places, or none with `only`."""
    made: list[tuple[T, T]] = []
    left = list(range(len(places)))
    for like in likes:
        for kind in dict.fromkeys(like(places[i]) for i in left):
            alike = [i for i in left if like(places[i]) == kind]
            alike_pairs = pairs(alike, lambda i: key(places[i]), random)
            taken = {i for pair in alike_pairs for i in pair}
            left = [i for i in left if i not in taken]
            made += [(places[a], places[b]) for a, b in alike_pairs]
    return made or ([] if only else pairs(places, key, random))


def edited(text: str, edits: Sequence[Edit], reason: str) -> Outcome:
    """Return the text with the edits applied. Refuse if there are no edits (with `reason`) or if they change nothing."""
    return changed(text, edits) if edits else Refused(reason)


def english(
    make: Callable[[ParsedText, float, Random], Sequence[Edit]], reason: str
) -> Callable[[str, float, Random, NoiseContext], Outcome]:
    """Return a noise of texts from one of parsed English. `make` returns edits; without any, the noise refuses with `reason`."""

    def noise(text: str, strength: float, random: Random, context: NoiseContext) -> Outcome:
        parsed = parse_text(text)
        return parsed if isinstance(parsed, Refused) else edited(text, make(parsed, strength, random), reason)

    return noise


def tokens_of(text: str) -> list[str]:
    """Return the tokens that the noise ratio counts: words and punctuation (`core.text.words.units`)."""
    return [text[u.start : u.end] for u in units(text)]


def noise_ratio(text: str, noised: str, *, switching: bool = False) -> float:
    """Return the token-level Levenshtein distance divided by the original's token count (equation 1), in [0, ∞). Halved
    for exchanges. A text without tokens counts as one token long."""
    from rapidfuzz.distance import Levenshtein

    before = tokens_of(text)
    distance = Levenshtein.distance(before, tokens_of(noised))
    return distance / max(1, len(before)) / (2 if switching else 1)
