"""Run an encoder or a decoder on many rows at once without padding; decoder rows continue a cached prefix.

Linear layers see one flat sequence of new tokens. Attention runs once per group of adjacent rows of equal shape, whose common
prefix is stored once; keys and values of the conditioning text are computed once.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import groupby
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from core.models.architectures.anatomy import Anatomy, Embedding, EncoderAnatomy
from core.models.architectures.dense import Function

STEP = 16
"""Numbers of rows in linear layers are multiples of this on a CPU."""

Masks = dict[tuple[int, int], Tensor | None]


class DecoderRow(NamedTuple):
    """New decoder inputs `ids` (at least one) at positions `start`, `start` + 1, …, after the first `start` tokens of `past`.

    `memory` and `past` are keys and values of shape (layers, 2, tokens, heads · head size).
    """

    memory: Tensor
    past: Tensor | None
    start: int
    ids: Sequence[int]


class DecoderRun(NamedTuple):
    """`hidden` (tokens, d), input of the vocabulary projection, and `past` (layers, 2, tokens, heads · head size), row by row."""

    hidden: Tensor
    past: Tensor


class AttentionGroup(NamedTuple):
    """Tokens [first, last) of the flat sequence: `rows` rows of equal length that share past or memory."""

    first: int
    last: int
    rows: int
    known: Tensor | None
    start: int

    @property
    def length(self) -> int:
        """Return the number of new tokens per row."""
        return (self.last - self.first) // self.rows


def encode(parts: EncoderAnatomy, rows: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    """Return the encoder states (tokens, d) of all rows, one after the other, in one pass.

    There may be more states than tokens: see `_filled`.
    """
    sizes = [len(r) for r in rows]
    groups = _groups(sizes, sizes, [None] * len(rows), [0] * len(rows))
    biases = {(s.start, s.length): _bias(parts.bias_of, s, device) for s in groups}
    x, at = _embedded(parts.embed, [i for r in rows for i in r], [i for n in sizes for i in range(n)], device)
    at = _filled(at)
    for layer, block in enumerate(parts.blocks):
        y = block.itself.norm(x) if parts.before else x
        query, keys, values = block.itself.query(y), block.itself.key(y), block.itself.value(y)
        if layer == 0:
            x, query, keys, values = (t.index_select(0, at) for t in (x, query, keys, values))
        x = block.itself.out(_attend(parts, layer, groups, biases, query, keys, values), x)
        x = x if parts.before else block.itself.norm(x)
        x = block.feed(block.feed_norm(x) if parts.before else x, x)
        x = x if parts.before else block.feed_norm(x)
    return parts.finish(x)


def memory(parts: Anatomy, states: Tensor) -> Tensor:
    """Return keys and values (layers, 2, tokens, heads · head size) of encoder states (tokens, d)."""
    width = parts.blocks[0].other.key(states[:1]).shape[1]
    out = states.new_empty((len(parts.blocks), 2, len(states), width))
    for layer, block in enumerate(parts.blocks):
        out[layer, 0], out[layer, 1] = block.other.key(states), block.other.value(states)
    return out


def run(parts: Anatomy, rows: Sequence[DecoderRow], *, keep: bool = True) -> DecoderRun:
    """Run all rows in one pass; the caller limits the number of tokens. Without `keep`, `past` is empty.

    The first self-attention does not depend on the conditioning text, so rows of equal tokens share it.
    """
    device = parts.weight.device
    distinct = {(id(r.past), r.start, tuple(r.ids)): r for r in rows}
    firsts = list(distinct.values())
    spread = _filled(_spread(rows, firsts, list(distinct))) if len(firsts) < len(rows) else None
    sizes = [len(r.ids) for r in rows]
    own = _own_groups(rows)
    cross = [
        s._replace(rows=1)
        for s in _groups([id(r.memory) for r in rows], sizes, [r.memory for r in rows], [0] * len(rows))
    ]
    masks: Masks = {(s.start, s.length): _mask(parts, s) for s in own}
    ids, positions = [i for r in firsts for i in r.ids], [r.start + i for r in firsts for i in range(len(r.ids))]
    x, at = _embedded(parts.embed, ids, positions, device)
    at, tokens = _filled(at), sum(sizes)
    width = parts.blocks[0].itself.key(x[:1]).shape[1]
    kept = x.new_empty((len(parts.blocks) if keep else 0, 2, tokens, width))

    for layer, block in enumerate(parts.blocks):
        y = block.itself.norm(x) if parts.before else x
        query, keys, values = block.itself.query(y), block.itself.key(y), block.itself.value(y)
        if layer == 0:
            x, query, keys, values = (t.index_select(0, at) for t in (x, query, keys, values))
        groups = own if layer or spread is None else _own_groups(firsts)
        x = block.itself.out(_attend(parts, layer, groups, masks, query, keys, values), x)
        x = x if parts.before else block.itself.norm(x)
        query = block.other.query(block.other.norm(x) if parts.before else x)
        if layer == 0 and spread is not None:
            x, query, keys, values = (t.index_select(0, spread) for t in (x, query, keys, values))
        if keep:
            kept[layer, 0], kept[layer, 1] = keys[:tokens], values[:tokens]

        out = torch.zeros_like(query)
        for s in cross:
            assert s.known is not None
            keys, values = (_heads(s.known[layer, i], 1, parts.heads) for i in (0, 1))
            asked = _heads(query[s.first : s.last], 1, parts.heads)
            found = scaled_dot_product_attention(asked, keys, values, scale=parts.scale)
            _heads(out[s.first : s.last], 1, parts.heads).copy_(found)
        x = block.other.out(out, x)
        x = x if parts.before else block.other.norm(x)
        x = block.feed(block.feed_norm(x) if parts.before else x, x)
        x = x if parts.before else block.feed_norm(x)
    return DecoderRun(parts.finish(x)[:tokens], kept)


def _attend(
    parts: Anatomy | EncoderAnatomy,
    layer: int,
    groups: Sequence[AttentionGroup],
    masks: Masks,
    query: Tensor,
    keys: Tensor,
    values: Tensor,
) -> Tensor:
    """Return the self-attention of all groups (tokens, heads · head size)."""
    out = torch.zeros_like(query)
    for s in groups:
        q, k, v = (_heads(t[s.first : s.last], s.rows, parts.heads) for t in (query, keys, values))
        if s.known is not None and s.start:
            before = [_heads(s.known[layer, i, : s.start], 1, parts.heads).expand(s.rows, -1, -1, -1) for i in (0, 1)]
            k, v = torch.cat([before[0], k], dim=2), torch.cat([before[1], v], dim=2)
        found = scaled_dot_product_attention(q, k, v, masks[s.start, s.length], scale=parts.scale)
        _heads(out[s.first : s.last], s.rows, parts.heads).copy_(found)
    return out


def _filled(at: Tensor) -> Tensor:
    """Return an index of rows with copies of row 0 at the end on a CPU, up to a multiple of `STEP`.

    For each new number of rows, oneDNN compiles a kernel, which takes as long as the product of several hundred rows.
    """
    lacking = -len(at) % STEP if at.device.type == "cpu" else 0
    return torch.cat([at, at.new_zeros(lacking)]) if lacking else at


def _heads(t: Tensor, rows: int, heads: int) -> Tensor:
    return t.view(rows, -1, heads, t.shape[-1] // heads).transpose(1, 2)


def _embedded(
    embed: Embedding, ids: Sequence[int], positions: Sequence[int], device: torch.device
) -> tuple[Tensor, Tensor]:
    """Return the embeddings of the distinct pairs of token and position, and the index of each token's pair.

    Candidate edits of one text share most of their pairs, and so most queries, keys and values of the first layer.
    """
    places: dict[tuple[int, int], int] = {}
    at = [places.setdefault(pair, len(places)) for pair in zip(ids, positions, strict=True)]
    pairs = torch.tensor(list(places), device=device)
    pairs = pairs.index_select(0, _filled(torch.arange(len(pairs), device=device)))
    return embed(pairs[:, 0], pairs[:, 1]), torch.tensor(at, device=device)


def _spread(rows: Sequence[DecoderRow], firsts: Sequence[DecoderRow], keys: Sequence[Hashable]) -> Tensor:
    """Return the index of each token of `rows` among the tokens of `firsts`, the distinct ones of `keys`."""
    begins, end = {}, 0
    for row, key in zip(firsts, keys, strict=True):
        begins[key] = end
        end += len(row.ids)
    starts = [begins[id(r.past), r.start, tuple(r.ids)] for r in rows]
    return torch.tensor(
        [s + i for s, r in zip(starts, rows, strict=True) for i in range(len(r.ids))], device=rows[0].memory.device
    )


def _own_groups(rows: Sequence[DecoderRow]) -> list[AttentionGroup]:
    """Return the groups of rows for self-attention."""
    return _groups(
        [(id(r.past), r.start, len(r.ids)) for r in rows],
        [len(r.ids) for r in rows],
        [r.past for r in rows],
        [r.start for r in rows],
    )


def _groups(
    keys: Sequence[Hashable], sizes: Sequence[int], known: Sequence[Tensor | None], starts: Sequence[int]
) -> list[AttentionGroup]:
    """Return groups of adjacent rows with equal keys, each with the cached tensor and the start of its first row."""
    out, first = [], 0
    for _, group in groupby(range(len(keys)), key=lambda i: keys[i]):
        mine = list(group)
        last = first + sum(sizes[i] for i in mine)
        out.append(AttentionGroup(first, last, len(mine), known[mine[0]], starts[mine[0]]))
        first = last
    return out


def _mask(parts: Anatomy, s: AttentionGroup) -> Tensor:
    """Return the bias of a group's self-attention scores: −∞ for later positions, plus the family's position bias."""
    bias = _bias(parts.bias_of, s, parts.weight.device)
    distance = _distance(s, parts.weight.device)
    if bias is None:
        bias = torch.zeros(distance.shape, dtype=parts.weight.dtype, device=parts.weight.device)
    return bias.masked_fill(distance > 0, float("-inf"))


def _bias(bias_of: Function | None, s: AttentionGroup, device: torch.device) -> Tensor | None:
    return None if bias_of is None else bias_of(_distance(s, device)).permute(2, 0, 1)


def _distance(s: AttentionGroup, device: torch.device) -> Tensor:
    """Return key position − query position for the tokens of one row."""
    at = torch.arange(s.start, s.start + s.length, device=device)[:, None]
    return torch.arange(s.start + s.length, device=device)[None, :] - at
