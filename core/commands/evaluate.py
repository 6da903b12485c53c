"""`evaluate`: scores that `score` wrote against human scores such as `mqm` writes; CSV, JSON, LaTeX or one HTML page."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from core.commands import external_scores, human_scores
from core.commands.progress import counted
from core.data import OutputKey
from core.errors import ImportProblems, Problem, UserError
from core.formats import output
from core.formats.load import load, read_upload
from core.formats.numbers import expected_number, is_absent, number
from core.formats.write import SCORE_COLUMNS, read_export
from core.metrics import registry
from core.metrics.external import name_of
from core.services.calibration import People
from core.services.evaluate import (
    LABELS,
    STATISTICS,
    Choice,
    Contestant,
    Evaluation,
    Level,
    Name,
    Unit,
    evaluate,
    join,
)
from core.services.evaluate_report import as_csv, as_html, as_json, as_latex, sentence
from core.services.evaluate_tests import NO_TEST, Matrix, compare_metrics, with_soft_intervals
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
    say: Callable[[str], None] = to_stderr,
    progress: Callable[[str], None] = lambda line: None,
) -> Evaluation:
    """Join both files on (system, doc_id, segment_id), compare, and write what the ending of `out` asks for.

    `external` are files of metrics that were computed elsewhere (`core.commands.external_scores`), beside `scores` or alone.
    `tests` compares every pair of metrics under each statistic of the level, and says in the files which differ.
    `human` is a table of scores, or a file with texts or labels (`core.commands.human_scores`); `human_score` says which score.
    `lower` names metrics of which lower is better, beyond those of ours that say so themselves. Sentinels read texts: those
    in `outputs`, files as `score` takes them. Raises `UserError` for files that cannot be read or joined.
    """
    if out.suffix not in ENDINGS:
        raise UserError("a file of this kind is not written", where=str(out), expected=", ".join(ENDINGS))
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
        raise UserError("there is no such metric", where="--lower", got=ours[0], expected=", ".join(sorted(theirs)))
    metrics, values, missing = read_scores(scores, ours) if scores else ([], {}, 0)
    for metric, of_metric, _ in elsewhere:
        if metric.name in values:
            raise UserError("this metric stands in both files", got=name_of(metric.name), hint="Name it: NAME=FILE")
        metrics.append(metric)
        values[metric.name] = of_metric
    rated, unscored = human_scores.read(human, human_score)
    people = People(signature("human", {"file": human.name} | ({"score": human_score} if human_score else {})), rated)
    systems = {k.system for k in rated}
    if unknown := [name for name in exclude if name not in systems]:
        raise UserError(
            "there is no such system", where="--exclude", got=unknown[0], expected=", ".join(sorted(systems))
        )
    items = dict(texts.items()) if texts else None
    joined = join(people, metrics, values, items=items, excluded=exclude, seed=seed)
    if joined.too_few:
        raise UserError(
            "fewer than two outputs stand in both files with a score of every metric",
            got=f"{sum(map(len, values.values()))} scores, {len(rated)} outputs in {human.name}",
            expected="the same system, doc_id and segment_id in both",
        )
    found = evaluate(joined, Choice(level, group, unit, seed, draws), step=counted(progress, "agreement of metrics"))
    if level == "system":
        found = with_soft_intervals(found, counted(progress, "intervals of soft pairwise accuracy"))
    statistic = STATISTICS[level][0]
    matrices, untested = _tested(found, progress) if tests else ([], [])
    matrix, more = next(iter(matrices), None), matrices[1:]
    text = {
        ".csv": lambda: as_csv(found),
        ".json": lambda: as_json(found, matrix, more),
        ".tex": lambda: as_latex(found, statistic, matrix, more),
        ".html": lambda: as_html(found, statistic, matrix, more=more),
    }[out.suffix]()
    output.write({out: text})
    lost = [f"{missing} rows of {scores.name} have no score."] if scores and missing else []
    lost += [f"{e.metric.label} has no score in {e.missing} lines of its file." for e in elsewhere if e.missing]
    lost += [f"{unscored} rows of {human.name} have no score."] if unscored else []
    lost += [f"No tests under {LABELS[name]}: {why}" for name, why in untested]
    lost += ["The tests are not in the file: a CSV holds the table only."] if tests and out.suffix == ".csv" else []
    lost += [] if outputs else ["No sentinels: they need the texts (--outputs)."]
    for line in (*joined.notes, *lost, sentence(found, statistic)):
        say(line)
    return found


def _tested(found: Evaluation, progress: Callable[[str], None]) -> tuple[list[Matrix], list[tuple[Name, str]]]:
    """Tests of every pair of metrics under each statistic of the level, and the statistics without a test, with the reason."""
    matrices: list[Matrix] = []
    untested: list[tuple[Name, str]] = []
    for statistic in STATISTICS[found.choice.level]:
        if statistic == "soft_pairwise":
            untested.append((statistic, NO_TEST))
            continue
        try:
            matrices.append(compare_metrics(found, statistic, counted(progress, f"tests under {LABELS[statistic]}")))
        except UserError as error:
            untested.append((statistic, str(error)))
    return matrices, untested


def read_scores(path: Path, lower: Sequence[str] = ()) -> tuple[list[Contestant], Scores, int]:
    """The metrics of a file that `score` wrote as CSV, their values turned so that higher is better, and how many rows have
    none. Raises `ImportProblems` naming file, line and column."""
    upload = read_upload(path)
    table = read_export(upload)
    at = {name: i for i, name in enumerate(table.columns)}
    needed = [c for c in SCORE_COLUMNS if c not in ("status", "reason", "signature")]
    if absent := [c for c in needed if c not in at]:
        raise ImportProblems(
            [
                Problem(upload.name, 1, c, "no such column", ", ".join(needed), "Give the CSV that `score` wrote")
                for c in absent
            ]
        )
    found: dict[str, Contestant] = {}
    values: Scores = {}
    missing = 0
    for row in table.rows:
        cells = {name: str(c) if (c := row.cells[i]) is not None else "" for name, i in at.items()}
        metric = cells["metric"]
        if metric not in found:
            signed = cells.get("signature", "") or metric
            spec = registry.describe(metric, signed)
            turned = metric in lower or (spec is not None and not spec.higher_is_better)
            found[metric] = Contestant(metric, spec.label if spec else metric, signed, turned=turned)
        of_metric = values.setdefault(metric, {})
        if is_absent(cells["score"]):
            missing += 1
            continue
        value, key = number(cells["score"]), OutputKey(*(cells[c] for c in ("system", "doc_id", "segment_id")))
        if value is None or key in of_metric:
            wrong = repr(cells["score"][:80]) if value is None else " / ".join(key)
            expected = expected_number(cells["score"]) if value is None else "each output once a metric"
            raise ImportProblems(
                [Problem(upload.name, row.line, "score", wrong, expected, "Correct the line, or write the file again")]
            )
        of_metric[key] = -value if found[metric].turned else value
    if unknown := [name for name in lower if name not in found]:
        raise UserError("there is no such metric", where="--lower", got=unknown[0], expected=", ".join(found))
    return list(found.values()), values, missing
