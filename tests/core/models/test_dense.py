"""Linear layers through oneDNN equal the layers themselves; what rows share changes none of them."""

import random

import pytest
import torch
from torch import nn

from core.models.architectures import anatomy, packed
from core.models.architectures.anatomy import DenseLayers, aligned_layers
from core.models.architectures.packed import DecoderRow
from tests.core.refine.test_engine import sentence
from tests.tiny import FAMILIES


@pytest.fixture(params=[1 << 28, 0], ids=["packed", "as it is"])
def layer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> nn.Linear:
    monkeypatch.setattr(anatomy, "PACKED", request.param)
    torch.manual_seed(0)
    return nn.Linear(48, 80)


@torch.inference_mode()
def test_functions_equal_the_layer_and_ignore_batch_mates(layer: nn.Linear) -> None:
    made, x, residual = DenseLayers(layer), torch.randn(300, 48), torch.randn(300, 80)
    assert made.usable
    for name, then in (("none", nn.Identity()), ("relu", nn.ReLU()), ("gelu", nn.GELU())):
        computed = made.linear(layer, name)(x)
        torch.testing.assert_close(computed, then(layer(x)), atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(made.linear(layer, name)(x[7:9]), computed[7:9], atol=1e-6, rtol=0)
    torch.testing.assert_close(made.added(layer)(x, residual), residual + layer(x), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(made.logits(layer.weight)(x), x @ layer.weight.T, atol=1e-5, rtol=1e-5)


@torch.inference_mode()
def test_bfloat16_uses_the_layers_as_they_are() -> None:
    layer = nn.Linear(48, 80).to(torch.bfloat16)
    made, x = DenseLayers(layer), torch.randn(9, 48, dtype=torch.bfloat16)
    assert not made.usable
    assert torch.equal(made.linear(layer, "relu")(x), layer(x).relu())
    assert torch.equal(made.added(layer)(x, layer(x)), layer(x) + layer(x))


@pytest.mark.parametrize("rows", [8, 9, 15])
def test_rows_of_zeros_do_not_change_the_vocabulary(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    weight, x, used, linear = torch.randn(rows, 48), torch.randn(5, 48), list[int](), nn.functional.linear
    monkeypatch.setattr(nn.functional, "linear", lambda x, weight: used.append(len(weight)) or linear(x, weight))
    torch.testing.assert_close(aligned_layers(weight)(x), x @ weight.T, atol=1e-5, rtol=1e-5)
    assert used == [8 if rows == 8 else 16]


@pytest.mark.parametrize("family", FAMILIES)
@torch.inference_mode()
def test_encoder_states_equal_those_of_the_model(family: str) -> None:
    scorer, rng = FAMILIES[family](), random.Random(6)
    rows = sorted((scorer.encode(sentence(rng, 20)).ids for _ in range(9)), key=len)
    rows += [rows[-1][:2] + rows[-1][3:]] * 2  # shares tokens and positions, and has the length of its mate
    sizes = [len(r) for r in rows]
    states_of_rows = torch.split(packed.encode(scorer.parts.encoder, rows, scorer.device)[: sum(sizes)], sizes)
    for row, states in zip(rows, states_of_rows, strict=True):
        want = scorer.model.get_encoder()(input_ids=torch.tensor([row])).last_hidden_state[0]
        torch.testing.assert_close(states, want, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_equal_targets_of_different_texts_share_the_first_attention(family: str) -> None:
    scorer, rng = FAMILIES[family](), random.Random(7)
    reads = scorer.read([scorer.encode(sentence(rng)).ids for _ in range(3)])
    a, b = (scorer.inputs(scorer.encode(text).ids) for text in ("the cat sat", "a red house"))
    rows = [DecoderRow(reads[i], None, 0, fed) for i, fed in ((0, a), (1, a), (2, b), (2, a))]
    together, bare = scorer.once(rows), scorer.once(rows, keep=False)
    assert bare.past.numel() == 0
    assert torch.equal(bare.hidden, together.hidden)
    at = 0
    for row in rows:
        alone, end = scorer.once([row]), at + len(row.ids)
        torch.testing.assert_close(together.hidden[at:end], alone.hidden, atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(together.past[:, :, at:end], alone.past, atol=1e-5, rtol=1e-5)
        at = end
    assert not torch.allclose(together.hidden[: len(a)], together.hidden[len(a) : 2 * len(a)], atol=1e-2)


def test_linear_layers_see_few_different_numbers_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    scorer, rng, seen = FAMILIES["bart"](), random.Random(9), set[int]()
    own = scorer.parts.blocks[-1].other
    monkeypatch.setattr(
        scorer,
        "parts",
        scorer.parts._replace(
            blocks=[
                *scorer.parts.blocks[:-1],
                scorer.parts.blocks[-1]._replace(
                    other=own._replace(
                        query=lambda x: seen.add(len(x)) or own.query(x), key=lambda x: seen.add(len(x)) or own.key(x)
                    )
                ),
            ]
        ),
    )
    for _ in range(9):
        texts = [scorer.encode(sentence(rng, 20)).ids for _ in range(rng.randint(1, 5))]
        reads = scorer.read(texts)
        assert [r.shape[2] for r in reads] == [len(t) for t in texts]
        run = scorer.once([DecoderRow(r, None, 0, scorer.inputs(t)) for r, t in zip(reads, texts, strict=True)])
        assert len(run.hidden) == run.past.shape[2] == sum(map(len, texts))
    assert {n % packed.STEP for n in seen} == {0}
