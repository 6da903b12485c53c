"""Stores over new SQLite databases, for tests that need storage and do not look into it."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import event

from core.data import Dataset, ExternalScores
from core.ports.files import DatasetImport
from core.ports.store import Store
from core.services.projects.adding import Imported, ImportTarget, add
from db.engine import connect
from db.store import store_over
from tests.templates import empty_database

_open = ExitStack()


def new_store(put_database: Callable[[Path], str] = empty_database) -> Store:
    """Return a store over a new database, empty or as `put_database` makes it, which exists until `close_stores`."""
    folder = _open.enter_context(TemporaryDirectory(prefix="errorscope-store-"))
    engine = connect(put_database(Path(folder) / "errorscope.db"))
    # Nothing in it outlives the test, so no commit waits for the disk.
    event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA synchronous=OFF"))
    _open.callback(engine.dispose)
    return store_over(engine)


def add_dataset(
    store: Store, target: ImportTarget, dataset: Dataset, external: Sequence[ExternalScores] = ()
) -> Imported:
    return add(store, target, DatasetImport(dataset, external))


@atexit.register
def close_stores() -> None:
    """Close and delete the databases of `new_store`. The folders whose tests use it do so after each test."""
    _open.close()
