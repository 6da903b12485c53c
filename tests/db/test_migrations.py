"""Databases of every past version come up to date with all that is in them."""

import atexit
import hashlib
import shutil
import sqlite3
import zlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

from core.data import OutputKey, SegmentKey, Value
from core.ports.batches import Chosen, SavedBatch
from db.engine import MIGRATIONS, connect, reading, writing
from db.store import open_store
from db.tables import metadata
from tests.db.first_release import TABLES
from tests.db.raw import counts, rows, scalar
from tests.postgres import after_rows_with_ids, on_sqlite

SEED = (
    "INSERT INTO projects (id, name, created, sample) VALUES (1, 'old', '2026-01-01 00:00:00', FALSE)",
    "INSERT INTO segments (id, project_id, doc_id, segment_id, position, source) VALUES (1, 1, 'd', '1', 0, 'Quelle 😀')",
    "INSERT INTO outputs (id, segment, system, position, text, content_key) VALUES (1, 1, 'A', 0, 'output', '0123456789abcdef0123456789abcdef')",
    "INSERT INTO raters VALUES (1, 'ann', '2026-01-01 00:00:00')",
    "INSERT INTO events VALUES (1, 1, 'a1', '2026-01-01 00:00:00', 1, 1, 'verdict', 'A', '{\"value\":\"no_error\"}', '')",
    "INSERT INTO calibrations VALUES (1, 1, 'pilot', '1.7', 's', 'r', '{}', '2026-01-01 00:00:00')",
)


def at_version(url: str, revision: str) -> Engine:
    """Return the engine of a database as that version left it, with a label and a saved λ."""
    if url.startswith("sqlite"):
        path = Path(url.removeprefix("sqlite:///"))
        path.parent.mkdir(exist_ok=True)
        shutil.copy(tables_of(revision), path)
    engine = connect(url)
    with writing(engine) as connection:
        if not url.startswith("sqlite"):
            upgrade(connection, revision)
        for statement in SEED:
            connection.execute(text(statement.replace(":", "\\:")))
        after_rows_with_ids(connection)
    return engine


def upgrade(connection: Connection, revision: str) -> None:
    config = configuration()
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def configuration() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    return config


_FOLDER = TemporaryDirectory(prefix="errorscope-versions-")
atexit.register(_FOLDER.cleanup)


@cache
def tables_of(revision: str) -> Path:
    """Return an SQLite file with the tables of a version and no rows, made from that of the version before."""
    path, older = Path(_FOLDER.name) / f"{revision}.db", [r for r in past_versions() if r < revision]
    if older:
        shutil.copy(tables_of(older[-1]), path)
    engine = connect(f"sqlite:///{path}")
    with writing(engine) as connection:
        upgrade(connection, revision)
    engine.dispose()
    return path


