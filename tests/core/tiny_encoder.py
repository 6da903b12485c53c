"""A tiny untrained encoder on disk, so that metrics on embeddings run without the bundled weights."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import torch
from transformers import BertConfig, BertModel

from tests.minilm import need_minilm
from tests.tiny import tokenizer

_FOLDER = TemporaryDirectory(prefix="tiny-encoder-")


@cache
def tiny_encoder() -> Path:
    """Return the folder of a BERT of six layers, as many as all-MiniLM-L6-v2 has; saved once per process."""
    torch.manual_seed(0)
    words = tokenizer()
    words.model_max_length = 64
    config = BertConfig(
        vocab_size=len(words), hidden_size=16, num_hidden_layers=6, num_attention_heads=2, intermediate_size=32,
        initializer_range=0.4, max_position_embeddings=66, pad_token_id=1,
    )  # fmt: skip
    folder = Path(_FOLDER.name) / "encoder"
    BertModel(config).save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def use_tiny_encoder(patch: pytest.MonkeyPatch) -> None:
    """Configure it, in fp32 on the processor, whatever the machine is set to."""
    for name, value in {"ENCODER": str(tiny_encoder()), "DTYPE": "fp32", "DEVICE": "cpu"}.items():
        patch.setenv(f"ERRORSCOPE_{name}", value)


def use_encoder_of(request: pytest.FixtureRequest, patch: pytest.MonkeyPatch) -> None:
    """Configure all-MiniLM-L6-v2 for a test marked `models`, and the tiny encoder for the others."""
    if request.node.get_closest_marker("models"):
        need_minilm(patch)
    else:
        use_tiny_encoder(patch)
