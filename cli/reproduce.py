"""`reproduce`: recompute published tables and compare them with the figures of the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import typer

from cli.options import print_result, status
from cli.reproduce_data import CORRECT, INCORRECT, Summary, check_human, read_summaries
from core.data import Item, SegmentKey
from core.errors import UserError
from core.metrics import registry
from core.progress import no_progress
from core.scoring.values import values_of
from core.stats.correlation.correlation import Group, Measure, Statistic, agreement, group_ids
from core.stats.means import group_means

Table = Literal["smart-table1", "summeval", "realsumm", "qags", "rank19", "newsroom"]


def reproduce_command(
    table: Annotated[Table, typer.Argument(help="published table to reproduce")],
    data: Annotated[
        Path, typer.Option(help="file of the data set: SummEval (docs/smart.md) or another (docs/reproduce.md)")
    ],
) -> None:
    """Print the table. Raises `UserError`."""
    own = {"smart-table1": smart_table1, "summeval": summeval_strings}
    print_result(own[table](data) if table in own else summaries(table, data))


Array = npt.NDArray[np.float64]
Kind = Literal["spearman", "pearson", "accuracy"]


class PublishedTable(NamedTuple):
    """A table of Lu et al. (2023), in percent: its columns by human score, and its rows by the metric of ours that is nearest.

    The paper does not say which variant of ROUGE and BARTScore it uses, so `rows` may contain a row several times.
    """

    table: str
    kind: Kind
    what: str
    columns: Mapping[str, str]
    rows: tuple[tuple[str, str, tuple[float, ...]], ...]


def _rows(
    rouge: Sequence[str], others: Mapping[str, tuple[str, tuple[float, ...]]], figures: tuple[float, ...]
) -> tuple[tuple[str, str, tuple[float, ...]], ...]:
    return (*((name, "ROUGE", figures) for name in rouge), *((n, *row) for n, row in others.items()))


F_ROUGES = ("rouge1|stem:yes", "rouge2|stem:yes", "rougeL|stem:yes")
RECALL_ROUGES = tuple(f"{name}|measure:r" for name in F_ROUGES)
VANILLA = "Vanilla BARTScore"
TABLES: dict[str, PublishedTable] = {
    "realsumm": PublishedTable(
        "Table 3", "spearman", "Spearman ρ within each document, averaged", {"litepyramid_recall": "COV"},
        _rows(
            (*RECALL_ROUGES, *F_ROUGES),
            {"bertscore|measure:r": ("BERTScore", (44.04,)), "moverscore": ("MoverScore", (37.24,)), "bartscore-r": (VANILLA, (47.42,))},
            (49.75,),
        ),
    ),
    "newsroom": PublishedTable(
        "Table 3", "spearman", "Spearman ρ within each document, averaged",
        {"coherence": "COH", "fluency": "FLU", "informativeness": "INFO", "relevance": "REL"},
        _rows(
            F_ROUGES,
            {
                "bertscore": ("BERTScore", (14.75, 17.03, 13.09, 16.34)),
                "moverscore": ("MoverScore", (16.15, 11.97, 18.80, 19.54)),
                "bartscore-faithfulness": (VANILLA, (67.89, 67.00, 64.67, 60.51)),
            },
            (9.46, 10.36, 13.04, 14.73),
        ),
    ),
    "rank19": PublishedTable(
        "Table 4", "accuracy", "share of pairs in which the correct sentence scores strictly higher", {"fact": "Rank19"},
        _rows(
            F_ROUGES,
            {"bertscore": ("BERTScore", (71.31,)), "moverscore": ("MoverScore", (71.31,)), "bartscore-faithfulness": (VANILLA, (83.65,))},
            (63.00,),
        ),
    ),
    "qags": PublishedTable(
        "Table 4", "pearson", "Pearson r over all summaries", {"fact": "Q-CNN / Q-XSUM"},
        _rows(
            F_ROUGES,
            {
                "bertscore": ("BERTScore", (57.60, 2.38)),
                "moverscore": ("MoverScore", (41.41, 5.41)),
                "bartscore-faithfulness": (VANILLA, (73.47, 18.38)),
            },
            (45.91, 9.70),
        ),
    ),
}  # fmt: skip
"""QAGS has two figures per row: its CNN/DailyMail summaries (235), and its XSUM ones (239)."""

DIFFERS = (
    "What differs: the paper names no variant of ROUGE, and the code it follows computes it with pyrouge; here it is rouge-score with Porter "
    "stems. Its BARTScore uses BART-large, BART-CNN or BART-CNN-PARA (section 4.3), and it names no model for BERTScore and MoverScore; "
    "here they are the configured models, named in each row. idf weights come from this file."
)


def summaries(name: str, path: Path) -> str:
    """Return the table of a data set: each metric's agreement here, and the paper's. Raises `UserError`.

    A metric whose model is not configured, or whose texts the file lacks, has a row with the reason.
    """
    table, rated = TABLES[name], read_summaries(path)
    check_human(rated, table.columns, path.name)
    lines = []
    for metric, row, paper in table.rows:
        status(metric)
        lines.append(_line(table, metric, row, paper, rated))
    return "\n".join(_written(name, table, rated, lines))


def _line(table: PublishedTable, metric: str, row: str, paper: tuple[float, ...], rated: Sequence[Summary]) -> str:
    figures = " / ".join(f"{v:.2f}" for v in paper)
    try:
        scores, note = _scores(metric, rated)
    except UserError as error:
        return f"{metric:<26}–{'':<29} {row}: {figures}   ({error})"
    agreements = [_agreement(table.kind, scores, human, rated) for human in table.columns]
    ours = " / ".join("undefined" if s.value is None else f"{100 * s.value:.2f}" for s in agreements)
    reasons = dict.fromkeys(s.reason for s in agreements if s.value is None)
    return f"{metric:<26}{ours:<30} {row}: {figures}   {'; '.join([*filter(None, [note]), *reasons])}".rstrip()


def _scores(name: str, rated: Sequence[Summary]) -> tuple[Array, str]:
    """Return the values of a metric, NaN if missing, and a note with its model and the number of missing values."""
    outputs = [(SegmentKey("", str(r.document)), r.item) for r in rated]
    metric = registry.load_metric(name).for_outputs(outputs)
    fields = dict(part.partition(":")[::2] for part in metric.signature().split("|")[1:])
    metric_values = values_of(metric, [r.item for r in rated], no_progress)
    values = np.array([np.nan if v.value is None else v.value for v in metric_values], dtype=np.float64)
    missing = [v.reason for v in metric_values if v.value is None]
    if len(missing) == len(metric_values):
        raise UserError(f"no summary has a score: {missing[0]}")
    note = [fields["model"]] if "model" in fields else []
    return values, ", ".join(note + ([f"{len(missing)} without a score: {missing[0]}"] if missing else []))


def _agreement(kind: Kind, scores: Array, human: str, rated: Sequence[Summary]) -> Statistic:
    scored = np.isfinite(scores)
    kept = [r for r, known in zip(rated, scored.tolist(), strict=True) if known]
    if kind == "accuracy":
        return _accuracy(scores[scored], kept)
    human_scores = np.array([r.human[human] for r in kept])
    group: Literal["segment", "pooled"] = "segment" if kind == "spearman" else "pooled"
    return agreement(kind, scores[scored], human_scores, group=group, segments=[r.document for r in kept])


def _accuracy(scores: Array, kept: Sequence[Summary]) -> Statistic:
    by = {(r.document, r.system): score for r, score in zip(kept, scores.tolist(), strict=True)}
    pairs = [(by[n, CORRECT], by[n, INCORRECT]) for n, system in by if system == CORRECT and (n, INCORRECT) in by]
    if not pairs:
        return Statistic(None, f"no document has the outputs “{CORRECT}” and “{INCORRECT}”", 0)
    return Statistic(float(np.mean([good > bad for good, bad in pairs])), "", len(pairs))


def _written(name: str, table: PublishedTable, rated: Sequence[Summary], lines: Sequence[str]) -> Iterator[str]:
    documents, systems = len({r.document for r in rated}), len({r.system for r in rated})
    yield f"{name}, BARTScore++ (Lu et al. 2023), {table.table}, in percent: {table.what}"
    yield f"{len(rated):,} summaries of {documents:,} documents, {systems} systems; columns: {' / '.join(table.columns.values())}"
    yield ""
    yield f"{'metric':<26}{'here':<30} the paper's row: figures   model"
    yield from lines
    yield ""
    yield DIFFERS


DIMENSIONS = {"Coh": "coherence", "Fac": "consistency", "Flu": "fluency", "Inf": "relevance"}
MATCHERS = {"ROUGE-1": "rouge1", "ROUGE-2": "rouge2", "ROUGE-L": "rougeL", "BLEU": "bleu", "CHRF": "chrf"}
VARIANTS = ("1", "2", "L")
SMART_TABLE_1: Mapping[tuple[str, str], tuple[float, float, float, float]] = {
    ("ROUGE-1", "1"): (0.233, 0.733, 0.494, 0.500),
    ("ROUGE-1", "2"): (0.217, 0.683, 0.477, 0.417),
    ("ROUGE-1", "L"): (0.267, 0.700, 0.460, 0.467),
    ("ROUGE-2", "1"): (0.183, 0.650, 0.477, 0.417),
    ("ROUGE-2", "2"): (0.183, 0.650, 0.477, 0.417),
    ("ROUGE-2", "L"): (0.217, 0.650, 0.444, 0.383),
    ("ROUGE-L", "1"): (0.233, 0.733, 0.527, 0.500),
    ("ROUGE-L", "2"): (0.217, 0.683, 0.477, 0.417),
    ("ROUGE-L", "L"): (0.267, 0.700, 0.460, 0.467),
    ("BLEU", "1"): (0.300, 0.733, 0.527, 0.467),
    ("BLEU", "2"): (0.283, 0.717, 0.510, 0.450),
    ("BLEU", "L"): (0.317, 0.717, 0.460, 0.483),
    ("CHRF", "1"): (0.300, 0.733, 0.494, 0.500),
    ("CHRF", "2"): (0.300, 0.700, 0.460, 0.433),
    ("CHRF", "L"): (0.367, 0.733, 0.494, 0.500),
}
"""Amplayo et al. 2022, Table 1, string-based matching functions: system-level Kendall τ, in the order of `DIMENSIONS`."""


class ComparedFigure(NamedTuple):
    """One figure of a table: as published, and as computed here."""

    matcher: str
    variant: str
    dimension: str
    paper: float
    ours: float

    @property
    def exact(self) -> bool:
        return abs(self.ours - self.paper) < 0.0005 + 1e-9


def smart_table1(path: Path) -> str:
    """Return Table 1 of SMART for the string matchers, from SummEval as one JSON object per document. Raises `UserError`."""
    rated = summeval(path)
    cells: list[ComparedFigure] = []
    for matcher in MATCHERS:
        for variant in VARIANTS:
            status(f"S{variant}-{matcher}")
            cells += smart_cells(rated, matcher, variant)
    return "\n".join(_smart_lines(cells, rated))


def summeval(path: Path) -> list[Summary]:
    """Read outputs of several systems with human scores of all `DIMENSIONS`. Raises `UserError`."""
    rated = read_summaries(path)
    check_human(rated, DIMENSIONS.values(), path.name)
    if len({r.system for r in rated}) < 2:
        expected = "outputs of two or more systems, to rank them"
        raise UserError("the file has fewer than two systems", where=path.name, expected=expected)
    return rated


def smart_cells(rated: Sequence[Summary], matcher: str, variant: str) -> list[ComparedFigure]:
    """Return one row of Table 1: Kendall τ-b over systems between the means of S-matcher and of the experts' scores."""
    options = {"matcher": MATCHERS[matcher], "sentences": "point"}
    metric = registry.load_metric(registry.expression(f"smart{variant}", options))
    scored = [value.value for value in metric.score([r.item for r in rated], no_progress)]
    known = [(r, score) for r, score in zip(rated, scored, strict=True) if score is not None]
    of = group_ids([r.system for r, _ in known])
    means = group_means(np.array([score for _, score in known]), of)
    cells = []
    for name, paper in zip(DIMENSIONS, SMART_TABLE_1[matcher, variant], strict=True):
        human = group_means(np.array([r.human[DIMENSIONS[name]] for r, _ in known]), of)
        tau = agreement("kendall", means, human)
        if tau.value is None:
            raise UserError("the systems cannot be ranked", where=DIMENSIONS[name], got=tau.reason)
        cells.append(ComparedFigure(matcher, variant, name, paper, tau.value))
    return cells


