"""String matchers of SMART: clipped n-gram overlap and longest common subsequences of many texts.

The writing system of the whole target text determines how it and the candidates are tokenized. The packages' own functions
extract words and n-grams, once per distinct sentence. All scores lie in [0, 1], higher is better.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, count
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import LCSseq
from rapidfuzz.process import cdist

from core.smart.alignment import Array, Block, Texts, matrices
from core.text.languages import Writing, writing

Grams = Mapping[Any, int]
Ints = npt.NDArray[np.int64]


class GramCounts(NamedTuple):
    """The distinct n-grams of several texts, text by text.

    `sizes` is their number per text, `grams` their ids (shared by both sides of a comparison), `counts` their frequencies.
    """

    sizes: Ints
    grams: Ints
    counts: Ints

    def totals(self) -> Array:
        """Return the number of n-grams per text, (n,)."""
        return np.diff(self.ends()).astype(np.float64)

    def ends(self) -> Ints:
        """Return the start of each text's n-grams (repeated by count), and the end of the last, (n + 1,)."""
        return _sums(self.counts)[_sums(self.sizes)]


def counted(left: Sequence[Grams], right: Sequence[Grams]) -> tuple[GramCounts, GramCounts]:
    """Return two sides of n-grams from counts made elsewhere."""
    ids: dict[Hashable, int] = defaultdict(count().__next__)

    def side(texts: Sequence[Grams]) -> GramCounts:
        sizes = np.array([len(t) for t in texts], dtype=np.int64)
        n = int(sizes.sum())
        grams = np.fromiter(map(ids.__getitem__, chain.from_iterable(texts)), np.int64, n)
        return GramCounts(sizes, grams, np.fromiter(chain.from_iterable(t.values() for t in texts), np.int64, n))

    return side(left), side(right)


