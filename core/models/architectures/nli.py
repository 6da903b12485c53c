"""Models that map a pair of texts to a few numbers: NLI classifiers, their adapters, and regression models.

A single wrong word shows in the maximum. all-MiniLM-L6-v2 was not trained to use the first token's vector, which BERT classifiers
use: in a trial on 1,900 pairs, the loss on the last fifth was 0.79 with mean and maximum, and 1.00 with the first token.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from transformers import (
    AutoModelForSequenceClassification,
    BertConfig,
    BertModel,
    BertPreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.modeling_outputs import SequenceClassifierOutput
from transformers.utils import logging

from core.errors import UserError
from core.models import configs, loading
from core.models.checkpoint import MINILM, Checkpoint, check_weights, is_adapter, resolve
from core.models.configs import NliLabels, read_config
from core.models.loading import TextReader, TokenRow, cached_loader, limit_threads
from core.progress import Progress, no_progress


class MeanMaxForSequenceClassification(BertPreTrainedModel):  # type: ignore[misc]
    """Logits of shape (pairs, labels). Mean and maximum ignore padding."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__(config)
        self.bert = BertModel(config, add_pooling_layer=False)
        self.pool = nn.Linear(2 * config.hidden_size, config.hidden_size)
        self.classifier = nn.Linear(config.hidden_size, len(config.id2label or ()))
        self.post_init()

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None, **_: Any
    ) -> SequenceClassifierOutput:
        """W₂ tanh(W₁ [mean; max] + b₁) + b₂, over the tokens of both texts."""
        states = self.bert(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state
        read = attention_mask[:, :, None].bool()
        mean = (states * read).sum(dim=1) / read.sum(dim=1)
        most = states.masked_fill(~read, float("-inf")).amax(dim=1)
        logits = self.classifier(torch.tanh(self.pool(torch.cat([mean, most], dim=1))))
        return SequenceClassifierOutput(logits=logits)


def base_of_adapter() -> Checkpoint:
    """Return the base model of adapters, whose tokenizer they share. Raises UserError if it is not on this machine."""
    return resolve(MINILM)


def with_adapter(checkpoint: Checkpoint, place: str) -> Any:
    """Return the base with the adapter merged into its weights, in float32 and evaluation mode.

    Raises UserError if the base is not on this machine, if the adapter belongs to another base, or if both together lack
    weights, which would otherwise be initialised at random.
    """
    from peft import LoraConfig, PeftModel

    check_weights(checkpoint.path)
    if (kind := read_config(checkpoint, "adapter_config.json")).get("peft_type") != "LORA" or kind.get(
        "megatron_config"
    ):
        raise UserError(
            "this kind of adapter is not supported",
            where=str(checkpoint.path),
            got=str(kind.get("peft_type")),
            expected="LoRA",
        )
    limit_threads()
    logging.disable_progress_bar()
    parent, verbosity = base_of_adapter(), logging.get_verbosity()
    logging.set_verbosity_error()  # it reports the adapter's layers as new
    try:
        loaded: Any = MeanMaxForSequenceClassification.from_pretrained(
            parent.path,
            config=BertConfig.from_pretrained(checkpoint.path, local_files_only=True),
            local_files_only=True,
            use_safetensors=True,
            dtype=torch.float32,
            output_loading_info=True,
        )
    finally:
        logging.set_verbosity(verbosity)
    network, info = loaded
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # peft reads a field that transformers has renamed
        whole = PeftModel.from_pretrained(network, str(checkpoint.path))
    adapter = cast(LoraConfig, whole.peft_config["default"])
    if adapter.base_model_name_or_path != parent.name:
        raise UserError(
            "this adapter was made for another base model",
            where=str(checkpoint.path),
            got=str(adapter.base_model_name_or_path),
            expected=parent.name,
        )
    brought = set(adapter.modules_to_save or ())
    if lacking := sorted(key for key in info["missing_keys"] if not brought & set(key.split("."))):
        raise UserError(
            "this adapter lacks weights of the model",
            where=str(checkpoint.path),
            got=", ".join(lacking[:4]),
            expected=f"an adapter with the last layer of a {type(network).__name__}",
        )
    return whole.merge_and_unload().to(place).eval()


Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Pair = tuple[str, str]


class ClassifierOutputs(NamedTuple):
    """`values` (pairs, outputs), and `truncated` (pairs,): whether a text was cut."""

    values: Array
    truncated: Flags


class Classifier(TextReader):
    """Logits of one loaded checkpoint for pairs of texts; equal pairs are computed once.

    `limit` is the maximum number of tokens of both texts, special tokens included.
    """

    def __init__(self, model: Any, tokenizer: PreTrainedTokenizerBase) -> None:
        super().__init__(model, tokenizer, 160 * int(model.config.hidden_size))
        self.limit = loading.positions(model, tokenizer)
        kinds = getattr(model.config, "type_vocab_size", None)
        self.types = "token_type_ids" in tokenizer.model_input_names if kinds is None else kinds > 1

    def encode(self, first: str, second: str) -> TokenRow:
        """Return the token ids of both texts, cutting the longer one. A "[SEP]" written in a text is treated as text."""
        out = self.tokenized(first, second, truncation=False, return_token_type_ids=self.types)
        if cut := len(out["input_ids"]) > self.limit:
            how = {"truncation": "longest_first", "max_length": self.limit}
            out = self.tokenized(first, second, return_token_type_ids=self.types, **how)
        return TokenRow(list(out["input_ids"]), list(out["token_type_ids"]) if self.types else [], cut)

    @torch.inference_mode()
    def logits(self, pairs: Sequence[Pair], progress: Progress = no_progress) -> ClassifierOutputs:
        """Return the logits, in the order of the configuration's labels."""
        distinct = list(dict.fromkeys(pairs))
        rows = [self.encode(*pair) for pair in distinct]

        def work(batch: dict[str, Tensor], _: list[int]) -> list[Array]:
            return list(self.model(**batch).logits.double().cpu().numpy())

        row_logits = self.compute(rows, work, progress)
        at = {pair: i for i, pair in enumerate(distinct)}
        width = int(self.model.config.num_labels)
        values = np.array([row_logits[at[pair]] for pair in pairs], dtype=np.float64).reshape(len(pairs), width)
        return ClassifierOutputs(values, np.array([rows[at[pair]].truncated for pair in pairs], dtype=np.bool_))


class NliModel:
    """Probabilities that a premise entails, neither entails nor contradicts, or contradicts a hypothesis."""

    def __init__(self, classifier: Classifier, labels: NliLabels) -> None:
        self.classifier, self.labels = classifier, labels

    def entailment(self, pairs: Sequence[Pair], progress: Progress = no_progress) -> ClassifierOutputs:
        """Return P(entailment) of each pair (premise, hypothesis), shape (pairs, 1). The model needs only this label."""
        return self._shares(pairs, [self.labels.entailment], progress)

    def judged(self, pairs: Sequence[Pair], progress: Progress = no_progress) -> ClassifierOutputs:
        """Return P(entailment), P(neutral), P(contradiction) of each pair (premise, hypothesis), shape (pairs, 3).

        Raises UserError if the model lacks one of the labels.
        """
        return self._shares(pairs, self.labels.three(), progress)

    def _shares(self, pairs: Sequence[Pair], columns: list[int], progress: Progress) -> ClassifierOutputs:
        logits = self.classifier.logits(pairs, progress)
        return ClassifierOutputs(_softmax(logits.values)[:, columns], logits.truncated)


def _softmax(logits: Array) -> Array:
    odds = np.exp(logits - logits.max(axis=1, keepdims=True, initial=-np.inf))
    shares: Array = odds / odds.sum(axis=1, keepdims=True)
    return shares


def nli() -> NliModel:
    """Return the configured `nli` model, loaded once per process. Raises UserError if it is missing or does not fit."""
    checkpoint = configs.checked("nli")
    return NliModel(_load(checkpoint, loading.device()), configs.labels(checkpoint))


def regressor(kind: str) -> Classifier:
    """Return the configured regression model of a kind. Raises UserError if it is missing or has several outputs."""
    return _load(configs.checked(kind), loading.device())


@cached_loader(2)
def _load(checkpoint: Checkpoint, place: str) -> Classifier:
    if is_adapter(checkpoint.path):
        return Classifier(with_adapter(checkpoint, place), loading.tokenizer(base_of_adapter()))
    network = loading.model(AutoModelForSequenceClassification, checkpoint, place)
    return Classifier(network, loading.tokenizer(checkpoint))
