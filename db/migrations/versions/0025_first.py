"""The first tables, and the triggers by which the log of labels and the audit record refuse every change.

Its number is that of the last of 25 migrations from which it was made before the first release: a database at revision 0025 has exactly
these tables, in this order of columns. Recorded labels are deleted only with their project, or while it is hidden.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = None
branch_labels = None
depends_on = None

SQLITE = (
    """CREATE TRIGGER events_keep BEFORE UPDATE ON events
       BEGIN SELECT RAISE(ABORT, 'the log of labels is append-only'); END""",
    """CREATE TRIGGER events_stay BEFORE DELETE ON events
               WHEN EXISTS (SELECT 1 FROM projects WHERE id = OLD.project_id AND importing IS NULL)
               BEGIN SELECT RAISE(ABORT, 'the log of labels is append-only'); END""",
    """CREATE TRIGGER audit_keep BEFORE UPDATE ON audit
       BEGIN SELECT RAISE(ABORT, 'the audit record is append-only'); END""",
    """CREATE TRIGGER audit_stay BEFORE DELETE ON audit
       BEGIN SELECT RAISE(ABORT, 'the audit record is append-only'); END""",
)
POSTGRESQL = (
    """CREATE FUNCTION events_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
               BEGIN
                 IF TG_OP = 'DELETE' THEN
                   IF NOT EXISTS (SELECT 1 FROM projects WHERE id = OLD.project_id AND importing IS NULL) THEN
                     RETURN OLD;
                   END IF;
                 END IF;
                 RAISE EXCEPTION 'the log of labels is append-only' USING ERRCODE = 'restrict_violation';
               END $$""",
    """CREATE TRIGGER events_keep BEFORE UPDATE ON events FOR EACH ROW EXECUTE FUNCTION events_append_only()""",
    """CREATE TRIGGER events_stay BEFORE DELETE ON events FOR EACH ROW EXECUTE FUNCTION events_append_only()""",
    """CREATE TRIGGER events_whole BEFORE TRUNCATE ON events FOR EACH STATEMENT EXECUTE FUNCTION events_append_only()""",
    """CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN RAISE EXCEPTION 'the audit record is append-only'; END $$""",
    """CREATE TRIGGER audit_keep BEFORE UPDATE OR DELETE ON audit
       FOR EACH ROW EXECUTE FUNCTION refuse_audit_change()""",
    """CREATE TRIGGER audit_stay BEFORE TRUNCATE ON audit
       FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change()""",
)


def _id() -> sa.Column[int]:
    return sa.Column("id", sa.Integer, primary_key=True)


def _to(
    name: str,
    key: str,
    *,
    nullable: bool = False,
    primary_key: bool = False,
    unique: bool | None = None,
    index: bool | None = None,
) -> sa.Column[int]:
    """Return a column that refers to a key of another table and is deleted with its row."""
    reference = sa.ForeignKey(key, ondelete="CASCADE")
    return sa.Column(
        name, sa.Integer, reference, nullable=nullable, primary_key=primary_key, unique=unique, index=index
    )


def upgrade() -> None:
    op.create_table(
        "projects",
        _id(),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("created", sa.DateTime, nullable=False),
        sa.Column("sample", sa.Boolean, nullable=False),
        sa.Column("importing", sa.DateTime),
        sa.Column("imports", sa.Integer),
        sa.Column("summary", sa.Text),
        sa.Column("cleanup", sa.String(8)),
        sa.Column("adds_to", sa.Integer),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "segments",
        _id(),
        _to("project_id", "projects.id"),
        sa.Column("doc_id", sa.Text, nullable=False),
        sa.Column("segment_id", sa.Text, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("source", sa.Text),
        sa.Column("added_by", sa.Integer),
        sa.Column("source_by", sa.Integer),
        sa.UniqueConstraint("project_id", "doc_id", "segment_id", name="one_segment_a_key"),
    )
    op.create_table(
        "segment_references",
        _to("segment", "segments.id", primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("added_by", sa.Integer),
    )
    op.create_table(
        "outputs",
        _id(),
        _to("segment", "segments.id"),
        sa.Column("system", sa.Text, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("content_key", sa.String(64), nullable=False),
        sa.Column("added_by", sa.Integer),
        sa.Column("next_key", sa.String(64)),
        sa.Column("next_key_by", sa.Integer),
        sa.UniqueConstraint("segment", "system", name="one_output_a_system"),
    )
    op.create_table(
        "human_scores",
        _id(),
        _to("output", "outputs.id"),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("value", sa.Double, nullable=False),
        sa.Column("added_by", sa.Integer),
        sa.UniqueConstraint("output", "name", name="one_human_score_a_name"),
    )
    op.create_table(
        "signatures",
        _id(),
        sa.Column("metric", sa.Text, nullable=False),
        sa.Column("signature", sa.Text, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
    )
    op.create_table(
        "runs",
        _id(),
        _to("signature", "signatures.id"),
        sa.Column("created", sa.DateTime, nullable=False),
        sa.Column("n", sa.Integer, nullable=False),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.Column("machine", sa.Text, nullable=False),
    )
    op.create_table(
        "scores",
        _to("signature", "signatures.id", primary_key=True),
        sa.Column("content_key", sa.String(64), primary_key=True),
        _to("run", "runs.id"),
        sa.Column("value", sa.Double),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("parts", sa.Text, nullable=False),
        sa.Column("detail", sa.LargeBinary),
        sa.Index("scores_by_run", "run"),
    )
    op.create_table(
        "jobs",
        _id(),
        _to("project_id", "projects.id"),
        sa.Column("metrics", sa.Text, nullable=False),
        sa.Column("state", sa.String(16), nullable=False, index=True),
        sa.Column("done", sa.Integer, nullable=False),
        sa.Column("total", sa.Integer, nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("created", sa.DateTime, nullable=False),
        sa.Column("started", sa.DateTime),
        sa.Column("finished", sa.DateTime),
        sa.Column("segments", sa.Text),
        sa.Column("timing", sa.Boolean),
        sa.Column("priority", sa.Integer),
        sa.Column("served", sa.DateTime),
        sa.Column("imports", sa.Integer),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "raters",
        _id(),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("created", sa.DateTime, nullable=False),
    )
    op.create_table(
        "events",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
        _to("project_id", "projects.id"),
        sa.Column("action_id", sa.Text, nullable=False),
        sa.Column("time", sa.DateTime, nullable=False),
        sa.Column("rater", sa.Integer, sa.ForeignKey("raters.id"), nullable=False),
        _to("segment", "segments.id"),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("system", sa.Text),
        sa.Column("payload", sa.Text, nullable=False),
        sa.Column("client_time", sa.Text, nullable=False),
        sa.UniqueConstraint("project_id", "action_id", name="one_event_an_action"),
        sa.Index("events_by_number", "project_id", "number"),
        sa.Index("events_by_rater", "rater", "project_id", "number"),
        sa.Index("events_by_segment", "segment", "rater"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "calibrations",
        _id(),
        _to("project_id", "projects.id"),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("value", sa.String(32), nullable=False),
        sa.Column("signature", sa.Text, nullable=False),
        sa.Column("refinement", sa.Text, nullable=False),
        sa.Column("result", sa.Text, nullable=False),
        sa.Column("created", sa.DateTime, nullable=False),
        sa.UniqueConstraint("project_id", "name", name="one_calibration_a_name"),
    )
    op.create_table(
        "batches",
        _id(),
        _to("project_id", "projects.id"),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("method", sa.String(32), nullable=False),
        sa.Column("seed", sa.Integer, nullable=False),
        sa.Column("signature", sa.Text, nullable=False),
        sa.Column("population", sa.Integer, nullable=False),
        sa.Column("outputs", sa.Text, nullable=False),
        sa.Column("options", sa.Text, nullable=False),
        sa.Column("created", sa.DateTime, nullable=False),
        sa.UniqueConstraint("project_id", "name", name="one_batch_a_name"),
    )
    op.create_table(
        "external_metrics",
        _id(),
        _to("project_id", "projects.id"),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("higher_is_better", sa.Boolean, nullable=False),
        sa.Column("files", sa.Text, nullable=False),
        sa.Column("created", sa.DateTime, nullable=False),
        sa.UniqueConstraint("project_id", "name", name="one_external_metric_a_name"),
    )
    op.create_table(
        "external_scores",
        _to("metric", "external_metrics.id", primary_key=True),
        _to("output", "outputs.id", primary_key=True, index=True),
        sa.Column("value", sa.Double),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
    )
    op.create_table(
        "judgements",
        _id(),
        _to("output", "outputs.id"),
        sa.Column("rater", sa.Integer, sa.ForeignKey("raters.id"), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("value", sa.Double, nullable=False),
        sa.UniqueConstraint("output", "rater", "name", name="one_judgement_a_rater"),
    )
    op.create_table(
        "cases",
        _id(),
        _to("project_id", "projects.id"),
        sa.Column("collection", sa.Text, nullable=False),
        sa.Column("phenomenon", sa.Text, nullable=False),
        sa.Column("source", sa.Text),
        sa.Column("reference", sa.Text),
        sa.Column("good", sa.Text, nullable=False),
        sa.Column("changed", sa.Text, nullable=False),
        sa.Column("what", sa.Text, nullable=False),
        sa.Column("scores", sa.Text, nullable=False),
        sa.Column("created", sa.DateTime, nullable=False),
        sa.Index("cases_by_collection", "project_id", "collection"),
    )
    op.create_table(
        "stress_runs",
        _id(),
        _to("project_id", "projects.id"),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("settings", sa.Text, nullable=False),
        sa.Column("report", sa.LargeBinary, nullable=False),
        sa.Column("created", sa.DateTime, nullable=False),
        sqlite_autoincrement=True,
    )
    op.rename_table("stress_runs", "stress_test_runs")  # its key and sequence on PostgreSQL keep the first name
    op.create_index("stress_test_runs_by_project", "stress_test_runs", ["project_id"])
    op.create_table(
        "project_settings",
        _id(),
        _to("project_id", "projects.id"),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.UniqueConstraint("project_id", "name", name="one_setting_a_name"),
    )
    op.create_table(
        "accounts",
        _id(),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("password", sa.Text),
        sa.Column("manager", sa.Boolean, nullable=False),
        sa.Column("active", sa.Boolean, nullable=False),
        sa.Column("created", sa.DateTime, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "project_roles",
        _id(),
        _to("project_id", "projects.id"),
        _to("account", "accounts.id"),
        sa.Column("role", sa.String(16), nullable=False),
        sa.UniqueConstraint("project_id", "account", name="one_role_an_account"),
    )
    op.create_table(
        "login_sessions",
        sa.Column("token_hash", sa.String(64), primary_key=True),
        _to("account", "accounts.id", index=True),
        sa.Column("created", sa.DateTime, nullable=False),
        sa.Column("expires", sa.DateTime, nullable=False),
    )
    op.create_table(
        "links",
        _id(),
        _to("project_id", "projects.id"),
        sa.Column("rater", sa.Text, nullable=False),
        sa.Column("batch", sa.Text),
        sa.Column("token_hash", sa.String(64), nullable=False, unique=True),
        sa.Column("created", sa.DateTime, nullable=False),
        sa.Column("expires", sa.DateTime),
        sa.Column("revoked", sa.DateTime),
        sa.Column("created_by", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "audit",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("time", sa.DateTime, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("act", sa.String(64), nullable=False),
        sa.Column("project_id", sa.Integer, index=True),
        sa.Column("details", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "server_secret",
        _id(),
        sa.Column("value", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "campaigns",
        _id(),
        _to("project_id", "projects.id"),
        _to("texts", "projects.id", unique=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("design", sa.Text, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("created", sa.DateTime, nullable=False),
        sa.Column("created_by", sa.Text, nullable=False),
        sa.UniqueConstraint("project_id", "name", name="one_campaign_a_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "campaign_units",
        _id(),
        _to("campaign", "campaigns.id"),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("block", sa.Integer, nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("of_document", sa.Text, nullable=False),
        sa.Column("of_segment", sa.Text, nullable=False),
        sa.Column("systems", sa.Text, nullable=False),
        sa.Column("details", sa.Text, nullable=False),
        sa.Column("retired", sa.Boolean, nullable=False),
        sa.UniqueConstraint("campaign", "name", name="one_unit_a_name"),
    )
    op.create_table(
        "participants",
        _id(),
        _to("campaign", "campaigns.id"),
        sa.Column("rater", sa.Text, nullable=False),
        sa.Column("code", sa.Text, nullable=False),
        sa.Column("joined", sa.DateTime, nullable=False),
        sa.Column("excluded", sa.Text, nullable=False),
        sa.Column("has_left", sa.Boolean, nullable=False),
        sa.Column("passed_tutorial", sa.Boolean),
        sa.UniqueConstraint("campaign", "rater", name="one_participant_a_name"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "assignments",
        _id(),
        _to("unit", "campaign_units.id"),
        _to("participant", "participants.id"),
        sa.Column("slot", sa.Integer),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("systems", sa.Text, nullable=False),
        sa.Column("probability", sa.Double, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("assigned", sa.DateTime, nullable=False),
        sa.Column("lease_until", sa.DateTime),
        sa.Column("opened", sa.DateTime),
        sa.Column("submitted", sa.DateTime),
        sa.UniqueConstraint("unit", "slot", name="one_assignment_a_slot"),
        sa.UniqueConstraint("unit", "participant", name="one_assignment_a_participant"),
        sa.Index("assignments_by_participant", "participant", "position"),
    )
    op.create_table(
        "project_arrays",
        _id(),
        _to("project_id", "projects.id"),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("imports", sa.Integer, nullable=False),
        sa.Column("newest", sa.BigInteger, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("project_id", "digest", name="one_array_a_digest"),
    )
    op.create_table(
        "job_metrics",
        _id(),
        _to("job", "jobs.id", index=True),
        sa.Column("metric", sa.Text, nullable=False),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("signature", sa.Text, nullable=False),
        sa.Column("unusable", sa.Text, nullable=False),
        sa.Column("abandoned", sa.Text, nullable=False),
        sa.Column("examples", sa.Text, nullable=False),
        sa.Column("speed", sa.Double),
        sa.Column("length", sa.Double, nullable=False),
        sa.Column("total", sa.Integer, nullable=False),
        sa.Column("known", sa.Integer, nullable=False),
    )
    op.create_table(
        "chunks",
        _id(),
        _to("job", "jobs.id"),
        _to("metric", "job_metrics.id", nullable=True),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("outputs", sa.LargeBinary),
        sa.Column("n", sa.Integer, nullable=False),
        sa.Column("size", sa.Double, nullable=False),
        sa.Column("begins_after", sa.Integer, nullable=False),
        sa.Column("done", sa.Integer, nullable=False),
        sa.Column("failed", sa.Integer, nullable=False),
        sa.Column("known", sa.Integer, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.Column("worker", sa.Text),
        sa.Column("heartbeat", sa.DateTime),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Index("chunks_in_turn", "job", "state", "position"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "claims",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("content_key", sa.String(64), primary_key=True),
        _to("chunk", "chunks.id", index=True),
        sa.Column("worker", sa.Text, nullable=False),
    )
    op.create_table(
        "timings",
        _id(),
        sa.Column("digest", sa.String(64), nullable=False, index=True),
        sa.Column("n", sa.Integer, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("seconds", sa.Double, nullable=False),
        sa.Column("length", sa.Double, nullable=False),
        sa.Column("created", sa.DateTime, nullable=False),
    )
    op.create_table(
        "shared_results",
        _id(),
        _to("project_id", "projects.id"),
        _to("campaign", "campaigns.id", nullable=True),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("blind", sa.Boolean, nullable=False),
        sa.Column("page", sa.LargeBinary),
        sa.Column("token_hash", sa.String(64), nullable=False, unique=True),
        sa.Column("created", sa.DateTime, nullable=False),
        sa.Column("created_by", sa.Text, nullable=False),
        sa.Column("revoked", sa.DateTime),
        sa.Index("shared_results_by_project", "project_id"),
        sqlite_autoincrement=True,
    )
    for statement in SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL:
        op.execute(statement)
