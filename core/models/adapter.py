"""A checkpoint that is a LoRA adapter (Hu et al. 2022) over all-MiniLM-L6-v2: loaded, merged, ready as any other.

Merged, W + α/r · B·A stands where W stood: the model is as fast as its base.
"""

from __future__ import annotations

import warnings
from typing import Any, cast

import torch
from transformers import BertConfig
from transformers.utils import logging

from core.errors import UserError
from core.models.budget import use_the_cores_that_are_ours
from core.models.checkpoint import MINILM, Checkpoint, check_weights, resolve
from core.models.configs import read
from core.models.mean_max import MeanMaxForSequenceClassification


def base() -> Checkpoint:
    """What adapters stand on; its tokenizer is theirs. Raises UserError when it is not on this machine."""
    return resolve(MINILM)


def merged(checkpoint: Checkpoint, place: str) -> Any:
    """The base with the adapter added to its weights, in float32, ready to score.

    Raises UserError when the base is not on this machine, when the adapter was made for another, and when the two together
    lack weights of the model they are to be: those would be drawn at random.
    """
    from peft import LoraConfig, PeftModel

    check_weights(checkpoint.path)
    if (kind := read(checkpoint, "adapter_config.json")).get("peft_type") != "LORA" or kind.get("megatron_config"):
        raise UserError(
            "this kind of adapter is not read",
            where=str(checkpoint.path),
            got=str(kind.get("peft_type")),
            expected="LoRA",
        )
    use_the_cores_that_are_ours()
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    under, said = base(), logging.get_verbosity()
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]  # the layers that it calls new are the adapter's
    try:
        loaded: Any = MeanMaxForSequenceClassification.from_pretrained(
            under.path,
            config=BertConfig.from_pretrained(checkpoint.path, local_files_only=True),
            local_files_only=True,
            use_safetensors=True,
            dtype=torch.float32,
            output_loading_info=True,
        )
    finally:
        logging.set_verbosity(said)
    network, info = loaded
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # peft reads a field that transformers has renamed
        whole = PeftModel.from_pretrained(network, str(checkpoint.path))
    adapter = cast(LoraConfig, whole.peft_config["default"])
    if adapter.base_model_name_or_path != under.name:
        raise UserError(
            "this adapter was made for another model",
            where=str(checkpoint.path),
            got=str(adapter.base_model_name_or_path),
            expected=under.name,
        )
    brought = set(adapter.modules_to_save or ())
    if lacking := sorted(key for key in info["missing_keys"] if not brought & set(key.split("."))):
        raise UserError(
            "this adapter lacks weights of the model it is to be",
            where=str(checkpoint.path),
            got=", ".join(lacking[:4]),
            expected=f"an adapter that brings the last layer of a {type(network).__name__}",
        )
    return whole.merge_and_unload().to(place).eval()
