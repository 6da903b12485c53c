"""`refine`: refine outputs in files with BARTScore++."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import typer

from core.commands.options import Columns, Files, Out, read_texts
from core.commands.progress import print_note
from core.commands.score import scored, values_of
from core.errors import UserError
from core.formats import output
from core.formatting import format_count
from core.metrics import registry
from core.metrics.generation.bartscore_pp import NAMES, refinement_of
from core.refine import prompts as prompt_lists
from core.refine.result import EditStep


def run(
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
    column: Columns = None,
) -> None:
    """Write one JSON object per line. To find λ, `dist_exp` and `dist_imp` suffice. Raises `UserError`."""
    phrases = [prompt_lists.checked(phrase, "--prompt") for phrase in prompt or ()]
    phrases += prompt_lists.from_file(prompts) if prompts else ()
    if side and not phrases:
        raise UserError("--side needs a prompt", where="--side", hint="Add --prompt or --prompts")
    given = {"k": k, "rounds": rounds, "edits": edits, "nt": non_translation, "prompt": tuple(phrases), "side": side}
    name = next(n for n, v in NAMES.items() if v == variant)
    metric = registry.load(registry.expression(name, {option: value for option, value in given.items() if value}))
    prompts_file = prompt_lists.file_in(prompts) if prompts else None
    output.check([*output.named("an input", *files), *output.named("--prompts", prompts_file)], [("--out", out)])
    dataset = read_texts(files, column)
    memory = scored(dataset, [metric])
    segments = dataset.segment_of()
    texts = {o.key: o.text for o in dataset.outputs}
    lines: list[str] = []
    other_tokens = 0
    for key, value in values_of(dataset, memory, metric.signature()):
        segment = segments[key.segment]
        row: dict[str, Any] = {
            **key._asdict(),
            "output": texts[key],
            "status": value.status,
            "reason": value.reason,
        }
        if value.detail is not None:
            at, ids = value.detail["condition"], value.detail.get("refined_ids")
            row |= {
                "reference": segment.source if at < 0 else segment.references[at],
                "refined": value.detail["refined"],
                "non_translation": value.detail["non_translation"],
                **value.parts,
                "score_refined_of": "tokens" if ids else "text",
                **({"refined_ids": ids} if ids else {}),
                "steps": [EditStep(*step)._asdict() for step in value.detail["steps"]],
            }
            other_tokens += bool(ids)
        row["signature"] = refinement_of(metric.signature())
        lines.append(json.dumps(row, ensure_ascii=False) + "\n")
    output.write({out: "".join(lines)})
    if other_tokens:
        print_note(
            f"{format_count(other_tokens, 'refined text')} would be divided into other tokens than those that were edited and scored "
            "(score_refined_of: tokens, with their refined_ids). The BARTScore of such a text differs from score_refined."
        )
