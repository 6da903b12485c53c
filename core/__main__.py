"""The command line: `python -m core score | refine | mqm | convert | calibrate | evaluate | metrics | sensitivity | adversarial | stress | attack | ranges | reproduce | db`. Bad input ends with exit status 2 and one clear line."""

from __future__ import annotations

import logging
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from core.commands.progress import Progress
from core.errors import UserError
from core.formats.numbers import number, parse_lambda
from core.settings import offline, share_cores

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, help=__doc__)

SHOWN = 10

Files = Annotated[list[Path], typer.Argument(help="CSV, TSV, JSONL (also .gz), or line-aligned text files")]
Human = Annotated[
    Path,
    typer.Option(help="human scores: a CSV with system, doc_id, segment_id and score; outputs with scores; or labels"),
]
HumanScore = Annotated[
    str | None, typer.Option("--human-score", help="which human score, where the file has several; of labels: mqm")
]
Out = Annotated[Path, typer.Option(help="file to write")]
LARGEST_SEED = 2**32 - 1
MANY = 1_000_000


def _lambda(given: str | float) -> float:
    """Return λ as written on the command line, or by default: a number from 0, or `inf`."""
    found = parse_lambda(str(given))
    if found is None:
        raise typer.BadParameter(f"{str(given)[:40]!r} is not a number from 0 to 10¹⁵, or inf")
    return found


def _decimal(given: str | float) -> float:
    """Return a number as written on the command line, or by default."""
    found = number(str(given))
    if found is None:
        raise typer.BadParameter(f"{str(given)[:40]!r} is not a number")
    return found


class Variant(StrEnum):
    f = "f"
    precision = "precision"
    recall = "recall"
    faithfulness = "faithfulness"


class NonTranslation(StrEnum):
    overlap = "overlap"
    probability = "probability"
    off = "off"


class PromptSide(StrEnum):
    encoder = "encoder"
    decoder = "decoder"


class Measure(StrEnum):
    kendall = "kendall"
    acc_eq = "acc_eq"
    spearman = "spearman"
    pearson = "pearson"


class Group(StrEnum):
    pooled = "pooled"
    segment = "segment"
    system = "system"


class Level(StrEnum):
    segment = "segment"
    system = "system"


class Pairs(StrEnum):
    pooled = "pooled"
    segment = "segment"


class Unit(StrEnum):
    segment = "segment"
    document = "document"


class Table(StrEnum):
    smart_table1 = "smart-table1"
    summeval = "summeval"
    realsumm = "realsumm"
    qags = "qags"
    rank19 = "rank19"
    newsroom = "newsroom"


say = Progress()


@app.callback()
def common(
    quiet: Annotated[
        bool, typer.Option("--quiet", help="no progress on stderr; may also stand after the command")
    ] = False,
) -> None:
    if quiet:
        say.quiet = True


def notes(said: list[str]) -> None:
    """What was odd or left out, on the side; the first of it, and how much more there is."""
    for note in said[:SHOWN]:
        remark(f"note: {note}")
    if len(said) > SHOWN:
        remark(f"note: {len(said) - SHOWN} more of the kind")


def remark(line: str) -> None:
    """One sentence about the work, on stderr."""
    say(f"{line}\n")


def results(text: str) -> None:
    """Print what a command found on stdout, below all progress."""
    say.done()
    print(text.removesuffix("\n"))


@app.command()
def score(
    files: Files,
    out: Out,
    metrics: Annotated[
        str, typer.Option(help="metrics, separated by commas; with options: name|option:value (see `metrics`)")
    ] = "chrf,bartscore++",
    set_: Annotated[
        str | None, typer.Option("--set", help="instead, a metric of all outputs of a system at once: mauve")
    ] = None,
    reference: Annotated[
        list[str] | None, typer.Option(help="system whose outputs are references too, as in MQM files; repeatable")
    ] = None,
) -> None:
    """Score outputs: one row an output and metric, with its signature, status and reason."""
    if set_ is not None:
        from core.commands.set_score import set_score

        return set_score(files, set_, out, say)
    from core.commands.score import score as run

    run(files, [name.strip() for name in metrics.split(",") if name.strip()], out, say, references=reference or ())


