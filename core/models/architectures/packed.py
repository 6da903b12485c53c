"""Run an encoder or a decoder on many rows at once without padding, with attention group by group; decoder rows continue a cached prefix.

Linear layers see one flat sequence of new tokens. Adjacent rows of equal shape form a group, whose common prefix is stored once;
keys and values of the conditioning text are computed once. Attention is computed group by group on a CPU, where small passes of different
shapes are cheap and padding would waste computation. On a GPU, starting a pass takes longer than computing it, so all rows are padded to the
longest and computed in one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from itertools import chain, groupby
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from core.models.architectures.anatomy import Anatomy, Embedding, EncoderAnatomy, Heads

Numbers = npt.NDArray[np.int_]
Flags = npt.NDArray[np.bool_]
Attend = Callable[[int, Tensor, Tensor | None, Tensor | None], Tensor]
"""Return the attention of each token, given (layer, queries, new keys, new values), each of shape (tokens, heads · head size)."""

ALIGNED = 8
"""The number of keys is padded to a multiple of this, which the fast GPU kernels require."""


AT_ONCE = 1 << 18
"""Padded queries or keys that are computed at once: 1 GiB in fp32 with a width of 1,024."""


class AttentionGroup(NamedTuple):
    """Tokens [first, last) of the flat sequence: `rows` rows of equal length, after the first `start` tokens of `known`.

    `known` holds keys and values of shape (layers, 2, tokens, heads · head size).
    """

    first: int
    last: int
    rows: int
    known: Tensor | None
    start: int

    @property
    def length(self) -> int:
        """Return the number of new tokens per row."""
        return (self.last - self.first) // self.rows


def attention(groups: Sequence[AttentionGroup], heads: Heads, like: Tensor, *, causal: bool) -> Attend:
    """Return a function for the attention of all groups, with the device and number format of `like`.

    Tokens attend to the known ones of their group and to the new ones of their row; with `causal`, to no later one. Without new
    keys and values, they attend to the known ones alone; then `causal` must be False.
    """
    return (_grouped_attention if like.device.type == "cpu" else padded_attention)(groups, heads, like, causal=causal)


def _grouped_attention(groups: Sequence[AttentionGroup], heads: Heads, like: Tensor, *, causal: bool) -> Attend:
    masks = {(s.start, s.length): _mask(s, heads, like, causal) for s in groups}

    def attend(layer: int, query: Tensor, keys: Tensor | None, values: Tensor | None) -> Tensor:
        out = torch.zeros_like(query)
        for s in groups:
            k, v = (_with_known(s, layer, i, t, heads.number) for i, t in enumerate((keys, values)))
            asked = _split(query[s.first : s.last], s.rows, heads.number)
            attended = scaled_dot_product_attention(asked, k, v, masks[s.start, s.length], scale=heads.scale)
            _split(out[s.first : s.last], s.rows, heads.number).copy_(attended)
        return out

    return attend


def _with_known(s: AttentionGroup, layer: int, which: int, new: Tensor | None, heads: int) -> Tensor:
    own = [] if new is None else [_split(new[s.first : s.last], s.rows, heads)]
    if s.known is not None and s.start:
        own.insert(0, _split(s.known[layer, which, : s.start], 1, heads).expand(s.rows, -1, -1, -1))
    return own[0] if len(own) == 1 else torch.cat(own, dim=2)


def _mask(s: AttentionGroup, heads: Heads, like: Tensor, causal: bool) -> Tensor | None:
    """Return the bias of a group's scores: −∞ for later positions with `causal`, plus the family's position bias."""
    if heads.bias_of is None and not causal:
        return None
    at = torch.arange(s.start, s.start + s.length, device=like.device)[:, None]
    distance = torch.arange(s.start + s.length, device=like.device)[None, :] - at
    bias = like.new_zeros(distance.shape) if heads.bias_of is None else heads.bias_of(distance).permute(2, 0, 1)
    return bias.masked_fill(distance > 0, float("-inf")) if causal else bias


def padded_attention(groups: Sequence[AttentionGroup], heads: Heads, like: Tensor, *, causal: bool) -> Attend:
    """Return what `attention` returns, computed with all rows padded to the longest."""
    rows = _Rows.of(groups)
    kept = list({id(s.known): s.known for s in groups if s.known is not None and s.start}.values())
    known = torch.cat(kept, dim=2) if kept else None
    asked = np.arange(rows.sizes.max())
    used = asked < rows.sizes[:, None]
    queries = _index(np.where(used, rows.firsts[:, None] + asked, 0), like)
    back = _index(np.flatnonzero(used), like)
    plans: dict[bool, tuple[Tensor, Tensor]] = {}

    def plan(own: bool) -> tuple[Tensor, Tensor]:
        """Return the place of each key among the known and the new ones, and the mask."""
        ends = rows.starts + rows.sizes * own
        at = np.arange(-(-int(ends.max()) // ALIGNED) * ALIGNED)
        present, old = at < ends[:, None], at < rows.starts[:, None]
        new = (0 if known is None else known.shape[2]) + (rows.firsts - rows.starts)[:, None] + at
        places = np.where(present, np.where(old, rows.begins[:, None] + at, new), 0)
        return _index(places, like), _padded_mask(rows, asked, present, heads, like, causal)

    def attend(layer: int, query: Tensor, keys: Tensor | None, values: Tensor | None) -> Tensor:
        own = keys is not None
        if own not in plans:
            plans[own] = plan(own)
        places, mask = plans[own]
        all_keys, all_values = (_joined(known, layer, i, t) for i, t in enumerate((keys, values)))
        at_once = max(1, AT_ONCE // max(queries.shape[1], places.shape[1]))
        attended = []
        for some, near, hidden in zip(*(torch.split(t, at_once) for t in (queries, places, mask)), strict=True):
            near = near.flatten()
            q, k, v = (
                _split(t.index_select(0, at), len(some), heads.number)
                for t, at in ((query, some.flatten()), (all_keys, near), (all_values, near))
            )
            out = scaled_dot_product_attention(q, k, v, hidden, scale=heads.scale)
            attended.append(out.transpose(1, 2).reshape(-1, query.shape[1]))
        return torch.cat(attended).index_select(0, back)

    return attend


class _Rows(NamedTuple):
    """Arrays with one entry per row: `sizes` (new tokens), `firsts` (index of the first new token), `starts` (known tokens) and
    `begins` (index of the first known token).
    """

    sizes: Numbers
    firsts: Numbers
    starts: Numbers
    begins: Numbers

    @classmethod
    def of(cls, groups: Sequence[AttentionGroup]) -> _Rows:
        begins, end = dict[int, int](), 0
        for s in groups:
            if s.known is not None and s.start and id(s.known) not in begins:
                begins[id(s.known)] = end
                end += s.known.shape[2]
        counts = np.array([s.rows for s in groups])
        lengths = np.repeat([s.length for s in groups], counts)
        earlier = np.arange(len(lengths)) - np.repeat(np.cumsum(counts) - counts, counts)  # rows of the same group
        return cls(
            lengths,
            np.repeat([s.first for s in groups], counts) + earlier * lengths,
            np.repeat([s.start for s in groups], counts),
            np.repeat([begins.get(id(s.known), 0) for s in groups], counts),
        )


def _padded_mask(rows: _Rows, asked: Numbers, present: Flags, heads: Heads, like: Tensor, causal: bool) -> Tensor:
    """Return the mask (rows, 1 or heads, queries, keys): −∞ for missing keys and, with `causal`, for later ones, plus the bias."""
    at = _index(rows.starts, like)[:, None, None] + _index(asked, like)[None, :, None]
    distance = torch.arange(present.shape[1], device=like.device) - at
    visible = torch.from_numpy(present).to(like.device)[:, None, :]
    visible = visible & (distance <= 0) if causal else visible.expand(-1, len(asked), -1)
    if heads.bias_of is None:
        bias = like.new_zeros(()).expand(len(present), 1, *distance.shape[1:])
    else:
        bias = heads.bias_of(distance).permute(0, 3, 1, 2)
    return bias.masked_fill(~visible[:, None], float("-inf"))


def _joined(known: Tensor | None, layer: int, which: int, new: Tensor | None) -> Tensor:
    parts = [t for t in (None if known is None else known[layer, which], new) if t is not None]
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def _index(places: Numbers, like: Tensor) -> Tensor:
    return torch.from_numpy(places).to(like.device)


def _split(t: Tensor, rows: int, heads: int) -> Tensor:
    return t.view(rows, -1, heads, t.shape[-1] // heads).transpose(1, 2)


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
    attend = attention(groups, parts.heads, x, causal=False)
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


def decode_rows(parts: Anatomy, rows: Sequence[DecoderRow], *, keep: bool = True) -> DecoderRun:
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
    own = attention(_own_groups(rows), parts.heads, parts.weight, causal=True)
    first = own if spread is None else attention(_own_groups(firsts), parts.heads, parts.weight, causal=True)
    cross = attention(
        [s._replace(rows=1) for s in conditions], parts.heads._replace(bias_of=None), parts.weight, causal=False
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
