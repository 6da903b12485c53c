"""Loading a checkpoint for a role, and passing texts through it in pieces of like length. All of it in float32."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import torch
from safetensors import SafetensorError
from torch import Tensor
from transformers import AutoTokenizer, PreTrainedTokenizerBase
from transformers.utils import logging

from core.errors import UserError
from core.models.budget import Budget, use_the_cores_that_are_ours
from core.models.checkpoint import Checkpoint, check_weights, is_adapter
from core.settings import load as settings

T = TypeVar("T")
Tick = Callable[[int, int], None]
"""Told how many passes over a text are done, and of how many; may raise to stop the work."""


class Row(NamedTuple):
    """A text, or two, as token ids; `types` where the model tells first and second text apart by them; `truncated`: not all."""

    ids: list[int]
    types: list[int]
    truncated: bool


def device() -> str:
    """cpu or cuda, by the settings and what is there. Raises UserError for a device that is not."""
    chosen, there = settings().device, torch.cuda.is_available()
    if chosen not in ("auto", "cpu", "cuda") or (chosen == "cuda" and not there):
        raise UserError(
            "this device cannot be used",
            where="ERRORSCOPE_DEVICE",
            got=repr(chosen) + ("" if there else ", and there is no CUDA device here"),
            expected="auto, cpu or cuda",
        )
    return "cuda" if there and chosen != "cpu" else "cpu"


def tokenizer(checkpoint: Checkpoint) -> PreTrainedTokenizerBase:
    """The tokenizer of a checkpoint. Raises UserError when it needs a package that is not here, or code of its own."""
    try:
        found: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
            checkpoint.path, local_files_only=True, trust_remote_code=False
        )
    except ImportError as error:
        raise UserError(
            "the tokenizer of this model needs a package that is not here",
            where=checkpoint.name,
            got=str(error).strip().partition("\n")[0],
            hint="Install it into the environment of Errorscope, for example: pip install sentencepiece",
        ) from error
    except (ValueError, OSError) as error:
        raise UserError(
            "transformers cannot read this tokenizer", where=checkpoint.name, got=str(error).strip().partition("\n")[0]
        ) from error
    return found


def pretrained(kind: Any, checkpoint: Checkpoint, dtype: torch.dtype = torch.float32) -> tuple[Any, dict[str, Any]]:
    """A model of a checkpoint by one of the Auto classes of transformers, and what its loading said. No pickle is read and no
    code of the checkpoint runs.

    Raises UserError for an adapter, for weights that are not safetensors, and for a kind of model transformers does not know.
    """
    if is_adapter(checkpoint.path):
        raise UserError(
            "this is an adapter, and it cannot be used here",
            where=checkpoint.name,
            expected="a whole checkpoint; adapters over all-MiniLM-L6-v2 are for ERRORSCOPE_NLI and ERRORSCOPE_BLEURT",
            hint="Merge it into its base and save that as safetensors",
        )
    check_weights(checkpoint.path)
    use_the_cores_that_are_ours()
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        found: tuple[Any, dict[str, Any]] = kind.from_pretrained(
            checkpoint.path, local_files_only=True, use_safetensors=True, trust_remote_code=False, dtype=dtype,
            output_loading_info=True,
        )  # fmt: skip
    except (ValueError, OSError, SafetensorError) as error:
        raise UserError(
            "transformers cannot read this model", where=checkpoint.name, got=str(error).strip().partition("\n")[0]
        ) from error
    return found


def model(kind: Any, checkpoint: Checkpoint, place: str) -> Any:
    """The model of a checkpoint, by one of the Auto classes of transformers, ready to score.

    Raises UserError when transformers does not know this kind of model, and when the checkpoint lacks some of its weights:
    they would be drawn at random.
    """
    found, info = pretrained(kind, checkpoint)
    lacking = sorted({*info["missing_keys"], *(str(k[0]) for k in info["mismatched_keys"])})
    if lacking:
        raise UserError(
            "this checkpoint lacks weights of the model it is to be",
            where=str(checkpoint.path),
            got=", ".join(lacking[:4]) + (" and more" if len(lacking) > 4 else ""),
            expected=f"a checkpoint for {type(found).__name__}",
        )
    return found.to(place).eval()


def positions(network: Any, words: PreTrainedTokenizerBase) -> int:
    """How many tokens the model reads at most: what its positions leave, and what its tokenizer says."""
    config = network.config
    most = int(getattr(config, "max_position_embeddings", 0) or getattr(config, "n_positions", 0) or 0)
    for name, part in network.named_modules():
        if name.endswith("position_embeddings") and getattr(part, "padding_idx", None) is not None:
            most -= part.padding_idx + 1  # RoBERTa counts positions from after the padding
    return min(n for n in (most, int(words.model_max_length)) if n > 0)


def padded(rows: Sequence[Row], pad: int | None, place: torch.device) -> dict[str, Tensor]:
    """Rows as the arguments of a model, filled up on the right to the longest."""
    sizes = torch.tensor([len(row.ids) for row in rows], device=place)
    mask = torch.arange(int(sizes.max()), device=place) < sizes[:, None]
    ids = torch.full(mask.shape, pad or 0, dtype=torch.long, device=place)
    ids[mask] = torch.tensor([i for row in rows for i in row.ids], device=place)
    out = {"input_ids": ids, "attention_mask": mask.long()}
    if rows[0].types:
        out["token_type_ids"] = torch.zeros_like(ids)
        out["token_type_ids"][mask] = torch.tensor([t for row in rows for t in row.types], device=place)
    return out


def in_pieces(
    sizes: Sequence[int], budget: Budget, work: Callable[[list[int]], Sequence[T]], tick: Tick | None = None
) -> list[T]:
    """`work` on the numbers of rows of like length, as many as the budget allows; what it gives, in the order of the rows.

    On a processor several threads call `work` at the same time; `tick` is called by this one.
    """
    order = sorted(range(len(sizes)), key=lambda i: (sizes[i], i))
    out: dict[int, T] = {}

    def piece(part: range) -> list[tuple[int, T]]:
        group = [order[i] for i in part]
        return list(zip(group, work(group), strict=True))

    for found in budget.each([sizes[i] for i in order], piece):
        out.update(found)
        if tick:
            tick(len(out), len(sizes))
    return [out[i] for i in range(len(sizes))]