@app.command()
def refine(
    files: Files,
    out: Out,
    variant: Annotated[Variant, typer.Option(help="BARTScore direction")] = Variant.f,
    k: Annotated[str | None, typer.Option(help="most probable tokens tried at the worst place; default 10")] = None,
    rounds: Annotated[str | None, typer.Option(help="edits at most, a number or half; default half")] = None,
    edits: Annotated[
        str | None, typer.Option(help="kinds of edit, joined by +; default insert+delete+substitute")
    ] = None,
    non_translation: Annotated[
        NonTranslation | None, typer.Option(help="test before refining; default overlap")
    ] = None,
    prompt: Annotated[
        list[str] | None, typer.Option(help="phrase that enters the three scores; may be repeated, the mean counts")
    ] = None,
    prompts: Annotated[
        str | None, typer.Option(help="a list of phrases: FILE:LIST, or the name of a list of ERRORSCOPE_PROMPTS or mt")
    ] = None,
    side: Annotated[PromptSide | None, typer.Option(help="where prompts are put; default encoder")] = None,
) -> None:
    """Refine outputs with BARTScore++: the refined text, its trace, and the two distances λ weighs."""
    from core.commands.score import phrases
    from core.commands.score import refine as run
    from core.refine.prompts import file_in

    given = {
        "k": k, "rounds": rounds, "edits": edits, "nt": non_translation and non_translation.value,
        "prompt": phrases(prompt or [], prompts), "side": side and side.value,
    }  # fmt: skip
    options = {name: value for name, value in given.items() if value}
    run(files, variant.value, options, out, say, prompts_file=file_in(prompts) if prompts else None)


@app.command()
def mqm(
    file: Annotated[Path, typer.Argument(help="Google's MQM TSV, also .gz")],
    out: Out,
    scheme: Annotated[str, typer.Option(help="weight scheme: google, marot, flat")] = "google",
    by: Annotated[str | None, typer.Option(help="“system” for system means; segment scores without it")] = None,
) -> None:
    """MQM scores from labels: −(sum of weights a rater, mean over raters)."""
    from core.commands.mqm import run

    notes(run(file, scheme, by, out))


@app.command()
def convert(
    labels: Annotated[list[Path], typer.Argument(help="files of labels, in a format of docs/formats.md (also .gz)")],
    to: Annotated[str, typer.Option(help="google, marot, mtme, mtme-jsonl, esa, label-studio, mtme-score")],
    out: Out,
    source: Annotated[str | None, typer.Option("--from", help="format of the files; told from their content")] = None,
    texts: Annotated[list[Path] | None, typer.Option(help="the outputs, for formats without texts; repeatable")] = None,
    severity: Annotated[list[str] | None, typer.Option(help="rename one: critical=Major; repeatable")] = None,
    score: Annotated[str | None, typer.Option(help="a human score to write as .seg.score, not the labels")] = None,
) -> None:
    """Labels of one tool for another: Google MQM, Marot, mt-metrics-eval, ESA, Label Studio; says what does not come along."""
    from core.commands.convert import run

    notes(run(labels, to, out, texts or (), source, severity or (), score))


@app.command()
def calibrate(
    refined: Annotated[Path, typer.Argument(help="what `refine` wrote")],
    human: Human,
    out: Out,
    human_score: HumanScore = None,
    measure: Annotated[Measure, typer.Option(help="agreement to maximise")] = Measure.kendall,
    group: Annotated[Group, typer.Option(help="pairs within what")] = Group.pooled,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="of the bootstrap and the folds")] = 0,
) -> None:
    """Find the λ that agrees best with people: optimum, plateau, interval, cross-validated agreement, and whether it beats λ = 1."""
    from core.commands.calibrate import run

    run(refined, human, measure.value, group.value, out, seed, human_score=human_score, say=remark, progress=say)


