"""Stores over new SQLite databases, for tests that need storage and do not look into it."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import event

from core.data import Dataset, ExternalScores, Item, OutputKey, Value
from core.metrics import registry
from core.ports.files import DatasetImport, ImportSource
from core.ports.store import Store
from core.services.projects.adding import Imported, ImportTarget, add
from core.signature import content_key
from db.engine import connect
from db.store import store_over
from tests.builders import small_dataset
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


def project_with(store: Store, source: Dataset | ImportSource | None = None, name: str = "p", **more: Any) -> int:
    """Create a project with these data, by default 3 segments of 2 systems, and what else `Projects.add` takes; return its id."""
    project = store.projects.create(name).id
    store.projects.add(project, small_dataset() if source is None else source, **more)
    return project


def put_scores(
    store: Store,
    project: int,
    metric: str,
    values: Mapping[OutputKey, Value] | Callable[[int, Item], Value] = lambda number, item: Value(1.0),
    signature: str = "",
) -> None:
    """Store values of a metric for outputs of a project, under its present signature or another.

    A function makes the value of every output from its number and its texts.
    """
    items = dict(store.projects.dataset(project).items())
    of = {key: values(n, item) for n, (key, item) in enumerate(items.items())} if callable(values) else values
    by_text = {content_key(*items[key]): value for key, value in of.items()}
    store.scores.put(metric, signature or registry.load_metric(metric).signature(), by_text, 1.0)


@atexit.register
def close_stores() -> None:
    """Close and delete the databases of `new_store`. The folders whose tests use it do so after each test."""
    _open.close()
