"""What the registered perturbations and noises make of a text, and a stand-in for a model that proposes words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from core.perturbations import registry
from core.perturbations.base import NO_CONTEXT, NoiseContext
from core.perturbations.candidates import WordCandidate, WordPlace
from core.text.edits import Change, Edit, Outcome, Refused


def outcome(name: str, text: str, strength: float = 1.0, seed: int = 0, context: NoiseContext = NO_CONTEXT) -> Outcome:
    if name in registry.PERTURBATIONS:
        return registry.load_perturbation(name).perturb(text, seed)
    return registry.noise(name).noised(text, strength, seed, context)


def change(name: str, text: str, strength: float = 1.0, seed: int = 0, context: NoiseContext = NO_CONTEXT) -> Change:
    """Return the change of a text that must not be refused."""
    made = outcome(name, text, strength, seed, context)
    assert isinstance(made, Change), made
    return made


def changes(name: str, text: str, strength: float = 1.0, seeds: Iterable[int] = range(12)) -> set[str]:
    """Return the texts made under all seeds; empty if refused."""
    made = [outcome(name, text, strength, seed) for seed in seeds]
    return {m.text for m in made if isinstance(m, Change)}


def edits(name: str, text: str, strength: float = 1.0, seed: int = 0) -> tuple[Edit, ...]:
    made = outcome(name, text, strength, seed)
    return made.edits if isinstance(made, Change) else ()


def reason(name: str, text: str, strength: float = 1.0, context: NoiseContext = NO_CONTEXT) -> str:
    """Return why a text is refused, which it must be."""
    made = outcome(name, text, strength, 0, context)
    assert isinstance(made, Refused), made
    return made.reason


class Proposals:
    """Proposes the same words at every place, as expected and as near ones, and remembers the places it was asked about."""

    def __init__(self, *words: str, scores: Sequence[float] = (), refused: str = "") -> None:
        self.words = [WordCandidate(*pair) for pair in zip(words, scores or [0.0] * len(words), strict=True)]
        self.refused, self.seen = refused, list[WordPlace]()

    def refuses(self, text: str) -> str:
        return self.refused

    def expected(self, places: Sequence[WordPlace], k: int) -> list[list[WordCandidate]]:
        self.seen += places
        return [self.words[:k] for _ in places]

    def near(self, word: str, k: int) -> tuple[WordCandidate, ...]:
        return tuple(self.words[:k])
