"""The storage of this server, which the pages use too."""

from __future__ import annotations

from functools import cache

from core.ports.store import Store
from core.settings import load as settings
from db.store import shared_store


def store() -> Store:
    """Return the storage. The first call migrates the tables. Raises `UserError` if the database cannot be used."""
    return shared_store(settings().database)


@cache
def secret(database: str) -> bytes:
    """Return the secret of the servers of this database, from which tokens are made."""
    return shared_store(database).people.secret()
