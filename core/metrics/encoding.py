"""What the metrics over an encoder share: the facts of the model, and the order in which texts are encoded and compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from core.data import Item, Value
from core.metrics.base import Cancelled, Company, Progress
from core.models.roles import facts

if TYPE_CHECKING:
    from core.models.encoder import Encoder

T = TypeVar("T")
Array = npt.NDArray[np.float64]
Tick = Callable[[int, int], None]

BLOCK = 64  # items compared together; those of one segment stand side by side
NOISE = 2e-6  # squared distances of unit vectors below it are what batching leaves between equal texts
NO_OUTPUT = "the output is empty"


def model_facts() -> dict[str, object]:
    """What a signature says of the encoder: name, revision, library versions. Raises UserError where nobody plays."""
    return facts("encoder")


def encoder() -> Encoder:
    """The model of the `encoder` role; torch is loaded here and not before."""
    from core.models.encoder import load

    return load()


def references(company: Company) -> list[str]:
    """The references of the segments in a company: a segment counts once, however many systems wrote for it, and segments
    with equal texts count each."""
    return [text for given in {segment: item.references for segment, item in company}.values() for text in given]


def in_blocks(
    items: Sequence[Item],
    texts: Callable[[Item], Iterable[str]],
    compute: Callable[[Sequence[str], Tick], Sequence[T]],
    value: Callable[[Item, Mapping[str, T]], Value],
    progress: Progress,
) -> list[Value]:
    """One value an item: `compute` is given every distinct text once, and what it gave is kept until its last use.

    Raises `Cancelled` where `progress` says so.
    """
    order = sorted(range(len(items)), key=lambda i: (items[i].references, items[i].source or "", i))
    blocks = [order[first : first + BLOCK] for first in range(0, len(order), BLOCK)]
    asked = [dict.fromkeys(text for i in block for text in texts(items[i])) for block in blocks]
    last = {text: n for n, wanted in enumerate(asked) for text in wanted}
    known: dict[str, T] = {}
    out: dict[int, Value] = {}

    def go_on(*_: int) -> None:
        if not progress(len(out)):
            raise Cancelled

    for n, (block, wanted) in enumerate(zip(blocks, asked, strict=True)):
        go_on()
        new = [text for text in wanted if text not in known]
        known |= zip(new, compute(new, go_on), strict=True)
        for i in block:
            go_on()
            out[i] = value(items[i], known)
        known = {text: found for text, found in known.items() if last[text] > n}
    return [out[i] for i in range(len(items))]


def squared_distances(first: npt.ArrayLike, second: npt.ArrayLike) -> Array:
    """Squared Euclidean distances (n, m) of vectors (n, d) and (m, d) scaled to length 1, from 0 to 4."""
    squares: Array = 2 - 2 * _unit(first) @ _unit(second).T
    squares[squares < NOISE] = 0
    return squares


def _unit(vectors: npt.ArrayLike) -> Array:
    given = np.asarray(vectors, dtype=np.float64)
    unit: Array = given / np.linalg.norm(given, axis=1, keepdims=True)
    return unit
