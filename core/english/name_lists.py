"""Lists of names by kind, from `names.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path

_LISTS = tomllib.loads((Path(__file__).parent / "names.toml").read_text(encoding="utf-8"))


def names(kind: str) -> list[str]:
    """Return the names of a list in their order. Names of several words are separated by `|` in the file."""
    text = str(_LISTS[kind])
    return [name.strip() for name in text.split("|")] if "|" in text else text.split()


MEN = names("men")
WOMEN = names("women")
SURNAMES = names("surnames")
COUNTRIES = names("countries")
CITIES = names("cities")
ORGANISATIONS = names("organisations")
TITLES = frozenset(
    """mr. mrs. ms. dr. prof. president chancellor minister senator sen. gov. governor secretary judge king queen prince
    princess pope general gen. captain professor chairman mayor congressman congresswoman sir lady lord coach manager
    actor actress singer detective officer justice""".split()
)
