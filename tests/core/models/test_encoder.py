"""States and vectors equal the model's forward pass on a single text, in any batch."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BartConfig, BartModel, BertConfig, BertModel, RobertaConfig, RobertaModel, T5Config, T5Model

from core.errors import UserError
from core.models.architectures import encoder
from core.models.architectures.encoder import Encoder
from core.models.architectures.shapes import encoder_shape
from core.models.checkpoint import Checkpoint
from tests.minilm import need_minilm
from tests.tiny import tokenizer

TEXTS = ["the cat sat on the mat", "", "a dog", "the\u2028cat <b> 😀 بيت", "the cat sat on the mat", "a red house " * 9]
SMALL: dict[str, Any] = {
    "hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 32,
    "initializer_range": 0.4, "max_position_embeddings": 66, "pad_token_id": 1,
}  # fmt: skip


def saved(folder: Path, kind: str = "bert") -> Checkpoint:
    torch.manual_seed(0)
    words = tokenizer()
    words.model_max_length = 64
    size = len(words)
    model: Any = {
        "bert": lambda: BertModel(BertConfig(vocab_size=size, **SMALL)),
        "roberta without a pooler": lambda: RobertaModel(
            RobertaConfig(vocab_size=size, **SMALL), add_pooling_layer=False
        ),
        "bart": lambda: BartModel(
            BartConfig(
                vocab_size=size, d_model=16, encoder_layers=3, decoder_layers=1, encoder_attention_heads=2,
                decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, init_std=0.4,
                max_position_embeddings=64, pad_token_id=1,
            )
        ),
        "t5": lambda: T5Model(
            T5Config(vocab_size=size, d_model=16, d_kv=8, d_ff=32, num_layers=3, num_heads=2, pad_token_id=1)
        ),
    }[kind]()  # fmt: skip
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return Checkpoint("tiny", folder, "0", "")


def loaded(monkeypatch: pytest.MonkeyPatch, folder: Path, dtype: str = "fp32") -> Encoder:
    for name, value in {"ENCODER": str(folder), "DTYPE": dtype, "DEVICE": "cpu"}.items():
        monkeypatch.setenv(f"ERRORSCOPE_{name}", value)
    return encoder.load_encoder()


def alone(model: Encoder, text: str) -> list[torch.Tensor]:
    """The model's own forward pass over one text, every layer (tokens, d)."""
    ids = torch.tensor([model.read(text).ids])
    with torch.inference_mode():
        return [s[0] for s in model.model(input_ids=ids, output_hidden_states=True).hidden_states]


@pytest.mark.parametrize("kind", ["bert", "roberta without a pooler", "bart", "t5"])
def test_states_equal_the_models_own_pass_over_one_text(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved(tmp_path, kind)
    model = loaded(monkeypatch, tmp_path)
    assert model.layers == 3
    for text, tokens in zip(TEXTS, model.tokens(TEXTS, [0, 3]), strict=True):
        own = alone(model, text)
        np.testing.assert_allclose(tokens.states, torch.stack([own[0], own[3]]).numpy(), atol=1e-5)


def test_vectors_do_not_depend_on_order_or_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(tmp_path)
    model = loaded(monkeypatch, tmp_path)
    rows: list[int] = []
    model.model.register_forward_pre_hook(
        lambda module, args, kwargs: rows.append(len(kwargs["input_ids"])), with_kwargs=True
    )
    together = model.sentences(TEXTS)
    assert sum(rows) == len(set(TEXTS))
    assert model.sentences(TEXTS[::-1])[::-1] == pytest.approx(together, abs=1e-5)
    assert np.concatenate([model.sentences([t]) for t in TEXTS]) == pytest.approx(together, abs=1e-5)
    model.budget.tokens = 1
    assert model.sentences(TEXTS) == pytest.approx(together, abs=1e-5)


def test_a_sentence_is_the_unit_mean_of_its_last_states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(tmp_path)
    model = loaded(monkeypatch, tmp_path)
    mean = alone(model, "the cat")[-1].mean(dim=0).numpy()
    assert model.sentences(["the cat"])[0] == pytest.approx(mean / np.sqrt((mean**2).sum()), abs=1e-6)
    assert model.sentences([]).shape == (0, 16)


def test_a_long_text_keeps_its_start_and_closing_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = saved(tmp_path, "roberta without a pooler")
    (tmp_path / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 10}))
    model = loaded(monkeypatch, tmp_path)
    assert (model.limit, model.sentence_limit) == (64, 10)  # 66 positions, of which RoBERTa counts from the third on
    text = "dog " * 200
    read = model.tokens([text], [3])[0].read
    assert (len(read.ids), read.truncated, read.ids[-1]) == (64, True, 2)
    assert read.special.tolist() == [True, *[False] * 62, True]
    vectors, cut = model.embed([text, "dog"])
    assert cut.tolist() == [True, False]
    assert vectors[0] == pytest.approx(alone_cut(model, text, 10), abs=1e-5)
    assert encoder_shape(checkpoint).sentence_tokens == 10


def alone_cut(model: Encoder, text: str, limit: int) -> Any:
    ids = model.read(text, limit).ids
    with torch.inference_mode():
        mean = model.model(input_ids=torch.tensor([ids])).last_hidden_state[0].mean(dim=0)
    return (mean / mean.norm()).numpy()


