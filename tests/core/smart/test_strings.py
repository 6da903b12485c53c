"""Whole matrices against the packages called once a pair of sentences."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.helpers import extract_all_char_ngrams

from core.metrics.lexical.rouge import UnicodeWords
from core.metrics.lexical.sacre import bleu
from core.smart import alignment
from core.smart.alignment import Array, Matcher, Texts, matrices
from core.smart.overlap import bleu_matrices, characters, chrf_matrices, counted, longest_common, rouge_matrices, shared
from core.text.languages import Writing, writing

WORDS = st.sampled_from(
    ["the", "The", "cat", "cat.", "sat", "  ", "Größe", "中文", "文。", "3.5", "it's", "don't-", "😀", "&amp;", "\u2028", "aaaa", "(a"]
)  # fmt: skip
SENTENCES = st.lists(
    st.lists(WORDS, max_size=9).map(" ".join) | st.just("") | st.text(max_size=8), min_size=1, max_size=5
)


def check(
    matcher: Matcher, one: Callable[[str, str], float], targets: Sequence[str], candidates: Sequence[str]
) -> None:
    """`one(candidate, target)` is the package's own score."""
    [matrix] = matcher([(tuple(targets), tuple(candidates))])
    expected = np.array([[one(c, t) for c in candidates] for t in targets])
    assert matrix.shape == (len(targets), len(candidates))
    assert np.abs(matrix - expected).max() <= 1e-9


@pytest.mark.parametrize(("beta", "word_order"), [(2, 0), (3, 2)])
@given(targets=SENTENCES, candidates=SENTENCES)
def test_chrf_is_sacrebleus(beta: int, word_order: int, targets: list[str], candidates: list[str]) -> None:
    own = CHRF(beta=beta, word_order=word_order)
    check(
        partial(chrf_matrices, beta=beta, word_order=word_order),
        lambda c, t: float(own.sentence_score(c, [t]).score) / 100,
        targets,
        candidates,
    )


@pytest.mark.parametrize("tokenize", ["13a", "intl", "zh", "char", "none"])
@given(targets=SENTENCES, candidates=SENTENCES)
def test_bleu_is_sacrebleus(tokenize: str, targets: list[str], candidates: list[str]) -> None:
    own = BLEU(effective_order=True, tokenize=tokenize)
    check(
        partial(bleu_matrices, make=partial(bleu, tokenize)),
        lambda c, t: float(own.sentence_score(c, [t]).score) / 100,
        targets,
        candidates,
    )


@pytest.mark.parametrize("kind", ["rouge1", "rouge2", "rougeL"])
@pytest.mark.parametrize("stem", [False, True])
@given(targets=SENTENCES, candidates=SENTENCES)
def test_rouge_is_rouge_scores(kind: str, stem: bool, targets: list[str], candidates: list[str]) -> None:
    words = UnicodeWords(stem=stem)
    own = RougeScorer([kind], tokenizer=words)
    check(
        partial(rouge_matrices, kind=kind, make=lambda how: words.tokenize, read=writing),
        lambda c, t: float(own.score(t, c)[kind].fmeasure),
        targets,
        candidates,
    )


def test_the_candidate_is_the_hypothesis() -> None:
    # one word of three, and BLEU's brevity penalty: exp(1 − 3/1); the other way precision is 1/3 and nothing is too short
    [m] = bleu_matrices([(("a b c",), ("a",))], partial(bleu, "13a"))
    assert m[0, 0] == pytest.approx(np.exp(-2))
    # chrF2 of characters a against abc: precision 1, recall 1/3, β = 2: 5·(1/3) / (4 + 1/3); only order 1 is reached by both
    [m] = chrf_matrices([(("abc",), ("a",))])
    assert m[0, 0] == pytest.approx((5 / 3) / (4 + 1 / 3))


