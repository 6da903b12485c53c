"""Lists of words and names, read from the TOML files of this folder.

`names.toml` has names by kind. `word_groups.toml` groups words by what can replace them: same tag and frame, different meaning, never a
synonym. `word_sets.toml` has words that rules ask about.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

_LISTS: dict[str, str] = {}
for _name in ("names", "word_groups", "word_sets"):
    _LISTS |= tomllib.loads(Path(__file__).with_name(f"{_name}.toml").read_text(encoding="utf-8"))


def listed(name: str) -> list[str]:
    """Return the entries of a list in their order. Entries of several words are separated by `|` in the file."""
    text = _LISTS[name]
    return [" ".join(entry.split()) for entry in text.split("|")] if "|" in text else text.split()


def word_set(name: str) -> frozenset[str]:
    """Return the words of a list."""
    return frozenset(listed(name))


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
    listed(name) for name in (
        "persons", "things", "ideas", "times", "seasons", "mass", "adjectives", "predicates",
        "transitive", "intransitive", "to-verbs", "that-verbs",
    )
)  # fmt: skip
_ALIKE = [frozenset(group.split()) for group in _LISTS["alike"].split("|")]
PLAIN_TRANSITIVE = word_set("plain-transitive")
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