def characters(left: Sequence[str], right: Sequence[str], orders: int) -> Iterator[tuple[GramCounts, GramCounts]]:
    """Yield two sides of character n-grams for each order from 1 to `orders`, without white space.

    Counts equal those of sacreBLEU's `extract_all_char_ngrams`. The id of an n-gram combines the id of its first n − 1
    characters with that of the last.
    """
    texts = ["".join(text.split()) for text in (*left, *right)]
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    text_of = np.repeat(np.arange(len(texts)), lengths)
    room = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(codes))
    at = np.arange(len(codes))
    single: Ints = np.unique(codes, return_inverse=True)[1].astype(np.int64)
    base, grams = int(single.max(initial=0)) + 1, single
    for order in range(1, orders + 1):
        if order > 1:
            long = room[at] >= order
            at = at[long]
            grams = np.unique(grams[long] * base + single[at + order - 1], return_inverse=True)[1].astype(np.int64)
        numbers = int(grams.max(initial=0)) + 1
        keys, counts = np.unique(text_of[at] * numbers + grams, return_counts=True)
        sizes = np.bincount(keys // numbers, minlength=len(texts))
        middle = int(sizes[: len(left)].sum())
        gram_ids, n = keys % numbers, counts.astype(np.int64)
        yield (
            GramCounts(sizes[: len(left)], gram_ids[:middle], n[:middle]),
            GramCounts(sizes[len(left) :], gram_ids[middle:], n[middle:]),
        )


def shared(rows: GramCounts, columns: GramCounts) -> Array:
    """Return Σ over n-grams of min(count in the row's text, count in the column's text), (rows, columns); exact.

    min(a, b) is the inner product of 1…1 0…0 (a ones) and 1…1 0…0 (b ones), so one product of sparse 0/1 matrices gives all
    minima.
    """
    numbers = max(int(rows.grams.max(initial=-1)), int(columns.grams.max(initial=-1))) + 1
    most = np.zeros(numbers, dtype=np.int64)
    for side in (rows, columns):
        np.maximum.at(most, side.grams, side.counts)
    places = _sums(most)
    product = _ones(rows, places) @ _ones(columns, places).T
    dense: Array = product.toarray().astype(np.float64)
    return dense


def _ones(side: GramCounts, places: Ints) -> Any:
    """Return the counts as a sparse 0/1 matrix; `places` is the first column of each n-gram."""
    from scipy.sparse import csr_array

    levels = np.arange(int(side.counts.sum())) - np.repeat(_sums(side.counts)[:-1], side.counts)
    columns = np.repeat(places[side.grams], side.counts) + levels
    return csr_array(
        (np.ones(len(columns), dtype=np.int32), columns, side.ends()), shape=(len(side.sizes), int(places[-1]))
    )


def _sums(values: Ints) -> Ints:
    """Return the cumulative sums, starting with 0."""
    return np.concatenate([[0], np.cumsum(values)])


def word_grams(words: Sequence[str], n: int) -> Grams:
    """Return the n-grams of words with their counts."""
    return Counter(zip(*(words[i:] for i in range(n)), strict=False))


def longest_common(rows: Sequence[Sequence[str]], columns: Sequence[Sequence[str]]) -> Array:
    """Return the length in words of a longest common subsequence of each row with each column, (rows, columns)."""
    if not len(rows) or not len(columns):
        return np.zeros((len(rows), len(columns)))
    return cdist(rows, columns, scorer=LCSseq.similarity, dtype=np.int64).astype(np.float64)


Tokenize = Callable[[str], Sequence[str]]
How = TypeVar("How", bound=str)


def by_writing(
    block: Callable[[How], Block], pairs: Sequence[Texts], read: Callable[[Sequence[str]], How]
) -> list[Array]:
    """Return the matrices of pairs, each computed by the block for its target text, as determined by `read`."""
    writings = [read(target) for target, _ in pairs]
    by_pair: dict[int, Array] = {}
    for how in dict.fromkeys(writings):
        mine = [i for i, one in enumerate(writings) if one == how]
        by_pair |= zip(mine, matrices(block(how), [pairs[i] for i in mine]), strict=True)
    return [by_pair[i] for i in range(len(pairs))]


def chrf_matrices(pairs: Sequence[Texts], beta: int = 2, word_order: int = 0) -> list[Array]:
    """Return sacreBLEU's sentence chrF (Popović 2015) divided by 100, with its options `word_order` and `beta`.

    White space is ignored, case is not. Precision and recall are averaged over the orders that both sentences have.
    """

    def block(targets: Sequence[str], candidates: Sequence[str]) -> Array:
        precision = np.zeros((len(targets), len(candidates)))
        recall, orders = np.zeros_like(precision), np.zeros_like(precision)
        for left, right in _chrf_grams(targets, candidates, word_order):
            match, n_ref, n_hyp = shared(left, right), left.totals(), right.totals()
            precision += match / np.maximum(n_hyp, 1)[None, :]
            recall += match / np.maximum(n_ref, 1)[:, None]
            orders += np.outer(n_ref > 0, n_hyp > 0)
        precision, recall = precision / np.maximum(orders, 1), recall / np.maximum(orders, 1)
        below = beta**2 * precision + recall
        return np.divide((1 + beta**2) * precision * recall, below, out=np.zeros_like(below), where=below > 0)

    return matrices(block, pairs)


def _chrf_grams(
    targets: Sequence[str], candidates: Sequence[str], word_order: int
) -> Iterator[tuple[GramCounts, GramCounts]]:
    from sacrebleu.metrics.chrf import CHRF

    yield from characters(targets, candidates, CHRF.CHAR_ORDER)
    words = CHRF(char_order=0, word_order=word_order)
    rows, columns = (
        [words._extract_reference_info([s])["ref_ngrams"][0] for s in side] for side in (targets, candidates)
    )
    for order in range(word_order):
        yield counted([grams[order] for grams in rows], [grams[order] for grams in columns])


def bleu_matrices(pairs: Sequence[Texts], make: Callable[[Writing], Any]) -> list[Array]:
    """Return sacreBLEU's sentence BLEU (Papineni et al. 2002) divided by 100, with effective order and exponential smoothing.

    The candidate sentence is the hypothesis; it gets the brevity penalty if it is shorter.
    """
    return by_writing(lambda how: partial(_bleu_block, make(how)), pairs, writing)


def _bleu_block(own: Any, targets: Sequence[str], candidates: Sequence[str]) -> Array:
    rows, columns = ([own._preprocess_segment(s).split() for s in side] for side in (targets, candidates))
    ref_len, hyp_len = (np.array([len(words) for words in side], dtype=np.float64) for side in (rows, columns))
    logs, reached = np.zeros((len(targets), len(candidates))), np.zeros(len(candidates))
    halvings, anything = np.zeros_like(logs), np.zeros(logs.shape, dtype=bool)
    for n in range(1, own.max_ngram_order + 1):
        refs, hyps = counted([word_grams(w, n) for w in rows], [word_grams(w, n) for w in columns])
        correct, total = shared(refs, hyps), hyps.totals()
        anything |= correct > 0
        halvings += correct == 0
        precision = np.where(correct > 0, correct, 2.0**-halvings) / np.maximum(total, 1)
        logs += np.log(precision) * (total > 0)
        reached += total > 0
    short = np.minimum(0, 1 - ref_len[:, None] / np.maximum(hyp_len, 1)[None, :])
    scores: Array = np.where(anything, np.exp(short + logs / np.maximum(reached, 1)), 0.0)
    return np.clip(scores, 0, 1)


def rouge_matrices(
    pairs: Sequence[Texts],
    kind: str,
    make: Callable[[How], Tokenize],
    read: Callable[[Sequence[str]], How],
    measure: str = "f",
) -> list[Array]:
    """Return rouge-score's F, precision or recall of n-grams (`rouge1`, `rouge2`) or longest common subsequences (`rougeL`; Lin 2004).

    `make` returns the tokenizer for the target text, as determined by `read`.
    """

    def block(tokenize: Tokenize, targets: Sequence[str], candidates: Sequence[str]) -> Array:
        rows, columns = [tokenize(s) for s in targets], [tokenize(s) for s in candidates]
        if kind == "rougeL":
            n_ref, n_hyp = np.array([len(w) for w in rows], float), np.array([len(w) for w in columns], float)
            common = longest_common(rows, columns)
        else:
            n = int(kind.removeprefix("rouge"))
            left, right = counted([word_grams(w, n) for w in rows], [word_grams(w, n) for w in columns])
            n_ref, n_hyp, common = left.totals(), right.totals(), shared(left, right)
        precision, recall = common / np.maximum(n_hyp, 1)[None, :], common / np.maximum(n_ref, 1)[:, None]
        if measure != "f":
            one: Array = precision if measure == "p" else recall
            return one
        both = precision + recall
        f: Array = np.divide(2 * precision * recall, both, out=np.zeros_like(both), where=both > 0)
        return f

    return by_writing(lambda how: partial(block, make(how)), pairs, read)
