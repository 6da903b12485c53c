"""Errorscope on the command line. Invalid input ends with exit status 2 and one line that says what to fix."""

from __future__ import annotations

import logging
import sys
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer

from cli.options import status
from core.errors import PROGRAM, UserError
from core.settings import offline, one_thread_per_product, share_cores


class CommandHelp(NamedTuple):
    """The module in `cli` that has a command, as the function or group NAME_command, and its help."""

    module: str
    text: str


COMMANDS = {
    "score": CommandHelp("score", "Score outputs: one row per output and metric, with signature, status and reason."),
    "refine": CommandHelp("score", "Refine outputs with BARTScore++ and write the refined text, its edits, and the explicit and implicit distances that λ weighs."),
    "mqm": CommandHelp("labels", "Compute MQM scores from labels: minus the sum of error weights, averaged over raters. Higher is better, 0 is best."),
    "convert": CommandHelp("labels", "Convert labels between Google MQM, Marot, mt-metrics-eval, ESA and Label Studio, and report what the output format cannot hold."),
    "calibrate": CommandHelp("calibrate", "Find the λ with the highest agreement with human scores: optimum, plateau, 95 % CI, cross-validated agreement, and a comparison with λ = 1."),
    "evaluate": CommandHelp("evaluate", "Compare metrics with human scores: agreement with 95 % CIs, and trivial baselines for comparison."),
    "metrics": CommandHelp("metrics", "List all metrics with their requirements, and all options with defaults and allowed values."),
    "models": CommandHelp("metrics", "Make a fetched model ready for use: check its files, convert its weights to safetensors, and compare the scores of a good and a bad output."),
    "sensitivity": CommandHelp("adversarial", "Measure how sensitive metrics are to errors: z and the share of correctly ranked pairs per error type, with 95 % CIs."),
    "adversarial": CommandHelp("adversarial", "Measure how often metrics prefer the good text to one with an error (MENLI), per phenomenon, with 95 % CIs."),
    "stress": CommandHelp("stress", "Run stress tests: change good texts and check whether metrics score them lower (He et al. 2023). Writes verdicts, curves and examples."),
    "attack": CommandHelp("stress", "Attack a metric: change good texts word by word so that its score changes least, and score the result with other metrics (He et al. 2023, appendix J)."),
    "ranges": CommandHelp("metrics", "Store the range of each metric's scores, so that `menli` can combine metrics on one scale."),
    "reproduce": CommandHelp("reproduce", "Recompute a published table and compare it with the figures of the paper."),
    "workers": CommandHelp("administration", "Compute scoring jobs with one or more processes, on any machine that reaches the database: `workers --workers 4`, or on a Ray cluster: `workers ray`. See `workers --help`."),
    "jobs": CommandHelp("administration", "Show and change the queue of scoring jobs: `jobs list`, `jobs priority JOB PRIORITY`, `jobs cancel JOB`. See `jobs --help`."),
    "db": CommandHelp("database", "Manage the database: `db backup`, `db restore` and `db copy`, which moves it between SQLite and PostgreSQL. See `db --help`."),
    "users": CommandHelp("administration", "Manage accounts: `users add NAME --manager`, `list`, `password NAME`, `disable NAME`, `enable NAME`, `role NAME PROJECT ROLE`. See `users --help`."),
    "projects": CommandHelp("projects", "Import files of any size into projects and export them: `projects import FILE --name NAME`, `projects export`. See `projects --help`."),
    "spans": CommandHelp("spans", "Import error spans of judges and other programs as layers of a project, export layers, and compare them with annotators: `spans import PROJECT FILE --name NAME`, `spans export`, `spans score`. See `spans --help`."),
    "campaign": CommandHelp("campaign", "Plan, create, follow and export human evaluations with many people: `campaign plan`, `create`, `status`, `export`. See `campaign --help`."),
}  # fmt: skip

ON_THE_DATABASE = ("workers", "jobs", "db", "users", "projects", "spans", "campaign")
"""Commands that print no progress unless they report some, because they ask for passwords or run until they are stopped."""

IN_THREADS = ("evaluate",)
"""Commands that spread numpy's work over threads themselves."""


def common(
    quiet: Annotated[
        bool, typer.Option("--quiet", help="print no progress on stderr; also accepted after the command")
    ] = False,
) -> None:
    if quiet:
        status.quiet = True


def program(command: str) -> typer.Typer:
    """Return the program with the options of one command. The modules of the others are not loaded, which would take seconds."""
    app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, help=__doc__)
    app.callback()(common)
    for name, (module, text) in COMMANDS.items():
        made: Any = getattr(import_module(f"cli.{module}"), f"{name}_command") if name == command else lambda: None
        if isinstance(made, typer.Typer):
            app.add_typer(made, name=name, help=text)
        else:
            app.command(name, help=text)(made)
    return app


def main() -> None:
    offline()
    share_cores()
    logging.getLogger("core").addHandler(logging.NullHandler())
    arguments = sys.argv[1:]
    if "--quiet" in arguments:
        status.quiet = True
        arguments = [argument for argument in arguments if argument != "--quiet"]
    command = next((argument for argument in arguments if not argument.startswith("-")), "")
    if command in IN_THREADS:
        one_thread_per_product()
    try:
        with status.running(command):
            if command in ON_THE_DATABASE:
                status.done()
            program(command)(arguments, prog_name=PROGRAM)
    except UserError as error:
        print(f"error: {error}".replace("\n", " "), file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        print(
            f"error: {error.filename or ''}: {error.strerror}. Check the path and your rights to it.", file=sys.stderr
        )
        sys.exit(2)
    except KeyboardInterrupt:  # while the modules of the command are loaded
        print("error: cancelled", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
