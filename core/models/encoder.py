"""A text encoder: a vector for every token of a text, at any layer, and one vector for a whole text.

What a text gets does not depend on what it is batched with (to 1e-5); equal texts are computed once a call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from transformers import AutoModel, PreTrainedTokenizerBase

from core.errors import UserError
from core.models import loading
from core.models.budget import Budget, tokens_for
from core.models.checkpoint import Checkpoint
from core.models.encoder_shape import Shape, shape_of
from core.models.loading import Row, Tick
from core.models.once import kept
from core.models.roles import player
from core.models.spans import aligned

Vectors = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]


class Read(NamedTuple):
    """A text as the model reads it, one entry a token.

    `offsets` are half-open code points of the text; `special` marks tokens that are no text; `words` numbers the words the
    tokenizer saw, -1 for special tokens; `truncated`: the end was left out.
    """

    ids: tuple[int, ...]
    offsets: tuple[tuple[int, int], ...]
    special: Flags
    words: npt.NDArray[np.int64]
    truncated: bool


class Tokens(NamedTuple):
    """`states` of shape (layers asked for, tokens, d), and the text as it was read."""

    states: Vectors
    read: Read


class Sentences(NamedTuple):
    """`vectors` of shape (texts, d), each of length 1; `truncated` (texts,) where the end of a text was left out."""

    vectors: Vectors
    truncated: Flags


class Encoder:
    """One loaded checkpoint; of an encoder–decoder, its encoder.

    `layers` is the number of its layers: states are counted from 0, the embeddings, to that number. `limit` bounds the
    tokens of `tokens`, `sentence_limit` those of `sentences`; both count special tokens.
    """

    def __init__(
        self, model: Any, tokenizer: PreTrainedTokenizerBase, shape: Shape, *, token_budget: int | None = None
    ) -> None:
        self.model, self.tokenizer, self.shape = model.eval(), tokenizer, shape
        self.device = next(model.parameters()).device
        self.limit = loading.positions(model, tokenizer)
        self.sentence_limit = min(self.limit, shape.sentence_tokens or self.limit)
        self.layers = shape.layers
        self.budget = Budget(token_budget or tokens_for(160 * int(model.config.hidden_size), self.device), self.device)
        self._tokenizing = Lock()  # a tokenizer that two threads use at once may refuse to

    def read(self, text: str, limit: int | None = None) -> Read:
        """The text as token ids; a "[SEP]" that stands in it is text. One over the limit keeps its beginning and says so."""
        limit = min(limit or self.limit, self.limit)
        fast = bool(self.tokenizer.is_fast)
        with self._tokenizing:
            out = self.tokenizer(
                text,
                truncation=False,
                return_offsets_mapping=fast,
                return_special_tokens_mask=True,
                split_special_tokens=True,
                verbose=False,
            )
        ids, special = list(out["input_ids"]), np.array(out["special_tokens_mask"], dtype=bool)
        if fast:
            offsets = [(int(a), int(b)) for a, b in out["offset_mapping"]]
            words = [-1 if w is None else int(w) for w in out.word_ids(0)]
        else:
            shown = zip(ids, special, strict=True)
            offsets = aligned(text, ["" if is_special else str(self.tokenizer.decode([i])) for i, is_special in shown])
            words = _words(text, offsets, special)
        keep = list(range(len(ids)))
        if cut := len(ids) > limit:
            end = int(special[::-1].argmin())  # special tokens that close the text stay
            keep = [*range(limit - end), *range(len(ids) - end, len(ids))]
        return Read(
            tuple(ids[i] for i in keep),
            tuple(offsets[i] for i in keep),
            special[keep],
            np.array([words[i] for i in keep], dtype=np.int64),
            cut,
        )

    def tokens(self, texts: Sequence[str], layers: Sequence[int], tick: Tick | None = None) -> list[Tokens]:
        """Hidden states of every token at the layers asked for, without padding. Raises UserError for a layer that is not there."""
        for layer in layers:
            if not 0 <= layer <= self.layers:
                raise UserError(
                    "the model has no such layer", got=str(layer), expected=f"a whole number from 0 to {self.layers}"
                )
        chosen = list(layers)

        def kept(states: Sequence[Tensor], row: int, size: int) -> Vectors:
            return _numbers(torch.stack([states[layer][row, :size] for layer in chosen]))

        return [Tokens(states, read) for states, read in self._computed(texts, self.limit, kept, tick)]

    def embed(self, texts: Sequence[str], tick: Tick | None = None) -> Sentences:
        """One vector a text: the mean of the last layer over its tokens, special ones included, scaled to length 1.

        Where the checkpoint comes with a pooling of its own (`1_Pooling`), by that. A text longer than `sentence_limit`
        loses its end, as with the package its authors trained it with.
        """

        def pooled(states: Sequence[Tensor], row: int, size: int) -> Vectors:
            last = states[-1][row, :size].float()
            one = last[0] if self.shape.pooling == "cls" else last.mean(dim=0)
            return _numbers(torch.nn.functional.normalize(one, dim=0))

        found = self._computed(texts, self.sentence_limit, pooled, tick)
        width = int(self.model.config.hidden_size)
        vectors = np.array([vector for vector, _ in found], dtype=np.float32).reshape(len(found), width)
        return Sentences(vectors, np.array([read.truncated for _, read in found], dtype=bool))

    def sentences(self, texts: Sequence[str]) -> Vectors:
        """The vectors of `embed`: float32 of shape (texts, d), each of length 1."""
        return self.embed(texts).vectors

    @torch.inference_mode()
    def _computed(
        self,
        texts: Sequence[str],
        limit: int,
        keep: Callable[[Sequence[Tensor], int, int], Vectors],
        tick: Tick | None,
    ) -> list[tuple[Vectors, Read]]:
        """What `keep` takes of all layers (texts, tokens, d), the row and its size, with each text as it was read."""
        distinct = list(dict.fromkeys(texts))
        reads = [self.read(text, limit) for text in distinct]

        def work(group: list[int]) -> list[Vectors]:
            rows = [Row(list(reads[i].ids), [], reads[i].truncated) for i in group]
            batch = loading.padded(rows, self.tokenizer.pad_token_id, self.device)
            states = self.model(**batch, output_hidden_states=True).hidden_states
            return [keep(states, row, len(reads[i].ids)) for row, i in enumerate(group)]

        found = loading.in_pieces([len(read.ids) for read in reads], self.budget, work, tick)
        at = {text: i for i, text in enumerate(distinct)}
        return [(found[at[text]], reads[at[text]]) for text in texts]


def _numbers(states: Tensor) -> Vectors:
    return np.asarray(states.float().cpu().numpy(), dtype=np.float32)


def _words(text: str, offsets: Sequence[tuple[int, int]], special: Flags) -> list[int]:
    """Words by white space, for a tokenizer that does not tell its own."""
    out: list[int] = []
    at, end = -1, 0
    for (_, stop), is_special in zip(offsets, special, strict=True):
        if not is_special and (at < 0 or text[end:stop][:1].isspace()):
            at += 1
        out.append(-1 if is_special else at)
        end = end if is_special else stop
    return out


def load() -> Encoder:
    """The model in the role `encoder`, by the settings, in float32; loaded once a process. Raises UserError where nobody
    plays it."""
    return _load(player("encoder"), loading.device())


@kept(2)
def _load(checkpoint: Checkpoint, place: str) -> Encoder:
    return Encoder(loading.model(_Body, checkpoint, place), loading.tokenizer(checkpoint), shape_of(checkpoint))


class _Body:
    """The encoder of a checkpoint, as `core.models.loading.model` asks for it. A pooler is no part of it: many lack one."""

    @staticmethod
    def from_pretrained(path: Any, **given: Any) -> tuple[Any, dict[str, Any]]:
        whole, info = AutoModel.from_pretrained(path, **given)
        encoder_alone = bool(whole.config.is_encoder_decoder)
        lacking = {k for k in info["missing_keys"] if "pooler" not in k and not (encoder_alone and "decoder" in k)}
        return whole.get_encoder() if encoder_alone else whole, {**info, "missing_keys": lacking}
