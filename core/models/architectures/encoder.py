"""Text encoders: a vector per token at any layer, or one vector per text.

Vectors do not depend on the batch (to 1e-5); equal texts are computed once per call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from transformers import AutoModel, PreTrainedTokenizerBase

from core.errors import UserError
from core.models import loading
from core.models.architectures.shapes import EncoderShape, encoder_shape
from core.models.checkpoint import Checkpoint
from core.models.configs import configured_model
from core.models.loading import TextReader, TokenRow, cached_loader
from core.models.pieces import aligned
from core.progress import Progress, no_progress

Vectors = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]


class TokenizedText(NamedTuple):
    """A tokenized text, with one entry per token.

    `offsets` are half-open code points; `special` is True for special tokens; `words` numbers the tokenizer's words (−1 for
    special tokens); `truncated` is True if the end was cut.
    """

    ids: tuple[int, ...]
    offsets: tuple[tuple[int, int], ...]
    special: Flags
    words: npt.NDArray[np.int64]
    truncated: bool


class Tokens(NamedTuple):
    """`states` (requested layers, tokens, d), and the tokenized text."""

    states: Vectors
    read: TokenizedText


class TextVectors(NamedTuple):
    """`vectors` (texts, d) of length 1; `truncated` (texts,) is True if the end was cut."""

    vectors: Vectors
    truncated: Flags


class Encoder(TextReader):
    """One loaded checkpoint; for an encoder–decoder, its encoder.

    `layers` is the number of layers; state 0 is the embeddings. `limit` and `sentence_limit` are the maximum tokens,
    special ones included, of `tokens` and `embed`.
    """

    def __init__(self, model: Any, tokenizer: PreTrainedTokenizerBase, shape: EncoderShape) -> None:
        super().__init__(model, tokenizer, 160 * int(model.config.hidden_size))
        self.shape = shape
        self.limit = loading.positions(model, tokenizer)
        self.sentence_limit = min(self.limit, shape.sentence_tokens or self.limit)
        self.layers = shape.layers

    def read(self, text: str, limit: int | None = None) -> TokenizedText:
        """Tokenize a text, cut at the end if too long. A "[SEP]" written in the text is treated as text."""
        limit = min(limit or self.limit, self.limit)
        fast = bool(self.tokenizer.is_fast)
        out = self.tokenized(text, truncation=False, return_offsets_mapping=fast, return_special_tokens_mask=True)
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
            end = int(special[::-1].argmin())  # closing special tokens are kept
            keep = [*range(limit - end), *range(len(ids) - end, len(ids))]
        return TokenizedText(
            tuple(ids[i] for i in keep),
            tuple(offsets[i] for i in keep),
            special[keep],
            np.array([words[i] for i in keep], dtype=np.int64),
            cut,
        )

    def tokens(self, texts: Sequence[str], layers: Sequence[int], progress: Progress = no_progress) -> list[Tokens]:
        """Return hidden states of all tokens at some layers, without padding. Raises UserError for an unknown layer."""
        if unknown := [layer for layer in layers if not 0 <= layer <= self.layers]:
            expected = f"a whole number from 0 to {self.layers}"
            raise UserError("the model has no such layer", got=str(unknown[0]), expected=expected)

        def kept(states: Sequence[Tensor], row: int, size: int) -> Vectors:
            return _numbers(torch.stack([states[layer][row, :size] for layer in layers]))

        return [Tokens(states, read) for states, read in self._computed(texts, self.limit, kept, progress)]

    def embed(self, texts: Sequence[str], progress: Progress = no_progress) -> TextVectors:
        """Return one vector of length 1 per text: the mean of the last layer over all tokens, special ones included.

        A pooling configured in the checkpoint (`1_Pooling`) takes precedence. Texts beyond `sentence_limit` are cut, as in
        the sentence-transformers package.
        """

        def pooled(states: Sequence[Tensor], row: int, size: int) -> Vectors:
            last = states[-1][row, :size].float()
            one = last[0] if self.shape.pooling == "cls" else last.mean(dim=0)
            return _numbers(torch.nn.functional.normalize(one, dim=0))

        embedded = self._computed(texts, self.sentence_limit, pooled, progress)
        width = int(self.model.config.hidden_size)
        vectors = np.array([vector for vector, _ in embedded], dtype=np.float32).reshape(len(embedded), width)
        return TextVectors(vectors, np.array([read.truncated for _, read in embedded], dtype=bool))

    def sentences(self, texts: Sequence[str]) -> Vectors:
        """Return only the vectors of `embed`: float32 (texts, d), of length 1."""
        return self.embed(texts).vectors

    @torch.inference_mode()
    def _computed(
        self,
        texts: Sequence[str],
        limit: int,
        keep: Callable[[Sequence[Tensor], int, int], Vectors],
        progress: Progress,
    ) -> list[tuple[Vectors, TokenizedText]]:
        """Return, per text, `keep(states of all layers (texts, tokens, d), row, number of tokens)` and the tokenized text."""
        distinct = list(dict.fromkeys(texts))
        reads = [self.read(text, limit) for text in distinct]

        def work(batch: dict[str, Tensor], group: list[int]) -> list[Vectors]:
            states = self.model(**batch, output_hidden_states=True).hidden_states
            return [keep(states, row, len(reads[i].ids)) for row, i in enumerate(group)]

        rows = [TokenRow(list(read.ids), [], read.truncated) for read in reads]
        kept = self.compute(rows, work, progress)
        at = {text: i for i, text in enumerate(distinct)}
        return [(kept[at[text]], reads[at[text]]) for text in texts]


def _numbers(states: Tensor) -> Vectors:
    return np.asarray(states.float().cpu().numpy(), dtype=np.float32)


def _words(text: str, offsets: Sequence[tuple[int, int]], special: Flags) -> list[int]:
    """Return word numbers by white space, for tokenizers without word ids."""
    out: list[int] = []
    at, end = -1, 0
    for (_, stop), is_special in zip(offsets, special, strict=True):
        if not is_special and (at < 0 or text[end:stop][:1].isspace()):
            at += 1
        out.append(-1 if is_special else at)
        end = end if is_special else stop
    return out


def load_encoder() -> Encoder:
    """Return the configured `encoder` model in float32, loaded once per process. Raises UserError if not configured."""
    return _load(configured_model("encoder"), loading.device())


@cached_loader(2)
def _load(checkpoint: Checkpoint, place: str) -> Encoder:
    return Encoder(loading.model(_Body, checkpoint, place), loading.tokenizer(checkpoint), encoder_shape(checkpoint))


class _Body:
    """Auto class for `core.models.loading.model` that returns the encoder; ignores the pooler, which many checkpoints lack."""

    @staticmethod
    def from_pretrained(path: Any, **options: Any) -> tuple[Any, dict[str, Any]]:
        whole, info = AutoModel.from_pretrained(path, **options)
        encoder_alone = bool(whole.config.is_encoder_decoder)
        lacking = {k for k in info["missing_keys"] if "pooler" not in k and not (encoder_alone and "decoder" in k)}
        return whole.get_encoder() if encoder_alone else whole, {**info, "missing_keys": lacking}
