"""What is known of a metric that was computed elsewhere, read from its signature (`core.signature.external_signature`)."""

from __future__ import annotations

import math

from core.metrics.base import MetricSpec
from core.signature import EXTERNAL, external_metric

MARK = "external"
"""What labels say of such a metric, in brackets."""


def is_external(stored: str) -> bool:
    """Whether scores stored under this name were computed elsewhere."""
    return stored.startswith(external_metric(""))


def name_of(stored: str) -> str:
    """The name without what marks it as external; the name of any other metric as it is."""
    return stored.removeprefix(external_metric(""))


def describe(stored: str, signature: str) -> MetricSpec:
    """Its label, marked external, and its direction; without the signature, higher is taken to be better."""
    parts = signature.split("|")
    facts = dict(p.split(":", 1) for p in parts[1:] if ":" in p) if parts[0] == EXTERNAL else {}
    name = name_of(stored)
    file, digest = facts.get("file", ""), facts.get("sha256", "")[:12]
    column = f", column {facts['column']}" if "column" in facts else ""
    origin = f", from {file}{column} (sha256 {digest}…)" if file else ""
    return MetricSpec(
        stored, f"{name} ({MARK})", 1, "", f"computed elsewhere{origin}", (-math.inf, math.inf),
        facts.get("direction") != "lower", frozenset(), perfect_on_copy=False,
    )  # fmt: skip
