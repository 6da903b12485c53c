"""Refinement rounds under the configured model, kept for a while: the same text is often looked at again."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from core.refine.inspect import Round
from core.refine.options import Options
from core.refine.result import EditStep, Variant
from core.services.compare import inspector as service

Facts = Mapping[str, object]
"""The facts of the configured model, as part of cache keys."""


@st.cache_resource(max_entries=128, ttl=1800, show_spinner="Reading the text …")
def look(model: Facts, text: str, condition: str, variant: Variant, k: int) -> Round:
    """Return one round: the token probabilities of a text under the configured model."""
    return service.look(text, condition, variant, k)


@st.cache_resource(max_entries=32, ttl=1800, show_spinner="Replaying the refinement …")
def rounds(
    model: Facts, text: str, condition: str, variant: Variant, options: Options, known: tuple[EditStep, ...] | None
) -> tuple[Round, ...]:
    """Return a refinement round by round under the configured model: along `known` steps, or computed if there are none."""
    return service.rounds(text, condition, variant, options, known)