@app.command()
def evaluate(
    human: Human,
    out: Annotated[Path, typer.Option(help="file to write: .csv, .json, .tex or .html")],
    human_score: HumanScore = None,
    scores: Annotated[Path | None, typer.Argument(help="what `score` wrote, as CSV")] = None,
    external: Annotated[
        list[str] | None, typer.Option(help="NAME=FILE, a metric computed elsewhere: .seg.score, or CSV; repeatable")
    ] = None,
    level: Annotated[Level, typer.Option(help="single outputs, or system means")] = Level.segment,
    group: Annotated[Pairs, typer.Option(help="pairs within what, at segment level")] = Pairs.pooled,
    unit: Annotated[Unit, typer.Option(help="what the bootstrap resamples")] = Unit.segment,
    exclude: Annotated[list[str] | None, typer.Option(help="system left out, such as a human one; repeatable")] = None,
    lower: Annotated[list[str] | None, typer.Option(help="metric of which lower is better; repeatable")] = None,
    outputs: Annotated[list[Path] | None, typer.Option(help="the texts, for sentinels; repeatable")] = None,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="of the bootstrap and the permutations")] = 0,
    tests: Annotated[bool, typer.Option("--tests", help="test every pair of metrics, with Holm's correction")] = False,
) -> None:
    """Compare metrics with human scores: agreement with intervals, beside sentinels that know nothing of quality."""
    from core.commands.evaluate import run

    run(
        scores, human, out, external=external or (), level=level.value, group=group.value, unit=unit.value,
        exclude=exclude or (), lower=lower or (), outputs=outputs or (), seed=seed, tests=tests,
        human_score=human_score, say=remark, progress=say,
    )  # fmt: skip


@app.command()
def metrics() -> None:
    """List every metric with what it needs, and every option with its default and what may be written."""
    from core.commands.metrics import table

    results(table())


@app.command()
def sensitivity(
    pairs: Annotated[list[Path], typer.Argument(help="pairs of a good and a perturbed output: CSV, TSV, JSONL, JSON")],
    out: Out,
    metrics: Annotated[str, typer.Option(help="metric names, separated by commas")] = "chrf,bartscore++",
    lam: Annotated[float, typer.Option("--lambda", parser=_lambda, help="λ of BARTScore++, 0 to inf")] = 1.0,
    empty: Annotated[str, typer.Option(help="the output that says nothing; DEMETR takes a full stop")] = "",
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="of the bootstrap")] = 0,
) -> None:
    """Sensitivity of metrics to errors: z and the share of pairs ranked right, by type of error, with intervals."""
    from core.commands.sensitivity import run

    run(pairs, [n.strip() for n in metrics.split(",") if n.strip()], out, say, lam=lam, empty=empty, seed=seed)


@app.command()
def adversarial(
    cases: Annotated[list[Path], typer.Argument(help="MENLI's CSV (also .gz), or pairs as `sensitivity` reads them")],
    out: Annotated[Path, typer.Option(help="file to write: .csv, .json or .html")],
    metrics: Annotated[str, typer.Option(help="metric names, separated by commas")] = "chrf,bleu,rouge1",
    reference_free: Annotated[
        bool, typer.Option("--reference-free", help="the anchor is the source; right is the reference")
    ] = False,
    fixed: Annotated[bool, typer.Option("--fixed", help="MENLI's later columns with blanks and case mended")] = False,
    failures: Annotated[
        int, typer.Option(min=0, max=MANY, help="cases listed a metric and phenomenon (JSON, HTML)")
    ] = 3,
    solved_by: Annotated[str, typer.Option(help="list only failures that this metric gets right")] = "",
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="of the bootstrap")] = 0,
) -> None:
    """How often metrics prefer the right text over one with an error (MENLI), by phenomenon, with intervals."""
    from core.commands.adversarial import run
    from core.services.adversarial_report import text

    rows = run(
        cases, [n.strip() for n in metrics.split(",") if n.strip()], out, say,
        reference_free=reference_free, fixed=fixed, each=failures, solved_by=solved_by, seed=seed,
    )  # fmt: skip
    results(text(rows))


@app.command()
def stress(
    files: Files,
    metrics: Annotated[str, typer.Option(help="metric names, separated by commas")] = "rouge2,rougeL,chrf,bleu",
    tests: Annotated[
        str, typer.Option(help="tests, or all, fluency, consistency, special; with commas; none with --inject")
    ] = "all",
    seeds: Annotated[int, typer.Option(min=1, max=1000, help="how often each test is drawn anew")] = 5,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="the first seed, also of the bootstrap")] = 0,
    draws: Annotated[int, typer.Option(min=100, max=MANY, help="of the bootstrap over texts")] = 1000,
    gold: Annotated[
        str, typer.Option(help="“reference”, the first one held against the others, or a system")
    ] = "reference",
    limit: Annotated[
        int | None, typer.Option(min=1, max=1_000_000_000, help="segments at most, the first ones")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="the report as HTML")] = None,
    json: Annotated[Path | None, typer.Option(help="the report as JSON, all of it")] = None,
    csv: Annotated[Path | None, typer.Option(help="the figures as CSV, a row a test, metric and level")] = None,
    resume: Annotated[
        Path | None, typer.Option(help="log of scores a stopped run goes on from; beside --json without it")
    ] = None,
    fail_on: Annotated[str, typer.Option(help="exit with 1 when a metric fails one of these tests; with commas")] = "",
    inject: Annotated[Path | None, typer.Option(help="injections of your own, a text a line")] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1024,
            help="processes that make texts and score without models; default: the processors this one may use",
        ),
    ] = None,
) -> None:
    """Put noise of many kinds into good texts and see whether metrics notice (He et al. 2023): verdicts, curves, examples."""
    from core.commands.stress import run, text

    report, failing = run(
        files, _listed(metrics), _listed(tests), say, out=out, json=json, csv=csv, gold=gold, seeds=seeds, seed=seed, draws=draws,
        limit=limit, resume=resume, fail_on=_listed(fail_on), inject=inject, workers=workers,
    )  # fmt: skip
    results(text(report))
    for line in failing:
        remark(f"failed: {line}")
    if failing:
        raise typer.Exit(1)


