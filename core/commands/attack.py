"""`attack`: degrade gold texts while one metric keeps its score (He et al. 2023, appendix J), and score the result with others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer

from core.commands.options import Columns, Files, check_ending, decimal, read_texts, split
from core.commands.progress import print_note, status
from core.data import Dataset, Item, Output, Segment
from core.errors import UserError
from core.formats import output
from core.formats.write import csv_text
from core.metrics import registry
from core.metrics.base import Metric
from core.progress import Progress
from core.robustness.attack import BOUND, EXPECTED, NEAR, Attack, Shift, attack, compare, relative, signed
from core.robustness.stress.gold import REFERENCE, Gold, gold_of, no_references
from core.scoring.dataset import for_dataset

ITSELF, REFERENCES = "the good text", "the references"


class AttackRow(NamedTuple):
    """One metric on one text of an attack: a row of the CSV.

    `step` counts edits; 0 is the gold text. The attacked metric has one row per step, scored against the gold text. Every metric has
    one row for the gold text and one for the attacked text, scored against the references. `change` is relative to the gold text and
    below 0 if the metric scores the text as worse. `reason` says why a value is missing, or why the attack stopped before its bound.
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
    files: Files,
    out: Annotated[Path, typer.Option(help="file to write, .csv")],
    metric: Annotated[str, typer.Option(help="metric to attack")] = "bertscore",
    others: Annotated[str, typer.Option(help="other metrics that score the result, separated by commas")] = "chrf,bleu",
    gold: Annotated[
        str, typer.Option(help="good texts: “reference” (the first reference of each segment), or a system")
    ] = REFERENCE,
    bound: Annotated[
        float, typer.Option(parser=decimal, help="noise ratio at which to stop, above 0 and at most 1")
    ] = BOUND,
    limit: Annotated[
        int, typer.Option(min=1, max=1_000_000_000, help="attack only the first texts, up to this number")
    ] = 10,
    expected: Annotated[
        int, typer.Option(min=0, max=1000, help="candidates per word from the masked language model")
    ] = EXPECTED,
    near: Annotated[
        int, typer.Option(min=0, max=1000, help="candidates per word from its nearest input embeddings")
    ] = NEAR,
    column: Columns = None,
) -> list[AttackRow]:
    """Attack the first `limit` gold texts of the files, write CSV, and print the relative change of every metric.

    Gold texts are the first reference of each segment, compared with the others, or the outputs of a system. Raises `UserError` for
    files, names or numbers that cannot be used, and if no text could be attacked.
    """
    check_ending(out, ".csv")
    output.check(output.named("an input", *files), [("--out", out)])
    target, *rest = registry.chosen([metric, *split(others)])
    dataset = read_texts(files, column)
    golds = gold_of(dataset, gold)[:limit]
    needs_reference = "reference" in target.spec.needs
    attacked = for_dataset(
        target,
        _dataset(g.item._replace(references=(g.item.hypothesis,) if needs_reference else ()) for g in golds),
    )
    name = signed(attacked, bound, expected, near)
    judges = [for_dataset(m, _dataset(g.item for g in golds)) for m in (target, *rest)]
    found: list[tuple[Gold, Attack, list[Shift]]] = []
    for i, one in enumerate(golds):
        progress = _progress(i, len(golds))
        made = attack(
            one.item.hypothesis, one.item.source, attacked, bound, expected=expected, near=near, progress=progress
        )
        found.append((one, made, compare(one.item, made.text, judges) if made.steps else []))
    if not any(made.steps for _, made, _ in found):
        raise UserError("no text could be attacked", got=next((made.reason for _, made, _ in found), ""))
    rows = [row for one, made, shifts in found for row in _rows(one, made, shifts, attacked, name)]
    output.write({out: csv_text(AttackRow._fields, rows)})
    if error := no_references(dataset, gold, golds, [m.spec for m in rest]):
        print_note(f"note: {error}")
    print_note(*summary(found, judges))
    return rows


def _progress(at: int, of: int) -> Progress:
    def progress(share: float) -> None:
        status(f"text {at + 1} of {of} · {share:.0%} of the bound")

    return progress


def _dataset(items: Iterator[Item]) -> Dataset:
    """Return a dataset in which the items are the outputs of one system."""
    listed = list(items)
    return Dataset(
        tuple(Segment("", str(i), item.source, item.references) for i, item in enumerate(listed)),
        tuple(Output("gold", "", str(i), item.hypothesis) for i, item in enumerate(listed)),
    )


def _rows(gold: Gold, made: Attack, shifts: Sequence[Shift], metric: Metric, name: str) -> Iterator[AttackRow]:
    against = (
        ITSELF if "reference" in metric.spec.needs else "the source" if gold.item.source is not None else "nothing"
    )
    key = metric.spec.name
    yield AttackRow(gold.id, 0, "", made.original, 0.0, key, against, made.before, None, made.reason, name)
    for i, step in enumerate(made.steps):
        edit = f"{step.old} → {step.new}" if step.new else f"− {step.old}"
        change, reason = relative(metric.spec, made.before, step.score)
        yield AttackRow(gold.id, i + 1, edit, step.text, step.ratio, key, against, step.score, change, reason, name)
    last = len(made.steps)
    for s in shifts:
        yield AttackRow(gold.id, 0, "", made.original, 0.0, s.metric, REFERENCES, s.gold, None, s.reason, s.signature)
        yield AttackRow(
            gold.id, last, "", made.text, made.ratio, s.metric, REFERENCES, s.attacked, s.change, s.reason, s.signature
        )


def summary(found: Sequence[tuple[Gold, Attack, Sequence[Shift]]], metrics: Sequence[Metric]) -> list[str]:
    """Return one line per metric: the relative change of its mean score against the references (Figure 10).

    Means are over the texts of which the gold and the attacked version both have a score.
    """
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
            shown = reason if change is None else f"{change:+.1%}"
            lines.append(
                f"{metric.spec.label}: {gold:.4g} → {attacked:.4g} against the references, {shown} (n = {len(both)})"
            )
        else:
            lines.append(f"{metric.spec.label}: no score against the references ({done[0][1][i].reason})")
    return lines
