"""An encoder–decoder as a scorer: log p(y_t | y_<t, x) for every token of y, teacher-forced.

Every token of a target is scored, `<s>` (where the family has one) and `</s>` included, padding never. A score does not
depend on what it is batched with (to 1e-4 in fp32).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from transformers import AutoModelForSeq2SeqLM, PreTrainedTokenizerBase

from core.errors import UserError
from core.models import loading, packed
from core.models.anatomy import anatomy
from core.models.budget import Budget, tokens_for
from core.models.checkpoint import Checkpoint, resolve
from core.models.once import kept
from core.models.packed import Row, Run
from core.models.spans import aligned

Ids = list[int]
Array = npt.NDArray[np.float64]
Side = Literal["target", "source"]
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
EXAMPLE = "source-target, such as de-en, in the model's own names"
LOGITS_AT_ONCE = 1 << 22  # numbers of one piece of the vocabulary projection: what a processor's cache can hold


class Encoded(NamedTuple):
    """A text as the model reads it.

    `offsets` are code points of the text a token covers; `truncated`: the end was cut off; `lead` stands before the text
    when it is read (a language token), and is never scored.
    """

    ids: Ids
    offsets: tuple[tuple[int, int], ...]
    truncated: bool
    lead: tuple[int, ...] = ()


class Languages(NamedTuple):
    """The languages of a multilingual model, as its tokenizer names them; references and outputs are in `target`."""

    source: str
    target: str


class Seq2SeqScorer:
    """Scores token sequences with one loaded checkpoint; not tied to any metric.

    `first` is the number of leading tokens of every target that belong to the format (`<s>`), not to the text;
    `special` are the ids that are never proposed: special tokens, and rows of the vocabulary without a token.
    Weights are float32 or bfloat16, probabilities float32 either way; below `slack`, two values computed in different
    batches do not differ.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: PreTrainedTokenizerBase,
        *,
        languages: Languages | None = None,
        token_budget: int | None = None,
    ) -> None:
        self.model, self.tokenizer = model.eval(), tokenizer
        self._tokenizing = Lock()  # a tokenizer that two threads use at once may refuse to
        self.parts = anatomy(model)
        self.device = self.parts.weight.device
        rows = self.parts.weight.shape[0]  # often more than there are tokens
        self.special = sorted({i for i in tokenizer.all_special_ids if i < rows} | set(range(len(tokenizer), rows)))
        config = model.config
        self.limit = int(getattr(config, "max_position_embeddings", 0) or getattr(config, "n_positions", 0) or 1024)
        self._lead = self._language_tokens(languages)
        self.slack = 1e-5 if self.parts.weight.dtype == torch.float32 else 0.05
        self.starts: Ids = [int(config.decoder_start_token_id), *self._lead["target"]]
        probe = self.encode("a").ids
        self.first = int(probe[0] in self.special)
        keys = self.parts.blocks[0].itself.key(
            torch.zeros(1, self.parts.weight.shape[1], dtype=self.parts.weight.dtype, device=self.device)
        )
        self.budget = Budget(
            token_budget or tokens_for(len(self.parts.blocks) * 4 * keys.nbytes, self.device), self.device
        )

    def _language_tokens(self, languages: Languages | None) -> dict[Side, tuple[int, ...]]:
        if self.model.config.model_type != "m2m_100":
            return {"source": (), "target": ()}
        if languages is None:
            raise UserError(
                "a multilingual model must be told the languages",
                where="ERRORSCOPE_LANGUAGES",
                expected=EXAMPLE,
            )
        return {
            "source": (language_token(self.tokenizer, languages.source),),
            "target": (language_token(self.tokenizer, languages.target),),
        }

    # ── texts ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def encode(self, text: str, side: Side = "target") -> Encoded:
        """Token ids as they are scored; a "<s>" that stands in the text is text. One over the model's length keeps its beginning and says so."""
        lead = self._lead[side]
        fast = bool(self.tokenizer.is_fast)
        with self._tokenizing:
            out = self.tokenizer(
                text,
                return_offsets_mapping=fast,
                add_special_tokens=not lead,
                truncation=False,
                verbose=False,
                split_special_tokens=True,
            )
        ids = list(out["input_ids"])
        offsets = [tuple(o) for o in out["offset_mapping"]] if fast else []
        if lead:
            ids.append(int(self.tokenizer.eos_token_id))
            offsets.append((0, 0))
        if not fast:
            offsets = aligned(text, [str(self.tokenizer.decode([i])) for i in ids])
        room = self.limit - len(lead)
        if len(ids) <= room:
            return Encoded(ids, tuple(offsets), False, lead)
        keep = room - 1
        return Encoded([*ids[:keep], ids[-1]], (*offsets[:keep], offsets[-1]), True, lead)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of token ids, special tokens left out."""
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False))

    # ── passes ───────────────────────────────────────────────────────────────────────────────────────────────────────

    @torch.inference_mode()
    def read(self, conditions: Sequence[Ids]) -> list[Tensor]:
        """What the decoder attends to of each conditioning text (lead included): keys and values of every layer."""
        order = sorted(range(len(conditions)), key=lambda i: (len(conditions[i]), i))
        out: list[Tensor] = [torch.empty(0)] * len(conditions)

        def work(piece: range) -> None:
            rows = [conditions[order[i]] for i in piece]
            sizes = torch.tensor([len(r) for r in rows], device=self.device)
            inputs = torch.zeros((len(rows), len(rows[-1])), dtype=torch.long, device=self.device)
            mask = torch.arange(inputs.shape[1], device=self.device) < sizes[:, None]
            inputs[mask] = torch.tensor([i for r in rows for i in r], device=self.device)
            states = self.model.get_encoder()(input_ids=inputs, attention_mask=mask.long()).last_hidden_state
            read = packed.memory(self.parts, states[mask])
            for i, part in zip(piece, torch.split(read, [len(r) for r in rows], dim=2), strict=True):
                out[order[i]] = part

        self.budget.spend([len(conditions[i]) for i in order], work)
        return out

    @torch.inference_mode()
    def once(self, rows: Sequence[Row]) -> Run:
        """The decoder over some rows in one pass; the caller keeps within the budget."""
        return packed.run(self.parts, rows)

    @torch.inference_mode()
    def run(self, rows: Sequence[Row]) -> Run:
        """The decoder over many rows, in as many passes as the token budget asks for; all of it is kept."""
        if not rows:
            return Run(self.parts.weight.new_empty((0, self.parts.weight.shape[1])), torch.empty(0))
        runs = self.budget.spend([len(r.ids) for r in rows], lambda piece: self.once([rows[i] for i in piece]))
        if len(runs) == 1:
            return runs[0]
        return Run(torch.cat([r.hidden for r in runs]), torch.cat([r.past for r in runs], dim=2))

    def inputs(self, target: Ids) -> Ids:
        """What the decoder is fed to score a target."""
        return [*self.starts, *target[:-1]]

    # ── the vocabulary ───────────────────────────────────────────────────────────────────────────────────────────────

    @torch.inference_mode()
    def logps(self, hidden: Tensor, targets: Sequence[int]) -> Array:
        """Log probability of one token for each row of `hidden` (tokens, d)."""
        wanted = torch.as_tensor(targets, device=self.device)
        out = torch.empty(len(hidden), device=self.device)
        for piece in self._pieces(len(hidden)):
            table = self._logits(hidden[piece]).log_softmax(dim=1)
            out[piece] = table.gather(1, wanted[piece, None]).squeeze(1)
        return out.double().cpu().numpy()

    @torch.inference_mode()
    def likely(self, hidden: Tensor, targets: Sequence[int], k: int) -> tuple[Array, Tensor, Tensor]:
        """As `logps`, and the k most probable tokens of each row, special ones left out: ids (tokens, k), log probabilities."""
        wanted = torch.as_tensor(targets, device=self.device)
        k = min(k, self.parts.weight.shape[0] - len(self.special))
        out = torch.empty(len(hidden), device=self.device)
        near = torch.empty((len(hidden), k), dtype=torch.long, device=self.device)
        values = torch.empty((len(hidden), k), device=self.device)
        for piece in self._pieces(len(hidden)):
            table = self._logits(hidden[piece]).log_softmax(dim=1)
            out[piece] = table.gather(1, wanted[piece, None]).squeeze(1)
            table[:, self.special] = -torch.inf
            best = torch.topk(table, k)
            near[piece], values[piece] = best.indices, best.values
        return out.double().cpu().numpy(), near, values

    @torch.inference_mode()
    def bounds(self, hidden: Tensor, targets: Sequence[int], some: Tensor) -> Array:
        """Upper bounds of `logps` for a small part of the work: the normaliser over the tokens `some` (m,) and the target alone.

        A sum over part of the vocabulary is below the sum over all of it, so the log probability comes out above. In
        bfloat16 rounding may put a bound below by up to `slack`.
        """
        wanted, weight, bias = torch.as_tensor(targets, device=self.device), self.parts.weight[some], self.parts.bias
        out = torch.empty(len(hidden), device=self.device)
        for piece in self._pieces(len(hidden), len(some)):
            own = torch.linalg.vecdot(hidden[piece], self.parts.weight[wanted[piece]]).float()
            logits = torch.nn.functional.linear(hidden[piece], weight).float()
            if bias is not None:
                own, logits = own + bias[wanted[piece]], logits + bias[some]
            whole = logits.logsumexp(dim=1)
            whole = torch.where(torch.isin(wanted[piece], some), whole, torch.logaddexp(whole, own))
            out[piece] = own - whole
        return out.double().cpu().numpy()

    def _logits(self, hidden: Tensor) -> Tensor:
        bias = self.parts.bias
        logits = torch.nn.functional.linear(hidden, self.parts.weight).float()
        return logits if bias is None else logits + bias.float()

    def _pieces(self, rows: int, columns: int = 0) -> list[slice]:
        size = max(1, LOGITS_AT_ONCE // (columns or self.parts.weight.shape[0]))
        return [slice(first, first + size) for first in range(0, rows, size)]

    # ── whole texts ──────────────────────────────────────────────────────────────────────────────────────────────────

    def pairs(
        self,
        conditions: Sequence[Ids],
        targets: Sequence[Ids],
        tick: Callable[[int], None] | None = None,
    ) -> list[Array]:
        """Log probabilities of each target given its own condition (lead included), in the order given.

        Equal conditions are read once, pairs of like length are scored together.
        """
        order = sorted(range(len(targets)), key=lambda i: (len(conditions[i]), conditions[i], len(targets[i]), i))
        out: list[Array] = [np.empty(0)] * len(targets)
        done = 0
        for piece in self.budget.pieces([len(conditions[i]) + len(targets[i]) for i in order]):
            group = [order[i] for i in piece]
            texts = {tuple(conditions[i]): i for i in group}
            read = dict(zip(texts, self.read([conditions[i] for i in texts.values()]), strict=True))
            hidden = self.run([Row(read[tuple(conditions[i])], None, 0, self.inputs(targets[i])) for i in group]).hidden
            skip = len(self.starts) - 1
            wanted = [[0] * skip + targets[i] for i in group]
            flat = self.logps(hidden, [t for row in wanted for t in row])
            ends = np.cumsum([len(row) for row in wanted])
            for i, logps in zip(group, np.split(flat, ends[:-1]), strict=True):
                out[i] = logps[skip:]
            done += len(group)
            if tick:
                tick(done)
        return out


def language_token(tokenizer: PreTrainedTokenizerBase, language: str) -> int:
    """The id of a language's token, written as the tokenizer has it (`__de__`, `deu_Latn`) or as `de`. Raises UserError."""
    for name in (language, f"__{language}__"):
        found = tokenizer.convert_tokens_to_ids(name)
        if isinstance(found, int) and found != tokenizer.unk_token_id and found in tokenizer.all_special_ids:
            return found
    raise UserError(
        "the model does not know this language",
        where="ERRORSCOPE_LANGUAGES",
        got=language,
        expected="a language in the model's own names",
    )


