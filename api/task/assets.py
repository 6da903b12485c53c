"""The files of pages outside Streamlit, and the scripts of all pages (`core.browser_scripts`)."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from api.endpoint import failed
from core.browser_scripts import script_address, scripts
from core.plots.colours import VARIABLES

HERE = Path(__file__).parent
EDITOR = HERE.parents[1] / "pages" / "_ui" / "components" / "span_annotator"


class Asset(NamedTuple):
    """A file with a hash in its name, so that browsers can keep it."""

    name: str
    text: str
    mime: str


def _asset(stem: str, ending: str, mime: str, text: str) -> Asset:
    return Asset(f"{stem}.{hashlib.sha256(text.encode()).hexdigest()[:16]}.{ending}", text, mime)


def _read(*files: Path) -> str:
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


SCRIPTS = {path: Asset(script_address(path), text, "text/javascript") for path, text in scripts().items()}
TASK = "api/task/task.js"
STYLE = _asset("task", "css", "text/css", f"{VARIABLES}\n{_read(EDITOR / 'editor.css', HERE / 'task.css')}")
DOCUMENTATION = _asset("documentation", "css", "text/css", f"{VARIABLES}\n{_read(HERE / 'documentation.css')}")
_BY_NAME = {asset.name: asset for asset in (STYLE, DOCUMENTATION, *SCRIPTS.values())}


async def asset(request: Request) -> Response:
    found = _BY_NAME.get(request.path_params["name"])
    if found is None:
        return failed(404, "There is no such file. Reload the page")
    keep = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(found.text, headers=keep, media_type=found.mime)