def test_offsets_are_code_points_and_special_tokens_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(tmp_path)
    read = loaded(monkeypatch, tmp_path).read("😀 </s> the cat")
    assert read.special.sum() == 2
    spans = [read.offsets[i] for i in range(len(read.ids)) if not read.special[i]]
    assert {"😀 </s> the cat"[a:b].strip() for a, b in spans} >= {"😀", "the", "cat"}
    assert read.words[0] == -1


def with_pooling(folder: Path, **said: object) -> Checkpoint:
    checkpoint = saved(folder)
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(said))
    return checkpoint


def test_first_token_pooling_works(tmp_path: Path) -> None:
    checkpoint = with_pooling(tmp_path, pooling_mode_cls_token=True, pooling_mode_mean_tokens=False)
    torch.manual_seed(0)
    model = Encoder(BertModel.from_pretrained(tmp_path), tokenizer(), encoder_shape(checkpoint))
    first = alone(model, "the cat")[-1][0]
    assert model.sentences(["the cat"])[0] == pytest.approx((first / first.norm()).numpy(), abs=1e-6)


@pytest.mark.parametrize(("named", "pooling"), [("cls", "cls"), (["cls"], "cls"), ("mean", "mean")])
def test_a_pooling_under_its_newer_name_is_followed(named: object, pooling: str, tmp_path: Path) -> None:
    said = {"embedding_dimension": 16, "pooling_mode": named, "include_prompt": True}
    assert encoder_shape(with_pooling(tmp_path, **said)).pooling == pooling


@pytest.mark.parametrize(
    ("said", "got"),
    [
        ({"embedding_dimension": 16}, "none"),
        ({"pooling_mode_cls_token": False}, "none"),
        ({"pooling_mode_max_tokens": True}, "pooling_mode_max_tokens"),
        ({"pooling_mode": "lasttoken"}, "lasttoken"),
        ({"pooling_mode": ["cls", "mean"]}, "cls, mean"),
        ({"pooling_mode": "mean", "pooling_mode_max_tokens": True}, "pooling_mode_max_tokens, mean"),
    ],
)
def test_a_pooling_that_is_not_one_of_the_two_is_refused(said: dict[str, object], got: str, tmp_path: Path) -> None:
    checkpoint = with_pooling(tmp_path, **said)
    with pytest.raises(UserError, match="sentence pooling") as caught:
        encoder_shape(checkpoint)
    assert caught.value.got == got


def modules(**folders: str) -> str:
    kinds = [f"sentence_transformers.models.{kind}" for kind in folders]
    return json.dumps([{"type": kind, "path": path} for kind, path in zip(kinds, folders.values(), strict=True)])


def test_unsupported_modules_are_refused_and_pooling_is_located(tmp_path: Path) -> None:
    checkpoint = saved(tmp_path)
    listed = tmp_path / "modules.json"
    listed.write_text(modules(Transformer="", Pooling="1_Pooling", Dense="2_Dense"))
    with pytest.raises(UserError, match="unsupported module") as caught:
        encoder_shape(checkpoint)
    assert caught.value.got == "Dense"
    listed.write_text(modules(Transformer="", Pooling="pool", Normalize="2_Normalize"))
    with pytest.raises(UserError, match=r"cannot read pool/config\.json"):
        encoder_shape(checkpoint)
    (tmp_path / "pool").mkdir()
    (tmp_path / "pool" / "config.json").write_text(json.dumps({"pooling_mode": "cls"}))
    assert encoder_shape(checkpoint).pooling == "cls"
    listed.write_text("[3]")
    with pytest.raises(UserError, match="cannot read the module list"):
        encoder_shape(checkpoint)


def test_unknown_layers_are_refused_and_float32_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(tmp_path / "one")
    shutil.copytree(tmp_path / "one", tmp_path / "other")
    model = loaded(monkeypatch, tmp_path / "one")
    with pytest.raises(UserError, match="from 0 to 3"):
        model.tokens(["a"], [4])
    other = loaded(monkeypatch, tmp_path / "other", "bf16")  # of the encoder–decoder alone
    assert next(other.model.parameters()).dtype == torch.float32
    assert np.array_equal(other.sentences(["the cat"]), model.sentences(["the cat"]))


def test_a_checkpoint_without_encoder_weights_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 4}))
    with pytest.raises(UserError, match="lacks weights"):
        loaded(monkeypatch, tmp_path)


# sentence-transformers 6.2.0, SentenceTransformer(folder).encode(TEXTS, normalize_embeddings=True), torch 2.13.0:
# the first six numbers of each vector, and its cosine with the first.
MINILM = {
    "The cat sat on the mat.": ((0.130237, -0.015773, -0.036717, 0.057986, -0.059792, 0.033054), 1.0),
    "她昨天去了北京。": ((0.10348, 0.115508, 0.079112, -0.020455, -0.046601, 0.059172), -0.046248),
    "naïve café 😀": ((-0.013975, -0.007153, 0.033429, 0.024916, 0.023461, 0.012452), 0.032034),
    "one two three four five " * 100: ((0.01082, -0.022093, 0.056918, -0.068514, -0.057822, 0.021451), 0.10294),
}


@pytest.mark.models
def test_minilm_gives_the_vectors_of_sentence_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    need_minilm(monkeypatch)
    vectors, cut = encoder.load_encoder().embed(list(MINILM))
    assert vectors[:, :6] == pytest.approx(np.array([first for first, _ in MINILM.values()]), abs=2e-5)
    assert vectors @ vectors[0] == pytest.approx([cosine for _, cosine in MINILM.values()], abs=2e-5)
    assert cut.tolist() == [False, False, False, True]
