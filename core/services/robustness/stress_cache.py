"""The score cache of stress tests in the database: existing scores are read once, new ones are stored immediately."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from core.data import Value
from core.ports.scores import Scores


class Stored:
    """A cache for `core.robustness.stress.run`. `values` has the values read or stored, without `detail`, by (signature, key)."""

    def __init__(self, scores: Scores) -> None:
        self._scores = scores
        self.values: dict[tuple[str, str], Value] = {}

    def known(self, signature: str, keys: Collection[str]) -> set[str]:
        """Return the keys with stored values; failed ones are retried."""
        unread = [key for key in keys if (signature, key) not in self.values]
        there = self._scores.values(signature, unread)
        self.values |= {(signature, key): value for key, value in there.items() if value.status != "error"}
        return {key for key in keys if (signature, key) in self.values}

    def put(self, metric: str, signature: str, values: Mapping[str, Value], seconds: float) -> None:
        self._scores.put(metric, signature, values, seconds)
        self.values |= {(signature, key): replace(value, detail=None) for key, value in values.items()}
