"""Run an encoder or a decoder on many rows at once without padding; decoder rows continue a cached prefix.

Linear layers see one flat sequence of new tokens. Adjacent rows of equal shape form a group, whose common prefix is stored once;
keys and values of the conditioning text are computed once.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from itertools import chain, groupby
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from core.models.architectures.anatomy import Anatomy, Embedding, EncoderAnatomy
from core.models.architectures.attention import AttentionGroup, Heads, attention

STEP = 16
"""Numbers of rows in linear layers are multiples of this on a CPU."""


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


def encode(parts: EncoderAnatomy, rows: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    """Return the encoder states (tokens, d) of all rows, one after the other, in one pass.

    There may be more states than tokens: see `_filled`.
    """
    sizes = [len(r) for r in rows]
    groups = _groups(sizes, sizes, [None] * len(rows), [0] * len(rows))
    x, at = _embedded(parts.embed, [i for r in rows for i in r], [i for n in sizes for i in range(n)], device)
    at = _filled(at)
    attend = attention(groups, Heads(parts.heads, parts.scale, parts.bias_of), x, causal=False)
    for layer, block in enumerate(parts.blocks):
        y = block.itself.norm(x) if parts.before else x
        query, keys, values = block.itself.query(y), block.itself.key(y), block.itself.value(y)
        if layer == 0:
            x, query, keys, values = (t.index_select(0, at) for t in (x, query, keys, values))
        x = block.itself.out(attend(layer, query, keys, values), x)
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
    lengths = [r.memory.shape[2] for r in rows]
    conditions = _groups([id(r.memory) for r in rows], sizes, [r.memory for r in rows], lengths)
    heads = Heads(parts.heads, parts.scale, parts.bias_of)
    own = attention(_own_groups(rows), heads, parts.weight, causal=True)
    first = own if spread is None else attention(_own_groups(firsts), heads, parts.weight, causal=True)
    cross = attention(
        [s._replace(rows=1) for s in conditions], heads._replace(bias_of=None), parts.weight, causal=False
    )
    ids = list(chain.from_iterable(r.ids for r in firsts))
    positions = list(chain.from_iterable(range(r.start, r.start + len(r.ids)) for r in firsts))
    x, at = _embedded(parts.embed, ids, positions, device)
    at, tokens = _filled(at), sum(sizes)
    width = parts.blocks[0].itself.key(x[:1]).shape[1]
    kept = x.new_empty((len(parts.blocks) if keep else 0, 2, tokens, width))

    for layer, block in enumerate(parts.blocks):
        y = block.itself.norm(x) if parts.before else x
        query, keys, values = block.itself.query(y), block.itself.key(y), block.itself.value(y)
        if layer == 0:
            x, query, keys, values = (t.index_select(0, at) for t in (x, query, keys, values))
        x = block.itself.out((own if layer else first)(layer, query, keys, values), x)
        x = x if parts.before else block.itself.norm(x)
        query = block.other.query(block.other.norm(x) if parts.before else x)
        if layer == 0 and spread is not None:
            x, query, keys, values = (t.index_select(0, spread) for t in (x, query, keys, values))
        if keep:
            kept[layer, 0], kept[layer, 1] = keys[:tokens], values[:tokens]
        x = block.other.out(cross(layer, query, None, None), x)
        x = x if parts.before else block.other.norm(x)
        x = block.feed(block.feed_norm(x) if parts.before else x, x)
        x = x if parts.before else block.feed_norm(x)
    return DecoderRun(parts.finish(x)[:tokens], kept)


def _filled(at: Tensor) -> Tensor:
    """Return an index of rows with copies of row 0 at the end on a CPU, up to a multiple of `STEP`.

    For each new number of rows, oneDNN compiles a kernel, which takes as long as the product of several hundred rows.
    """
    lacking = -len(at) % STEP if at.device.type == "cpu" else 0
    return torch.cat([at, at.new_zeros(lacking)]) if lacking else at


def _embedded(
    embed: Embedding, ids: Sequence[int], positions: Sequence[int], device: torch.device
) -> tuple[Tensor, Tensor]:
    """Return the embeddings of the distinct pairs of token and position, and the index of each token's pair.

    Candidate edits of one text share most of their pairs, and so most queries, keys and values of the first layer.
    """
    if device.type != "cpu":  # all of them cost less than finding the distinct ones
        return embed(integers(ids, device), integers(positions, device)), torch.arange(len(ids), device=device)
    places: dict[tuple[int, int], int] = {}
    at = [places.setdefault(pair, len(places)) for pair in zip(ids, positions, strict=True)]
    pairs = torch.tensor(list(places), device=device)
    pairs = pairs.index_select(0, _filled(torch.arange(len(pairs), device=device)))
    return embed(pairs[:, 0], pairs[:, 1]), integers(at, device)


def integers(values: Collection[int], device: torch.device) -> Tensor:
    """Return a tensor of integers; `torch.tensor` takes ten times as long for a list."""
    return torch.from_numpy(np.fromiter(values, np.int64, len(values))).to(device)


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
