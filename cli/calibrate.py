"""`calibrate`: find the λ that agrees best with human scores, from the distances that `refine` wrote."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from cli import human_scores
from cli.human_scores import KEY, wrong_line
from cli.options import LARGEST_SEED, Columns, Human, HumanScheme, HumanScore, Out, counted, print_note, read_texts
from core.calibration.calibrate import Calibration, CalibrationPoint, calibrate
from core.calibration.presets import PRESETS
from core.data import OutputKey
from core.errors import UserError
from core.formats import output
from core.formats.files import Upload, file_at
from core.formats.given_roles import GivenRoles
from core.formats.parsing.json_text import NotJson, parsed
from core.formats.parsing.numbers import BOUNDS, json_number
from core.formats.streams.opened import numbered_lines
from core.formats.write import json_text
from core.stats.correlation.correlation import Group, Measure

SHOWN = 80
DRAWS = 300
"""Bootstrap draws of the interval."""


class Refined(NamedTuple):
    """The values of one row of refined.jsonl that the calibration needs."""

    dist_exp: float
    dist_imp: float
    score_hyp: float | None


def calibrate_command(
    refined: Annotated[Path, typer.Argument(help="file that `refine` wrote")],
    human: Human,
    out: Out,
    human_score: HumanScore = None,
    scheme: HumanScheme = None,
    measure: Annotated[Measure, typer.Option(help="agreement to maximise")] = "kendall",
    group: Annotated[
        Group, typer.Option(help="which outputs are compared: all, those of the same segment, or system means")
    ] = "pooled",
    seed: Annotated[
        int, typer.Option(min=0, max=LARGEST_SEED, help="random seed of the bootstrap and the cross-validation folds")
    ] = 0,
    outputs: Annotated[
        list[Path] | None,
        typer.Option(help="file with the outputs, for human scores or labels without texts; repeatable"),
    ] = None,
    column: Columns = None,
) -> Calibration:
    """Join both files on (system, doc_id, segment_id), calibrate, and write the report as JSON (∞ is the string "inf").

    Outputs found in only one file are left out; their number is in `notes`, which are also printed. Raises
    `UserError` for files that cannot be read or joined, and if agreement is undefined at every λ.
    """
    inputs = [
        ("the refined outputs", refined),
        *output.named("--human", *human),
        *output.named("--outputs", *outputs or ()),
    ]
    output.check(inputs, [("--out", out)])
    distances, unusable = read_refined(file_at(refined))
    roles = GivenRoles(column or ())
    texts = read_texts(outputs, roles) if outputs else None
    rated, unscored, _ = human_scores.read_human_scores(human, human_score, roles, scheme, texts)
    roles.check()
    name = ", ".join(path.name for path in human)
    points = [
        CalibrationPoint(key, r.dist_exp, r.dist_imp, rated[key][0], r.score_hyp, rated[key][1])
        for key, r in distances.items()
        if key in rated
    ]
    without_human, without_distances = len(distances) - len(points), len(rated) - len(points)
    if not points:
        raise UserError(
            "the files have no output in common",
            got=f"{len(distances)} outputs in {refined.name}, {len(rated)} in {name}",
            expected="the same system, doc_id and segment_id in both",
            hint=f"The first outputs are {_first(distances)} and {_first(rated)}",
        )
    alone = ((refined.name, without_human), (name, without_distances))
    notes = [f"{n} outputs of {file} are not in the other file and are left out." for file, n in alone if n]
    notes += [f"{unusable} rows of {refined.name} have no distances and are left out."] if unusable else []
    notes += [f"{unscored} rows of {name} have no score and are left out."] if unscored else []
    fitted = calibrate(
        points, measure=measure, group=group, seed=seed, presets=PRESETS, draws=DRAWS, progress=counted("calibrate", 100)
    )  # fmt: skip
    report = fitted.to_json()
    report["notes"] = [*notes, *report["notes"]]
    report["joined"] = {
        "outputs": len(points),
        "without_human_score": without_human,
        "without_distances": without_distances,
    }
    report["measure"], report["group"], report["seed"] = measure, group, seed
    output.write_files({out: json_text(report)})
    print_note(*report["notes"], fitted.advice.why)
    return fitted


def _first(keys: Mapping[OutputKey, object]) -> str:
    return " / ".join(next(iter(keys), ("none",)))


def read_refined(upload: Upload) -> tuple[dict[OutputKey, Refined], int]:
    """Return the distances per output, and the number of rows without distances. Raises `ImportProblems` with file, line and field."""
    refined: dict[OutputKey, Refined] = {}
    unusable = 0
    for line, text in numbered_lines(upload):
        if not text.strip():
            continue
        try:
            row = parsed(text)
        except NotJson as e:
            raise wrong_line(upload, line, "", f"a line that is not JSON ({e})", "one JSON object per line") from e
        if not isinstance(row, dict):
            raise wrong_line(upload, line, "", type(row).__name__, "one JSON object per line")
        for name in KEY:
            if not isinstance(row.get(name), str | int):
                raise wrong_line(upload, line, name, repr(row.get(name))[:SHOWN], "a name")
        key = OutputKey(*(str(row[name]) for name in KEY))
        exp, imp, hyp = (_finite(upload, line, row, name) for name in ("dist_exp", "dist_imp", "score_hyp"))
        if exp is None or imp is None:
            unusable += 1
            continue
        if key in refined:
            raise wrong_line(upload, line, ", ".join(KEY), " / ".join(key), "each output only once")
        refined[key] = Refined(exp, imp, hyp)
    return refined, unusable


def _finite(upload: Upload, line: int, row: Mapping[str, Any], name: str) -> float | None:
    value = row.get(name)
    if value is None:
        return None
    number = None if isinstance(value, str) else json_number(value)
    if number is None:
        raise wrong_line(upload, line, name, repr(value)[:SHOWN], f"{BOUNDS}, or null")
    return number
