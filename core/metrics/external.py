"""Describe external scores, which another program computed, from their signature (`core.signature.external_signature`)."""

from __future__ import annotations

import math

from core.metrics.base import MetricSpec
from core.signature import EXTERNAL, external_metric

MARK = "external"
"""Added in brackets to the label of an external score."""


def is_external(stored: str) -> bool:
    """Return whether scores stored under this name are external scores."""
    return stored.startswith(external_metric(""))


def name_of(stored: str) -> str:
    """Return the name without the prefix of external scores."""
    return stored.removeprefix(external_metric(""))


def describe(stored: str, signature: str) -> MetricSpec:
    """Return the spec of an external score. Without a signature, higher is assumed to be better."""
    parts = signature.split("|")
    facts = dict(p.split(":", 1) for p in parts[1:] if ":" in p) if parts[0] == EXTERNAL else {}
    name = name_of(stored)
    file, digest = facts.get("file", ""), facts.get("sha256", "")[:12]
    column = f", column {facts['column']}" if "column" in facts else ""
    origin = f", from {file}{column} (sha256 {digest}…)" if file else ""
    return MetricSpec(
        stored, f"{name} ({MARK})", "", f"External score, computed by another program{origin}", (-math.inf, math.inf),
        frozenset(), higher_is_better=facts.get("direction") != "lower", perfect_on_copy=False,
    )  # fmt: skip
