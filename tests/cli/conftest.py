"""A database of its own for the tests of commands on the database."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.ports.store import Store
from db.store import open_store
from tests.templates import empty_database


@pytest.fixture
def database(tmp_path: Path) -> str:
    """The URL of a new database."""
    return empty_database(tmp_path / "errorscope.db")


@pytest.fixture
def store(database: str) -> Store:
    return open_store(database)
