"""The models that *Models* or `errorscope models` made ready for use, in models.json in the folder of the database.

They are used where the environment configures no model of their kind. All processes that use the folder see a change at once.
"""

from __future__ import annotations

import os
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from tempfile import NamedTemporaryFile

from pydantic import BaseModel, ConfigDict, RootModel, ValidationError

from core.errors import UserError
from core.settings import load_settings


class PairScores(BaseModel):
    """The scores of a good and a bad output by a metric, with the published values if there are any."""

    model_config = ConfigDict(frozen=True)

    metric: str
    good_text: str
    bad_text: str
    good: float
    bad: float
    published_good: float | None = None
    published_bad: float | None = None
    published_in: str = ""

    @property
    def differs(self) -> bool:
        """Return whether a score is not the published one, which has two to four decimals."""
        pairs = ((self.good, self.published_good), (self.bad, self.published_bad))
        return any(published is not None and abs(score - published) > TOLERANCE for score, published in pairs)


class PreparedModel(BaseModel):
    """A model that is ready for use. `weights` is the SHA-256 of its weights, `original` that of the file they were read from.

    `hub` is the commit of the repository that the model was fetched from. `original` and `hub` are "" if not known.
    """

    model_config = ConfigDict(frozen=True)

    folder: str
    revision: str
    weights: str
    original: str = ""
    hub: str = ""
    tested: PairScores
    at: datetime


TOLERANCE = 0.005
"""Greatest difference from a published score. Devices and library versions change the fifth digit."""


class _Models(RootModel[dict[str, PreparedModel]]):
    """The content of models.json: the model of each kind."""


def models_folder() -> Path:
    """Return the folder into which the commands on *Models* fetch models."""
    return load_settings().home / "models"


def all_prepared() -> dict[str, PreparedModel]:
    """Return the prepared model of each kind. Raises UserError if models.json cannot be read."""
    path = _path()
    try:
        status = os.stat(path)
    except OSError:
        return {}
    return _read(str(path), status.st_mtime_ns, status.st_size)


def folder_of(kind: str) -> str:
    """Return the folder of the prepared model of a kind, or ""."""
    prepared = all_prepared().get(kind)
    return prepared.folder if prepared else ""


def keep(kind: str, model: PreparedModel | None) -> None:
    """Store the model of a kind; None removes it."""
    models = {**all_prepared()}
    models.pop(kind, None)
    if model is not None:
        models[kind] = model
    path = _path()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with NamedTemporaryFile(
        "w", dir=path.parent, prefix="models.", suffix=".part", delete=False, encoding="utf-8"
    ) as out:
        out.write(_Models(models).model_dump_json(indent=2))
    os.replace(out.name, path)


def _path() -> Path:
    return load_settings().home / "models.json"


@lru_cache(maxsize=4)
def _read(path: str, changed: int, size: int) -> dict[str, PreparedModel]:
    try:
        return _Models.model_validate_json(Path(path).read_bytes()).root
    except (OSError, ValidationError) as error:
        raise UserError(
            "the list of prepared models cannot be read", where=path, got=str(error).partition("\n")[0],
            expected="the file that Models writes", hint="Delete the file, and set the models up again",
        ) from error  # fmt: skip
