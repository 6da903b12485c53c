"""The log of labels refuses changes on PostgreSQL too, as it does on SQLite since the first version."""

from __future__ import annotations

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

APPEND_ONLY = (
    """CREATE FUNCTION events_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN
         IF TG_OP = 'DELETE' THEN
           IF NOT EXISTS (SELECT 1 FROM projects WHERE id = OLD.project_id) THEN
             RETURN OLD;  -- its whole project was deleted
           END IF;
         END IF;
         RAISE EXCEPTION 'the log of labels is append-only' USING ERRCODE = 'restrict_violation';
       END $$""",
    """CREATE TRIGGER events_keep BEFORE UPDATE ON events FOR EACH ROW EXECUTE FUNCTION events_append_only()""",
    """CREATE TRIGGER events_stay BEFORE DELETE ON events FOR EACH ROW EXECUTE FUNCTION events_append_only()""",
    """CREATE TRIGGER events_whole BEFORE TRUNCATE ON events FOR EACH STATEMENT EXECUTE FUNCTION events_append_only()""",
)


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        for statement in APPEND_ONLY:
            op.execute(statement)
