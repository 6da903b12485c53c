"""What the Models page says of metrics, the models behind them and the installation, as plain values and as HTML."""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from core.metrics import mauve
from core.metrics.base import MetricSpec
from core.metrics.readiness import Player, Readiness, State
from core.metrics.registry import specs, with_options
from core.models.checkpoint import Checkpoint

ROOT = Path(__file__).resolve().parents[2]
MARKS: dict[State, str] = {"ready": "●", "weights": "○", "package": "□", "range": "◇", "unreadable": "×"}

STYLE = """
<style>
.es-metrics { width: 100%; border-collapse: collapse; font-size: .9rem; line-height: 1.45; }
.es-metrics th { text-align: left; font-weight: 500; font-size: .78rem; opacity: .65; padding: .25rem .9rem .45rem 0; white-space: nowrap; }
.es-metrics td { vertical-align: top; padding: .6rem .9rem .6rem 0; border-top: 1px solid rgba(128, 128, 128, .22); }
.es-metrics td:last-child, .es-metrics th:last-child { padding-right: 0; }
.es-metrics .es-name { font-weight: 600; white-space: nowrap; }
.es-metrics .es-soft, .es-metrics .es-why { display: block; font-size: .8rem; opacity: .68; }
.es-metrics .es-range { white-space: nowrap; font-variant-numeric: tabular-nums; }
.es-state { white-space: nowrap; font-size: .82rem; font-weight: 500; }
.es-state.ready { color: light-dark(#1c7a4d, #5cc795); }
.es-state.weights, .es-state.package, .es-state.range { color: light-dark(#96590a, #e6ae55); }
.es-state.unreadable { color: light-dark(#b3362f, #f08a82); }
.es-chip { display: inline-block; font-size: .76rem; padding: .02rem .45rem; margin: 0 .25rem .2rem 0; border-radius: .7rem; border: 1px solid rgba(128, 128, 128, .38); white-space: nowrap; }
.es-chip.model { border-style: dashed; }
@media (max-width: 760px) {
  .es-metrics thead { display: none; }
  .es-metrics tr { display: grid; grid-template-columns: 1fr auto; padding: .7rem 0; border-top: 1px solid rgba(128, 128, 128, .25); }
  .es-metrics td { border: 0; padding: .1rem 0; }
  .es-metrics td:nth-child(3) { grid-column: 1 / -1; padding: .25rem 0; }
  .es-metrics .es-name { white-space: normal; }
}
</style>
"""


def metric_rows(found: Mapping[str, Readiness], state: State | None = None, words: str = "") -> list[MetricSpec]:
    """The metrics in one state (None: any) that have all of the words somewhere in what is said of them."""
    known = specs() | {mauve.SPEC.name: mauve.SPEC}
    shown = [known[name] for name, one in found.items() if name in known and state in (None, one.state)]
    wanted = words.lower().split()
    return [spec for spec in shown if all(word in _all_of(spec) for word in wanted)]


def _all_of(spec: MetricSpec) -> str:
    return " ".join((spec.name, spec.label, spec.help, spec.paper, *spec.needs)).lower()


def table(rows: Sequence[MetricSpec], found: Mapping[str, Readiness]) -> str:
    """The metrics as HTML, every text escaped; narrow screens get one block a metric."""
    head = "".join(f"<th>{word}</th>" for word in ("metric", "here", "what it says", "reads", "scale"))
    body = "".join(_row(spec, found[spec.name]) for spec in rows)
    return f"{STYLE}<table class='es-metrics'><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _row(spec: MetricSpec, ready: Readiness) -> str:
    texts = [n for n in ("source", "reference") if n in spec.needs]
    chips = "".join(f"<span class='es-chip'>{escape(n)}</span>" for n in texts)
    chips += "".join(f"<span class='es-chip model'>{escape(n)}</span>" for n in sorted(spec.needs - set(texts)))
    why = f"<span class='es-why'>{escape(_capital(ready.reason))}.</span>" if ready.reason else ""
    cells = (
        f"<span class='es-name'>{escape(spec.label)}</span><span class='es-soft'>{escape(spec.paper)}</span>",
        f"<span class='es-state {ready.state}'>{MARKS[ready.state]} {ready.words}</span>",
        f"{escape(spec.help)}{why}",
        chips,
        f"<span class='es-range'>{spread(spec)}</span>",
    )
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def lacks(found: Mapping[str, Readiness], roles: Sequence[Player]) -> dict[Readiness, list[str]]:
    """What keeps metrics from running beside an empty role, whose card tells of it: who lacks what, by label."""
    told = {player.lacking for player in roles}
    groups: dict[Readiness, list[str]] = {}
    known = specs() | {mauve.SPEC.name: mauve.SPEC}
    for name, one in found.items():
        if one.state != "ready" and one not in told:
            groups.setdefault(one, []).append(known[name].label if name in known else name)
    return groups


def speaks_in(role: str) -> list[str]:
    """The labels of the metrics that need a role under their default options."""
    return [spec.label for spec in specs().values() if role in spec.needs]


def facts(model: Checkpoint) -> str:
    """How large a model is; from the files, without loading them."""
    try:
        config = json.loads((model.path / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    layers = [config.get(key) for key in ("encoder_layers", "decoder_layers") if config.get(key)]
    layers = layers or [config[key] for key in ("num_hidden_layers", "n_layer", "num_layers") if config.get(key)][:1]
    width = next((config[key] for key in ("d_model", "hidden_size", "n_embd") if config.get(key)), None)
    kind = config.get("model_type")
    said = [kind, layers and f"{' + '.join(map(str, layers))} layers", width and f"width {width:,}"]
    return ", ".join(str(part) for part in said if part)


def megabytes(size: int) -> str:
    """A size in bytes as one reads it: 15.5 MB, 1.4 GB."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


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
