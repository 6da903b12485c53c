"""Attention of many rows in one flat sequence of tokens: group by group on a CPU, in one padded batch on a GPU.

On a CPU, small passes of different shapes are cheap, and padding would waste computation. On a GPU, starting a pass takes longer
than computing it, so all rows are padded to the longest and computed in one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

Numbers = npt.NDArray[np.int_]
Flags = npt.NDArray[np.bool_]
Bias = Callable[[Tensor], Tensor]
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


class Heads(NamedTuple):
    """The number of heads, the factor of the scores, and the bias by distance (key position − query position), or None."""

    number: int
    scale: float
    bias_of: Bias | None = None


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
            found = scaled_dot_product_attention(asked, k, v, masks[s.start, s.length], scale=heads.scale)
            _split(out[s.first : s.last], s.rows, heads.number).copy_(found)
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
        there, old = at < ends[:, None], at < rows.starts[:, None]
        new = (0 if known is None else known.shape[2]) + (rows.firsts - rows.starts)[:, None] + at
        places = np.where(there, np.where(old, rows.begins[:, None] + at, new), 0)
        return _index(places, like), _padded_mask(rows, asked, there, heads, like, causal)

    def attend(layer: int, query: Tensor, keys: Tensor | None, values: Tensor | None) -> Tensor:
        own = keys is not None
        if own not in plans:
            plans[own] = plan(own)
        places, mask = plans[own]
        all_keys, all_values = (_joined(known, layer, i, t) for i, t in enumerate((keys, values)))
        at_once = max(1, AT_ONCE // max(queries.shape[1], places.shape[1]))
        found = []
        for some, near, hidden in zip(*(torch.split(t, at_once) for t in (queries, places, mask)), strict=True):
            near = near.flatten()
            q, k, v = (
                _split(t.index_select(0, at), len(some), heads.number)
                for t, at in ((query, some.flatten()), (all_keys, near), (all_values, near))
            )
            out = scaled_dot_product_attention(q, k, v, hidden, scale=heads.scale)
            found.append(out.transpose(1, 2).reshape(-1, query.shape[1]))
        return torch.cat(found).index_select(0, back)

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


def _padded_mask(rows: _Rows, asked: Numbers, there: Flags, heads: Heads, like: Tensor, causal: bool) -> Tensor:
    """Return the mask (rows, 1 or heads, queries, keys): −∞ for missing keys and, with `causal`, for later ones, plus the bias."""
    at = _index(rows.starts, like)[:, None, None] + _index(asked, like)[None, :, None]
    distance = torch.arange(there.shape[1], device=like.device) - at
    visible = torch.from_numpy(there).to(like.device)[:, None, :]
    visible = visible & (distance <= 0) if causal else visible.expand(-1, len(asked), -1)
    if heads.bias_of is None:
        bias = like.new_zeros(()).expand(len(there), 1, *distance.shape[1:])
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
