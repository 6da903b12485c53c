"""Nearest words by the input embeddings of a model (He et al. 2023, appendix J.1): the masked language model (`mlm`) if
configured, else the encoder (`encoder`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from core.models import configs
from core.models.checkpoint import Checkpoint
from core.models.kinds import configured_model, setting_of
from core.perturbations.vocabulary import Vocabulary, WordCandidate

if TYPE_CHECKING:
    from core.models.architectures.encoder import Encoder
    from core.models.architectures.masked import MaskedReader

Floats = npt.NDArray[np.float32]


class Neighbours:
    """Words of a vocabulary ranked by cosine of their input embeddings; a word of several tokens is represented by
    their mean.

    `encode` returns the tokens of a text without special tokens.
    """

    def __init__(self, table: Any, vocabulary: Vocabulary, encode: Callable[[str], Sequence[int]]) -> None:
        self.table, self.vocabulary, self.encode = table.detach().float().cpu().numpy(), vocabulary, encode
        self.unit = _unit(self.table[vocabulary.spaced])
        self.near = lru_cache(maxsize=4096)(self._near)

    def _near(self, word: str, k: int) -> tuple[WordCandidate, ...]:
        """Return at most k words, nearest first."""
        own = self.encode(" " + word if self.vocabulary.marked else word)
        if not own:
            return ()
        cosines = self.unit @ _unit(self.table[list(own)].mean(axis=0))
        order = np.argsort(-cosines, kind="stable")[: 2 * k + 8]
        ids = self.vocabulary.spaced[order].tolist()
        return tuple(self.vocabulary.chosen(word, ids, cosines[order].tolist(), k))


def embedding() -> Checkpoint:
    """Return the checkpoint whose input embeddings are used, without loading it. Raises UserError."""
    return configs.checked("mlm") if setting_of("mlm") else configured_model("encoder")


def neighbours() -> Neighbours:
    """Return the nearest-word index, loaded once per process. Raises UserError."""
    if setting_of("mlm"):
        from core.models.architectures import masked

        return _near_masked(masked.load())
    from core.models.architectures import encoder

    return _near_encoder(encoder.load())


@lru_cache(maxsize=1)
def _near_masked(reader: MaskedReader) -> Neighbours:
    return Neighbours(reader.model.get_input_embeddings().weight, Vocabulary(reader.tokenizer), reader.encode)


@lru_cache(maxsize=1)
def _near_encoder(encoder: Encoder) -> Neighbours:
    def encode(text: str) -> list[int]:
        read = encoder.read(text)
        return [i for i, special in zip(read.ids, read.special, strict=True) if not special]

    return Neighbours(encoder.model.get_input_embeddings().weight, Vocabulary(encoder.tokenizer), encode)


def _unit(vectors: Floats) -> Floats:
    """Return the vectors scaled to length 1 along the last axis; zero vectors are unchanged."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), dtype=np.float32)
