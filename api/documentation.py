"""The documentation of this version, readable in the app: README.md, CONTRIBUTING.md, CHANGELOG.md, the files of `docs` and those of the bundled models.

Addresses are the paths of the files in the repository below /documentation/, so that the links between the files work as they are.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from api.auth import message
from api.task import assets
from api.task.page import templates

ROOT = Path(__file__).parents[1]
START = "docs/README.md"
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table"])
_NO_ANCHOR = re.compile(r"[^\w\- ]")


async def document(request: Request) -> Response:
    """`GET /documentation/<path>`: a file in Markdown as HTML, or an image; a folder answers with the list of its files."""
    path = request.path_params["path"]
    base = request.url.path.removesuffix(f"/documentation/{path}")
    if not path:
        return RedirectResponse(f"{base}/documentation/{START}", 303)
    if (found := files().get(path)) is not None and found.suffix == ".png":
        return FileResponse(found)
    inside = [name for name in files() if Path(name).parent == Path(path)]
    if found is not None:
        title, body = _title(path), html(found.read_text(encoding="utf-8"))
    elif inside:
        folder = Path(path).name
        title = folder.capitalize()
        body = html("\n".join([f"# {title}", *(f"- [{_title(name)}]({folder}/{Path(name).name})" for name in inside)]))
    else:
        return message(404, "No such page", "The documentation of this version has no such page.", base)
    text = templates().get_template("documentation.html").render(
        title=title, body=body, base=base, start=START, style=assets.DOCUMENTATION.name
    )  # fmt: skip
    return HTMLResponse(text)


@cache
def files() -> dict[str, Path]:
    """Return the readable files by their path in the repository."""
    patterns = (
        "README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "docs/**/*.md",
        "docs/images/*.png",
        "core/models/*/README.md",
    )
    found = [file for pattern in patterns for file in sorted(ROOT.glob(pattern))]
    return {file.relative_to(ROOT).as_posix(): file for file in found}


def html(text: str) -> Markup:
    """Return a file in Markdown as HTML. Headings have the anchors that GitHub makes."""
    tokens = _PARSER.parse(text)
    for heading, inline in zip(tokens, tokens[1:], strict=False):
        if heading.type == "heading_open":
            heading.attrSet("id", _NO_ANCHOR.sub("", inline.content.lower()).replace(" ", "-"))
    return Markup(_PARSER.renderer.render(tokens, _PARSER.options, {}))


def _title(path: str) -> str:
    return files()[path].read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")
