"""The metrics on the Models page, as HTML and as rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from core.formatting import format_figure
from core.metrics.base import MetricSpec
from core.metrics.embedding import mauve
from core.metrics.readiness import Readiness, State
from core.metrics.registry import specs, with_options
from core.models.configs import MODEL_KINDS

MARKS: dict[State, str] = {"ready": "●", "weights": "○", "package": "□", "range": "◇", "judge": "△", "unreadable": "×"}

STYLE = """
<style>
.es-metrics { width: 100%; border-collapse: collapse; font-size: .9rem; line-height: 1.45; }
.es-metrics th { text-align: left; font-weight: 500; font-size: .78rem; color: var(--quiet); padding: .25rem .9rem .45rem 0; white-space: nowrap; }
.es-metrics td { vertical-align: top; padding: .6rem .9rem .6rem 0; border-top: 1px solid var(--line); }
.es-metrics td:last-child, .es-metrics th:last-child { padding-right: 0; }
.es-metrics .es-name { font-weight: 600; white-space: nowrap; }
.es-metrics .es-soft, .es-metrics .es-why { display: block; font-size: .8rem; color: var(--quiet); }
.es-metrics .es-range { white-space: nowrap; font-variant-numeric: tabular-nums; }
.es-state { white-space: nowrap; font-size: .82rem; font-weight: 500; }
.es-state.ready { color: var(--good); }
.es-state.weights, .es-state.package, .es-state.range, .es-state.judge { color: var(--minor); }
.es-state.unreadable { color: var(--major); }
.es-chip { display: inline-block; font-size: .76rem; padding: .02rem .45rem; margin: 0 .25rem .2rem 0; border-radius: .7rem; border: 1px solid var(--quiet); white-space: nowrap; }
.es-chip.model { border-style: dashed; }
@media (max-width: 1100px) {
  .es-metrics thead { display: none; }
  .es-metrics tr { display: grid; grid-template-columns: 1fr auto; padding: .7rem 0; border-top: 1px solid var(--line); }
  .es-metrics td { border: 0; padding: .1rem 0; }
  .es-metrics td:nth-child(3) { grid-column: 1 / -1; padding: .25rem 0; }
  .es-metrics .es-name { white-space: normal; }
}
</style>
"""


def metric_rows(
    readiness_by_name: Mapping[str, Readiness], state: State | None = None, words: str = ""
) -> list[MetricSpec]:
    """Return the metrics in one state (None: any) whose description has all of the words."""
    known = specs() | {mauve.SPEC.name: mauve.SPEC}
    shown = [known[name] for name, one in readiness_by_name.items() if name in known and state in (None, one.state)]
    search_words = words.lower().split()
    described = {spec: " ".join((spec.name, spec.label, spec.help, spec.paper, *spec.needs)).lower() for spec in shown}
    return [spec for spec, text in described.items() if all(word in text for word in search_words)]


def table(rows: Sequence[MetricSpec], readiness_by_name: Mapping[str, Readiness]) -> str:
    """Return the metrics as HTML with escaped texts; narrow screens show one block per metric."""
    head = "".join(f"<th>{word}</th>" for word in ("metric", "status", "description", "uses", "scale"))
    body = "".join(_row(spec, readiness_by_name[spec.name]) for spec in rows)
    return f"{STYLE}<table class='es-metrics'><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _row(spec: MetricSpec, ready: Readiness) -> str:
    texts = [n for n in ("source", "reference") if n in spec.needs]
    chips = "".join(f"<span class='es-chip'>{escape(n)}</span>" for n in texts)
    chips += "".join(f"<span class='es-chip model'>{escape(n)}</span>" for n in sorted(spec.needs - set(texts)))
    next_step = " The tab Models sets one up." if ready.kind and MODEL_KINDS[ready.kind].is_prepared else ""
    why = (
        f"<span class='es-why'>{escape(ready.reason[:1].upper() + ready.reason[1:])}.{next_step}</span>"
        if ready.reason
        else ""
    )
    cells = (
        f"<span class='es-name'>{escape(spec.label)}</span><span class='es-soft'>{escape(spec.paper)}</span>",
        f"<span class='es-state {ready.state}'>{MARKS[ready.state]} {ready.words}</span>",
        f"{escape(spec.help)}{why}",
        chips,
        f"<span class='es-range'>{spread(spec)}</span>",
    )
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def options() -> list[dict[str, str]]:
    """Return one row per option; metrics with the same options share rows."""
    return [
        {
            "metric": ", ".join(names) if i == 0 else "",
            "option": o.name,
            "default": o.write(o.default) or "none",
            "format": o.expected,
            "description": o.help,
        }
        for names, shared in with_options(specs().values())
        for i, o in enumerate(shared)
    ]


def spread(spec: MetricSpec) -> str:
    """Return the scale and its direction: `0 … 100 ↑`, `0 … ∞ ↓`."""

    def end(x: float) -> str:
        return ("−∞" if x < 0 else "∞") if math.isinf(x) else format_figure(x)

    better = "↑" if spec.higher_is_better else "↓"
    return f"{end(spec.range[0])} … {end(spec.range[1])} {better}".replace(" ", "\u00a0")
