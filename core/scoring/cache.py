"""What scoring needs of a store of values, and a store in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from core.data import Value


class ScoreCache(Protocol):
    """Values by signature and content key. `core.ports.scores.Scores` is the one in the database."""

    def known(self, signature: str, keys: Collection[str]) -> set[str]:
        """Return the keys with a stored value, without those of status "error", which are retried."""
        ...

    def values(
        self, signature: str, keys: Collection[str]
    ) -> dict[str, Value]: ...  # also errors; maybe without `detail`
    def put(self, metric: str, signature: str, values: Mapping[str, Value], seconds: float) -> None: ...


class InMemoryScores:
    """A score cache in memory."""

    def __init__(self) -> None:
        self.by_signature: dict[str, dict[str, Value]] = {}

    def known(self, signature: str, keys: Collection[str]) -> set[str]:
        return {key for key, value in self.values(signature, keys).items() if value.status != "error"}

    def values(self, signature: str, keys: Collection[str]) -> dict[str, Value]:
        stored = self.by_signature.get(signature, {})
        return {key: stored[key] for key in keys if key in stored}

    def put(self, metric: str, signature: str, values: Mapping[str, Value], seconds: float) -> None:
        self.by_signature.setdefault(signature, {}).update(values)