WHEN = "'2026-01-01 00:00:00'"
MORE = (  # first revision with the table, last one with its name, row
    ("0001", "9999", "segment_references (segment, position, text) VALUES (1, 0, 'reference')"),
    ("0001", "9999", "human_scores (id, output, name, value) VALUES (1, 1, 'da', 71.5)"),
    ("0001", "9999", "signatures (id, metric, signature, digest) VALUES (1, 'chrf', 'chrf|v:1', :digest)"),
    ("0001", "9999", f"runs (id, signature, created, n, seconds, machine) VALUES (1, 1, {WHEN}, 1, 0.5, '{{}}')"),
    (
        "0001",
        "9999",
        "scores (signature, content_key, run, value, status, reason, parts) VALUES (1, '0123456789abcdef0123456789abcdef', 1, 12.5, 'ok', '', '{}')",
    ),
    (
        "0001",
        "0017",
        "jobs (id, project_id, metrics, state, done, total, message, created, attempts) "
        f"VALUES (1, 1, '[\"chrf\"]', 'done', 1, 1, '', {WHEN}, 0)",
    ),
    (
        "0018",
        "9999",
        "jobs (id, project_id, metrics, state, done, total, message, created) "
        f"VALUES (1, 1, '[\"chrf\"]', 'done', 1, 1, '', {WHEN})",
    ),
    (
        "0002",
        "9999",
        "batches (id, project_id, name, method, seed, signature, population, outputs, options, created) "
        f"VALUES (1, 1, 'drawn', 'all', 7, 's', 1, '[[\"A\",\"d\",\"1\",0.5]]', '{{}}', {WHEN})",
    ),
    (
        "0003",
        "9999",
        "external_metrics (id, project_id, name, higher_is_better, files, created) "
        f'VALUES (1, 1, \'COMET\', TRUE, \'[["f","0",""]]\', {WHEN})',
    ),
    ("0003", "9999", "external_scores (metric, output, value, status, reason) VALUES (1, 1, 0.5, 'ok', '')"),
    ("0004", "9999", "judgements (id, output, rater, name, value) VALUES (1, 1, 1, 'fluency', 4)"),
    (
        "0005",
        "9999",
        "cases (id, project_id, collection, phenomenon, good, changed, what, scores, created) "
        f"VALUES (1, 1, 'demo', 'number', 'a', 'b', 'c', '[]', {WHEN})",
    ),
    (
        "0006",
        "0008",
        f"stress_runs (id, project_id, name, settings, report, created) VALUES (1, 1, 'r', '{{}}', :blob, {WHEN})",
    ),
    (
        "0009",
        "9999",
        f"stress_test_runs (id, project_id, name, settings, report, created) VALUES (1, 1, 'r', '{{}}', :blob, {WHEN})",
    ),
    ("0007", "0017", "claims (digest, content_key, job, worker) VALUES ('d', 'k2', 1, 'w')"),
    (
        "0018",
        "9999",
        "job_metrics (id, job, metric, label, signature, unusable, abandoned, examples, length, total, known) "
        "VALUES (1, 1, 'chrf', 'chrF', 's', '', '', '[]', 1, 1, 0)",
    ),
    (
        "0018",
        "9999",
        "chunks (id, job, metric, position, state, n, size, begins_after, done, failed, known, reason, message, seconds, attempts) "
        "VALUES (1, 1, 1, 0, 'done', 1, 1, 0, 1, 0, 0, '', '', 0, 0)",
    ),
    ("0018", "9999", "claims (digest, content_key, chunk, worker) VALUES ('d', 'k2', 1, 'w')"),
    ("0015", "9999", f"projects (id, name, created, sample) VALUES (2, ' texts', {WHEN}, FALSE)"),
    (
        "0015",
        "9999",
        "campaigns (id, project_id, texts, name, design, state, created, created_by) "
        f"VALUES (1, 1, 2, 'pilot', '{{\"overlap\":1}}', 'draft', {WHEN}, 'ann')",
    ),
    (
        "0015",
        "9999",
        "campaign_units (id, campaign, name, position, block, kind, of_document, of_segment, systems, details, retired) "
        "VALUES (1, 1, 'u1', 0, 0, 'item', 'd', '1', '[\"A\"]', '{}', FALSE)",
    ),
    (
        "0015",
        "9999",
        "participants (id, campaign, rater, code, joined, excluded, has_left) "
        f"VALUES (1, 1, 'ann', 'CODE', {WHEN}, '', FALSE)",
    ),
    (
        "0015",
        "9999",
        "assignments (id, unit, participant, slot, position, systems, probability, state, assigned) "
        f"VALUES (1, 1, 1, 1, 0, '[\"A\"]', 0.5, 'assigned', {WHEN})",
    ),
    ("0011", "9999", "project_settings (id, project_id, name, value) VALUES (1, 1, 'typology', '{}')"),
    (
        "0025",
        "9999",
        "shared_results (id, project_id, campaign, title, blind, page, token_hash, created, created_by) "
        f"VALUES (1, 1, 1, 'Pilot', TRUE, :blob, 't', {WHEN}, 'ann')",
    ),
)


BOUND = {"blob": zlib.compress(b"report"), "digest": hashlib.sha256(b"chrf|v:1").hexdigest()}


def full_at_version(url: str, revision: str) -> Engine:
    """Return the engine of a database as that version left it, with a row in every table it had, but timings."""
    engine = at_version(url, revision)
    with writing(engine) as connection:
        for first, last, row in MORE:
            if first <= revision <= last:
                bound = {name: value for name, value in BOUND.items() if f":{name}" in row}
                statement = row.replace(":", "\\:").replace("\\:blob", ":blob").replace("\\:digest", ":digest")
                connection.execute(text(f"INSERT INTO {statement}"), bound)
        after_rows_with_ids(connection)
    return engine


_COMPARED: dict[object, Sequence[object]] = {}


def differences(engine: Engine) -> Sequence[object]:
    """Return how tables differ from those of the program. Equal definitions in SQLite are compared once."""
    sqlite = engine.dialect.name == "sqlite"
    definitions = (
        tuple(rows(engine, "SELECT name, sql FROM sqlite_master ORDER BY name")) if sqlite else str(engine.url)
    )
    if definitions not in _COMPARED:
        with reading(engine) as connection:
            _COMPARED[definitions] = compare_metadata(MigrationContext.configure(connection), metadata)
    return _COMPARED[definitions]


@cache
def past_versions() -> list[str]:
    scripts = ScriptDirectory.from_config(configuration())
    return sorted(script.revision for script in scripts.walk_revisions())