def _smart_lines(cells: Sequence[ComparedFigure], rated: Sequence[Summary]) -> Iterator[str]:
    n = len({r.system for r in rated})
    yield "SMART (Amplayo et al. 2022), Table 1, string-based matchers: Kendall τ-b with experts, system level"
    yield f"{len(rated):,} outputs of {n} systems; each dimension: paper, here, difference"
    yield ""
    yield " " * 11 + "  ".join(f"{name:<21}" for name in DIMENSIONS).rstrip()
    for start in range(0, len(cells), len(DIMENSIONS)):
        row = cells[start : start + len(DIMENSIONS)]
        yield f"{row[0].matcher:<8}S{row[0].variant} " + "  ".join(map(_cell, row)).rstrip()
    yield ""
    for matcher in MATCHERS:
        own = [c for c in cells if c.matcher == matcher]
        exact, apart = sum(c.exact for c in own), max(abs(c.ours - c.paper) for c in own)
        far = "" if exact == len(own) else f", the others differ by at most {_three(apart)}"
        yield f"{matcher:<8} {exact} of {len(own)} exact to three digits{far}"
    yield ""
    yield f"Reversing one pair of systems changes τ by {_three(2 / (n * (n - 1) / 2))}. More in docs/smart.md"


def _cell(cell: ComparedFigure) -> str:
    apart = "exact" if cell.exact else f"{'+' if cell.ours > cell.paper else '−'}{_three(abs(cell.ours - cell.paper))}"
    return f"{_three(cell.paper):>6} {_three(cell.ours):>6} {apart:<7}"


