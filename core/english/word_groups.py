"""Words grouped by what can replace them, from `word_groups.toml`: same tag and frame, different meaning, never a synonym."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

_LISTS: dict[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def opposites(written: str) -> dict[str, str]:
    """Return `word opposite|one = other` as a dictionary, with both directions of pairs joined by `=`."""
    opposite_of: dict[str, str] = {}
    for part in written.split("|"):
        word, *both_ways, opposite = part.split()
        opposite_of[word] = opposite
        if both_ways:
            opposite_of[opposite] = word
    return opposite_of


PERSONS, THINGS, IDEAS, TIMES, SEASONS, MASS, ADJECTIVES, PREDICATES, TRANSITIVE, INTRANSITIVE, TO_VERBS, THAT_VERBS = (
    _LISTS[name].split() for name in (
        "persons", "things", "ideas", "times", "seasons", "mass", "adjectives", "predicates",
        "transitive", "intransitive", "to-verbs", "that-verbs",
    )
)  # fmt: skip
_ALIKE = [frozenset(group.split()) for group in _LISTS["alike"].split("|")]
PLAIN_TRANSITIVE = frozenset(_LISTS["plain-transitive"].split())
KINDS: tuple[Sequence[str], ...] = (PERSONS, THINGS, IDEAS)

(
    NOUN_OPPOSITES, ADJECTIVE_OPPOSITES, TRANSITIVE_OPPOSITES, SCALE_OPPOSITES,
    INTRANSITIVE_OPPOSITES, TO_OPPOSITES, THAT_OPPOSITES,
) = (
    opposites(_LISTS[f"{name}-opposites"])
    for name in ("noun", "adjective", "transitive", "scale", "intransitive", "to", "that")
)  # fmt: skip


def alike(verb: str) -> frozenset[str]:
    """Return the verbs that may mean the same as this one, and the verb itself."""
    return frozenset({verb}).union(*(group for group in _ALIKE if verb in group))
