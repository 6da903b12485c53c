"""Measured times of scoring, by metric, model and machine."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from pathlib import Path

from sqlalchemy import Engine, delete, insert, select

from core.ports.timings import Timing
from core.settings import load as settings
from db.columns import now, to_json
from db.engine import reading, writing
from db.failures import retried
from db.scores import machine
from db.tables import timings

KEPT = 8
GPU = Path("/dev/nvidiactl")


class SqlTimings:
    """`core.ports.timings.Timings` over a database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def of(self, metric: str, model: str) -> list[Timing]:
        mine = timings.c.digest == _digest(metric, model)
        found = select(*(timings.c[name] for name in Timing._fields)).where(mine).order_by(timings.c.id.desc())
        with reading(self._engine) as connection:
            return [Timing(*row) for row in connection.execute(found.limit(KEPT))]

    @retried
    def add(self, metric: str, model: str, timing: Timing) -> None:
        digest = _digest(metric, model)
        with writing(self._engine) as connection:
            connection.execute(insert(timings).values(digest=digest, created=now(), **timing._asdict()))
            newest = select(timings.c.id).where(timings.c.digest == digest).order_by(timings.c.id.desc())
            old = list(connection.execute(newest.offset(KEPT)).scalars())
            connection.execute(delete(timings).where(timings.c.id.in_(old)))


@cache
def _here() -> str:
    """Return what the speed depends on besides metric and model. The GPU is found without loading torch."""
    return to_json([machine(), platform.node(), settings().device, GPU.exists()])


def _digest(metric: str, model: str) -> str:
    return hashlib.sha256(to_json([metric, model, _here()]).encode("ascii")).hexdigest()
