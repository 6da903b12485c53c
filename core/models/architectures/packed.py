"""Run a decoder on many rows at once without padding, each continuing a cached prefix.

Linear layers see one flat sequence of new tokens. Attention runs once per group of adjacent rows of equal shape, whose common
prefix is stored once; keys and values of the conditioning text are computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import groupby
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from core.models.architectures.anatomy import Anatomy


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


def memory(parts: Anatomy, states: Tensor) -> Tensor:
    """Return keys and values (layers, 2, tokens, heads · head size) of encoder states (tokens, d)."""
    return torch.stack([torch.stack([b.other.key(states), b.other.value(states)]) for b in parts.blocks])


def run(parts: Anatomy, rows: Sequence[DecoderRow]) -> DecoderRun:
    """Run all rows in one pass; the caller limits the number of tokens."""
    device = parts.weight.device
    own = _groups(rows, lambda r: (id(r.past), r.start, len(r.ids)), [r.past for r in rows])
    cross = [s._replace(rows=1) for s in _groups(rows, lambda r: id(r.memory), [r.memory for r in rows])]
    masks = {(s.start, s.last - s.first, s.rows): _mask(parts, s) for s in own}
    ids = torch.tensor([i for r in rows for i in r.ids], device=device)
    x = parts.embed(ids, torch.tensor([r.start + i for r in rows for i in range(len(r.ids))], device=device))
    kept = x.new_empty((len(parts.blocks), 2, len(ids), parts.blocks[0].itself.key(x[:1]).shape[1]))

    def heads(t: Tensor, count: int) -> Tensor:
        return t.view(count, -1, parts.heads, t.shape[-1] // parts.heads).transpose(1, 2)

    def attend(query: Tensor, s: AttentionGroup, keys: Tensor, values: Tensor, mask: Tensor | None = None) -> Tensor:
        own = heads(query[s.first : s.last], s.rows)
        return scaled_dot_product_attention(own, keys, values, mask, scale=parts.scale)

    for layer, block in enumerate(parts.blocks):
        y = block.itself.norm(x) if parts.before else x
        query, kept[layer, 0], kept[layer, 1] = block.itself.query(y), block.itself.key(y), block.itself.value(y)
        out = torch.empty_like(query)
        for s in own:
            keys, values = (heads(kept[layer, i, s.first : s.last], s.rows) for i in (0, 1))
            if s.known is not None and s.start:
                before = [heads(s.known[layer, i, : s.start], 1).expand(s.rows, -1, -1, -1) for i in (0, 1)]
                keys, values = torch.cat([before[0], keys], dim=2), torch.cat([before[1], values], dim=2)
            mask = masks[s.start, s.last - s.first, s.rows]
            heads(out[s.first : s.last], s.rows).copy_(attend(query, s, keys, values, mask))
        y = block.itself.out(out)
        x = x + y if parts.before else block.itself.norm(x + y)

        query = block.other.query(block.other.norm(x) if parts.before else x)
        out = torch.empty_like(query)
        for s in cross:
            assert s.known is not None
            keys, values = (heads(s.known[layer, i], 1) for i in (0, 1))
            heads(out[s.first : s.last], 1).copy_(attend(query, s, keys, values))
        y = block.other.out(out)
        x = x + y if parts.before else block.other.norm(x + y)

        y = block.feed(block.feed_norm(x) if parts.before else x)
        x = x + y if parts.before else block.feed_norm(x + y)
    return DecoderRun(parts.finish(x), kept)


def _groups(
    rows: Sequence[DecoderRow], key: Callable[[DecoderRow], Hashable], known: Sequence[Tensor | None]
) -> list[AttentionGroup]:
    """Return groups of adjacent rows with equal keys, each with the cached tensor of its first row."""
    out, first = [], 0
    for _, group in groupby(range(len(rows)), key=lambda i: key(rows[i])):
        mine = list(group)
        last = first + sum(len(rows[i].ids) for i in mine)
        out.append(AttentionGroup(first, last, len(mine), known[mine[0]], rows[mine[0]].start))
        first = last
    return out


def _mask(parts: Anatomy, s: AttentionGroup) -> Tensor | None:
    """Return the bias of a group's self-attention scores: −∞ for later positions, plus the family's position bias."""
    length = (s.last - s.first) // s.rows
    device = parts.weight.device
    at = torch.arange(s.start, s.start + length, device=device)[:, None]
    distance = torch.arange(s.start + length, device=device)[None, :] - at
    bias = (
        torch.zeros(distance.shape, dtype=parts.weight.dtype, device=device)
        if parts.bias_of is None
        else parts.bias_of(distance).permute(2, 0, 1)
    )
    return bias.masked_fill(distance > 0, float("-inf"))
