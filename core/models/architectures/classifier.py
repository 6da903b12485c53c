"""Models that map a pair of texts to a few numbers: NLI classifiers and regression models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from transformers import AutoModelForSequenceClassification, PreTrainedTokenizerBase

from core.models import adapter, configs, loading
from core.models.checkpoint import Checkpoint, is_adapter
from core.models.configs import NliLabels
from core.models.loading import TextReader, TokenRow
from core.models.model_cache import cached_loader
from core.progress import Progress, no_progress

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

        found = self.compute(rows, work, progress)
        at = {pair: i for i, pair in enumerate(distinct)}
        width = int(self.model.config.num_labels)
        values = np.array([found[at[pair]] for pair in pairs], dtype=np.float64).reshape(len(pairs), width)
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
        given = self.classifier.logits(pairs, progress)
        return ClassifierOutputs(_softmax(given.values)[:, columns], given.truncated)


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
        return Classifier(adapter.merged(checkpoint, place), loading.tokenizer(adapter.base()))
    network = loading.model(AutoModelForSequenceClassification, checkpoint, place)
    return Classifier(network, loading.tokenizer(checkpoint))
