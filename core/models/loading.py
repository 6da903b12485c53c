"""Load checkpoints once, and run texts through them in batches of similar length within the memory. All in float32."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import update_wrapper
from threading import Lock, RLock
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar

import torch
from safetensors import SafetensorError
from torch import Tensor
from transformers import AutoTokenizer, PreTrainedTokenizerBase
from transformers.utils import logging as transformers_logging

from core.errors import UserError
from core.memory import RecentResults
from core.models import parallel
from core.models.checkpoint import Checkpoint, check_weights, is_adapter
from core.processes.pool import cores
from core.progress import Progress, no_progress
from core.settings import load_settings

log = logging.getLogger(__name__)

T = TypeVar("T")
CPU_BYTES, GPU_BYTES = 1 << 29, 1 << 32
SMALLEST, FEWEST = 64, 128


class Budget:
    """`tokens` is the number of padded or packed tokens per forward pass."""

    def __init__(self, tokens: int, device: torch.device | None = None) -> None:
        self.tokens, self.device = tokens, device or torch.device("cpu")

    def pieces(self, sizes: Sequence[int], shares: int = 1) -> Iterator[range]:
        """Yield consecutive ranges of rows whose sizes sum to the budget at most, with at least one row each.

        With `shares`, each piece gets that fraction of the budget, and there are at least `shares` pieces of similar size
        unless they were tiny. The budget may be halved between two pieces.
        """
        first, even = 0, max(FEWEST, -(-sum(sizes) // shares))
        while first < len(sizes):
            last, total = first, 0
            most = min(even, max(1, self.tokens // shares)) if shares > 1 else self.tokens
            while last < len(sizes) and (last == first or total + sizes[last] <= most):
                total += sizes[last]
                last += 1
            yield range(first, last)
            first = last

    def spend(self, sizes: Sequence[int], work: Callable[[range], T]) -> list[T]:
        """Return the results of `work` for all pieces. If memory runs out, halve the piece and all later ones.

        Raises what `work` raises if a single row is too large.
        """
        return [finished for piece in self.pieces(sizes) for finished in self._try(piece, work)]

    def each(self, sizes: Sequence[int], work: Callable[[range], Sequence[T]]) -> Iterator[Sequence[T]]:
        """Yield the result of `work` for each finished piece, in any order; on the CPU in several threads.

        Handles memory as `spend`. Raises what `work` raises.
        """
        shares = parallel.passes(self.device)
        pieces = self.pieces(sizes, shares)
        for finished in parallel.each(pieces, lambda piece: self._try(piece, work), self.device):
            yield from finished

    def _try(self, piece: range, work: Callable[[range], T]) -> list[T]:
        try:
            return [work(piece)]
        except (RuntimeError, MemoryError) as error:
            if not _out_of_memory(error) or len(piece) == 1:
                raise
            self.tokens = max(SMALLEST, self.tokens // 2)
            log.warning("out of memory: continuing with %d tokens per pass", self.tokens)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        half = len(piece) // 2
        return self._try(piece[:half], work) + self._try(piece[half:], work)


def _out_of_memory(error: BaseException) -> bool:
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or "can't allocate memory" in str(error)


def bytes_for(device: torch.device) -> int:
    """Return the bytes that keys and values, and activations of a pass, may use in addition to the model."""
    return GPU_BYTES if device.type == "cuda" else CPU_BYTES


def tokens_for(bytes_per_token: int, device: torch.device) -> int:
    """Return the tokens per pass for a model that needs this memory per token.

    On a CPU, a thousand tokens keep all cores busy; more would exceed its caches.
    """
    most, least = (32_768, 512) if device.type == "cuda" else (1024, 256)
    return max(least, min(most, bytes_for(device) // bytes_per_token))


def limit_threads() -> None:
    """Limit torch to the cores this process may use, which in a container may be fewer than the machine has."""
    ours = cores()
    if torch.get_num_threads() > ours:
        torch.set_num_threads(ours)


class TokenRow(NamedTuple):
    """Token ids of one text or two; `types` if the model uses token types; `truncated` is True if a text was cut."""

    ids: list[int]
    types: list[int]
    truncated: bool


class TextReader:
    """A loaded checkpoint with its tokenizer. `budget` limits the tokens per pass, by the `bytes_per_token` of activations."""

    def __init__(self, model: Any, tokenizer: PreTrainedTokenizerBase, bytes_per_token: int) -> None:
        self.model, self.tokenizer = model.eval(), tokenizer
        self.device = next(model.parameters()).device
        self.budget = Budget(tokens_for(bytes_per_token, self.device), self.device)
        self._tokenizing = Lock()  # tokenizers are not thread-safe

    def tokenized(self, *texts: str, **options: Any) -> Any:
        """Tokenize a text or a pair of texts. A special token written in a text, such as "[SEP]", is treated as text."""
        with self._tokenizing:
            return self.tokenizer(*texts, split_special_tokens=True, verbose=False, **options)

    def compute(
        self, rows: Sequence[TokenRow], work: Callable[[dict[str, Tensor], list[int]], Sequence[T]], progress: Progress
    ) -> list[T]:
        """Return the results of `work(batch, indices of its rows)` in row order; see `in_pieces`."""

        def of_group(group: list[int]) -> Sequence[T]:
            return work(padded([rows[i] for i in group], self.tokenizer.pad_token_id, self.device), group)

        return in_pieces([len(row.ids) for row in rows], self.budget, of_group, progress)


def device(chosen: str = "") -> str:
    """Return "cpu" or "cuda", by settings (or `chosen`) and hardware; for "cuda", turn cuDNN's attention off in this process.

    Raises UserError if the device is not available.
    """
    chosen, has_cuda = chosen or load_settings().device, torch.cuda.is_available()
    if chosen not in ("auto", "cpu", "cuda") or (chosen == "cuda" and not has_cuda):
        raise UserError(
            "this device is not available",
            where="ERRORSCOPE_DEVICE",
            got=repr(chosen) + ("" if has_cuda else ", and there is no CUDA device here"),
            expected="auto, cpu or cuda",
        )
    if has_cuda and chosen != "cpu":
        # cuDNN's attention makes a new plan for each shape, which took 3.5 ms per layer on an H100
        torch.backends.cuda.enable_cudnn_sdp(False)
        return "cuda"
    return "cpu"


def tokenizer(checkpoint: Checkpoint) -> PreTrainedTokenizerBase:
    """Return the tokenizer of a checkpoint. Raises UserError if it needs a missing package or custom code."""
    try:
        loaded: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
            checkpoint.path, local_files_only=True, trust_remote_code=False
        )
    except ImportError as error:
        raise UserError(
            "the tokenizer of this model needs a package that is not installed",
            where=checkpoint.name,
            got=str(error).strip().partition("\n")[0],
            hint="Install it in the environment of Errorscope, for example: pip install sentencepiece",
        ) from error
    except (ValueError, OSError) as error:
        raise UserError(
            "transformers cannot read this tokenizer", where=checkpoint.name, got=str(error).strip().partition("\n")[0]
        ) from error
    return loaded


def pretrained(kind: Any, checkpoint: Checkpoint, dtype: torch.dtype = torch.float32) -> tuple[Any, dict[str, Any]]:
    """Return the model of a checkpoint, loaded by an Auto class of transformers (`kind`), and the loading report.

    Reads no pickle and runs no code of the checkpoint. Raises UserError for adapters, weights that are not safetensors, and
    architectures unknown to transformers.
    """
    if is_adapter(checkpoint.path):
        raise UserError(
            "an adapter cannot be used here",
            where=checkpoint.name,
            expected="a full checkpoint; only ERRORSCOPE_NLI and ERRORSCOPE_BLEURT accept adapters for all-MiniLM-L6-v2",
            hint="Merge the adapter into its base model and save that as safetensors",
        )
    check_weights(checkpoint.path)
    limit_threads()
    transformers_logging.disable_progress_bar()
    try:
        loaded: tuple[Any, dict[str, Any]] = kind.from_pretrained(
            checkpoint.path, local_files_only=True, use_safetensors=True, trust_remote_code=False, dtype=dtype,
            output_loading_info=True,
        )  # fmt: skip
    except (ValueError, OSError, SafetensorError) as error:
        raise UserError(
            "transformers cannot read this model", where=checkpoint.name, got=str(error).strip().partition("\n")[0]
        ) from error
    return loaded


def model(kind: Any, checkpoint: Checkpoint, place: str) -> Any:
    """Return the model of a checkpoint, loaded by an Auto class of transformers (`kind`), in evaluation mode.

    Raises UserError if transformers does not know the architecture, or if the checkpoint lacks weights, which would otherwise
    be initialised at random.
    """
    loaded, info = pretrained(kind, checkpoint)
    lacking = sorted({*info["missing_keys"], *(str(k[0]) for k in info["mismatched_keys"])})
    if lacking:
        raise UserError(
            "this checkpoint lacks weights of the model",
            where=str(checkpoint.path),
            got=", ".join(lacking[:4]) + (" and more" if len(lacking) > 4 else ""),
            expected=f"a checkpoint for {type(loaded).__name__}",
        )
    return loaded.to(place).eval()


def positions(network: Any, words: PreTrainedTokenizerBase) -> int:
    """Return the maximum number of tokens, by position embeddings and tokenizer."""
    config = network.config
    most = int(getattr(config, "max_position_embeddings", 0) or getattr(config, "n_positions", 0) or 0)
    for name, part in network.named_modules():
        if name.endswith("position_embeddings") and getattr(part, "padding_idx", None) is not None:
            most -= part.padding_idx + 1  # RoBERTa counts positions from padding_idx + 1
    return min(n for n in (most, int(words.model_max_length)) if n > 0)


def padded(rows: Sequence[TokenRow], pad: int | None, place: torch.device) -> dict[str, Tensor]:
    """Return model inputs for some rows, padded on the right to the longest."""
    sizes = torch.tensor([len(row.ids) for row in rows], device=place)
    mask = torch.arange(int(sizes.max()), device=place) < sizes[:, None]
    ids = torch.full(mask.shape, pad or 0, dtype=torch.long, device=place)
    ids[mask] = torch.tensor([i for row in rows for i in row.ids], device=place)
    out = {"input_ids": ids, "attention_mask": mask.long()}
    if rows[0].types:
        out["token_type_ids"] = torch.zeros_like(ids)
        out["token_type_ids"][mask] = torch.tensor([t for row in rows for t in row.types], device=place)
    return out


def in_pieces(
    sizes: Sequence[int], budget: Budget, work: Callable[[list[int]], Sequence[T]], progress: Progress = no_progress
) -> list[T]:
    """Call `work` with indices of rows of similar length, within the budget, and return its results in row order.

    On the CPU, several threads call `work` at the same time; this thread calls `progress`.
    """
    order = sorted(range(len(sizes)), key=lambda i: (sizes[i], i))
    out: dict[int, T] = {}

    def piece(part: range) -> list[tuple[int, T]]:
        group = [order[i] for i in part]
        return list(zip(group, work(group), strict=True))

    for finished in budget.each([sizes[i] for i in order], piece):
        out.update(finished)
        progress(len(out) / len(sizes))
    return [out[i] for i in range(len(sizes))]


P = ParamSpec("P")
_LOADING = RLock()


class CachedLoader(Generic[P, T]):
    """A loader that caches its last `most` results; threads with equal arguments share one load.

    What is in the cache is returned while something else is loading.
    """

    def __init__(self, load: Callable[P, T], most: int) -> None:
        self._load, self._loaded = load, RecentResults[T](most)
        self.cache_clear = self._loaded.clear
        update_wrapper(self, load)

    def __call__(self, *args: P.args, **named: P.kwargs) -> T:
        key = (args, tuple(sorted(named.items())))
        for loaded in self._loaded.get(key):
            return loaded
        with _LOADING:
            return self._loaded.computed(key, lambda: self._load(*args, **named))


def cached_loader(most: int) -> Callable[[Callable[P, T]], CachedLoader[P, T]]:
    """Return a decorator that makes a loader cache `most` results and load one at a time; arguments must be hashable."""
    return lambda load: CachedLoader(load, most)
