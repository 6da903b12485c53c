"""Judges that are configured: addresses of language models, the hosts that texts may be sent to, and own metrics.

One judge is set by ERRORSCOPE_JUDGE, "ADDRESS MODEL". Several are in a TOML or JSON file, ERRORSCOPE_JUDGES, which also has own metrics.
Keys are read from the environment when a request is sent. They are in no object that is kept, so that none can be stored or shown.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Literal
from urllib.parse import SplitResult, urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.errors import UserError, unknown
from core.settings import load_settings

DEFAULT = "default"
"""The name of the judge that ERRORSCOPE_JUDGE sets."""
VARIABLE, FILE, HOSTS, KEY = "ERRORSCOPE_JUDGE", "ERRORSCOPE_JUDGES", "ERRORSCOPE_JUDGE_HOSTS", "ERRORSCOPE_JUDGE_KEY"
EXAMPLE = "http://127.0.0.1:8080/v1 gemma3"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
Parameter = float | int | bool | str
SAMPLING: Mapping[str, Parameter] = {
    "temperature": 0, "top_p": 1, "max_tokens": 1024, "frequency_penalty": 0, "presence_penalty": 0, "seed": 1,
}  # fmt: skip
"""Parameters of every request. The servers have different defaults, so that all are sent."""


class JudgeForm(BaseModel):
    """A judge in the settings file. `time_limit` is in seconds per request, `tokens_per_job` counts tokens read and written.

    `context` is the number of tokens that the model can read. `parameters` replace those of `SAMPLING` or add others; `without` names
    those that are not sent. `price_in` and `price_out` are per million tokens. `fingerprint: ignore` is for services whose replies come
    from several configurations of a model at a time.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    address: str
    model: str = Field(min_length=1, max_length=200)
    concurrency: int = Field(default=4, ge=1, le=256)
    time_limit: float = Field(default=120.0, gt=0, le=3600)
    tokens_per_job: int | None = Field(default=None, ge=1)
    context: int | None = Field(default=None, ge=256)
    parameters: dict[str, Parameter] = {}
    without: tuple[str, ...] = ()
    price_in: float | None = Field(default=None, ge=0)
    price_out: float | None = Field(default=None, ge=0)
    fingerprint: Literal["check", "ignore"] = "check"


