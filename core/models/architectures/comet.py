"""COMET's estimator (Rei et al. 2020, 2022): a feed-forward network on sentence embeddings from all layers of an encoder.

Reimplemented for safetensors weights, because the package unbabel-comet reads only pickles and needs older versions of
transformers and NumPy. `core.models.conversion` converts a checkpoint.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, PreTrainedTokenizerBase

from core.errors import UserError
from core.models import loading
from core.models.architectures.shapes import HPARAMS, CometShape, comet_shape
from core.models.checkpoint import Checkpoint
from core.models.loading import TextReader, TokenRow, cached_loader
from core.progress import Progress, no_progress

Triple = tuple[str, str, str]
"""Source, output, reference; the reference is "" for models without references."""


class Comet(TextReader):
    """Scores outputs with one loaded checkpoint; each distinct text is embedded once."""

    def __init__(
        self,
        encoder: Any,
        weights: dict[str, Tensor],
        shape: CometShape,
        tokenizer: PreTrainedTokenizerBase,
        place: str,
    ) -> None:
        super().__init__(encoder.to(place), tokenizer, 8 * int(encoder.config.hidden_size) * 40)
        self.shape = shape
        mixed = shape.layer is None
        self.mix = _mix(weights, shape.transformation).to(place) if mixed else torch.empty(0)
        self.estimator = _estimator(weights, shape).to(place).eval()
        self.limit = int(encoder.config.max_position_embeddings) - 4  # as comet.encoders cuts its inputs

    def encode(self, text: str) -> TokenRow:
        """Return the token ids of a text, cut at the end if too long."""
        out = self.tokenized(text, truncation=False)
        if cut := len(out["input_ids"]) > self.limit:
            out = self.tokenized(text, truncation=True, max_length=self.limit)
        return TokenRow(list(out["input_ids"]), [], cut)

    @torch.inference_mode()
    def scores(self, triples: Sequence[Triple], progress: Progress = no_progress) -> list[tuple[float, bool]]:
        """Return the score of each triple, and whether one of its texts was cut."""
        texts = list(dict.fromkeys(t for triple in triples for t in self._texts(triple)))
        rows = [self.encode(text) for text in texts]

        embeddings = self.compute(rows, lambda batch, _: list(self._embed(batch)), progress)
        known = dict(zip(texts, embeddings, strict=True))
        cut = {text: row.truncated for text, row in zip(texts, rows, strict=True)}
        if not triples:
            return []
        values = self.estimator(torch.stack([self._features([known[t] for t in self._texts(x)]) for x in triples]))
        return [(float(v), any(cut[t] for t in self._texts(x))) for v, x in zip(values[:, 0], triples, strict=True)]

    def _texts(self, triple: Triple) -> tuple[str, ...]:
        return triple if self.shape.references else triple[:2]

    def _embed(self, batch: dict[str, Tensor]) -> Tensor:
        layers: list[Tensor] = list(self.model(**batch, output_hidden_states=True).hidden_states)
        mask = batch["attention_mask"][:, :, None].float()
        if self.shape.layer is not None:
            mixed = layers[self.shape.layer]
        else:
            if self.shape.layer_norm:
                layers = [_normalised(layer, mask) for layer in layers]
            mixed = torch.einsum("l,lbtd->btd", self.mix, torch.stack(layers))
        if self.shape.pool == "cls":
            return mixed[:, 0]
        if self.shape.pool == "max":
            return mixed.masked_fill(mask == 0, float("-inf")).amax(dim=1)
        return (mixed * mask).sum(dim=1) / mask.sum(dim=1)

    def _features(self, embedded: Sequence[Tensor]) -> Tensor:
        source, output = embedded[:2]
        of_source = [output * source, (output - source).abs()]
        if not self.shape.references:
            return torch.cat([output, source, *of_source])
        reference = embedded[2]
        return torch.cat([output, reference, output * reference, (output - reference).abs(), *of_source])


def _mix(weights: dict[str, Tensor], transformation: Literal["softmax", "sparsemax"]) -> Tensor:
    """Return γ times the layer weights, embeddings first."""
    stem = "layerwise_attention.scalar_parameters."
    raw: list[Tensor] = []
    while f"{stem}{len(raw)}" in weights:
        raw.append(weights[f"{stem}{len(raw)}"].float())
    shares = torch.cat(raw)
    shares = sparsemax(shares) if transformation == "sparsemax" else shares.softmax(dim=0)
    return weights["layerwise_attention.gamma"].float() * shares


def sparsemax(logits: Tensor) -> Tensor:
    """Return the projection of a vector onto the simplex (Martins and Astudillo 2016, algorithm 1)."""
    ordered = logits.sort(descending=True).values
    sums, counts = ordered.cumsum(0) - 1, torch.arange(1, len(logits) + 1, device=logits.device)
    support = int((counts * ordered > sums).sum())
    return (logits - sums[support - 1] / support).clamp(min=0)


def _normalised(layer: Tensor, mask: Tensor) -> Tensor:
    """Return states normalised to mean 0 and variance 1 over all tokens and dimensions of a text."""
    count = mask.sum(dim=(1, 2), keepdim=True) * layer.shape[2]
    mean = (layer * mask).sum(dim=(1, 2), keepdim=True) / count
    variance = (((layer - mean) * mask) ** 2).sum(dim=(1, 2), keepdim=True) / count
    return (layer - mean) / torch.sqrt(variance + 1e-12)


def _estimator(weights: dict[str, Tensor], shape: CometShape) -> nn.Sequential:
    """Return the network; COMET numbers a linear layer, its activation and a dropout as three modules."""
    out: list[nn.Module] = []
    for i in range(len(shape.hidden_sizes) + 1):
        weight, bias = (weights[f"estimator.ff.{3 * i}.{kind}"].float() for kind in ("weight", "bias"))
        layer = nn.Linear(weight.shape[1], weight.shape[0])
        layer.weight, layer.bias = nn.Parameter(weight), nn.Parameter(bias)
        out += [layer, *([getattr(nn, shape.activations)()] if i < len(shape.hidden_sizes) else [])]
    if shape.final_activation:
        out.append(getattr(nn, shape.final_activation)())
    return nn.Sequential(*out)


def load_comet(checkpoint: Checkpoint) -> Comet:
    """Return a converted checkpoint, loaded once per process. Raises UserError if it is not converted or lacks weights."""
    return _load(checkpoint, loading.device())


@cached_loader(1)
def _load(checkpoint: Checkpoint, place: str) -> Comet:
    architecture = comet_shape(checkpoint)
    try:
        weights = {k: v for path in sorted(checkpoint.path.glob("*.safetensors")) for k, v in load_file(path).items()}
    except SafetensorError as error:
        raise UserError("cannot read these weights", where=str(checkpoint.path), got=str(error)) from error
    encoder = AutoModel.from_config(
        AutoConfig.from_pretrained(checkpoint.path, local_files_only=True, trust_remote_code=False)
    )
    own = {k.removeprefix("encoder.model."): v.float() for k, v in weights.items() if k.startswith("encoder.model.")}
    try:
        missing = [k for k in encoder.load_state_dict(own, strict=False).missing_keys if not k.startswith("pooler.")]
    except RuntimeError as error:  # shapes differ
        raise UserError(
            "config.json is not that of this checkpoint's encoder",
            where=str(checkpoint.path),
            got=" ".join(str(error).partition("\n")[2].partition("\n")[0].split()),
            expected=f"the configuration of its encoder, named after pretrained_model in {HPARAMS}",
        ) from error
    words = loading.tokenizer(checkpoint)
    if len(words) > encoder.config.vocab_size:
        raise UserError(
            "the tokenizer is not that of this checkpoint's encoder",
            where=str(checkpoint.path),
            got=f"{len(words):,} tokens",
            expected=f"{encoder.config.vocab_size:,}, as in config.json",
        )
    try:
        if missing:
            raise KeyError(f"encoder.model.{missing[0]}")
        return Comet(encoder, weights, architecture, words, place)
    except KeyError as error:
        raise UserError("this COMET checkpoint lacks weights", where=str(checkpoint.path), got=str(error)) from error
