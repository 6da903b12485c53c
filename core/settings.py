"""Settings, read from environment variables. Every default works on a laptop."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NamedTuple

from core.errors import UserError


class Limits(NamedTuple):
    """Limits per uploaded file. `systems` limits an import and a project, `project_cells` a project.

    The defaults allow a million outputs with their texts. `text_mb` is the size in MB, as uploaded and after
    decompression. `rows` counts rows, lines of text, error spans or outputs; `cells` counts cells and list entries.
    `cell_chars` is the length of a cell, a line or a JSON record in characters. `project_cells` is the number of
    segments times the number of systems.
    """

    text_mb: int = 500
    rows: int = 2_000_000
    cells: int = 15_000_000
    columns: int = 2_000
    cell_chars: int = 1 << 24
    systems: int = 2_000
    project_cells: int = 100_000_000

    @staticmethod
    def variable(field: str) -> str:
        """Return the name of the environment variable that sets a limit."""
        return f"ERRORSCOPE_MAX_{field.upper()}"


class AccessSettings(NamedTuple):
    """Who may reach the server.

    `team` requires accounts, also on this machine. `hosts` are the names under which browsers reach the server, besides
    those of this machine.
    """

    team: bool = False
    hosts: tuple[str, ...] = ()

    @property
    def for_others(self) -> bool:
        """Return whether people on other machines use the server."""
        return self.team or bool(self.hosts)


def load_access(environ: Mapping[str, str] = os.environ) -> AccessSettings:
    """Return the settings of access: ERRORSCOPE_TEAM is 1 or unset, ERRORSCOPE_HOSTS has names separated by commas.

    Raises `UserError` for another value of ERRORSCOPE_TEAM, because a server must not be open by a typing error.
    """
    team = environ.get("ERRORSCOPE_TEAM", "").strip()
    if team not in ("", "0", "1"):
        raise UserError("this setting is not valid", where="ERRORSCOPE_TEAM", got=repr(team[:40]), expected="1 or 0")
    names = (name.strip().lower().rstrip(".") for name in environ.get("ERRORSCOPE_HOSTS", "").split(","))
    return AccessSettings(team == "1", tuple(name for name in names if name))


MINUTES_OF_A_WEEK = 7 * 24 * 60


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings.

    `home` is the folder of the database and logs, `database` the address of an SQLite file or PostgreSQL, `prompts` an optional JSON file of prompt
    lists. `device` is auto, cpu or cuda; `worker` auto or off; `workers` the number of scoring processes, or None; `stall` the
    minutes that one may go on without progress; `dtype` fp32 or bf16. `dtype` and `languages` configure the seq2seq
    model. `seq2seq` and the models after `languages` are a bundled name, a path or a hub id; "" means not configured
    (`core.models.configs`).

    `judge` is the address and the model of a judge, `judges` a file with several, `judge_hosts` names of hosts besides this machine that texts
    may be sent to (`core.judges.endpoints`). Keys are no settings: they are read from the environment when a request is sent.
    """

    home: Path
    database: str
    seq2seq: str = "bundled"
    device: str = "auto"
    worker: str = "auto"
    workers: int | None = None
    stall: int = 30
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
    judge: str = ""
    judges: str = ""
    judge_hosts: str = ""
    limits: Limits = Limits()


_TEXTS = {
    f"ERRORSCOPE_{field.name.upper()}": field.name for field in fields(Settings) if isinstance(field.default, str)
}


def load_limits(environ: Mapping[str, str] = os.environ) -> Limits:
    """Return the limits set in the environment. Raises `UserError` if one is not an integer from 1 to 10¹²."""
    return _limits(_own(environ))


def _own(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of this program. Pages ask often, and looking up a missing one in `os.environ` is slow."""
    return {name: environ[name] for name in environ if name.startswith("ERRORSCOPE_")}


def _limits(own: Mapping[str, str]) -> Limits:
    defaults = Limits._field_defaults.items()
    return Limits(*(_whole(own, Limits.variable(field), default, 10**12 - 1) for field, default in defaults))


def _whole(own: Mapping[str, str], name: str, default: int, most: int) -> int:
    text = own.get(name, "").strip()
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 12 and 0 < int(text) <= most):
        raise UserError(
            "this setting is not valid", where=name, got=repr(text[:40]), expected=f"a whole number from 1 to {most:,}",
            hint=f"Unset it for the default, {default:,}",
        )  # fmt: skip
    return int(text)


def load_settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings from the environment. Raises `UserError` for an invalid limit or number.

    Each variable is ERRORSCOPE_ with the name of the field, ERRORSCOPE_DB for the database, and ERRORSCOPE_MAX_ with that of a limit.
    """
    own = _own(environ)
    prompts = own.get("ERRORSCOPE_PROMPTS")
    texts = {name: text for variable, name in _TEXTS.items() if (text := own.get(variable))}
    home = Path(own.get("ERRORSCOPE_HOME") or Path.home() / ".errorscope").expanduser()
    return Settings(
        home=home,
        database=own.get("ERRORSCOPE_DB") or f"sqlite:///{home / 'errorscope.db'}",
        prompts=Path(prompts).expanduser() if prompts else None,
        limits=_limits(own),
        workers=_whole(own, "ERRORSCOPE_WORKERS", 1, 999) if own.get("ERRORSCOPE_WORKERS", "").strip() else None,
        stall=_whole(own, "ERRORSCOPE_STALL", 30, MINUTES_OF_A_WEEK),
        **texts,
    )


def share_cores() -> None:
    """Make waiting threads sleep instead of spin. Call it before torch is loaded.

    Spinning is several times slower when other programs use the same cores.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def one_thread_per_product() -> None:
    """Let numpy compute a matrix product in one thread, for work that runs in several. Call it before numpy is loaded.

    With two threads each, small products took five times the processor time.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def offline() -> None:
    """Keep all libraries off the network: from now on they download and report nothing."""
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY", "DO_NOT_TRACK"):
        os.environ[name] = "1"
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
