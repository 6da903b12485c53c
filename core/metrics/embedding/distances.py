"""Encoding in blocks, inverse document frequency, and earth mover's distance, for metrics based on an encoder."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import log
from typing import TYPE_CHECKING, Any, TypeVar

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
    from core.models.architectures.encoder import load_encoder

    return load_encoder()


def references(all_outputs: AllOutputs) -> list[str]:
    """Return the references of all segments. Each segment counts once, for any number of systems, even if texts are equal."""
    return [
        text
        for of_segment in {segment: item.references for segment, item in all_outputs}.values()
        for text in of_segment
    ]


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
    last = {text: n for n, block_texts in enumerate(asked) for text in block_texts}
    known: dict[str, T] = {}
    out: dict[int, Value] = {}

    def report(_: float = 0.0) -> None:
        progress(len(out) / len(items))

    for n, (block, block_texts) in enumerate(zip(blocks, asked, strict=True)):
        report()
        new = [text for text in block_texts if text not in known]
        known |= zip(new, compute(new, report), strict=True)
        for i in block:
            report()
            out[i] = value(items[i], known)
        known = {text: encoding for text, encoding in known.items() if last[text] > n}
    return [out[i] for i in range(len(items))]


def squared_distances(first: npt.ArrayLike, second: npt.ArrayLike) -> Array:
    """Return squared Euclidean distances (n, m), in [0, 4], of vectors (n, d) and (m, d) scaled to length 1."""
    squares: Array = 2 - 2 * _unit(first) @ _unit(second).T
    squares[squares < NOISE] = 0
    return squares


def _unit(vectors: npt.ArrayLike) -> Array:
    matrix = np.asarray(vectors, dtype=np.float64)
    unit: Array = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    return unit


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


Flags = npt.NDArray[np.bool_]

AT_ONCE = 1024  # cells; larger problems are solved by column generation
NEAREST = 6  # cells per row and column that column generation starts with
TOLERANCE = 1e-9


def earth_movers_distance(supply: Array, demand: Array, cost: Array) -> float:
    """Return min ⟨F, cost⟩ over F ≥ 0 with row sums `supply` (n,) and column sums `demand` (m,), for `cost` (n, m).

    Both sets of weights are scaled to sum to 1; points with weight 0 are left out. Raises ValueError if a side has no
    weight.
    """
    rows, columns = supply > 0, demand > 0
    if not rows.any() or not columns.any():
        raise ValueError("all weights are 0")
    a, b, c = supply[rows] / supply[rows].sum(), demand[columns] / demand[columns].sum(), cost[np.ix_(rows, columns)]
    return float(a @ c @ b) if 1 in c.shape else _least(a, b, c)


def _least(a: Array, b: Array, c: Array) -> float:
    """Return the minimum by column generation: start with a few cells, and add cells of negative reduced cost until none is left."""
    ways = np.ones(c.shape, dtype=bool) if c.size <= AT_ONCE else _cheapest(c) | _corner(a, b)
    while True:
        least, reduced = _solved(a, b, c, ways)
        better = reduced < -TOLERANCE
        if not better.any():
            return least
        ways |= better & _cheapest(reduced)


def _cheapest(cost: Array) -> Flags:
    """Return a mask (n, m) of the cheapest cells in each row and column."""
    out = np.zeros(cost.shape, dtype=bool)
    for axis, size in enumerate(cost.shape):
        near = np.argpartition(cost, min(NEAREST, size) - 1, axis=axis)
        np.put_along_axis(out, np.take(near, range(min(NEAREST, size)), axis=axis), True, axis=axis)
    return out


def _corner(a: Array, b: Array) -> Flags:
    """Return a mask (n, m) of cells that allow a feasible solution (north-west corner rule)."""
    steps = np.sort(np.concatenate([np.cumsum(a), np.cumsum(b)]))
    row = np.minimum(np.searchsorted(np.cumsum(a), steps), len(a) - 1)
    column = np.minimum(np.searchsorted(np.cumsum(b), steps), len(b) - 1)
    out = np.zeros((len(a), len(b)), dtype=bool)
    out[row, column] = True
    return out


def _solved(a: Array, b: Array, c: Array, ways: Flags) -> tuple[float, Array]:
    """Return the minimal cost over some cells, and the reduced costs (n, m) of all cells, with the dual simplex of HiGHS."""
    from scipy import optimize
    from scipy.sparse import csc_array

    linprog: Any = optimize.linprog  # its stubs lack sparse constraints
    n = len(a)
    row, column = np.nonzero(ways)
    cells, kept = np.arange(len(row)), column < len(b) - 1  # the last column's sum follows from the others
    entries = (np.concatenate([row, n + column[kept]]), np.concatenate([cells, cells[kept]]))
    constraints = csc_array((np.ones(len(entries[0])), entries), shape=(n + len(b) - 1, len(row)))
    sums = np.append(a, b[:-1])
    solution = linprog(c[ways], A_eq=constraints, b_eq=sums, method="highs-ds", options={"presolve": False})
    if solution.status != 0:
        raise RuntimeError(f"the solver failed on the transport problem: {solution.message}")
    duals = np.append(solution.eqlin.marginals, 0)
    return float(solution.fun), c - duals[:n, None] - duals[None, n:]
