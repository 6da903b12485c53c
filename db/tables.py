"""The tables. `db/migrations/versions` creates them; a test checks that both agree."""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    DateTime,
    Dialect,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
)
from sqlalchemy.dialects import mysql
from sqlalchemy.exc import DontWrapMixin
from sqlalchemy.schema import SchemaItem

from core.errors import UserError

_HALF = re.compile("[\ud800-\udfff]")
_LONG = Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
_NAME = Text().with_variant(mysql.VARCHAR(190, collation="utf8mb4_bin"), "mysql", "mariadb")
BYTES = LargeBinary().with_variant(mysql.LONGBLOB(), "mysql", "mariadb")


class NotStorable(UserError, DontWrapMixin):  # noqa: N818  (what the text is)
    """The error for a text with an unpaired surrogate, which no database can store."""

    def __init__(self, text: str) -> None:
        shown = ascii(text[:60])
        super().__init__("this text holds half a character", got=shown, hint="Type it again; nothing was saved")


class Long(TypeDecorator[str]):
    """A text of any length. Raises `NotStorable` if no database can store it."""

    impl = _LONG
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        if value is not None and _HALF.search(value):
            raise NotStorable(value)
        return value


class Name(Long):
    """A text that can be part of a key."""

    impl = _NAME
    cache_ok = True


LONG, NAME = Long(), Name()


class Utc(TypeDecorator[datetime]):
    """An aware datetime, stored as UTC without a zone."""

    impl = DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.replace(tzinfo=UTC)


