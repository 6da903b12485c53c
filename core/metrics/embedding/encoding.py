"""Helpers for metrics based on an encoder: signature fields, and encoding in blocks that bound memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from core.data import Item, Value
from core.metrics.base import AllOutputs
from core.progress import Progress

if TYPE_CHECKING:
    from core.models.architectures.encoder import Encoder

T = TypeVar("T")
Array = npt.NDArray[np.float64]

BLOCK = 64  # items compared together; those of one segment stand side by side
NOISE = 2e-6  # smaller squared distances of unit vectors are rounding differences between batches
NO_OUTPUT = "the output is empty"


def encoder() -> Encoder:
    """Return the configured encoder; loads torch."""
    from core.models.architectures.encoder import load

    return load()


def references(all_outputs: AllOutputs) -> list[str]:
    """Return the references of all segments. Each segment counts once, for any number of systems, even if texts are equal."""
    return [text for given in {segment: item.references for segment, item in all_outputs}.values() for text in given]


def in_blocks(
    items: Sequence[Item],
    texts: Callable[[Item], Iterable[str]],
    compute: Callable[[Sequence[str], Progress], Sequence[T]],
    value: Callable[[Item, Mapping[str, T]], Value],
    progress: Progress,
) -> list[Value]:
    """Return one value per item. `compute` gets each distinct text once; its result is kept until its last use.

    Raises what `progress` raises.
    """
    order = sorted(range(len(items)), key=lambda i: (items[i].references, items[i].source or "", i))
    blocks = [order[first : first + BLOCK] for first in range(0, len(order), BLOCK)]
    asked = [dict.fromkeys(text for i in block for text in texts(items[i])) for block in blocks]
    last = {text: n for n, wanted in enumerate(asked) for text in wanted}
    known: dict[str, T] = {}
    out: dict[int, Value] = {}

    def report(_: float = 0.0) -> None:
        progress(len(out) / len(items))

    for n, (block, wanted) in enumerate(zip(blocks, asked, strict=True)):
        report()
        new = [text for text in wanted if text not in known]
        known |= zip(new, compute(new, report), strict=True)
        for i in block:
            report()
            out[i] = value(items[i], known)
        known = {text: found for text, found in known.items() if last[text] > n}
    return [out[i] for i in range(len(items))]


def squared_distances(first: npt.ArrayLike, second: npt.ArrayLike) -> Array:
    """Return squared Euclidean distances (n, m), in [0, 4], of vectors (n, d) and (m, d) scaled to length 1."""
    squares: Array = 2 - 2 * _unit(first) @ _unit(second).T
    squares[squares < NOISE] = 0
    return squares


def _unit(vectors: npt.ArrayLike) -> Array:
    given = np.asarray(vectors, dtype=np.float64)
    unit: Array = given / np.linalg.norm(given, axis=1, keepdims=True)
    return unit
