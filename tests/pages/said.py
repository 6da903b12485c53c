"""What a page says."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def words(at: AppTest) -> str:
    """All that is said, with Markdown's escapes taken out."""
    kinds = (at.title, at.markdown, at.info, at.warning, at.error, at.success, at.caption, at.subheader, at.text)
    said = [element for kind in kinds for element in kind]
    return unescaped("\n".join(str(e.value) for e in said))


def unescaped(markdown: str) -> str:
    """The text that was passed to `escape_markdown`, marks that pages add themselves left as they are."""
    return markdown.replace(":small[]", "").replace("\\", "").replace("\u2068", "").replace("\u2069", "")


def cells(table: object) -> list[list[str]]:
    """The cells of a table, escapes taken away."""
    return [[unescaped(str(cell)) for cell in row] for row in table.value.to_numpy().tolist()]  # type: ignore[attr-defined]
