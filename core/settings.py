"""Settings, all from the environment, all with a default that works on a laptop."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from core.errors import UserError


class Limits(NamedTuple):
    """What one uploaded file may hold at most. The defaults leave room for a million outputs with their texts.

    `text_mb` is the size in MB after decompression; `rows` counts rows, lines of text, marks or outputs; `cells` counts cells
    and list entries; `cell_chars` is the length of a cell, a line or a JSON record, in characters.
    """

    text_mb: int = 512
    rows: int = 2_000_000
    cells: int = 15_000_000
    columns: int = 2_000
    cell_chars: int = 1 << 24

    @staticmethod
    def variable(field: str) -> str:
        """Return the environment variable that sets a limit."""
        return f"ERRORSCOPE_MAX_{field.upper()}"


@dataclass(frozen=True, slots=True)
class Settings:
    """`home` holds the database and logs; `database` is any SQLAlchemy URL; `seq2seq` a role: bundled, a path or a hub id;
    `prompts` a JSON file of prompt lists, if there is one; `dtype` and `languages` say how the scorer computes and reads.
    The other roles of `core.models.roles` follow: a path, a hub id, or "" where nobody plays it."""

    home: Path
    database: str
    seq2seq: str
    device: str
    worker: str
    prompts: Path | None = None
    dtype: str = "fp32"
    languages: str = ""
    encoder: str = "minilm"
    nli: str = "nli-mini"
    lm: str = ""
    mlm: str = ""
    unieval: str = ""
    bleurt: str = ""
    comet: str = ""
    limits: Limits = Limits()


def _limits(environ: Mapping[str, str]) -> Limits:
    """Return the limits that the environment sets. Raises `UserError` for one that is not a whole number from 1 to 10¹²."""
    found = {}
    for field in Limits._fields:
        name = Limits.variable(field)
        if text := environ.get(name, "").strip():
            if not (text.isascii() and text.isdigit() and len(text) <= 12 and int(text) > 0):
                raise UserError(
                    "this limit cannot be used", where=name, got=repr(text[:40]), expected="a whole number above 0",
                    hint=f"Unset it for the default, {Limits._field_defaults[field]:,}",
                )  # fmt: skip
            found[field] = int(text)
    return Limits(**found)


def load(environ: Mapping[str, str] = os.environ) -> Settings:
    """Read ERRORSCOPE_HOME, ERRORSCOPE_DB, ERRORSCOPE_SEQ2SEQ, ERRORSCOPE_DEVICE (auto, cpu, cuda), ERRORSCOPE_DTYPE
    (fp32, bf16), ERRORSCOPE_LANGUAGES (source-target), ERRORSCOPE_WORKER (auto, off), ERRORSCOPE_PROMPTS (a JSON file), and ERRORSCOPE_ENCODER, _NLI, _LM, _MLM,
    _UNIEVAL, _BLEURT, _COMET for the other models, and ERRORSCOPE_MAX_TEXT_MB, _ROWS, _CELLS, _COLUMNS, _CELL_CHARS for
    uploaded files (`Limits`). Raises `UserError` for a limit that is not a number."""
    prompts = environ.get("ERRORSCOPE_PROMPTS")
    home = Path(environ.get("ERRORSCOPE_HOME") or Path.home() / ".errorscope").expanduser()
    return Settings(
        home=home,
        database=environ.get("ERRORSCOPE_DB") or f"sqlite:///{home / 'errorscope.db'}",
        seq2seq=environ.get("ERRORSCOPE_SEQ2SEQ") or "bundled",
        device=environ.get("ERRORSCOPE_DEVICE") or "auto",
        worker=environ.get("ERRORSCOPE_WORKER") or "auto",
        prompts=Path(prompts).expanduser() if prompts else None,
        dtype=environ.get("ERRORSCOPE_DTYPE") or "fp32",
        languages=environ.get("ERRORSCOPE_LANGUAGES") or "",
        encoder=environ.get("ERRORSCOPE_ENCODER") or "minilm",
        nli=environ.get("ERRORSCOPE_NLI") or "nli-mini",
        lm=environ.get("ERRORSCOPE_LM") or "",
        mlm=environ.get("ERRORSCOPE_MLM") or "",
        unieval=environ.get("ERRORSCOPE_UNIEVAL") or "",
        bleurt=environ.get("ERRORSCOPE_BLEURT") or "",
        comet=environ.get("ERRORSCOPE_COMET") or "",
        limits=_limits(environ),
    )


def share_cores() -> None:
    """Let threads that wait for each other sleep instead of spinning. Call it before torch is loaded.

    Spinning costs several times the time where other programs use the cores too.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def offline() -> None:
    """Keep every library off the network, from here on: nothing is fetched or reported at run time."""
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY", "DO_NOT_TRACK"):
        os.environ[name] = "1"
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