@given(st.lists(st.tuples(SENTENCES.map(tuple), SENTENCES.map(tuple)), max_size=8))
def test_a_batch_equals_single_pairs_to_the_last_bit(pairs: list[Texts]) -> None:
    rouge = partial(rouge_matrices, kind="rougeL", make=lambda how: str.split, read=writing)
    for matcher in (chrf_matrices, partial(bleu_matrices, make=partial(bleu, "script")), rouge):
        together = matcher(pairs)
        assert len(together) == len(pairs)
        for pair, matrix in zip(pairs, together, strict=True):
            assert np.array_equal(matrix, matcher([pair])[0])


def test_texts_that_share_nothing_do_not_fill_one_large_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alignment, "FEW_CELLS", 16)
    cells = []

    def block(targets: Sequence[str], candidates: Sequence[str]) -> Array:
        cells.append(len(targets) * len(candidates))
        return np.array([[float(t == c) for c in candidates] for t in targets])

    apart: list[Texts] = [((f"t{i}", "same"), (f"c{i}", "same")) for i in range(64)]
    sparse = matrices(block, apart)
    assert all(np.array_equal(m, [[0, 0], [0, 1]]) for m in sparse)
    assert sum(cells) <= alignment.WASTE * 4 * 64
    cells.clear()
    # one target against many outputs is one block, each distinct sentence once
    matrices(block, [(("a", "b"), (f"c{i % 8}", "d")) for i in range(64)])
    assert cells == [2 * 9]


@given(
    st.lists(st.dictionaries(st.sampled_from("abcde"), st.integers(1, 9)), max_size=4),
    st.lists(st.dictionaries(st.sampled_from("abcde"), st.integers(1, 9)), max_size=4),
)
def test_shared_counts_are_sums_of_minima(rows: list[dict[str, int]], columns: list[dict[str, int]]) -> None:
    expected = np.array([[sum(min(r[g], c.get(g, 0)) for g in r) for c in columns] for r in rows])
    assert np.array_equal(shared(*counted(rows, columns)), expected.reshape(len(rows), len(columns)))


@given(st.lists(st.text(), max_size=5), st.lists(st.text("ab \u2028\U0001f600\ud800", max_size=20), max_size=5))
def test_character_n_grams_are_those_of_sacrebleu(left: list[str], right: list[str]) -> None:
    sides = [[extract_all_char_ngrams(text, 6) for text in side] for side in (left, right)]
    for order, (rows, columns) in enumerate(characters(left, right, 6)):
        for counts, expected in ((rows, sides[0]), (columns, sides[1])):
            assert counts.sizes.tolist() == [len(grams[order]) for grams in expected]
            assert counts.totals().tolist() == [grams[order].total() for grams in expected]
        again = counted([g[order] for g in sides[0]], [g[order] for g in sides[1]])
        assert np.array_equal(shared(rows, columns), shared(*again))


def plain_lcs(a: Sequence[str], b: Sequence[str]) -> int:
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, j in np.ndindex(len(a), len(b)):
        table[i + 1][j + 1] = table[i][j] + 1 if a[i] == b[j] else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


@given(st.lists(st.text("abc", max_size=12), max_size=5), st.lists(st.text("abc", max_size=12), max_size=5))
def test_common_subsequences_of_all_pairs_are_those_of_the_table(rows: list[str], columns: list[str]) -> None:
    expected = [plain_lcs(r, c) for r in rows for c in columns]
    assert longest_common(rows, columns).ravel().tolist() == expected


def test_a_carry_of_one_column_never_reaches_the_next() -> None:
    many = ["aaaa" * 40, "a", "", "ab" * 3000, "b"]
    assert longest_common(["a" * 300], many).tolist() == [[160, 1, 0, 300, 0]]


def test_the_target_text_decides_the_tokenizer() -> None:
    asked = []

    def make(how: Writing) -> BLEU:
        asked.append(how)
        return bleu("script", how)

    target, candidate = ("我爱你们",), ("I love you",)
    bleu_matrices([(target, candidate)], make)
    assert asked == [writing(target)] != [writing(candidate)]
