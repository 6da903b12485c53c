"""The storage of this server, which the pages use too."""

from __future__ import annotations

from functools import cache

from core.ports.people import Identity
from core.ports.store import Store
from core.services.people.guard import guarded
from core.settings import load_settings
from db.store import shared_store


def unguarded() -> Store:
    """Return storage for what the server does itself: it finds out who sends a request, records refusals, sends public pages, and reports its state.

    The first call migrates the tables. Raises `UserError` if the database cannot be used.
    """
    return shared_store(load_settings().database)


def store(who: Identity, *, tasks: bool = False) -> Store:
    """Return storage as the sender of a request may use it; with `tasks`, also for what this person annotates."""
    return guarded(unguarded(), lambda: who, tasks=tasks)


@cache
def secret(database: str) -> bytes:
    """Return the secret of the servers of this database, from which tokens are made."""
    return shared_store(database).people.secret()
