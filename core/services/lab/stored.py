"""Storage as the memory of a stress test: what was scored before is read once, what is scored now is stored at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from core.data import Value
from core.ports import Scores


class Stored:
    """A cache for `core.services.lab.run`. `values` holds, by signature and content key, what was asked for or put, without `detail`."""

    def __init__(self, scores: Scores) -> None:
        self._scores = scores
        self.values: dict[tuple[str, str], Value] = {}

    def known(self, signature: str, keys: Collection[str]) -> set[str]:
        """Those that need no more work, read from storage; what failed is tried again."""
        unread = [key for key in keys if (signature, key) not in self.values]
        there = self._scores.values(signature, unread)
        self.values |= {(signature, key): value for key, value in there.items() if value.status != "error"}
        return {key for key in keys if (signature, key) in self.values}

    def put(self, metric: str, signature: str, values: Mapping[str, Value], seconds: float) -> None:
        self._scores.put(metric, signature, values, seconds)
        self.values |= {(signature, key): replace(value, detail=None) for key, value in values.items()}
