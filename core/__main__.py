"""Score, refine, calibrate and evaluate from the command line, without a database. Invalid input ends with exit status 2 and one line that says what to fix."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from core.commands.progress import StatusLine
from core.errors import UserError
from core.formats.parsing.numbers import number, parse_lambda
from core.settings import offline, share_cores

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, help=__doc__)

SHOWN = 10

Files = Annotated[list[Path], typer.Argument(help="CSV, TSV or JSONL files (also .gz), or line-aligned text files")]
Human = Annotated[
    Path,
    typer.Option(
        help="file with human scores: a CSV with system, doc_id, segment_id and score; outputs with scores; or labels"
    ),
]
HumanScore = Annotated[
    str | None,
    typer.Option("--human-score", help="name of the human score to use if the file has several; mqm for labels"),
]
Out = Annotated[Path, typer.Option(help="file to write")]
Table = Literal["smart-table1", "summeval", "realsumm", "qags", "rank19", "newsroom"]
LARGEST_SEED = 2**32 - 1
MANY = 1_000_000


def _lambda(given: str | float) -> float:
    """Return the λ that was given: a number from 0, or `inf`."""
    found = parse_lambda(str(given))
    if found is None:
        raise typer.BadParameter(f"{str(given)[:40]!r} is not a number from 0 to 10¹⁵, or inf")
    return found


def _decimal(given: str | float) -> float:
    """Return the number that was given."""
    found = number(str(given))
    if found is None:
        raise typer.BadParameter(f"{str(given)[:40]!r} is not a number")
    return found


status = StatusLine()


@app.callback()
def common(
    quiet: Annotated[
        bool, typer.Option("--quiet", help="print no progress on stderr; also accepted after the command")
    ] = False,
) -> None:
    if quiet:
        status.quiet = True


def print_notes(notes: list[str]) -> None:
    """Print the first `SHOWN` notes on stderr, and the number of the others."""
    for note in notes[:SHOWN]:
        print_note(f"note: {note}")
    if len(notes) > SHOWN:
        print_note(f"note: {len(notes) - SHOWN} more notes like these")


def print_note(line: str) -> None:
    """Print a line on stderr without disturbing the progress line."""
    status(f"{line}\n")


def print_result(text: str) -> None:
    """Remove the progress line, then print a result on stdout."""
    status.done()
    print(text.removesuffix("\n"))


@app.command()
def score(
    files: Files,
    out: Out,
    metrics: Annotated[
        str, typer.Option(help="metrics, separated by commas; options as name|option:value (see `metrics`)")
    ] = "chrf,bartscore++",
    set_: Annotated[
        str | None, typer.Option("--set", help="score each system as a whole with this metric instead: mauve")
    ] = None,
    reference: Annotated[
        list[str] | None,
        typer.Option(help="system whose outputs also serve as references, as in MQM files; repeatable"),
    ] = None,
) -> None:
    """Score outputs: one row per output and metric, with signature, status and reason."""
    if set_ is not None:
        from core.commands.set_score import set_score

        return set_score(files, set_, out, status)
    from core.commands.score import score as run

    run(files, _split(metrics), out, status, references=reference or ())


@app.command()
def refine(
    files: Files,
    out: Out,
    variant: Annotated[
        Literal["f", "precision", "recall", "faithfulness"], typer.Option(help="direction of BARTScore")
    ] = "f",
    k: Annotated[
        str | None, typer.Option(help="number of candidate tokens tried at the worst position; default 10")
    ] = None,
    rounds: Annotated[
        str | None,
        typer.Option(help="maximum number of edits: a number, or half (the number of tokens / 2); default half"),
    ] = None,
    edits: Annotated[
        str | None, typer.Option(help="edit operations, joined by +; default insert+delete+substitute")
    ] = None,
    non_translation: Annotated[
        Literal["overlap", "probability", "off"] | None,
        typer.Option(help="how to detect outputs that are no translation, which are not refined; default overlap"),
    ] = None,
    prompt: Annotated[
        list[str] | None,
        typer.Option(help="prompt phrase for the three scores; repeatable, scores are averaged over prompts"),
    ] = None,
    prompts: Annotated[
        str | None, typer.Option(help="list of prompt phrases: FILE:LIST, a list in ERRORSCOPE_PROMPTS, or mt")
    ] = None,
    side: Annotated[
        Literal["encoder", "decoder"] | None, typer.Option(help="where prompts are added; default encoder")
    ] = None,
) -> None:
    """Refine outputs with BARTScore++ and write the refined text, its edits, and the explicit and implicit distances that λ weighs."""
    from core.commands.score import phrases
    from core.commands.score import refine as run
    from core.refine.prompts import file_in

    given = {
        "k": k, "rounds": rounds, "edits": edits, "nt": non_translation,
        "prompt": phrases(prompt or [], prompts), "side": side,
    }  # fmt: skip
    options = {name: value for name, value in given.items() if value}
    run(files, variant, options, out, status, prompts_file=file_in(prompts) if prompts else None)


@app.command()
def mqm(
    file: Annotated[Path, typer.Argument(help="MQM labels in Google's TSV format, also .gz")],
    out: Out,
    scheme: Annotated[
        Literal["google", "marot", "flat"],
        typer.Option(case_sensitive=False, help="weights of severities and categories"),
    ] = "google",
    by: Annotated[
        Literal["segment", "system"], typer.Option(help="write scores per segment, or means per system")
    ] = "segment",
) -> None:
    """Compute MQM scores from labels: minus the sum of error weights, averaged over raters. Higher is better, 0 is best."""
    from core.commands.mqm import run

    print_notes(run(file, scheme, by, out))


@app.command()
def convert(
    labels: Annotated[list[Path], typer.Argument(help="label files in a format of docs/formats.md (also .gz)")],
    to: Annotated[
        str, typer.Option(help="output format: google, marot, mtme, mtme-jsonl, esa, label-studio or mtme-score")
    ],
    out: Out,
    source: Annotated[
        str | None, typer.Option("--from", help="input format; detected from the content by default")
    ] = None,
    texts: Annotated[
        list[Path] | None, typer.Option(help="file with the outputs, for label formats without texts; repeatable")
    ] = None,
    severity: Annotated[
        list[str] | None, typer.Option(help="rename a severity, such as critical=Major; repeatable")
    ] = None,
    score: Annotated[str | None, typer.Option(help="human score to write as .seg.score instead of the labels")] = None,
) -> None:
    """Convert labels between Google MQM, Marot, mt-metrics-eval, ESA and Label Studio, and report what the output format cannot hold."""
    from core.commands.convert import run

    print_notes(run(labels, to, out, texts or (), source, severity or (), score))


@app.command()
def calibrate(
    refined: Annotated[Path, typer.Argument(help="file that `refine` wrote")],
    human: Human,
    out: Out,
    human_score: HumanScore = None,
    measure: Annotated[
        Literal["kendall", "acc_eq", "spearman", "pearson"], typer.Option(help="agreement to maximise")
    ] = "kendall",
    group: Annotated[
        Literal["pooled", "segment", "system"],
        typer.Option(help="which outputs are compared: all, those of the same segment, or system means"),
    ] = "pooled",
    seed: Annotated[
        int, typer.Option(min=0, max=LARGEST_SEED, help="random seed of the bootstrap and the cross-validation folds")
    ] = 0,
) -> None:
    """Find the λ with the highest agreement with human scores: optimum, plateau, 95 % CI, cross-validated agreement, and a comparison with λ = 1."""
    from core.commands.calibrate import run

    run(refined, human, measure, group, out, seed, human_score=human_score, echo=print_note, status=status)


@app.command()
def evaluate(
    human: Human,
    out: Annotated[Path, typer.Option(help="file to write: .csv, .json, .tex or .html")],
    human_score: HumanScore = None,
    scores: Annotated[Path | None, typer.Argument(help="CSV that `score` wrote")] = None,
    external: Annotated[
        list[str] | None, typer.Option(help="external scores as NAME=FILE: .seg.score or CSV; repeatable")
    ] = None,
    level: Annotated[
        Literal["segment", "system"], typer.Option(help="compare single outputs, or system means")
    ] = "segment",
    group: Annotated[
        Literal["pooled", "segment"],
        typer.Option(help="which outputs are compared at segment level: all, or those of the same segment"),
    ] = "pooled",
    unit: Annotated[Literal["segment", "document"], typer.Option(help="unit that the bootstrap resamples")] = "segment",
    exclude: Annotated[
        list[str] | None, typer.Option(help="system to leave out, such as a human reference; repeatable")
    ] = None,
    lower: Annotated[list[str] | None, typer.Option(help="metric for which lower is better; repeatable")] = None,
    outputs: Annotated[
        list[Path] | None, typer.Option(help="file with the outputs, needed for the baselines; repeatable")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=LARGEST_SEED, help="random seed of the bootstrap and the permutation tests")
    ] = 0,
    tests: Annotated[
        bool, typer.Option("--tests", help="test the difference of every pair of metrics, with Holm's correction")
    ] = False,
) -> None:
    """Compare metrics with human scores: agreement with 95 % CIs, and trivial baselines for comparison."""
    from core.commands.evaluate import run

    run(
        scores, human, out, external=external or (), level=level, group=group, unit=unit,
        exclude=exclude or (), lower=lower or (), outputs=outputs or (), seed=seed, tests=tests,
        human_score=human_score, echo=print_note, status=status,
    )  # fmt: skip


@app.command()
def metrics() -> None:
    """List all metrics with their requirements, and all options with defaults and allowed values."""
    from core.commands.metrics import table

    print_result(table())


@app.command()
def sensitivity(
    pairs: Annotated[
        list[Path], typer.Argument(help="pairs of a good and a perturbed output: CSV, TSV, JSONL or JSON")
    ],
    out: Out,
    metrics: Annotated[str, typer.Option(help="metric names, separated by commas")] = "chrf,bartscore++",
    lam: Annotated[float, typer.Option("--lambda", parser=_lambda, help="λ of BARTScore++, 0 to inf")] = 1.0,
    empty: Annotated[str, typer.Option(help="text used as the empty output; DEMETR uses a full stop")] = "",
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="random seed of the bootstrap")] = 0,
) -> None:
    """Measure how sensitive metrics are to errors: z and the share of correctly ranked pairs per error type, with 95 % CIs."""
    from core.commands.sensitivity import run

    run(pairs, _split(metrics), out, status, lam=lam, empty=empty, seed=seed)


@app.command()
def adversarial(
    cases: Annotated[list[Path], typer.Argument(help="MENLI's CSV (also .gz), or pairs as `sensitivity` reads them")],
    out: Annotated[Path, typer.Option(help="file to write: .csv, .json or .html")],
    metrics: Annotated[str, typer.Option(help="metric names, separated by commas")] = "chrf,bleu,rouge1",
    reference_free: Annotated[
        bool, typer.Option("--reference-free", help="compare with the source, with the reference as the good text")
    ] = False,
    fixed: Annotated[
        bool, typer.Option("--fixed", help="use MENLI's later columns, in which spacing and case are fixed")
    ] = False,
    failures: Annotated[
        int, typer.Option(min=0, max=MANY, help="failures listed per metric and phenomenon (JSON, HTML)")
    ] = 3,
    solved_by: Annotated[str, typer.Option(help="list only failures that this metric ranks correctly")] = "",
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="random seed of the bootstrap")] = 0,
) -> None:
    """Measure how often metrics prefer the good text to one with an error (MENLI), per phenomenon, with 95 % CIs."""
    from core.commands.adversarial import run
    from core.reports.adversarial import as_text

    rows = run(
        cases, _split(metrics), out, status,
        reference_free=reference_free, fixed=fixed, each=failures, solved_by=solved_by, seed=seed,
    )  # fmt: skip
    print_result(as_text(rows))


@app.command()
def stress(
    files: Files,
    metrics: Annotated[str, typer.Option(help="metric names, separated by commas")] = "rouge2,rougeL,chrf,bleu",
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
        str, typer.Option(help="gold texts: “reference” (the first reference, compared with the others), or a system")
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
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1024,
            help="number of processes that perturb texts and score without models; default: the available processors",
        ),
    ] = None,
) -> None:
    """Run stress tests: perturb gold texts and check whether metrics score them lower (He et al. 2023). Writes verdicts, curves and examples."""
    from core.commands.stress import as_text, run

    report, failing = run(
        files, _split(metrics), _split(tests), status, out=out, json=json, csv=csv, gold=gold, seeds=seeds, seed=seed, draws=draws,
        limit=limit, resume=resume, fail_on=_split(fail_on), inject=inject, workers=workers,
    )  # fmt: skip
    print_result(as_text(report))
    for line in failing:
        print_note(f"failed: {line}")
    if failing:
        raise typer.Exit(1)


def _split(names: str) -> list[str]:
    """Return the names in a list separated by commas."""
    return [name.strip() for name in names.split(",") if name.strip()]


@app.command()
def attack(
    files: Files,
    out: Annotated[Path, typer.Option(help="file to write, .csv")],
    metric: Annotated[str, typer.Option(help="metric to attack")] = "bertscore",
    others: Annotated[str, typer.Option(help="other metrics that score the result, separated by commas")] = "chrf,bleu",
    gold: Annotated[
        str, typer.Option(help="gold texts: “reference” (the first reference of each segment), or a system")
    ] = "reference",
    bound: Annotated[
        float, typer.Option(parser=_decimal, help="noise ratio at which to stop, above 0 and at most 1")
    ] = 0.15,
    limit: Annotated[
        int, typer.Option(min=1, max=1_000_000_000, help="attack only the first texts, up to this number")
    ] = 10,
    expected: Annotated[
        int, typer.Option(min=0, max=1000, help="candidates per word from the masked language model")
    ] = 8,
    near: Annotated[
        int, typer.Option(min=0, max=1000, help="candidates per word from its nearest input embeddings")
    ] = 8,
) -> None:
    """Attack a metric: degrade gold texts word by word so that its score changes least, and score the result with other metrics (He et al. 2023, appendix J)."""
    from core.commands.attack import run

    run(
        files,
        metric,
        out,
        status,
        others=_split(others),
        gold=gold,
        bound=bound,
        limit=limit,
        expected=expected,
        near=near,
    )


@app.command()
def ranges(
    scores: Annotated[list[Path], typer.Argument(help="CSV files that `score` wrote")],
    out: Annotated[Path | None, typer.Option(help="file to write; the ranges of this installation by default")] = None,
) -> None:
    """Store the range of each metric's scores, so that `menli` can combine metrics on one scale."""
    from core.commands.ranges import run

    for signature, found in run(scores, out).items():
        print_result(f"{found.words}  n = {found.n}  {signature}")


