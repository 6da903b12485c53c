"""The settings and versions of this installation."""

from __future__ import annotations

import platform
import re
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from core.settings import Settings
from pages._ui.shared import tables

PACKAGES = ("streamlit", "sqlalchemy", "sacrebleu", "rouge-score", "torch", "transformers")
ROOT = Path(__file__).resolve().parents[3]


def hidden(url: str) -> str:
    """Return a database address without its passwords."""
    shown = re.sub(r"^([^:/]+://[^:/@]*):.*@", r"\1:***@", url)
    return re.sub(r"(?i)([?&][^=&]*(?:pass|pwd|secret|token|key)[^=&]*=)[^&]*", r"\1***", shown)


def own_version() -> str:
    """Return the version in pyproject.toml."""
    try:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    except (OSError, ValueError, KeyError):
        return "unknown"
    return str(project["version"])


def installed(package: str) -> str:
    """Return the version of a package, or "not installed"."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def draw(chosen: Settings) -> None:
    """Draw the settings and the versions."""
    rows = [
        ("Database", hidden(chosen.database), "ERRORSCOPE_DB"),
        ("Folder for database and logs", str(chosen.home), "ERRORSCOPE_HOME"),
        ("Device", chosen.device, "ERRORSCOPE_DEVICE"),
        ("Number format of the seq2seq model", chosen.dtype, "ERRORSCOPE_DTYPE"),
        ("Languages of a multilingual seq2seq model", chosen.languages, "ERRORSCOPE_LANGUAGES"),
        ("Prompt lists", str(chosen.prompts or "mt (built in)"), "ERRORSCOPE_PROMPTS"),
        ("Scoring worker", chosen.worker, "ERRORSCOPE_WORKER"),
        ("Errorscope", own_version(), ""),
        ("Python", platform.python_version(), ""),
        *((name, installed(name), "") for name in PACKAGES),
    ]
    tables.text_table(
        [{"setting": w, "value": v or "not set", "environment variable": by} for w, v, by in rows], tall=len(rows)
    )
