"""Score texts with a masked language model: −log p of each token given all others (Salazar et al. 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForMaskedLM, PreTrainedTokenizerBase

from core.errors import UserError
from core.models import configs, loading
from core.models.architectures.causal import Surprise
from core.models.checkpoint import Checkpoint
from core.models.loading import TextReader, TokenRow
from core.models.model_cache import cached_loader
from core.progress import Progress, no_progress


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
            wanted = torch.tensor([ids[i][place] for i, place in (places[g] for g in group)], device=self.device)
            return [float(v) for v in -table.gather(1, wanted[:, None]).squeeze(1).double().cpu()]

        extra = len(self.before) + len(self.after)
        sizes = [min(len(ids[i]), self.room) + extra for i, _ in places]
        found = loading.in_pieces(sizes, self.budget, work, progress)
        sums = np.zeros(len(distinct))
        np.add.at(sums, [i for i, _ in places], found)
        known = {t: Surprise(float(sums[i]), len(ids[i])) for i, t in enumerate(distinct)}
        return [known[text] for text in texts]


def load() -> MaskedReader:
    """Return the configured `mlm` model, loaded once per process. Raises UserError if it is missing or does not fit."""
    return _load(configs.checked("mlm"), loading.device())


@cached_loader(1)
def _load(checkpoint: Checkpoint, place: str) -> MaskedReader:
    return MaskedReader(loading.model(AutoModelForMaskedLM, checkpoint, place), loading.tokenizer(checkpoint))
