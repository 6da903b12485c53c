"""An encoder–decoder as a scorer: log p(y_t | y_<t, x) for every token of y, teacher-forced.

Targets carry `<s>` and `</s>`; both are scored, padding never is. A score does not depend on what it is batched with
(to 1e-4 in fp32).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, PreTrainedTokenizerBase
from transformers.utils import logging

from core.errors import UserError
from core.models.checkpoint import Checkpoint, resolve

Ids = list[int]


class Encoded(NamedTuple):
    """A text as the model reads it. `offsets` are code points of the text a token covers; `truncated`: the end was cut off."""

    ids: Ids
    offsets: tuple[tuple[int, int], ...]
    truncated: bool


class Condition(NamedTuple):
    """An encoded conditioning text, ready to be attended to by many targets."""

    states: torch.Tensor  # (1, length, d_model)
    mask: torch.Tensor  # (1, length)


class Seq2SeqScorer:
    """Scores token sequences with one loaded checkpoint; not tied to any metric."""

    def __init__(self, model: Any, tokenizer: PreTrainedTokenizerBase, *, token_budget: int = 6000) -> None:
        self.model, self.tokenizer, self.token_budget = model.eval(), tokenizer, token_budget
        self.device = model.device
        self.pad = int(model.config.pad_token_id)
        self.start = int(model.config.decoder_start_token_id)
        self.special = sorted(set(tokenizer.all_special_ids))
        self.limit = int(getattr(model.config, "max_position_embeddings", 1024))

    def encode(self, text: str) -> Encoded:
        """Token ids with `<s>` and `</s>`; a "<s>" that stands in the text is text. One over the model's length keeps its beginning and says so."""
        out = self.tokenizer(
            text, return_offsets_mapping=True, truncation=False, verbose=False, split_special_tokens=True
        )
        ids, offsets = list(out["input_ids"]), [tuple(o) for o in out["offset_mapping"]]
        if len(ids) <= self.limit:
            return Encoded(ids, tuple(offsets), False)
        keep = self.limit - 1
        return Encoded([*ids[:keep], ids[-1]], (*offsets[:keep], offsets[-1]), True)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of token ids, special tokens left out."""
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False))

    @torch.inference_mode()
    def condition(self, ids: Ids) -> Condition:
        tensor = torch.tensor([ids], device=self.device)
        mask = torch.ones_like(tensor)
        return Condition(self.model.get_encoder()(input_ids=tensor, attention_mask=mask).last_hidden_state, mask)

    @torch.inference_mode()
    def given(self, condition: Condition, targets: Sequence[Ids], skip: int = 0) -> list[np.ndarray]:
        """Log probabilities of the tokens of each target from index `skip` on, all given one condition.

        Targets that share their first `skip` tokens need those scored once only; the caller adds them.
        """
        out: list[np.ndarray] = []
        for rows in self._chunks([len(t) for t in targets]):
            group = [targets[i] for i in rows]
            n = len(group)
            out.extend(self._decode(condition.states.expand(n, -1, -1), condition.mask.expand(n, -1), group, skip))
        return out

    @torch.inference_mode()
    def pairs(
        self,
        conditions: Sequence[Ids],
        targets: Sequence[Ids],
        tick: Callable[[int], None] | None = None,
    ) -> list[np.ndarray]:
        """Log probabilities of each target given its own condition; batched by length, returned in the order given."""
        order = sorted(range(len(targets)), key=lambda i: (len(conditions[i]) + len(targets[i]), i))
        out: list[np.ndarray] = [np.empty(0)] * len(targets)
        done = 0
        for rows in self._chunks([len(conditions[i]) + len(targets[i]) for i in order]):
            group = [order[i] for i in rows]
            inputs = self._pad([conditions[i] for i in group])
            mask = (
                torch.arange(inputs.shape[1], device=self.device) < self._lengths([conditions[i] for i in group])
            ).long()
            states = self.model.get_encoder()(input_ids=inputs, attention_mask=mask).last_hidden_state
            for i, logps in zip(group, self._decode(states, mask, [targets[i] for i in group], 0), strict=True):
                out[i] = logps
            done += len(group)
            if tick:
                tick(done)
        return out

    @torch.inference_mode()
    def alternatives(self, condition: Condition, target: Ids, position: int, k: int) -> list[tuple[int, float]]:
        """The k most probable tokens at `position` of `target`, special tokens left out, as (id, log probability)."""
        prefix = torch.tensor([[self.start, *target[:position]]], device=self.device)
        hidden = self._hidden(condition.states, condition.mask, prefix)[:, -1]
        logps = torch.log_softmax(self._logits(hidden).float(), dim=-1)[0]
        logps[self.special] = -torch.inf
        best = torch.topk(logps, k)
        return [(int(i), float(v)) for v, i in zip(best.values, best.indices, strict=True)]

    def _decode(self, states: torch.Tensor, mask: torch.Tensor, targets: Sequence[Ids], skip: int) -> list[np.ndarray]:
        labels = self._pad(targets)
        inputs = torch.cat([labels.new_full((len(targets), 1), self.start), labels[:, :-1]], dim=1)
        hidden = self._hidden(states, mask, inputs)[:, skip:]
        wanted = labels[:, skip:]
        real = torch.arange(skip, labels.shape[1], device=self.device) < self._lengths(targets)
        logits = self._logits(hidden[real]).float()
        flat = logits.gather(1, wanted[real].unsqueeze(1)).squeeze(1) - logits.logsumexp(dim=-1)
        pieces = flat.double().cpu().numpy()
        ends = np.cumsum([len(t) - skip for t in targets])
        return np.split(pieces, ends[:-1])

    def _hidden(self, states: torch.Tensor, mask: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
        out = self.model.get_decoder()(
            input_ids=inputs, encoder_hidden_states=states, encoder_attention_mask=mask, use_cache=False
        )
        hidden: torch.Tensor = out.last_hidden_state
        return hidden

    def _logits(self, hidden: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.model.get_output_embeddings()(hidden)
        bias = getattr(self.model, "final_logits_bias", None)
        return logits if bias is None else logits + bias

    def _lengths(self, rows: Sequence[Ids]) -> torch.Tensor:
        return torch.tensor([[len(r)] for r in rows], device=self.device)

    def _pad(self, rows: Sequence[Ids]) -> torch.Tensor:
        out = torch.full((len(rows), max(map(len, rows))), self.pad, device=self.device)
        for i, row in enumerate(rows):
            out[i, : len(row)] = torch.tensor(row, device=self.device)
        return out

    def _chunks(self, sizes: Sequence[int]) -> list[range]:
        """Consecutive ranges of rows whose padded size stays within the token budget; at least one row each."""
        out: list[range] = []
        first, widest = 0, 0
        for i, size in enumerate(sizes):
            widest = max(widest, size)
            if i > first and widest * (i - first + 1) > self.token_budget:
                out.append(range(first, i))
                first, widest = i, size
        return [*out, range(first, len(sizes))] if sizes else []


def load(role: str, device: str = "auto") -> Seq2SeqScorer:
    """The scorer for a role of the settings (`bundled`, a folder, a hub id in the local cache); loaded once a process.

    Raises UserError for a device that is not auto, cpu or cuda, or is not there.
    """
    there = torch.cuda.is_available()
    if device not in ("auto", "cpu", "cuda") or (device == "cuda" and not there):
        raise UserError(
            "this device cannot be used",
            where="ERRORSCOPE_DEVICE",
            got=repr(device) + ("" if there else ", and there is no CUDA device here"),
            expected="auto, cpu or cuda",
        )
    return _load(resolve(role), "cuda" if there and device != "cpu" else "cpu")


@lru_cache(maxsize=2)
def _load(checkpoint: Checkpoint, device: str) -> Seq2SeqScorer:
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    tokenizer = AutoTokenizer.from_pretrained(checkpoint.path, local_files_only=True)
    model = AutoModelForSeq2SeqLM.from_pretrained(
        checkpoint.path, local_files_only=True, use_safetensors=True, dtype=torch.float32
    )
    return Seq2SeqScorer(model.to(device), tokenizer)
