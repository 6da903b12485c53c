"""`attack`: good texts worn down against one metric (He et al. 2023, appendix J), and what other metrics make of them, as CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from core.commands.score import Say
from core.data import Dataset, Item, Output, Segment
from core.errors import UserError
from core.formats import output
from core.formats.load import load
from core.formats.write import csv_text
from core.metrics import registry
from core.metrics.base import Metric
from core.services.lab.gold import REFERENCE, Gold, gold_of, no_references
from core.services.scoring import in_company
from core.stress.attack import BOUND, EXPECTED, NEAR, Attack, Shift, attack, compare, relative, signed

ITSELF, REFERENCES = "the gold text", "the references"


class Row(NamedTuple):
    """A metric on one text of an attack; the columns of the file.

    `step` counts edits, 0 is the gold text. The metric under attack has a row a step, `against` the gold text; every metric has one for
    the gold text and one for the attacked one, against the references. `change` is relative to the gold text, below 0 where the metric
    likes the text less. `reason` says what is missing, or why the attack stopped short of its bound.
    """

    id: str
    step: int
    edit: str
    text: str
    noise_ratio: float
    metric: str
    against: str
    score: float | None
    change: float | None
    reason: str
    signature: str


def run(
    files: Sequence[Path],
    metric: str,
    out: Path,
    say: Say,
    *,
    others: Sequence[str] = (),
    gold: str = REFERENCE,
    bound: float = BOUND,
    limit: int = 10,
    expected: int = EXPECTED,
    near: int = NEAR,
) -> list[Row]:
    """Attack the first `limit` gold texts of the files and write CSV; then every metric's relative change is told.

    Gold is the first reference of each segment, held against the others, or the outputs of a system. Raises `UserError` for files,
    names or numbers that cannot be used, and when no text could be attacked.
    """
    if out.suffix != ".csv":
        raise UserError("a file of this kind is not written", where=str(out), expected=".csv")
    if limit < 1:
        raise UserError("there is nothing to attack", where="--limit", got=str(limit), expected="1 or more")
    output.check(output.named("an input", *files), [("--out", out)])
    target, *rest = registry.chosen([metric, *others])
    dataset = load(files)
    golds = gold_of(dataset, gold)[:limit]
    needs_reference = "reference" in target.spec.needs
    attacked = in_company(
        target,
        _dataset(g.item._replace(references=(g.item.hypothesis,) if needs_reference else ()) for g in golds),
    )
    name = signed(attacked, bound, expected, near)
    judges = [in_company(m, _dataset(g.item for g in golds)) for m in (target, *rest)]
    found: list[tuple[Gold, Attack, list[Shift]]] = []
    for i, one in enumerate(golds):
        tell = _telling(say, i, len(golds))
        made = attack(one.item.hypothesis, one.item.source, attacked, bound, expected=expected, near=near, tell=tell)
        found.append((one, made, compare(one.item, made.text, judges) if made.steps else []))
    if not any(made.steps for _, made, _ in found):
        raise UserError("no text could be attacked", got=next((made.reason for _, made, _ in found), ""))
    rows = [row for one, made, shifts in found for row in _rows(one, made, shifts, attacked, name)]
    output.write({out: csv_text(Row._fields, rows)})
    if error := no_references(dataset, gold, golds, [m.spec for m in rest]):
        say(f"note: {error}\n")
    for line in summary(found, judges):
        say(f"{line}\n")
    return rows


def _telling(say: Say, at: int, of: int) -> Callable[[float], bool]:
    def tell(share: float) -> bool:
        say(f"text {at + 1} of {of} · {share:.0%} of the bound")
        return True

    return tell


def _dataset(items: Iterator[Item]) -> Dataset:
    """The items as one system's outputs."""
    listed = list(items)
    return Dataset(
        tuple(Segment("", str(i), item.source, item.references) for i, item in enumerate(listed)),
        tuple(Output("gold", "", str(i), item.hypothesis) for i, item in enumerate(listed)),
    )


def _rows(gold: Gold, made: Attack, shifts: Sequence[Shift], metric: Metric, name: str) -> Iterator[Row]:
    against = (
        ITSELF if "reference" in metric.spec.needs else "the source" if gold.item.source is not None else "nothing"
    )
    key = metric.spec.name
    yield Row(gold.id, 0, "", made.original, 0.0, key, against, made.before, None, made.reason, name)
    for i, step in enumerate(made.steps):
        edit = f"{step.old} → {step.new}" if step.new else f"− {step.old}"
        change, reason = relative(metric.spec, made.before, step.score)
        yield Row(gold.id, i + 1, edit, step.text, step.ratio, key, against, step.score, change, reason, name)
    last = len(made.steps)
    for s in shifts:
        yield Row(gold.id, 0, "", made.original, 0.0, s.metric, REFERENCES, s.gold, None, s.reason, s.signature)
        yield Row(
            gold.id, last, "", made.text, made.ratio, s.metric, REFERENCES, s.attacked, s.change, s.reason, s.signature
        )


def summary(found: Sequence[tuple[Gold, Attack, Sequence[Shift]]], metrics: Sequence[Metric]) -> list[str]:
    """A line a metric: the relative change of its mean against the references (Figure 10), over the texts it scored twice."""
    done = [(made, shifts) for _, made, shifts in found if made.steps]
    lines = [
        f"{len(done)} of {len(found)} texts attacked, mean noise ratio {np.mean([made.ratio for made, _ in done]):.3f}"
    ]
    for i, metric in enumerate(metrics):
        both = [
            (s.gold, s.attacked) for _, shifts in done if (s := shifts[i]).gold is not None and s.attacked is not None
        ]
        if both:
            gold, attacked = np.array(both, dtype=np.float64).mean(axis=0).tolist()
            change, reason = relative(metric.spec, gold, attacked)
            said = reason if change is None else f"{change:+.1%}"
            lines.append(
                f"{metric.spec.name}: {gold:.4g} → {attacked:.4g} against the references, {said} (n = {len(both)})"
            )
        else:
            lines.append(f"{metric.spec.name}: no score against the references ({done[0][1][i].reason})")
    return lines
