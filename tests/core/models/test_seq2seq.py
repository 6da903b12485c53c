"""Log probabilities do not depend on the batch, padding or order; special tokens in a text are text."""

import random

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import BlenderbotConfig, BlenderbotForConditionalGeneration

from core.errors import UserError
from core.models.architectures.packed import DecoderRow
from core.models.architectures.seq2seq import Languages, Seq2SeqScorer
from core.models.checkpoint import resolve
from core.models.loading import Budget
from core.models.pieces import aligned
from tests.core.refine import oracle
from tests.core.refine.test_engine import sentence
from tests.tiny import FAMILIES, tiny_scorer, tokenizer


def read_as(scorer: Seq2SeqScorer, text: str) -> list[int]:
    """Ids of a conditioning text."""
    encoded = scorer.encode(text)
    return [*encoded.lead, *encoded.ids]


def logps(scorer: Seq2SeqScorer, condition: list[int], target: list[int]) -> list[float]:
    """Through the model's own forward pass, on a batch of one."""
    return oracle.Plain(scorer).logps(condition, target)


@pytest.mark.parametrize("family", FAMILIES)
def test_pairs_equal_the_models_own_forward_pass_one_at_a_time(family: str) -> None:
    scorer, rng = FAMILIES[family](), random.Random(3)
    conditions = [read_as(scorer, sentence(rng, 30)) for _ in range(25)]
    targets = [scorer.encode(sentence(rng, 30)).ids for _ in range(25)]
    for condition, target, got in zip(conditions, targets, scorer.pairs(conditions, targets), strict=True):
        np.testing.assert_allclose(got, logps(scorer, condition, target), atol=1e-4)