@pytest.mark.parametrize("revision", past_versions())
def test_a_database_of_every_version_opens_with_all_that_is_in_it(url: str, revision: str) -> None:
    engine = full_at_version(url, revision)
    store = open_store(url)
    assert [(p.id, p.name) for p in store.projects.list()] == [(1, "old")]
    assert store.projects.dataset(1).segments[0].source == "Quelle 😀"
    assert [(e.rater, e.segment, e.action.kind) for e in store.labels.events(1)] == [
        ("ann", SegmentKey("d", "1"), "verdict")
    ]
    assert [(c.name, c.value) for c in store.calibrations.list(1)] == [("pilot", 1.7)]
    made = SavedBatch("b", "stratified", 0, "s", (Chosen(OutputKey("A", "d", "1"), 0.5),), 1)
    assert [b.outputs for b in store.batches.list(1)] == [made.outputs] * (revision >= "0002")
    assert store.batches.save(1, made).outputs == made.outputs
    data = store.projects.dataset(1)
    assert (data.segments[0].references, [score.value for score in data.human_scores]) == (("reference",), [71.5])
    assert store.scores.values("chrf|v:1", ["0123456789abcdef0123456789abcdef"]) == {
        "0123456789abcdef0123456789abcdef": Value(12.5)
    }
    assert [(job.metrics, job.state) for job in store.jobs.recent(1)] == [(("chrf",), "done")]
    assert [(m.name, m.higher_is_better, m.n) for m in store.scores.external(1)] == [("COMET", True, 1)] * (
        revision >= "0003"
    )
    assert [j[1:] for j in store.judgements.list(1)] == [("ann", "fluency", 4.0)] * (revision >= "0004")
    assert [c.texts for c in store.cases.list(1)] == [("number", None, None, "a", "b")] * (revision >= "0005")
    assert [store.stress.report(1, run.id) for run in store.stress.list(1)] == ["report"] * (revision >= "0006")
    assert scalar(engine, "SELECT count(*) FROM claims") == (revision >= "0018")
    assert store.settings.get(1, "typology") == ({} if revision >= "0011" else None)
    listed = [c for campaign in store.campaigns.list(1) for c in store.campaigns.assignments(campaign.id)]
    assert [(a.unit.name, a.slot, a.order) for a in listed] == [("u1", 1, ("A",))] * (revision >= "0015")
    assert store.projects.create("next").id == (3 if revision >= "0015" else 2)
    assert store.jobs.enqueue(1, ["bleu"]).id == 2
    assert differences(engine) == []
    assert rows(engine, "SELECT version_num FROM alembic_version") == [(past_versions()[-1],)]
    engine.dispose()


def test_versions_follow_each_other_in_one_line() -> None:
    scripts = ScriptDirectory.from_config(configuration())
    line = [(s.revision, s.down_revision) for s in scripts.walk_revisions()]
    names = past_versions()
    assert names == [f"{n:04}" for n in range(1, len(names) + 1)]
    assert line[::-1] == list(zip(names, [None, *names], strict=False))


@pytest.fixture
def first(url: str) -> str:
    """A database of the first release: two projects, the second one deleted, with labels and a finished job."""
    Path(url.removeprefix("sqlite:///")).parent.mkdir()
    connection = sqlite3.connect(url.removeprefix("sqlite:///"))
    for statement in (*TABLES, *SEED):
        connection.execute(statement)
    connection.execute("INSERT INTO alembic_version VALUES ('0001')")
    connection.execute("INSERT INTO projects VALUES (2, 'gone', '2026-01-02 00:00:00', 0)")
    for job in (1, 2):
        row = (job, 1, '["chrf"]', "done", 2, 2, "", "2026-01-01 00:00:00", None, None, "w", None, 0)
        connection.execute(f"INSERT INTO jobs VALUES ({', '.join('?' * 13)})", row)
    connection.commit()
    connection.close()
    return url


@on_sqlite
def test_first_release_databases_never_reuse_ids(first: str) -> None:
    store = open_store(first)
    store.projects.delete(2)
    assert store.projects.create("new").id == 3
    engine = connect(first)
    with writing(engine) as connection:
        connection.execute(text("DELETE FROM jobs WHERE id = 2"))
    assert store.jobs.enqueue(1, ["bleu"]).id == 3
    engine.dispose()


