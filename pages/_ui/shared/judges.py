"""Which hosts the texts are sent to, on every screen that starts a job with judges."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from core.errors import UserError
from core.metrics.registry import load_metric
from pages._ui.shared.markdown import escape_markdown


def warn_of_hosts(expressions: Iterable[str], texts: str = "the texts") -> None:
    """Draw which other hosts `texts` are sent to if these metrics are computed; nothing if all stay on this machine."""
    hosts: dict[str, list[str]] = {}
    for expression in expressions:
        try:
            metric = load_metric(expression)
            if metric.judge is not None and not metric.judge.is_local:
                hosts.setdefault(metric.judge.host, []).append(metric.spec.label)
        except UserError:  # it cannot run
            continue
    for host, labels in hosts.items():
        text = f"{', '.join(dict.fromkeys(labels))}: {texts} are sent to {host}."
        st.warning(escape_markdown(text), icon=":material/upload:")
