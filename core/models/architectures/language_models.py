"""Score texts with causal and masked language models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, PreTrainedTokenizerBase

from core.errors import UserError
from core.models import configs, loading
from core.models.checkpoint import Checkpoint
from core.models.loading import TextReader, TokenRow, cached_loader
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

        nats_by_part = self.compute(
            [TokenRow(ids[i][start:end], [], False) for i, start, end, _ in parts], work, progress
        )
        sums = [0.0] * len(distinct)
        for (i, *_), nats in zip(parts, nats_by_part, strict=True):
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


def load_causal() -> CausalReader:
    """Return the configured `lm` model, loaded once per process. Raises UserError if it is missing or does not fit."""
    return _load_causal(configs.checked("lm"), loading.device())


@cached_loader(1)
def _load_causal(checkpoint: Checkpoint, place: str) -> CausalReader:
    return CausalReader(loading.model(AutoModelForCausalLM, checkpoint, place), loading.tokenizer(checkpoint))


class MaskedReader(TextReader):
    """Scores texts with one loaded checkpoint, with one masked input per token; equal texts are read once.

    Raises UserError if the tokenizer has no mask token.
    """

    def __init__(self, model: Any, tokenizer: PreTrainedTokenizerBase) -> None:
        super().__init__(model, tokenizer, 8 * int(model.config.vocab_size))
        if tokenizer.mask_token_id is None:
            raise UserError("the tokenizer of this model has no mask token", where="ERRORSCOPE_MLM")
        whole, bare = list(tokenizer("a")["input_ids"]), self.encode("a")
        at = next(i for i in range(len(whole)) if whole[i : i + len(bare)] == bare)
        self.before, self.after = whole[:at], whole[at + len(bare) :]
        self.room = loading.positions(model, tokenizer) - len(self.before) - len(self.after)

    def encode(self, text: str) -> list[int]:
        """Return token ids without special tokens. Special tokens written in the text are treated as text."""
        return list(self.tokenized(text, add_special_tokens=False)["input_ids"])

    def masked(self, ids: Sequence[int], place: int) -> tuple[TokenRow, int]:
        """Return the text with one token masked, and the mask's index; for long texts, a window around the token."""
        start = max(0, min(place - self.room // 2, len(ids) - self.room))
        row = [*self.before, *ids[start : start + self.room], *self.after]
        at = place - start + len(self.before)
        row[at] = int(self.tokenizer.mask_token_id)
        return TokenRow(row, [], False), at

    @torch.inference_mode()
    def surprise(self, texts: Sequence[str], progress: Progress = no_progress) -> list[Surprise]:
        """Return −PLL(text) and the number of tokens of each text, in order."""
        distinct = list(dict.fromkeys(texts))
        ids = [self.encode(text) for text in distinct]
        places = [(i, place) for i, row in enumerate(ids) for place in range(len(row))]

        def work(group: list[int]) -> list[float]:
            rows, at = zip(*(self.masked(ids[i], place) for i, place in (places[g] for g in group)), strict=True)
            logits = self.model(**loading.padded(rows, self.tokenizer.pad_token_id, self.device)).logits
            table = logits[torch.arange(len(rows)), torch.tensor(at)].float().log_softmax(dim=1)
            target_ids = torch.tensor([ids[i][place] for i, place in (places[g] for g in group)], device=self.device)
            return [float(v) for v in -table.gather(1, target_ids[:, None]).squeeze(1).double().cpu()]

        extra = len(self.before) + len(self.after)
        sizes = [min(len(ids[i]), self.room) + extra for i, _ in places]
        nats = loading.in_pieces(sizes, self.budget, work, progress)
        sums = np.zeros(len(distinct))
        np.add.at(sums, [i for i, _ in places], nats)
        known = {t: Surprise(float(sums[i]), len(ids[i])) for i, t in enumerate(distinct)}
        return [known[text] for text in texts]


def load_masked() -> MaskedReader:
    """Return the configured `mlm` model, loaded once per process. Raises UserError if it is missing or does not fit."""
    return _load_masked(configs.checked("mlm"), loading.device())


@cached_loader(1)
def _load_masked(checkpoint: Checkpoint, place: str) -> MaskedReader:
    return MaskedReader(loading.model(AutoModelForMaskedLM, checkpoint, place), loading.tokenizer(checkpoint))
