"""The tables. `db/migrations/versions` creates them; a test compares both."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    text,
)
from sqlalchemy.schema import SchemaItem

from db.columns import TEXT, Json, Utc

metadata = MetaData()


def _table(name: str, *columns: SchemaItem, **options: Any) -> Table:
    return Table(name, metadata, Column("id", Integer, primary_key=True), *columns, **options)


def _of_project(name: str, *columns: SchemaItem, **options: Any) -> Table:
    return _table(name, _project(), *columns, **options)


def _project() -> Column[int]:
    return _part_of("project_id", "projects")


def _part_of(name: str, table: str, **options: Any) -> Column[int]:
    """Return a column that refers to a row of `table` and is deleted with it."""
    return Column(name, ForeignKey(f"{table}.id", ondelete="CASCADE"), nullable=False, **options)


def _by(name: str) -> Column[int]:
    """Return a column that names the import which gave a value (`db.lookup`); NULL where the value was never hidden."""
    return Column(name, Integer)


def _by_import(table: str, key: str) -> Index:
    """Return the index of the rows that an import has added in slices; others cost nothing."""
    added = text("added_by IS NOT NULL")
    return Index(f"{table}_by_import", "added_by", key, sqlite_where=added, postgresql_where=added)


projects = _table(
    "projects",
    Column("name", TEXT, nullable=False, unique=True),
    Column("created", Utc, nullable=False),
    Column("sample", Boolean, nullable=False),
    Column("importing", Utc),  # time of the last slice of an import or deletion; NULL unless the project is hidden
    # of an interrupted import, see db.imports.slices: what is done then, NULL for a deletion
    Column("cleanup", String(8)),
    Column("adds_to", Integer),  # the project to which a hidden one adds, see there; no reference: it may be deleted
    Column("imports", Integer),  # so far; NULL for none since this column exists
    Column("summary", Json),  # see db.projects.repository
    sqlite_autoincrement=True,  # deleted ids are never reused, because links and open pages may contain them
)

project_settings = _of_project(
    "project_settings",
    Column("name", TEXT, nullable=False),
    Column("value", Json, nullable=False),
    UniqueConstraint("project_id", "name", name="one_setting_a_name"),
)

segments = _of_project(
    "segments",
    Column("doc_id", TEXT, nullable=False),
    Column("segment_id", TEXT, nullable=False),
    Column("position", Integer, nullable=False),
    Column("source", TEXT),
    _by("added_by"),
    _by("source_by"),
    UniqueConstraint("project_id", "doc_id", "segment_id", name="one_segment_a_key"),
)

segment_references = Table(
    "segment_references",
    metadata,
    Column("segment", ForeignKey("segments.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("text", TEXT, nullable=False),
    _by("added_by"),
)

outputs = _table(
    "outputs",
    _part_of("segment", "segments"),
    Column("system", TEXT, nullable=False),
    Column("position", Integer, nullable=False),
    Column("text", TEXT, nullable=False),
    Column("content_key", String(64), nullable=False),
    _by("added_by"),
    Column("next_key", String(64)),  # replaces the content key once the import that gave it is complete
    _by("next_key_by"),
    UniqueConstraint("segment", "system", name="one_output_a_system"),
)

human_scores = _table(
    "human_scores",
    _part_of("output", "outputs"),
    Column("name", TEXT, nullable=False),
    Column("value", Double, nullable=False),
    _by("added_by"),
    UniqueConstraint("output", "name", name="one_human_score_a_name"),
)

signatures = _table(
    "signatures",
    Column("metric", TEXT, nullable=False),
    Column("signature", TEXT, nullable=False),
    Column("digest", String(64), nullable=False, unique=True),  # sha256 of the signature, which may be long
)

runs = _table(
    "runs",
    _part_of("signature", "signatures"),
    Column("created", Utc, nullable=False),
    Column("n", Integer, nullable=False),
    Column("seconds", Double, nullable=False),
    Column("machine", Json, nullable=False),
)

scores = Table(
    "scores",
    metadata,
    Column("signature", ForeignKey("signatures.id", ondelete="CASCADE"), primary_key=True),
    Column("content_key", String(64), primary_key=True),
    _part_of("run", "runs"),
    Column("value", Double),
    Column("status", String(16), nullable=False),
    Column("reason", TEXT, nullable=False),
    Column("parts", Json, nullable=False),
    Column("detail", LargeBinary),  # JSON, deflated
    Index("scores_by_run", "run"),
)

project_arrays = _of_project(  # see db.scores.arrays
    "project_arrays",
    Column("digest", String(64), nullable=False),  # of the name of what it has
    Column("imports", Integer, nullable=False),  # `projects.imports` when it was read
    Column("newest", BigInteger, nullable=False),  # the last run (for external scores: change) that it has
    Column("data", LargeBinary, nullable=False),
    UniqueConstraint("project_id", "digest", name="one_array_a_digest"),
)

external_metrics = _of_project(
    "external_metrics",
    Column("name", TEXT, nullable=False),
    Column("higher_is_better", Boolean, nullable=False),
    Column("files", Json, nullable=False),  # [[name, sha256, column], …] in the order in which they were imported
    Column("created", Utc, nullable=False),  # when its values last changed
    UniqueConstraint("project_id", "name", name="one_external_metric_a_name"),
)

external_scores = Table(
    "external_scores",
    metadata,
    Column("metric", ForeignKey("external_metrics.id", ondelete="CASCADE"), primary_key=True),
    Column("output", ForeignKey("outputs.id", ondelete="CASCADE"), primary_key=True, index=True),
    Column("value", Double),
    Column("status", String(16), nullable=False),
    Column("reason", TEXT, nullable=False),
)

span_layers = _of_project(
    "span_layers",
    Column("name", TEXT, nullable=False),  # begins with a space while the layer is hidden (`db.spans`)
    Column("outputs", Integer, nullable=False),
    Column("spans", Integer, nullable=False),
    Column("provenance", Json, nullable=False),
    Column("left_out", Json, nullable=False),
    Column("created", Utc, nullable=False),
    UniqueConstraint("project_id", "name", name="one_span_layer_a_name"),
)

span_layer_outputs = Table(  # one row per examined output
    "span_layer_outputs",
    metadata,
    Column("layer", ForeignKey("span_layers.id", ondelete="CASCADE"), primary_key=True),
    Column("output", ForeignKey("outputs.id", ondelete="CASCADE"), primary_key=True, index=True),
    Column("spans", Json, nullable=False),
)

jobs = _of_project(
    "jobs",
    Column("metrics", Json, nullable=False),
    Column("state", String(16), nullable=False, index=True),
    Column("done", Integer, nullable=False),  # as the job ended; while it runs, the chunks are counted
    Column("total", Integer, nullable=False),
    Column("message", TEXT, nullable=False),
    Column("created", Utc, nullable=False),
    Column("started", Utc),
    Column("finished", Utc),
    Column("segments", Json),  # [[document, segment], …]; NULL for all
    Column("timing", Boolean),  # NULL for false
    Column("priority", Integer),  # NULL for 0
    Column("served", Utc),  # when a chunk was last leased
    Column("imports", Integer),  # of the project when the job was planned (`projects.imports`)
    sqlite_autoincrement=True,
)

job_metrics = _table(
    "job_metrics",
    _part_of("job", "jobs", index=True),
    Column("metric", TEXT, nullable=False),
    Column("label", TEXT, nullable=False),
    Column("signature", TEXT, nullable=False),
    Column("unusable", TEXT, nullable=False),  # why it cannot run, or ""
    Column("abandoned", TEXT, nullable=False),  # why no further texts are tried, or ""
    Column("examples", Json, nullable=False),  # ids of outputs
    Column("speed", Double),  # seconds per unit of size
    Column("length", Double, nullable=False),  # mean size of an output
    Column("total", Integer, nullable=False),  # distinct outputs
    Column("known", Integer, nullable=False),  # of these, scored before
)

chunks = _table(
    "chunks",
    _part_of("job", "jobs"),
    Column("metric", ForeignKey("job_metrics.id", ondelete="CASCADE")),  # NULL for a chunk that plans
    Column("position", Integer, nullable=False),
    Column("state", String(16), nullable=False),  # ready, running, done
    Column("outputs", LargeBinary),  # ids, ascending: differences as 64-bit integers, deflated; NULL when it is done
    Column("n", Integer, nullable=False),
    Column("size", Double, nullable=False),
    Column("begins_after", Integer, nullable=False),  # the output after which a chunk that plans begins
    Column("done", Integer, nullable=False),
    Column("failed", Integer, nullable=False),
    Column("known", Integer, nullable=False),
    Column("reason", TEXT, nullable=False),  # of the first failure
    Column("message", TEXT, nullable=False),
    Column("seconds", Double, nullable=False),
    Column("worker", TEXT),
    Column("heartbeat", Utc),
    Column("attempts", Integer, nullable=False),  # leases since the last progress
    Index("chunks_in_turn", "job", "state", "position"),
    sqlite_autoincrement=True,
)

claims = Table(
    "claims",
    metadata,
    Column("digest", String(64), primary_key=True),  # of the signature
    Column("content_key", String(64), primary_key=True),
    _part_of("chunk", "chunks", index=True),
    Column("worker", TEXT, nullable=False),  # holds while the chunk is this worker's
)

timings = _table(
    "timings",
    Column("digest", String(64), nullable=False, index=True),  # of metric, model and machine
    Column("n", Integer, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("seconds", Double, nullable=False),
    Column("length", Double, nullable=False),
    Column("created", Utc, nullable=False),
)

raters = _table("raters", Column("name", TEXT, nullable=False, unique=True), Column("created", Utc, nullable=False))

events = Table(
    "events",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    _project(),
    Column("action_id", TEXT, nullable=False),
    Column("time", Utc, nullable=False),
    Column("rater", ForeignKey("raters.id"), nullable=False),
    _part_of("segment", "segments"),
    Column("kind", String(16), nullable=False),
    Column("system", TEXT),
    Column("payload", Json, nullable=False),
    Column("client_time", TEXT, nullable=False),
    _by("added_by"),
    UniqueConstraint("project_id", "action_id", name="one_event_an_action"),
    Index("events_by_segment", "segment", "rater"),
    Index("events_by_rater", "rater", "project_id", "number"),  # the rater first: deleting a rater looks for events too
    Index("events_by_number", "project_id", "number"),
    _by_import("events", "number"),
    sqlite_autoincrement=True,
)

judgements = _table(
    "judgements",
    _part_of("output", "outputs"),
    Column("rater", ForeignKey("raters.id"), nullable=False),
    Column("name", TEXT, nullable=False),
    Column("value", Double, nullable=False),
    _by("added_by"),
    UniqueConstraint("output", "rater", "name", name="one_judgement_a_rater"),
    _by_import("judgements", "id"),
)

calibrations = _of_project(
    "calibrations",
    Column("name", TEXT, nullable=False),
    Column("value", String(32), nullable=False),  # repr of a float, so that ∞ is kept
    Column("signature", TEXT, nullable=False),
    Column("refinement", TEXT, nullable=False),
    Column("result", Json, nullable=False),
    Column("created", Utc, nullable=False),
    UniqueConstraint("project_id", "name", name="one_calibration_a_name"),
)

cases = _of_project(
    "cases",
    Column("collection", TEXT, nullable=False),
    Column("phenomenon", TEXT, nullable=False),
    Column("source", TEXT),
    Column("reference", TEXT),
    Column("good", TEXT, nullable=False),
    Column("changed", TEXT, nullable=False),
    Column("what", TEXT, nullable=False),
    Column("scores", Json, nullable=False),  # [[metric, signature, higher is better, good, changed, reason], …]
    Column("created", Utc, nullable=False),
    Index("cases_by_collection", "project_id", "collection"),
)

stress_test_runs = _of_project(
    "stress_test_runs",
    Column("name", TEXT, nullable=False),
    Column("settings", Json, nullable=False),
    Column("report", LargeBinary, nullable=False),  # the text of the report, deflated
    Column("created", Utc, nullable=False),
    Index("stress_test_runs_by_project", "project_id"),
    sqlite_autoincrement=True,  # links may contain the id of a deleted run
)

batches = _of_project(
    "batches",
    Column("name", TEXT, nullable=False),
    Column("method", String(32), nullable=False),
    Column("seed", Integer, nullable=False),
    Column("signature", TEXT, nullable=False),
    Column("population", Integer, nullable=False),
    # [[system, document, segment, probability], …]: always read and written whole
    Column("outputs", Json, nullable=False),
    Column("options", Json, nullable=False),
    Column("created", Utc, nullable=False),
    UniqueConstraint("project_id", "name", name="one_batch_a_name"),
)

accounts = _table(
    "accounts",
    Column("name", TEXT, nullable=False, unique=True),
    Column("password", TEXT),  # Argon2 hash; NULL for accounts that log in with OpenID Connect only
    Column("manager", Boolean, nullable=False),
    Column("active", Boolean, nullable=False),
    Column("created", Utc, nullable=False),
    sqlite_autoincrement=True,
)

project_roles = _of_project(
    "project_roles",
    _part_of("account", "accounts"),
    Column("role", String(16), nullable=False),
    UniqueConstraint("project_id", "account", name="one_role_an_account"),
)

login_sessions = Table(
    "login_sessions",
    metadata,
    Column("token_hash", String(64), primary_key=True),
    _part_of("account", "accounts", index=True),
    Column("created", Utc, nullable=False),
    Column("expires", Utc, nullable=False),
)

links = _of_project(
    "links",
    Column("rater", TEXT, nullable=False),
    Column("batch", TEXT),
    Column("token_hash", String(64), nullable=False, unique=True),
    Column("created", Utc, nullable=False),
    Column("expires", Utc),
    Column("revoked", Utc),
    Column("created_by", TEXT, nullable=False),
    sqlite_autoincrement=True,
)

audit = Table(
    "audit",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("time", Utc, nullable=False),
    Column("who", TEXT, nullable=False),
    Column("act", String(64), nullable=False),
    Column("project_id", Integer, index=True),  # no reference: the record of a deleted project stays
    Column("details", Json, nullable=False),
    sqlite_autoincrement=True,
)

campaigns = _of_project(
    "campaigns",
    _part_of("texts", "projects", unique=True),  # a project that no list has; its name cannot be typed
    Column("name", TEXT, nullable=False),
    Column("design", Json, nullable=False),
    Column("state", String(16), nullable=False),
    Column("created", Utc, nullable=False),
    Column("created_by", TEXT, nullable=False),
    UniqueConstraint("project_id", "name", name="one_campaign_a_name"),
    sqlite_autoincrement=True,
)

campaign_units = _table(
    "campaign_units",
    _part_of("campaign", "campaigns"),
    Column("name", TEXT, nullable=False),  # segment id in the texts project
    Column("position", Integer, nullable=False),
    Column("block", Integer, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("of_document", TEXT, nullable=False),
    Column("of_segment", TEXT, nullable=False),
    Column("systems", Json, nullable=False),
    Column("details", Json, nullable=False),
    Column("retired", Boolean, nullable=False),
    UniqueConstraint("campaign", "name", name="one_unit_a_name"),
)

participants = _table(
    "participants",
    _part_of("campaign", "campaigns"),
    Column("rater", TEXT, nullable=False),
    Column("code", TEXT, nullable=False),
    Column("joined", Utc, nullable=False),
    Column("excluded", TEXT, nullable=False),
    Column("has_left", Boolean, nullable=False),
    Column("passed_tutorial", Boolean),
    UniqueConstraint("campaign", "rater", name="one_participant_a_name"),
    sqlite_autoincrement=True,
)

assignments = _table(
    "assignments",
    _part_of("unit", "campaign_units"),
    _part_of("participant", "participants"),
    Column("slot", Integer),
    Column("position", Integer, nullable=False),
    Column("systems", Json, nullable=False),  # in the order on the screen
    Column("probability", Double, nullable=False),
    Column("state", String(16), nullable=False),
    Column("assigned", Utc, nullable=False),
    Column("lease_until", Utc),
    Column("opened", Utc),
    Column("submitted", Utc),
    UniqueConstraint("unit", "participant", name="one_assignment_a_participant"),
    UniqueConstraint("unit", "slot", name="one_assignment_a_slot"),
    Index("assignments_by_participant", "participant", "position"),
)

shared_results = _of_project(
    "shared_results",
    Column("campaign", ForeignKey("campaigns.id", ondelete="CASCADE")),  # NULL for a meta-evaluation
    Column("title", TEXT, nullable=False),
    Column("blind", Boolean, nullable=False),
    Column("page", LargeBinary),  # HTML, deflated; NULL once it is revoked
    Column("token_hash", String(64), nullable=False, unique=True),
    Column("created", Utc, nullable=False),
    Column("created_by", TEXT, nullable=False),
    Column("revoked", Utc),
    Index("shared_results_by_project", "project_id"),
    sqlite_autoincrement=True,
)

server_secret = _table("server_secret", Column("value", LargeBinary, nullable=False))
