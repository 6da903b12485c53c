"""The script and the style of the annotator's page: those of the span editor, and what takes the place of Streamlit around it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from api.endpoint import failed
from core.plots.colours import VARIABLES

HERE = Path(__file__).parent
EDITOR = HERE.parents[1] / "pages" / "_ui" / "components" / "span_annotator"
SCRIPTS = ("texts.js", "text.js", "align.js", "log.js", "outbox.js", "slider.js", "editor.js")


class Asset(NamedTuple):
    """A file with its hash in its name, so that browsers can keep it."""

    name: str
    text: str
    mime: str


def _asset(stem: str, ending: str, mime: str, text: str) -> Asset:
    return Asset(f"{stem}.{hashlib.sha256(text.encode()).hexdigest()[:16]}.{ending}", text, mime)


def _read(*files: Path) -> str:
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


SCRIPT = _asset("task", "js", "text/javascript", _read(*(EDITOR / name for name in SCRIPTS), HERE / "task.js"))
STYLE = _asset("task", "css", "text/css", f"{VARIABLES}\n{_read(EDITOR / 'editor.css', HERE / 'task.css')}")
DOCUMENTATION = _asset("documentation", "css", "text/css", f"{VARIABLES}\n{_read(HERE / 'documentation.css')}")
_BY_NAME = {asset.name: asset for asset in (SCRIPT, STYLE, DOCUMENTATION)}


async def asset(request: Request) -> Response:
    found = _BY_NAME.get(request.path_params["name"])
    if found is None:
        return failed(404, "There is no such file. Reload the page")
    keep = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(found.text, headers=keep, media_type=found.mime)
