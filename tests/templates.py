"""Databases made once per process and copied: an empty one with its tables, one with the sample project, and those of tests."""

from __future__ import annotations

import atexit
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from core.ports.store import Store
from core.services.projects import sample
from db.engine import connect, migrate
from db.store import store_over

_FOLDER = TemporaryDirectory(prefix="errorscope-templates-")
atexit.register(_FOLDER.cleanup)


def empty_database(path: Path) -> str:
    """Put a database with tables and no rows at `path`, as the first start makes it; return its URL."""
    return database_with("empty", lambda store: None, path)


def sample_database(path: Path) -> str:
    """Put a database with the sample project at `path`, scored as far as the recorded scores go; return its URL."""
    return database_with("sample", sample.ensure, path)


def database_with(name: str, write: Callable[[Store], object], path: Path) -> str:
    """Put at `path` the database that `write` fills at the first call with this name; return its URL."""
    template = Path(_FOLDER.name) / f"{name}.db"
    if not template.exists():
        _make(template, write)
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(template, path)
    return f"sqlite:///{path}"


def _make(template: Path, write: Callable[[Store], object]) -> None:
    making = template.with_suffix(".making")
    engine = connect(f"sqlite:///{making}")
    migrate(engine)
    write(store_over(engine))
    engine.dispose()  # the last connection to go empties the log into the file
    assert not making.with_name(f"{making.name}-wal").exists()
    making.rename(template)
