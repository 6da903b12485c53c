"""`reproduce`: recompute published tables and compare them with the figures of the paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import typer

from cli.options import print_result, status
from cli.reproduce_data import CORRECT, INCORRECT, Summary, read_summaries
from cli.reproduce_summeval import smart_table1, summeval_strings
from core.data import SegmentKey
from core.errors import UserError
from core.metrics import registry
from core.progress import no_progress
from core.scoring.progress import values_of
from core.stats.correlation.correlation import Statistic, agreement

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
    for human in table.columns:
        if lacking := sum(human not in r.human for r in rated):
            raise UserError(
                f"{lacking} of {len(rated)} summaries have no human score of this name",
                where=path.name, got=", ".join(sorted({n for r in rated for n in r.human})) or "no human scores", expected=human,
            )  # fmt: skip
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