def _three(value: float) -> str:
    """Return three digits as the paper prints them: .300."""
    return f"{value:.3f}".replace("0.", ".", 1)


METRICS = ("rouge1", "rouge2", "rougeL", "bleu", "chrf")
"""The string metrics in the tables. TER is left out: with eleven references it takes longer than all others together."""

IN = " (in brackets: documents in which it is defined, of all documents)"

SMART_TABLE_2: Mapping[str, tuple[float, ...]] = {
    "rouge1": (0.350, 0.550, 0.527, 0.583),
    "rouge2": (0.233, 0.600, 0.494, 0.433),
    "rougeL": (0.117, 0.117, 0.259, 0.350),
    "bleu": (0.217, 0.050, 0.326, 0.383),
    "chrf": (0.350, 0.617, 0.561, 0.550),
}
"""Amplayo et al. 2022: Kendall τ at system level."""

BARTSCORE_PP_TABLE_3 = (0.1668, 0.1596, 0.1150, 0.3264)
"""Lu et al. 2023, the row "ROUGE" under SummEval: Spearman ρ. The paper does not say which ROUGE."""


def summeval_strings(path: Path) -> str:
    """Return Kendall τ of system means with SMART's Table 2, and Spearman ρ and τ within documents with BARTScore++'s Table 3.

    Scores are those of the best of the eleven references (as in the registry's metrics), or the mean over references. Raises
    `UserError`.
    """
    rated = summeval(path)
    rows = []
    for name in METRICS:
        for how, score in (("best", _best), ("mean", _mean)):
            status(f"{name}, {how} reference")
            rows.append((name, how, score(name, rated)))
    segments = [r.item.source for r in rated]
    systems = [r.system for r in rated]

    def row(values: Array, measure: Measure, group: Group) -> list[Statistic]:
        statistics = []
        for dimension in DIMENSIONS.values():
            human = np.array([r.human[dimension] for r in rated])
            one = agreement(measure, values, human, group=group, segments=segments, systems=systems)
            if one.value is None:
                raise UserError("agreement is undefined", where=f"{measure}, {dimension}", got=one.reason)
            statistics.append(one)
        return statistics

    return "\n".join(_agreement_lines(rows, row))