@on_sqlite
def test_migration_of_the_first_release_keeps_everything(first: str) -> None:
    store = open_store(first)
    engine = connect(first)
    with reading(engine) as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    assert rows(engine, "PRAGMA foreign_key_check") == []
    assert rows(engine, "PRAGMA integrity_check") == [("ok",)]
    assert [(job.id, job.metrics, job.done) for job in store.jobs.recent()] == [(2, ("chrf",), 2), (1, ("chrf",), 2)]
    assert [(p.id, p.name) for p in store.projects.list()] == [(2, "gone"), (1, "old")]
    assert [e.action.id for e in store.labels.events(1)] == ["a1"]
    objects = "SELECT type, name FROM sqlite_master WHERE sql IS NOT NULL AND type != 'table' ORDER BY name"
    made = connect(first.replace("errorscope.db", "fresh.db"))
    open_store(first.replace("errorscope.db", "fresh.db"))
    assert rows(engine, objects) == rows(made, objects)
    for forbidden in ("UPDATE events SET kind = 'x'", "DELETE FROM events"):
        with pytest.raises(Exception, match="append-only"), engine.begin() as connection:
            connection.execute(text(forbidden))
    store.projects.delete(1)
    left = counts(engine)
    assert (left["projects"], left["segments"], left["outputs"], left["events"], left["jobs"]) == (1, 0, 0, 0, 0)
    assert scalar(engine, "PRAGMA foreign_keys") == 1
    engine.dispose()
    made.dispose()


SHIPPED = {
    "0001_initial": "6670c0964d8dd59b4f6e6046e87697f1073f4de05c27b1236874b5118764ea98",
    "0002_batches": "1fe6fcaba3b500f6646f98bc477f1dfaaf049d0454a94b7b8dc9ddd18448c1bc",
    "0003_external_scores": "cfbf4afdb55867fefd3ad7a46c6b73445731e35321a966cf3674dc036a5f13b1",
    "0004_judgements": "7929b8ead14421a78ef46c34775a5a244a58422e10ccf01b0072d297ec498f62",
    "0005_cases": "03fde8b1e6a49a62967cbe228010698341528eb69d9290a92b74616e402bf303",
    "0006_stress_runs": "0029a93976336c5d9f8ef4a47001977265443d76777de9e21de70bf39f77d9c4",
    "0007_ids_and_claims": "5ca17a19bbf682156eadec9920f98f29b5047ef3c45c5dca9d40d0002dd1dee3",
    "0008_metric_names": "d7bafd44d309fea153fc584d93e25240840f7b4d8f61b6e05fce2e412e883f5c",
    "0009_stress_test_runs": "9c29d7da5bb1f93a0a509a2ba9c0d21e43b5664966b397d21474928763df46a5",
    "0010_timings": "d21256ee70ba2381135afcab1469e3de0b913599f463eb779de3ab647d410be2",
    "0011_project_settings": "0caacd8f81f0227c82b7d4cd35560a363cd03b43247631453ed2cd33676f326b",
    "0012_people": "8afa084868a479de221e212171a2c81a5433a3ab0f272b8ff7736c21aaa43f52",
    "0013_append_only_on_postgresql": "c91f71e319afa33220573ce3f8ce9aa8dbf5983e5503db6a5f2f2c737536d7c5",
    "0014_imports_in_slices": "99713a87e0255cd12e1c646a3c5e0cd50559e64af035e0cd4fa8477d05d96301",
    "0015_campaigns": "f352b35a94d70a97061fe58dcc6f9cbde0673c7b7292a4b5fcc1059a443bacc6",
    "0016_project_summaries": "5b9c1dcd3e38d5fd8d4022bfa16482ad18193854b54e13302ece561bc8371769",
    "0017_project_arrays": "a34da061ee89560674f6047506d1a8ecee9657268def5e21d5a07675da3f135f",
    "0018_chunks": "29a7b406403fcf678b81129565d5ec670b59c7ca32c6c26b533866258f55a37d",
    "0019_no_key_index": "b1b4e4adfd569d13eb7b11c6aa46698476b6d4303d8c556383eea62424c01659",
    "0020_no_score_key_index": "dbc6fe4bb6499c77c0b355160eef354544b8584f1db88006be6b882c10a99d61",
    "0021_events_by_rater": "eacda367caff0b01d4d34782ff03dc22cc1d8a3452117dc7b2c45daea93f304c",
    "0022_cleanup": "3f977cc749956ebc6f94093da32e2171f4afad15d734f9fbea2445089b8b9902",
    "0023_large_timings": "3b5da7bc42fa419411d5c715c3d98bcf6f5423ca8c913b9bf82bc7eef3b01b93",
    "0024_additions": "150a6c1002e84170176f043ded096d4f797b006d25142bd3bfec376ae1f019a7",
    "0025_shared_results": "f6d76b0a657bcef1303c983c4aa8b1a6755a36005bf8f4b427b963ab61a87f76",
}


def test_shipped_migrations_never_change() -> None:
    """A change of tables is a new migration: what is edited here does not reach the databases that exist."""
    files = {
        path.stem: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((MIGRATIONS / "versions").glob("*.py"))
    }
    assert files == SHIPPED
