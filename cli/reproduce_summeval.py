"""`reproduce smart-table1 | summeval`: string metrics and SMART on SummEval, beside the papers' figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cli.options import status
from cli.reproduce_data import Summary
from core.data import Item
from core.errors import UserError
from core.formats.files import file_at
from core.formats.parsing.json_text import parsed
from core.formats.parsing.numbers import BOUNDS, json_number
from core.formats.problems import shown
from core.formats.streams.opened import numbered_lines
from core.metrics import registry
from core.progress import no_progress
from core.stats.correlation.correlation import Group, Measure, Statistic, agreement, group_ids
from core.stats.means import group_means

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
    return "\n".join(_written(cells, rated))


def summeval(path: Path) -> list[Summary]:
    """Read documents with `source`, `references` and `outputs` ({system: {text, human: {dimension: score}}}). Raises `UserError`."""
    out: list[Summary] = []
    for number, line in numbered_lines(file_at(path)):
        try:
            out += _document(number, parsed(line)) if line.strip() else ()
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(
                "this is not a document of SummEval",
                where=f"{path.name}, line {number}",
                got=f"{type(error).__name__} {error}",
                expected="source, references and outputs: {system: {text, human}} with "
                + ", ".join(DIMENSIONS.values()),
            ) from error
    if len({r.system for r in out}) < 2:
        raise UserError(
            "the file has fewer than two systems",
            where=path.name,
            expected="outputs of two or more systems, to rank them",
        )
    return out


def _document(number: int, document: Any) -> Iterator[Summary]:
    for system, output in document["outputs"].items():
        item = Item(document["source"], output["text"], tuple(document["references"]))
        if not all(isinstance(text, str) for text in (item.source, item.hypothesis, *item.references)):
            raise TypeError(f"a text of {system} is not a string")
        yield Summary(number, system, item, {d: _score(output["human"][d]) for d in DIMENSIONS.values()})


def _score(value: object) -> float:
    if (number := json_number(value)) is None:
        raise ValueError(f"{shown(repr(value))} is not {BOUNDS}")
    return number


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


def _written(cells: Sequence[ComparedFigure], rated: Sequence[Summary]) -> Iterator[str]:
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


Array = npt.NDArray[np.float64]
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

    return "\n".join(_written_agreement(rows, row))


def _best(name: str, rated: Sequence[Summary]) -> Array:
    return _scores(name, [r.item for r in rated])


def _mean(name: str, rated: Sequence[Summary]) -> Array:
    one_each = [Item(r.item.source, r.item.hypothesis, (ref,)) for r in rated for ref in r.item.references]
    flat, counts = _scores(name, one_each), [len(r.item.references) for r in rated]
    return np.array([part.mean() for part in np.split(flat, np.cumsum(counts)[:-1])])


def _scores(name: str, items: Sequence[Item]) -> Array:
    return np.array([v.value for v in registry.load_metric(name).score(items, no_progress)], dtype=np.float64)


def _written_agreement(
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