class Json(TypeDecorator[Any]):
    """Plain JSON values as text. ∞ and −∞ are kept; NaN is refused (a missing number is None with a reason)."""

    impl = _LONG
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else to_json(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else json.loads(value)


def to_json(value: Any) -> str:
    """Return `value` as ASCII JSON. Raises ValueError if it contains NaN."""
    if _holds_nan(value):
        raise ValueError("NaN is not stored; a missing number is None with a reason")
    return json.dumps(value, separators=(",", ":"))


def _holds_nan(value: Any) -> bool:
    if isinstance(value, float):
        return math.isnan(value)
    if isinstance(value, dict):
        return any(_holds_nan(v) for v in value.values())
    return isinstance(value, list | tuple) and any(_holds_nan(v) for v in value)


def now() -> datetime:
    return datetime.now(UTC)


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


projects = _table(
    "projects",
    Column("name", NAME, nullable=False, unique=True),
    Column("created", Utc, nullable=False),
    Column("sample", Boolean, nullable=False),
    sqlite_autoincrement=True,  # deleted ids are never reused, because links and open pages may contain them
)

project_settings = _of_project(
    "project_settings",
    Column("name", NAME, nullable=False),
    Column("value", Json, nullable=False),
    UniqueConstraint("project_id", "name", name="one_setting_a_name"),
)

segments = _of_project(
    "segments",
    Column("doc_id", NAME, nullable=False),
    Column("segment_id", NAME, nullable=False),
    Column("position", Integer, nullable=False),
    Column("source", LONG),
    UniqueConstraint("project_id", "doc_id", "segment_id", name="one_segment_a_key"),
)

segment_references = Table(
    "segment_references",
    metadata,
    Column("segment", ForeignKey("segments.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("text", LONG, nullable=False),
)

outputs = _table(
    "outputs",
    _part_of("segment", "segments"),
    Column("system", NAME, nullable=False),
    Column("position", Integer, nullable=False),
    Column("text", LONG, nullable=False),
    Column("content_key", String(64), nullable=False, index=True),
    UniqueConstraint("segment", "system", name="one_output_a_system"),
)

human_scores = _table(
    "human_scores",
    _part_of("output", "outputs"),
    Column("name", NAME, nullable=False),
    Column("value", Double, nullable=False),
    UniqueConstraint("output", "name", name="one_human_score_a_name"),
)

signatures = _table(
    "signatures",
    Column("metric", NAME, nullable=False),
    Column("signature", LONG, nullable=False),
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
    Column("reason", LONG, nullable=False),
    Column("parts", Json, nullable=False),
    Column("detail", BYTES),  # JSON, deflated
    Index("scores_by_content", "content_key"),
)

external_metrics = _of_project(
    "external_metrics",
    Column("name", NAME, nullable=False),
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
    Column("reason", LONG, nullable=False),
)

jobs = _of_project(
    "jobs",
    Column("metrics", Json, nullable=False),
    Column("state", String(16), nullable=False, index=True),
    Column("done", Integer, nullable=False),
    Column("total", Integer, nullable=False),
    Column("message", LONG, nullable=False),
    Column("created", Utc, nullable=False),
    Column("started", Utc),
    Column("finished", Utc),
    Column("worker", NAME),
    Column("heartbeat", Utc),
    Column("attempts", Integer, nullable=False),  # leases since the last progress
    Column("segments", Json),  # [[document, segment], …]; NULL for all
    Column("timing", Boolean),  # NULL for false
    sqlite_autoincrement=True,
)

claims = Table(
    "claims",
    metadata,
    Column("digest", String(64), primary_key=True),  # of the signature
    Column("content_key", String(64), primary_key=True),
    _part_of("job", "jobs", index=True),
    Column("worker", NAME, nullable=False),  # holds while the job is this worker's
)

timings = _table(
    "timings",
    Column("digest", String(64), nullable=False, index=True),  # of metric, model and machine
    Column("n", Integer, nullable=False),
    Column("size", Integer, nullable=False),
    Column("seconds", Double, nullable=False),
    Column("length", Double, nullable=False),
    Column("created", Utc, nullable=False),
)

raters = _table(
    "raters",
    Column("name", NAME, nullable=False, unique=True),
    Column("created", Utc, nullable=False),
)

events = Table(
    "events",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    _project(),
    Column("action_id", NAME, nullable=False),
    Column("time", Utc, nullable=False),
    Column("rater", ForeignKey("raters.id"), nullable=False),
    _part_of("segment", "segments"),
    Column("kind", String(16), nullable=False),
    Column("system", NAME),
    Column("payload", Json, nullable=False),
    Column("client_time", LONG, nullable=False),
    UniqueConstraint("project_id", "action_id", name="one_event_an_action"),
    Index("events_by_segment", "segment", "rater"),
    sqlite_autoincrement=True,
)

judgements = _table(
    "judgements",
    _part_of("output", "outputs"),
    Column("rater", ForeignKey("raters.id"), nullable=False),
    Column("name", NAME, nullable=False),
    Column("value", Double, nullable=False),
    UniqueConstraint("output", "rater", "name", name="one_judgement_a_rater"),
)

calibrations = _of_project(
    "calibrations",
    Column("name", NAME, nullable=False),
    Column("value", String(32), nullable=False),  # repr of a float, so that ∞ is kept in every database
    Column("signature", LONG, nullable=False),
    Column("refinement", LONG, nullable=False),
    Column("result", Json, nullable=False),
    Column("created", Utc, nullable=False),
    UniqueConstraint("project_id", "name", name="one_calibration_a_name"),
)

cases = _of_project(
    "cases",
    Column("collection", NAME, nullable=False),
    Column("phenomenon", LONG, nullable=False),
    Column("source", LONG),
    Column("reference", LONG),
    Column("good", LONG, nullable=False),
    Column("changed", LONG, nullable=False),
    Column("what", LONG, nullable=False),
    Column("scores", Json, nullable=False),  # [[metric, signature, higher is better, good, changed, reason], …]
    Column("created", Utc, nullable=False),
    Index("cases_by_collection", "project_id", "collection"),
)

stress_test_runs = _of_project(
    "stress_test_runs",
    Column("name", NAME, nullable=False),
    Column("settings", Json, nullable=False),
    Column("report", BYTES, nullable=False),  # the text of the report, deflated
    Column("created", Utc, nullable=False),
    Index("stress_test_runs_by_project", "project_id"),
    sqlite_autoincrement=True,  # links may contain the id of a deleted run
)

batches = _of_project(
    "batches",
    Column("name", NAME, nullable=False),
    Column("method", String(32), nullable=False),
    Column("seed", Integer, nullable=False),
    Column("signature", LONG, nullable=False),
    Column("population", Integer, nullable=False),
    # [[system, document, segment, probability], …]: always read and written whole
    Column("outputs", Json, nullable=False),
    Column("options", Json, nullable=False),
    Column("created", Utc, nullable=False),
    UniqueConstraint("project_id", "name", name="one_batch_a_name"),
)
