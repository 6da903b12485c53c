"""Meta-evaluation of error spans: how well layers agree with gold layers, beside annotators and trivial layers.

Gold is one layer, or every annotator in turn: then the statistics of all comparisons (an output with one annotator as gold) are summed.
All layers are compared on the same outputs: those that every layer and at least one gold layer have examined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from core.formatting import format_count
from core.ports.store import Store
from core.progress import Progress, no_progress, part
from core.services.compare.inspector import Marks
from core.services.projects.texts import StoredTexts
from core.services.spans.compared_layers import (
    DEFAULT,
    SHORT,
    ComparedLayers,
    Kind,
    ReadTexts,
    SpanChoice,
    SpanRow,
    SpanTest,
)
from core.services.spans.layers import list_layers, load_layer
from core.spans.layers import SpanLayer
from core.spans.measures import AVERAGES, MEASURES, Average, SpanMeasure, average_f

EVERY_ANNOTATOR = "every annotator"
"""The name of the gold that every annotator is in turn."""


class SpanEvaluation(NamedTuple):
    """`rows` on all outputs: layers best first, then annotators, then trivial layers. `parts` are rows of parts of the data.

    `f_by_measure` has F of each row's layer under each measure and average.
    """

    choice: SpanChoice
    gold: str
    outputs: int
    segments: int
    comparisons: int
    rows: tuple[SpanRow, ...]
    parts: tuple[SpanRow, ...]
    tests: tuple[SpanTest, ...]
    f_by_measure: Mapping[tuple[SpanMeasure, Average], Mapping[str, float]]
    notes: tuple[str, ...]

    def of_kind(self, kind: Kind) -> list[SpanRow]:
        return [row for row in self.rows if row.kind == kind]

    @property
    def orders(self) -> dict[tuple[str, ...], list[str]]:
        """Return the orders of the layers, best first, with the measures that give each; the chosen measure's comes first."""
        names = [row.layer for row in self.of_kind("layer")]
        orders: dict[tuple[str, ...], list[str]] = {tuple(names): []}
        for (measure, average), f in self.f_by_measure.items():
            order = tuple(sorted(names, key=lambda name: -round(f[name], 9)))
            orders.setdefault(order, []).append(f"{SHORT[measure]} {average}")
        return orders

    @property
    def ranking(self) -> str:
        """Return in one sentence whether the order of the layers depends on the measure; "" for a single layer."""
        orders, (names, *_) = self.orders, self.orders
        if len(names) < 2:
            return ""
        if len(orders) == 1:
            return f"The ranking of the layers does not depend on the measure: it is the same under all {len(self.f_by_measure)}."
        pairs = list(combinations(names, 2))
        changing = sum(len({order.index(a) < order.index(b) for order in orders}) > 1 for a, b in pairs)
        return f"The ranking of the layers depends on the measure: {changing} of {format_count(len(pairs), 'pair')} in different order."


def evaluate_layers(
    gold: Sequence[SpanLayer], layers: Sequence[SpanLayer], annotators: Sequence[SpanLayer], read_texts: ReadTexts | None = None,
    choice: SpanChoice = DEFAULT, progress: Progress = no_progress,
) -> SpanEvaluation:  # fmt: skip
    """Compare layers with the gold layers.

    `annotators` are the layers that are compared with each other, or with a gold layer that is none of them. Without texts, the
    trivial layers that need them are left out. Raises `UserError` if there is no layer, or no output in common.
    """
    data = ComparedLayers(gold, layers, annotators, read_texts)
    progress(0.1)
    tables = {}
    for k, measure in enumerate(MEASURES):
        tables[measure] = data.table(measure, choice.penalty)
        progress(0.1 + 0.3 * (k + 1) / len(MEASURES))
    table = tables[choice.measure]
    rows = data.rows(table, choice, progress=part(progress, 2, 5))
    rows[: len(layers)] = [data.with_ambiguous(row, k, choice) for k, row in enumerate(rows[: len(layers)])]
    parts = [
        row
        for k, system in enumerate(data.systems)
        for row in data.rows(table, choice, ("system", system), data.system == k)
    ]
    parts += data.rows_of_labels(choice, part(progress, 3, 5))
    tests = data.tests(table, rows, choice, part(progress, 4, 5))
    f_by_measure = {
        (measure, average): dict(zip(data.names, average_f(of.sum(0), average).tolist(), strict=False))
        for measure, of in tables.items()
        for average in AVERAGES
    }
    progress(1.0)
    best_first = sorted((row for row in rows if row.kind == "layer"), key=lambda row: -(row.f or 0.0))
    return SpanEvaluation(
        choice, data.gold_label, len(data.keys), data.n_segments, len(data.row), (*best_first, *(row for row in rows if row.kind != "layer")),
        tuple(parts), tests, f_by_measure, tuple(data.notes(choice)),
    )  # fmt: skip


def evaluate_project(
    store: Store, project_id: int, gold: str, layers: Sequence[str], choice: SpanChoice = DEFAULT, marks: Marks | None = None,
    progress: Progress = no_progress,
) -> SpanEvaluation:  # fmt: skip
    """Compare layers of a project by name with a gold layer, or with `EVERY_ANNOTATOR`."""
    annotators = [info.name for info in list_layers(store, project_id, marks) if info.origin == "annotator"]
    golds = annotators if gold == EVERY_ANNOTATOR else [gold]
    loaded: dict[str, SpanLayer] = {}
    names = dict.fromkeys([*golds, *layers, *annotators])
    for k, name in enumerate(names):
        progress(k / len(names) / 2)
        loaded[name] = load_layer(store, project_id, name, marks)
    texts = StoredTexts(store.projects, project_id, len(store.projects.index(project_id).systems))
    of_golds, of_layers, people = ([loaded[name] for name in some] for some in (golds, layers, annotators))
    return evaluate_layers(of_golds, of_layers, people, texts.outputs, choice, part(progress, 1, 2))
