"""`evaluate`: compare metric scores with human scores and write CSV, JSON, LaTeX or HTML."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from math import comb
from pathlib import Path
from typing import Literal

from core.commands import external_scores, human_scores
from core.commands.progress import counted
from core.data import OutputKey
from core.errors import ImportProblems, Problem, UserError
from core.formats import output
from core.formats.load import load, read_upload
from core.formats.parsing.numbers import expected_number, is_absent, number
from core.formats.write import SCORE_COLUMNS, read_export
from core.metrics import registry
from core.metrics.external import name_of
from core.reports.evaluation import as_csv, as_html, as_json, as_latex, sentence
from core.services.calibrate.calibration import HumanScores
from core.services.evaluate.evaluate import LABELS, STATISTICS, AgreementOptions, Evaluation, StatisticName, evaluate
from core.services.evaluate.evaluation_data import Level, ScoredMetric, Unit, join
from core.services.evaluate.significance import (
    NO_TEST,
    SOFT_DRAWS,
    SignificanceMatrix,
    compare_metrics,
    contenders,
    with_soft_intervals,
)
from core.signature import signature

ENDINGS = (".csv", ".json", ".tex", ".html")
Scores = dict[str, dict[OutputKey, float]]


def to_stderr(line: str) -> None:
    print(line, file=sys.stderr)


def run(
    scores: Path | None,
    human: Path,
    out: Path,
    *,
    external: Sequence[str] = (),
    level: Level = "segment",
    group: Literal["pooled", "segment"] = "pooled",
    unit: Unit = "segment",
    exclude: Sequence[str] = (),
    lower: Sequence[str] = (),
    outputs: Sequence[Path] = (),
    seed: int = 0,
    draws: int = 300,
    tests: bool = False,
    human_score: str | None = None,
    echo: Callable[[str], None] = to_stderr,
    status: Callable[[str], None] = lambda line: None,
) -> Evaluation:
    """Join all files on (system, doc_id, segment_id), compare, and write the type of file that the suffix of `out` names.

    - `scores`: the CSV that `score` wrote; `external`: external scores (`core.commands.external_scores`). One of them is required.
    - `human`: a table of human scores, or a file with texts or labels (`core.commands.human_scores`); `human_score` selects one.
    - `lower`: metrics for which lower is better, in addition to those declared so.
    - `outputs`: files with the texts, as for `score`; the baselines need them.
    - `tests`: also test the difference of every pair of metrics under each statistic of the level.

    Raises `UserError` for files that cannot be read or joined.
    """
    if out.suffix not in ENDINGS:
        raise UserError("cannot write this type of file", where=str(out), expected=", ".join(ENDINGS))
    given = [*output.named("the scores", scores), ("--human", human), *output.named("--outputs", *outputs)]
    output.check([*given, *output.named("--external", *map(external_scores.path_of, external))], [("--out", out)])
    if scores is None and not external:
        raise UserError(
            "there are no scores to evaluate", hint="Give the CSV that `score` wrote, or --external NAME=FILE"
        )
    texts = load(outputs) if outputs else None
    elsewhere = external_scores.read(external, texts, lower)
    theirs = {name_of(e.metric.name) for e in elsewhere}
    ours = [name for name in lower if name not in theirs]
    if scores is None and ours:
        raise UserError("no metric has this name", where="--lower", got=ours[0], expected=", ".join(sorted(theirs)))
    metrics, values, missing = read_scores(scores, ours) if scores else ([], {}, 0)
    for metric, of_metric, _ in elsewhere:
        if metric.name in values:
            raise UserError(
                "this metric is in both --external and the scores",
                got=name_of(metric.name),
                hint="Give the external one another name: NAME=FILE",
            )
        metrics.append(metric)
        values[metric.name] = of_metric
    rated, unscored = human_scores.read(human, human_score)
    people = HumanScores(
        signature("human", {"file": human.name} | ({"score": human_score} if human_score else {})), rated
    )
    systems = {k.system for k in rated}
    if unknown := [name for name in exclude if name not in systems]:
        raise UserError(
            "no system has this name", where="--exclude", got=unknown[0], expected=", ".join(sorted(systems))
        )
    items = dict(texts.items()) if texts else None
    joined = join(people, metrics, values, items=items, excluded=exclude, seed=seed)
    if joined.too_few:
        raise UserError(
            "fewer than two outputs have a human score and a score from every metric",
            got=f"{sum(map(len, values.values()))} scores, {len(rated)} outputs in {human.name}",
            expected="the same system, doc_id and segment_id in all files",
        )
    found = evaluate(
        joined,
        AgreementOptions(level, group, unit, seed, draws),
        progress=counted(status, "agreement of metrics", len(joined.scored_metrics)),
    )
    if level == "system":
        found = with_soft_intervals(found, counted(status, "95 % CIs of soft pairwise accuracy", SOFT_DRAWS))
    statistic = STATISTICS[level][0]
    matrices, untested = _tested(found, status) if tests else ([], [])
    text = {
        ".csv": lambda: as_csv(found),
        ".json": lambda: as_json(found, matrices),
        ".tex": lambda: as_latex(found, statistic, matrices),
        ".html": lambda: as_html(found, statistic, matrices),
    }[out.suffix]()
    output.write({out: text})
    notes = [f"{missing} rows of {scores.name} have no score."] if scores and missing else []
    notes += [f"{e.metric.label} has no score in {e.missing} lines of its file." for e in elsewhere if e.missing]
    notes += [f"{unscored} rows of {human.name} have no score."] if unscored else []
    notes += [f"Differences in {LABELS[name]} were not tested: {why}" for name, why in untested]
    notes += (
        ["A CSV holds only the table. To get the tests, write .json, .tex or .html."]
        if tests and out.suffix == ".csv"
        else []
    )
    notes += [] if outputs else ["Baselines were not computed: they need the outputs (--outputs)."]
    for line in (*joined.notes, *notes, sentence(found, statistic)):
        echo(line)
    return found


def _tested(
    found: Evaluation, status: Callable[[str], None]
) -> tuple[list[SignificanceMatrix], list[tuple[StatisticName, str]]]:
    """Test every pair of metrics under each statistic of the level; also return the statistics that cannot be tested, with the reason."""
    matrices: list[SignificanceMatrix] = []
    untested: list[tuple[StatisticName, str]] = []
    for statistic in STATISTICS[found.choice.level]:
        if statistic == "soft_pairwise":
            untested.append((statistic, NO_TEST))
            continue
        try:
            pairs = comb(len(contenders(found, statistic)), 2)
            shown = counted(status, f"tests under {LABELS[statistic]}", pairs)
            matrices.append(compare_metrics(found, statistic, shown))
        except UserError as error:
            untested.append((statistic, str(error)))
    return matrices, untested


def read_scores(path: Path, lower: Sequence[str] = ()) -> tuple[list[ScoredMetric], Scores, int]:
    """Read a CSV that `score` wrote: the metrics, their values (negated if lower is better), and the number of rows without a score.

    Raises `ImportProblems` with file, line and column.
    """
    upload = read_upload(path)
    table = read_export(upload)
    at = {name: i for i, name in enumerate(table.columns)}
    needed = [c for c in SCORE_COLUMNS if c not in ("status", "reason", "signature")]
    if absent := [c for c in needed if c not in at]:
        raise ImportProblems(
            [
                Problem(upload.name, 1, c, "this column is missing", ", ".join(needed), "Use a CSV that `score` wrote")
                for c in absent
            ]
        )
    found: dict[str, ScoredMetric] = {}
    values: Scores = {}
    missing = 0
    for row in table.rows:
        cells = {name: str(c) if (c := row.cells[i]) is not None else "" for name, i in at.items()}
        metric = cells["metric"]
        if metric not in found:
            signed = cells.get("signature", "") or metric
            spec = registry.describe(metric, signed)
            turned = metric in lower or (spec is not None and not spec.higher_is_better)
            found[metric] = ScoredMetric(metric, spec.label if spec else metric, signed, turned=turned)
        of_metric = values.setdefault(metric, {})
        if is_absent(cells["score"]):
            missing += 1
            continue
        value, key = number(cells["score"]), OutputKey(*(cells[c] for c in ("system", "doc_id", "segment_id")))
        if value is None or key in of_metric:
            wrong = repr(cells["score"][:80]) if value is None else " / ".join(key)
            expected = expected_number(cells["score"]) if value is None else "one score per output and metric"
            raise ImportProblems(
                [Problem(upload.name, row.line, "score", wrong, expected, "Fix the line or create the file again")]
            )
        of_metric[key] = -value if found[metric].turned else value
    if unknown := [name for name in lower if name not in found]:
        raise UserError("no metric has this name", where="--lower", got=unknown[0], expected=", ".join(found))
    return list(found.values()), values, missing
