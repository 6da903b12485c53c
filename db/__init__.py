"""Storage over SQLAlchemy and the scoring worker. `db.store.open_store(url)` returns a `core.ports.store.Store`."""
