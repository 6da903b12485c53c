"""`stress`: noised gold texts, what metrics make of them, and a report as HTML, JSON and CSV."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from core.commands.score import Say
from core.data import Dataset
from core.errors import UserError, unknown
from core.formats import output
from core.formats.files import numbered_lines
from core.formats.load import load, read_upload
from core.metrics import registry as metrics_registry
from core.services.lab.gold import gold_of, left_out, no_references
from core.services.lab.html import as_html, summary
from core.services.lab.noised import GROUPS, expanded
from core.services.lab.pool import cores
from core.services.lab.report import Report, as_json
from core.services.lab.run import Asked, checked
from core.services.lab.run import run as stress
from core.services.lab.scored_log import ScoredLog, opened
from core.services.lab.table import as_csv
from core.services.scoring import Doing, Memory
from core.stress import registry
from core.stress.noise.base import Noise


def run(
    files: Sequence[Path],
    metrics: Sequence[str],
    tests: Sequence[str],
    say: Say,
    *,
    out: Path | None = None,
    json: Path | None = None,
    csv: Path | None = None,
    gold: str = "reference",
    seeds: int = 5,
    seed: int = 0,
    draws: int = 1000,
    limit: int | None = None,
    resume: Path | None = None,
    fail_on: Sequence[str] = (),
    inject: Path | None = None,
    workers: int | None = None,
) -> tuple[Report, list[str]]:
    """Run the stress test over the files and write the reports asked for; also which cells of `fail_on` fail, or are
    untold because their metric broke, a sentence each.

    Scores are logged beside the JSON, or where `resume` says, until the reports are written and no metric broke on a text: the
    same command goes on where one was stopped. Raises UserError for files, names or numbers that cannot be used.
    """
    written = [(path, write) for path, write in ((out, as_html), (json, as_json), (csv, as_csv)) if path is not None]
    if not written:
        raise UserError("nothing would be written", expected="one or more of --out, --json and --csv")
    log = resume or (json.with_name(json.name + ".scores.jsonl") if json else None)
    output.check(
        [*output.named("an input", *files), *output.named("--inject", inject)],
        [*output.named("--out", out), *output.named("--json", json), *output.named("--csv", csv),
         *output.named("--resume" if resume else "the log of scores", log)],
    )  # fmt: skip
    if list(tests) == ["none"]:
        tests = []
    if not metrics or not (tests or inject):
        known = metrics_registry.METRICS if not metrics else ("all", *registry.NOISES)
        raise UserError("nothing was named", where="--metrics" if not metrics else "--tests", expected=", ".join(known))
    names = expanded(tests)
    asked = Asked(_names(files), gold, "", names, tuple(metrics), seed, seeds, draws)
    checked(asked)
    noises = registry.noises(names) + ([own_injection(inject)] if inject else [])
    watched = _watched(fail_on, noises)
    specs = [metrics_registry.load(name).spec for name in metrics]
    dataset = cut(load(files), limit)
    golds = gold_of(dataset, gold)
    if error := no_references(dataset, gold, golds, specs):
        raise error
    asked = asked._replace(data=_data(files, dataset), left_out=left_out(dataset, gold))

    def tell(doing: Doing) -> bool:
        say(doing.sentence())
        return True

    with opened(log) if log else nullcontext(Memory()) as cache:
        report = stress(golds, asked, cache, tell, noises=noises, workers=workers or cores())
        output.write({path: write(report) for path, write in written})
        failed = {signature for (signature, _), value in cache.values.items() if value.status == "error"}
        if isinstance(cache, ScoredLog) and not failed:
            cache.remove()
    for note in report.notes:
        say(f"{note}\n")
    if log and failed:
        say(f"Texts were not scored: {log} is kept, and the same command tries them again.\n")
    return report, _failing(report, watched, failed)


def _failing(report: Report, watched: set[str], failed: set[str]) -> list[str]:
    """Why the build fails: the verdict of a cell, or that there is none because its metric broke."""
    broken = {m.name for m in report.metrics if m.signature in failed}
    lost = [
        c for c in report.cells if c.test in watched and c.metric in broken and c.verdict == "untold" and c.undefined
    ]
    fails = report.failing(watched) if watched else []
    return [
        *(f"{c.metric} fails {c.test}: {c.why}" for c in fails),
        *(f"{c.metric} could not be judged under {c.test}, since it broke on texts: {c.why}" for c in lost),
    ]


def text(report: Report) -> str:
    """The catalogue for a terminal: tests down, metrics across."""
    lines = [["", *(m.name for m in report.metrics)]]
    lines += [[t.name, *(report.cell(t.name, m.name).verdict for m in report.metrics)] for t in report.tests]
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    rows = ("  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines)
    return "\n".join([*rows, summary(report)]) + "\n"


def own_injection(path: Path) -> Noise:
    """An injection test with the lines of a file, blank ones left out. Raises UserError."""
    from core.stress.noise.injection import own

    lines = [line for _, line in numbered_lines(read_upload(path))]
    return own([line for line in lines if line.strip()])


def cut(dataset: Dataset, limit: int | None) -> Dataset:
    """The first segments of a dataset, with their outputs."""
    if limit is None:
        return dataset
    segments = dataset.segments[:limit]
    kept = {s.key for s in segments}
    return replace(dataset, segments=segments, outputs=tuple(o for o in dataset.outputs if o.key.segment in kept))


def _watched(fail_on: Sequence[str], noises: Sequence[Noise]) -> set[str]:
    """The tests that decide the exit status, by name or group; `injection` means one's own too. Raises UserError for a test that is
    not run."""
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