def _best(name: str, rated: Sequence[Summary]) -> Array:
    return _string_scores(name, [r.item for r in rated])


def _mean(name: str, rated: Sequence[Summary]) -> Array:
    one_each = [Item(r.item.source, r.item.hypothesis, (ref,)) for r in rated for ref in r.item.references]
    flat, counts = _string_scores(name, one_each), [len(r.item.references) for r in rated]
    return np.array([part.mean() for part in np.split(flat, np.cumsum(counts)[:-1])])


def _string_scores(name: str, items: Sequence[Item]) -> Array:
    return np.array([v.value for v in registry.load_metric(name).score(items, no_progress)], dtype=np.float64)


def _agreement_lines(
    rows: Sequence[tuple[str, str, Array]], row: Callable[[Array, Measure, Group], list[Statistic]]
) -> Iterator[str]:
    yield "Kendall τ-b between system means of metrics and experts; in brackets: SMART (Amplayo et al. 2022), Table 2"
    yield " " * 16 + "".join(f"{name:<18}" for name in DIMENSIONS).rstrip()
    for name, how, values in rows:
        theirs = SMART_TABLE_2.get(name, (None,) * 4)
        cells = [
            f"{ours.value:6.3f}" + (f" ({paper:.3f})" if paper is not None else "")
            for ours, paper in zip(row(values, "kendall", "system"), theirs, strict=True)
        ]
        yield f"{name:<8}{how:<8}" + "".join(f"{c:<18}" for c in cells).rstrip()
    lu = " ".join(f"{v:.3f}" for v in BARTSCORE_PP_TABLE_3)
    headings: dict[Measure, str] = {
        "spearman": f"Spearman ρ within each document, averaged{IN}; BARTScore++ (Lu et al. 2023), Table 3, ROUGE: {lu}",
        "kendall": f"Kendall τ-b within each document, averaged{IN}",
    }
    for measure, heading in headings.items():
        yield ""
        yield heading
        for name, how, values in rows:
            yield (
                f"{name:<8}{how:<8}"
                + "".join(f"{v.value:6.3f}{_documents(v):12}" for v in row(values, measure, "segment")).rstrip()
            )


def _documents(average: Statistic) -> str:
    """Return in how many documents an average is defined, as " (98/100)"; "" if in all."""
    return f" ({average.groups}/{average.groups + average.undefined})" if average.undefined else ""
