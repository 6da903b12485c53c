"""Databases of every past version come up to date with all that is in them."""

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, text

from core.data import OutputKey, SegmentKey
from core.ports import Chosen, SavedBatch
from db.engine import MIGRATIONS, connect, reading, writing
from db.store import open_store
from db.tables import metadata
from tests.db.raw import rows

SEED = (
    "INSERT INTO projects VALUES (1, 'old', '2026-01-01 00:00:00', 0)",
    "INSERT INTO segments VALUES (1, 1, 'd', '1', 0, 'Quelle 😀')",
    "INSERT INTO outputs VALUES (1, 1, 'A', 0, 'output', 'k')",
    "INSERT INTO raters VALUES (1, 'ann', '2026-01-01 00:00:00')",
    "INSERT INTO events VALUES (1, 1, 'a1', '2026-01-01 00:00:00', 1, 1, 'verdict', 'A', '{\"value\":\"no_error\"}', '')",
    "INSERT INTO calibrations VALUES (1, 1, 'pilot', '1.7', 's', 'r', '{}', '2026-01-01 00:00:00')",
)


def at_version(url: str, revision: str) -> Engine:
    """A database as that version left it, with a label and a saved λ."""
    engine, config = connect(url), Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with writing(engine) as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        for statement in SEED:
            connection.execute(text(statement.replace(":", "\\:")))
    return engine


def past_versions() -> list[str]:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    return sorted(script.revision for script in ScriptDirectory.from_config(config).walk_revisions())


@pytest.mark.parametrize("revision", past_versions())
def test_a_database_of_every_version_opens_with_all_that_is_in_it(url: str, revision: str) -> None:
    engine = at_version(url, revision)
    store = open_store(url)
    assert [(p.id, p.name) for p in store.projects.list()] == [(1, "old")]
    assert store.projects.dataset(1).segments[0].source == "Quelle 😀"
    assert [(e.rater, e.segment, e.action.kind) for e in store.labels.events(1)] == [
        ("ann", SegmentKey("d", "1"), "verdict")
    ]
    assert [(c.name, c.value) for c in store.calibrations.list(1)] == [("pilot", 1.7)]
    made = SavedBatch("b", "stratified", 0, "s", (Chosen(OutputKey("A", "d", "1"), 0.5),), 1)
    assert store.batches.list(1) == []
    assert store.batches.save(1, made).outputs == made.outputs
    with reading(engine) as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    assert rows(engine, "SELECT version_num FROM alembic_version") == [(past_versions()[-1],)]
    engine.dispose()


def test_versions_follow_each_other_in_one_line() -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    scripts = ScriptDirectory.from_config(config)
    assert len(scripts.get_heads()) == 1
    line = [(s.revision, s.down_revision) for s in scripts.walk_revisions()]
    assert line == [
        ("0008", "0006"),
        ("0006", "0005"),
        ("0005", "0004"),
        ("0004", "0003"),
        ("0003", "0002"),
        ("0002", "0001"),
        ("0001", None),
    ]