def load(role: str, device: str = "auto", dtype: str = "fp32", languages: str = "") -> Seq2SeqScorer:
    """The scorer for a role of the settings (`bundled`, a folder, a hub id in the local cache); loaded once a process.

    `languages` is "source-target" in the model's own names, for a multilingual model. Raises UserError for a device that
    is not auto, cpu or cuda, or is not there, for another dtype than fp32 and bf16, and for one language alone.
    """
    there = torch.cuda.is_available()
    if device not in ("auto", "cpu", "cuda") or (device == "cuda" and not there):
        raise UserError(
            "this device cannot be used",
            where="ERRORSCOPE_DEVICE",
            got=repr(device) + ("" if there else ", and there is no CUDA device here"),
            expected="auto, cpu or cuda",
        )
    if dtype not in DTYPES:
        raise UserError(
            "there is no such number format", where="ERRORSCOPE_DTYPE", got=repr(dtype), expected=" or ".join(DTYPES)
        )
    source, _, target = languages.partition("-")
    if bool(source) != bool(target):
        raise UserError("two languages are needed", where="ERRORSCOPE_LANGUAGES", got=languages, expected=EXAMPLE)
    pair = Languages(source, target) if source else None
    return _load(resolve(role), "cuda" if there and device != "cpu" else "cpu", dtype, pair)


@kept(2)
def _load(checkpoint: Checkpoint, device: str, dtype: str, languages: Languages | None) -> Seq2SeqScorer:
    words = loading.tokenizer(checkpoint)
    model, _ = loading.pretrained(AutoModelForSeq2SeqLM, checkpoint, DTYPES[dtype])
    return Seq2SeqScorer(model.to(device), words, languages=languages)
