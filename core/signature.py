"""Signatures and content keys: which computation a number came from, and of which texts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import version


def signature(metric: str, options: Mapping[str, object]) -> str:
    """`metric|key:value|…` in the order given, as sacreBLEU prints it; floats in shortest form, booleans as yes/no.

    A `|` inside a name or value is written `/`, so that a signature splits again at every `|`.
    """

    def plain(value: object) -> str:
        if isinstance(value, bool):
            return "yes" if value else "no"
        return (number(value) if isinstance(value, float) else str(value)).replace("|", "/")

    return "|".join([plain(metric), *(f"{plain(k)}:{plain(v)}" for k, v in options.items())])


def number(value: float) -> str:
    """The shortest text that reads back as the same number: 1, 1.7, inf."""
    return repr(float(value)).removesuffix(".0")


def package(name: str) -> str:
    """The installed version of a package, for a signature."""
    return version(name)


def content_key(source: str | None, hypothesis: str, references: tuple[str, ...]) -> str:
    """SHA-256 (hex) of the three texts; unambiguous, and different for a missing and an empty source."""
    payload = json.dumps([source, hypothesis, list(references)], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(payload.encode("utf-8", "surrogatepass")).hexdigest()
