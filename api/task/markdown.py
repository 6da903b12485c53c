"""Instructions in Markdown as HTML. Raw HTML in them stays text, and links may use http and https only."""

from __future__ import annotations

from markdown_it import MarkdownIt
from markupsafe import Markup

_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table"]).disable(["image"])


def html(text: str) -> Markup:
    return Markup(_PARSER.render(text))
