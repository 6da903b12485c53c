"""String matchers: sentence matrices equal to the sacreBLEU and rouge-score scores of each pair, to 1e-9.

The writing system of the whole target text determines how it and the candidates are tokenized. The packages' own functions
extract words and n-grams, once per distinct sentence. All scores lie in [0, 1], higher is better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from core.smart.alignment import Array
from core.smart.matching import Block, Texts, matrices
from core.smart.overlap import GramCounts, characters, counted, longest_common, shared, word_grams
from core.text.scripts import Writing, writing

Tokenize = Callable[[str], Sequence[str]]
How = TypeVar("How", bound=str)


def by_writing(
    block: Callable[[How], Block], pairs: Sequence[Texts], read: Callable[[Sequence[str]], How]
) -> list[Array]:
    """Return the matrices of pairs, each computed by the block for its target text, as determined by `read`."""
    writings = [read(target) for target, _ in pairs]
    found: dict[int, Array] = {}
    for how in dict.fromkeys(writings):
        mine = [i for i, one in enumerate(writings) if one == how]
        found |= zip(mine, matrices(block(how), [pairs[i] for i in mine]), strict=True)
    return [found[i] for i in range(len(pairs))]


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
        there = np.where(correct > 0, correct, 2.0**-halvings) / np.maximum(total, 1)
        logs += np.log(there) * (total > 0)
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