@given(data=st.data())
def test_batch_mates_and_order_do_not_change_a_score(data: st.DataObject) -> None:
    scorer = FAMILIES[data.draw(st.sampled_from(sorted(FAMILIES)))]()
    token = st.sampled_from([i for i in range(len(scorer.tokenizer)) if i not in scorer.special])
    ids = st.lists(token, max_size=20).map(lambda inner: scorer.encode("").ids[: scorer.first] + inner + [2])
    pairs = data.draw(st.lists(st.tuples(ids, ids), min_size=1, max_size=6))
    order = data.draw(st.permutations(range(len(pairs))))
    alone = [scorer.pairs([c], [t])[0] for c, t in pairs]
    mixed = scorer.pairs([pairs[i][0] for i in order], [pairs[i][1] for i in order])
    for i, got in zip(order, mixed, strict=True):
        np.testing.assert_allclose(got, alone[i], atol=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_run_goes_on_from_a_known_beginning(family: str) -> None:
    scorer, rng = FAMILIES[family](), random.Random(4)
    fed = scorer.inputs(scorer.encode(sentence(rng, 20)).ids)
    read = scorer.read([read_as(scorer, sentence(rng))])[0]
    whole = scorer.run([DecoderRow(read, None, 0, fed)])
    parts = scorer.run(
        [
            DecoderRow(read, whole.past, 3, fed[3:]),
            DecoderRow(read, whole.past, 3, fed[3:]),
            DecoderRow(read, None, 0, fed[:2]),
        ]
    )
    rest = len(fed) - 3
    torch.testing.assert_close(parts.hidden[:rest], whole.hidden[3:], atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(parts.hidden[rest : 2 * rest], whole.hidden[3:], atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(parts.hidden[2 * rest :], whole.hidden[:2], atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(parts.past[:, :, :rest], whole.past[:, :, 3:], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_bounds_are_never_below_the_log_probabilities(family: str) -> None:
    scorer, rng = FAMILIES[family](), random.Random(5)
    target = scorer.encode(sentence(rng, 30)).ids
    read = scorer.read([read_as(scorer, sentence(rng))])[0]
    hidden = scorer.run([DecoderRow(read, None, 0, scorer.inputs(target))]).hidden[len(scorer.starts) - 1 :]
    exact = scorer.logps(hidden, target)
    for some in ([5], target[:3], list(range(len(scorer.parts.weight)))):
        bounds = scorer.bounds(hidden, target, torch.tensor(sorted(set(some))))
        assert (bounds >= exact - 1e-5).all()
    np.testing.assert_allclose(bounds, exact, atol=1e-4)  # over the whole vocabulary it is the thing itself


def test_vocabulary_rows_without_token_are_never_proposed() -> None:
    scorer = FAMILIES["t5"]()
    assert len(scorer.parts.weight) > len(scorer.tokenizer)
    target = scorer.encode("the cat sat").ids
    hidden = scorer.run([DecoderRow(scorer.read([target])[0], None, 0, scorer.inputs(target))]).hidden
    _, near, _ = scorer.likely(hidden, target, 10_000)
    assert sorted(set(near.flatten().tolist()) | set(scorer.special)) == list(range(len(scorer.parts.weight)))
    assert not set(near.flatten().tolist()) & set(scorer.special)
    assert int(near.max()) < len(scorer.tokenizer)


def test_out_of_memory_halves_the_budget_not_the_result() -> None:
    asked: list[int] = []

    def work(piece: range) -> range:
        asked.append(len(piece))
        if len(piece) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return piece

    budget = Budget(100)
    done = budget.spend([10] * 20, work)
    assert [i for piece in done for i in piece] == list(range(20))
    assert budget.tokens < 100
    assert max(asked) == 10


def test_another_error_is_not_taken_for_a_lack_of_memory() -> None:
    def work(piece: range) -> None:
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes"):
        Budget(100).spend([10, 10], work)


def test_a_family_that_is_not_known_is_named() -> None:
    model = BlenderbotForConditionalGeneration(
        BlenderbotConfig(vocab_size=300, d_model=8, encoder_layers=1, decoder_layers=1, encoder_ffn_dim=8, decoder_ffn_dim=8, encoder_attention_heads=1, decoder_attention_heads=1)
    )  # fmt: skip
    with pytest.raises(UserError, match="blenderbot"):
        Seq2SeqScorer(model, tokenizer())


def test_language_tokens_lead_but_are_not_scored() -> None:
    scorer = FAMILIES["m2m100"]()
    de, en = (scorer.tokenizer.convert_tokens_to_ids(t) for t in ("__de__", "__en__"))
    assert scorer.encode("the cat", "source").lead == (de,)
    assert scorer.encode("the cat").lead == (en,)
    assert scorer.starts == [2, en]
    ids = scorer.encode("the cat").ids
    assert not {de, en} & set(ids)
    assert len(scorer.pairs([[en, *ids]], [ids])[0]) == len(ids)


def test_a_multilingual_model_wants_to_know_the_languages() -> None:
    model, words = FAMILIES["m2m100"]().model, tokenizer()
    with pytest.raises(UserError, match="ERRORSCOPE_LANGUAGES"):
        Seq2SeqScorer(model, words)
    with pytest.raises(UserError, match="does not know this language"):
        Seq2SeqScorer(model, words, languages=Languages("de", "tlh"))


def test_a_tokenizer_without_offsets_is_aligned_with_the_text() -> None:
    # found in order, white space before a piece is its own; an unknown one covers what its neighbours leave
    assert aligned("the cats  sat", ["the", "cat", "s", "sat", "</s>"]) == [(0, 3), (3, 7), (7, 8), (8, 13), (13, 13)]
    assert aligned("a 😀 b", ["a", "<unk>", "b", "</s>"]) == [(0, 1), (1, 4), (4, 5), (5, 5)]
    assert aligned("to be to", ["to", "be", "to", "</s>"]) == [(0, 2), (2, 5), (5, 8), (8, 8)]
    assert aligned("", ["</s>"]) == [(0, 0)]


@pytest.mark.parametrize("family", FAMILIES)
def test_bfloat16_stays_near(family: str) -> None:
    from copy import deepcopy

    exact, rng = FAMILIES[family](), random.Random(6)
    model = deepcopy(exact.model).to(torch.bfloat16)
    half = Seq2SeqScorer(model, exact.tokenizer, languages=Languages("de", "en"))
    target = exact.encode(sentence(rng, 20)).ids
    condition = read_as(exact, sentence(rng, 20))
    a, b = (s.pairs([condition], [target])[0].mean() for s in (exact, half))
    assert b == pytest.approx(a, abs=0.5)
    assert b != a


def test_start_and_end_are_scored_and_the_mean_is_over_all() -> None:
    scorer = tiny_scorer()
    ids = scorer.encode("the cat").ids
    assert (ids[0], ids[-1]) == (0, 2)
    assert len(scorer.pairs([ids], [ids])[0]) == len(ids)


@pytest.mark.parametrize("text", ["<s>", "a </s> b", "<mask>x<pad>"])
def test_a_special_token_in_a_text_is_text(text: str) -> None:
    scorer = tiny_scorer()
    encoded = scorer.encode(text)
    assert not set(encoded.ids[1:-1]) & set(scorer.special)
    assert scorer.decode(encoded.ids) == text


def test_likely_tokens_are_most_probable_and_not_special() -> None:
    scorer = tiny_scorer()
    r, y = scorer.encode("the dog ran").ids, scorer.encode("the cat sat").ids
    hidden = scorer.run([DecoderRow(scorer.read([r])[0], None, 0, scorer.inputs(y))]).hidden
    exact, near, chances = scorer.likely(hidden, y, 10)
    np.testing.assert_allclose(exact, logps(scorer, r, y), atol=1e-4)
    assert near[3].tolist() == oracle.Plain(scorer).top_k(r, y, 3, 10)
    table = oracle.Plain(scorer).forward([r], [y])[0, 3]
    np.testing.assert_allclose(chances[3], table[near[3]], atol=1e-4)


def test_missing_weights_come_with_their_download_command() -> None:
    with pytest.raises(UserError, match="hf download some-org/some-bart"):
        resolve("some-org/some-bart")
