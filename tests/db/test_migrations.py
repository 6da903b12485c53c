"""Databases of schema 0025 open with all that is in them, and new ones have exactly their tables."""

import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, inspect, text

from core.data import OutputKey, SegmentKey, Value
from core.errors import UserError
from core.ports.calibration import Chosen
from core.ports.scores import Timing
from core.services.projects import sample
from db.engine import MIGRATIONS, connect, migrate, reading, writing
from db.store import open_store
from db.tables import metadata
from tests.db.raw import REVISION, load_frozen, rows, scalar
from tests.postgres import postgres_database

PILOT = SegmentKey("u1", "0")


def contents(engine: Engine, columns: Mapping[str, Sequence[str]]) -> dict[str, list[tuple[object, ...]]]:
    return {t: sorted(rows(engine, f"SELECT {', '.join(of)} FROM {t}"), key=repr) for t, of in columns.items()}


def test_a_frozen_database_opens_and_reads_the_same(url: str) -> None:
    load_frozen(url)
    engine = connect(url)
    existing = set(inspect(engine).get_table_names())
    tables = [table.name for table in metadata.sorted_tables if table.name in existing]
    assert len(tables) > 30
    columns = {table: [column["name"] for column in inspect(engine).get_columns(table)] for table in tables}
    before = contents(engine, columns)
    assert [name for name, stored in before.items() if not stored] == []
    store = open_store(url)
    assert contents(engine, columns) == before
    assert [(p.id, p.name) for p in store.projects.list()] == [(1, "old"), (3, "sample")]
    whole, frozen = sample.dataset(), store.projects.dataset(3)
    assert (list(frozen.segments), list(frozen.outputs)) == (
        list(whole.segments[:3]),
        [o for o in whole.outputs if o.key.segment in {s.key for s in whole.segments[:3]} and o.system in ("Lark-7B", "Meridian")],
    )  # fmt: skip
    first = SegmentKey("de-town-council", "1")
    assert Counter((e.rater, e.segment, e.action.kind) for e in store.labels.events(3)) == Counter(
        [("ben", first, "verdict")]
        + [("ann", first, kind) for kind in ("open", "add", "change", "verdict", "undo", "redo", "submit")]
    )
    old = store.projects.dataset(1)
    assert (old.segments[0].source, old.segments[0].references) == ("Quelle 😀", ("reference",))
    assert [(s.name, s.value) for s in old.human_scores] == [("da", 71.5)]
    assert [j[1:] for j in store.labels.judgements(1)] == [("ann", "fluency", 4.0)]
    [scored] = store.scores.values("chrf|v:1", ["0123456789abcdef0123456789abcdef"]).values()
    assert scored == Value(0.1 + 0.2)
    assert [(m.name, m.higher_is_better, m.n) for m in store.scores.external(1)] == [("COMET", True, 1)]
    assert [(c.name, c.value) for c in store.calibrations.list(1)] == [("pilot", 1.7)]
    [fitted] = store.calibrations.list(3)
    assert (fitted.name, fitted.value, fitted.result) == ("λ for news", math.inf, {"interval": [0.5, math.inf], "n": 6})
    assert [b.outputs for b in store.batches.list(1)] == [(Chosen(OutputKey("A", "d", "1"), 0.5),)]
    assert [c.texts for c in store.cases.list(1)] == [("number", None, None, "a", "b")]
    assert [store.stress.report(1, run.id) for run in store.stress.list(1)] == ["report"]
    assert [(job.metrics, job.state) for job in store.jobs.recent(1)] == [(("chrf",), "done")]
    assert store.settings.get(4, "protocol") == {"asks": ["score"]}
    assert scalar(engine, "SELECT size FROM timings") == 5_000_000_000
    store.timings.add("m", "", Timing(1, 2**40, 0.5, 3.0))
    [campaign] = store.campaigns.list(3)
    assert (campaign.name, campaign.state, campaign.texts) == ("ESA pilot", "running", 4)
    listed = store.campaigns.assignments(campaign.id)
    assert [(a.unit.name, a.state, a.order) for a in listed] == [
        ("u1", "submitted", ("B", "A")), ("u2", "assigned", ("B", "A")),
    ]  # fmt: skip
    assert [(e.segment, e.action.payload) for e in store.labels.events(4)][:2] == [(PILOT, {"value": 87}), (PILOT, {"value": 40.5})]  # fmt: skip
    assert [(a.name, a.manager) for a in store.people.accounts()] == [("ann", True), ("ben@example.org", False)]
    assert store.people.roles(2) == {3: "adjudicator", 4: "adjudicator"}  # in the texts of the campaign too
    assert store.people.session("5e" * 32) == store.people.accounts()[0]
    assert [link.rater for link in store.people.links(3)] == ["cem"]
    assert store.people.secret() == bytes(range(32))
    assert [(e.who, e.act, e.details) for e in store.audit.entries()] == [("ann", "exported", {"file": "csv"})]
    assert (store.shared.list(1)[0].title, store.shared.page("t")) == ("Pilot", "report")
    assert store.projects.create("next").id == 6  # 5 was deleted
    assert store.jobs.enqueue(1, ["bleu"]).id == 2
    for forbidden in ("UPDATE events SET kind = 'x'", "DELETE FROM events", "UPDATE audit SET act = 'x'", "DELETE FROM audit"):  # fmt: skip
        with pytest.raises(Exception, match="append-only"), engine.begin() as connection:
            connection.execute(text(forbidden))
    engine.dispose()


