"""`evaluate`: compare metric scores with human scores and write CSV, JSON, LaTeX or HTML."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from math import comb
from pathlib import Path
from typing import Annotated, Literal

import typer

from cli import external_scores, human_scores
from cli.external_scores import ExternalMetricScores, open_folder
from cli.options import (
    HUMAN,
    LARGEST_SEED,
    Columns,
    HumanScheme,
    HumanScore,
    check_ending,
    counted,
    print_note,
    read_texts,
)
from core.data import Dataset, OutputKey
from core.errors import UserError
from core.formats import mtme_score, output
from core.formats.files import file_at
from core.formats.given_roles import GivenRoles
from core.formats.mtme_folder import stored_files
from core.formats.parsing.numbers import is_absent
from core.formats.write import SCORE_COLUMNS
from core.metrics import registry
from core.metrics.base import name_of
from core.reports.evaluation import as_csv, as_html, as_json, as_latex, sentence
from core.services.calibrate.calibration import HumanScores
from core.services.compare.systems import GivenScores, rows_as_given
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

DRAWS = 300
"""Bootstrap draws of the intervals."""
Scores = dict[str, dict[OutputKey, float]]


def evaluate_command(
    out: Annotated[Path, typer.Option(help="file to write: .csv, .json, .tex or .html")],
    human: Annotated[list[Path] | None, typer.Option(help=f"{HUMAN}; not needed with --mtme")] = None,
    human_score: HumanScore = None,
    scheme: HumanScheme = None,
    scores: Annotated[Path | None, typer.Argument(help="CSV that `score` wrote")] = None,
    external: Annotated[
        list[str] | None,
        typer.Option(
            help="external scores as NAME=FILE: .seg.score, CSV, or .sys.score (system scores as given, shown beside the means "
            "of segment scores at --level system); repeatable"
        ),
    ] = None,
    mtme: Annotated[
        Path | None,
        typer.Option(
            help="folder of a test set in mt-metrics-eval's layout: its texts, human scores and metric scores are read, and "
            "references that are systems too are excluded"
        ),
    ] = None,
    pair: Annotated[str | None, typer.Option(help="language pair in the folder of --mtme, such as en-de")] = None,
    reference: Annotated[
        list[str] | None,
        typer.Option(help="with --mtme: compare only metrics that used this reference or none; repeatable"),
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(
            help="with --mtme: system to compare although it is a reference, without the metrics that used it; repeatable"
        ),
    ] = None,
    level: Annotated[Level, typer.Option(help="compare single outputs, or system means")] = "segment",
    group: Annotated[
        Literal["pooled", "segment"],
        typer.Option(help="which outputs are compared at segment level: all, or those of the same segment"),
    ] = "pooled",
    unit: Annotated[Unit, typer.Option(help="unit that the bootstrap resamples")] = "segment",
    exclude: Annotated[
        list[str] | None, typer.Option(help="system to leave out, such as a human reference; repeatable")
    ] = None,
    human_systems: Annotated[
        Path | None,
        typer.Option(help="human system scores (.sys.score) for system scores as given; otherwise means of --human"),
    ] = None,
    lower: Annotated[list[str] | None, typer.Option(help="metric for which lower is better; repeatable")] = None,
    outputs: Annotated[
        list[Path] | None, typer.Option(help="file with the outputs, needed for the baselines; repeatable")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=LARGEST_SEED, help="random seed of the bootstrap and the permutation tests")
    ] = 0,
    partly: Annotated[
        bool,
        typer.Option(
            "--partly", help="also compare metrics that are only partly scored, on the outputs all have scored"
        ),
    ] = False,
    tests: Annotated[
        bool, typer.Option("--tests", help="test the difference of every pair of metrics, with Holm's correction")
    ] = False,
    column: Columns = None,
) -> Evaluation:
    """Join all files on (system, doc_id, segment_id), compare, and write the type of file that the suffix of `out` names.

    Metrics of which lower is declared to be better need not be in `lower`. Raises `UserError` for files that cannot be read or
    joined.
    """
    given_files = [external_scores.metric_file(text) for text in external or []]
    exclude, lower, outputs = exclude or [], lower or [], outputs or []
    reference, include = reference or [], include or []
    check_ending(out, ".csv", ".json", ".tex", ".html")
    inputs = [*output.named("the scores", scores), *output.named("--human", *human or ())]
    inputs += [*output.named("--outputs", *outputs), *output.named("--human-systems", human_systems)]
    inputs += output.named(
        "--mtme", mtme, *((mtme / file.name for file in stored_files(mtme)) if mtme and mtme.is_dir() else ())
    )
    output.check([*inputs, *output.named("--external", *(file.path for file in given_files))], [("--out", out)])
    _check_options(human, outputs, mtme, {"--pair": pair, "--reference": reference, "--include": include})
    of_systems = [file for file in given_files if mtme_score.is_of_systems(file.path.name)]
    files = [file for file in given_files if file not in of_systems]
    if (of_systems or human_systems) and level != "system":
        where = of_systems[0].path if of_systems else human_systems
        raise UserError("system scores need --level system", got=str(where))
    if human_systems and not of_systems and not mtme:
        hint = "Add --external NAME=FILE.sys.score, or leave --human-systems out"
        raise UserError("there are no system scores of metrics", where="--human-systems", hint=hint)
    roles = GivenRoles(column or ())
    folder = open_folder(mtme, pair, roles) if mtme else None
    texts = folder.texts if folder else read_texts(outputs, roles) if outputs else None
    about_folder: list[str] = []
    if folder:
        about_folder = folder.notes(reference, include)
        files = [*folder.metrics(reference, include, of_systems=False), *files]
        if not human:
            human = folder.human(human_score, scheme)
            human_score = None
            human_systems = human_systems or (folder.human_systems(human) if level == "system" else None)
        if level == "system":
            of_systems = [*folder.metrics(reference, include, of_systems=True), *of_systems]
    human = human or []
    if scores is None and not files:
        raise UserError(
            "there are no scores to evaluate",
            where=str(mtme or ""),
            hint="Give the CSV that `score` wrote, or --external NAME=FILE. System scores (.sys.score) are shown beside these",
        )
    external_metrics = external_scores.read_metric_files(files, texts, lower)
    system_scores = external_scores.read_systems(of_systems, lower)
    theirs = {
        name_of(metric.name) for metric in [*(e.metric for e in external_metrics), *(g.metric for g in system_scores)]
    }
    ours = [name for name in lower if name not in theirs]
    if scores is None and ours:
        raise UserError("no metric has this name", where="--lower", got=ours[0], expected=", ".join(sorted(theirs)))
    metrics, values, missing = read_scores(scores, ours) if scores else ([], {}, 0)
    for metric, of_metric, _ in external_metrics:
        if metric.name in values:
            raise UserError(
                "this metric is in both --external and the scores",
                got=name_of(metric.name),
                hint="Give the external one another name: NAME=FILE",
            )
        metrics.append(metric)
        values[metric.name] = of_metric
    rated, unscored, called = human_scores.read_human_scores(human, human_score, roles, scheme, texts)
    roles.check()
    name = ", ".join(path.name for path in human)
    facts = {"file": name, "score": human_score, "scheme": scheme}
    missing_outputs = folder.missing if folder else frozenset[OutputKey]()
    rated = {key: value for key, value in rated.items() if key not in missing_outputs}
    called = human_score or ("" if called == human_scores.SCORE else called)
    chosen_scores = HumanScores(
        signature("human", {name: value for name, value in facts.items() if value}), rated, name=called
    )
    not_rated = _without_human_score(exclude, rated, values, external_metrics, texts)
    excluded = list(dict.fromkeys([*exclude, *(folder.excluded(include) if folder else ())]))
    items = {key: item for key, item in texts.items() if key not in missing_outputs} if texts else None
    by_user = {file.name or "" for file in given_files}
    for metric, of_metric, _ in external_metrics:
        named = not folder or name_of(metric.name) in by_user  # named by the user, so never excluded
        values[metric.name] = (dict.fromkeys(rated, math.nan) if named else {}) | of_metric
    joined = join(chosen_scores, metrics, values, items=items, excluded=excluded, seed=seed, partly=partly)
    if joined.too_few:
        raise UserError(
            "fewer than two outputs have a human score and a score from every metric",
            got=f"{sum(map(len, values.values()))} scores, {len(rated)} outputs in {name}",
            expected="the same system, doc_id and segment_id in all files",
        )
    evaluation = evaluate(
        joined,
        AgreementOptions(level, group, unit, seed, DRAWS),
        progress=counted("agreement of metrics", len(joined.scored_metrics)),
    )
    if level == "system":
        evaluation = with_soft_intervals(evaluation, counted("95 % CIs of soft pairwise accuracy", SOFT_DRAWS))
    evaluation, given_notes = _with_system_scores(evaluation, system_scores, human_systems, excluded)
    statistic = STATISTICS[level][0]
    matrices, untested = _tested(evaluation) if tests else ([], [])
    text = {
        ".csv": lambda: as_csv(evaluation),
        ".json": lambda: as_json(evaluation, matrices),
        ".tex": lambda: as_latex(evaluation, statistic, matrices),
        ".html": lambda: as_html(evaluation, statistic, matrices),
    }[out.suffix]()
    output.write_files({out: text})
    notes = [f"{missing} rows of {scores.name} have no score."] if scores and missing else []
    notes += [f"{e.metric.label} has no score in {e.missing} lines of its file." for e in external_metrics if e.missing]
    notes += [
        f"{m.label}: lower is assumed to be better, as for an error rate."
        for m in [*(e.metric for e in external_metrics), *(g.metric for g in system_scores)]
        if m.turned and name_of(m.name) not in lower
    ]
    notes += [f"{unscored} rows of {name} have no score."] if unscored else []
    notes += [
        f"--exclude {name}: no output of this system has a human score, so nothing was left out." for name in not_rated
    ]
    notes += [f"Differences in {LABELS[name]} were not tested: {why}" for name, why in untested]
    notes += (
        ["A CSV holds only the table. To get the tests, write .json, .tex or .html."]
        if tests and out.suffix == ".csv"
        else []
    )
    notes += [] if texts else ["Baselines were not computed: they need the outputs (--outputs)."]
    print_note(
        *about_folder,
        *filter(None, [joined.set_aside]),
        *joined.notes,
        *notes,
        *given_notes,
        sentence(evaluation, statistic),
    )
    return evaluation


def _check_options(
    human: Sequence[Path] | None, outputs: Sequence[Path], mtme: Path | None, with_mtme: Mapping[str, object]
) -> None:  # fmt: skip
    """Raise `UserError` for options that belong to a folder without one, and for texts or human scores that are given twice or not at all."""
    if mtme and outputs:
        raise UserError("the folder of --mtme has the outputs", where="--outputs", hint="Leave --outputs or --mtme out")
    if not mtme and not human:
        raise UserError("there are no human scores", hint="Give them with --human FILE, or a folder with --mtme FOLDER")
    if not mtme and (alone := [option for option, value in with_mtme.items() if value]):
        raise UserError("this option needs a folder", where=alone[0], hint="Add --mtme FOLDER, or leave the option out")


def _without_human_score(
    excluded: Sequence[str], rated: Mapping[OutputKey, object], values: Scores,
    external_metrics: Sequence[ExternalMetricScores], texts: Dataset | None,
) -> list[str]:  # fmt: skip
    """Return the excluded systems that have no human scores. Raises `UserError` for one that no file has."""
    with_human = {key.system for key in rated}
    every = [*values.values(), *(e.values for e in external_metrics)]
    known = with_human.union(key.system for of_metric in every for key in of_metric)
    known |= set(texts.systems) if texts else set()
    if unknown := [name for name in excluded if name not in known]:
        raise UserError("no system has this name", where="--exclude", got=unknown[0], expected=", ".join(sorted(known)))
    return [name for name in dict.fromkeys(excluded) if name not in with_human]


def _with_system_scores(
    evaluation: Evaluation, system_scores: Sequence[GivenScores], human_file: Path | None, excluded: Sequence[str]
) -> tuple[Evaluation, list[str]]:
    """Return the evaluation with the rows of system scores as given, and notes on what they compare and leave out."""
    if not system_scores:
        return evaluation, []
    upload = file_at(human_file) if human_file else None
    human = {s: v for s, v in mtme_score.read_systems(upload).items() if v is not None} if upload else None
    rows = rows_as_given(evaluation.joined, system_scores, human)
    with_human = human.keys() if human is not None else set(evaluation.joined.systems)
    notes = [
        f"System scores as given are compared with {f'those of {upload.name}' if upload else 'the means of the human scores'}; "
        "all other values compare means of segment scores."
    ]
    for metric, values in system_scores:
        lacking = [s for s in evaluation.joined.systems if s not in values or s not in with_human]
        extra = [s for s in values if s not in evaluation.joined.systems and s not in excluded]
        notes += [f"{metric.label}, as given: no system score of {', '.join(lacking)}."] if lacking else []
        notes += (
            [f"{metric.label}, as given: left out, not among the rated outputs: {', '.join(extra)}."] if extra else []
        )
    return evaluation._replace(as_given=rows), notes


def _tested(evaluation: Evaluation) -> tuple[list[SignificanceMatrix], list[tuple[StatisticName, str]]]:
    """Test every pair of metrics under each statistic of the level; also return the statistics that cannot be tested, with the reason."""
    matrices: list[SignificanceMatrix] = []
    untested: list[tuple[StatisticName, str]] = []
    for statistic in STATISTICS[evaluation.choice.level]:
        if statistic == "soft_pairwise":
            untested.append((statistic, NO_TEST))
            continue
        try:
            pairs = comb(len(contenders(evaluation, statistic)), 2)
            shown = counted(f"tests under {LABELS[statistic]}", pairs)
            matrices.append(compare_metrics(evaluation, statistic, shown))
        except UserError as error:
            untested.append((statistic, str(error)))
    return matrices, untested


def read_scores(path: Path, lower: Sequence[str] = ()) -> tuple[list[ScoredMetric], Scores, int]:
    """Read a CSV that `score` wrote: metrics, values (negated if lower is better, NaN without a score), rows without a score.

    Raises `ImportProblems` with file, line and column.
    """
    upload = file_at(path)
    needed = [c for c in SCORE_COLUMNS if c not in ("status", "reason", "signature")]
    metrics: dict[str, ScoredMetric] = {}
    values: Scores = {}
    missing = 0
    for line, cells in human_scores.rows_of(upload, needed, "Use a CSV that `score` wrote"):
        metric = cells["metric"]
        if metric not in metrics:
            signed = cells.get("signature", "") or metric
            spec = registry.describe(metric, signed)
            turned = metric in lower or (spec is not None and not spec.higher_is_better)
            metrics[metric] = ScoredMetric(metric, spec.label if spec else metric, signed, turned=turned)
        of_metric = values.setdefault(metric, {})
        missing += is_absent(cells["score"])
        value = math.nan if is_absent(cells["score"]) else human_scores.scored(upload, line, "score", cells["score"])
        key = OutputKey(*(cells[c] for c in human_scores.KEY))
        if key in of_metric:
            raise human_scores.wrong_line(upload, line, "score", " / ".join(key), "one score per output and metric")
        of_metric[key] = -value if metrics[metric].turned else value
    if unknown := [name for name in lower if name not in metrics]:
        raise UserError("no metric has this name", where="--lower", got=unknown[0], expected=", ".join(metrics))
    return list(metrics.values()), values, missing
