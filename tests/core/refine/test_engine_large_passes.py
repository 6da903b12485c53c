"""What the engine does on a GPU, padded attention and exact scores in large passes, run here on the CPU, and on a GPU where there is one."""

import copy
import random

import pytest
import torch

from core.models.architectures import packed
from core.models.architectures.anatomy import Heads
from core.models.architectures.packed import AttentionGroup
from core.models.architectures.seq2seq import Languages, Seq2SeqScorer
from core.refine import rounds
from core.refine.result import Options, Variant
from tests.core.refine.test_engine import VARIANTS, equal_the_plain_one, sentence
from tests.tiny import FAMILIES


@pytest.fixture
def large_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "_grouped_attention", packed.padded_attention)
    monkeypatch.setattr(packed, "STEP", 1)
    monkeypatch.setattr(rounds, "one_large_pass", lambda device: True)


@pytest.mark.usefixtures("large_passes")
@pytest.mark.parametrize(
    "variant",
    ["precision", "f", *(pytest.param(v, marks=pytest.mark.extended) for v in ("recall", "faithfulness"))],
)
@pytest.mark.parametrize("family", FAMILIES)
def test_large_passes_find_the_edits_of_the_plain_implementation(variant: Variant, family: str) -> None:
    rng = random.Random(f"{variant}{family}")
    pairs = [(sentence(rng, 9), sentence(rng, 9)) for _ in range(2)]
    options = Options(rounds=3, non_translation="off")
    assert all(equal_the_plain_one(FAMILIES[family](1), pairs, variant, options))


@pytest.mark.usefixtures("large_passes")
def test_no_bound_is_computed_in_large_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("bounds")

    monkeypatch.setattr(Seq2SeqScorer, "bounds", refused)
    pairs = [("The cat sat on a mat", "The dog ran on the mat")]
    assert equal_the_plain_one(FAMILIES["bart"](2), pairs, "f", Options(k=3, non_translation="off")) == [True]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("at_once", [1, 20, 1 << 18])
def test_padded_attention_equals_that_of_each_group(
    causal: bool, biased: bool, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, "AT_ONCE", at_once)
    torch.manual_seed(0)
    known = [torch.randn(2, 2, size, 8) for size in (5, 3)]
    groups = [
        AttentionGroup(0, 6, 2, known[0], 4),
        AttentionGroup(6, 7, 1, known[1], 3),
        AttentionGroup(7, 11, 1, None, 0),
        AttentionGroup(11, 13, 2, known[0], 2),
    ]
    query, keys, values = (torch.randn(13, 8) for _ in range(3))
    heads = Heads(2, 0.5, (lambda distance: torch.stack([distance / 7.0, -distance / 9.0], dim=-1)) if biased else None)
    one, other = (
        made(groups, heads, query, causal=causal)(1, query, keys, values)
        for made in (packed.attention, packed.padded_attention)
    )
    assert torch.allclose(one, other, atol=1e-6)


def test_padded_attention_to_known_tokens_alone() -> None:
    torch.manual_seed(0)
    known = [torch.randn(1, 2, size, 8) for size in (5, 3)]
    groups = [AttentionGroup(0, 6, 1, known[0], 5), AttentionGroup(6, 8, 1, known[1], 3)]
    query, heads = torch.randn(8, 8), Heads(4, 0.5)
    one, other = (
        made(groups, heads, query, causal=False)(0, query, None, None)
        for made in (packed.attention, packed.padded_attention)
    )
    assert torch.allclose(one, other, atol=1e-6)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_gpu_finds_the_edits_of_the_plain_implementation(variant: Variant, family: str) -> None:
    rng = random.Random(f"{variant}{family}")
    on_cpu = FAMILIES[family](1)
    languages = Languages("de", "en") if family == "m2m100" else None
    on_gpu = Seq2SeqScorer(copy.deepcopy(on_cpu.model).to("cuda"), on_cpu.tokenizer, languages)
    assert all(equal_the_plain_one(on_gpu, [(sentence(rng), sentence(rng)) for _ in range(6)], variant))
