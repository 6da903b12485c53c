"""Storage over SQLAlchemy and the scoring worker. `db.store.open_store(url)` is the way in; it returns `core.ports.Store`."""
