"""What a page says."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def words(at: AppTest) -> str:
    """All that is said, with Markdown's escapes taken out."""
    said = [*at.markdown, *at.info, *at.warning, *at.error, *at.caption, *at.subheader, *at.text]
    return unescaped("\n".join(str(e.value) for e in said))


def unescaped(markdown: str) -> str:
    """The text that was passed to `escape_markdown`, marks that pages add themselves left as they are."""
    return markdown.replace(":small[]", "").replace("\\", "").replace("\u2068", "").replace("\u2069", "")
