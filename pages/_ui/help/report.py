"""Facts about this installation to copy into a report of a problem: no names, texts or paths."""

from __future__ import annotations

import platform

import streamlit as st

from core.metrics.readiness import ConfiguredModel, configured_models
from core.settings import Settings
from core.settings import load as settings
from pages._ui.models.installation import PACKAGES, installed, own_version


def facts(chosen: Settings, models: list[ConfiguredModel], browser: str) -> str:
    """Return the versions, one per line."""
    database = chosen.database.partition(":")[0]
    lines = {"Errorscope": own_version(), "Python": platform.python_version(), "System": platform.platform()}
    lines |= {name: installed(name) for name in PACKAGES}
    lines |= {f"Model ({m.kind.name})": f"{m.checkpoint.name} {m.checkpoint.revision}" for m in models if m.checkpoint}
    lines |= {"Device": chosen.device, "Database": database, "Browser": browser or "unknown"}
    return "\n".join(f"{name}: {value}" for name, value in lines.items())


def draw() -> None:
    """Draw what a report needs, and the versions to copy."""
    st.markdown(
        "Describe three things: what you did, what you expected, and what happened instead. Add the whole error message or a "
        "screenshot, and these versions. Send the report to whoever runs this installation."
    )
    st.code(
        facts(settings(), configured_models(), st.context.headers.get("User-Agent", "")), language=None, wrap_lines=True
    )
    st.caption("Copy with the button at the top right of the box. Nothing is sent automatically.")
