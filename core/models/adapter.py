"""Load LoRA adapters (Hu et al. 2022) for all-MiniLM-L6-v2 and merge them: W becomes W + α/r · B·A, at the speed of the base."""

from __future__ import annotations

import warnings
from typing import Any, cast

import torch
from transformers import BertConfig
from transformers.utils import logging

from core.errors import UserError
from core.models.architectures.mean_max import MeanMaxForSequenceClassification
from core.models.budget import limit_threads
from core.models.checkpoint import MINILM, Checkpoint, check_weights, resolve
from core.models.configs import read


def base() -> Checkpoint:
    """Return the base model of adapters, whose tokenizer they share. Raises UserError if it is not on this machine."""
    return resolve(MINILM)


def merged(checkpoint: Checkpoint, place: str) -> Any:
    """Return the base with the adapter merged into its weights, in float32 and evaluation mode.

    Raises UserError if the base is not on this machine, if the adapter belongs to another base, or if both together lack
    weights, which would otherwise be initialised at random.
    """
    from peft import LoraConfig, PeftModel

    check_weights(checkpoint.path)
    if (kind := read(checkpoint, "adapter_config.json")).get("peft_type") != "LORA" or kind.get("megatron_config"):
        raise UserError(
            "this kind of adapter is not supported",
            where=str(checkpoint.path),
            got=str(kind.get("peft_type")),
            expected="LoRA",
        )
    limit_threads()
    logging.disable_progress_bar()
    parent, verbosity = base(), logging.get_verbosity()
    logging.set_verbosity_error()  # it reports the adapter's layers as new
    try:
        loaded: Any = MeanMaxForSequenceClassification.from_pretrained(
            parent.path,
            config=BertConfig.from_pretrained(checkpoint.path, local_files_only=True),
            local_files_only=True,
            use_safetensors=True,
            dtype=torch.float32,
            output_loading_info=True,
        )
    finally:
        logging.set_verbosity(verbosity)
    network, info = loaded
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # peft reads a field that transformers has renamed
        whole = PeftModel.from_pretrained(network, str(checkpoint.path))
    adapter = cast(LoraConfig, whole.peft_config["default"])
    if adapter.base_model_name_or_path != parent.name:
        raise UserError(
            "this adapter was made for another base model",
            where=str(checkpoint.path),
            got=str(adapter.base_model_name_or_path),
            expected=parent.name,
        )
    brought = set(adapter.modules_to_save or ())
    if lacking := sorted(key for key in info["missing_keys"] if not brought & set(key.split("."))):
        raise UserError(
            "this adapter lacks weights of the model",
            where=str(checkpoint.path),
            got=", ".join(lacking[:4]),
            expected=f"an adapter with the last layer of a {type(network).__name__}",
        )
    return whole.merge_and_unload().to(place).eval()
