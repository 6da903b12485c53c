"""Score texts with an encoder–decoder: log p(y_t | y_<t, x) for every token of y, teacher-forced; and UniEval's evaluator, which is one.

All tokens of a target are scored, including `<s>` (if the family has it) and `</s>`, but no padding. Scores do not depend on the
batch (to 1e-4 in fp32).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from transformers import AutoModelForSeq2SeqLM, PreTrainedTokenizerBase

from core.errors import UserError
from core.models import configs, loading, parallel
from core.models.architectures import packed
from core.models.architectures.anatomy import anatomy
from core.models.architectures.packed import DecoderRow, DecoderRun
from core.models.checkpoint import Checkpoint, resolve
from core.models.loading import TextReader, TokenRow, cached_loader
from core.models.pieces import aligned
from core.progress import Progress, no_progress

Ids = list[int]
Array = npt.NDArray[np.float64]
TextSide = Literal["target", "source"]
Question = tuple[str, str, TextSide]
"""Conditioning text, scored text, and whether the former is in the source or the target language."""
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
LOGITS_AT_ONCE = {"cpu": 1 << 20, "cuda": 1 << 27}
"""Values per piece of the vocabulary projection: what fits into the cache of a CPU, and 512 MiB on a GPU."""
FEWEST_ROWS = 128  # per piece, so that reading the weights does not take longer than the products


class EncodedText(NamedTuple):
    """A tokenized text.

    `offsets` are the code points each token covers; `truncated` is True if the end was cut; `lead` is the language token that
    precedes a conditioning text and is never scored.
    """

    ids: Ids
    offsets: tuple[tuple[int, int], ...]
    truncated: bool
    lead: tuple[int, ...] = ()

    @property
    def row(self) -> tuple[int, ...]:
        """Return the ids with the language token, for a conditioning text."""
        return (*self.lead, *self.ids)


class MeanLogp(NamedTuple):
    """The mean log probability per token of a text (≤ 0, higher is better), and whether a text was cut."""

    value: float
    truncated: bool


class Languages(NamedTuple):
    """Language codes of a multilingual model; references and outputs are in `target`."""

    source: str
    target: str


class Seq2SeqScorer(TextReader):
    """Scores token sequences with one loaded checkpoint, for any metric.

    `first` is the number of leading special tokens (`<s>`) of each target; `special` are ids that are never proposed:
    special tokens, and vocabulary rows without a token. Weights are float32 or bfloat16, probabilities float32. Values
    computed in different batches differ by less than `slack`.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: PreTrainedTokenizerBase,
        languages: Languages | None = None,
    ) -> None:
        self.parts = anatomy(model)
        keys = self.parts.blocks[0].itself.key(torch.zeros_like(self.parts.weight[:1]))
        super().__init__(model, tokenizer, len(self.parts.blocks) * 4 * keys.nbytes)
        rows = self.parts.weight.shape[0]  # often more than the tokenizer has tokens
        self.special = sorted({i for i in tokenizer.all_special_ids if i < rows} | set(range(len(tokenizer), rows)))
        config = model.config
        self.limit = int(getattr(config, "max_position_embeddings", 0) or getattr(config, "n_positions", 0) or 1024)
        self._lead = self._language_tokens(languages)
        self.slack = 1e-5 if self.parts.weight.dtype == torch.float32 else 0.05
        self._texts: dict[int, str] = {}
        self.starts: Ids = [int(config.decoder_start_token_id), *self._lead["target"]]
        probe = self.encode("a").ids
        self.first = int(probe[0] in self.special)

    def _language_tokens(self, languages: Languages | None) -> dict[TextSide, tuple[int, ...]]:
        if self.model.config.model_type != "m2m_100":
            return {"source": (), "target": ()}
        if languages is None:
            raise configs.missing_languages()
        source, target = (language_token(self.tokenizer, language) for language in languages)
        return {"source": (source,), "target": (target,)}

    # ── texts ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def encode(self, text: str, side: TextSide = "target") -> EncodedText:
        """Tokenize a text, cut at the end if too long. A "<s>" written in the text is treated as text."""
        lead = self._lead[side]
        fast = bool(self.tokenizer.is_fast)
        out = self.tokenized(text, return_offsets_mapping=fast, add_special_tokens=not lead, truncation=False)
        ids = list(out["input_ids"])
        offsets = [tuple(o) for o in out["offset_mapping"]] if fast else []
        if lead:
            ids.append(int(self.tokenizer.eos_token_id))
            offsets.append((0, 0))
        if not fast:
            offsets = aligned(text, [str(self.tokenizer.decode([i])) for i in ids])
        room = self.limit - len(lead)
        if len(ids) <= room:
            return EncodedText(ids, tuple(offsets), False, lead)
        keep = room - 1
        return EncodedText([*ids[:keep], ids[-1]], (*offsets[:keep], offsets[-1]), True, lead)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of token ids, without special tokens."""
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False))

    def piece(self, token: int) -> str:
        """Return the text of one token, "" for a special one."""
        if token not in self._texts:
            self._texts[token] = self.decode([token])
        return self._texts[token]

    # ── passes ───────────────────────────────────────────────────────────────────────────────────────────────────────

    @torch.inference_mode()
    def read(self, conditions: Sequence[Ids]) -> list[Tensor]:
        """Return the cross-attention keys and values of all layers for each conditioning text (lead included)."""
        order = sorted(range(len(conditions)), key=lambda i: (len(conditions[i]), i))
        out: list[Tensor] = [torch.empty(0)] * len(conditions)

        def work(piece: range) -> None:
            rows = [conditions[order[i]] for i in piece]
            sizes = [len(r) for r in rows]
            read = packed.memory(self.parts, self._states(rows))[:, :, : sum(sizes)]
            for i, part in zip(piece, torch.split(read, sizes, dim=2), strict=True):
                out[order[i]] = part

        self.budget.spend([len(conditions[i]) for i in order], work)
        return out

    def _states(self, rows: Sequence[Ids]) -> Tensor:
        """Return the encoder states of all rows, one after the other, and perhaps more at the end."""
        if self.device.type == "cpu":
            return packed.encode(self.parts.encoder, rows, self.device)
        batch = loading.padded([TokenRow(row, [], False) for row in rows], 0, self.device)
        states: Tensor = self.model.get_encoder()(**batch).last_hidden_state
        return states[batch["attention_mask"].bool()]

    @torch.inference_mode()
    def once(self, rows: Sequence[DecoderRow], *, keep: bool = True) -> DecoderRun:
        """Run the decoder on some rows in one pass; the caller respects the budget. Without `keep`, `past` is empty."""
        return packed.decode_rows(self.parts, rows, keep=keep)

    @torch.inference_mode()
    def run(self, rows: Sequence[DecoderRow]) -> DecoderRun:
        """Run the decoder on many rows, in as many passes as the token budget needs, and return all states."""
        if not rows:
            return DecoderRun(self.parts.weight.new_empty((0, self.parts.weight.shape[1])), torch.empty(0))
        runs = self.budget.spend([len(r.ids) for r in rows], lambda piece: self.once([rows[i] for i in piece]))
        if len(runs) == 1:
            return runs[0]
        return DecoderRun(torch.cat([r.hidden for r in runs]), torch.cat([r.past for r in runs], dim=2))

    def inputs(self, target: Ids) -> Ids:
        """Return the decoder inputs for scoring a target."""
        return [*self.starts, *target[:-1]]

    # ── the vocabulary ───────────────────────────────────────────────────────────────────────────────────────────────

    @torch.inference_mode()
    def logps(self, hidden: Tensor, targets: Sequence[int]) -> Array:
        """Return the log probability of one target token for each row of `hidden` (tokens, d)."""
        return self.likely(hidden, targets, 0)[0]

    @torch.inference_mode()
    def likely(self, hidden: Tensor, targets: Sequence[int], k: int) -> tuple[Array, Tensor, Tensor]:
        """Return `logps`, and ids and log probabilities (tokens, k) of the k most probable tokens, without special ones."""
        target_ids = packed.integers(targets, self.device)
        k = min(k, self.parts.weight.shape[0] - len(self.special))
        out = torch.empty(len(hidden), device=self.device)
        near = torch.empty((len(hidden), k), dtype=torch.long, device=self.device)
        values = torch.empty((len(hidden), k), device=self.device)

        def work(piece: slice) -> None:
            table = self._logits(hidden[piece]).log_softmax(dim=1)
            out[piece] = table.gather(1, target_ids[piece, None]).squeeze(1)
            if k:
                table[:, self.special] = -torch.inf
                values[piece], near[piece] = torch.topk(table, k)

        for _ in parallel.each(self._pieces(len(hidden)), work, self.device):
            pass
        return out.double().cpu().numpy(), near, values

    @torch.inference_mode()
    def bounds(self, hidden: Tensor, targets: Sequence[int], some: Tensor) -> Array:
        """Return cheap upper bounds of `logps`, normalised only over the tokens `some` (m,), ascending, and the target.

        The sum over part of the vocabulary is smaller than the full sum, so the log probability is larger. In bfloat16,
        rounding may lower a bound by up to `slack`.
        """
        target_ids, weight, bias = packed.integers(targets, self.device), self.parts.weight[some], self.parts.bias
        out = torch.empty(len(hidden), device=self.device)
        for piece in self._pieces(len(hidden), len(some)):
            logits = torch.nn.functional.linear(hidden[piece], weight).float()
            if bias is not None:
                logits += bias[some]
            at = torch.searchsorted(some, target_ids[piece]).clamp(max=len(some) - 1)
            own, whole = logits.gather(1, at[:, None]).squeeze(1), logits.logsumexp(dim=1)
            lacking = (some[at] != target_ids[piece]).nonzero().squeeze(1)
            if len(lacking):
                ids = target_ids[piece][lacking]
                own[lacking] = torch.linalg.vecdot(hidden[piece][lacking], self.parts.weight[ids]).float()
                if bias is not None:
                    own[lacking] += bias[ids]
                whole[lacking] = torch.logaddexp(whole[lacking], own[lacking])
            out[piece] = own - whole
        return out.double().cpu().numpy()

    def _logits(self, hidden: Tensor) -> Tensor:
        bias = self.parts.bias
        logits = self.parts.logits(hidden).float()
        return logits if bias is None else logits + bias.float()

    def _pieces(self, rows: int, columns: int = 0) -> list[slice]:
        size = max(FEWEST_ROWS, LOGITS_AT_ONCE[self.device.type] // (columns or self.parts.weight.shape[0]))
        return [slice(first, first + size) for first in range(0, rows, size)]

    # ── whole texts ──────────────────────────────────────────────────────────────────────────────────────────────────

    def pairs(
        self,
        conditions: Sequence[Ids],
        targets: Sequence[Ids],
        progress: Progress = no_progress,
    ) -> list[Array]:
        """Return the token log probabilities of each target given its condition (lead included), in order.

        Equal conditions are read once; pairs of similar length are scored together.
        """
        order = sorted(range(len(targets)), key=lambda i: (len(conditions[i]), conditions[i], len(targets[i]), i))
        out: list[Array] = [np.empty(0)] * len(targets)
        done = 0
        for piece in self.budget.pieces([len(conditions[i]) + len(targets[i]) for i in order]):
            group = [order[i] for i in piece]
            texts = {tuple(conditions[i]): i for i in group}
            read = dict(zip(texts, self.read([conditions[i] for i in texts.values()]), strict=True))
            hidden = self.run(
                [DecoderRow(read[tuple(conditions[i])], None, 0, self.inputs(targets[i])) for i in group]
            ).hidden
            skip = len(self.starts) - 1
            padded_targets = [[0] * skip + targets[i] for i in group]
            flat = self.logps(hidden, [t for row in padded_targets for t in row])
            ends = np.cumsum([len(row) for row in padded_targets])
            for i, logps in zip(group, np.split(flat, ends[:-1]), strict=True):
                out[i] = logps[skip:]
            done += len(group)
            progress(done / len(targets))
        return out

    def means(self, texts: Sequence[Question], progress: Progress = no_progress) -> list[MeanLogp]:
        """Return the mean log probability per token of each scored text. Scored texts are in the target language; equal ones are tokenized once."""
        sides: set[tuple[str, TextSide]] = {(x, side) for x, _, side in texts} | {(y, "target") for _, y, _ in texts}
        known = {(text, side): self.encode(text, side) for text, side in sides}
        read, written = [known[x, side] for x, _, side in texts], [known[y, "target"] for _, y, _ in texts]
        logps = self.pairs([list(r.row) for r in read], [w.ids for w in written], progress)
        return [
            MeanLogp(float(p.mean()), r.truncated or w.truncated) for p, r, w in zip(logps, read, written, strict=True)
        ]


def language_token(tokenizer: PreTrainedTokenizerBase, language: str) -> int:
    """Return the id of a language token (`__de__`, `deu_Latn`, or `de`). Raises UserError if unknown."""
    for name in (language, f"__{language}__"):
        token_id = tokenizer.convert_tokens_to_ids(name)
        if isinstance(token_id, int) and token_id != tokenizer.unk_token_id and token_id in tokenizer.all_special_ids:
            return token_id
    raise UserError(
        "the model does not know this language",
        where="ERRORSCOPE_LANGUAGES",
        got=language,
        expected="a language code of the model",
    )


def load_seq2seq(setting: str, device: str = "auto", dtype: str = "fp32", languages: str = "") -> Seq2SeqScorer:
    """Return the scorer for a model setting (`bundled`, a folder, a hub id in the local cache), loaded once per process.

    `languages` is "source-target" for a multilingual model. Raises UserError for an unknown or unavailable device, a dtype
    other than fp32 and bf16, or a single language.
    """
    place = loading.device(device)
    if dtype not in DTYPES:
        raise UserError(
            "this number format is not supported",
            where="ERRORSCOPE_DTYPE",
            got=repr(dtype),
            expected=" or ".join(DTYPES),
        )
    source, _, target = languages.partition("-")
    if bool(source) != bool(target):
        raise UserError(
            "source and target language are needed",
            where="ERRORSCOPE_LANGUAGES",
            got=languages,
            expected=configs.LANGUAGES,
        )
    pair = Languages(source, target) if source else None
    return _load(resolve(setting), place, dtype, pair)


@cached_loader(2)
def _load(checkpoint: Checkpoint, device: str, dtype: str, languages: Languages | None) -> Seq2SeqScorer:
    words = loading.tokenizer(checkpoint)
    model, _ = loading.pretrained(AutoModelForSeq2SeqLM, checkpoint, DTYPES[dtype])
    return Seq2SeqScorer(model.to(device), words, languages=languages)


LONGEST = 1024
"""Maximum tokens per question, as in UniEval's training."""

