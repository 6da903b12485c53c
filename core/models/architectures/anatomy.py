"""Uniform access to the parts of BART, M2M100 / NLLB and T5 decoders, so that one loop runs them all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from torch import Tensor, nn

from core.errors import UserError

Function = Callable[[Tensor], Tensor]


class Attention(NamedTuple):
    """One attention sub-layer; see `Anatomy.scale` for the scaling of scores."""

    norm: Function
    query: Function
    key: Function
    value: Function
    out: Function


class Block(NamedTuple):
    """One decoder layer."""

    itself: Attention
    other: Attention
    feed_norm: Function
    feed: Function


class Anatomy(NamedTuple):
    """The parts of a decoder.

    `embed(ids, positions)` returns (tokens, d) for flat ids and positions; `finish` is applied between the last block and
    the vocabulary; `weight` (vocabulary, d) and `bias` (vocabulary,) or None give the logits. `before` is True for
    pre-norm models. `bias_of(distance)` returns (…, heads), added to the self-attention scores, where distance is key
    position − query position; None if the family has no such bias.
    """

    blocks: list[Block]
    before: bool
    heads: int
    scale: float
    embed: Callable[[Tensor, Tensor], Tensor]
    finish: Function
    weight: Tensor
    bias: Tensor | None
    bias_of: Function | None


def anatomy(model: Any) -> Anatomy:
    """Return the parts of a conditional-generation model. Raises UserError for unsupported families."""
    family = FAMILIES.get(model.config.model_type)
    if family is None:
        raise UserError(
            "this architecture is not supported as seq2seq model",
            got=f"model_type “{model.config.model_type}”",
            expected=", ".join(FAMILIES),
        )
    return family(model)


def _bart(model: Any) -> Anatomy:
    decoder = model.get_decoder()
    positions, norm = decoder.embed_positions, decoder.layernorm_embedding

    def embed(ids: Tensor, at: Tensor) -> Tensor:
        return norm(decoder.embed_tokens(ids) + positions.weight[at + positions.offset])  # type: ignore[no-any-return]

    return _bart_like(model, embed, before=False, finish=nn.Identity())


def _m2m100(model: Any) -> Anatomy:
    decoder = model.get_decoder()
    positions = decoder.embed_positions

    def embed(ids: Tensor, at: Tensor) -> Tensor:
        return decoder.embed_tokens(ids) + positions.weights[at + positions.padding_idx + 1]  # type: ignore[no-any-return]

    return _bart_like(model, embed, before=True, finish=decoder.layer_norm)


def _bart_like(model: Any, embed: Callable[[Tensor, Tensor], Tensor], *, before: bool, finish: Function) -> Anatomy:
    decoder = model.get_decoder()
    blocks = []
    for layer in decoder.layers:
        own = _attention(layer.self_attn_layer_norm, layer.self_attn)
        other = _attention(layer.encoder_attn_layer_norm, layer.encoder_attn)
        blocks.append(Block(own, other, layer.final_layer_norm, _feed(layer)))
    attention = decoder.layers[0].self_attn
    bias = getattr(model, "final_logits_bias", None)
    return Anatomy(
        blocks,
        before,
        attention.num_heads,
        attention.head_dim**-0.5,
        embed,
        finish,
        model.get_output_embeddings().weight,
        None if bias is None or not bool(bias.any()) else bias[0],
        None,
    )


def _attention(
    norm: Function, layer: Any, names: Sequence[str] = ("q_proj", "k_proj", "v_proj", "out_proj")
) -> Attention:
    return Attention(norm, *(getattr(layer, name) for name in names))


def _feed(layer: Any) -> Function:
    return lambda x: layer.fc2(layer.activation_fn(layer.fc1(x)))


def _t5(model: Any) -> Anatomy:
    decoder = model.get_decoder()
    blocks = []
    for block in decoder.block:
        own, other, feed = block.layer
        first = _attention(own.layer_norm, own.SelfAttention, "qkvo")
        second = _attention(other.layer_norm, other.EncDecAttention, "qkvo")
        blocks.append(Block(first, second, feed.layer_norm, feed.DenseReluDense))
    attention = decoder.block[0].layer[0].SelfAttention
    scale = model.config.d_model**-0.5 if getattr(model.config, "scale_decoder_outputs", False) else 1.0

    def bias_of(distance: Tensor) -> Tensor:
        buckets = attention._relative_position_bucket(
            distance,
            bidirectional=False,
            num_buckets=attention.relative_attention_num_buckets,
            max_distance=attention.relative_attention_max_distance,
        )
        return attention.relative_attention_bias(buckets)  # type: ignore[no-any-return]

    return Anatomy(
        blocks,
        True,
        attention.n_heads,
        1.0,
        lambda ids, at: decoder.embed_tokens(ids),
        lambda x: decoder.final_layer_norm(x) * scale,
        model.get_output_embeddings().weight,
        None,
        bias_of,
    )


FAMILIES: dict[str, Callable[[Any], Anatomy]] = {
    "bart": _bart,
    "m2m_100": _m2m100,
    "t5": _t5,
    "mt5": _t5,
}
