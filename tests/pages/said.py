"""What a page says."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def words(at: AppTest) -> str:
    """All that is said, with Markdown's escapes taken out."""
    said = [*at.markdown, *at.info, *at.warning, *at.error, *at.caption, *at.subheader, *at.text]
    return "\n".join(str(e.value) for e in said).replace("\\", "")
