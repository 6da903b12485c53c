"""The colours of both themes, from .streamlit/config.toml, and the CSS variables that pages and components use."""

from __future__ import annotations

import tomllib
from pathlib import Path

THEMES = tomllib.loads((Path(__file__).parents[2] / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]
CATEGORIES: list[str] = THEMES["chartCategoricalColors"]
"""The colours of charts, of both themes."""
ROLES = {
    "paper": "backgroundColor",
    "soft": "secondaryBackgroundColor",
    "ink": "textColor",
    "accent": "linkColor",
    "filled": "primaryColor",
    "major": "redColor",
    "minor": "orangeColor",
    "neutral": "grayColor",
    "good": "greenTextColor",
}
"""The CSS variables and the colours of the theme that they are."""
VARIABLES = (
    ":root { "
    + "".join(f"--{r}: light-dark({THEMES['light'][c]}, {THEMES['dark'][c]}); " for r, c in ROLES.items())
    + "--quiet: color-mix(in srgb, var(--ink) 66%, transparent); --line: color-mix(in srgb, var(--ink) 16%, transparent); }"
)
