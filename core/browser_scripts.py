"""The scripts that browsers load. They are ES modules, served as they are on disk, and import each other by relative addresses.

Their addresses begin with a hash of all of them: browsers can keep each one, and a page never mixes two versions of the program.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("api/task", "pages/_ui/components")


@cache
def scripts() -> Mapping[str, str]:
    """Return the text of each script by its path in the program, such as `api/task/task.js`."""
    files = sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.js"))
    return {file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8") for file in files}


def imports_of(path: str) -> list[str]:
    """Return the scripts that a script imports, directly or not, so that a page can ask for all at once."""
    imported: list[str] = []
    waiting = [path]
    while waiting:
        script = waiting.pop()
        names = re.findall(r'^(?:import|\}) .*from "(.+)";$', scripts()[script], re.MULTILINE)
        paths = [posixpath.normpath(posixpath.join(posixpath.dirname(script), name)) for name in names]
        new = [other for other in paths if other not in imported]
        imported += new
        waiting += new
    return imported


@cache
def _version() -> str:
    return hashlib.sha256("\0".join(part for item in scripts().items() for part in item).encode()).hexdigest()[:16]


def script_address(path: str) -> str:
    """Return the address of a script below `/assets/`."""
    return f"{_version()}/{path}"
