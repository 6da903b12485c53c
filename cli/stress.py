"""`stress` and `attack`: stress tests, and a greedy attack on one metric (He et al. 2023)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer

from cli.options import (
    LARGEST_SEED,
    MANY,
    Columns,
    Files,
    Metrics,
    Workers,
    check_ending,
    decimal,
    print_note,
    print_result,
    read_texts,
    show_scoring,
    split,
    status,
)
from core.data import Dataset, Item, Output, Segment
from core.errors import UserError, unknown
from core.formats import output
from core.formats.files import file_at
from core.formats.streams.opened import numbered_lines
from core.formats.write import aligned, csv_text
from core.metrics import registry as metrics_registry
from core.metrics.base import Metric
from core.perturbations import registry
from core.perturbations.base import Noise
from core.processes.pool import processes
from core.progress import Progress
from core.reports.stress import as_csv, as_html, summary
from core.robustness.attack import BOUND, EXPECTED, NEAR, Attack, Shift, attack, compare, relative, signed
from core.robustness.stress.report import VERDICT_NAMES, Report, as_json
from core.robustness.stress.run import StressTestRequest, checked, run_stress_tests
from core.robustness.stress.score_log import ScoredLog, opened
from core.robustness.stress.texts import GROUPS, REFERENCE, Gold, expanded, gold_of, left_out, no_references
from core.scoring.dataset import for_dataset
from core.scoring.values import InMemoryScores


def stress_command(
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
    specs = [metrics_registry.load_metric(name).spec for name in metric_names]
    dataset = first_segments(read_texts(files, column), limit)
    golds = gold_of(dataset, gold)
    if error := no_references(dataset, gold, golds, specs):
        raise error
    asked = asked._replace(data=_data(files, dataset), left_out=left_out(dataset, gold))
    with opened(log) if log else nullcontext(InMemoryScores()) as cache:
        report = run_stress_tests(golds, asked, cache, show_scoring, noises=noises, workers=processes(workers))
        output.write_files({path: write(report) for path, write in written})
        failed = {
            signature
            for signature, values in cache.by_signature.items()
            if any(value.status == "error" for value in values.values())
        }
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
    fails = [c for c in report.failing() if c.test in watched]
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
    from core.perturbations.special import custom_injection

    lines = [line for _, line in numbered_lines(file_at(path))]
    return custom_injection([line for line in lines if line.strip()])


def first_segments(dataset: Dataset, limit: int | None) -> Dataset:
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
    computed = [noise.name for noise in noises]
    names: set[str] = set()
    for name in fail_on:
        own = [n for n in computed if name == "injection" and n.startswith("injection-")]
        if name not in (*computed, *GROUPS) and not own:
            raise unknown("such test in this run", name, [*GROUPS, *computed])
        names |= {name, *own} if name not in GROUPS else set(expanded([name]))
    return names & set(computed)


def _names(files: Sequence[Path]) -> str:
    return ", ".join(path.name for path in files)


def _data(files: Sequence[Path], dataset: Dataset) -> str:
    return f"{_names(files)} ({len(dataset.segments)} segments, {len(dataset.outputs)} outputs of {len(dataset.systems)} systems)"


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


def attack_command(
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
    target, *rest = metrics_registry.chosen([metric, *split(others)])
    dataset = read_texts(files, column)
    golds = gold_of(dataset, gold)[:limit]
    needs_reference = "reference" in target.spec.needs
    attacked = for_dataset(
        target,
        _dataset(g.item._replace(references=(g.item.hypothesis,) if needs_reference else ()) for g in golds),
    )
    name = signed(attacked, bound, expected, near)
    judges = [for_dataset(m, _dataset(g.item for g in golds)) for m in (target, *rest)]
    attacks: list[tuple[Gold, Attack, list[Shift]]] = []
    for i, one in enumerate(golds):
        progress = _progress(i, len(golds))
        made = attack(
            one.item.hypothesis, one.item.source, attacked, bound, expected=expected, near=near, progress=progress
        )
        attacks.append((one, made, compare(one.item, made.text, judges) if made.steps else []))
    if not any(made.steps for _, made, _ in attacks):
        raise UserError("no text could be attacked", got=next((made.reason for _, made, _ in attacks), ""))
    rows = [row for one, made, shifts in attacks for row in _attack_rows(one, made, shifts, attacked, name)]
    output.write_files({out: csv_text(AttackRow._fields, rows)})
    if error := no_references(dataset, gold, golds, [m.spec for m in rest]):
        print_note(f"note: {error}")
    print_note(*attack_summary(attacks, judges))
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


def _attack_rows(gold: Gold, made: Attack, shifts: Sequence[Shift], metric: Metric, name: str) -> Iterator[AttackRow]:
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


def attack_summary(attacks: Sequence[tuple[Gold, Attack, Sequence[Shift]]], metrics: Sequence[Metric]) -> list[str]:
    """Return one line per metric: the relative change of its mean score against the references (Figure 10).

    Means are over the texts of which the gold and the attacked version both have a score.
    """
    done = [(made, shifts) for _, made, shifts in attacks if made.steps]
    lines = [
        f"{len(done)} of {len(attacks)} texts attacked, mean noise ratio {np.mean([made.ratio for made, _ in done]):.3f}"
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
