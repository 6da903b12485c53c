"""Inverse document frequency of tokens in a collection of texts, for BERTScore and MoverScore."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from math import log
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class Idf:
    """idf(t) = ln((N + 1) / (c + 1)) over N texts, c of them with the token t (Zhang et al. 2020, with their smoothing).

    `name` identifies the collection in any order: its size and the start of the SHA-256 of its texts. Texts are tokenized
    on first use; equal texts count separately.
    """

    def __init__(self, texts: Collection[str]) -> None:
        self.texts = sorted(texts)
        digest = hashlib.sha256("\0".join(self.texts).encode("utf-8", "surrogatepass")).hexdigest()
        self.name = f"{len(self.texts)}-{digest[:8]}"
        self._of: tuple[Any, Counter[int]] = (None, Counter())

    def weights(self, ids: Sequence[int], reader: Any, read: Callable[[str], Collection[int]]) -> Array:
        """Return token weights (tokens,). `read` tokenizes a text; documents are counted again for another `reader`."""
        if self._of[0] is not reader:
            self._of = (reader, Counter(token for text in self.texts for token in set(read(text))))
        count, total = self._of[1], len(self.texts)
        return np.array([log((total + 1) / (count[token] + 1)) for token in ids], dtype=np.float64)
