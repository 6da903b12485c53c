"""What the Models page says of metrics, weights and the installation, as plain values."""

from __future__ import annotations

import json
import math
import re
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from core.errors import UserError
from core.metrics.base import MetricSpec, Need
from core.metrics.registry import load, specs, with_options
from core.models.checkpoint import Checkpoint

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = ("metric", "state", "needs", "range", "what it says", "signature")
NEEDS: dict[Need, str] = {"source": "source", "reference": "reference", "seq2seq": "model"}


def facts(model: Checkpoint) -> str:
    """Where the weights are, and how large; from the files, without loading them."""
    size = sum(f.stat().st_size for f in model.path.glob("*.safetensors"))
    lines = [f"{size / 2**20:,.1f} MB of weights in {model.path}"]
    try:
        config = json.loads((model.path / "config.json").read_text(encoding="utf-8"))
        lines.append(
            f"{config['encoder_layers']} + {config['decoder_layers']} layers, width {config['d_model']}, "
            f"vocabulary {config['vocab_size']:,}, at most {config['max_position_embeddings']:,} tokens"
        )
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return "\n".join(lines)


def row(name: str) -> dict[str, str]:
    """A metric in the table. Whatever keeps it from running is said, not raised."""
    try:
        metric = load(name)
    except ImportError as error:
        lack = f"install {error.name or error}"
        return dict.fromkeys(COLUMNS, "") | {"metric": name, "state": "needs a package", "what it says": lack}
    state, signature = "ready", ""
    try:
        signature = metric.signature()
    except UserError as error:
        state, signature = "needs weights", str(error)
    except (ImportError, PackageNotFoundError) as error:
        state, signature = "needs a package", f"install {error.name or error}"
    spec = metric.spec
    return {
        "metric": spec.label,
        "state": state,
        "needs": ", ".join(NEEDS[n] for n in NEEDS if n in spec.needs),
        "range": spread(spec),
        "what it says": f"{spec.help} ({spec.paper})",
        "signature": signature,
    }


def options() -> list[dict[str, str]]:
    """What can be set of the metrics that have options, one row an option; metrics that share theirs stand together."""
    return [
        {
            "metric": ", ".join(names) if i == 0 else "",
            "option": o.name,
            "default": o.write(o.default) or "none",
            "written": o.expected,
            "what it does": o.help,
        }
        for names, shared in with_options(specs().values())
        for i, o in enumerate(shared)
    ]


def spread(spec: MetricSpec) -> str:
    """`0 … 100 ↑`, `0 … ∞ ↓`: the ends of the scale, and the way to the better one."""

    def end(x: float) -> str:
        return ("−∞" if x < 0 else "∞") if math.isinf(x) else f"{x:g}".replace("-", "−")

    better = "↑" if spec.higher_is_better else "↓"
    return f"{end(spec.range[0])} … {end(spec.range[1])} {better}".replace(" ", "\u00a0")


def hidden(url: str) -> str:
    """A database address without its passwords."""
    shown = re.sub(r"^([^:/]+://[^:/@]*):.*@", r"\1:***@", url)
    return re.sub(r"(?i)([?&][^=&]*(?:pass|pwd|secret|token|key)[^=&]*=)[^&]*", r"\1***", shown)


def own_version() -> str:
    """The version this code says it is."""
    try:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    except (OSError, ValueError, KeyError):
        return "unknown"
    return str(project["version"])


def installed(package: str) -> str:
    """The version of a package, or that it is missing."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
