"""Instructions in Markdown as HTML. Raw HTML in them stays text, and links may use http, https and mailto only."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from markupsafe import Markup

_ALLOWED = re.compile(r"(https?://|mailto:)", re.IGNORECASE)


class _Parser(MarkdownIt):
    """A parser for which other addresses, also those of other programs such as ms-word:, are no links."""

    def validateLink(self, url: str) -> bool:  # noqa: N802  (the name in the library)
        return _ALLOWED.match(url) is not None


_PARSER = _Parser("commonmark", {"html": False}).enable(["table"]).disable(["image"])


def html(text: str) -> Markup:
    return Markup(_PARSER.render(text))
