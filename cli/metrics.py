"""`metrics`, `models` and `ranges`: list metrics, make models ready, and store the ranges of scores."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from cli.options import counted, print_note, print_result
from core.data import grouped
from core.errors import UserError
from core.formats import output
from core.formats.files import file_at
from core.formats.parsing.numbers import expected_number, parse_number
from core.formats.problems import shown
from core.formats.write import SCORE_COLUMNS, aligned, read_export
from core.metrics import ranges, readiness
from core.metrics.base import MetricSpec, Option
from core.metrics.readiness import Readiness
from core.metrics.registry import specs, with_options
from core.models import folders
from core.models.configs import MODEL_KINDS, is_set
from core.models.folders import ModelFolder
from core.services.models import preparing

NEEDS: dict[str, str] = (
    {"source": "source", "reference": "reference"}
    | {role.name: role.words for role in MODEL_KINDS.values()}
    | {"judge": "a judge"}
)


def metrics_command() -> None:
    print_result(metrics_table())


def metrics_table() -> str:
    """Return the table. Metrics with the same options share their rows; those that lack the same thing share the command that fixes it."""
    all_specs, ready = specs(), readiness.of_all()
    rows = [_metric(spec, ready[name]) for name, spec in all_specs.items()]
    lines = aligned([("metric", "here", "needs", "better", "paper"), *rows])
    lines += _lacking(ready)
    for names, options in with_options(all_specs.values()):
        lines += ["", f"options of {', '.join(names)}"]
        cells = aligned([(o.name, written(o), o.expected) for o in options], indent=2)
        lines += [line for row, o in zip(cells, options, strict=True) for line in (row, f"      {o.help}")]
    return "\n".join(
        [
            *lines,
            "",
            "Write options as name|option:value|option:value, in quotes. λ is not an option: it is set later, without scoring again.",
        ]
    )


def written(option: Option) -> str:
    """Return the default in the notation of the command line."""
    return option.write(option.default) or "none"


def _metric(spec: MetricSpec, ready: Readiness) -> tuple[str, ...]:
    return (
        spec.name,
        ready.words,
        ", ".join(NEEDS[need] for need in NEEDS if need in spec.needs),
        "higher" if spec.higher_is_better else "lower",
        spec.paper,
    )


def _lacking(ready: Mapping[str, Readiness]) -> list[str]:
    """Return which metrics are unavailable, why, and the command that fixes it."""
    lines = []
    for metric_state, names in grouped(
        (state, name) for name, state in ready.items() if state.state != "ready"
    ).items():
        lines += ["", f"{', '.join(names)}: {metric_state.sentence()}"]
        lines += [f"    {line}" for line in metric_state.command.splitlines()]
        lines += [f"  ({metric_state.note})"] if metric_state.note else []
    return lines


def models_command(
    kind: Annotated[str, typer.Argument(help=f"kind of model: {', '.join(MODEL_KINDS)}")],
    folder: Annotated[str, typer.Argument(help="folder with the fetched model; by default the suggested model's")] = "",
) -> None:
    """Check the files, convert pickled weights, test the model, and use it where no setting names another one. Raises `UserError`."""
    if kind not in MODEL_KINDS:
        raise UserError("there is no such kind of model", got=kind, expected=", ".join(MODEL_KINDS))
    chosen = MODEL_KINDS[kind]
    checked = folders.model_folder(kind, folder) if folder else _only(kind)
    rows = [(file.name, file.got, f"expected {file.expected}" if file.expected else "ok") for file in checked.files]
    print_note(*aligned([("file", "found", str(checked.path)), *rows]))
    progress = counted("Converting" if checked.pickled else "Testing", 100)
    if not chosen.is_prepared:
        print_result(
            f"The weights are safetensors. Use them with {chosen.variable}={preparing.convert_only(checked, progress)}"
        )
        return
    print_result(preparing.report(kind, preparing.prepare(checked, progress)))
    if is_set(kind):
        print_note(f"note: {chosen.variable} is set and takes precedence over this model. Unset it to use this one")


def _only(kind: str) -> ModelFolder:
    """Return the only folder with a model of this kind. Raises UserError if there is none or several."""
    folders_of_kind = folders.found_folders(kind)
    if len(folders_of_kind) == 1:
        return folders_of_kind[0]
    chosen = MODEL_KINDS[kind]
    raise UserError(
        f"which folder has {chosen.words}?" if folders_of_kind else f"{chosen.words} is not fetched yet",
        got=", ".join(str(one.path) for one in folders_of_kind), expected="its folder after the kind",
        hint="" if folders_of_kind else f"Fetch {chosen.model} ({chosen.size}, {chosen.licence}): {' && '.join(chosen.fetch(chosen.folder))}",
    )  # fmt: skip


def ranges_command(
    scores: Annotated[list[Path], typer.Argument(help="CSV files that `score` wrote")],
    out: Annotated[Path | None, typer.Option(help="file to write; the ranges of this installation by default")] = None,
) -> None:
    """Store the minimum and maximum score per signature over all files, ignoring library versions. Raises `UserError`."""
    output.check(
        output.named("the scores", *scores), [("--out", out)] if out else [("the stored ranges", ranges.own())], writes_ranges=True
    )  # fmt: skip
    values: dict[str, list[float]] = {}
    for path in scores:
        table = read_export(file_at(path))
        if lacking := {"metric", "signature", "score", "status"} - set(table.columns):
            raise UserError(
                "this file has no scores", where=path.name, got=f"no column {', '.join(sorted(lacking))}",
                expected=", ".join(SCORE_COLUMNS), hint="Use a CSV that `score` wrote",
            )  # fmt: skip
        for row in table.rows:
            cells = dict(zip(table.columns, row.cells, strict=True))
            if cells["status"] == "ok":
                values.setdefault(str(cells["signature"]), []).append(_number(cells["score"], path, row.line))
    if not values:
        raise UserError("the files have no score with status ok", where=", ".join(p.name for p in scores))
    for signature, stored in ranges.fit(values, out).items():
        print_result(f"{stored.words}  n = {stored.n}  {signature}")


def _number(cell: object, path: Path, line: int) -> float:
    text = str(cell)
    if (value := parse_number(text)) is None:
        where = f"{path.name}, line {line}"
        raise UserError("this is not a score", where=where, got=shown(text), expected=expected_number(text))
    return value
