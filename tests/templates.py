"""Databases made once per process and copied: an empty one with its tables, and one with the sample project."""

from __future__ import annotations

import atexit
import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from core.ports.store import Store
from core.services.projects import sample
from db.engine import connect, migrate
from db.store import store_over

_FOLDER = TemporaryDirectory(prefix="errorscope-templates-")
atexit.register(_FOLDER.cleanup)


@cache
def _template(name: str) -> Path:
    path = Path(_FOLDER.name) / f"{name}.db"
    engine = connect(f"sqlite:///{path}")
    migrate(engine)
    if name == "sample":
        sample.ensure(store_over(engine))
    engine.dispose()  # the last connection to go empties the log into the file
    assert not path.with_name(f"{path.name}-wal").exists()
    return path


def empty_database(path: Path) -> str:
    """Put a database with tables and no rows at `path`, as the first start makes it; return its URL."""
    return _copied("empty", path)


def sample_database(path: Path) -> str:
    """Put a database with the sample project at `path`, scored as far as the recorded scores go; return its URL."""
    return _copied("sample", path)


def _copied(name: str, path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(_template(name), path)
    return f"sqlite:///{path}"


def sample_store(path: Path) -> Store:
    """The store over a copy of the sample."""
    return store_over(connect(sample_database(path)))
