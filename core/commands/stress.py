"""`stress`: run stress tests over files and write a report as HTML, JSON and CSV."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from core.commands.options import LARGEST_SEED, MANY, Columns, Files, Metrics, Workers, read_texts, split
from core.commands.progress import print_note, print_result, show_scoring
from core.data import Dataset
from core.errors import UserError, unknown
from core.formats import output
from core.formats.files import numbered_lines
from core.formats.load import read_upload
from core.formats.write import aligned
from core.metrics import registry as metrics_registry
from core.perturbations import registry
from core.perturbations.noise.base import Noise
from core.reports.stress_csv import as_csv
from core.reports.stress_html import as_html, summary
from core.robustness.stress.gold import gold_of, left_out, no_references
from core.robustness.stress.noised import GROUPS, expanded
from core.robustness.stress.report import VERDICT_NAMES, Report, as_json
from core.robustness.stress.run import StressTestRequest, checked
from core.robustness.stress.run import run as stress
from core.robustness.stress.score_log import ScoredLog, opened
from core.scoring.dataset import Memory
from core.scoring.pool import processes


def run(
    files: Files,
    metrics: Metrics = "rouge2,rougeL,chrf,bleu",
    tests: Annotated[
        str,
        typer.Option(
            help="tests or groups of tests (all, fluency, consistency, special), separated by commas; none to run only --inject"
        ),
    ] = "all",
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="number of random seeds per test")] = 5,
    seed: Annotated[
        int, typer.Option(min=0, max=LARGEST_SEED, help="first random seed, also that of the bootstrap")
    ] = 0,
    draws: Annotated[int, typer.Option(min=100, max=MANY, help="bootstrap draws over texts")] = 1000,
    gold: Annotated[
        str, typer.Option(help="good texts: “reference” (the first reference, compared with the others), or a system")
    ] = "reference",
    limit: Annotated[
        int | None, typer.Option(min=1, max=1_000_000_000, help="use only the first segments, up to this number")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="HTML report to write")] = None,
    json: Annotated[Path | None, typer.Option(help="complete report to write as JSON")] = None,
    csv: Annotated[Path | None, typer.Option(help="CSV to write: one row per test, metric and level")] = None,
    resume: Annotated[
        Path | None, typer.Option(help="log of scores to resume an interrupted run from; next to --json by default")
    ] = None,
    fail_on: Annotated[
        str, typer.Option(help="exit with status 1 if a metric fails one of these tests, separated by commas")
    ] = "",
    inject: Annotated[Path | None, typer.Option(help="file with your own texts to inject, one per line")] = None,
    workers: Workers = None,
    column: Columns = None,
) -> Report:
    """Run stress tests over the files, write the reports, print the verdicts, and return the report.

    A test in `fail_on` fails if its verdict is fail, or if it has no result because the metric failed with an error. Scores are
    logged next to the JSON file, or in `resume`, so that the same command continues an interrupted run. The log is removed when
    the reports are written, unless a metric failed on a text. Raises `UserError` for files or names that cannot be used, and `Exit` with
    status 1 if a test in `fail_on` fails.
    """
    written = [(path, write) for path, write in ((out, as_html), (json, as_json), (csv, as_csv)) if path is not None]
    if not written:
        raise UserError("no output file given", expected="one or more of --out, --json and --csv")
    log = resume or (json.with_name(json.name + ".scores.jsonl") if json else None)
    output.check(
        [*output.named("an input", *files), *output.named("--inject", inject)],
        [*output.named("--out", out), *output.named("--json", json), *output.named("--csv", csv),
         *output.named("--resume" if resume else "the log of scores", log)],
    )  # fmt: skip
    metric_names = split(metrics)
    names = expanded([] if tests.strip() == "none" else split(tests))
    if not metric_names or not (names or inject):
        known = metrics_registry.METRICS if not metric_names else ("all", *registry.NOISES)
        raise UserError(
            "no name given", where="--metrics" if not metric_names else "--tests", expected=", ".join(known)
        )
    asked = StressTestRequest(_names(files), gold, "", names, tuple(metric_names), seed, seeds, draws)
    checked(asked)
    noises = registry.noises(names) + ([own_injection(inject)] if inject else [])
    watched = _watched(split(fail_on), noises)
    specs = [metrics_registry.load(name).spec for name in metric_names]
    dataset = cut(read_texts(files, column), limit)
    golds = gold_of(dataset, gold)
    if error := no_references(dataset, gold, golds, specs):
        raise error
    asked = asked._replace(data=_data(files, dataset), left_out=left_out(dataset, gold))
    with opened(log) if log else nullcontext(Memory()) as cache:
        report = stress(golds, asked, cache, show_scoring, noises=noises, workers=processes(workers))
        output.write({path: write(report) for path, write in written})
        failed = {signature for (signature, _), value in cache.values.items() if value.status == "error"}
        if isinstance(cache, ScoredLog) and not failed:
            cache.remove()
    print_note(*report.notes)
    if log and failed:
        print_note(f"Some texts have no score. {log} is kept; run the same command again to retry them.")
    print_result(as_text(report))
    failing = _failing(report, watched, failed)
    print_note(*(f"failed: {line}" for line in failing))
    if failing:
        raise typer.Exit(1)
    return report


def _failing(report: Report, watched: set[str], failed: set[str]) -> list[str]:
    """Return why the run fails: the failed tests in `watched`, and those without a result because the metric failed with an error."""
    broken = {m.name for m in report.metrics if m.signature in failed}
    lost = [
        c for c in report.cells if c.test in watched and c.metric in broken and c.verdict == "untold" and c.undefined
    ]
    fails = report.failing(watched) if watched else []
    labels = {m.name: m.label for m in report.metrics}
    return [
        *(f"{labels[c.metric]} fails {c.test}: {c.why}" for c in fails),
        *(
            f"{labels[c.metric]} has no result for {c.test}, because it could not score some texts: {c.why}"
            for c in lost
        ),
    ]


def as_text(report: Report) -> str:
    """Return the verdicts as a table for a terminal: one row per test, one column per metric."""
    lines = [["", *(m.label for m in report.metrics)]]
    lines += [
        [t.name, *(VERDICT_NAMES[report.cell(t.name, m.name).verdict] for m in report.metrics)] for t in report.tests
    ]
    return "\n".join([*aligned(lines), summary(report)]) + "\n"


def own_injection(path: Path) -> Noise:
    """Return an injection test with the lines of a file, without blank ones. Raises `UserError`."""
    from core.perturbations.noise.injection import custom_injection

    lines = [line for _, line in numbered_lines(read_upload(path))]
    return custom_injection([line for line in lines if line.strip()])


def cut(dataset: Dataset, limit: int | None) -> Dataset:
    """Return the first `limit` segments of a dataset with their outputs; all without a limit."""
    if limit is None:
        return dataset
    segments = dataset.segments[:limit]
    kept = {s.key for s in segments}
    return replace(dataset, segments=segments, outputs=tuple(o for o in dataset.outputs if o.key.segment in kept))


def _watched(fail_on: Sequence[str], noises: Sequence[Noise]) -> set[str]:
    """Return the tests that decide the exit status, from names and groups; `injection` includes --inject.

    Raises `UserError` for a test that is not run.
    """
    there = [noise.name for noise in noises]
    found: set[str] = set()
    for name in fail_on:
        own = [n for n in there if name == "injection" and n.startswith("injection-")]
        if name not in (*there, *GROUPS) and not own:
            raise unknown("such test in this run", name, [*GROUPS, *there])
        found |= {name, *own} if name not in GROUPS else set(expanded([name]))
    return found & set(there)


def _names(files: Sequence[Path]) -> str:
    return ", ".join(path.name for path in files)


def _data(files: Sequence[Path], dataset: Dataset) -> str:
    return f"{_names(files)} ({len(dataset.segments)} segments, {len(dataset.outputs)} outputs of {len(dataset.systems)} systems)"