class OwnMetricForm(BaseModel):
    """An own metric in the settings file. `template` is a text file beside it; `choices` have a value each, of `reply: choice`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    template: str
    reply: Literal["number", "choice", "spans"]
    low: float = Field(default=0.0, allow_inf_nan=False)
    high: float = Field(default=100.0, allow_inf_nan=False)
    choices: dict[str, float] = {}
    higher_is_better: bool = True
    label: str = ""
    help: str = ""


class _JudgesFile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    judges: dict[str, JudgeForm] = {}
    metrics: dict[str, OwnMetricForm] = {}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A judge with its address, which has no user name, no key and no query."""

    name: str
    form: JudgeForm
    url: SplitResult = field(repr=False)

    @property
    def host(self) -> str:
        return (self.url.hostname or "").lower().rstrip(".")

    @property
    def tls(self) -> bool:
        return self.url.scheme == "https"

    @property
    def port(self) -> int:
        return self.url.port or (443 if self.tls else 80)

    @property
    def authority(self) -> str:
        """Return host and port as the header Host has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"

    @property
    def base(self) -> str:
        """Return the path before `/chat/completions`; /v1 by default."""
        return self.url.path.rstrip("/") or "/v1"

    @property
    def is_local(self) -> bool:
        """Return whether the texts stay on this machine."""
        return self.host == "localhost" or _is_loopback(self.host)

    @property
    def parameters(self) -> dict[str, Parameter]:
        """Return the sampling parameters that are sent."""
        merged = {**SAMPLING, **self.form.parameters}
        return {name: value for name, value in merged.items() if name not in self.form.without}

    @property
    def key_variable(self) -> str:
        """Return the environment variable of the key: each judge has its own, so that no key is sent to another host."""
        return KEY if self.name == DEFAULT else f"{KEY}_{re.sub(r'[^A-Z0-9]', '_', self.name.upper())}"

    def key(self) -> str:
        """Return the key, or "". Do not keep it."""
        return os.environ.get(self.key_variable, "").strip()

    def check_allowed(self) -> None:
        """Raise `UserError` unless texts may be sent to this address. Nothing is resolved or opened."""
        if not self.is_local and self.host not in allowed_hosts():
            raise UserError(
                "texts may not be sent to this host", where=f"judge {self.name}", got=self.host,
                expected="this machine (127.0.0.1 or localhost), or a host that is allowed by name",
                hint=f"To allow it, set {HOSTS}={self.host}",
            )  # fmt: skip
        if self.key() and not (self.tls or self.is_local):
            raise UserError(
                "a key is not sent without encryption", where=f"judge {self.name}", got=f"http and {self.key_variable}",
                expected="an address that begins with https",
            )  # fmt: skip


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def allowed_hosts() -> frozenset[str]:
    """Return the hosts besides this machine that texts may be sent to."""
    names = (name.strip().lower().strip("[]").rstrip(".") for name in load_settings().judge_hosts.split(","))
    return frozenset(name for name in names if name)


def endpoint(name: str = DEFAULT) -> Endpoint:
    """Return a judge by name. Raises `UserError` if it is not configured, or its address is not valid."""
    judges = endpoints()
    if name in judges:
        return judges[name]
    if name == DEFAULT and not judges:
        raise UserError(
            "no judge is configured", where=VARIABLE, expected=f"an address and a model, such as “{EXAMPLE}”",
            hint="docs/judges.md shows how to start a local server",
        )  # fmt: skip
    if name == DEFAULT:
        raise UserError(
            "no default judge is configured", where=VARIABLE, expected=f"one of {', '.join(judges)} as option judge"
        )
    raise unknown("judge", name, judges)


def endpoints() -> dict[str, Endpoint]:
    """Return all judges by name, the default one first. Raises `UserError` for a setting that is not valid."""
    settings, judges = load_settings(), dict[str, Endpoint]()
    if settings.judge.strip():
        judges[DEFAULT] = _default(settings.judge)
    for name, form in _file().judges.items():
        _check_name("judge", name)
        judges[name] = Endpoint(name, form, _address(form.address, f"{FILE}, judge {name}"))
    return judges


def own_metrics() -> dict[str, OwnMetricForm]:
    """Return the own metrics by name. Raises `UserError` for a file that is not valid."""
    metrics = _file().metrics
    for name in metrics:
        _check_name("metric", name)
    return metrics


def template_path(form: OwnMetricForm) -> Path:
    """Return the path of a template, which is relative to the settings file."""
    return Path(load_settings().judges).expanduser().parent / form.template


def _default(text: str) -> Endpoint:
    # What is wrong is not shown: it may be a key.
    address, _, model = text.strip().partition(" ")
    if not model.strip() or " " in model.strip():
        raise UserError(
            "this setting is not valid", where=VARIABLE, got=f"{len(text.split())} words",
            expected=f"an address and a model, separated by a space, such as “{EXAMPLE}”",
        )  # fmt: skip
    return Endpoint(DEFAULT, JudgeForm(address=address, model=model.strip()), _address(address, VARIABLE))


def _address(text: str, where: str) -> SplitResult:
    try:
        url = urlsplit(text)
        port_is_valid = url.port is None or url.port > 0
    except ValueError:
        url, port_is_valid = urlsplit(""), False
    valid = url.scheme in ("http", "https") and url.hostname and port_is_valid and text.isascii() and text.isprintable()
    if not valid or "@" in url.netloc or url.query or url.fragment or " " in text:
        raise UserError(
            "this address is not valid", where=where,
            expected="http or https, a host, a port and a path, such as http://127.0.0.1:8080/v1, without user name, key or query",
            hint=f"Keys are read from {KEY} only",
        )  # fmt: skip
    return url


def _check_name(kind: str, name: str) -> None:
    if not NAME.fullmatch(name) or name == DEFAULT:
        raise UserError(
            f"this is not a name for a {kind}",
            where=FILE,
            got=repr(name[:60]),
            expected="letters, digits, and _ . - after the first",
        )


def _file() -> _JudgesFile:
    path = load_settings().judges
    return _read(Path(path).expanduser()) if path else _JudgesFile()


def read_text(path: Path, what: str, where: str) -> str:
    """Return the text of a file of the settings. Raises `UserError` if it cannot be read."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror or "" if isinstance(error, OSError) else "not UTF-8"
        raise UserError(what, where=f"{where}, {path}", got=why) from error


def _read(path: Path) -> _JudgesFile:
    text = read_text(path, "the file of judges cannot be read", FILE)
    try:
        content: Any = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except (ValueError, RecursionError):  # a message of the parser would show a line of the file
        raise UserError(
            "the file of judges cannot be read", where=f"{FILE}, {path}", expected="TOML (.toml) or JSON (.json)"
        ) from None
    try:
        return _JudgesFile.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]  # the input may be a key
        place = ".".join(map(str, first["loc"]))
        raise UserError(
            "the file of judges is not valid", where=f"{FILE}, {path}", got=f"{place}: {first['msg']}",
            hint=f"Keys are read from {KEY}_NAME in the environment only" if "key" in place.rpartition(".")[2].lower() else "",
        ) from None  # fmt: skip