@app.command()
def reproduce(
    table: Annotated[Table, typer.Argument(help="published table to reproduce")],
    data: Annotated[
        Path, typer.Option(help="file of the data set: SummEval (docs/smart.md) or another (docs/reproduce.md)")
    ],
) -> None:
    """Recompute a published table and compare it with the figures of the paper."""
    from core.commands.reproduce import smart_table1
    from core.commands.reproduce_summeval import summeval_strings
    from core.commands.reproduce_sums import TABLES, summaries

    if table in TABLES:
        print_result(summaries(table, data, status))
    else:
        print_result({"smart-table1": smart_table1, "summeval": summeval_strings}[table](data, status))


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []})
def db(context: typer.Context) -> None:
    """Manage the database: `db backup FILE` copies it, even while Errorscope runs. See `db backup --help`."""
    from core.commands.db import run

    status.done()  # the database program prints its own output
    raise typer.Exit(run(context.args))


def main() -> None:
    offline()
    share_cores()
    logging.getLogger("core").addHandler(logging.NullHandler())
    arguments = sys.argv[1:]
    if "--quiet" in arguments:
        status.quiet = True
        arguments = [argument for argument in arguments if argument != "--quiet"]
    command = next((argument for argument in arguments if not argument.startswith("-")), "")
    try:
        with status.running(command):
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