def _listed(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]


@app.command()
def attack(
    files: Files,
    out: Annotated[Path, typer.Option(help="file to write, .csv")],
    metric: Annotated[str, typer.Option(help="the metric that is attacked")] = "bertscore",
    others: Annotated[str, typer.Option(help="metrics that judge the result, separated by commas")] = "chrf,bleu",
    gold: Annotated[str, typer.Option(help="“reference”, the first one of each segment, or a system")] = "reference",
    bound: Annotated[float, typer.Option(parser=_decimal, help="noise ratio to reach, above 0, at most 1")] = 0.15,
    limit: Annotated[int, typer.Option(min=1, max=1_000_000_000, help="texts at most, the first ones")] = 10,
    expected: Annotated[
        int, typer.Option(min=0, max=1000, help="candidates a word that a language model expects there")
    ] = 8,
    near: Annotated[
        int, typer.Option(min=0, max=1000, help="candidates a word that are near it among input embeddings")
    ] = 8,
) -> None:
    """Wear good texts down, word by word, so that a metric notices least (He et al. 2023, appendix J); other metrics judge."""
    from core.commands.attack import run

    judges = [name.strip() for name in others.split(",") if name.strip()]
    run(files, metric, out, say, others=judges, gold=gold, bound=bound, limit=limit, expected=expected, near=near)


@app.command()
def ranges(
    scores: Annotated[list[Path], typer.Argument(help="what `score` wrote, as CSV")],
    out: Annotated[Path | None, typer.Option(help="file to write; without it the ranges of this installation")] = None,
) -> None:
    """Store from where to where scores go, so that `menli` can combine metrics on one scale."""
    from core.commands.ranges import run

    for signature, found in run(scores, out).items():
        results(f"{found.words}  n = {found.n}  {signature}")


@app.command()
def reproduce(
    table: Annotated[Table, typer.Argument(help="which published table")],
    data: Annotated[Path, typer.Option(help="the data set: SummEval (docs/smart.md), or another (docs/reproduce.md)")],
) -> None:
    """Compute a published table anew: the paper's figures, ours, and the difference."""
    from core.commands.reproduce import smart_table1
    from core.commands.reproduce_summeval import summeval_strings
    from core.commands.reproduce_sums import TABLES, summaries

    if table in TABLES:
        results(summaries(table.value, data, say))
    else:
        results({Table.smart_table1: smart_table1, Table.summeval: summeval_strings}[table](data, say))


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []})
def db(context: typer.Context) -> None:
    """Work on the database itself: `db backup FILE` copies it, also while Errorscope runs; `db backup --help` says more."""
    from core.commands.db import run

    say.done()  # that process prints by itself
    raise typer.Exit(run(context.args))


def main() -> None:
    offline()
    share_cores()
    logging.getLogger("core").addHandler(logging.NullHandler())
    arguments = sys.argv[1:]
    if "--quiet" in arguments:
        say.quiet = True
        arguments = [argument for argument in arguments if argument != "--quiet"]
    command = next((argument for argument in arguments if not argument.startswith("-")), "")
    try:
        with say.running(command):
            app(arguments, prog_name="python -m core")
    except UserError as error:
        print(f"error: {error}".replace("\n", " "), file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        print(
            f"error: {error.filename or ''}: {error.strerror}. Check the path and your rights to it.", file=sys.stderr
        )
        sys.exit(2)


if __name__ == "__main__":
    main()
