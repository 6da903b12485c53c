"""Signatures and content keys: which computation a number came from, and of which texts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
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


GIVEN = " (given)"
"""Ends a field of a signature whose value an expression gives although it is or was the default's; the scores are the same."""

EXTERNAL = "external"
"""What the signature of a metric that was computed elsewhere begins with, and, with a colon, its stored name."""


def external_metric(name: str) -> str:
    """The name that scores from elsewhere are stored under; no metric of ours can have it."""
    return f"{EXTERNAL}:{name}"


def external_signature(name: str, higher_is_better: bool, files: Sequence[tuple[str, str, str]]) -> str:
    """All that is known of scores from elsewhere: name, direction, and the files (name, SHA-256, column) that they came from.

    Of several files the names are joined by " + ", and so are the columns ("–" for a file without any, and no `column` where
    none has one); the digest is that of their digests, one a line.
    """
    digests = [digest for _, digest, _ in files]
    digest = digests[0] if len(digests) == 1 else hashlib.sha256("\n".join(digests).encode()).hexdigest()
    facts = {
        "name": name,
        "direction": "higher" if higher_is_better else "lower",
        "file": " + ".join(file for file, _, _ in files),
        **({"column": " + ".join(column or "–" for _, _, column in files)} if any(c for _, _, c in files) else {}),
        "sha256": digest,
    }
    return signature(EXTERNAL, facts)


def number(value: float) -> str:
    """The shortest text that reads back as the same number: 1, 1.7, inf."""
    return repr(float(value)).removesuffix(".0")


@cache
def package(name: str) -> str:
    """The installed version of a package, for a signature. Looked up once: pages ask for it at every click."""
    return version(name)


def content_key(source: str | None, hypothesis: str, references: tuple[str, ...]) -> str:
    """SHA-256 (hex) of the three texts; unambiguous, and different for a missing and an empty source."""
    payload = json.dumps([source, hypothesis, list(references)], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(payload.encode("utf-8", "surrogatepass")).hexdigest()
