"""Score texts with a causal language model: −log p of each token given those before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, PreTrainedTokenizerBase

from core.models import configs, loading
from core.models.checkpoint import Checkpoint
from core.models.loading import TextReader, TokenRow
from core.models.model_cache import cached_loader
from core.progress import Progress, no_progress

WINDOW = 1024
"""Maximum tokens per window; longer texts are read in windows that overlap by half."""


class Surprise(NamedTuple):
    """Sum of −log p over the scored tokens of a text, in nats, and their number."""

    nats: float
    tokens: int


class CausalReader(TextReader):
    """Scores texts with one loaded checkpoint; equal texts are read once.

    Texts follow the model's begin-of-text token (or end-of-text, if there is none), so that the first token is scored as
    well. Without either, the first token is not scored.
    """

    def __init__(self, model: Any, tokenizer: PreTrainedTokenizerBase) -> None:
        super().__init__(model, tokenizer, 8 * int(model.config.vocab_size))
        self.window = min(WINDOW, loading.positions(model, tokenizer))
        begin = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
        self.begin = [] if begin is None else [int(begin)]

    def encode(self, text: str) -> list[int]:
        """Return begin token and token ids. Special tokens written in the text are treated as text."""
        return [*self.begin, *self.tokenized(text, add_special_tokens=False)["input_ids"]]

    @torch.inference_mode()
    def surprise(self, texts: Sequence[str], progress: Progress = no_progress) -> list[Surprise]:
        """Return the surprisal of each text, in order."""
        distinct = list(dict.fromkeys(texts))
        ids = [self.encode(text) for text in distinct]
        parts = [(i, *window) for i, row in enumerate(ids) for window in windows(len(row), self.window)]

        def work(batch: dict[str, Tensor], group: list[int]) -> list[float]:
            table = self.model(**batch).logits[:, :-1].float().log_softmax(dim=2)
            nats = -table.gather(2, batch["input_ids"][:, 1:, None]).squeeze(2).double()
            scored = [(end - start - 1, first - start - 1) for _, start, end, first in (parts[g] for g in group)]
            return [float(row[first:last].sum()) for row, (last, first) in zip(nats, scored, strict=True)]

        found = self.compute([TokenRow(ids[i][start:end], [], False) for i, start, end, _ in parts], work, progress)
        sums = [0.0] * len(distinct)
        for (i, *_), nats in zip(parts, found, strict=True):
            sums[i] += nats
        known = {t: Surprise(sums[i], max(0, len(ids[i]) - 1)) for i, t in enumerate(distinct)}
        return [known[text] for text in texts]


def windows(length: int, size: int) -> list[tuple[int, int, int]]:
    """Return start, end and first scored token of each window; all tokens but the first are scored once.

    From the second window on, scored tokens have at least half a window of context.
    """
    if length < 2:
        return []
    out = [(0, min(size, length), 1)]
    while (end := out[-1][1]) < length:
        start = end - size // 2
        out.append((start, min(start + size, length), end))
    return out


def load() -> CausalReader:
    """Return the configured `lm` model, loaded once per process. Raises UserError if it is missing or does not fit."""
    return _load(configs.checked("lm"), loading.device())


@cached_loader(1)
def _load(checkpoint: Checkpoint, place: str) -> CausalReader:
    return CausalReader(loading.model(AutoModelForCausalLM, checkpoint, place), loading.tokenizer(checkpoint))