YES, NO = "Yes", "No"


class YesNo:
    """Computes P(Yes) / (P(Yes) + P(No)) at the decoder's first step."""

    def __init__(self, scorer: Seq2SeqScorer) -> None:
        self.scorer = scorer
        self.yes, self.no = (self._bare(word)[0] for word in (YES, NO))

    def question(self, parts: Sequence[str]) -> TokenRow:
        """Return the parts joined and ended by the end token. An end token written in a part is treated as text."""
        end = int(self.scorer.tokenizer.eos_token_id)
        ids = [i for part in parts for i in (*self._bare(part), end)]
        if len(ids) <= LONGEST:
            return TokenRow(ids, [], False)
        return TokenRow([*ids[: LONGEST - 1], end], [], True)

    def _bare(self, text: str) -> Ids:
        out = self.scorer.tokenizer(text, add_special_tokens=False, split_special_tokens=True, verbose=False)
        return list(out["input_ids"])

    @torch.inference_mode()
    def probabilities(self, questions: Sequence[TokenRow], progress: Progress = no_progress) -> list[float]:
        """Return P(yes) of each question, in order."""
        scorer = self.scorer

        def work(group: list[int]) -> list[float]:
            read = scorer.read([questions[i].ids for i in group])
            hidden = scorer.run([DecoderRow(memory, None, 0, scorer.starts) for memory in read]).hidden
            last = hidden[len(scorer.starts) - 1 :: len(scorer.starts)]
            yes, no = (scorer.logps(last, [token] * len(group)) for token in (self.yes, self.no))
            return [float(p) for p in 1 / (1 + np.exp(no - yes))]

        return loading.in_pieces([len(q.ids) for q in questions], scorer.budget, work, progress)


def load_yes_no() -> YesNo:
    """Return the configured `unieval` model, loaded once per process. Raises UserError if it is missing or does not fit."""
    return YesNo(load_seq2seq(str(configs.checked("unieval").path), loading.device()))