def schema(engine: Engine) -> dict[str, Any]:
    """Return tables with their columns in order, keys, indices and references, and all triggers."""

    def plain(index: Mapping[str, Any]) -> dict[str, str]:
        return {name: str(option) for name, option in index.get("dialect_options", {}).items()}

    looked = inspect(engine)
    tables = {
        name: (
            [{**column, "type": str(column["type"])} for column in looked.get_columns(name)],
            looked.get_pk_constraint(name),
            sorted(looked.get_unique_constraints(name), key=repr),
            sorted(str({**index, "dialect_options": plain(index)}) for index in looked.get_indexes(name)),
            sorted(looked.get_foreign_keys(name), key=repr),
        )
        for name in looked.get_table_names()
    }
    sqlite = (
        "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' UNION ALL "
        "SELECT name, 'never reuses ids' FROM sqlite_master WHERE sql LIKE '%AUTOINCREMENT%' ORDER BY 1"
    )
    postgresql = (
        "SELECT tgname, pg_get_triggerdef(t.oid) || prosrc FROM pg_trigger t JOIN pg_proc p ON p.oid = tgfoid "
        "WHERE NOT tgisinternal ORDER BY 1"
    )
    return {"tables": tables, "triggers": rows(engine, sqlite if engine.dialect.name == "sqlite" else postgresql)}


def test_new_tables_are_those_of_a_frozen_database(url: str, engine: Engine, database: str, tmp_path: Any) -> None:
    def compared(address: str) -> None:
        load_frozen(address)
        frozen = connect(address)
        migrate(frozen)
        assert len(schema(frozen)["triggers"]) > 3
        assert schema(engine) == schema(frozen)
        frozen.dispose()

    if database == "sqlite":
        compared(f"sqlite:///{tmp_path / 'frozen.db'}")
    else:
        with postgres_database(empty=True) as empty:
            compared(empty)
    with reading(engine) as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_databases_of_other_versions_are_left_alone(engine: Engine, url: str) -> None:
    for found, message in (("9999", "a newer version.*Update Errorscope"), ("0024", "an older version.*Open it once")):
        with writing(engine) as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = :v"), {"v": found})
        with pytest.raises(UserError, match=message):
            open_store(url)
        assert rows(engine, "SELECT version_num FROM alembic_version") == [(found,)]


def test_versions_follow_each_other_in_one_line() -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    line = [(s.revision, s.down_revision) for s in ScriptDirectory.from_config(config).walk_revisions()][::-1]
    numbers = [f"{n:04}" for n in range(int(REVISION), int(REVISION) + len(line))]
    assert line == list(zip(numbers, [None, *numbers], strict=False))


SHIPPED = {
    "0025_first": "ce98b38d6918a76bee0011232173d0ebd6ed5f430f1f596e7f48db4bd2bc77c2",
    "0026_labels_in_slices": "cdfc068ab077a21526ec5c3bbcdbd68d32256825414a6d84c05df48823b378bf",
    "0027_span_layers": "dd04241336a6bb48754da0235eed1e66ab0a9e701f69d6ad011475804d3b4e5a",
}


def test_shipped_migrations_never_change() -> None:
    """A change of tables is a new migration: what is edited here does not reach the databases that exist."""
    files = {
        path.stem: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((MIGRATIONS / "versions").glob("*.py"))
    }
    assert files == SHIPPED
